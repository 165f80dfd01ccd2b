package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

// methods are those that some surface takes. Any other is refused for its method, not for
// its headers: no surface does anything for it.
var methods = []string{
	http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut,
	http.MethodPatch, http.MethodDelete, http.MethodOptions,
}

// guard refuses requests of strangers: those to another host than ours, which is how a
// web page reaches a local server under the page's own name, and those of pages that may
// not ask. It also refuses headers without a meaning.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Add("Vary", "Origin")
		if err := s.checkHost(r); err != nil {
			underwayOf(r).reason = "host"
			refuse(w, r, problem.At(http.StatusMisdirectedRequest, err))
			return
		}
		foreign, err := s.checkOrigin(r)
		if err != nil {
			underwayOf(r).reason = "origin"
		}
		if err == nil && slices.Contains(methods, r.Method) {
			err = checkHeaders(r.Header)
		}
		if err != nil {
			refuse(w, r, problem.Of(err))
			return
		}
		if foreign {
			h.Set("Access-Control-Allow-Origin", r.Header.Get("Origin"))
			h.Set("Access-Control-Expose-Headers", headerRequestID+", Retry-After, WWW-Authenticate, Mcp-Session-Id")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
				h.Set("Access-Control-Allow-Headers", strings.Join(allowedHeaders(), ", "))
				h.Set("Access-Control-Max-Age", "600")
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// maxHeader bounds the head of a request: its line and its headers, in bytes. Beyond
// maxServerHeader package http refuses it before any handler, and in its own words.
const (
	maxHeader       = 64 << 10
	maxServerHeader = 1 << 20
)

func checkHeaderSize(r *http.Request) error {
	size := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	if size <= maxHeader {
		return nil
	}
	return &loci.Error{
		Code:     loci.TooLarge,
		Msg:      fmt.Sprintf("the address and the headers have %d bytes; the limit is %d", size, maxHeader),
		Recovery: "Shorten the headers: send long values in the body of the request.",
	}
}

// allowedHeaders are those that a page of another origin may send.
func allowedHeaders() []string {
	return append([]string{"Authorization", "Content-Type", "Idempotency-Key", headerRequestID, "Mcp-Protocol-Version", "Mcp-Session-Id", "Mcp-Method", "Mcp-Name"},
		slices.Sorted(slices.Values(ownHeaders))...)
}

func refuse(w http.ResponseWriter, r *http.Request, p *problem.Problem) {
	p.RequestID = r.Header.Get(headerRequestID)
	if r.Method == http.MethodPost && takesMessages(r.URL.Path) {
		p.WriteRPC(w)
		return
	}
	p.Write(w)
}

// takesMessages reports whether a client of MCP sends messages to a path. Below that of an agent there is a client of
// REST that was given the address of MCP.
func takesMessages(path string) bool {
	agent, below := strings.CutPrefix(path, mcpPath+"/")
	return path == mcpPath || below && !strings.Contains(agent, "/")
}

// isMCP reports whether a path is one at which MCP answers.
func isMCP(path string) bool { return path == mcpPath || strings.HasPrefix(path, mcpPath+"/") }

// checkHost refuses a name of the server that is not known. The address itself at which a
// request arrived is known: no name leads a browser there, and what a page of another
// origin sends to it has an Origin. Probes and monitors call servers by their address.
func (s *Server) checkHost(r *http.Request) error {
	name := r.Host
	if h, _, err := net.SplitHostPort(r.Host); err == nil {
		name = h
	}
	if isLoopback(name) || arrivedAt(r, name) || s.hosts[strings.TrimSuffix(strings.ToLower(name), ".")] {
		return nil
	}
	return &loci.Error{Code: loci.Forbidden, Msg: fmt.Sprintf("this server is not called %.200q", name),
		Recovery: "Call it localhost, or add the name to http.allowed_hosts."}
}

// arrivedAt reports whether a name is the address at which a request arrived.
func arrivedAt(r *http.Request, name string) bool {
	at, known := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	ip := net.ParseIP(strings.Trim(name, "[]"))
	return known && ip != nil && at.IP.Equal(ip)
}

// checkOrigin refuses what a browser sends for a page that may not ask. foreign
// says that the page is of another origin and allowed.
func (s *Server) checkOrigin(r *http.Request) (foreign bool, err error) {
	given := r.Header.Values("Origin")
	if len(given) == 0 {
		if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" || site == "same-site" {
			return false, foreignOrigin("another site")
		}
		return false, nil
	}
	origin := strings.ToLower(given[0])
	if len(given) > 1 {
		return false, foreignOrigin(strings.Join(given, ", "))
	}
	if s.origins[origin] {
		return true, nil
	}
	// Whether TLS ended here or before us, it is our own page when the host is ours.
	if u, err := url.Parse(origin); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host == strings.ToLower(r.Host) {
		return false, nil
	}
	return false, foreignOrigin(given[0])
}

func foreignOrigin(origin string) error {
	return &loci.Error{Code: loci.Forbidden, Msg: fmt.Sprintf("pages of %.200q may not use this server", origin),
		Recovery: "Add the origin to http.allowed_origins."}
}

// CheckHost checks the name of a host, without a port, and returns it as it is compared.
func CheckHost(name string) (string, error) {
	if name == "" || strings.ContainsAny(name, "/@*? \t") ||
		strings.Contains(name, ":") && net.ParseIP(strings.Trim(name, "[]")) == nil {
		return "", loci.Errorf(loci.Invalid, "%q must be the name of a host without a port, such as memory.example.com", name)
	}
	return strings.TrimSuffix(strings.ToLower(strings.Trim(name, "[]")), "."), nil
}

// CheckOrigin checks the origin of a web page.
func CheckOrigin(origin string) error {
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Scheme+"://"+u.Host != origin || u.User != nil {
		return loci.Errorf(loci.Invalid, "%q must be the origin of a web page, such as https://app.example.com", origin)
	}
	return nil
}
