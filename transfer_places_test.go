package loci_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// sorted is a store that adds up how many records the filters of its lists by time select: what a store sorts that can
// merge no more than some namespaces.
type sorted struct {
	loci.Store
	records, places int64
}

func (s *sorted) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	if len(f.IDs) == 0 && !p.Order.BySlot() {
		n, err := s.Count(ctx, t, f)
		if err != nil {
			return nil, "", err
		}
		if s.records += n.Records; f.Exact {
			s.places = max(s.places, int64(len(f.Within)))
		}
	}
	return s.Store.Records(ctx, t, f, p)
}

// An export of many namespaces, an erase and upkeep read each namespace some times, and not once for each page.
func TestManyNamespacesAreReadOneAfterTheOther(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, under loci.Store) {
		s := &sorted{Store: under}
		// A content may be so large that ten make a page.
		e := locitest.NewEngine(t, s, loci.Options{Content: loci.ContentOptions{MaxBytes: 32 << 20 / 10}})
		m := locitest.Bind(t, e, "u")
		const places, each = 24, 10
		for i := range places {
			at, err := m.At(m.Namespace().Child(fmt.Sprintf("p%02d", i)))
			if err != nil {
				t.Fatal(err)
			}
			locitest.SaveMany(t, at, each, func(k int) string { return fmt.Sprintf("walrus %d of %d", k, i) })
		}
		s.records = 0
		file := locitest.Exported(t, m)
		if got := strings.Count(file, `{"type":"record"`); got != places*each {
			t.Errorf("%d records are exported of %d", got, places*each)
		}
		// Two runs, of each a page of all first; a page of eight places is one of nine.
		if most := int64(2 * places * each * 12); s.records > most {
			t.Errorf("an export of %d records sorts %d; at most %d", places*each, s.records, most)
		}
		if again := locitest.Exported(t, m); !slices.Equal(records(again), records(file)) {
			t.Error("a second export has another order")
		}
		if s.places > 8 {
			t.Errorf("%d namespaces are read together", s.places)
		}
		s.records = 0
		n, err := m.EraseAll(t.Context(), loci.EraseQuery{All: true, Expect: places * each}, nil)
		if most := int64(places * each * 4); err != nil || n != places*each || s.records > most {
			t.Errorf("%d records erased, %v; %d sorted, at most %d", n, err, s.records, most)
		}
	})
}

// records are the lines of an export that are records.
func records(file string) (out []string) {
	for line := range strings.Lines(file) {
		if strings.HasPrefix(line, `{"type":"record"`) {
			out = append(out, line)
		}
	}
	return out
}
