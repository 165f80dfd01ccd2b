package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// A page that is kept loses what expires, and is not the page of an earlier moment.
func TestKeptPagesKnowTheTime(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	at := time.UnixMilli(1_700_000_000_000).UTC()
	for i := range 4 {
		c := note("a text")
		r := &c.Put[0].Record
		r.Slot = fmt.Sprint(i)
		switch i {
		case 1:
			r.ExpiresAt = at.Add(10 * time.Second)
		case 2:
			r.EndsAt, r.DueAt = at.Add(20*time.Second), at.Add(20*time.Second)
		}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct{ seconds, want int }{
		{5, 4}, {5, 4}, {9, 4}, {10, 3}, {15, 3}, {5, 4}, {20, 2}, {30, 2}, {15, 3},
	} {
		f := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact},
			At: at.Add(time.Duration(step.seconds) * time.Second)}
		records, _, err := s.Records(t.Context(), testTenant, f, loci.Page{Order: loci.SlotAscending, Brief: true})
		if err != nil || len(records) != step.want {
			t.Errorf("after %d s there are %d records; want %d: %v", step.seconds, len(records), step.want, err)
		}
	}
	if s.pool.Bytes() == 0 {
		t.Error("no page is kept")
	}
}

// A filter that asks for more than a kept page depends on has no page kept.
func TestOnlyPlainPagesAreKept(t *testing.T) {
	t.Parallel()
	plain := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	key := func(change func(*loci.Filter)) string {
		f := plain
		change(&f)
		key, lasts := listKey(briefColumns, &f, nil, loci.SlotAscending, 3)
		if !lasts {
			return ""
		}
		return string(key)
	}
	seen := map[string]bool{}
	for name, change := range map[string]func(*loci.Filter){
		"":          func(*loci.Filter) {},
		"namespace": func(f *loci.Filter) { f.Within = []loci.Namespace{{"v"}} },
		"kind":      func(f *loci.Filter) { f.Kinds = []loci.Kind{loci.KindRule} },
		"from":      func(f *loci.Filter) { f.Slots.From = "a" },
		"to":        func(f *loci.Filter) { f.Slots.To = "a" },
		"status":    func(f *loci.Filter) { f.Statuses = []string{"a"} },
		"statuses":  func(f *loci.Filter) { f.Statuses = []string{"a", ""} },
		"time":      func(f *loci.Filter) { f.At = time.UnixMilli(5) },
		"not live":  func(f *loci.Filter) { f.NotLive = true },
	} {
		k := key(change)
		if k == "" || seen[k] {
			t.Errorf("%s has the key %q", name, k)
		}
		seen[k] = true
	}
	for _, other := range []struct {
		columns string
		after   *page.Record
		order   loci.Order
		limit   int
	}{{bodyColumns, nil, loci.SlotAscending, 3}, {briefColumns, &page.Record{Slot: "a"}, loci.SlotAscending, 3},
		{briefColumns, &page.Record{Slot: "b"}, loci.SlotAscending, 3},
		{briefColumns, nil, loci.SlotDescending, 3}, {briefColumns, nil, loci.SlotAscending, 4}} {
		k, lasts := listKey(other.columns, &plain, other.after, other.order, other.limit)
		if !lasts || seen[string(k)] {
			t.Errorf("%+v has the key %q", other, k)
		}
		seen[string(k)] = true
	}
	for name, change := range map[string]func(*loci.Filter){
		"ids":        func(f *loci.Filter) { f.IDs = []loci.ID{{1}} },
		"slot":       func(f *loci.Filter) { f.Slot = new(string) },
		"tags":       func(f *loci.Filter) { f.Tags = []string{"a"} },
		"expired":    func(f *loci.Filter) { f.Expired = true },
		"confidence": func(f *loci.Filter) { f.MinConfidence = 0.5 },
		"due":        func(f *loci.Filter) { f.Due = time.UnixMilli(5) },
		"ended":      func(f *loci.Filter) { f.Ended = true },
		"since":      func(f *loci.Filter) { f.Since = time.UnixMilli(5) },
	} {
		if k := key(change); k != "" {
			t.Errorf("a page by %s has the key %q", name, k)
		}
	}
}
