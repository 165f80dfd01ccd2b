package index

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci"
)

// A search above many namespaces would look into a shard for each of them, and what that
// costs does not depend on how little the shard holds. So the small shards that such a
// search covers are gathered: what they hold lies once more in one shard, which is searched
// in one pass. It is a shard of the same records, so statistics and scores are the same to
// the bit (docs/adr/0087).

// Bounds of gathering.
const (
	leastGathered  = 64     // shards: fewer are searched one by one
	mostGathered   = 256    // records of a shard: looking at these costs more than looking into it
	gatheredAtOnce = 20_000 // shards in one search, so that none waits long: the next one goes on

	mostGatherings = 4    // scopes that are gathered at a time
	idleSearches   = 64   // searches above many that a scope was not among, before another takes its place
	restSearches   = 1024 // searches above many after which one gathers again for which there was no room
)

// A scope is what of a filter says which shards a search covers.
type scope struct {
	within []loci.Namespace
	exact  bool
	kinds  []loci.Kind
}

func scopeOf(f *loci.Filter) scope {
	s := scope{exact: f.Exact, kinds: slices.Clone(f.Kinds)}
	for _, namespace := range f.Within {
		s.within = append(s.within, slices.Clone(namespace))
	}
	return s
}

// is reports whether a filter covers the same, for the same reasons.
func (s *scope) is(f *loci.Filter) bool {
	return s.exact == f.Exact && slices.Equal(s.kinds, f.Kinds) &&
		slices.EqualFunc(s.within, f.Within, slices.Equal[loci.Namespace])
}

// filter covers what the scope does.
func (s *scope) filter() *loci.Filter {
	return &loci.Filter{Within: s.within, Exact: s.exact, Kinds: s.kinds}
}

// covers reports whether a shard is in the scope.
func (s *scope) covers(key Key) bool {
	return (len(s.kinds) == 0 || slices.Contains(s.kinds, key.Kind)) &&
		slices.ContainsFunc(s.within, func(within loci.Namespace) bool {
			namespace := within.Key()
			return key.Namespace == namespace || !s.exact && strings.HasPrefix(key.Namespace, namespace)
		})
}

// gatherings are those of an index. Searches, which are side by side, make and extend
// them; a change of the index is alone and takes out what it changes.
type gatherings struct {
	mu    sync.Mutex
	list  []*gathering
	clock int64 // searches above many
	rest  int64 // until then nothing is gathered
	bytes atomic.Int64

	least, most, atOnce int // see the bounds
}

func newGatherings() *gatherings {
	return &gatherings{least: leastGathered, most: mostGathered, atOnce: gatheredAtOnce}
}

// A gathering is what the small shards of a scope hold. Each shard of the scope is
// gathered, waiting or large.
type gathering struct {
	scope scope
	used  int64 // on the clock of all

	mu       sync.RWMutex
	all      *shard
	gathered map[*shard]run
	waiting  map[*shard]bool // not gathered yet, or taken out since they changed
	large    map[*shard]bool // searched by themselves
	bytes    int64
	dropped  bool
}

// A run is where the entries of a shard are in a gathering.
type run struct{ first, entries uint32 }

// gather returns the gathering of what a search covers, held until release; nil: there is
// none, and covered are the shards of the search.
func (x *Index) gather(f *loci.Filter) (g *gathering, covered []Key) {
	if g = x.gatherings.find(f); g == nil {
		if covered = x.coveredBy(f); len(covered) < x.gatherings.least {
			return nil, covered
		}
		if g = x.begin(f, covered); g == nil {
			return nil, covered
		}
	}
	g.mu.RLock()
	if len(g.waiting) > 0 {
		g.mu.RUnlock()
		g.mu.Lock()
		g.extend(x.gatherings)
		g.count(x.gatherings)
		g.mu.Unlock()
		g.mu.RLock() // in between others may have gathered more, but nothing has changed
	}
	return g, nil
}

func (g *gathering) release() { g.mu.RUnlock() }

func (all *gatherings) find(f *loci.Filter) *gathering {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.of(f)
}

// of finds the gathering of a scope. The caller holds the lock.
func (all *gatherings) of(f *loci.Filter) *gathering {
	for _, g := range all.list {
		if g.scope.is(f) {
			all.clock++
			g.used = all.clock
			return g
		}
	}
	return nil
}

// begin makes a gathering for which all wait, if there is room for it.
func (x *Index) begin(f *loci.Filter, covered []Key) *gathering {
	all := x.gatherings
	all.mu.Lock()
	defer all.mu.Unlock()
	if g := all.of(f); g != nil { // another search was quicker
		return g
	}
	if all.clock++; all.clock < all.rest {
		return nil
	}
	if len(all.list) >= mostGatherings {
		oldest := slices.MinFunc(all.list, func(a, b *gathering) int { return cmp.Compare(a.used, b.used) })
		if all.clock-oldest.used < idleSearches {
			return nil
		}
		all.drop(oldest)
	}
	g := &gathering{scope: scopeOf(f), used: all.clock, all: newShard(Key{}, x.space),
		gathered: map[*shard]run{}, waiting: map[*shard]bool{}, large: map[*shard]bool{}}
	g.all.gathered = true
	for _, key := range covered {
		g.waiting[x.shards[key]] = true
	}
	all.list = append(all.list, g)
	return g
}

// drop forgets a gathering; a search that has it goes on. The caller holds the lock of all.
func (all *gatherings) drop(g *gathering) {
	all.list = slices.DeleteFunc(all.list, func(other *gathering) bool { return other == g })
	g.mu.Lock()
	defer g.mu.Unlock()
	all.bytes.Add(-g.bytes)
	g.bytes, g.dropped = 0, true
}

// Ungather gives back the room of what lies in the index once more for searches above many
// namespaces. There is not enough, so they go without it for a while.
func (x *Index) Ungather() {
	all := x.gatherings
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.list) == 0 {
		return
	}
	for len(all.list) > 0 {
		all.drop(all.list[0])
	}
	all.rest = all.clock + restSearches
}

// count notes what a gathering takes.
func (g *gathering) count(all *gatherings) {
	if g.dropped {
		return
	}
	now := g.all.bytes()
	all.bytes.Add(now - g.bytes)
	g.bytes = now
}

// extend gathers what waits, as much as one search may.
func (g *gathering) extend(all *gatherings) {
	n := 0
	for s := range g.waiting {
		if n++; n > all.atOnce {
			return
		}
		delete(g.waiting, s)
		if len(s.segments) > 0 || len(s.byID) > all.most {
			g.large[s] = true
		} else {
			g.gathered[s] = g.all.gather(s)
		}
	}
}

// changes notes that a shard is about to change: what is gathered of it leaves, its words
// with it, and the next search gathers it again.
func (all *gatherings) changes(s *shard) {
	for _, g := range slices.Clone(all.list) {
		if g.leave(s) {
			g.waiting[s] = true
			all.tidy(g)
		}
	}
}

// comes notes a shard that is new in the index, leaves one that is no more in it.
func (all *gatherings) comes(s *shard) {
	for _, g := range all.list {
		if g.scope.covers(s.key) {
			g.waiting[s] = true
		}
	}
}

func (all *gatherings) leaves(s *shard) {
	for _, g := range slices.Clone(all.list) {
		g.leave(s)
		delete(g.waiting, s)
		delete(g.large, s)
		all.tidy(g)
	}
}

// leave takes out what is gathered of a shard, if it is.
func (g *gathering) leave(s *shard) bool {
	r, gathered := g.gathered[s]
	if gathered {
		delete(g.gathered, s)
		for n := r.first; n < r.first+r.entries; n++ {
			g.all.takeOut(n)
		}
	}
	return gathered
}

// tidy drops a gathering of which more has left than there is: it is made again when it is
// asked for.
func (all *gatherings) tidy(g *gathering) {
	g.count(all)
	if dead := len(g.all.passages) - g.all.livePassages; dead > 1024 && dead > g.all.livePassages {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.drop(g)
	}
}

// gather takes in what another shard has, as entries of its own, one after another. What
// it says and its attributes are shared, and its sequences stay apart from those of others.
func (s *shard) gather(from *shard) run {
	r := run{first: uint32(len(s.entries))}
	renumbered, sequenceAt := from.renumbering(), map[uint32]uint32{}
	for _, e := range from.entries {
		if !e.alive {
			continue
		}
		number, first := uint32(len(s.entries)), e.first
		e.first = uint32(len(s.passages))
		if e.sequence != 0 {
			e.sequence = s.sequenceFor(from.sequences[e.sequence].name, e.sequence, sequenceAt)
		}
		s.entries = append(s.entries, e)
		if e.sequence != 0 {
			s.sequences[e.sequence].put(s.memberOf(number))
		}
		for n := first; n < first+e.passages; n++ {
			p, at := from.passages[n], uint32(len(s.passages))
			p.Entry, p.Sequence = number, e.sequence
			if p.Row >= 0 {
				p.Row = int32(s.matrix.AppendRow(from.matrix, int(p.Row)))
				s.rows = append(s.rows, at)
			}
			s.keep(p, s.gatherWords(from, n, renumbered))
		}
		r.entries++
	}
	return r
}

// gatherWords takes in the words of a passage of another shard, for its next passage.
func (s *shard) gatherWords(from *shard, passage uint32, renumbered []uint32) []uint32 {
	words := slices.Clone(from.words[passage])
	for i, w := range words {
		old := w &^ overlaid
		if renumbered[old] == overlaid {
			renumbered[old] = s.wordLike(from, old)
		}
		words[i] = renumbered[old] | w&overlaid
	}
	s.adoptText(words, uint32(len(s.passages)))
	return words
}

// sequenceFor is the sequence for one of another shard, and has one entry more.
func (s *shard) sequenceFor(name string, old uint32, at map[uint32]uint32) uint32 {
	if len(s.sequences) == 0 {
		s.sequences = append(s.sequences, sequence{}) // 0 stands for none
	}
	n, ok := at[old]
	if !ok {
		n = uint32(len(s.sequences))
		at[old] = n
		s.sequences = append(s.sequences, sequence{name: name})
		s.liveSequences++
	}
	s.sequences[n].alive++
	s.sequences[n].talk = unknownTalk
	return n
}

// wordLike returns the number of a word of another lexicon. It shares its text.
func (l *lexicon) wordLike(from *shard, old uint32) uint32 {
	w := *from.vocabulary.at(old)
	hash := hashOf(w.spelling)
	if n, ok := l.findSpelling(hash, w.spelling); ok {
		return n
	}
	w = word{spelling: w.spelling, term: l.term(from.listed.at(w.term).name), stop: w.stop}
	return l.newWord(hash, w, from.marks[old])
}
