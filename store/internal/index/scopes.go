package index

import (
	"sync"

	"github.com/loci-memory/loci"
)

// Scopes remembers of some filters that an index has every shard which they cover, so that
// a search above many namespaces does not look for each of them again. It holds as long as
// no shard comes to be known, and none comes to the index or leaves it. The zero value is empty.
type Scopes struct {
	mu   sync.Mutex
	seen []served
	next int // is replaced
}

// served is a scope whose shards are there.
type served struct {
	scope
	known, held uint64 // stamps of the keys
	at          int64  // when it was searched last
}

// Served reports whether all known shards of a filter are certain to be in an index, and
// notes when it was searched.
func (s *Scopes) Served(f *loci.Filter, known *Keys, x *Index, at int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.seen {
		one := &s.seen[i]
		if one.known == known.stamp && one.held == x.stamp() && one.is(f) {
			one.at = max(one.at, at)
			return true
		}
	}
	return false
}

// Serve notes that all known shards of a filter are in an index, unless they are so few that
// it is no use. What it forgets for that it tells of: which shards were searched, and when.
func (s *Scopes) Serve(f *loci.Filter, known *Keys, x *Index, shards int, at int64, searched func(Key, int64)) {
	if shards < leastGathered {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := served{scopeOf(f), known.stamp, x.stamp(), at}
	if len(s.seen) < mostGatherings {
		s.seen = append(s.seen, now)
		return
	}
	s.seen[s.next].tell(known, searched)
	s.seen[s.next] = now
	s.next = (s.next + 1) % mostGatherings
}

// Searched tells which shards were searched, and when, of those that nobody was told of.
func (s *Scopes) Searched(known *Keys, searched func(Key, int64)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.seen {
		s.seen[i].tell(known, searched)
	}
}

func (one *served) tell(known *Keys, searched func(Key, int64)) {
	for _, key := range known.Covered(one.filter()) {
		searched(key, one.at)
	}
}
