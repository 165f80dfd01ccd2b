package postgres_test

import (
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// A server that may be stale finds its own writes at once and those of another one when the
// time is over; one that may not finds all at once.
func TestSearchesMayBeStale(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	now := time.Hour
	const most = 2 * time.Second
	stale := openWith(t, d.Server, (&postgres.Options{}).Stale(most, func() time.Duration { return now }))
	other := openAt(t, d.Server)
	tn := locitest.Tenant(t, "t")
	save := func(s loci.Store) string {
		c := creation(loci.NewID())
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
		return wordOf(c.Put[0].Record.ID)
	}
	finds := func(s loci.Store, word string) bool {
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: word}, everywhere, 3)
		if err != nil {
			t.Fatal(err)
		}
		return len(hits) > 0
	}
	own := save(stale)
	if !finds(stale, own) {
		t.Error("a server does not find its own first write")
	}
	theirs := save(other)
	now += most
	if finds(stale, theirs) {
		t.Error("a search looked at the database before the time was over: nothing is shown")
	}
	if !finds(other, theirs) || !finds(other, own) {
		t.Error("a server that may not be stale does not find a write")
	}
	now++
	if !finds(stale, theirs) {
		t.Error("another server's write is not found when the time is over")
	}
	theirs = save(other)
	own = save(stale) // the search for it looks, and so it finds the other one, too
	if !finds(stale, own) || !finds(stale, theirs) {
		t.Error("a server does not find its own next write at once")
	}
	if err := stale.EraseTenant(t.Context(), tn); err != nil {
		t.Fatal(err)
	}
	if finds(stale, own) {
		t.Error("a server finds what it has erased")
	}
	// A commit whose answer was lost may come yet, also when a search has looked for it in vain.
	own = save(stale)
	finds(stale, own)
	if err := postgres.FailCommit(stale, tn); err != nil {
		t.Fatal(err)
	}
	finds(stale, own)
	theirs = save(other)
	if !finds(stale, theirs) {
		t.Error("a server that may lack a write of its own does not look for it any more")
	}
}
