package rest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/tool"
)

// eachRoute visits every route of an API.
func eachRoute(a *API, visit func(op *huma.Operation)) {
	for _, p := range a.huma.OpenAPI().Paths {
		for _, op := range []*huma.Operation{p.Get, p.Put, p.Post, p.Delete, p.Patch, p.Head, p.Options} {
			if op != nil {
				visit(op)
			}
		}
	}
}

// TestEveryRouteDeclaresItsScope walks all routes: each says which scope it needs, or is
// one of those that need none, with the scope of what they lead to.
func TestEveryRouteDeclaresItsScope(t *testing.T) {
	open := map[string]bool{"info": true, "list_tools": true, "call_tool": true, "list_agents": true,
		"list_agent_tools": true, "call_agent_tool": true, "batch_items": true}
	api, err := New(Options{Engine: locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}),
		Principal: principal(t, "alice")})
	if err != nil {
		t.Fatal(err)
	}
	routes := 0
	eachRoute(api, func(op *huma.Operation) {
		routes++
		scope := scopeOf(op)
		if scope == scopeUndeclared || (scope == "") != open[op.OperationID] {
			t.Errorf("%s %s (%s) declares the scope %q", op.Method, op.Path, op.OperationID, scope)
		}
	})
	if routes < 60 {
		t.Errorf("found %d routes: there are at least 60", routes)
	}
}

// A route that declares no scope is closed to everybody, whatever scopes they have.
func TestUndeclaredRouteIsForNobody(t *testing.T) {
	b := newBench(t, locitest.OpenMemory(), func(o *Options) { o.Principal = principal(t, "alice", loci.Scopes...) })
	before := groups
	t.Cleanup(func() { groups = before })
	called := false
	groups = append(groups[:len(groups):len(groups)], func(a *API) {
		route(a, endpoint{method: http.MethodGet, path: "/v1/forgotten", id: "forgotten", summary: "Forgotten"},
			func(context.Context, *caller, *struct{}) (*struct{}, error) { called = true; return nil, nil })
	})
	again := newBench(t, locitest.OpenMemory(), func(o *Options) { o.Principal = principal(t, "alice", loci.Scopes...) })
	if r := again.send("GET", "/v1/forgotten", ""); r.status != 403 || called {
		t.Errorf("%d %s", r.status, r.body)
	}
	if r := b.send("GET", "/v1/info", ""); r.status != 200 {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A credential for some families of tools calls those, and does nothing else.
func TestCredentialForToolsAlone(t *testing.T) {
	b := newBench(t, locitest.OpenMemory(), func(o *Options) {
		o.Principal = principal(t, "alice", append(loci.Scopes[:3:3], loci.ScopeTools+"notes")...)
		var err error
		families := []tool.Instance{{Family: "notes"}, {Family: "facts"}}
		if o.Tools, err = tool.New(o.Engine, tool.Config{Entries: families}); err != nil {
			t.Fatal(err)
		}
	})
	api := b.Config.Handler.(*API)
	tools := map[string]bool{"info": true, "list_tools": true, "call_tool": true, "list_agents": true,
		"list_agent_tools": true, "call_agent_tool": true}
	eachRoute(api, func(op *huma.Operation) {
		mayUse, _ := op.Metadata[toolsKey].(bool)
		if mayUse != tools[op.OperationID] {
			t.Errorf("%s: for credentials for tools alone: %v", op.OperationID, mayUse)
		}
		limited := principal(t, "alice", append(loci.Scopes[:6:6], loci.ScopeTools+"notes")...)
		if err := permit(limited, scopeOf(op), mayUse); (err == nil) != tools[op.OperationID] {
			t.Errorf("%s: %v", op.OperationID, err)
		}
	})
	for _, c := range []struct {
		method, path, body string
		status             int
		want, not          string
	}{
		{"GET", "/v1/tools", "", 200, `"memory_search"`, `"manage_memory"`},
		{"POST", "/v1/tools/memory_save", `{"content":"Likes tea."}`, 200, "note-", `"is_error":true`},
		{"POST", "/v1/tools/manage_memory", `{"action":"create","content":"x"}`, 200, `"is_error":true`, `"is_error":false`},
		{"POST", "/v1/notes", `{"content":"Likes tea."}`, 403, "families of tools", ""},
		{"POST", "/v1/search", `{"query":"tea"}`, 403, "families of tools", ""},
		{"GET", "/v1/events", "", 403, "families of tools", ""},
		{"GET", "/v1/export", "", 403, "families of tools", ""},
	} {
		r := b.send(c.method, c.path, c.body)
		if r.status != c.status || !strings.Contains(r.body, c.want) || c.not != "" && strings.Contains(r.body, c.not) {
			t.Errorf("%s %s: %d %s", c.method, c.path, r.status, r.body)
		}
	}
}
