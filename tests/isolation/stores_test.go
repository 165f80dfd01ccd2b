package isolation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/sqlite"
)

// TestMain stops the database servers that the tests may have started.
func TestMain(m *testing.M) { os.Exit(mongotest.Run(ended{m})) }

type ended struct{ *testing.M }

func (m ended) Run() int { return pgtest.Run(m.M) }

// eachStore runs a test over every store; with LOCI_TEST_STORES=mongo over MongoDB alone, which
// takes longer.
func eachStore(t *testing.T, test func(t *testing.T, s loci.Store)) {
	if os.Getenv("LOCI_TEST_STORES") == "mongo" {
		t.Run("mongo", func(t *testing.T) { test(t, locitest.OpenMongo(t)) })
		return
	}
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

// meets reports whether the store of a test meets the payload of a number: SQLite meets all of
// them, the others every fifth, unless there is time.
func meets(t *testing.T, n int) bool {
	_, store, _ := strings.Cut(t.Name(), "/")
	return store == "sqlite" || n%locitest.Long(5, 1) == 0
}
