package memory_test

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/effort"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// Four times as much of everything takes about four times as long.
func TestWorkIsLinear(t *testing.T) {
	tenant := locitest.Tenant(t, "growth")
	start := time.UnixMilli(1_700_000_000_000).UTC()
	id := func(n int) (id loci.ID) {
		binary.BigEndian.PutUint64(id[8:], uint64(n+1))
		return id
	}
	apply := func(s *memory.Store, c loci.Change) {
		if err := s.Apply(t.Context(), tenant, c); err != nil {
			t.Fatal(err)
		}
	}
	record := func(n, places int) loci.Put {
		return loci.Put{Record: loci.Record{
			ID: id(n), Kind: loci.KindFact, Namespace: loci.Namespace{fmt.Sprint(n % places)}, Version: 1, Live: true,
			CreatedAt: start.Add(time.Duration(n) * time.Millisecond),
		}}
	}
	filled := func(n, places int) *memory.Store {
		s := memory.Open()
		for i := range n {
			apply(s, loci.Change{Put: []loci.Put{record(i, places)}})
		}
		return s
	}
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	pages := func(s *memory.Store, f loci.Filter, order loci.Order) (all int) {
		for page := (loci.Page{Limit: 20, Order: order}); ; {
			records, next, err := s.Records(t.Context(), tenant, f, page)
			if err != nil {
				t.Fatal(err)
			}
			if all, page.Cursor = all+len(records), next; next == "" {
				return all
			}
		}
	}
	stores := map[int]*memory.Store{}
	for _, n := range []int{1000, 4000} {
		stores[n] = filled(n, 3)
	}
	many := map[int]*memory.Store{}
	for _, n := range []int{1000, 4000} {
		many[n] = filled(n, n/4)
	}
	for name, work := range map[string]func(n int){
		"pages": func(n int) {
			if got := pages(stores[n], everywhere, loci.NewestFirst); got != n {
				t.Errorf("%d records in pages, not %d", got, n)
			}
		},
		"pages, oldest first": func(n int) { pages(stores[n], everywhere, loci.OldestFirst) },
		"lists of many namespaces": func(n int) {
			for i := range n / 4 {
				f := loci.Filter{Within: []loci.Namespace{{fmt.Sprint(i)}}, Exact: true}
				if got := pages(many[n], f, loci.NewestFirst); got != 4 {
					t.Errorf("%d records in a namespace of 4", got)
				}
			}
		},
		"counts of many namespaces": func(n int) {
			for i := range n / 4 {
				f := loci.Filter{Within: []loci.Namespace{{fmt.Sprint(i)}}}
				if got, err := many[n].Count(t.Context(), tenant, f); got.Records != 4 || err != nil {
					t.Errorf("%d records in a namespace of 4, %v", got.Records, err)
				}
				if got, err := many[n].Namespaces(t.Context(), tenant, f); len(got) != 1 || err != nil {
					t.Errorf("namespaces %v, %v", got, err)
				}
			}
		},
		"links to one record and away again": func(n int) {
			s := filled(n, 3)
			for i := 1; i < n; i++ {
				link := loci.Link{From: id(i), Type: loci.LinkRelatedTo, To: id(0), At: start}
				apply(s, loci.Change{Links: []loci.Link{link, link}})
				if there, err := s.Linked(t.Context(), tenant, link); !there || err != nil {
					t.Errorf("a link is not there: %v", err)
				}
				if got, err := s.Links(t.Context(), tenant, id(i)); len(got) != 1 || err != nil {
					t.Errorf("links %v, %v", got, err)
				}
			}
			for i := 1; i < n; i++ {
				apply(s, loci.Change{Erase: []loci.Erase{{ID: id(i), Version: 1}}})
			}
			if got, err := s.Links(t.Context(), tenant, id(0)); len(got) != 0 || err != nil {
				t.Errorf("%d links are left, %v", len(got), err)
			}
		},
		"replies and their records": func(n int) {
			s := filled(n, 3)
			for i := range n {
				apply(s, loci.Change{Reply: &loci.Reply{
					Key: fmt.Sprint(i), At: start, ExpiresAt: start.Add(time.Hour), Record: id(i),
				}})
			}
			for i := range n {
				apply(s, loci.Change{Erase: []loci.Erase{{ID: id(i), Version: 1}}})
				if r, err := s.Replied(t.Context(), tenant, fmt.Sprint(i)); r != nil || err != nil {
					t.Errorf("a reply outlives its record: %v, %v", r, err)
				}
			}
		},
	} {
		effort.Grows(t, name, 1000, 4000, 9, work)
	}
}

// The first vectors choose what is searched: the first search need not make the index again, while all others wait.
func TestFirstVectorsChooseTheIndex(t *testing.T) {
	s, tenant, space := memory.Open(), locitest.Tenant(t, "vectors"), loci.Space{Model: "m", Dims: 2}
	for i := range 2 {
		put := loci.Put{Record: loci.Record{
			ID: loci.ID{15: byte(i + 1)}, Kind: loci.KindFact, Namespace: loci.Namespace{"u"}, Version: 1, Live: true,
			Text: "walrus", Passages: []loci.Span{{End: 6}},
		}}
		if i == 1 {
			put.Vectors = []loci.Vectors{{Space: space, Rows: [][]float32{{1, 0}}}}
		}
		if err := s.Apply(t.Context(), tenant, loci.Change{Put: []loci.Put{put}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := memory.IndexSpace(s, tenant); got != space {
		t.Errorf("the index is of the space %q", got)
	}
	hits, err := s.Match(t.Context(), tenant, loci.Probe{Vector: []float32{1, 0}, Space: space},
		loci.Filter{Within: []loci.Namespace{{}}}, 5)
	if err != nil || len(hits) != 1 {
		t.Errorf("%d hits by the vector, %v", len(hits), err)
	}
}

// Replies that have expired go as others come.
func TestRepliesExpire(t *testing.T) {
	s, tenant, start := memory.Open(), locitest.Tenant(t, "replies"), time.UnixMilli(1_700_000_000_000).UTC()
	put := func(key string, at, lasts time.Duration) {
		err := s.Apply(t.Context(), tenant, loci.Change{Reply: &loci.Reply{
			Key: key, At: start.Add(at), ExpiresAt: start.Add(at + lasts),
		}})
		if err != nil {
			t.Fatal(err)
		}
	}
	put("short", 0, time.Minute)
	put("long", time.Second, time.Hour)
	put("later", 2*time.Minute, time.Hour)
	for key, want := range map[string]bool{"short": false, "long": true, "later": true} {
		if r, err := s.Replied(t.Context(), tenant, key); (r != nil) != want || err != nil {
			t.Errorf("the reply %q is kept: %v, want %v; %v", key, r != nil, want, err)
		}
	}
}
