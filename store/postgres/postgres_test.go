package postgres_test

import (
	"context"
	"errors"
	"flag"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/storetest"
)

func TestMain(m *testing.M) {
	storm.Child(openChild, postgres.Unlock)
	postgres.Observe(watch)
	os.Exit(pgtest.Run(m))
}

// watch notes what is sent.
func watch(sql string, args []any) { seen.LoadOrStore(sql, args) }

// A pool has databases with our tables and nothing in them, which no test uses now.
type pool struct {
	sync.Mutex
	free []pgtest.Database
	make func(t testing.TB) pgtest.Database // another one
}

// empty are those of the server that all tests share.
var empty = pool{make: func(t testing.TB) pgtest.Database {
	d, _, err := pgtest.Shared(t).Database(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(context.Background(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	return d
}}

// truncate takes away all that there is of tenants.
const truncate = "TRUNCATE loci.lease, loci.tenant, loci.namespace, loci.record, loci.change, loci.revision, loci.space, " +
	"loci.vector, loci.link, loci.event, loci.reply, loci.image, loci.piece, loci.tally, loci.event_span"

// database is one of the shared server's.
func database(t testing.TB) (d pgtest.Database, giveBack func()) {
	t.Helper()
	return empty.take(t)
}

// take is one that may be used again when the test is over.
func (p *pool) take(t testing.TB) (d pgtest.Database, giveBack func()) {
	t.Helper()
	p.Lock()
	if n := len(p.free); n > 0 {
		d = p.free[n-1]
		p.free = p.free[:n-1]
		p.Unlock()
	} else {
		p.Unlock()
		d = p.make(t)
	}
	return d, func() {
		execute(t, d.Super, truncate)
		p.Lock()
		p.free = append(p.free, d)
		p.Unlock()
	}
}

// execute runs a statement at a URL.
func execute(t testing.TB, url, sql string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}()
	if _, err := conn.Exec(ctx, sql); err != nil {
		t.Errorf("%s: %v", sql, err)
	}
}

// urls remembers where the store of a test keeps its data.
var urls sync.Map // loci.Store → string

// ownServer starts a server that no other test uses, with a database that is ready to be
// opened.
func ownServer(t *testing.T, opts pgtest.Options) (*pgtest.Server, pgtest.Database) {
	t.Helper()
	opts.Own = true
	server, err := pgtest.Start(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	stopped(t, server)
	d, _, err := server.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	return server, d
}

// stopped makes a test stop a server when it ends.
func stopped(t *testing.T, server *pgtest.Server) {
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
}

func openAt(t testing.TB, url string) loci.Store {
	t.Helper()
	return openWith(t, url, nil)
}

func openWith(t testing.TB, url string, opts *postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	urls.Store(loci.Store(s), url)
	return s
}

// inSegments are options with which everything is kept in small segments, in a folder that the
// stores of a test share, and lists of more than two records are merged.
func inSegments(dir string) *postgres.Options {
	return (&postgres.Options{IndexCache: dir, IndexCacheSize: 1 << 20}).Shelve(1, 3, true).Forget().Stream(1)
}

// open opens an empty store.
func open(t testing.TB) loci.Store {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	return openAt(t, d.Server)
}

func urlOf(t testing.TB, s loci.Store) string {
	t.Helper()
	url, ok := urls.Load(s)
	if !ok {
		t.Fatal("a store that this test did not open")
	}
	return url.(string)
}

// throughPooler is a function that leads a URL through a PgBouncer in transaction mode with so
// many connections to the server.
func throughPooler(t *testing.T, conns int) func(at string) string {
	t.Helper()
	b, err := pgtest.Shared(t).Bouncer(t.Context(), conns)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Stop(); err != nil {
			t.Error(err)
		}
	})
	t.Log(b.Version)
	return func(at string) string {
		return changed(t, b.URL(at), func(u *url.URL) { u.RawQuery += "&default_query_exec_mode=exec" })
	}
}

// TestStoreInSegments is the contract with an index that is kept and taken up all the time.
func TestStoreInSegments(t *testing.T) {
	pgtest.Shared(t) // before the suite counts goroutines
	dir := t.TempDir()
	opened := func(t *testing.T, url string) loci.Store { return openWith(t, url, inSegments(dir)) }
	storetest.Run(t, storetest.Target{
		Indexed: true,
		Open: func(t *testing.T) loci.Store {
			d, giveBack := database(t)
			t.Cleanup(giveBack)
			return opened(t, d.Server)
		},
		Reopen: func(t *testing.T, s loci.Store) loci.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return opened(t, urlOf(t, s))
		},
		Shared: func(t *testing.T, s loci.Store) loci.Store { return opened(t, urlOf(t, s)) },
	})
}

func TestStore(t *testing.T) {
	pgtest.Shared(t) // before the suite counts goroutines
	way := func(at string) string { return at }
	if os.Getenv("LOCI_TEST_POOLER") != "" {
		way = throughPooler(t, 20)
	}
	storetest.Run(t, storetest.Target{
		Open: func(t *testing.T) loci.Store {
			d, giveBack := database(t)
			t.Cleanup(giveBack)
			return openAt(t, way(d.Server))
		},
		Reopen: func(t *testing.T, s loci.Store) loci.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, urlOf(t, s))
		},
		Shared: func(t *testing.T, s loci.Store) loci.Store { return openAt(t, urlOf(t, s)) },
	})
	t.Run("statements", checkStatements)
	t.Run("plans", checkPlans)
}

// returned gives its database back when it is closed.
type returned struct {
	loci.Store
	giveBack func()
}

func (r *returned) Close() error {
	err := r.Store.Close()
	r.giveBack()
	return err
}

// inTurn are two servers of a database: each makes some writes, and then the other one does.
type inTurn struct {
	returned
	other  loci.Store
	writes int
}

func (s *inTurn) Close() error { return errors.Join(s.other.Close(), s.returned.Close()) }

// next is the server whose turn it is.
func (s *inTurn) next() loci.Store {
	if s.writes++; s.writes%9 < 5 {
		return s.Store
	}
	return s.other
}

func (s *inTurn) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	return s.next().Apply(ctx, t, c)
}

func (s *inTurn) Touch(ctx context.Context, t loci.Tenant, touches []loci.Touch) error {
	return s.next().Touch(ctx, t, touches)
}

func (s *inTurn) PutVectors(ctx context.Context, t loci.Tenant, vectors []loci.RecordVectors) error {
	return s.next().PutVectors(ctx, t, vectors)
}

func (s *inTurn) EraseTenant(ctx context.Context, t loci.Tenant) error {
	return s.next().EraseTenant(ctx, t)
}

// TestEqualsTheMemoryStore runs random operations on both stores: every answer, scores
// included, is the same.
func TestEqualsTheMemoryStore(t *testing.T) {
	checks, goal := "10", 0
	if os.Getenv("LOCI_LONG") != "" {
		checks, goal = "30", 100_000
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, opts := range map[string]*postgres.Options{"by two servers in turn": nil, "in segments": inSegments(dir)} {
		t.Run(name, func(t *testing.T) {
			storetest.Compare(t, goal, func(t *testing.T) loci.Store {
				d, giveBack := database(t)
				s, err := postgres.Open(t.Context(), d.Server, opts)
				if err != nil {
					t.Fatal(err)
				}
				if opts != nil {
					return &returned{s, giveBack}
				}
				other, err := postgres.Open(t.Context(), d.Server, opts)
				if err != nil {
					t.Fatal(err)
				}
				return &inTurn{returned: returned{s, giveBack}, other: other}
			}, func(*testing.T) loci.Store { return memory.Open() })
		})
	}
}
