package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
)

// A quick search loads a small namespace and passes over a large one, unless another
// search has loaded it.
func TestQuickSearchLoadsLittle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	where := func(label string) loci.Filter { return loci.Filter{Within: []loci.Namespace{{label}}, Exact: true} }
	for label, n := range map[string]int{"small": loci.QuickRecords, "large": loci.QuickRecords + 1} {
		fill(t, s, label, n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openFile(t, path)
	hits := func(label string, quick bool) int {
		t.Helper()
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus", Quick: quick}, where(label), 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(hits)
	}
	for _, c := range []struct {
		label string
		quick bool
		want  int
	}{{"small", true, 1}, {"large", true, 0}, {"large", true, 0}, {"large", false, 1}, {"large", true, 1}} {
		if got := hits(c.label, c.quick); got != c.want {
			t.Errorf("%s, quick %v: %d hits; want %d", c.label, c.quick, got, c.want)
		}
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
