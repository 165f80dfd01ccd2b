package page

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
)

// shelf reads records by their numbers, newest first, and notes how many it is asked for.
type shelf struct {
	asked []string
	exact bool
}

func (s *shelf) read(after *Record, limit, wanted int) (found []loci.Record, exact bool, err error) {
	s.asked = append(s.asked, fmt.Sprintf("%d of %d", limit, wanted))
	n := int64(100)
	if after != nil {
		n = after.CreatedAt.UnixMilli() - 1
	}
	for ; n > 0 && len(found) < limit; n-- {
		r := record(n, "", byte(n))
		r.Kind = loci.KindFact
		if n%4 != 0 {
			r.Kind = loci.KindRule
		}
		found = append(found, *r)
	}
	return found, s.exact, nil
}

// TestWalkReadsOn: what the filter leaves out counts for nothing, and each query brings more than the one before.
func TestWalkReadsOn(t *testing.T) {
	for _, c := range []struct {
		exact         bool
		wanted, first int
		stop          int
		got           string
		asked         string
	}{
		{true, 3, 3, 9, "[100 99 98]", "[3 of 3]"},
		{true, 3, 2, 9, "[100 99 98]", "[2 of 3 4 of 1]"},
		{false, 3, 3, 9, "[100 96 92]", "[3 of 3 6 of 2]"},
		{false, 3, 3, 2, "[100 96]", "[3 of 3 6 of 2]"},
		{false, 99, 60, 99, "[100 96 92 88 84 80 76 72 68 64 60 56 52 48 44 40 36 32 28 24 20 16 12 8 4]", "[60 of 99 120 of 84]"},
	} {
		s, got := &shelf{exact: c.exact}, []int64{}
		err := Walk(&loci.Filter{Within: []loci.Namespace{{}}, Kinds: []loci.Kind{loci.KindFact}, NotLive: true}, nil,
			c.wanted, c.first, s.read, func(r *loci.Record) bool {
				got = append(got, r.CreatedAt.UnixMilli())
				return len(got) < c.stop
			})
		if err != nil || fmt.Sprint(got) != c.got || fmt.Sprint(s.asked) != c.asked {
			t.Errorf("%+v: %v, asked for %v, %v", c, got, s.asked, err)
		}
	}
}

// TestListsGoOn: a page has as many as its limit says, and a cursor if there is one more.
func TestListsGoOn(t *testing.T) {
	for limit, goesOn := range map[int]bool{7: true, 99: true, 100: false, 101: false} {
		s, all := &shelf{exact: true}, &loci.Filter{}
		p := loci.Page{Limit: limit}
		out, next, err := List(&p, func(after *Record, wanted, first int, yield func(*loci.Record) bool) error {
			return Walk(all, after, wanted, first, s.read, yield)
		})
		if err != nil || len(out) != min(limit, 100) || (next != "") != goesOn {
			t.Errorf("limit %d: %d records, next %q, %v", limit, len(out), next, err)
		}
	}
	if _, _, err := List(&loci.Page{Limit: -1}, nil); loci.AsError(err).Code != loci.Invalid {
		t.Errorf("a limit below zero: %v", err)
	}
}
