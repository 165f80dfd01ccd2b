package page

import "github.com/loci-memory/loci"

// A Room is what a page of a list has room for.
type Room struct {
	Limit int // records
	Bytes int // of what they hold; 0: without a bound

	taken, size int
}

// firstRead is how many records are read at once where their bytes have a bound and are known only then.
const firstRead = 64

// First is how many of some records are read at first.
func (r *Room) First(wanted int) int {
	if r.Bytes > 0 {
		return min(wanted, firstRead)
	}
	return wanted
}

// Takes takes a record, or reports that there is no room for it. The first one has room, whatever it holds.
func (r *Room) Takes(record *loci.Record) bool {
	size := len(record.Text) + len(record.Attributes) + len(record.Body)
	if r.taken == r.Limit || r.Bytes > 0 && r.taken > 0 && r.size+size > r.Bytes {
		return false
	}
	r.taken, r.size = r.taken+1, r.size+size
	return true
}

// Full reports whether the page has as many records as it may.
func (r *Room) Full() bool { return r.taken == r.Limit }
