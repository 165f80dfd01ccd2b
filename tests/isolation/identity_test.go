package isolation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/rest"
	"github.com/loci-memory/loci/server"
)

// A one is somebody a request names, with a word that nobody else stores.
type one struct {
	meta sdk.Meta
	word string
	at   loci.Namespace
}

// ones are users, organisations, and agents of organisations whose names repeat one
// another; their words tell transports apart, too.
func ones(over string) (all []one) {
	for i, name := range []string{"ann", "bob", "default-user", "acme"} {
		all = append(all,
			one{sdk.Meta{"loci/user_id": name}, fmt.Sprint(over, "user", i), loci.Namespace{"user", name}},
			one{sdk.Meta{"loci/org_id": name}, fmt.Sprint(over, "org", i), loci.Namespace{"org", name}},
			one{
				sdk.Meta{"loci/org_id": name, "loci/agent_id": "bot"},
				fmt.Sprint(over, "bot", i),
				loci.Namespace{"org", name, "bot"},
			},
		)
	}
	return all
}

// backend is the principal of a server that acts for others, with an identity of its own.
func backend(t *testing.T) loci.Principal {
	t.Helper()
	p, err := loci.NewPrincipal(must(loci.NewTenant("home")), "backend",
		loci.Vars{loci.VarUser: "operator", loci.VarAgent: "own", loci.VarThread: "own", loci.VarSession: "own"},
		loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete, loci.ScopeDelegate)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// connect opens one connection to all tools, over each transport that there is.
func connect(t *testing.T, sc *scene, test func(t *testing.T, over string, c *sdk.ClientSession)) {
	p := backend(t)
	options := mcp.Options{Tools: everyTool(t, sc.engine), Logger: slog.New(slog.DiscardHandler), Version: "test",
		Identify: func(_ context.Context, o mcp.Origin) (loci.Principal, error) { return server.Identify(p, o.Header) }}
	surface, err := mcp.New(options)
	if err != nil {
		t.Fatal(err)
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "many", Version: "1"}, nil)
	t.Run("standard input and output", func(t *testing.T) {
		inRead, inWrite := io.Pipe()
		outRead, outWrite := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- surface.Serve(context.Background(), inRead, outWrite)
			inRead.Close() // or a server that gave up leaves its client writing for ever
			outWrite.Close()
		}()
		c, err := client.Connect(t.Context(), &sdk.IOTransport{Reader: outRead, Writer: inWrite}, nil)
		if err != nil {
			t.Fatal(err)
		}
		test(t, "stdio", c)
		c.Close()
		inWrite.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	t.Run("HTTP", func(t *testing.T) {
		s, err := server.New(server.Options{MCP: surface.Handler(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		listener := httptest.NewServer(s.Handler())
		defer listener.Close()
		c, err := client.Connect(
			t.Context(),
			&sdk.StreamableClientTransport{Endpoint: listener.URL + "/mcp", DisableStandaloneSSE: true},
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		test(t, "http", c)
		c.Close()
	})
}

// families are a call of each family that stores a word, and one that finds it.
var families = []struct {
	name, write, read string
	stores, finds     func(word string) map[string]any
}{
	{"facts", "manage_memory", "search_memory",
		func(w string) map[string]any { return map[string]any{"content": "fact " + w} },
		func(string) map[string]any { return map[string]any{"query": "fact", "limit": 50} }},
	{"notes", "memory_save", "memory_search",
		func(w string) map[string]any { return map[string]any{"content": "note " + w} },
		func(string) map[string]any { return map[string]any{"query": "note", "top_k": 20} }},
	{"memory", "agent_memory_store_fact", "agent_memory_search",
		func(w string) map[string]any {
			return map[string]any{"subject": w, "predicate": "is", "content": "stored " + w, "scope": "work"}
		},
		func(string) map[string]any { return map[string]any{"query": "stored"} }},
	{"files", "memory", "memory",
		func(w string) map[string]any {
			return map[string]any{"command": "append", "path": "/one", "content": "file " + w}
		},
		func(string) map[string]any { return map[string]any{"command": "read", "path": "/one"} }},
	{"claude", "claude_memory", "claude_memory",
		func(w string) map[string]any {
			return map[string]any{"command": "create", "path": "/memories/" + w, "file_text": "file " + w}
		},
		func(string) map[string]any { return map[string]any{"command": "view", "path": "/memories"} }},
}

// TestEachCallIsOfWhomItNames: calls for many callers run side by side on one connection. Each
// stores and finds only its own, with every family, and nothing belongs to the server's own
// user.
func TestEachCallIsOfWhomItNames(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		connect(t, sc, func(t *testing.T, over string, c *sdk.ClientSession) {
			all := ones(over)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			interleaved := func(do func(o one)) {
				var running sync.WaitGroup
				for _, o := range all {
					running.Go(func() { do(o) })
				}
				running.Wait()
			}
			call := func(o one, name string, args map[string]any) (text string, refused bool) {
				r, err := c.CallTool(ctx, &sdk.CallToolParams{Meta: o.meta, Name: name, Arguments: args})
				if err != nil {
					t.Errorf("%s for %v: %v", name, o.at, err)
					return "", true
				}
				return r.Content[0].(*sdk.TextContent).Text, r.IsError
			}
			for _, f := range families {
				noUser := func(o one) bool { return f.name == "notes" && o.at[0] != "user" }
				interleaved(func(o one) {
					if text, refused := call(o, f.write, f.stores(o.word)); refused != noUser(o) {
						t.Errorf("%s for %v: %s", f.write, o.at, text)
					}
				})
				interleaved(func(o one) {
					for range 3 {
						text, _ := call(o, f.read, f.finds(o.word))
						for _, other := range all {
							// An agent of an organisation has a place below it, as documented.
							own := other.word == o.word ||
								o.at.Contains(other.at) && f.name != "files" && f.name != "claude"
							found := strings.Contains(text, other.word)
							if found && !own || !found && other.word == o.word && !noUser(o) {
								t.Errorf(
									"%s: %v finds %s of %v: %v: %.200s",
									f.name,
									o.at,
									other.word,
									other.at,
									found,
									text,
								)
								return // further finds of others would say no more
							}
						}
					}
				})
				if t.Failed() {
					return // the other families would say the same, at length
				}
			}
		})
		var kept bytes.Buffer
		for _, at := range []loci.Namespace{{"user", "operator"}, {"org"}} {
			if _, err := sc.bind(t, "home", at, "").Export(t.Context(), &kept, nil); err != nil {
				t.Fatal(err)
			}
			for _, o := range slices.Concat(ones("stdio"), ones("http")) {
				if at[0] == "user" && strings.Contains(kept.String(), o.word) {
					t.Errorf("the server's own user has what is of %v", o.at)
				}
			}
		}
		for _, o := range slices.Concat(ones("stdio"), ones("http")) { // the control: everything was written somewhere
			if o.at[0] == "org" && !strings.Contains(kept.String(), o.word) {
				t.Errorf("nothing of %v was kept", o.at)
			}
		}
	})
}

// TestNobodyIsNotTheOperator: a call that names nobody by an empty value, or somebody for whom
// the tool has no place, never ends in the memory of the server's own user.
func TestNobodyIsNotTheOperator(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		sc := setUp(t, s)
		connect(t, sc, func(t *testing.T, _ string, c *sdk.ClientSession) {
			for _, meta := range []sdk.Meta{{"loci/user_id": ""}, {"loci/org_id": ""}, {"loci/agent_id": ""}, {"loci/butler": ""}, {"loci/thread_id": ""},
				{"loci/session_id": ""}, {"loci/tenant": ""}, {"loci/agent_id": "bot"}, {"loci/user_id": "", "loci/org_id": "acme"}} {
				for _, f := range families {
					r, err := c.CallTool(
						t.Context(),
						&sdk.CallToolParams{Meta: meta, Name: f.write, Arguments: f.stores("nobodys")},
					)
					if err == nil && !r.IsError {
						t.Errorf("%s with %v: %v", f.write, meta, r.Content[0])
					}
				}
			}
		})
		api, err := rest.New(rest.Options{Engine: sc.engine, Logger: slog.New(slog.DiscardHandler),
			Identify: restIdentify(backend(t))})
		if err != nil {
			t.Fatal(err)
		}
		front, err := server.New(server.Options{REST: api, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		there := &surface{handler: front.Handler()}
		for _, header := range []string{"User", "Org", "Agent", "Butler", "Thread", "Session", "Tenant"} {
			if w := there.send("POST", "/v1/notes", `{"content":"nobodys"}`, "Loci-"+header+": "); w.Code != 400 {
				t.Errorf("an empty Loci-%s: %d %s", header, w.Code, w.Body)
			}
		}
		if w := there.send("POST", "/v1/notes", `{"content":"nobodys"}`, "Loci-Agent: bot"); w.Code < 400 {
			t.Errorf("an agent of nobody: %d %s", w.Code, w.Body)
		}
		w := there.send(
			"PUT",
			"/v1/items",
			`{"namespace":["things"],"key":"k","value":{"word":"ofacme"}}`,
			"Loci-Org: acme",
		)
		if found := there.send("POST", "/v1/search", `{"query":"ofacme"}`); w.Code >= 300 ||
			strings.Contains(found.Body.String(), "ofacme") {
			t.Errorf("an item of an organisation: %d %s; the server's user finds %s", w.Code, w.Body, found.Body)
		}
		var kept bytes.Buffer
		if _, err := sc.bind(
			t,
			"home",
			loci.Namespace{"user", "operator"},
			"",
		).Export(t.Context(), &kept, nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(kept.String(), "nobodys") || strings.Contains(kept.String(), "ofacme") {
			t.Errorf("the server's own user has it: %.500s", &kept)
		}
	})
}
