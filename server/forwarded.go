package server

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// headerForwarded is where each proxy adds the address that it was asked from.
const headerForwarded = "X-Forwarded-For"

// from is the address that a request comes from, without a port, for the audit log; "": unknown. A proxy
// says for whom it asks. What stands before the last address that is no proxy's, whoever is there may
// have written.
func (s *Server) from(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values(headerForwarded), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !s.isProxy(at) {
			break
		}
		next, ok := hopOf(strings.TrimSpace(hop))
		if !ok {
			break
		}
		at = next
	}
	return at.Unmap().WithZone("").String()
}

// hopOf reads an address, to which some proxies add the port.
func hopOf(text string) (netip.Addr, bool) {
	if at, err := netip.ParseAddr(text); err == nil {
		return at, true
	}
	at, err := netip.ParseAddrPort(text)
	return at.Addr(), err == nil
}

func (s *Server) isProxy(at netip.Addr) bool {
	return slices.ContainsFunc(s.proxies, func(network netip.Prefix) bool { return network.Contains(at.Unmap()) })
}
