package tool

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// words is a small embedder: texts that share words are near each other.
type words struct{}

func (words) Model() string { return "test-words" }
func (words) Dims() int     { return 64 }

func (words) Embed(_ context.Context, texts []string) ([][]float32, error) {
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		row := make([]float32, 64)
		row[0] = 0.01 // no text is the zero vector
		for _, w := range strings.Fields(strings.ToLower(text)) {
			h := fnv.New32a()
			h.Write([]byte(strings.Trim(w, ".,:;!?'\"{}")))
			row[h.Sum32()%64]++
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

// newEngine makes an engine over a new store in memory.
func newEngine(t testing.TB, opts loci.Options) *loci.Engine {
	t.Helper()
	store := locitest.Chosen(t, locitest.OpenMemory)
	t.Cleanup(func() { store.Close() })
	if opts.Embedder == nil {
		opts.Embedder = words{}
	}
	opts.Features = locitest.Features(opts.Features...)
	engine, err := loci.New(store, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

var factsFamily = Instance{Family: FamilyFacts}

// newSet makes tools over an engine of their own.
func newSet(t testing.TB, entries ...Instance) *Set {
	t.Helper()
	return setOver(t, newEngine(t, loci.Options{}), Config{Entries: entries})
}

func setOver(t testing.TB, engine *loci.Engine, cfg Config) *Set {
	t.Helper()
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	set, err := New(engine, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// caller makes a caller in tenant t1; without scopes it may read, write and delete.
func caller(t testing.TB, vars loci.Vars, scopes ...loci.Scope) Caller {
	t.Helper()
	tenant, err := loci.NewTenant("t1")
	if err != nil {
		t.Fatal(err)
	}
	if scopes == nil {
		scopes = []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete}
	}
	p, err := loci.NewPrincipal(tenant, "key-1", vars, scopes...)
	if err != nil {
		t.Fatal(err)
	}
	return Caller{Principal: p}
}

func user(t testing.TB, id string, scopes ...loci.Scope) Caller {
	t.Helper()
	return caller(t, loci.Vars{loci.VarUser: id}, scopes...)
}

// ok calls a tool, which must succeed.
func ok(t testing.TB, set *Set, name string, c Caller, args string) Reply {
	t.Helper()
	tool, found := set.Lookup(name)
	if !found {
		t.Fatalf("no tool %s", name)
	}
	reply, err := tool.Call(t.Context(), c, json.RawMessage(args))
	if err != nil {
		t.Fatalf("%s(%.200s): %v", name, args, err)
	}
	conforms(t, tool, reply)
	return reply
}

// refused calls a tool, which must fail with a code and exactly a message.
func refused(t testing.TB, set *Set, name string, c Caller, args string, code loci.Code, message string) {
	t.Helper()
	tool, found := set.Lookup(name)
	if !found {
		t.Fatalf("no tool %s", name)
	}
	reply, err := tool.Call(t.Context(), c, json.RawMessage(args))
	var e *loci.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s(%.200s) = %.200q, %v; want an error", name, args, reply.Text, err)
	}
	if e.Code != code || e.Error() != message {
		t.Fatalf("%s(%.200s):\n got %s: %s\nwant %s: %s", name, args, e.Code, e, code, message)
	}
	conforms(t, tool, ErrorReply(err))
}

var resolvedSchemas sync.Map // by their bytes

// conforms checks the structured form of a reply against the output schema.
func conforms(t testing.TB, tool *Tool, r Reply) {
	t.Helper()
	if tool.OutputSchema == nil {
		return
	}
	resolved, known := resolvedSchemas.Load(string(tool.OutputSchema))
	if !known {
		var schema jsonschema.Schema
		decode(t, tool.OutputSchema, &schema)
		fresh, err := schema.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		resolved = fresh
		resolvedSchemas.Store(string(tool.OutputSchema), fresh)
	}
	var value any
	decode(t, r.Structured, &value)
	if err := resolved.(*jsonschema.Resolved).Validate(value); err != nil {
		t.Fatalf("%s: %s does not fit the output schema: %v", tool.Name, r.Structured, err)
	}
}

func decode(t testing.TB, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("%.300s: %v", data, err)
	}
}

// object writes arguments: names and values in turn.
func object(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(data)
}

// create stores a memory with manage_memory and returns its id.
func create(t testing.TB, set *Set, c Caller, args string) string {
	t.Helper()
	id, found := strings.CutPrefix(ok(t, set, "manage_memory", c, args).Text, "created memory ")
	if _, err := loci.ParseID(id); !found || err != nil {
		t.Fatalf("no id in the reply to %s: %v", args, err)
	}
	return id
}

// search calls search_memory and decodes its text.
func search(t testing.TB, set *Set, c Caller, args string) (results []found) {
	t.Helper()
	decode(t, []byte(ok(t, set, "search_memory", c, args).Text), &results)
	return results
}

// contents are the contents of results, as text.
func contents(t testing.TB, results []found) (list []string) {
	t.Helper()
	for _, r := range results {
		var value map[string]any
		decode(t, r.Value, &value)
		switch c := value["content"].(type) {
		case string:
			list = append(list, c)
		default:
			list = append(list, object("content", c))
		}
	}
	return list
}

// save stores a note and returns its id.
func save(t testing.TB, set *Set, c Caller, content string, tags ...string) string {
	t.Helper()
	args := object("content", content)
	if tags != nil {
		args = object("content", content, "tags", tags)
	}
	var r noteChange
	decode(t, []byte(ok(t, set, "memory_save", c, args).Text), &r)
	return r.NoteID
}

// notes searches notes and decodes the text of the reply.
func notes(t testing.TB, set *Set, c Caller, args string) (hits []noteHit) {
	t.Helper()
	reply := ok(t, set, "memory_search", c, args)
	decode(t, []byte(reply.Text), &hits)
	var structured struct{ Results []noteHit }
	decode(t, reply.Structured, &structured)
	if !slices.Equal(hits, structured.Results) {
		t.Fatalf("text and structured form differ:\n%s\n%s", reply.Text, reply.Structured)
	}
	return hits
}

func texts(hits []noteHit) (list []string) {
	for _, h := range hits {
		list = append(list, h.Text)
	}
	return list
}

func same(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\n got %q\nwant %q", what, got, want)
	}
}

// TestSecondaryTools: instructions to a model name every tool but these, which say by themselves when to use them.
func TestSecondaryTools(t *testing.T) {
	var names []string
	for _, family := range Families() {
		set := setOver(t, newEngine(t, loci.Options{}), Config{Entries: []Instance{{Family: family}}})
		for _, one := range set.Tools() {
			if one.Secondary {
				names = append(names, one.Name)
			}
		}
	}
	want := "memory_context memory_get memory_confirm memory_mark_helpful memory_mark_harmful " +
		"memory_forget memory_stats memory_list_sessions memory_read_session memory_delete_session"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}
