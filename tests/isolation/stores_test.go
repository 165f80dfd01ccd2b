package isolation

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/sqlite"
)

// TestMain stops the database server that the tests may have started.
func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func eachStore(t *testing.T, test func(t *testing.T, s loci.Store)) {
	t.Run("memory", func(t *testing.T) { test(t, memory.Open()) })
	t.Run("sqlite", func(t *testing.T) {
		s, err := sqlite.Open(filepath.Join(t.TempDir(), "x"), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		test(t, s)
	})
	t.Run("postgres", func(t *testing.T) { test(t, locitest.OpenPostgres(t)) })
}
