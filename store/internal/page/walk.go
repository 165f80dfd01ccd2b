package page

import "github.com/loci-memory/loci"

// MostRows bounds how many rows a query of a database brings where Go still has to choose among them.
const MostRows = 2000

// List fills a page of a list of records. walk calls yield for records behind a place, as [Walk] does.
func List(
	p *loci.Page, walk func(after *Record, wanted, first int, yield func(*loci.Record) bool) error,
) (out []loci.Record, next string, err error) {
	limit, after, err := Records(*p)
	if err != nil {
		return nil, "", err
	}
	room := Room{Limit: limit, Bytes: p.MaxBytes}
	err = walk(after, limit+1, room.First(limit+1), func(record *loci.Record) bool {
		shown := p.Shown(record)
		if !room.Takes(&shown) {
			next = RecordCursor(&out[len(out)-1], p.Order)
			return false
		}
		out = append(out, shown)
		return true
	})
	return out, next, err
}

// Walk calls yield for what a filter selects behind a place, until it returns false or was called as often as wanted.
// It reads first so many at once, then more each time: read returns up to limit records behind a place, and
// whether the filter selects them all; wanted is for how many yield is still to be called.
func Walk(
	filter *loci.Filter, after *Record, wanted, first int,
	read func(after *Record, limit, wanted int) (found []loci.Record, exact bool, err error),
	yield func(*loci.Record) bool,
) error {
	for limit := first; ; limit = min(2*limit, MostRows) {
		found, exact, err := read(after, limit, wanted)
		if err != nil {
			return err
		}
		for i := range found {
			if !exact && !filter.Selects(&found[i]) {
				continue
			}
			if !yield(&found[i]) {
				return nil
			}
			if wanted--; wanted == 0 {
				return nil
			}
		}
		if len(found) < limit {
			return nil
		}
		last := &found[len(found)-1]
		after = &Record{CreatedAt: last.CreatedAt, Slot: last.Slot, ID: last.ID}
	}
}
