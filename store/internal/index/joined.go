package index

import (
	"encoding/hex"
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
