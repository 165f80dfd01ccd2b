package postgres_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// A search keeps no connection while it waits for the index of its tenant: another one, which takes in what
// was written, may wait for a connection. So callers who write and search go on, however many they are and
// however few connections there are.
func TestSearchesWaitWithoutAConnection(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, other := openWith(t, d.Server, &postgres.Options{MaxConns: 1, PoolWait: 3 * time.Second}), openAt(t, d.Server)
	tn := locitest.Tenant(t, "pool")
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	ctx, stop := context.WithCancel(t.Context()) // with the first failure, as each waits for long
	defer stop()
	var callers sync.WaitGroup
	for range 12 {
		callers.Go(func() {
			for i := range 9 { // beyond the searches that look in turn after a write of their process
				id, writer := loci.NewID(), loci.Store(s)
				if i > 0 { // so that the index is not known to be behind
					writer = other
				}
				err := writer.Apply(ctx, tn, creation(id))
				var hits []loci.Hit
				if err == nil {
					hits, err = s.Match(ctx, tn, loci.Probe{Text: wordOf(id)}, everywhere, 1)
				}
				if err != nil || len(hits) != 1 {
					t.Errorf("%d hits, %v", len(hits), err)
					stop()
					return
				}
			}
		})
	}
	callers.Wait()
}

// Searches that wait while one takes in what was written need one more read together, not one each: what was
// read since they began is as new as what they would read.
func TestSearchesThatWaitReadOnce(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s := openWith(t, d.Server, nil)
	tn, id := locitest.Tenant(t, "many"), loci.NewID()
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Match(t.Context(), tn, loci.Probe{Text: wordOf(id)}, everywhere, 1); err != nil {
		t.Fatal(err)
	}
	reads, err := postgres.SearchTogether(s, tn, loci.Probe{Text: wordOf(id)}, everywhere, 20)
	if err != nil || reads != 2 {
		t.Errorf("%d reads of 21 searches, %v", reads, err)
	}
}
