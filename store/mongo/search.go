package mongo

import (
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/internal/meter"
)

// Match implements [loci.RecordLister].
func (s *Store) Match(
	ctx context.Context, name loci.Tenant, p loci.Probe, filter loci.Filter, limit int,
) (hits []loci.Hit, err error) {
	q := s.searchFor(ctx, name, p, filter, limit)
	hits, err = follow.Find(ctx, &s.lobby, searchOf, q, func(t *tenant, _ func()) (batch.State, error) {
		return s.look(ctx, t)
	})
	return hits, translate("search", err)
}

// searchFor is what a search asks of the index of its tenant.
func (s *Store) searchFor(
	ctx context.Context, name loci.Tenant, p loci.Probe, filter loci.Filter, limit int,
) *follow.Search {
	filter.NotLive = false
	load := func(ids []loci.ID) ([]loci.Record, error) { return s.recordsOf(ctx, name, ids) }
	q := &follow.Search{
		Probe: p, Filter: filter, Limit: limit, Load: load, Meter: &s.meter, Tenant: name, Shelf: s.shelf,
	}
	q.Crew, q.Budget = s.crew, s.opts.IndexMemory
	q.Read = func(ctx context.Context, do func(follow.Source) error) error {
		return s.read(ctx, name, "search", func(r *reading) error { return do(source{r}) })
	}
	q.Trim, q.Stale, q.Clock = s.trim, s.opts.MaxStaleness, s.opts.clock
	return q
}

func searchOf(t *tenant) *follow.Index { return &t.search }

// takeMuch takes in what this process has committed, beside the calls that follow.
func (s *Store) takeMuch(t *tenant) {
	t.search.TakeMuch(s.readerOf(t.name))
}

// readerOf is how to read a tenant for its index, though nobody searches.
func (s *Store) readerOf(t loci.Tenant) *follow.Search {
	return s.searchFor(context.Background(), t, loci.Probe{}, loci.Filter{}, 1)
}

// KeepIndex keeps the search index of what this process has written of a tenant, as far as it is large, and returns
// when that is done, or left to a search.
func (s *Store) KeepIndex(ctx context.Context, t loci.Tenant) error {
	g, err := s.lobby.Enter(ctx, t)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return g.Of.search.KeepNow(ctx, func() *follow.Search { return s.readerOf(t) })
}

// look reads the document of a tenant, with no transaction.
func (s *Store) look(ctx context.Context, t *tenant) (st batch.State, err error) {
	err = again(ctx, func() error {
		return s.readOnce(ctx, t, func(r *reading) error {
			err := r.glance()
			st = r.state
			return err
		})
	})
	return st, interrupted("search", err)
}

// recordsOf reads records in full, for filters on what the index does not hold.
func (s *Store) recordsOf(ctx context.Context, t loci.Tenant, ids []loci.ID) (records []loci.Record, err error) {
	all := loci.Filter{Within: []loci.Namespace{{}}, IDs: ids}
	err = s.read(ctx, t, "search", func(r *reading) error {
		records = nil
		return r.each(&all, func(record *loci.Record) { records = append(records, *record) })
	})
	return records, err
}

// trim makes room while the process holds too much ([aside.Claims]). The tenant at hand keeps
// what its searches need. It returns how many bytes are held then.
func (s *Store) trim(at *follow.Index) int64 {
	return follow.Trim(at, s.opts.IndexMemory, &s.meter, func(do func(*follow.Index, time.Time)) {
		s.lobby.Each(func(t *tenant, used time.Time) { do(&t.search, used) })
	})
}

// Work says what the store has done by itself, and what its index takes.
func (s *Store) Work() meter.Work {
	w := s.meter.Work()
	s.lobby.Each(func(t *tenant, _ time.Time) { w.IndexBytes += t.search.Bytes() })
	w.IndexLimit = s.opts.IndexMemory
	return w
}

// source is what the index of a tenant follows.
type source struct{ *reading }

// State implements [follow.Source].
func (r source) State() (*batch.State, error) { return &r.state, r.start() }

// Space implements [follow.Source].
func (r source) Space(space loci.Space) (number, dropped int64, err error) { return r.space(space) }

// Spaces implements [follow.Source].
func (r source) Spaces() (map[int64]loci.Space, error) { return r.spaces() }

// Places implements [follow.Source].
func (r source) Places(since int64, below []string, take func(batch.Place)) error {
	found := func(d *doc) error {
		place := batch.Place{N: d.int("n"), Key: d.sorted("key"), Kinds: batch.DecodeKinds(d.bytes("kinds"))}
		if d.err == nil {
			take(place)
		}
		return nil
	}
	if since >= 0 {
		changed := r.t.about(
			bson.E{Key: "changed", Value: is("$gt", since)}, bson.E{Key: "key", Value: is("$exists", true)},
		)
		if err := r.find(cNamespace, changed, found); err != nil {
			return err
		}
	}
	for _, key := range below {
		if err := r.find(cNamespace, r.t.about(bson.E{Key: "key", Value: atOrBelow(key)}), found); err != nil {
			return err
		}
	}
	return nil
}

// searchable is what a record must be to be in the index.
var searchable = bson.D{{Key: "live", Value: true}, {Key: "passage_count", Value: is("$gt", int64(0))}}

func (r source) shard(namespace int64, kind loci.Kind) bson.D {
	return append(r.t.about(
		bson.E{Key: "namespace", Value: namespace}, bson.E{Key: "kind", Value: binaryOf(kind)},
	), searchable...)
}

// CountShard implements [follow.Source].
func (r source) CountShard(namespace int64, kind loci.Kind, limit int) (records int64, err error) {
	err = r.aggregate(cRecord, []bson.D{
		is("$match", r.shard(namespace, kind)), is("$limit", limit),
		is("$group", bson.D{{Key: fID, Value: nil}, {Key: "n", Value: is("$sum", 1)}}),
	}, func(d *doc) error {
		records = d.int("n")
		return nil
	})
	return records, err
}

// Changes implements [follow.Source].
func (r source) Changes(since int64, take func(loci.ID, int64, loci.Kind, bool)) error {
	after := r.t.about(bson.E{Key: fID, Value: r.since(since)})
	return r.find(cChange, after, func(d *doc) error {
		id, place, kind, gone := d.id("id"), d.int("namespace"), loci.Kind(d.string("kind")), d.bool("gone")
		if d.err == nil {
			take(id, place, kind, gone)
		}
		return nil
	}, options.Find().SetSort(is(fID, 1)))
}

// since are the _ids of changes since a counter.
func (r source) since(seq int64) bson.D {
	return bson.D{
		{Key: "$gte", Value: keyed(r.t.key, number(seq+1), make([]byte, 17))},
		{Key: "$lte", Value: keyed(r.t.key, number(r.state.Seq), []byte{255}, lastID)},
	}
}

// ByID implements [follow.Source].
func (r source) ByID(space int64, ids []loci.ID, take follow.Take) error {
	filter := r.t.about(bson.E{Key: fID, Value: is("$in", keysOf(r.t.key, ids))})
	return r.load(append(filter, searchable...), space, take)
}

// ByShard implements [follow.Source].
func (r source) ByShard(
	space, namespace int64, kind loci.Kind, after loci.ID, limit int, take follow.Take,
) error {
	ids := bson.E{Key: fID, Value: bson.D{
		{Key: "$gt", Value: keyed(r.t.key, after[:])}, {Key: "$lte", Value: keyed(r.t.key, lastID)},
	}}
	some := options.Find().SetLimit(int64(limit)).SetSort(is(fID, 1))
	return r.load(append(bson.D{ids}, r.shard(namespace, kind)...), space, take, some)
}

// loadedAtOnce is how many records are read before their vectors are.
const loadedAtOnce = 500

// load reads records, and their vectors behind them.
func (r source) load(
	filter bson.D, space int64, take follow.Take, opts ...options.Lister[options.FindOptions],
) error {
	var some []loci.Record
	var places []int64
	var cut []int
	flush := func() error {
		if err := r.complete(some, cut); err != nil {
			return err
		}
		vectors := make(map[loci.ID][]byte, len(some))
		keys := make(bson.A, len(some))
		for i := range some {
			keys[i] = keyed(r.t.key, some[i].ID[:], number(space))
		}
		if len(some) > 0 && space != 0 {
			if err := r.find(cVector, r.t.about(bson.E{Key: fID, Value: is("$in", keys)}), func(d *doc) error {
				vectors[d.id("record")] = append([]byte(nil), d.bytes("data")...)
				return nil
			}); err != nil {
				return err
			}
		}
		for i := range some {
			take(&some[i], places[i], vectors[some[i].ID])
		}
		some, places, cut = nil, nil, nil
		return nil
	}
	if err := r.find(cRecord, filter, func(d *doc) error {
		record, place, err := d.record()
		if err != nil {
			return err
		}
		if d.bool("pieces") {
			cut = append(cut, len(some))
		}
		if some, places = append(some, record), append(places, place); len(some) == loadedAtOnce {
			return flush()
		}
		return nil
	}, opts...); err != nil {
		return err
	}
	return flush()
}
