package sqlite

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// Small shards that are read together are whole, whatever the kept counts say of them, and one of
// a kind that is no word; a shard whose segments are kept is taken from these.
func TestSmallShardsAreReadTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	for i := range 6 {
		fill(t, s, fmt.Sprint("u", i), 10)
	}
	fill(t, s, "large", loadRecords+500)
	for i := range 4 {
		c := note("a walrus")
		c.Put[0].Record.Kind, c.Put[0].Record.Namespace = "what's left", loci.Namespace{fmt.Sprint("u", i)}
		c.Events[0].Kind, c.Events[0].Namespace = "what's left", loci.Namespace{fmt.Sprint("u", i)}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	all := func(s *Store, want int) {
		t.Helper()
		everything := loci.Filter{Within: []loci.Namespace{{}}}
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, everything, 100)
		if err != nil || len(hits) != want {
			t.Errorf("%d hits, %v; want %d", len(hits), err, want)
		}
	}
	walruses := func(s *Store, want int) {
		t.Helper()
		left := loci.Filter{Within: []loci.Namespace{{}}, Kinds: []loci.Kind{"what's left"}}
		if hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, left, 100); err != nil || len(hits) != 4 {
			t.Errorf("%d hits of a kind, %v; want 4", len(hits), err)
		}
		all(s, want)
	}
	walruses(s, 11)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	exec1(t, path, "UPDATE tally SET searched = 1 WHERE searched > 1000")
	var large, parts atomic.Int64
	again := func() *Store {
		s := openFile(t, path)
		large.Store(0)
		parts.Store(0)
		s.reading = func(key index.Key) {
			if parts.Add(1); key.Namespace == (loci.Namespace{"large"}).Key() {
				large.Add(1)
			}
		}
		return s
	}
	s = again()
	walruses(s, 11)
	if n := large.Load(); n != 1 || parts.Load() != 11 {
		t.Errorf("%d parts of the shard that is kept in segments were read, of %d; want 1 of 11", n, parts.Load())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	exec1(t, path, "DELETE FROM meta WHERE "+manifestKeys)
	s = again()
	walruses(s, 11)
	if x := &s.files[testTenant].search; x.index.Passages() != 60+4+loadRecords+500 {
		t.Errorf("%d passages are in the index", x.index.Passages())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	exec1(t, path, "DELETE FROM meta WHERE "+manifestKeys)
	all(again(), 11) // both kinds of shards at once
}
