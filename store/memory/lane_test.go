package memory_test

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/internal/page"
	"github.com/loci-memory/loci/store/memory"
)

// laneRecord is one of many with few times, namespaces and kinds.
func laneRecord(n int, namespace string, kind loci.Kind, at int64) loci.Record {
	r := loci.Record{
		Kind: kind, Namespace: loci.Namespace{namespace}, Version: 1, Live: true, CreatedAt: time.UnixMilli(at).UTC(),
	}
	binary.BigEndian.PutUint64(r.ID[8:], uint64(n+1))
	return r
}

// What asks for one kind looks at no record of another, and at none of a namespace that it does not reach.
func TestOneKindIsLookedAt(t *testing.T) {
	s, tenant := memory.Open(), locitest.Tenant(t, "lanes")
	n := 0
	put := func(namespace string, kind loci.Kind, count int) {
		for range count {
			n++
			if err := s.Apply(t.Context(), tenant, loci.Change{
				Put: []loci.Put{{Record: laneRecord(n, namespace, kind, int64(n))}},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	put("a", loci.KindFact, 7)
	put("a", loci.KindRule, 50)
	put("ab", loci.KindFact, 30)
	put("b", loci.KindFact, 200)
	for _, c := range []struct {
		f    loci.Filter
		want int
	}{
		{loci.Filter{Within: []loci.Namespace{{}}, Kinds: []loci.Kind{loci.KindRule}}, 50},
		{loci.Filter{Within: []loci.Namespace{{"a"}}, Kinds: []loci.Kind{loci.KindFact}}, 7},
		{loci.Filter{Within: []loci.Namespace{{"a"}}}, 57},
		{loci.Filter{Within: []loci.Namespace{{"a"}, {}, {"a"}}, Kinds: []loci.Kind{loci.KindFact}}, 237},
		{loci.Filter{Within: []loci.Namespace{{}}, Exact: true}, 0},
		{loci.Filter{Within: []loci.Namespace{{}}, Kinds: []loci.Kind{loci.KindEpisode}}, 0},
	} {
		if got := memory.Looked(s, tenant, c.f); got != c.want {
			t.Errorf("%d records are looked at for %v of %v, not %d", got, c.f.Kinds, c.f.Within, c.want)
		}
	}
}

// Pages of many lanes are those of one list in order of time, wherever a page begins, also when records have one time.
func TestPagesOfManyLanes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	s, tenant := memory.Open(), locitest.Tenant(t, "pages")
	var all []loci.Record
	for i := range 400 {
		r := laneRecord(random.IntN(1<<30), []string{"a", "b", "c"}[random.IntN(3)],
			[]loci.Kind{loci.KindFact, loci.KindRule}[random.IntN(2)], int64(random.IntN(40)))
		if err := s.Apply(t.Context(), tenant, loci.Change{Put: []loci.Put{{Record: r}}}); err != nil {
			t.Fatal(err)
		}
		if all = append(all, r); i%4 == 3 { // some leave again
			gone := random.IntN(len(all))
			change := loci.Change{Erase: []loci.Erase{{ID: all[gone].ID, Version: 1}}}
			if err := s.Apply(t.Context(), tenant, change); err != nil {
				t.Fatal(err)
			}
			all = slices.Delete(all, gone, gone+1)
		}
	}
	for _, order := range []loci.Order{loci.NewestFirst, loci.OldestFirst} {
		slices.SortFunc(all, func(a, b loci.Record) int { return page.Compare(&a, &b, order) })
		for from := -1; from < len(all); from++ {
			p := loci.Page{Limit: 3, Order: order}
			if from >= 0 {
				p.Cursor = page.RecordCursor(&all[from], order)
			}
			got, _, err := s.Records(t.Context(), tenant, loci.Filter{Within: []loci.Namespace{{}}}, p)
			if err != nil {
				t.Fatal(err)
			}
			want := all[from+1 : min(from+4, len(all))]
			if !slices.EqualFunc(got, want, func(a, b loci.Record) bool { return a.ID == b.ID }) {
				t.Fatalf("behind %d in the order %d come %d records, or others than those that follow", from, order, len(got))
			}
		}
	}
	for _, r := range all {
		if err := s.Apply(t.Context(), tenant, loci.Change{Erase: []loci.Erase{{ID: r.ID, Version: 1}}}); err != nil {
			t.Fatal(err)
		}
	}
	if n := memory.Lanes(s, tenant); n != 0 {
		t.Errorf("%d lists are kept of records that are gone", n)
	}
}
