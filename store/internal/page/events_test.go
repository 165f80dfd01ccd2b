package page

import (
	"errors"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
)

// logOf is a log of so many events, of which typed says the type, with as many blocks described as whole says. read
// counts the events that are read.
func logOf(events, whole int64, typed func(seq int64) loci.EventType, filter *loci.EventFilter, read *int) *Log {
	blocks := Blocks{}
	for seq := int64(1); seq <= whole*BlockSize; seq++ {
		blocks.Add(seq, typed(seq), seq)
	}
	return &Log{
		Read: func(ranges []Range, limit int) (found []loci.Event, err error) {
			for _, r := range ranges {
				for seq := min(events, r.Before-1); seq > r.Above && len(found) < limit; seq-- {
					found = append(found, loci.Event{Seq: seq, Type: typed(seq)})
					*read++
				}
			}
			return found, nil
		},
		Covered: func() (int64, error) { return whole * BlockSize, nil },
		Spans: func(types []loci.EventType, before int64, limit int) ([]Span, error) {
			return blocks.Spans(filter, types, before, limit), nil
		},
	}
}

// Lists of events go on, where the filter leaves out three of four.
func TestListsOfEventsGoOn(t *testing.T) {
	filter := &loci.EventFilter{Within: []loci.Namespace{{}}, Types: []loci.EventType{loci.EventCreated}}
	typed := func(seq int64) loci.EventType {
		if seq%4 == 0 {
			return loci.EventCreated
		}
		return loci.EventUpdated
	}
	for most, goesOn := range map[int]bool{1: true, 24: true, 25: false, 26: false} {
		var n int
		out, next, err := ListEvents(filter, 0, most, logOf(100, 0, typed, filter, &n))
		if err != nil || len(out) != min(most, 25) || out[0].Seq != 100 || (next != "") != goesOn {
			t.Errorf("at most %d: %d events, next %q, %v", most, len(out), next, err)
		}
	}
	broken := func([]Range, int) ([]loci.Event, error) { return nil, errors.ErrUnsupported }
	out, next, err := ListEvents(&loci.EventFilter{}, 0, 1, &Log{Read: broken})
	if out != nil || next != "" || !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a read that fails: %v, %q, %v", out, next, err)
	}
}

// Events of rare types are read where they are: pages of any size show all of them once, in whatever block they
// are, and read little else.
func TestRareEventsAreReadWhereTheyAre(t *testing.T) {
	const events = 100*BlockSize + 77
	typed := func(seq int64) loci.EventType {
		switch {
		case seq%100 == 50:
			return "odd"
		case seq%10000 == 3 || seq == 10*BlockSize || seq == 10*BlockSize+1:
			return "rare"
		case seq%7001 == 0:
			return "other"
		}
		return "often"
	}
	for _, types := range [][]loci.EventType{{"rare", "other", "nobody's"}, {"odd", "rare"}, {"odd", "often", "rare"}} {
		filter := &loci.EventFilter{Within: []loci.Namespace{{}}, Types: types}
		var want []int64
		for seq := int64(events); seq > 0; seq-- {
			if slices.Contains(types, typed(seq)) {
				want = append(want, seq)
			}
		}
		showsRareEvents(t, filter, events, typed, want)
	}
}

func showsRareEvents(
	t *testing.T, filter *loci.EventFilter, events int64, typed func(int64) loci.EventType, want []int64,
) {
	t.Helper()
	for _, whole := range []int64{0, 1, 10, 11, 99, 100} {
		var read int
		log := logOf(events, whole, typed, filter, &read)
		for _, most := range []int{3, 7, 100, 30_000} {
			if len(want) > 1000 && most < 100 {
				continue
			}
			var got []int64
			read = 0
			for before := int64(0); ; {
				out, next, err := ListEvents(filter, before, most, log)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range out {
					got = append(got, e.Seq)
				}
				if next == "" {
					break
				}
				if before, err = parseEvent(next); err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d blocks, pages of %d: %d events; want %d", whole, most, len(got), len(want))
			}
			if whole == 100 && most == 100 && filter.Types[0] == "rare" && read > 77+3*len(want) {
				t.Errorf("%d events were read for %d", read, len(want))
			}
		}
	}
}

// TestAWriteDescribesWhatItFills: a write that fills blocks describes them, and some that others left; another one none.
func TestAWriteDescribesWhatItFills(t *testing.T) {
	for _, c := range []struct{ before, events, want int64 }{
		{0, 0, 0}, {0, 255, 0}, {255, 256, describedAtOnce}, {256, 511, 0}, {511, 512, describedAtOnce},
		{255, 100 * BlockSize, 101},
	} {
		if got := ToDescribe(c.before, c.events); got != c.want {
			t.Errorf("from %d events to %d: %d blocks; want %d", c.before, c.events, got, c.want)
		}
	}
}
