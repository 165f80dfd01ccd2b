package sqlite

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
)

// A lookedAt is a context that does something when it is looked at for the n-th time, unless that is after the call.
type lookedAt struct {
	context.Context
	mu    sync.Mutex // database/sql looks from goroutines of its own
	n     int
	ended bool
	do    func()
}

func (c *lookedAt) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && !c.ended {
		c.do()
	}
}

func (c *lookedAt) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

func (c *lookedAt) Done() <-chan struct{} {
	c.look()
	return c.Context.Done()
}

func (c *lookedAt) Err() error {
	c.look()
	return c.Context.Err()
}

// Records of one call are of one moment, one of them kept and the other one read, whenever during the call somebody
// else writes both of them.
func TestKeptAndReadAreOfOneMoment(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	c := note("0")
	c.Put = append(c.Put, note("0").Put[0])
	if err := other.Apply(t.Context(), testTenant, c); err != nil {
		t.Fatal(err)
	}
	ids := []loci.ID{c.Put[0].Record.ID, c.Put[1].Record.ID}
	version, during := int64(1), 0
	write := func() {
		version++
		put := slices.Clone(c.Put)
		for i := range put {
			put[i].Record.Version = version
		}
		if err := other.Apply(t.Context(), testTenant, loci.Change{Put: put}); err != nil {
			t.Error(err)
		}
	}
	for n := 1; ; n++ {
		write()                    // nothing is kept
		noted(t, s, false, ids[0]) // one of them is
		before := version
		ctx := &lookedAt{Context: t.Context(), n: n, do: write}
		records, _, err := s.Records(ctx, testTenant,
			loci.Filter{Within: []loci.Namespace{{}}, IDs: ids}, loci.Page{Limit: 100})
		ctx.end()
		if err != nil || len(records) != 2 {
			t.Fatal(n, len(records), err)
		}
		if a, b := records[0].Version, records[1].Version; a != b || a < before {
			t.Errorf("look %d: versions %d and %d, %d was acknowledged before", n, a, b, before)
		}
		if version == before {
			break // the call looks fewer times
		}
		during++
	}
	if during < 3 {
		t.Errorf("the other one wrote during %d calls", during)
	}
}
