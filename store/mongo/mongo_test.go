package mongo_test

import (
	"context"
	"flag"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/storetest"
)

func TestMain(m *testing.M) {
	storm.Child(openChild, mongo.Unlock)
	mongo.Observe(see)
	os.Exit(mongotest.Run(m))
}

// empty are URLs of databases with our collections that no test uses now.
var empty struct {
	sync.Mutex
	free []string
}

// database is one with our collections and nothing in them. It may be used again when the
// test is over.
func database(t testing.TB) (at string, giveBack func()) {
	t.Helper()
	empty.Lock()
	defer empty.Unlock()
	if n := len(empty.free); n > 0 {
		at = empty.free[n-1]
		empty.free = empty.free[:n-1]
	} else {
		at = mongotest.Shared(t).Database()
		if _, err := mongo.Migrate(context.Background(), at, false); err != nil {
			t.Fatal(err)
		}
	}
	return at, func() {
		if err := mongotest.Shared(t).With(nameOf(at), emptied); err != nil {
			t.Error(err)
		}
		empty.Lock()
		defer empty.Unlock()
		empty.free = append(empty.free, at)
	}
}

// nameOf is the name of the database of a URL.
func nameOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		panic(err) // made by mongotest
	}
	return strings.TrimPrefix(u.Path, "/")
}

// emptied empties a database of everything that tenants keep in it.
func emptied(ctx context.Context, db *driver.Database) error {
	for _, name := range mongo.Collections {
		filter := bson.D{}
		if name == "setting" {
			filter = bson.D{{Key: "t", Value: bson.D{{Key: "$ne", Value: bson.Binary{Data: make([]byte, 16)}}}}}
		}
		if _, err := db.Collection(name).DeleteMany(ctx, filter); err != nil {
			return err
		}
	}
	return nil
}

// urls remembers where the store of a test keeps its data.
var urls sync.Map // loci.Store → string

// openAt opens a database.
func openAt(t testing.TB, at string) loci.Store {
	t.Helper()
	return openWith(t, at, nil)
}

// open opens an empty store.
func open(t testing.TB) loci.Store {
	t.Helper()
	at, giveBack := database(t)
	t.Cleanup(giveBack)
	return openAt(t, at)
}

func urlOf(t testing.TB, s loci.Store) string {
	t.Helper()
	at, ok := urls.Load(s)
	if !ok {
		t.Fatal("a store that this test did not open")
	}
	return at.(string)
}

// TestStore: the store keeps the contract of all stores.
func TestStore(t *testing.T) {
	mongotest.Shared(t) // before the suite counts goroutines
	storetest.Run(t, storetest.Target{
		Open: func(t *testing.T) loci.Store { return open(t) },
		Reopen: func(t *testing.T, s loci.Store) loci.Store {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, urlOf(t, s))
		},
		Shared: func(t *testing.T, s loci.Store) loci.Store { return openAt(t, urlOf(t, s)) },
	})
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

// TestEqualsTheMemoryStore runs random operations on both stores: every answer, scores
// included, is the same.
func TestEqualsTheMemoryStore(t *testing.T) {
	goal, flags := 0, map[string]string{"rapid.checks": "1"}
	if os.Getenv("LOCI_LONG") != "" { // to make a database takes as long as a hundred operations
		goal, flags = 6000, map[string]string{"rapid.checks": "10", "rapid.steps": "400"}
	}
	for name, value := range flags {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	for name, opts := range map[string]*mongo.Options{"from records": nil, "in segments": inSegments(dir)} {
		t.Run(name, func(t *testing.T) { compare(t, goal, opts) })
	}
}

// inSegments are options with which everything is kept in small segments, in a folder that the
// stores of a test share.
func inSegments(dir string) *mongo.Options {
	return (&mongo.Options{IndexCache: dir, IndexCacheSize: 1 << 20}).Shelve(1, 3, true).Forget()
}

// TestStoreInSegments is the contract with an index that is kept and taken up all the time.
func TestStoreInSegments(t *testing.T) {
	mongotest.Shared(t) // before the suite counts goroutines
	dir := t.TempDir()
	opened := func(t *testing.T, at string) loci.Store { return openWith(t, at, inSegments(dir)) }
	storetest.Run(t, storetest.Target{
		Open: func(t *testing.T) loci.Store {
			at, giveBack := database(t)
			t.Cleanup(giveBack)
			return opened(t, at)
		},
		Reopen: func(t *testing.T, s loci.Store) loci.Store {
			t.Helper()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return opened(t, urlOf(t, s))
		},
		Shared:  func(t *testing.T, s loci.Store) loci.Store { return opened(t, urlOf(t, s)) },
		Indexed: true,
	})
}

// compare runs random operations on a store and the memory store.
func compare(t *testing.T, goal int, opts *mongo.Options) {
	storetest.Compare(t, goal, func(t *testing.T) loci.Store {
		at, giveBack := database(t)
		s, err := mongo.Open(context.Background(), at, opts)
		if err != nil {
			t.Fatal(err)
		}
		return &returned{s, giveBack}
	}, func(*testing.T) loci.Store { return memory.Open() })
}
