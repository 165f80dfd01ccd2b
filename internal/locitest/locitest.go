// Package locitest is what the tests of every package start from: each store, a clock,
// an engine that keeps every kind of memory, a handle.
package locitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
	"github.com/loci-memory/loci/tree"
)

// Unraced chooses between the full length of a test and one for the race detector:
// what it looks for comes early, and `make test` runs the full length without it.
func Unraced(full, short int) int {
	if Raced {
		return short
	}
	return full
}

// Unshared marks a test that is long and in which no goroutines meet: the race detector has
// nothing to look for there, and `make test` runs it without.
func Unshared(t testing.TB) {
	t.Helper()
	if Raced {
		t.Skip("runs without the race detector")
	}
}

// storesVariable names a further store for [EachStore]: postgres or mongo, which take longer.
const storesVariable = "LOCI_TEST_STORES"

// EachStore runs a test over every store there is, each empty; over PostgreSQL or MongoDB
// where LOCI_TEST_STORES=postgres or =mongo says so.
func EachStore(t *testing.T, test func(t *testing.T, store loci.Store)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) { test(t, memory.Open()) })
	t.Run("sqlite", func(t *testing.T) { test(t, OpenSQLite(t)) })
	switch os.Getenv(storesVariable) {
	case "postgres":
		t.Run("postgres", func(t *testing.T) { test(t, OpenPostgres(t)) })
	case "mongo":
		t.Run("mongo", func(t *testing.T) { test(t, OpenMongo(t)) })
	}
}

// Chosen opens an empty database where LOCI_TEST_STORES=postgres or =mongo says so, and else
// what the test uses by itself: so that the same test says the same of both.
func Chosen(t testing.TB, otherwise func() loci.Store) loci.Store {
	t.Helper()
	switch os.Getenv(storesVariable) {
	case "postgres":
		return OpenPostgres(t)
	case "mongo":
		return OpenMongo(t)
	}
	return otherwise()
}

// OpenMemory opens an empty store of maps.
func OpenMemory() loci.Store { return memory.Open() }

// OpenSQLite opens a directory, so that there may be several tenants.
func OpenSQLite(t testing.TB) loci.Store {
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

// OpenPostgres opens an empty database of a throwaway server. The package's TestMain says
// os.Exit(pgtest.Run(m)), or LOCI_TEST_POSTGRES names a server.
func OpenPostgres(t testing.TB) loci.Store {
	t.Helper()
	d := pgtest.Shared(t).NewDatabase(t)
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	s, err := postgres.Open(t.Context(), d.Server, nil)
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

// OpenMongo opens an empty database of a throwaway server. The package's TestMain says
// os.Exit(mongotest.Run(m)), or LOCI_TEST_MONGODB names a server.
func OpenMongo(t testing.TB) loci.Store {
	t.Helper()
	url := mongotest.Shared(t).Database()
	if _, err := mongo.Migrate(t.Context(), url, false); err != nil {
		t.Fatal(err)
	}
	s, err := mongo.Open(t.Context(), url, nil)
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

// A Clock is moved by hand; each look at it is the same moment.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock makes a clock that shows the same moment in every test.
func NewClock() *Clock {
	return &Clock{at: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC)}
}

// Now is what [loci.Options] calls a clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Advance moves the clock on.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// Set moves the clock to a moment, an earlier one too.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// Features returns every feature there is; those given replace the defaults.
func Features(given ...loci.Feature) []loci.Feature {
	all := given
	for _, f := range []loci.Feature{session.Feature{}, tree.Feature{}, item.Feature{}, checkpoint.Feature{}} {
		if !slices.ContainsFunc(given, func(g loci.Feature) bool { return g.Kinds()[0].Kind == f.Kinds()[0].Kind }) {
			all = append(all, f)
		}
	}
	return all
}

// NewEngine makes an engine that keeps every kind of memory, with a clock of its own
// unless opts has one.
func NewEngine(t testing.TB, s loci.Store, opts loci.Options) *loci.Engine {
	t.Helper()
	if opts.Now == nil {
		opts.Now = NewClock().Now
	}
	opts.Features = Features(opts.Features...)
	e, err := loci.New(s, &opts)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Tenant makes a tenant of a name.
func Tenant(t testing.TB, name string) loci.Tenant {
	t.Helper()
	tn, err := loci.NewTenant(name)
	if err != nil {
		t.Fatal(err)
	}
	return tn
}

// Bind makes a handle of tenant "t" for a namespace.
func Bind(t testing.TB, e *loci.Engine, labels ...string) *loci.Memory {
	t.Helper()
	return BindView(t, e, loci.View{Tenant: Tenant(t, "t"), Namespace: labels, Actor: "tester"})
}

// BindView makes a handle of a view.
func BindView(t testing.TB, e *loci.Engine, v loci.View) *loci.Memory {
	t.Helper()
	m, err := e.Memory(v)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Save stores a note.
func Save(t testing.TB, m *loci.Memory, content string) loci.ID {
	t.Helper()
	return StoreFact(t, m, loci.NewFact{Content: content}).ID
}

// SaveMany fills a handle with n notes in few changes. That is many times faster than
// saving one after the other, for tests that do not care how the notes came to be there.
func SaveMany(t testing.TB, m *loci.Memory, n int, text func(i int) string) {
	t.Helper()
	from := Bind(t, NewEngine(t, OpenMemory(), loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}}), "u")
	for i := range n {
		Save(t, from, text(i))
	}
	var file bytes.Buffer
	if _, err := from.Export(t.Context(), &file, nil); err != nil {
		t.Fatal(err)
	}
	if report, err := m.Import(t.Context(), &file, nil); err != nil || report.Created != int64(n) {
		t.Fatalf("%d notes filled in as %+v, %v", n, report, err)
	}
}

// StoreFact stores a fact.
func StoreFact(t testing.TB, m *loci.Memory, in loci.NewFact) loci.Stored {
	t.Helper()
	stored, err := m.StoreFact(t.Context(), in)
	if err != nil {
		t.Fatalf("store %+v: %v", in, err)
	}
	return stored
}

// Fact reads a fact by its id.
func Fact(t testing.TB, m *loci.Memory, id loci.ID) loci.Fact {
	t.Helper()
	f, err := m.Fact(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// AllFacts lists every fact of a handle, live or not.
func AllFacts(t testing.TB, m *loci.Memory) []loci.Fact {
	t.Helper()
	facts, _, err := m.Facts(t.Context(), loci.FactQuery{History: true}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

// Search searches with a handle.
func Search(t testing.TB, m *loci.Memory, q loci.Query) loci.Result {
	t.Helper()
	r, err := m.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("search %+v: %v", q, err)
	}
	return r
}

// Texts are the texts of a result, in order.
func Texts(r loci.Result) []string {
	var out []string
	for i := range r.Matches {
		out = append(out, r.Matches[i].Record.Text)
	}
	return out
}

// WantCode fails unless err is an error of the code.
func WantCode(t testing.TB, err error, code loci.Code) {
	t.Helper()
	var e *loci.Error
	if !errors.As(err, &e) || e.Code != code {
		t.Errorf("error is %#v, want code %s", err, code)
	}
}

// WordEmbedder stands for a remote embedder: texts that share words are near. It
// can be out of order.
type WordEmbedder struct {
	mu       sync.Mutex
	Name     string
	Down     bool
	Embedded int // embedded so far
}

// Model implements [loci.Embedder].
func (w *WordEmbedder) Model() string { return w.Name }

// Dims implements [loci.Embedder].
func (w *WordEmbedder) Dims() int { return 64 }

// SetDown makes every call fail from now on, or none.
func (w *WordEmbedder) SetDown(down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Down = down
}

// Embed implements [loci.Embedder].
func (w *WordEmbedder) Embed(_ context.Context, texts []string) ([][]float32, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Down {
		return nil, errors.New("connection refused")
	}
	w.Embedded += len(texts)
	rows := make([][]float32, len(texts))
	for i, text := range texts {
		rows[i] = make([]float32, w.Dims())
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r)
		}) {
			h := fnv.New32a()
			h.Write([]byte(w.Name + word))
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

// PutItem stores an item.
func PutItem(t testing.TB, m *loci.Memory, n loci.Namespace, key, value string, opts *item.PutOptions) {
	t.Helper()
	if err := item.Of(m).Put(t.Context(), n, key, json.RawMessage(value), opts); err != nil {
		t.Fatalf("put %s: %v", key, err)
	}
}

// Exported is the export of a handle.
func Exported(t testing.TB, m *loci.Memory) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := m.Export(t.Context(), &b, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// CountLines counts the lines that hold a text.
func CountLines(lines, text string) (n int64) {
	for line := range strings.Lines(lines) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// Long chooses between the length of a test in CI and its full length.
func Long(short, full int) int {
	if os.Getenv("LOCI_LONG") != "" {
		return full
	}
	return short
}

// Allocations is how often run allocates: the least of ten measurements, since whatever
// else runs in the process (calls that an earlier test gave up, the collector, the race
// detector) is sometimes counted too.
func Allocations(run func()) float64 {
	least := math.Inf(1)
	for range 10 {
		least = min(least, testing.AllocsPerRun(1, run))
	}
	return least
}
