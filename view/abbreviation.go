package view

import (
	"context"
	"strings"

	"github.com/loci-memory/loci"
)

// MinAbbreviation is the fewest digits that may stand for an id.
const MinAbbreviation = 4

// IsAbbreviation reports whether a text may stand for an id: hexadecimal digits, at least
// [MinAbbreviation] and fewer than an id has. Hyphens between them do not count.
func IsAbbreviation(text string) bool {
	digits := digitsOf(text)
	return len(digits) >= MinAbbreviation && len(digits) < 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

func digitsOf(text string) string { return strings.ToLower(strings.ReplaceAll(text, "-", "")) }

// Abbreviated lists the memories whose id begins or ends with some digits, newest first, and
// no more than limit of them. It looks at every memory that the handle may read.
func Abbreviated(ctx context.Context, m *loci.Memory, digits string, limit int) (entries []Entry, err error) {
	all := shapes(m)
	f := reach(m, m.Now())
	f.NotLive = true
	for _, s := range all {
		f.Kinds = append(f.Kinds, s.kind)
	}
	digits = digitsOf(digits)
	page := loci.Page{Limit: 1000, NoText: true}
	for {
		records, next, err := m.Records(ctx, f, page)
		if err != nil {
			return nil, err
		}
		for i := range records {
			id := digitsOf(records[i].ID.String())
			if !strings.HasPrefix(id, digits) && !strings.HasSuffix(id, digits) ||
				!shownIn(all, &records[i]) {
				continue
			}
			e, err := Get(ctx, m, records[i].ID)
			if err != nil {
				return nil, err
			}
			if entries = append(entries, e); len(entries) == limit {
				return entries, nil
			}
		}
		if page.Cursor = next; next == "" {
			return entries, nil
		}
	}
}

// shownIn reports whether a record is shown as a memory: a directory, which shares its kind
// with files, is not.
func shownIn(all []shape, r *loci.Record) bool {
	for _, s := range all {
		if s.kind == r.Kind && among(s.status, r.Status) {
			return true
		}
	}
	return false
}
