package checkpoint

import (
	"context"
	"math"
	"strings"

	"github.com/loci-memory/loci"
)

// Bounds of a page of a list of writes.
const (
	leastWrites = 50
	mostWrites  = 1000
)

// A writeList reads the writes of checkpoints that are asked for in order of slot. A question for each
// checkpoint costs more than its few writes do: pages hold those of many, and grow as long as most of what
// they hold is asked for.
type writeList struct {
	c     *Handle
	page  loci.Page // what it shows of each; its limit is that of the next page
	slots loci.SlotRange
	ready []loci.Record
	ended bool   // nothing follows what is ready
	size  *sizer // not nil: it gives only as many as fit into a step
	heavy bool   // and no more do

	used, passed int // of the page before
}

// writeListOf begins a list of the writes in a range.
func (c *Handle) writeListOf(slots loci.SlotRange, page loci.Page) *writeList {
	page.Limit, page.Order = leastWrites, loci.SlotAscending
	return &writeList{c: c, page: page, slots: slots}
}

// of returns the writes of the checkpoint with a slot, in order of slot.
func (w *writeList) of(ctx context.Context, slot string) ([]loci.Record, error) {
	out, _, err := w.some(ctx, slot, math.MaxInt)
	return out, err
}

// some returns the first writes of the checkpoint with a slot, and whether these are all.
func (w *writeList) some(ctx context.Context, slot string, most int) (out []loci.Record, all bool, err error) {
	for {
		n := 0
		for n < len(w.ready) && w.ready[n].Slot < slot {
			n++
		}
		w.ready, w.passed = w.ready[n:], w.passed+n
		for n = 0; n < len(w.ready) && n < most && strings.HasPrefix(w.ready[n].Slot, slot); n++ {
		}
		out, most = append(out, w.ready[:n]...), most-n
		w.ready, w.used = w.ready[n:], w.used+n
		if len(w.ready) > 0 || w.ended {
			return out, len(w.ready) == 0 || !strings.HasPrefix(w.ready[0].Slot, slot), nil
		}
		if w.heavy {
			return out, false, nil
		}
		w.slots.From = max(w.slots.From, slot)
		if err := w.more(ctx, most); err != nil {
			return nil, false, err
		}
	}
}

// more reads a page, with one write more than are wanted at most.
func (w *writeList) more(ctx context.Context, most int) error {
	f := w.c.filter(KindWrite)
	f.Slots = w.slots
	if w.passed > w.used {
		w.page.Limit = leastWrites
	}
	page := w.page
	page.Limit = min(page.Limit, max(most, most+1))
	records, next, err := w.c.m.Records(ctx, f, page)
	if err != nil {
		return err
	}
	if w.size != nil {
		n, err := w.size.fit(ctx, KindWrite, idsOf(records))
		if err != nil {
			return err
		}
		w.heavy = n < len(records)
		records = records[:n]
	}
	w.ready, w.ended, w.used, w.passed = records, next == "" && !w.heavy, 0, 0
	w.page.Limit = min(2*w.page.Limit, mostWrites)
	if len(records) > 0 {
		w.slots.From = records[len(records)-1].Slot + "\x00"
	}
	return nil
}
