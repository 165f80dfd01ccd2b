package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// TestWhereARefusalIsFrom: behind a proxy it is from the address that the proxy saw, and nobody else is
// believed about it: not whoever comes past the proxy, and not what the client wrote before.
func TestWhereARefusalIsFrom(t *testing.T) {
	tenant, err := loci.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	p, err := loci.NewPrincipal(tenant, "key:1", nil, loci.ScopeRead)
	if err != nil {
		t.Fatal(err)
	}
	var told []Refusal
	s, _ := newServer(t, Options{
		Proxies:      []string{"10.0.0.0/24", "fd00::1"},
		Refused:      func(_ context.Context, r Refusal) { told = append(told, r) },
		Authenticate: func(*http.Request) (Caller, error) { return Caller{Principal: p}, loci.ErrForbidden },
	})
	for _, c := range []struct{ what, remote, forwarded, want string }{
		{"no proxy", "192.0.2.1:1", "", "192.0.2.1"},
		{"a spoof past the proxies", "192.0.2.1:1", "203.0.113.9", "192.0.2.1"},
		{"a spoof on this machine", "127.0.0.1:1", "203.0.113.9", "127.0.0.1"},
		{"a proxy", "10.0.0.7:1", "203.0.113.9", "203.0.113.9"},
		{"a proxy of IPv6", "[fd00::1]:1", "2001:db8::9", "2001:db8::9"},
		{"a proxy as IPv6 writes it", "[::ffff:10.0.0.7]:1", "::ffff:203.0.113.9", "203.0.113.9"},
		{"two proxies", "10.0.0.7:1", "203.0.113.9, 10.0.0.8", "203.0.113.9"},
		{"two headers", "10.0.0.7:1", "203.0.113.9\n10.0.0.8", "203.0.113.9"},
		{"a spoof before the proxy", "10.0.0.7:1", "127.0.0.1, 10.0.0.9, 203.0.113.9", "203.0.113.9"},
		{"with a port", "10.0.0.7:1", "203.0.113.9:55", "203.0.113.9"},
		{"with a port, IPv6", "10.0.0.7:1", "[2001:db8::9]:55", "2001:db8::9"},
		{"a proxy that says nothing", "10.0.0.7:1", "", "10.0.0.7"},
		{"nonsense", "10.0.0.7:1", "203.0.113.9, unknown", "10.0.0.7"},
		{"a zone", "10.0.0.7:1", "fe80::1%<script>", "fe80::1"},
		{"only proxies", "10.0.0.7:1", "10.0.0.9", "10.0.0.9"},
		{"a socket", "@", "203.0.113.9", ""},
	} {
		told = nil
		r := httptest.NewRequest(http.MethodGet, "/v1/notes", nil)
		r.Host, r.RemoteAddr = "localhost", c.remote
		for value := range strings.SplitSeq(c.forwarded, "\n") {
			r.Header.Add("X-Forwarded-For", value)
		}
		s.Handler().ServeHTTP(httptest.NewRecorder(), r)
		if len(told) != 1 || told[0].From != c.want {
			t.Errorf("%s: %+v, want it from %q", c.what, told, c.want)
		}
	}
	if _, err := New(Options{Proxies: []string{"0.0.0.0/0"}}); err == nil {
		t.Error("everybody is a proxy")
	}
}
