package server

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
)

// TestDone: of each request it is told what it was about and why it was refused, in words that
// no caller chose.
func TestDone(t *testing.T) {
	var done []Done
	surface := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/panic":
			panic("on purpose")
		case "/v1/forbidden":
			trail.Does(r.Context(), "save_note")
			trail.Refuses(r.Context(), "")
			w.WriteHeader(http.StatusForbidden)
		case "/v1/tool":
			trail.Does(r.Context(), "memory_save")
			trail.Called(r.Context(), trail.Call{Tool: "memory_save", Code: "invalid"})
		}
	})
	s := keyed(t, Options{REST: surface, MCP: surface, Done: func(d Done) { done = append(done, d) },
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "metrics") }),
	}, map[string]CallerLimits{"one": {RequestsPerSecond: 0.001, Burst: 1}})
	for _, c := range []struct {
		method, path      string
		headers           []string
		status            int
		operation, reason string
		calls             int
	}{
		{"GET", "/v1/canary", []string{"Authorization: a"}, 200, "", "", 0},
		{"GET", "/canary", []string{"Authorization: a"}, 404, "", "", 0},
		{"CANARY", "/v1/x", []string{"Authorization: a"}, 200, "", "", 0},
		{"GET", "/healthz", nil, 200, "probe", "", 0},
		{"GET", "/readyz", nil, 200, "probe", "", 0},
		{"POST", "/mcp", []string{"Authorization: a"}, 200, "mcp", "", 0},
		{"POST", "/mcp/canary", []string{"Authorization: a"}, 404, "mcp", "", 0},
		{"GET", "/metrics", []string{"Authorization: a"}, 403, "metrics", "authority", 0},
		{"POST", "/v1/forbidden", []string{"Authorization: a"}, 403, "save_note", "authority", 0},
		{"POST", "/v1/tool", []string{"Authorization: a"}, 200, "memory_save", "", 1},
		{"GET", "/v1/panic", []string{"Authorization: a"}, 500, "", "", 0},
		{"GET", "/v1/x", []string{"Authorization: a", "Origin: https://canary.example.com"}, 403, "", "origin", 0},
		{"GET", "/v1/x", []string{"Authorization: one"}, 200, "", "", 0},
		{"GET", "/v1/x", []string{"Authorization: one"}, 429, "", "key_rate", 0},
	} {
		done = nil
		w := ask(s, c.method, c.path, "", c.headers...)
		if w.Code != c.status || len(done) != 1 {
			t.Errorf("%s %s: %d %s; %d were told", c.method, c.path, w.Code, w.Body, len(done))
			continue
		}
		d := done[0]
		if d.Status != c.status || d.Operation != c.operation || d.Refused != c.reason ||
			len(d.Calls) != c.calls || d.Took < 0 {
			t.Errorf("%s %s: %+v", c.method, c.path, d)
		}
	}
}

// TestMetricsAreForWhoMayReadThem: with the scope alone, or where nobody is asked; with operators
// apart they are at the operators' listener, and nothing counts them.
func TestMetricsAreForWhoMayReadThem(t *testing.T) {
	shown := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "loci_requests_total") })
	tenant, err := loci.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	asks := func(r *http.Request) (Caller, error) {
		scope := loci.Scope(r.Header.Get("Authorization"))
		if scope == "" {
			return Caller{}, &loci.Error{Code: loci.Unauthenticated, Msg: "who are you"}
		}
		p, err := loci.NewPrincipal(tenant, "key", nil, scope)
		return Caller{Principal: p}, err
	}
	open, _ := newServer(t, Options{Metrics: shown})
	closed, _ := newServer(t, Options{Metrics: shown, Authenticate: asks, Limits: Limits{PerSecond: 0.001, Burst: 1}})
	apart, _ := newServer(t, Options{Metrics: shown, Authenticate: asks, OperatorsApart: true})
	none, _ := newServer(t, Options{})
	for _, c := range []struct {
		name   string
		server *Server
		scope  string
		status int
	}{
		{"nobody is asked", open, "", 200},
		{"no credential", closed, "", 401},
		{"another scope", closed, "operate", 403},
		{"the scope", closed, "metrics", 200},
		{"no rate counts it", closed, "metrics", 200},
		{"not where callers are", apart, "metrics", 404},
		{"there are none", none, "", 404},
	} {
		headers := []string{}
		if c.scope != "" {
			headers = append(headers, "Authorization: "+c.scope)
		}
		w := ask(c.server, "GET", "/metrics", "", headers...)
		if has := strings.Contains(w.Body.String(), "loci_requests_total"); w.Code != c.status || has != (c.status == 200) {
			t.Errorf("%s: %d %s", c.name, w.Code, w.Body)
		}
	}
	if w := ask(closed, "POST", "/metrics", "", "Authorization: metrics"); w.Code == 200 {
		t.Error("a post is answered")
	}
}
