package mongo_test

import (
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/storetest"
)

// The index is loaded beside the searches of others.
func TestLoading(t *testing.T) {
	storetest.RunLoading(t, func(t *testing.T) storetest.Loading {
		at, giveBack := database(t)
		t.Cleanup(giveBack)
		return storetest.Loading{Far: 1000, Open: func(
			t *testing.T, part int, reading func(string),
		) (loci.Store, func()) {
			s := openWith(t, at, (&mongo.Options{}).Load(part, reading))
			return s, s.Idle
		}}
	})
}

// A search takes in what its server committed without reading it, unless another one wrote between.
func TestOwnCommitsAreHandedToTheIndex(t *testing.T) {
	at, giveBack := database(t)
	t.Cleanup(giveBack)
	s, other := openWith(t, at, nil), openWith(t, at, nil)
	tn := locitest.Tenant(t, "handed")
	const followed = "find change"
	for i, c := range []struct {
		writers []loci.Store
		records int // of each
		reads   bool
	}{
		{[]loci.Store{s}, 1, false}, // the first search loads all there is
		{[]loci.Store{s}, 1, false}, {[]loci.Store{s, s}, 1, false}, {[]loci.Store{s, other, s}, 1, true},
		{[]loci.Store{s, s, s, s, s}, 300, false}, // more than may wait: it is taken in meanwhile
	} {
		var last loci.ID
		for _, writer := range c.writers {
			var change loci.Change
			for range c.records {
				last = loci.NewID()
				one := storm.Creation(last)
				change.Put, change.Events = append(change.Put, one.Put...), append(change.Events, one.Events...)
			}
			if err := writer.Apply(t.Context(), tn, change); err != nil {
				t.Fatal(err)
			}
			s.Idle()
		}
		commands.Lock()
		delete(commands.seen, followed)
		commands.Unlock()
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: storm.WordOf(last)}, everywhere, 9)
		if err != nil || len(hits) != 1 {
			t.Fatal(hits, err)
		}
		commands.Lock()
		if commands.seen[followed] != c.reads {
			t.Errorf("search %d reads what was written: %v, want %v", i, !c.reads, c.reads)
		}
		commands.Unlock()
	}
}
