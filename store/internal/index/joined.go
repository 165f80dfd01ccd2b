package index

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// A Small is a shard that may share an index with others, in a group: see [Join].
type Small struct {
	Shard, Place int64 // the number of the shard, and that of its namespace
	Kind         loci.Kind
	Mark         string // of its namespace, as bytes
	Records      int64
	Large        bool // it has an index of its own
}

// Joined is a group of shards: those of a kind in all namespaces whose marks begin with one.
type Joined struct {
	Mark  string    `json:"mark"` // in hexadecimal digits
	Kind  loci.Kind `json:"kind"`
	Apart []int64   `json:"apart,omitempty"` // the places that it leaves out
}

// oneIn bounds the groups: each has one in so many of the small shards of its kind, at least.
const oneIn = 64

// Join plans groups. The deepest namespaces with enough small shards are some, of at least so many shards and
// records together; what is left over counts for the namespace above. What was a group stays one, unless another
// comes above it: it must have the same namespaces, for its index to be of use. rest are the shards in none.
func Join(all []Small, before []Joined, shards, records int) (groups []Joined, rest []int64) {
	was, kinds := map[loci.Kind]map[string]*Joined{}, map[loci.Kind][]*Small{}
	for i := range before {
		g := &before[i]
		if was[g.Kind] == nil {
			was[g.Kind] = map[string]*Joined{}
		}
		was[g.Kind][g.bytes()] = g
	}
	for i := range all {
		kinds[all[i].Kind] = append(kinds[all[i].Kind], &all[i])
	}
	rest = []int64{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		marks := joinedMarks(kinds[kind], was[kind], int64(shards), int64(records))
		apart := make([]map[int64]bool, len(marks))
		for i, mark := range marks {
			g := Joined{Mark: hex.EncodeToString([]byte(mark)), Kind: kind, Apart: largeIn(kinds[kind], mark)}
			if was := was[kind][mark]; was != nil {
				g.Apart = was.Apart
			}
			groups, apart[i] = append(groups, g), map[int64]bool{}
			for _, place := range g.Apart {
				apart[i][place] = true
			}
		}
		for _, s := range kinds[kind] {
			in := slices.IndexFunc(marks, func(mark string) bool { return strings.HasPrefix(s.Mark, mark) })
			if in < 0 || apart[in][s.Place] {
				rest = append(rest, s.Shard)
			}
		}
	}
	slices.Sort(rest)
	return groups, rest
}

// bytes is the mark as namespaces have it.
func (g *Joined) bytes() string {
	mark, _ := hex.DecodeString(g.Mark) // what is none is a group of what nobody has
	return string(mark)
}

// largeIn are the places of the large shards of a group.
func largeIn(all []*Small, mark string) (places []int64) {
	for _, s := range all {
		if s.Large && strings.HasPrefix(s.Mark, mark) {
			places = append(places, s.Place)
		}
	}
	return places
}

// joinedMarks are the marks of the groups of a kind, none of which begins with another.
func joinedMarks(all []*Small, was map[string]*Joined, shards, records int64) (marks []string) {
	type node struct{ shards, records int64 }
	nodes, byDepth, small := map[string]*node{}, [][]string{nil}, int64(0)
	at := func(mark string) *node {
		n := nodes[mark]
		if n == nil {
			n = new(node)
			nodes[mark] = n
			depth := len(mark) / loci.MarkBytes
			for len(byDepth) <= depth {
				byDepth = append(byDepth, nil)
			}
			byDepth[depth] = append(byDepth[depth], mark)
		}
		return n
	}
	for mark := range was {
		at(mark)
	}
	for _, s := range all {
		if !s.Large {
			n := at(s.Mark)
			n.shards, n.records = n.shards+1, n.records+s.Records
			small++
		}
	}
	shards = max(shards, small/oneIn)
	for depth := len(byDepth) - 1; depth >= 0; depth-- {
		for _, mark := range byDepth[depth] {
			n := nodes[mark]
			if was[mark] != nil || n.shards >= shards && n.records >= records {
				marks = slices.DeleteFunc(marks, func(below string) bool { return strings.HasPrefix(below, mark) })
				marks = append(marks, mark)
			} else if depth > 0 {
				up := at(mark[:len(mark)-loci.MarkBytes])
				up.shards, up.records = up.shards+n.shards, up.records+n.records
			}
		}
	}
	slices.Sort(marks)
	return marks
}

// A Group is one as a process knows it: all namespaces from one on, except those that are apart.
type Group struct {
	Joined
	Key   Key             // of its shard
	Begin string          // what the marks of its namespaces begin with
	Marks map[string]bool // of the namespaces apart
	Names loci.NameKey
}

// Itself is the group, also of what has one in it.
func (g *Group) Itself() *Group { return g }

// LeavesOut reports whether a namespace is apart; nil: none is.
func (g *Group) LeavesOut() func(namespace string) bool {
	if len(g.Marks) == 0 {
		return nil
	}
	return func(namespace string) bool { return g.Marks[string(g.Names.Mark(loci.NamespaceFromKey(namespace)))] }
}

// Has reports whether a shard is in the group.
func (g *Group) Has(key Key) bool {
	return key.Kind == g.Key.Kind && strings.HasPrefix(key.Namespace, g.Key.Namespace) &&
		(len(g.Marks) == 0 || !g.LeavesOut()(key.Namespace))
}

// touches reports whether a filter reaches some of it.
func (g *Group) touches(f *loci.Filter) bool {
	return (len(f.Kinds) == 0 || slices.Contains(f.Kinds, g.Key.Kind)) &&
		slices.ContainsFunc(f.Within, func(n loci.Namespace) bool {
			key := n.Key()
			return strings.HasPrefix(key, g.Key.Namespace) || !f.Exact && strings.HasPrefix(g.Key.Namespace, key)
		})
}

// Covered lists the shards that a filter reaches: known ones that are in no group, groups all of which it reaches as
// one, unless the search is quick, and members of the others. lacks are the namespaces whose shards must be known
// before, as knows says that they are not.
func Covered[G interface{ Itself() *Group }](
	groups []G, known, members *Keys, f *loci.Filter, quick bool, knows func(loci.Namespace) bool,
) (keys []Key, lacks []loci.Namespace) {
	keys = known.Covered(f)
	var whole []*Group
	some := false
	for i := range groups {
		g := groups[i].Itself()
		if !quick && CoversAbove(f, g.Key) {
			whole, keys = append(whole, g), append(keys, g.Key)
		} else if g.touches(f) {
			some = true
		}
	}
	if !some {
		return keys, nil
	}
	for _, n := range f.Within {
		if !knows(n) {
			lacks = append(lacks, n)
		}
	}
	if len(lacks) > 0 {
		return nil, lacks
	}
	for _, key := range members.Covered(f) {
		if !slices.ContainsFunc(whole, func(g *Group) bool { return g.Has(key) }) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

const (
	LeastJoined = 64     // shards of a group
	MostRest    = 10_000 // namespaces with shards in none: a plan of more saves nothing
)

// JoinFrom is how many must have come since so many were planned, for another plan.
func JoinFrom(least int, planned int64) int64 { return max(int64(least), planned/8) }

// SumOf is what a plan says of itself and the names of its tenant, which are others when all was erased.
func SumOf(names loci.NameKey, plan any) string {
	raw, _ := json.Marshal(plan) // of numbers and texts alone
	sum := sha256.Sum256(append(slices.Clone([]byte(names)), raw...))
	return hex.EncodeToString(sum[:16])
}

// BeginOf is what the marks of the namespaces of a group begin with, if that is what marks begin with.
func (g *Joined) BeginOf() (begin string, ok bool) {
	mark, err := hex.DecodeString(g.Mark)
	return string(mark), err == nil && len(mark)%loci.MarkBytes == 0
}

// Root is the namespace from which on a group begins, given one that is in it.
func Root(begin, key string) string {
	return loci.NamespaceFromKey(key)[:len(begin)/loci.MarkBytes].Key()
}
