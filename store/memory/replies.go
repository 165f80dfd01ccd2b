package memory

import (
	"cmp"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/tidwall/btree"
)

// replies are the remembered answers of a tenant.
type replies struct {
	byKey map[string]loci.Reply
	of    map[loci.ID]map[string]bool // their keys, by the record they speak of
	due   *btree.BTreeG[loci.Reply]   // in the order in which they expire
}

func newReplies() replies {
	before := func(a, b loci.Reply) bool {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), strings.Compare(a.Key, b.Key)) < 0
	}
	return replies{byKey: map[string]loci.Reply{}, of: map[loci.ID]map[string]bool{}, due: ordered(before)}
}

// put keeps a reply, and drops those that have expired by then.
func (s *replies) put(r loci.Reply) {
	for old, ok := s.due.Min(); ok && !r.At.Before(old.ExpiresAt); old, ok = s.due.Min() {
		s.drop(old)
	}
	s.byKey[r.Key] = r
	s.due.Set(r)
	if s.of[r.Record] == nil {
		s.of[r.Record] = map[string]bool{}
	}
	s.of[r.Record][r.Key] = true
}

// drop forgets a reply.
func (s *replies) drop(r loci.Reply) {
	delete(s.byKey, r.Key)
	s.due.Delete(r)
	if delete(s.of[r.Record], r.Key); len(s.of[r.Record]) == 0 {
		delete(s.of, r.Record)
	}
}

// erase forgets the replies that speak of a record.
func (s *replies) erase(id loci.ID) {
	for key := range s.of[id] {
		s.drop(s.byKey[key])
	}
}
