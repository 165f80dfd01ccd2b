package rest

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/tool"
	"github.com/loci-memory/loci/tree"
)

func eachStore(t *testing.T, test func(t *testing.T, s loci.Store)) {
	t.Helper()
	locitest.EachStore(t, test)
}

// A bench is an API over a real engine, with a clock that a test moves.
type bench struct {
	*httptest.Server
	t      *testing.T
	engine *loci.Engine
	log    *bytes.Buffer
	now    atomic.Int64 // milliseconds
}

func principal(t *testing.T, user string, scopes ...loci.Scope) loci.Principal {
	t.Helper()
	tenant, err := loci.NewTenant("t")
	if err != nil {
		t.Fatal(err)
	}
	if scopes == nil {
		scopes = []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete}
	}
	p, err := loci.NewPrincipal(tenant, "tester", loci.Vars{loci.VarUser: user, loci.VarAgent: "bot"}, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newBench(t *testing.T, s loci.Store, change func(*Options)) *bench {
	t.Helper()
	b := &bench{t: t, log: &bytes.Buffer{}}
	b.now.Store(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).UnixMilli())
	logger := slog.New(slog.NewTextHandler(b.log, nil))
	engine, err := loci.New(s, &loci.Options{
		Features: locitest.Features(),
		Embedder: embedding.NewLexical(),
		Logger:   logger,
		Now:      func() time.Time { return time.UnixMilli(b.now.Load()) },
	})
	if err != nil {
		t.Fatal(err)
	}
	b.engine = engine
	set, err := tool.New(engine, tool.Config{Logger: logger, Entries: []tool.Instance{{Family: tool.FamilyNotes}}})
	if err != nil {
		t.Fatal(err)
	}
	agents := map[string]Agent{"B": {}}
	for id, cfg := range map[string]tool.ConnectorConfig{
		"A": {Content: tree.ContentFull, Scope: tool.ScopePerThread},
		"C": {Unwired: true},
	} {
		connector, err := tool.NewConnector(engine, cfg)
		if err != nil {
			t.Fatal(err)
		}
		agents[id] = Agent{Connector: connector, Tools: agentTools(t, engine, cfg)}
	}
	o := Options{Engine: engine, Tools: set, Agents: agents, Principal: principal(t, "a.b@example.org"), Logger: logger, Version: "test"}
	if change != nil {
		change(&o)
	}
	api, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	b.Server = httptest.NewServer(api)
	t.Cleanup(b.Close)
	return b
}

// agentTools are two tools of files: one that only reads, and one that also writes.
func agentTools(t *testing.T, e *loci.Engine, cfg tool.ConnectorConfig) []*tool.Tool {
	t.Helper()
	set, err := tool.New(e, tool.Config{Entries: []tool.Instance{
		{Family: tool.FamilyFiles, Tool: "memory", Name: "memory_readonly", Commands: []string{"read", "list"}, Unwired: cfg.Unwired},
		{Family: tool.FamilyFiles, Tool: "memory", Name: "memory_write", Unwired: cfg.Unwired},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return set.Tools()
}

// A reply is what a request came to.
type reply struct {
	status int
	header http.Header
	body   string
}

// send makes a request; headers are "Name: value".
func (b *bench) send(method, path, body string, headers ...string) reply {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return b.do(r)
}

func (b *bench) do(r *http.Request) reply {
	b.t.Helper()
	response, err := b.Client().Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header, string(data)}
}

func (r reply) code(t *testing.T) string {
	t.Helper()
	var p struct{ Code string }
	if err := json.Unmarshal([]byte(r.body), &p); err != nil {
		t.Fatalf("%s: %v", r.body, err)
	}
	return p.Code
}

// BenchmarkGetItem is what HTTP and its guards cost around a read of one item.
func BenchmarkGetItem(b *testing.B) {
	engine, err := loci.New(memory.Open(), &loci.Options{
		Features: locitest.Features(),
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	tenant, err := loci.NewTenant("t")
	if err != nil {
		b.Fatal(err)
	}
	p, err := loci.NewPrincipal(tenant, "tester", loci.Vars{loci.VarUser: "u"}, loci.ScopeRead, loci.ScopeWrite)
	if err != nil {
		b.Fatal(err)
	}
	api, err := New(Options{Engine: engine, Principal: p})
	if err != nil {
		b.Fatal(err)
	}
	send := func(method, path, body string) int {
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, r)
		return w.Code
	}
	if code := send("PUT", "/v1/items", `{"namespace":["n"],"key":"k","value":{"a":1}}`); code != http.StatusNoContent {
		b.Fatal(code)
	}
	for b.Loop() {
		if code := send("POST", "/v1/items/get", `{"namespace":["n"],"key":"k"}`); code != http.StatusOK {
			b.Fatal(code)
		}
	}
}
