package follow

import (
	"bytes"
	"sync"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/form"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/meter"
)

// refresh brings the index to the tenant's present state and loads the shards a search
// needs, all in the one transaction.
func (x *Index) refresh(r Source, q *Search, budget int) error {
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
		x.reset(space, st)
	}
	number, dropped, err := r.Space(space)
	if err != nil {
		return err
	}
	if x.seq < dropped { // the space's vectors were removed, though their records stay
		x.reset(space, st)
	}
	if x.seq < st.Floor { // too far behind to follow: what was erased meanwhile is forgotten
		x.reset(space, st)
	}
	if err := x.learn(r, st, filter); err != nil {
		return err
	}
	if x.seq < st.Seq {
		if err := x.follow(r, number); err != nil {
			return err
		}
		x.seq = st.Seq
	}
	keys := x.known.Covered(filter)
	if p.Quick {
		if keys, err = x.quick(r, keys); err != nil {
			return err
		}
	}
	return x.loadShards(r, keys, number, budget, q.Meter)
}

// reset starts with an empty index of a space.
func (x *Index) reset(space loci.Space, st *batch.State) {
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
			x.index.Remove(key.Namespace, id)
		} else if x.index.HasShard(key) {
			changed[id] = key
		}
	}); err != nil {
		return err
	}
	ids := make([]loci.ID, 0, len(changed))
	for id := range changed {
		ids = append(ids, id)
	}
	for len(ids) > 0 {
		some := ids[:min(len(ids), followed)]
		ids = ids[len(some):]
		if err := x.take(changed, func(take Take) error { return r.ByID(space, some, take) }); err != nil {
			return err
		}
	}
	for id, key := range changed { // what cannot be found any more leaves
		gone := loci.Record{ID: id, Namespace: loci.NamespaceFromKey(key.Namespace), Kind: key.Kind}
		x.index.Upsert(&gone, nil)
	}
	return nil
}

// take reads records with their vectors into the index and strikes them off a list. Reading
// and indexing cost about the same, so each has a goroutine.
func (x *Index) take(off map[loci.ID]index.Key, query func(Take) error) error {
	dims := x.index.Space().Dims
	type loaded struct {
		record loci.Record
		codes  [][]byte
	}
	read := make(chan []loaded, 4)
	var indexing sync.WaitGroup
	indexing.Go(func() {
		for batch := range read {
			for i := range batch {
				x.index.Upsert(&batch[i].record, batch[i].codes)
			}
		}
	})
	batch := make([]loaded, 0, 256)
	err := query(func(record *loci.Record, namespace int64, vectors []byte) {
		delete(off, record.ID)
		record.Namespace = loci.NamespaceFromKey(x.names[namespace])
		batch = append(batch, loaded{*record, form.SplitVectors(vectors, dims)})
		if len(batch) == cap(batch) {
			read <- batch
			batch = make([]loaded, 0, 256)
		}
	})
	read <- batch
	close(read)
	indexing.Wait()
	return err
}

// loadShards makes sure that the shards of keys are there, and drops those that were not
// searched for longest while there is too much.
func (x *Index) loadShards(r Source, keys []index.Key, space int64, budget int, m *meter.Meter) error {
	x.tick++
	for _, key := range keys {
		x.used[key] = x.tick
		if x.index.HasShard(key) {
			continue
		}
		x.index.AddShard(key)
		query := func(take Take) error { return r.ByShard(space, x.numbers[key.Namespace], key.Kind, take) }
		if err := x.take(nil, query); err != nil {
			return err
		}
		m.Loaded(1)
	}
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
