package postgres_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/postgres"
)

// openChild opens the store of a server of the storm.
func openChild(ctx context.Context, url string) (loci.Store, error) {
	return postgres.Open(ctx, url, nil)
}

// creation is a change that puts a record whose one word nobody else has.
func creation(id loci.ID) loci.Change { return storm.Creation(id) }

func wordOf(id loci.ID) string { return storm.WordOf(id) }

// newStorm is one over an empty database.
func newStorm(t *testing.T, unlocked bool) *storm.Storm {
	t.Helper()
	base, giveBack := database(t)
	t.Cleanup(giveBack)
	return &storm.Storm{
		URL: base.Server, Unlocked: unlocked, Nodes: []loci.Store{openAt(t, base.Server)},
		Gaps: func(t *testing.T, tn loci.Tenant) (changes, events int64) {
			t.Helper()
			key := fmt.Sprintf("'\\x%x'::bytea", postgres.KeyOf(tn))
			var gaps []int64
			query(t, base.Super, `SELECT (SELECT seq FROM loci.tenant WHERE tenant = `+key+
				`) - count(DISTINCT seq) FROM loci.change WHERE tenant = `+key+`
				UNION ALL SELECT (SELECT events FROM loci.tenant WHERE tenant = `+key+
				`) - count(*) FROM loci.event WHERE tenant = `+key, &gaps)
			return gaps[0], gaps[1]
		},
	}
}

// Four servers are killed at random while 32 clients write to one tenant and to twenty: no
// acknowledged write is lost, counters have no gap, chains verify, and the next search on
// another server finds each write.
func TestServersThatAreKilledLoseNothing(t *testing.T) {
	w := newStorm(t, false)
	w.Writes, w.Looks = 100, 200
	d := 5 * time.Second
	if os.Getenv("LOCI_LONG") != "" {
		d = 15 * time.Minute
		w.Tenants, w.Looks, w.Life = 1000, 1_000_000, 2*time.Second
		for range 3 {
			w.Nodes = append(w.Nodes, openAt(t, w.URL))
		}
	}
	w.Rage(t, d)
	w.Calm(t)
}

// The storm notices a build that does not lock the tenant's row.
func TestStormNoticesAMissingLock(t *testing.T) {
	w := newStorm(t, true)
	w.Writes = 100
	w.Rage(t, 2*time.Second)
	w.Noticed(t)
}

// The storm notices a search that does not look for what others wrote.
func TestStormNoticesStaleSearches(t *testing.T) {
	w := newStorm(t, false)
	w.Writes = 100
	w.Nodes = []loci.Store{openWith(t, w.URL, &postgres.Options{MaxStaleness: 2 * time.Second})}
	w.Rage(t, 2*time.Second)
	w.Noticed(t)
}
