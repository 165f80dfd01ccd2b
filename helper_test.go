package loci_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/sqlite"
)

// unraced chooses between the full length of a test and one for the race detector:
// what it looks for comes early, and `make test` runs the full length without it.
func unraced(full, short int) int {
	if raced {
		return short
	}
	return full
}

// eachStore runs a test over every store there is, each empty.
func eachStore(t *testing.T, test func(t *testing.T, store loci.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, memory.Open()) })
	t.Run("sqlite", func(t *testing.T) { test(t, openSQLite(t)) })
}

func openMemory() loci.Store { return memory.Open() }

// openSQLite opens a directory, so that there may be several tenants.
func openSQLite(t testing.TB) loci.Store {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A clock is moved by hand; each look at it is the same moment.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock {
	return &clock{at: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)}
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// newEngine makes an engine with a clock of its own unless opts has one.
func newEngine(t testing.TB, s loci.Store, opts loci.Options) *loci.Engine {
	t.Helper()
	if opts.Now == nil {
		opts.Now = newClock().now
	}
	e, err := loci.New(s, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func tenant(t testing.TB, name string) loci.Tenant {
	t.Helper()
	tn, err := loci.NewTenant(name)
	if err != nil {
		t.Fatal(err)
	}
	return tn
}

// bind makes a handle of tenant "t" for a namespace.
func bind(t testing.TB, e *loci.Engine, labels ...string) *loci.Memory {
	t.Helper()
	return bindView(t, e, loci.View{Tenant: tenant(t, "t"), Namespace: labels, Actor: "tester"})
}

func bindView(t testing.TB, e *loci.Engine, v loci.View) *loci.Memory {
	t.Helper()
	m, err := e.Memory(v)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func save(t testing.TB, m *loci.Memory, content string) loci.ID {
	t.Helper()
	return store(t, m, loci.NewFact{Content: content}).ID
}

func store(t testing.TB, m *loci.Memory, in loci.NewFact) loci.Stored {
	t.Helper()
	stored, err := m.StoreFact(t.Context(), in)
	if err != nil {
		t.Fatalf("store %+v: %v", in, err)
	}
	return stored
}

func fact(t testing.TB, m *loci.Memory, id loci.ID) loci.Fact {
	t.Helper()
	f, err := m.Fact(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// allFacts lists every fact of a handle, live or not.
func allFacts(t testing.TB, m *loci.Memory) []loci.Fact {
	t.Helper()
	facts, _, err := m.Facts(t.Context(), loci.FactQuery{History: true}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func search(t testing.TB, m *loci.Memory, q loci.Query) loci.Result {
	t.Helper()
	r, err := m.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	return r
}

// texts are the texts of a result, in order.
func texts(r loci.Result) []string {
	var out []string
	for i := range r.Matches {
		out = append(out, r.Matches[i].Record.Text)
	}
	return out
}

// wantCode fails unless err is an error of the code.
func wantCode(t testing.TB, err error, code loci.Code) {
	t.Helper()
	var e *loci.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("error is %#v, want code %s", err, code)
	}
}

// wordEmbedder stands for a remote embedder: texts that share words are near. It
// can be out of order.
type wordEmbedder struct {
	mu    sync.Mutex
	model string
	down  bool
	texts int // embedded so far
}

func (w *wordEmbedder) Model() string { return w.model }
func (w *wordEmbedder) Dims() int     { return 64 }

func (w *wordEmbedder) setDown(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = down
}

func (w *wordEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, errors.New("connection refused")
	}
	w.texts += len(texts)
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		rows[i] = make([]float32, w.Dims())
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
			h := fnv.New32a()
			h.Write([]byte(w.model + word))
			rows[i][h.Sum32()%uint32(w.Dims())]++
		}
		sum := 0.0
		for _, x := range rows[i] {
			sum += float64(x) * float64(x)
		}
		for d := range rows[i] {
			rows[i][d] = float32(float64(rows[i][d]) / math.Max(math.Sqrt(sum), 1e-9))
		}
	}
	return rows, nil
}

func put(t testing.TB, m *loci.Memory, n loci.Namespace, key, value string, opts *loci.PutOptions) {
	t.Helper()
	if err := m.Items().Put(t.Context(), n, key, json.RawMessage(value), opts); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

func exported(t testing.TB, m *loci.Memory) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := m.Export(t.Context(), &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// count counts the lines that hold a text.
func count(lines, text string) (n int64) {
	for line := range strings.Lines(lines) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
