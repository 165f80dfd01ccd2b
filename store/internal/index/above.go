package index

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/loci-memory/loci"
)

// A shard above holds the records of one kind in all namespaces from one on, except those that are apart. It may
// have segments, so that a search of a process that has just begun looks at many namespaces in one pass (docs/adr/0190).
//
// A search looks into it if its filter reaches all that it holds, and never else: so nothing in it is to be passed
// over, and statistics are those of what the search may see. What it holds is then not searched where it lies by
// itself, too. An entry has the number of its namespace and not the name, which must be able to leave the store.

// AddAbove makes the index responsible for a shard above, empty at first. apart says which of the namespaces it
// does not hold; nil: it holds all. No two of one kind may have a namespace in common.
func (x *Index) AddAbove(key Key, apart func(namespace string) bool) {
	if x.shards[key] == nil {
		s := newShard(key, x.space)
		s.apart = apart
		x.take(key, s)
	}
}

// HasAbove reports whether there are shards above.
func (x *Index) HasAbove() bool { return len(x.above) > 0 }

// holds reports whether a shard above holds the records of another one.
func (s *shard) holds(key Key) bool {
	return key.Kind == s.key.Kind && strings.HasPrefix(key.Namespace, s.key.Namespace) &&
		(s.apart == nil || !s.apart(key.Namespace))
}

// enter takes in the key of a shard that comes, leave takes out that of one that goes.
func (x *Index) enter(key Key, s *shard) {
	switch {
	case key.Above:
		x.above = append(x.above, s)
		x.arrange()
		return
	case x.isMember(key):
		x.members.Add(key)
	default:
		x.keys.Add(key)
	}
	x.gatherings.comes(s)
}

func (x *Index) leave(key Key, s *shard) {
	if key.Above {
		x.above = slices.DeleteFunc(x.above, func(other *shard) bool { return other == s })
		x.arrange()
		return
	}
	x.keys.Remove(key)
	x.members.Remove(key)
}

func (x *Index) isMember(key Key) bool {
	return slices.ContainsFunc(x.above, func(s *shard) bool { return s.holds(key) })
}

// arrange tells again which shards are held by one above, too.
func (x *Index) arrange() {
	x.changed = stamps.Add(1)
	x.keys, x.members = Keys{}, Keys{}
	for key := range x.shards {
		switch {
		case key.Above:
		case x.isMember(key):
			x.members.Add(key)
		default:
			x.keys.Add(key)
		}
	}
}

// stamp is another one after each change of the shards.
func (x *Index) stamp() uint64 { return max(x.keys.stamp, x.members.stamp, x.changed) }

// coveredAbove are the shards above all of whose namespaces a filter reaches.
func (x *Index) coveredAbove(f *loci.Filter) (out []*shard) {
	for _, s := range x.above {
		if CoversAbove(f, s.key) {
			out = append(out, s)
		}
	}
	return out
}

// CoversAbove reports whether a filter reaches all that a shard above may hold.
func CoversAbove(f *loci.Filter, key Key) bool {
	return !f.Exact && (len(f.Kinds) == 0 || slices.Contains(f.Kinds, key.Kind)) &&
		slices.ContainsFunc(f.Within, func(n loci.Namespace) bool { return strings.HasPrefix(key.Namespace, n.Key()) })
}

// coveredBy lists the shards a filter reaches that are not above others.
func (x *Index) coveredBy(f *loci.Filter) []Key {
	out := x.keys.Covered(f)
	if len(x.above) > 0 {
		out = append(out, x.members.Covered(f)...)
		slices.SortFunc(out, Key.compare)
	}
	return out
}

// besides lists the shards a filter reaches that none of some above holds.
func (x *Index) besides(f *loci.Filter, above []*shard) []Key {
	out := x.keys.Covered(f)
	if len(above) == len(x.above) {
		return out
	}
	for _, key := range x.members.Covered(f) {
		if !slices.ContainsFunc(above, func(s *shard) bool { return s.holds(key) }) {
			out = append(out, key)
		}
	}
	return out
}

// inPlace is the name by which a shard above knows a sequence of a namespace: sequences of different ones that have
// the same name stay apart.
func (s *shard) inPlace(name string, place uint32) string {
	if name == "" || !s.key.Above {
		return name
	}
	return strconv.FormatUint(uint64(place), 10) + "\x00" + name
}

// nameIn is the name of a sequence, given that by which the shard knows it.
func (s *shard) nameIn(name string) string {
	if s.key.Above {
		_, name, _ = strings.Cut(name, "\x00")
	}
	return name
}

var errPlaces = errors.New("nobody tells the namespaces of a shard above them")

// placed is the namespace of an entry in a shard above. Where the name has left the store, since the state that the
// index shows, the record has, too: the namespace above stands for it until that is noticed.
func (s *search) placed(sh *scoring, entry uint32) loci.Namespace {
	if s.places == nil {
		s.lost = errPlaces
		return nil
	}
	n, known, err := s.places(sh.placeOf(entry))
	if err != nil {
		s.lost = err
	} else if !known {
		return sh.shard.namespace
	}
	return n
}

// placeIn is the number of a namespace in such bytes; 0: there is none.
func placeIn(b []byte) uint32 {
	d := decoder{b, true}
	if d.number()&restPlace == 0 {
		return 0
	}
	return uint32(d.number())
}
