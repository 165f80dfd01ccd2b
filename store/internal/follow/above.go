package follow

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
)

// The small shards of a kind that lie below one namespace share an index, of which the database keeps an image as it
// does of a large shard: a search above 100,000 namespaces of one note takes up some segments, and does not even
// learn which namespaces there are (docs/adr/0194). They are a group. Which groups there are is planned, and lies in
// the table of images as well. A search looks into a group if it reaches all of it, and else at the shards by
// themselves.

// A group is one as the process knows it.
type group struct {
	*index.Group
	n int64 // below zero: the number under which its image lies
}

func (g *group) shard() Shard { return Shard{g.n, g.Key.Kind} }

// grouping is what an index knows of groups.
type grouping struct {
	groups   []*group
	members  index.Keys     // shards that are in a group, as far as they were learned
	nameless map[int64]bool // numbers of namespaces that have no name now
	planned  bool           // the plan was looked for
	upto     int64          // the highest number of a namespace that it knows
	mark     string         // of its image; "": there is none
	looked   int64          // the highest number of a namespace when a search looked at the plan last
	again    bool           // the next search is to look at it
	alone    bool           // nobody sees what is found
}

func (x *Index) groupAt(key index.Key) *group {
	for _, g := range x.groups {
		if g.Key == key {
			return g
		}
	}
	return nil
}

func (x *Index) groupOf(key index.Key) *group {
	for _, g := range x.groups {
		if g.Has(key) {
			return g
		}
	}
	return nil
}

// held reports whether the index has what is in a shard, in it or in its group. above is that group's then.
func (x *Index) held(key index.Key) (above index.Key, held bool) {
	if x.index.HasAbove() {
		if g := x.groupOf(key); g != nil && x.index.HasShard(g.Key) {
			return g.Key, true
		}
	}
	return index.Key{}, x.index.HasShard(key)
}

// covered lists the shards that a filter reaches, groups all of which it reaches as one. lacks are the namespaces
// below which all shards must be known before.
func (x *Index) covered(f *loci.Filter, quick bool) (keys []index.Key, lacks []string) {
	if len(x.groups) == 0 && x.mark == "" {
		for _, n := range f.Within {
			if key := n.Key(); !x.hasLearned(key) {
				lacks = append(lacks, key)
			}
		}
		return x.known.Covered(f), lacks
	}
	keys, unknown := index.Covered(x.groups, &x.known, &x.members, f, quick, func(n loci.Namespace) bool {
		return x.hasLearned(n.Key())
	})
	for _, n := range unknown {
		lacks = append(lacks, n.Key())
	}
	return keys, lacks
}

// reach is what a search needs.
func (x *Index) reach(q *Search) (keys []index.Key, lacks []string) {
	if q.only == nil {
		return x.covered(&q.Filter, q.Probe.Quick)
	}
	if x.groupAt(*q.only) != nil {
		keys = []index.Key{*q.only}
	}
	return keys, nil // of a group that is planned no more nothing is needed
}

// serves reports whether the index holds all that a search needs, and notes when it did.
func (x *Index) serves(q *Search) bool {
	p, filter := &q.Probe, &q.Filter
	if p.Vector != nil && p.Space != x.index.Space() {
		return false
	}
	now := x.tick.Add(1)
	scoped := q.only == nil && (!p.Quick || len(x.groups) == 0) // groups are of no use to quick searches
	if scoped && x.scopes.Served(filter, &x.known, x.index, now) {
		for _, g := range x.groups {
			if index.CoversAbove(filter, g.Key) {
				x.searchedAt(g.Key, now)
			}
		}
		return true
	}
	covered, lacks := x.reach(q)
	if len(lacks) > 0 {
		return false
	}
	passed := 0
	for _, key := range covered {
		if at := x.used[key]; at != nil {
			at.Store(now)
		} else if passed++; !p.Quick || !x.large[key] {
			return false
		}
	}
	if passed == 0 && scoped {
		x.scopes.Serve(filter, &x.known, x.index, len(covered), now, x.searchedAt)
	}
	return true
}

// searchedAt notes when a shard was searched, if it is in the index.
func (x *Index) searchedAt(key index.Key, at int64) {
	if used := x.used[key]; used != nil && used.Load() < at {
		used.Store(at)
	}
}

// forgetGroups begins without a plan. alone: nobody sees what is found.
func (x *Index) forgetGroups(alone bool) {
	x.groups, x.members, x.nameless = nil, index.Keys{}, nil
	x.planned, x.upto, x.mark, x.looked, x.again = false, 0, "", 0, false
	x.alone = alone
}

// learnPlan takes in the plan, unless the index has that already. An index that has another one begins again. fresh:
// the plan is new, and all shards in no group are known.
func (x *Index) learnPlan(r Source, st *batch.State, space loci.Space, q *Search) (fresh bool, err error) {
	if q.Shelf == nil || x.planned && !x.again {
		return false, nil
	}
	first := !x.planned
	x.planned, x.again = true, false
	if st.Namespaces < int64(q.Shelf.Join) {
		return false, nil
	}
	in := r.(ImageSource)
	m, p, err := readPlan(in, st)
	if err != nil || p == nil && x.mark == "" || p != nil && string(m.Mark) == x.mark {
		return false, err
	}
	if !first {
		looked := x.looked
		x.reset(space, st, q)
		x.planned, x.looked = true, looked
	}
	x.dirty = true
	if p == nil {
		return false, nil
	}
	if x.groups, err = groupsOf(in, st, p); err != nil {
		return false, err
	}
	x.mark, x.upto = string(m.Mark), p.Upto
	if err := in.Named(p.Rest, x.learnNamed); err != nil || m.Seq == st.Seq {
		return true, err
	}
	return true, r.Places(m.Seq, nil, x.learnPlace)
}

// groupsOf are the groups of a plan. One in which nothing has a name has nothing to be found, and is left out.
func groupsOf(r ImageSource, st *batch.State, p *Plan) (groups []*group, err error) {
	roots, marks := map[string]string{"": ""}, map[int64]loci.Mark{}
	var begins []string
	var apart []int64
	for i := range p.Groups {
		begin, _ := p.Groups[i].BeginOf()
		begins, apart = append(begins, begin), append(apart, p.Groups[i].Apart...)
	}
	asked := slices.DeleteFunc(slices.Clone(begins), func(begin string) bool { return begin == "" })
	if err := r.Within(asked, func(begin, key string) { roots[begin] = index.Root(begin, key) }); err != nil {
		return nil, err
	}
	if len(apart) > 0 {
		if err := r.Named(apart, func(place batch.Place) { marks[place.N] = place.Mark }); err != nil {
			return nil, err
		}
	}
	for i, one := range p.Groups {
		root, found := roots[begins[i]]
		if !found {
			continue
		}
		of := &index.Group{Joined: one, Begin: begins[i], Names: st.NameKey, Marks: map[string]bool{}}
		g := &group{of, numberOf(&one)}
		g.Key = index.Key{Namespace: root, Kind: one.Kind, Above: true}
		for _, n := range one.Apart {
			g.Marks[string(marks[n])] = true
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// learnNamed takes in a namespace that was asked for by its number.
func (x *Index) learnNamed(place batch.Place) {
	if place.Named {
		x.learnPlace(place)
	}
}

// resolve learns the names of namespaces by their numbers.
func (x *Index) resolve(r Source, numbers map[int64]bool) error {
	var lacking []int64
	for n := range numbers {
		if _, known := x.names[n]; !known {
			lacking = append(lacking, n)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return r.(ImageSource).Named(lacking, x.nameOne)
}

func (x *Index) nameOne(place batch.Place) {
	if place.Named {
		delete(x.nameless, place.N)
		x.names[place.N], x.numbers[place.Key] = place.Key, place.N
		return
	}
	if x.nameless == nil {
		x.nameless = map[int64]bool{}
	}
	x.nameless[place.N] = true
}

// inGroups reports whether the index has a group of a kind.
func (x *Index) inGroups(kind loci.Kind) bool {
	return x.index.HasAbove() && slices.ContainsFunc(x.groups, func(g *group) bool {
		return g.Key.Kind == kind && x.index.HasShard(g.Key)
	})
}

// begin makes the index responsible for a shard, empty at first.
func (x *Index) begin(key index.Key) {
	if g := x.groupAt(key); g != nil {
		x.index.AddAbove(key, g.LeavesOut())
		return
	}
	x.index.AddShard(key)
}

// unnamed stands in the place of a namespace whose name the process does not know, before its number: no label of a
// namespace is like it. No hit leaves with it.
const unnamed = "\x00"

// tellPlace is the namespace of a hit in a group. The caller holds the index's lock, to read.
func (x *Index) tellPlace(n uint32) (loci.Namespace, bool, error) {
	number := int64(n)
	if key, known := x.names[number]; known {
		return loci.NamespaceFromKey(key), true, nil
	}
	if x.nameless[number] || x.alone {
		return nil, false, nil
	}
	return loci.Namespace{unnamed, strconv.FormatInt(number, 10)}, true, nil
}

// nameHits gives hits the names of their namespaces, those that are not known read in one question. The hits are of
// the index as of an epoch: a number may be that of another namespace in the next one. named: all have their names;
// else somebody is to search again.
func (x *Index) nameHits(q *Search, hits []loci.Hit, epoch *byte) (named bool, err error) {
	if !slices.ContainsFunc(hits, isUnnamed) {
		return true, nil
	}
	lacking, same := x.nameKnown(hits, epoch)
	if same && len(lacking) > 0 {
		if err := x.readNames(q, slices.Collect(maps.Keys(lacking))); err != nil {
			return false, err
		}
		lacking, same = x.nameKnown(hits, epoch)
	}
	return same && len(lacking) == 0, nil
}

func isUnnamed(h loci.Hit) bool { return len(h.Namespace) > 0 && h.Namespace[0] == unnamed }

// nameKnown is nameHits without a question. lacking are the numbers of namespaces that are not known. same: the epoch
// is that of the hits.
func (x *Index) nameKnown(hits []loci.Hit, epoch *byte) (lacking map[int64]bool, same bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.epoch != epoch {
		return nil, false
	}
	lacking = map[int64]bool{}
	for i := range hits {
		if !isUnnamed(hits[i]) {
			continue
		}
		number, _ := strconv.ParseInt(hits[i].Namespace[1], 10, 64)
		if key, known := x.names[number]; known {
			hits[i].Namespace = loci.NamespaceFromKey(key)
		} else {
			lacking[number] = true
		}
	}
	return lacking, true
}

// errPlan says that groups are to be planned before a search goes on.
var errPlan = errors.New("the shards are to be planned")

// find searches if the index shows what the search must see, as may says, and holds all that is needed. What it shows
// was read at a moment or later; 0: only others know when. Where the names of hits are missing they are read.
func (x *Index) find(q *Search, at time.Duration, may func() bool) (hits []loci.Hit, served bool, err error) {
	for range mostFinds {
		var epoch *byte
		fault, err := files.Faultless(func() (err error) {
			x.mu.RLock()
			defer x.mu.RUnlock()
			if served = may() && x.serves(q); served {
				raise(&x.seen, int64(at))
				epoch = x.epoch
				hits, err = x.index.Match(q.Probe, q.Filter, q.Limit, q.Load)
			}
			return err
		})
		if fault != nil { // somebody cut a file that is mapped
			x.mu.Lock()
			defer x.mu.Unlock()
			x.faulted(fault)
			return nil, false, nil
		}
		if err != nil || !served {
			return nil, served, err
		}
		named, err := x.nameHits(q, hits, epoch)
		if named || err != nil {
			return hits, err == nil, err
		}
	}
	return nil, false, nil // names leave, or it became another index, each time
}

// mostFinds is how often a search begins again for names that it lacks.
const mostFinds = 3

// readNames reads the names of namespaces that a search lacks.
func (x *Index) readNames(q *Search, numbers []int64) error {
	var st *batch.State
	var found []batch.Place
	if err := q.Read(q.ctx, func(r Source) (err error) {
		found = nil
		if st, err = r.State(); err != nil {
			return err
		}
		return r.(ImageSource).Named(numbers, func(place batch.Place) { found = append(found, place) })
	}); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.index != nil && x.isOf(st) {
		for _, n := range numbers { // also those that nobody has, of a segment that is damaged
			x.nameOne(batch.Place{N: n})
		}
		for _, place := range found {
			x.nameOne(place)
		}
	}
	return nil
}

// shardsAlone are how many of some shards a search would load by themselves.
func (x *Index) shardsAlone(keys []index.Key) (alone int) {
	for _, key := range keys {
		if !key.Above && !x.index.HasShard(key) {
			alone++
		}
	}
	return alone
}

// lacksPlan reports whether a search is to plan groups before it loads: many shards came since that was done.
func (x *Index) lacksPlan(q *Search, st *batch.State, keys []index.Key) bool {
	if q.Shelf == nil || q.only != nil || q.Probe.Quick || q.Filter.Exact || !q.Shelf.mayTry() {
		return false
	}
	since := st.Namespaces - max(x.upto, x.looked)
	if since < index.JoinFrom(q.Shelf.Join, x.upto) || x.shardsAlone(keys) < q.Shelf.Join {
		return false
	}
	x.looked, x.again = st.Namespaces, true
	return true
}
