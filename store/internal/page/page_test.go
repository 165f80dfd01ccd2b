package page

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

func record(ms int64, slot string, id byte) *loci.Record {
	return &loci.Record{CreatedAt: time.UnixMilli(ms).UTC(), Slot: slot, ID: loci.ID{id}}
}

// TestCursorsReadOn: after a cursor come the records that a list of its order has not given out
// yet, each once.
func TestCursorsReadOn(t *testing.T) {
	all := []*loci.Record{
		record(1, "b", 1), record(1, "a", 2), record(2, "a\x00", 3), record(2, "b", 4), record(-5, "\xff", 5), record(3, "s", 6),
	}
	for order, want := range map[loci.Order]string{
		loci.NewestFirst: "6 3 4 1 2 5", loci.OldestFirst: "5 2 1 4 3 6",
		loci.SlotAscending: "2 3 1 4 6 5", loci.SlotDescending: "5 6 4 1 3 2",
	} {
		list := slices.Clone(all)
		slices.SortFunc(list, func(a, b *loci.Record) int { return Compare(a, b, order) })
		got := ""
		for i, r := range list {
			got += fmt.Sprint(r.ID[0])
			if i < len(list)-1 {
				got += " "
			}
			limit, after, err := Records(loci.Page{Order: order, Limit: 7, Cursor: RecordCursor(r, order)})
			if err != nil || limit != 7 || after == nil {
				t.Fatalf("order %d: limit %d, %v", order, limit, err)
			}
			for j, other := range list {
				if after.Precedes(other, order) != (j > i) {
					t.Errorf("order %d: record %d behind %d: %v", order, other.ID[0], r.ID[0], j <= i)
				}
			}
		}
		if got != want {
			t.Errorf("order %d: %s; want %s", order, got, want)
		}
	}
}

func TestEventCursors(t *testing.T) {
	for _, seq := range []int64{1, 300, 1 << 60} {
		limit, before, err := Events(loci.Page{Cursor: EventCursor(seq)})
		if err != nil || before != seq || limit != DefaultLimit {
			t.Errorf("%d: limit %d, before %d, %v", seq, limit, before, err)
		}
	}
	if _, before, err := Events(loci.Page{}); before != 0 || err != nil {
		t.Errorf("the start is %d, %v", before, err)
	}
}

// TestPagesAreChecked: a limit out of range and a cursor of another list are Invalid.
func TestPagesAreChecked(t *testing.T) {
	r := record(1, "slot", 1)
	time, slot, event := RecordCursor(r, loci.NewestFirst), RecordCursor(r, loci.SlotAscending), EventCursor(7)
	for _, p := range []loci.Page{
		{Limit: -1}, {Limit: MaxLimit + 1}, {Order: -1}, {Order: loci.SlotDescending + 1},
		{Cursor: "x"}, {Cursor: "!"}, {Cursor: slot}, {Cursor: event}, {Cursor: time + "A"}, {Cursor: time + "="},
		{Order: loci.SlotAscending, Cursor: time}, {Order: loci.SlotAscending, Cursor: event},
		{Order: loci.SlotAscending, Cursor: "cw"},     // a mark alone
		{Order: loci.SlotAscending, Cursor: "cwA"},    // a slot of no byte
		{Order: loci.SlotAscending, Cursor: slot[:8]}, // cut
		{Order: loci.SlotAscending, Cursor: slot + "AAAA"},
		{Order: loci.SlotAscending, Cursor: "c____________w"}, // a length without an end
	} {
		if _, _, err := Records(p); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("records, %+v: %v", p, err)
		}
	}
	for _, p := range []loci.Page{{Limit: -1}, {Limit: MaxLimit + 1}, {Cursor: "x"}, {Cursor: time}, {Cursor: slot}} {
		if _, _, err := Events(p); !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("events, %+v: %v", p, err)
		}
	}
	for limit, want := range map[int]int{0: DefaultLimit, 1: 1, MaxLimit: MaxLimit} {
		if got, after, err := Records(loci.Page{Limit: limit}); got != want || after != nil || err != nil {
			t.Errorf("limit %d is %d, %v, %v", limit, got, after, err)
		}
	}
}
