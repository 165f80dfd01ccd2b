package page

import (
	"cmp"
	"math"
	"slices"

	"github.com/loci-memory/loci"
)

// Of each block of a log a store keeps of which types its events are, where the first and the last one of each
// type is, and from when to when they are. So a list by type or time reads the blocks that may have something for
// it, and of each only what is between. A block is whole when it is described, and never changes.

// BlockSize is how many events a block has: the block n, from 1, has those up to the number n × BlockSize.
const BlockSize = 256

// BlockOf is the block of an event by its number.
func BlockOf(seq int64) int64 { return (seq + BlockSize - 1) / BlockSize }

// EveryType stands for all events of a block.
const EveryType = loci.EventType("")

// A Span is where the events of a type are in a block.
type Span struct{ Block, First, Last int64 }

// A Range is of numbers of events between two others.
type Range struct{ Above, Before int64 }

// A Log is how a store reads its events.
type Log struct {
	// Read returns up to limit events of ranges, newest first, among them all that the filter selects. The ranges
	// are in the same order.
	Read func(ranges []Range, limit int) ([]loci.Event, error)

	// Covered is up to which number all blocks are described.
	Covered func() (int64, error)

	// Spans returns up to limit spans of some types in blocks before one, newest first, of which the
	// times may fit the filter.
	Spans func(types []loci.EventType, before int64, limit int) ([]Span, error)
}

// sought reports whether spans find sooner what a filter selects.
func sought(f *loci.EventFilter) bool {
	_, one := f.About()
	return !one && (len(f.Types) > 0 || !f.Since.IsZero() || !f.Until.IsZero())
}

// atOnce is how many spans are looked for at once.
const atOnce = 64

// ListEvents fills a page of a list of events, newest first, with those that a filter selects; before 0 is no bound.
func ListEvents(filter *loci.EventFilter, before int64, most int, log *Log) (out []loci.Event, next string, err error) {
	l := lister{filter: filter, most: most, log: log}
	if before == 0 {
		before = math.MaxInt64
	}
	whole := int64(0)
	if sought(filter) {
		if whole, err = log.Covered(); err != nil {
			return nil, "", err
		}
	}
	full, err := l.scan([]Range{{whole, before}})
	for bound := BlockOf(min(whole, before)) + 1; whole > 0 && !full && err == nil; {
		var ranges []Range
		if ranges, bound, err = l.spans(bound, before); err != nil || len(ranges) == 0 {
			break
		}
		full, err = l.scan(ranges)
	}
	if err != nil {
		return nil, "", err
	}
	if full {
		next = EventCursor(l.out[most-1].Seq)
	}
	return l.out, next, nil
}

type lister struct {
	filter *loci.EventFilter
	most   int
	log    *Log
	out    []loci.Event
}

// scan takes what the filter selects in ranges; full: there is more than the page takes.
func (l *lister) scan(ranges []Range) (full bool, err error) {
	for limit := l.most + 1; ; limit = min(2*limit, MostRows) {
		if len(ranges) == 0 || ranges[0].Before <= ranges[0].Above+1 && len(ranges) == 1 {
			return false, nil
		}
		found, err := l.log.Read(ranges, limit)
		if err != nil {
			return false, err
		}
		for i := range found {
			if !l.filter.Selects(&found[i]) {
				continue
			}
			if len(l.out) == l.most {
				return true, nil
			}
			l.out = append(l.out, found[i])
		}
		if len(found) < limit {
			return false, nil
		}
		ranges = below(ranges, found[len(found)-1].Seq)
	}
}

// spans are the next ranges to look in, in blocks before one, and before which block it goes on.
func (l *lister) spans(bound, before int64) (ranges []Range, next int64, err error) {
	types := slices.Compact(slices.Sorted(slices.Values(l.filter.Types)))
	if len(types) == 0 {
		types = []loci.EventType{EveryType}
	}
	limit := max(atOnce, 2*len(types))
	found, err := l.log.Spans(types, bound, limit)
	if err != nil || len(found) == 0 {
		return nil, 0, err
	}
	if next = found[len(found)-1].Block; len(found) == limit { // there may be more in this block
		found = slices.DeleteFunc(found, func(s Span) bool { return s.Block == next })
		next++
	}
	slices.SortFunc(found, func(a, b Span) int {
		return cmp.Or(cmp.Compare(b.Last, a.Last), cmp.Compare(a.First, b.First))
	})
	for _, s := range found {
		r := Range{s.First - 1, min(s.Last+1, before)}
		if last := len(ranges) - 1; last >= 0 && r.Before > ranges[last].Above {
			ranges[last].Above = min(ranges[last].Above, r.Above)
		} else if r.Before > r.Above+1 {
			ranges = append(ranges, r)
		}
	}
	if len(ranges) == 0 { // all of it was shown before
		return l.spans(next, before)
	}
	return ranges, next, nil
}

// below are the parts of ranges before a number.
func below(ranges []Range, seq int64) (rest []Range) {
	for _, r := range ranges {
		if r.Before = min(r.Before, seq); r.Above+1 < r.Before {
			rest = append(rest, r)
		}
	}
	return rest
}

// describedAtOnce bounds the blocks that one write describes, of which it fills one. The others are those of servers of
// a version that describes none.
const describedAtOnce = 16

// ToDescribe is up to how many blocks a write describes behind which a log is longer; 0: it has filled none.
func ToDescribe(before, events int64) int64 {
	if filled := events/BlockSize - before/BlockSize; filled > 0 {
		return max(describedAtOnce, filled+1)
	}
	return 0
}

// A Described is a span with the times of its events, in milliseconds.
type Described struct {
	Type loci.EventType
	Span
	FirstAt, LastAt int64
}

// Fits reports whether a filter may select an event of the span by its time.
func (d *Described) Fits(f *loci.EventFilter) bool {
	return (f.Since.IsZero() || d.LastAt >= f.Since.UnixMilli()) &&
		(f.Until.IsZero() || d.FirstAt <= f.Until.UnixMilli())
}

// Blocks describe events, by type.
type Blocks map[loci.EventType][]Described

// Add adds an event, which has a higher number than those before.
func (b Blocks) Add(seq int64, typ loci.EventType, at int64) {
	b.add(seq, EveryType, at)
	if typ != EveryType {
		b.add(seq, typ, at)
	}
}

func (b Blocks) add(seq int64, typ loci.EventType, at int64) {
	list := b[typ]
	if n := len(list); n == 0 || list[n-1].Block != BlockOf(seq) {
		b[typ] = append(list, Described{typ, Span{BlockOf(seq), seq, seq}, at, at})
		return
	}
	last := &list[len(list)-1]
	last.Last, last.FirstAt, last.LastAt = seq, min(last.FirstAt, at), max(last.LastAt, at)
}

// Spans are those for [Log.Spans].
func (b Blocks) Spans(f *loci.EventFilter, types []loci.EventType, before int64, limit int) (found []Span) {
	for _, typ := range types {
		list := b[typ]
		end, _ := slices.BinarySearchFunc(list, before, func(d Described, block int64) int {
			return cmp.Compare(d.Block, block)
		})
		for i, n := end-1, 0; i >= 0 && n < limit; i-- {
			if list[i].Fits(f) {
				found = append(found, list[i].Span)
				n++
			}
		}
	}
	slices.SortStableFunc(found, func(x, y Span) int { return cmp.Compare(y.Block, x.Block) })
	return found[:min(len(found), limit)]
}
