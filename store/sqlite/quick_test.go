package sqlite

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
)

// A quick search finds the same in a process that has searched nothing yet as in any other,
// except in a namespace that is too large for it or for the index.
func TestQuickSearchDoesNotDependOnThePast(t *testing.T) {
	t.Parallel()
	path := filled(t)
	hits := func(s *Store, label string, quick bool) int {
		t.Helper()
		where := loci.Filter{Within: []loci.Namespace{{label}}, Exact: true}
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus", Quick: quick}, where, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(hits)
	}
	s := openFile(t, path)
	for range 2 {
		if n := hits(s, "large", true); n != 1 {
			t.Errorf("%d hits in a namespace of %d records; want 1", n, several)
		}
	}

	// No part of the index is in files here, since the files would have room.
	narrow, err := Open(filled(t), &Options{IndexMemory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = narrow.Close() })
	if n := hits(narrow, "large", true); n != 0 || hits(narrow, "small", true) != 1 {
		t.Errorf("%d hits where the index has no room; want 0, and 1 beside it", n)
	}

	// A namespace that the kept counts say is too large.
	exec1(t, path, fmt.Sprint("UPDATE tally SET searched = ", loci.QuickRecords+1, " WHERE records > 1000"))
	s = openFile(t, path)
	for range 2 {
		if n := hits(s, "large", true); n != 0 {
			t.Errorf("%d hits in a namespace of more than %d records; want 0", n, loci.QuickRecords)
		}
	}
	exec1(t, path, "UPDATE tally SET searched = records")
	c := note("something else")
	c.Put[0].Record.Namespace, c.Events[0].Namespace = loci.Namespace{"small"}, loci.Namespace{"small"}
	if err := s.Apply(t.Context(), testTenant, c); err != nil {
		t.Fatal(err)
	}
	if n := hits(s, "large", true); n != 1 {
		t.Errorf("%d hits in a namespace that is small enough again; want 1", n)
	}
}

// fill stores n records in a namespace, one of them about a walrus.
func fill(t *testing.T, s *Store, label string, n int) {
	t.Helper()
	var all loci.Change
	for i := range n {
		c := note(fmt.Sprint("number ", i))
		if i == 7 {
			c = note("a walrus")
		}
		c.Put[0].Record.Namespace, c.Events[0].Namespace = loci.Namespace{label}, loci.Namespace{label}
		all.Put, all.Events = append(all.Put, c.Put...), append(all.Events, c.Events...)
	}
	if err := s.Apply(t.Context(), testTenant, all); err != nil {
		t.Fatal(err)
	}
}
