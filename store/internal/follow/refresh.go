package follow

import (
	"bytes"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
)

// refresh brings the index to the tenant's present state and loads the shards a search
// needs, all in the one transaction.
func (x *Index) refresh(r Source, q *Search, budget int) error {
	x.ready = nil
	p, filter := &q.Probe, &q.Filter
	st, err := r.State()
	if err != nil {
		return err
	}
	space := p.Space
	if p.Vector == nil && x.index != nil {
		space = x.index.Space() // a search by words alone does not care
	}
	if x.index == nil || x.index.Space() != space || !bytes.Equal(x.nameKey, st.NameKey) || x.line != st.Line ||
		x.seq > st.Seq {
		x.reset(space, st, q)
	}
	number, dropped, err := r.Space(space)
	if err != nil {
		return err
	}
	if x.seq < dropped { // the space's vectors were removed, though their records stay
		x.reset(space, st, q)
	}
	if x.seq < st.Floor { // too far behind to follow: what was erased meanwhile is forgotten
		x.reset(space, st, q)
	}
	if err := x.learn(r, st, filter); err != nil {
		return err
	}
	if x.seq < st.Seq {
		if err := x.follow(r, number); err != nil {
			return err
		}
		x.seq = st.Seq
		x.shelveDue()
	}
	keys := x.known.Covered(filter)
	if p.Quick {
		if keys, err = x.quick(r, keys); err != nil {
			return err
		}
	}
	return x.loadShards(&loading{st: st, space: number, dropped: dropped}, r, keys, budget, q.Meter)
}

// reset starts with an empty index of a space.
func (x *Index) reset(space loci.Space, st *batch.State, q *Search) {
	x.shelving, x.epoch = newShelving(q.Shelf, q.Tenant), new(byte)
	x.index, x.seq, x.nameKey, x.line = index.New(space), 0, st.NameKey, st.Line
	x.known, x.learned, x.names, x.numbers = index.Keys{}, map[string]bool{}, map[int64]string{}, map[string]int64{}
	x.used, x.large = map[index.Key]uint64{}, map[index.Key]bool{}
}

// learn makes sure that the shards a search reaches are known, those that came since too.
func (x *Index) learn(r Source, st *batch.State, filter *loci.Filter) error {
	since := int64(-1)
	if len(x.learned) > 0 && x.seq < st.Seq {
		since = x.seq
	}
	var below []string
	for _, place := range filter.Within {
		if key := place.Key(); !x.hasLearned(key) {
			below = append(below, key)
		}
	}
	if err := r.Places(since, below, func(place batch.Place) {
		x.names[place.N], x.numbers[place.Key] = place.Key, place.N
		for _, kind := range place.Kinds {
			x.known.Add(index.Key{Namespace: place.Key, Kind: kind})
		}
	}); err != nil {
		return err
	}
	for _, place := range filter.Within {
		x.learned[place.Key()] = true
	}
	return nil
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

// followed is how many changed records one query brings.
const followed = 1000

// follow takes in what changed of the shards that are loaded since the index's state.
func (x *Index) follow(r Source, space int64) error {
	if len(x.used) == 0 {
		return nil // no shard is loaded
	}
	changed := map[loci.ID]index.Key{}
	if err := r.Changes(x.seq, func(id loci.ID, namespace int64, kind loci.Kind, gone bool) {
		key := index.Key{Namespace: x.names[namespace], Kind: kind}
		if gone {
			delete(changed, id)
			x.erased(key, id)
			x.index.Remove(key.Namespace, id)
		} else if x.index.HasShard(key) {
			changed[id] = key
		}
	}); err != nil {
		return err
	}
	return x.takeChanged(r, space, changed)
}

// takeChanged reads records that changed, given the shards that they are in.
func (x *Index) takeChanged(r Source, space int64, changed map[loci.ID]index.Key) error {
	ids := make([]loci.ID, 0, len(changed))
	for id := range changed {
		ids = append(ids, id)
	}
	for len(ids) > 0 {
		some := ids[:min(len(ids), followed)]
		ids = ids[len(some):]
		if err := x.take(changed, func(take Take) error { return r.ByID(space, some, take) }, nil); err != nil {
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
		record loci.Record
		codes  [][]byte
	}
	read := make(chan []loaded, 4)
	var indexing sync.WaitGroup
	var fault error // of memory: a segment that a record leaves was cut
	indexing.Go(func() {
		for batch := range read {
			if fault != nil {
				continue
			}
			fault, _ = files.Faultless(func() error {
				for i := range batch {
					x.index.Upsert(&batch[i].record, batch[i].codes)
				}
				if after != nil {
					after()
				}
				return nil
			})
		}
	})
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
	batch := make([]loaded, 0, most)
	err := query(func(record *loci.Record, namespace int64, vectors []byte) {
		delete(off, record.ID)
		record.Namespace = loci.NamespaceFromKey(x.names[namespace])
		batch = append(batch, loaded{*record, form.SplitVectors(vectors, dims)})
		if len(batch) == cap(batch) {
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

// loadShards makes sure that the shards of keys are there, and drops those that were not
// searched for longest while there is too much.
func (x *Index) loadShards(l *loading, r Source, keys []index.Key, budget int, m *meter.Meter) error {
	x.tick++
	var fresh []index.Key
	for _, key := range keys {
		x.used[key] = x.tick
		if !x.index.HasShard(key) {
			x.index.AddShard(key)
			fresh = append(fresh, key)
		}
	}
	if err := x.load(l, r, fresh); err != nil {
		return err
	}
	m.Loaded(len(fresh))
	for x.index.Passages() > budget {
		oldest, found := index.Key{}, false
		for key, at := range x.used {
			if at < x.tick && (!found || at < x.used[oldest]) {
				oldest, found = key, true
			}
		}
		if !found {
			return nil // all of it is needed at once
		}
		x.index.DropShard(oldest)
		m.Dropped(1)
		delete(x.used, oldest)
	}
	return nil
}

// load reads shards: what the database keeps of their indexes, and the records of which it
// keeps none.
func (x *Index) load(l *loading, r Source, fresh []index.Key) (err error) {
	if len(fresh) == 0 {
		return nil
	}
	rest := fresh
	if x.shelf != nil {
		l.r, l.keys = r.(ImageSource), map[Shard]index.Key{}
		if rest, err = x.takeImages(l, fresh); err != nil {
			return err
		}
	}
	for _, key := range rest {
		query := func(take Take) error { return r.ByShard(l.space, x.numbers[key.Namespace], key.Kind, take) }
		if err := x.take(nil, query, x.freezing(key)); err != nil {
			return err
		}
	}
	if x.shelf != nil {
		for _, key := range fresh {
			x.shelve(key, false)
		}
	}
	return nil
}
