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

func openAt(t testing.TB, path string) loci.Store {
	t.Helper()
	s, err := sqlite.Open(path, nil)
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

func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Target{
		Open: open,
		Reopen: func(t *testing.T, s loci.Store) loci.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, pathOf(t, s))
		},
		Shared: func(t *testing.T, s loci.Store) loci.Store { return openAt(t, pathOf(t, s)) },
	})
}

// TestEqualsTheMemoryStore runs random operations on both stores: every answer,
// scores included, is the same.
func TestEqualsTheMemoryStore(t *testing.T) {
	// Opening files takes most of the time; the long run makes ten times as many.
	checks := sqlite.Comparisons
	if os.Getenv("LOCI_LONG") != "" {
		checks = "200"
	}
	if err := flag.Set("rapid.checks", checks); err != nil {
		t.Fatal(err)
	}
	storetest.Compare(t, open, func(*testing.T) loci.Store { return memory.Open() })
}

func BenchmarkPages(b *testing.B) {
	storetest.BenchmarkPages(b, func(t testing.TB) loci.Store { return openAt(t, filepath.Join(t.TempDir(), "tenants")) })
}
