package follow

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/store/internal/aside"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/index"
)

// refresh brings the index to the tenant's present state, all in the one transaction. It returns
// the shards that a search needs.
func (x *Index) refresh(r Source, q *Search, at *batch.State) (keys []index.Key, err error) {
	p := &q.Probe
	st, err := r.State()
	if err != nil {
		return nil, err
	}
	*at = *st
	space := p.Space
	switch { // a search by words alone does not care
	case p.Vector == nil && x.index != nil:
		space = x.index.Space()
	case p.Vector == nil: // what is kept, and what the next search wants
		spaces, err := r.Spaces()
		if err != nil {
			return nil, err
		}
		space = spaces[st.Active]
	}
	if x.index == nil || x.index.Space() != space || !x.isOf(st) || x.seq > st.Seq {
		x.reset(space, st, q)
	}
	number, dropped, err := r.Space(space)
	if err != nil {
		return nil, err
	}
	// The space's vectors were removed, though their records stay, or the index is too far behind to
	// follow: what was erased meanwhile is forgotten.
	if !x.mayFollow(st, dropped) {
		x.reset(space, st, q)
	}
	fresh, err := x.learnPlan(r, st, space, q)
	if err != nil {
		return nil, err
	}
	x.takeHanded(st.Seq)
	if err := x.learn(r, st, q, fresh); err != nil {
		return nil, err
	}
	if err := x.advance(r, st, number, q); err != nil {
		return nil, err
	}
	keys, _ = x.reach(q)
	if p.Quick {
		return x.quick(r, keys)
	}
	return keys, nil
}

// advance takes in what changed up to a state.
func (x *Index) advance(r Source, st *batch.State, space int64, q *Search) error {
	if x.seq >= st.Seq {
		return nil
	}
	if err := x.follow(r, space, following{q: q}); err != nil {
		return err
	}
	x.seq = st.Seq
	x.shown.Store(x.seq)
	x.shelveDue()
	return nil
}

// reset starts with an empty index of a space.
func (x *Index) reset(space loci.Space, st *batch.State, q *Search) {
	x.shelving, x.epoch = newShelving(q.Shelf, q.Tenant), new(byte)
	x.index, x.seq, x.nameKey, x.line = index.New(space), 0, st.NameKey, st.Line
	x.index.Places = x.tellPlace
	x.known, x.learned, x.names, x.numbers = index.Keys{}, map[string]bool{}, map[int64]string{}, map[string]int64{}
	x.used, x.large = map[index.Key]*atomic.Int64{}, map[index.Key]bool{}
	x.forgetGroups(q.apart)
	x.dirty = true
	x.handover.missed() // what was taken in is in no index now
	x.loads.Forget()
}

// learn makes sure that the shards a search reaches are known, those that came since too.
// fresh: it has begun with the plan just now.
func (x *Index) learn(r Source, st *batch.State, q *Search, fresh bool) error {
	since := int64(-1)
	if (len(x.learned) > 0 || x.mark != "" && !fresh) && x.seq < st.Seq {
		since = x.seq
	}
	_, below := x.reach(q)
	if err := r.Places(since, below, x.learnPlace); err != nil {
		return err
	}
	for _, key := range below {
		x.learned[key] = true
		x.fresh = append(x.fresh, key)
	}
	return nil
}

// learnPlace takes in a namespace and its shards.
func (x *Index) learnPlace(place batch.Place) {
	x.names[place.N], x.numbers[place.Key] = place.Key, place.N
	if x.shelf != nil {
		x.shelf.Names.Add(1)
	}
	delete(x.nameless, place.N)
	for _, kind := range place.Kinds {
		if key := (index.Key{Namespace: place.Key, Kind: kind}); x.groupOf(key) == nil {
			x.known.Add(key)
		} else if !x.members.Has(key) {
			x.members.Add(key)
			x.known.Touch()
		}
	}
}

// forgetIn takes an erased record out of a shard, and of groups. known: the process knows the name of its namespace.
func (x *Index) forgetIn(key index.Key, known bool, id loci.ID) {
	if known {
		x.erased(key, id)
	}
	if x.index.HasAbove() {
		for _, g := range x.groups {
			if g.Key.Kind == key.Kind {
				x.erased(g.Key, id)
			}
		}
	}
	x.index.Remove(key.Namespace, id)
}

// quick leaves out the shards that would take long to load.
func (x *Index) quick(r Source, keys []index.Key) (out []index.Key, err error) {
	for _, key := range keys {
		if !x.index.HasShard(key) && !x.large[key] {
			records, err := r.CountShard(x.numbers[key.Namespace], key.Kind, loci.QuickRecords+1)
			if err != nil {
				return nil, err
			}
			x.large[key] = records > loci.QuickRecords
		}
		if x.index.HasShard(key) || !x.large[key] {
			out = append(out, key)
		}
	}
	return out, nil
}

// place is the shard of what a namespace's number names. It is not known to an index that holds
// nothing of the namespace; the name that is then missing must not be taken for that of the
// place above all others, which is empty.
func (x *Index) place(namespace int64, kind loci.Kind) (key index.Key, known bool) {
	name, known := x.names[namespace]
	return index.Key{Namespace: name, Kind: kind}, known
}

// followed is how many changed records one query brings, and how many of a shard are taken in
// while others wait.
const followed = 1000

// following is how what changed is taken in.
type following struct {
	q     *Search // unless nil: a shard of which much changed leaves the index, to be brought up to date aside
	last  loci.ID // unless zero: records with higher ids are read otherwise
	after func()  // unless nil: see [Index.take]
}

// A change is that of a record.
type change struct {
	id        loci.ID
	namespace int64
	kind      loci.Kind
	gone      bool
}

// changes are those since the index's state that may be of its shards, and namespaces of groups that it does not know.
// last is that of [following].
func (x *Index) changes(r Source, last loci.ID) (all []change, unknown map[int64]bool, err error) {
	unknown = map[int64]bool{}
	err = r.Changes(x.seq, func(id loci.ID, namespace int64, kind loci.Kind, gone bool) {
		if key, known := x.place(namespace, kind); !known {
			if !x.inGroups(kind) {
				return
			}
			unknown[namespace] = true
		} else if _, held := x.held(key); !held && !gone {
			return
		}
		if !gone && last != (loci.ID{}) && bytes.Compare(id[:], last[:]) > 0 {
			return
		}
		all = append(all, change{id, namespace, kind, gone})
	})
	return all, unknown, err
}

// follow takes in what changed of the shards that are loaded since the index's state.
func (x *Index) follow(r Source, space int64, how following) error {
	if len(x.used) == 0 {
		return nil // no shard is loaded
	}
	all, unknown, err := x.changes(r, how.last)
	if err != nil || len(all) == 0 {
		return err
	}
	x.dirty = true
	if err := x.resolve(r, unknown); err != nil {
		return err
	}
	count := map[index.Key]int{}
	for _, c := range all {
		if key, known := x.place(c.namespace, c.kind); known {
			count[key]++
			if above, held := x.held(key); held && above.Above {
				count[above]++
			}
		}
	}
	for key, n := range count {
		if n > followed && how.q != nil && x.index.HasShard(key) && !x.busy[key] {
			x.detach(how.q, key)
		}
	}
	changed := map[loci.ID]index.Key{}
	for _, c := range all {
		key, known := x.place(c.namespace, c.kind)
		if c.gone {
			delete(changed, c.id)
			x.forgetIn(key, known, c.id)
		} else if known {
			if _, held := x.held(key); held {
				changed[c.id] = key
			}
		}
	}
	return x.takeChanged(r, space, changed, how.after)
}

// takeChanged reads records that changed, given the shards that they are in; after is that of [Index.take].
func (x *Index) takeChanged(r Source, space int64, changed map[loci.ID]index.Key, after func()) error {
	ids := slices.SortedFunc(maps.Keys(changed), func(a, b loci.ID) int { return bytes.Compare(a[:], b[:]) })
	for len(ids) > 0 {
		some := ids[:min(len(ids), followed)]
		ids = ids[len(some):]
		if err := x.take(changed, func(take Take) error { return r.ByID(space, some, take) }, after); err != nil {
			return err
		}
	}
	for id, key := range changed { // what cannot be found any more leaves
		x.leave(key, id)
	}
	return nil
}

// take reads records with their vectors into the index and strikes them off a list. Reading
// and indexing cost about the same, so each has a goroutine; after, unless it is nil, is called
// in that of indexing now and then.
func (x *Index) take(off map[loci.ID]index.Key, query func(Take) error, after func()) error {
	dims := x.index.Space().Dims
	type loaded struct {
		record    loci.Record
		codes     [][]byte
		namespace int64
	}
	read := make(chan []loaded, 4)
	var indexing sync.WaitGroup
	var fault error // of memory: a segment that a record leaves was cut
	indexing.Go(cores.Alike(func() {
		for batch := range read {
			if fault != nil {
				continue
			}
			fault, _ = files.Faultless(func() error {
				for i := range batch {
					aside.Breathe(i)
					x.index.UpsertPlaced(&batch[i].record, batch[i].codes, 0, batch[i].namespace)
				}
				if after != nil {
					after()
				}
				return nil
			})
		}
	}))
	most := 256
	if x.shelf != nil {
		most = min(most, x.shelf.Book)
		give := query
		query = func(take Take) error {
			n := int64(0)
			defer func() { x.shelf.Records.Add(n) }()
			return give(func(record *loci.Record, namespace int64, vectors []byte) {
				n++
				take(record, namespace, vectors)
			})
		}
	}
	var batch []loaded // most shards are small
	err := query(func(record *loci.Record, namespace int64, vectors []byte) {
		key, known := x.place(namespace, record.Kind)
		if !known {
			return
		}
		delete(off, record.ID)
		record.Namespace = loci.NamespaceFromKey(key.Namespace)
		batch = append(batch, loaded{*record, form.SplitVectors(vectors, dims), namespace})
		aside.Breathe(len(batch))
		if len(batch) == most {
			read <- batch
			batch = make([]loaded, 0, most)
		}
	})
	read <- batch
	close(read)
	indexing.Wait()
	if fault != nil {
		return &faultError{fault}
	}
	return err
}
