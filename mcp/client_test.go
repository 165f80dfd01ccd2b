package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tool"
)

// concepts is a small embedder that knows a few words of the same meaning.
type concepts struct{}

var meanings = map[string]int{"dark": 0, "night": 0, "theme": 1, "mode": 1, "colours": 1, "name": 2, "called": 2,
	"chocolate": 3, "chocolates": 3, "sweets": 3, "window": 4, "seat": 4, "seats": 4, "aisle": 4}

func (concepts) Model() string { return "test-concepts" }
func (concepts) Dims() int     { return 8 }

func (concepts) Embed(_ context.Context, texts []string) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		row := make([]float32, 8)
		row[7] = 0.1 // no text is the zero vector
		for word := range strings.FieldsFuncSeq(strings.ToLower(text),
			func(r rune) bool { return r < 'a' || r > 'z' }) {
			if axis, known := meanings[word]; known {
				row[axis]++
			}
		}
		var sum float64
		for _, x := range row {
			sum += float64(x) * float64(x)
		}
		for j := range row {
			row[j] /= float32(math.Sqrt(sum))
		}
		rows[i] = row
	}
	return rows, nil
}

// openEngine opens an engine over a SQLite file.
func openEngine(t testing.TB, path string) *loci.Engine {
	t.Helper()
	s, err := store.Open(context.Background(), "sqlite:"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return engineOver(t, s)
}

func engineOver(t testing.TB, s loci.Store) *loci.Engine {
	t.Helper()
	engine, err := loci.New(s, &loci.Options{
		Features: locitest.Features(),
		Embedder: concepts{},
		Logger:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func newEngine(t testing.TB) *loci.Engine {
	return engineOver(t, locitest.Chosen(t, func() loci.Store { return locitest.OpenSQLite(t) }))
}

// newPrincipal makes a caller of the tenant "default" with the three usual scopes.
func newPrincipal(t testing.TB, vars loci.Vars, more ...loci.Scope) loci.Principal {
	t.Helper()
	tenant, err := loci.NewTenant("default")
	if err != nil {
		t.Fatal(err)
	}
	p, err := loci.NewPrincipal(tenant, "test", vars, append(more, loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete)...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func alice(t testing.TB) loci.Principal { return newPrincipal(t, loci.Vars{loci.VarUser: "alice"}) }

// A client is the official one, connected to a server of ours.
type client struct {
	t testing.TB
	*sdk.ClientSession
}

// dial connects the official client to a server with the given tools.
func dial(t testing.TB, engine *loci.Engine, p loci.Principal, entries ...tool.Instance) *client {
	t.Helper()
	return dialOptions(t, engine, mcp.Options{Principal: p}, tool.Config{Entries: entries})
}

func dialOptions(t testing.TB, engine *loci.Engine, o mcp.Options, cfg tool.Config) *client {
	t.Helper()
	cfg.Logger = slog.New(slog.DiscardHandler)
	set, err := tool.New(engine, cfg)
	if err != nil {
		t.Fatal(err)
	}
	o.Tools, o.Logger, o.Version = set.Tools(), cfg.Logger, "test"
	server, err := mcp.New(o)
	if err != nil {
		t.Fatal(err)
	}
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- server.Serve(context.Background(), inRead, outWrite)
		_ = outWrite.Close()
	}()
	c := sdk.NewClient(&sdk.Implementation{Name: "go-client", Version: "1"}, nil)
	session, err := c.Connect(context.Background(), &sdk.IOTransport{Reader: outRead, Writer: inWrite}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = inWrite.Close()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &client{t, session}
}

// An answer is the result of a call, as a program sees it.
type answer struct {
	t       testing.TB
	text    string
	data    map[string]any // the structured form
	isError bool
}

type args = map[string]any

// ask calls a tool; a protocol error ends the test.
func (c *client) ask(name string, in args, meta ...sdk.Meta) answer {
	c.t.Helper()
	a, err := c.try(name, in, meta...)
	if err != nil {
		c.t.Fatalf("%s: %v", name, err)
	}
	return a
}

// try calls a tool.
func (c *client) try(name string, in args, meta ...sdk.Meta) (answer, error) {
	params := &sdk.CallToolParams{Name: name, Arguments: in}
	for _, m := range meta {
		params.Meta = m
	}
	r, err := c.CallTool(context.Background(), params)
	if err != nil {
		return answer{}, err
	}
	a := answer{t: c.t, isError: r.IsError}
	for _, content := range r.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			a.text += text.Text
		}
	}
	a.data, _ = r.StructuredContent.(map[string]any)
	return a, nil
}

// want checks the text of a success.
func (a answer) want(text string) answer {
	a.t.Helper()
	if a.isError || a.text != text {
		a.t.Errorf("got %q (error: %v), want %q", a.text, a.isError, text)
	}
	return a
}

// refused checks that the call was refused, in both forms of the reply.
func (a answer) refused(code loci.Code, message string) {
	a.t.Helper()
	if !a.isError || a.text != message {
		a.t.Errorf("got %q (error: %v), want the refusal %q", a.text, a.isError, message)
	}
	if a.data["error"] != message || a.data["code"] != string(code) || a.data["recovery"] == "" {
		a.t.Errorf("structured: %v, want code %s", a.data, code)
	}
}

// list decodes a text that is a JSON list of objects.
func (a answer) list() []map[string]any {
	a.t.Helper()
	var out []map[string]any
	if err := json.Unmarshal([]byte(a.text), &out); err != nil || a.isError {
		a.t.Fatalf("%q is no list of objects: %v", a.text, err)
	}
	return out
}

// id returns a field of the structured form that must be a text.
func (a answer) id(field string) string {
	a.t.Helper()
	id, _ := a.data[field].(string)
	if id == "" || a.isError {
		a.t.Fatalf("no %s in %v (%s)", field, a.data, a.text)
	}
	return id
}

// protocolError checks that a call ended in a JSON-RPC error.
func protocolError(t testing.TB, err error, code int64, message string) *jsonrpc.Error {
	t.Helper()
	var e *jsonrpc.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a protocol error", err)
	}
	if e.Code != code || e.Message != message {
		t.Errorf("got %d %q, want %d %q", e.Code, e.Message, code, message)
	}
	return e
}

// schemas lists the tools by name.
func (c *client) schemas() map[string]*sdk.Tool {
	c.t.Helper()
	list, err := c.ListTools(context.Background(), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	out := map[string]*sdk.Tool{}
	for _, t := range list.Tools {
		out[t.Name] = t
	}
	return out
}

// property digs a value out of a decoded schema.
func property(t testing.TB, schema any, path ...string) any {
	t.Helper()
	for _, name := range path {
		object, _ := schema.(map[string]any)
		schema = object[name]
	}
	return schema
}
