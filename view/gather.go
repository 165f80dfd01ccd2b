package view

import (
	"bytes"
	"context"

	"github.com/loci-memory/loci"
)

// scanned is how many records a list reads at once when the first page did not hold enough
// that are wanted: a page costs a store as much as what it looks through, not as it returns.
const scanned = 1000

// mostListed is how many bytes a page of a list may hold, about: it ends early then, and its cursor goes on.
var mostListed = 32 << 20

// A feed is a list of what a filter selects, newest first.
type feed struct {
	filter  loci.Filter
	page    loci.Page // the next one
	records []loci.Record
	ended   bool // there is none after records
}

// fill reads on until there is a record, or none are left.
func (f *feed) fill(ctx context.Context, m *loci.Memory) (err error) {
	for len(f.records) == 0 && !f.ended && err == nil {
		f.records, f.page.Cursor, err = m.Records(ctx, f.filter, f.page)
		f.page.Limit, f.ended = scanned, f.page.Cursor == ""
	}
	return err
}

// precedes reports whether a record comes before another in a list, newest first.
func precedes(a, b *loci.Record) bool {
	if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
		return c > 0
	}
	return bytes.Compare(a.ID[:], b.ID[:]) < 0
}

// A union is several feeds as one list, in which no record comes twice.
type union struct {
	m     *loci.Memory
	feeds []*feed
	last  *loci.Record // the one before
}

// next returns the first record that is left, with the feed it is in; nil: none is left. A
// feed that somebody reads while a record moves to another feed may have it, too.
func (u *union) next(ctx context.Context) (first *feed, err error) {
	for _, f := range u.feeds {
		if err := f.fill(ctx, u.m); err != nil {
			return nil, err
		}
		for len(f.records) > 0 && u.last != nil && !precedes(u.last, &f.records[0]) {
			f.records = f.records[1:]
			if err := f.fill(ctx, u.m); err != nil {
				return nil, err
			}
		}
		if len(f.records) > 0 && (first == nil || precedes(&f.records[0], &first.records[0])) {
			first = f
		}
	}
	return first, nil
}

// read is how many records were read and not taken yet.
func (u *union) read() (n int) {
	for _, f := range u.feeds {
		n += len(f.records)
	}
	return n
}

// cursor is the place behind the record before the next one; "": nothing follows.
func (u *union) cursor(ctx context.Context) (string, error) {
	if len(u.feeds) == 1 && len(u.feeds[0].records) == 0 {
		return u.feeds[0].page.Cursor, nil
	}
	following, err := u.next(ctx)
	if err != nil || following == nil {
		return "", err
	}
	f := reach(u.m, u.feeds[0].filter.At)
	f.IDs, f.NotLive = []loci.ID{u.last.ID, following.records[0].ID}, true
	there, cursor, err := u.m.Records(ctx, f, loci.Page{Limit: 1, NoText: true})
	if err == nil && (cursor == "" || there[0].ID != u.last.ID) {
		return "", errMoved
	}
	return cursor, err
}

// errMoved says that what a cursor is made from was erased meanwhile.
var errMoved = &loci.Error{Code: loci.Conflict, Msg: "what the page ends with was erased while it was read",
	Recovery: "List again."}

// gather reads what filters select, newest first, until enough was taken. next is the
// cursor behind the last one; "" is the end.
func gather[T any](
	ctx context.Context, m *loci.Memory, filters []loci.Filter, page loci.Page,
	take func(*loci.Record) (T, bool, error),
) (taken []T, next string, err error) {
	for range 3 {
		taken, next, err = gatherOnce(ctx, m, filters, page, take)
		if err != errMoved { //nolint:errorlint // it is not wrapped
			break
		}
	}
	return taken, next, err
}

func gatherOnce[T any](
	ctx context.Context, m *loci.Memory, filters []loci.Filter, page loci.Page,
	take func(*loci.Record) (T, bool, error),
) (taken []T, next string, err error) {
	u, size := union{m: m}, 0
	page.MaxBytes = mostListed
	for _, f := range filters {
		u.feeds = append(u.feeds, &feed{filter: f, page: page})
	}
	for {
		first, err := u.next(ctx)
		if err != nil || first == nil {
			return taken, "", err
		}
		u.last, first.records = &first.records[0], first.records[1:]
		one, ok, err := take(u.last)
		if err != nil {
			return nil, "", err
		}
		if !ok {
			continue
		}
		if taken == nil { // what is taken is large: room for it grows once
			taken = make([]T, 0, min(page.Limit, 1+u.read()))
		}
		size += len(u.last.Text) + len(u.last.Attributes) + len(u.last.Body)
		if taken = append(taken, one); len(taken) == page.Limit || size >= mostListed {
			next, err = u.cursor(ctx)
			return taken, next, err
		}
	}
}
