package memory

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/tidwall/btree"
)

// links are the links of a tenant. What one record has of them is found without a look at the others.
type links struct {
	ends  *btree.BTreeG[end]
	known map[loci.Link]bool // without the times when they were made
	made  int64              // so many, ever
}

// An end is a link as one of its records has it.
type end struct {
	of   loci.ID
	seq  int64
	link loci.Link
}

// before orders ends by record, oldest first.
func (e end) before(o end) bool {
	return cmp.Or(bytes.Compare(e.of[:], o.of[:]), e.link.At.Compare(o.link.At), cmp.Compare(e.seq, o.seq)) < 0
}

func newLinks() links {
	return links{ends: ordered(end.before), known: map[loci.Link]bool{}}
}

func untimed(l loci.Link) loci.Link {
	l.At = time.Time{}
	return l
}

// has reports whether a link is there, whenever it was made.
func (s *links) has(l loci.Link) bool {
	return s.known[untimed(l)]
}

// add adds a link, unless it is there.
func (s *links) add(l loci.Link) {
	if s.has(l) {
		return
	}
	s.made++
	s.known[untimed(l)] = true
	s.ends.Set(end{l.From, s.made, l})
	s.ends.Set(end{l.To, s.made, l}) // the same one, if it leads to where it begins
}

// endsOf lists the ends of a record, oldest first.
func (s *links) endsOf(id loci.ID) (all []end) {
	s.ends.Ascend(end{of: id, link: loci.Link{At: time.Unix(-1<<40, 0)}}, func(e end) bool {
		if e.of != id {
			return false
		}
		all = append(all, e)
		return true
	})
	return all
}

// of lists the links of some records, oldest first.
func (s *links) of(ids []loci.ID) (all []loci.Link) {
	var ends []end
	for _, id := range ids {
		ends = append(ends, s.endsOf(id)...)
	}
	slices.SortFunc(ends, func(a, b end) int { return cmp.Or(a.link.At.Compare(b.link.At), cmp.Compare(a.seq, b.seq)) })
	ends = slices.CompactFunc(ends, func(a, b end) bool { return a.seq == b.seq })
	for _, e := range ends {
		all = append(all, e.link)
	}
	return all
}

// erase removes the links of a record.
func (s *links) erase(id loci.ID) {
	for _, e := range s.endsOf(id) {
		delete(s.known, untimed(e.link))
		s.ends.Delete(end{e.link.From, e.seq, e.link})
		s.ends.Delete(end{e.link.To, e.seq, e.link})
	}
}
