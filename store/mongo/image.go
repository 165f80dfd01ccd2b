package mongo

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
)

// imageTable is where the database keeps images of the search index. It takes no turn in the
// tenant's writes: the counter stays as it is, and the tenant's document is locked for short.
type imageTable struct{ *Store }

// strayAge is how long nobody writes an image.
var strayAge = 10 * time.Minute

// imageID is the _id of the image of a shard.
func imageID(tenant []byte, s follow.Shard) bson.Binary {
	return keyed(tenant, number(s.Namespace), []byte(s.Kind))
}

// pieceID is the _id of a piece of a segment.
func pieceID(tenant []byte, name string, n int64) bson.Binary {
	return keyed(tenant, []byte(name), number(n))
}

// Images implements [follow.ImageSource].
func (r source) Images(of []follow.Shard, take func(*follow.Image)) error {
	filter := r.t.about()
	if of != nil {
		ids := make(bson.A, len(of))
		for i, s := range of {
			ids[i] = imageID(r.t.key, s)
		}
		filter = r.t.about(bson.E{Key: fID, Value: is("$in", ids)})
	}
	return r.find(cImage, filter, func(d *doc) error {
		var at follow.Shard
		if about := d.behind(); len(about) >= 8 {
			at = follow.Shard{Namespace: int64(binary.BigEndian.Uint64(about)), Kind: loci.Kind(about[8:])}
		}
		take(follow.ReadImage(at, d.bytes("mark"), d.bytes("value")))
		return nil
	}, options.Find().SetProjection(is("segments", 0)))
}

// Pieces implements [follow.ImageSource]: one query a segment, in the order of its _ids.
func (r source) Pieces(names []string, take func(string, []byte)) error {
	for _, name := range names {
		filter := r.t.about(bson.E{Key: fID, Value: bson.D{
			{Key: "$gte", Value: pieceID(r.t.key, name, 0)}, {Key: "$lte", Value: pieceID(r.t.key, name, math.MaxInt64)},
		}})
		if err := r.find(cSegment, filter, func(d *doc) error {
			take(name, d.bytes("data"))
			return nil
		}, options.Find().SetSort(is(fID, 1))); err != nil {
			return err
		}
	}
	return nil
}

// Erased implements [follow.ImageSource].
func (r source) Erased(since int64, take func(follow.Gone)) error {
	after := append(r.t.about(bson.E{Key: fID, Value: r.since(since)}), bson.E{Key: "gone", Value: true})
	return r.find(cChange, after, func(d *doc) error {
		at := follow.Shard{Namespace: d.int("namespace"), Kind: loci.Kind(d.string("kind"))}
		gone := follow.Gone{ID: d.id("id"), Shard: at}
		if about := d.behind(); len(about) >= 8 {
			gone.Seq = int64(binary.BigEndian.Uint64(about))
		}
		if d.err == nil {
			take(gone)
		}
		return nil
	})
}

// ByRange implements [follow.ImageSource].
func (r source) ByRange(space, namespace int64, kind loci.Kind, low, high loci.ID, take follow.Take) error {
	ids := bson.E{Key: fID, Value: bson.D{
		{Key: "$gte", Value: keyed(r.t.key, low[:])}, {Key: "$lte", Value: keyed(r.t.key, high[:])},
	}}
	if namespace == 0 {
		of := r.t.about(ids, bson.E{Key: "kind", Value: binaryOf(kind)})
		return r.load(append(of, searchable...), space, take)
	}
	return r.load(append(bson.D{ids}, r.shard(namespace, kind)...), space, take)
}

// ByShards implements [follow.ImageSource].
func (r source) ByShards(space int64, namespaces []int64, kind loci.Kind, take follow.Take) error {
	of := r.t.about(
		bson.E{Key: "namespace", Value: is("$in", namespaces)}, bson.E{Key: "kind", Value: binaryOf(kind)},
	)
	return r.load(append(of, searchable...), space, take)
}

// Counts implements [follow.ImageSource].
func (r source) Counts(namespaces []int64, take func(int64, loci.Kind, int64, int64)) (known bool, err error) {
	of := r.t.about(bson.E{Key: "live", Value: true})
	if namespaces != nil {
		of = append(of, bson.E{Key: "namespace", Value: is("$in", namespaces)})
	}
	if err := r.find(cTally, of, func(d *doc) error {
		key, n := tallyKey(d), amounts(d)
		if d.err == nil {
			take(key.Namespace, key.Kind, n.Searched, n.Bytes)
		}
		return nil
	}); err != nil {
		return false, err
	}
	came, known := r.state.Tallied(r.state.Seq)
	came.Shards(take)
	return known, nil
}

// Named implements [follow.ImageSource].
func (r source) Named(numbers []int64, take func(batch.Place)) error {
	for some := range slices.Chunk(numbers, namedAtOnce) { // a query has 16 MiB at most
		of := r.t.about(bson.E{Key: fID, Value: is("$in", r.t.places(some))})
		if err := r.find(cNamespace, of, func(d *doc) error {
			place := batch.Place{N: d.int("n"), Mark: loci.Mark(d.sorted("mark")), Named: d.has("key"), Key: d.sorted("key"),
				Kinds: batch.DecodeKinds(d.bytes("kinds"))}
			if d.err == nil {
				take(place)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// namedAtOnce is how many namespaces one query asks for.
const namedAtOnce = 10_000

// Within implements [follow.ImageSource].
func (r source) Within(marks []string, take func(mark, key string)) error {
	for _, mark := range marks {
		between := is("$gte", inOrder(mark))
		if end := batch.After(mark); end != "" { // else nothing sorts behind it
			between = append(between, bson.E{Key: "$lt", Value: inOrder(end)})
		}
		of := r.t.about(bson.E{Key: "mark", Value: between}, bson.E{Key: "key", Value: is("$exists", true)})
		if err := r.find(cNamespace, of, func(d *doc) error {
			if key := d.sorted("key"); d.err == nil {
				take(mark, key)
			}
			return nil
		}, options.Find().SetSort(is("mark", 1)).SetLimit(1)); err != nil {
			return err
		}
	}
	return nil
}

// Read implements [follow.Table].
func (s imageTable) Read(ctx context.Context, t loci.Tenant, do func(follow.ImageSource) error) error {
	return s.read(ctx, t, "look at the kept index", func(r *reading) error { return do(source{r}) })
}

// Put implements [follow.Table].
func (s imageTable) Put(
	ctx context.Context, t loci.Tenant, key loci.NameKey, name string, n int, pieces [][]byte,
) error {
	return s.change(ctx, "keep the index", t, func(x *changing) error {
		if err := x.lock(bson.E{Key: "name_key", Value: binaryOf(key)}); err != nil {
			return err
		}
		var models []mongo.WriteModel
		for i, piece := range pieces {
			id := pieceID(x.t.key, name, int64(n+i)) // it may be there, where an answer was lost
			models = append(models, mongo.NewUpdateOneModel().SetUpsert(true).
				SetFilter(x.t.about(bson.E{Key: fID, Value: id})).
				SetUpdate(bson.D{
					{Key: "$set", Value: bson.D{
						{Key: "segment", Value: binaryOf(name)}, {Key: "n", Value: int64(n + i)},
						{Key: "data", Value: bson.Binary{Data: piece}},
					}},
					{Key: "$currentDate", Value: is("made_at", true)},
				}))
		}
		_, err := s.db.Collection(cSegment).BulkWrite(x.in(x.ctx), models)
		return err
	})
}

// Replace implements [follow.Table].
func (s imageTable) Replace(
	ctx context.Context, t loci.Tenant, key loci.NameKey, old, next *follow.Image,
) error {
	return s.change(ctx, "keep the index", t, func(x *changing) error {
		same := []bson.E{{Key: "name_key", Value: binaryOf(key)}}
		if next != nil { // and the database has not gone back behind it
			same = append(same, bson.E{Key: "seq", Value: is("$gte", next.Seq)})
		}
		if err := x.lock(same...); err != nil {
			return err
		}
		images := s.db.Collection(cImage)
		if next == nil {
			gone, err := images.DeleteOne(x.in(x.ctx), x.image(old))
			if err == nil && gone.DeletedCount != 1 {
				err = follow.ErrMoved
			}
			return err
		}
		names, value, err := x.named(next)
		if err != nil {
			return err
		}
		about := bson.D{{Key: "mark", Value: binaryOf(next.Mark)}, {Key: "segments", Value: names}, {Key: "value", Value: value}}
		if old == nil {
			id := imageID(x.t.key, next.Shard)
			first := append(bson.D{{Key: fID, Value: id}, {Key: fTenant, Value: binaryOf(x.t.key)}}, about...)
			_, err := images.InsertOne(x.in(x.ctx), first)
			if hasCode(err, codeDuplicate) {
				err = follow.ErrMoved
			}
			return err
		}
		done, err := images.UpdateOne(x.in(x.ctx), x.image(old), is("$set", about))
		if err == nil && done.MatchedCount != 1 {
			err = follow.ErrMoved
		}
		return err
	})
}

// image is the filter for an image that nobody has replaced.
func (x *changing) image(m *follow.Image) bson.D {
	return x.t.about(bson.E{Key: fID, Value: imageID(x.t.key, m.Shard)}, bson.E{Key: "mark", Value: binaryOf(m.Mark)})
}

// named are the names of an image's segments, all of which must be there, and what it says.
func (x *changing) named(m *follow.Image) (names bson.A, value bson.Binary, err error) {
	data, err := m.Value()
	if err != nil {
		return nil, value, err
	}
	names = binaries(m.Names())
	firsts := make(bson.A, len(names))
	for i, name := range m.Names() {
		firsts[i] = pieceID(x.t.key, name, 0)
	}
	found := 0
	err = x.find(x.ctx, cSegment, x.t.about(bson.E{Key: fID, Value: is("$in", firsts)}), func(*doc) error {
		found++
		return nil
	}, options.Find().SetProjection(is(fID, 1)))
	if err == nil && found != len(names) {
		err = follow.ErrMoved
	}
	return names, binaryOf(data), err
}

// Remove implements [follow.Table]: a segment at a time, so that no write waits for long. It
// leaves those alone that an image names, whoever says that none does.
func (s imageTable) Remove(ctx context.Context, t loci.Tenant, names []string) error {
	for _, name := range names {
		err := s.change(ctx, "remove what is left of an index", t, func(x *changing) error {
			if err := x.lock(); errors.Is(err, follow.ErrMoved) {
				return nil // such a tenant never was
			} else if err != nil {
				return err
			}
			named := false
			where := x.t.about(bson.E{Key: "segments", Value: binaryOf(name)})
			if err := x.find(x.ctx, cImage, where, func(*doc) error {
				named = true
				return nil
			}, options.Find().SetLimit(1).SetProjection(is(fID, 1))); err != nil || named {
				return err
			}
			_, err := s.db.Collection(cSegment).DeleteMany(
				x.in(x.ctx), x.t.about(bson.E{Key: "segment", Value: binaryOf(name)}))
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Strays implements [follow.Table].
func (s imageTable) Strays(
	ctx context.Context, t loci.Tenant, named []string, take func(string, bool),
) error {
	type stray struct {
		name string
		old  bool
	}
	var found []stray
	err := s.read(ctx, t, "look for what is left of an index", func(r *reading) error {
		found = nil
		past := is("$add", bson.A{"$$NOW", -strayAge.Milliseconds()})
		return r.aggregate(cSegment, []bson.D{
			is("$match", r.t.about(bson.E{Key: "segment", Value: is("$nin", binaries(named))})),
			is("$group", bson.D{{Key: fID, Value: "$segment"}, {Key: "made_at", Value: is("$max", "$made_at")}}),
			is("$project", bson.D{{Key: "made_at", Value: 1}, {Key: "past", Value: past}}),
		}, func(d *doc) error {
			found = append(found, stray{d.string(fID), d.moment("made_at").Before(d.moment("past"))})
			return nil
		})
	})
	for _, f := range found {
		take(f.name, f.old)
	}
	return err
}

// changing is a transaction that changes what is kept of a tenant's index.
type changing struct {
	*trans
	ctx context.Context
	t   *tenant
}

// change runs do in a transaction, again if it has to. What was committed though its answer
// was lost is met again: then somebody was quicker.
func (s imageTable) change(ctx context.Context, op string, t loci.Tenant, do func(*changing) error) error {
	ctx, cancel := context.WithTimeout(ctx, stay)
	defer cancel()
	for n := 1; ; n++ {
		err := s.changeOnce(ctx, t, do)
		if errors.Is(err, follow.ErrMoved) {
			return follow.ErrMoved
		}
		if err == nil || ctx.Err() != nil || !pause(ctx, n, err) {
			return translate(op, err)
		}
	}
}

func (s imageTable) changeOnce(ctx context.Context, t loci.Tenant, do func(*changing) error) error {
	in, err := s.begin()
	if err != nil {
		return err
	}
	defer in.end(ctx)
	x := &changing{trans: in, ctx: ctx, t: &tenant{name: t, key: batch.KeyOf(t)}}
	if err := do(x); err != nil {
		return err
	}
	return x.commit(ctx)
}

// lock orders what is changed after the tenant's writes, as long as its document has some
// values: first, so that who is in somebody's way has sent little.
func (x *changing) lock(same ...bson.E) error {
	locked, err := x.s.db.Collection(cTenant).UpdateOne(
		x.in(x.ctx), append(x.t.self(), same...), is("$inc", is("looks", int64(1))))
	if err == nil && locked.MatchedCount != 1 {
		err = follow.ErrMoved
	}
	return err
}

// Pending says what waits to be taken out of the index that the database keeps, in sentences.
func (s *Store) Pending(ctx context.Context) ([]string, error) {
	return s.shelf.Pending(ctx, s.Tenants(ctx))
}
