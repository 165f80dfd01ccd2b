package sqlite_test

import (
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/sqlite"
	"github.com/loci-memory/loci/store/storetest"
)

// paths remembers where the store of a test keeps its data.
var paths sync.Map // loci.Store → string

func openAt(t testing.TB, path string) loci.Store { return openWith(t, path, nil) }

func openWith(t testing.TB, path string, o *sqlite.Options) loci.Store {
	t.Helper()
	s, err := sqlite.Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	paths.Store(loci.Store(s), path)
	return s
}

func open(t *testing.T) loci.Store {
	return openAt(t, filepath.Join(t.TempDir(), "tenants"))
}

func pathOf(t *testing.T, s loci.Store) string {
	t.Helper()
	path, ok := paths.Load(s)
	if !ok {
		t.Fatal("a store that this test did not open")
	}
	return path.(string)
}

func TestStore(t *testing.T) { storetest.Run(t, target(nil)) }

// A store that keeps the index of everything in files, in many small segments, is the same.
func TestStoreWithItsIndexInFiles(t *testing.T) {
	kept := target(shelving())
	kept.Indexed = true
	storetest.Run(t, kept)
}

// A store in which small shards share an index that is kept is the same.
func TestStoreWithASharedIndex(t *testing.T) {
	joined := target(joining())
	joined.Indexed = true
	storetest.Run(t, joined)
}

func joining() *sqlite.Options { return new(sqlite.Options).Shelve(4, 3).Join(2) }

func shelving() *sqlite.Options { return new(sqlite.Options).Shelve(1, 3) }

func target(o *sqlite.Options) storetest.Target {
	open := func(t *testing.T, path string) loci.Store { return openWith(t, path, o) }
	return storetest.Target{
		Open: func(t *testing.T) loci.Store { return open(t, filepath.Join(t.TempDir(), "tenants")) },
		Reopen: func(t *testing.T, s loci.Store) loci.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return open(t, pathOf(t, s))
		},
		Shared: func(t *testing.T, s loci.Store) loci.Store { return open(t, pathOf(t, s)) },
	}
}

// TestEqualsTheMemoryStore runs random operations on both stores: every answer,
// scores included, is the same.
func TestEqualsTheMemoryStore(t *testing.T) {
	// Opening files takes most of the time; the long run makes twenty times as many.
	checks := sqlite.Comparisons
	if os.Getenv("LOCI_LONG") != "" {
		checks = "200"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	shelved := func(t *testing.T) loci.Store { return openWith(t, filepath.Join(t.TempDir(), "tenants"), shelving()) }
	t.Run("with its index in files", func(t *testing.T) {
		storetest.Compare(t, 0, shelved, func(*testing.T) loci.Store { return memory.Open() })
	})
	joined := func(t *testing.T) loci.Store { return openWith(t, filepath.Join(t.TempDir(), "tenants"), joining()) }
	t.Run("with an index that is shared", func(t *testing.T) {
		storetest.Compare(t, 0, joined, func(*testing.T) loci.Store { return memory.Open() })
	})
	storetest.Compare(t, 0, open, func(*testing.T) loci.Store { return memory.Open() })
}

func BenchmarkPages(b *testing.B) {
	storetest.BenchmarkPages(b, func(t testing.TB) loci.Store { return openAt(t, filepath.Join(t.TempDir(), "tenants")) })
}
