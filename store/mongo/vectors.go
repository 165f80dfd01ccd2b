package mongo

import (
	"context"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// PutVectors implements [loci.VectorStore].
func (s *Store) PutVectors(ctx context.Context, name loci.Tenant, vectors []loci.RecordVectors) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	n, err := batch.NeedsOfVectors(vectors)
	if err != nil || len(vectors) == 0 {
		return err
	}
	return translate("put vectors", s.write(ctx, g, &job{Needs: n, Decide: func(x *tx) error {
		x.PutVectors(vectors)
		return nil
	}}))
}

// Unembedded implements [loci.VectorStore].
func (s *Store) Unembedded(
	ctx context.Context, t loci.Tenant, space loci.Space, after loci.ID, limit int,
) (out []loci.Record, err error) {
	err = s.read(ctx, t, "list records without vectors", func(r *reading) error {
		if limit < 1 {
			return loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
		}
		out = nil
		number, _, err := r.space(space)
		if err != nil {
			return err
		}
		if after.IsZero() { // upkeep asks after each write, and would look at every record
			var n loci.Counts
			all := loci.Filter{Within: []loci.Namespace{{}}, Space: space}
			if kept, err := r.keptCount(&all, number, &n); err != nil || kept && n.Unembedded == 0 {
				return err
			}
		}
		// No other tenant's _id is between its own.
		filter := r.t.about(bson.E{Key: fID, Value: bson.D{
			{Key: "$gt", Value: keyed(r.t.key, after[:])}, {Key: "$lte", Value: keyed(r.t.key, lastID)},
		}})
		opts := options.Find().SetSort(is(fID, 1)).SetLimit(int64(limit))
		out, err = r.page(append(filter, lacking(number)...), opts)
		return err
	})
	return out, err
}

// lastID is the last one that a record may have.
var lastID = []byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")

// space is the number of a vector space and the change counter at which vectors of it were
// removed alone; zero for none.
func (r *reading) space(space loci.Space) (number, dropped int64, err error) {
	filter := r.t.about(
		bson.E{Key: "model", Value: binaryOf(space.Model)}, bson.E{Key: "dims", Value: int64(space.Dims)},
	)
	err = r.find(cSpace, filter, func(d *doc) error {
		number, dropped = d.int("n"), d.int("dropped")
		return nil
	})
	return number, dropped, err
}

// spaces are all of a tenant, by their numbers.
func (r *reading) spaces() (map[int64]loci.Space, error) {
	spaces := map[int64]loci.Space{}
	return spaces, r.find(cSpace, r.t.about(), func(d *doc) error {
		spaces[d.int("n")] = loci.Space{Model: d.string("model"), Dims: int(d.int("dims"))}
		return nil
	})
}

// Spaces implements [loci.VectorStore].
func (s *Store) Spaces(ctx context.Context, t loci.Tenant) (spaces map[loci.Space]int64, err error) {
	err = s.read(ctx, t, "list spaces", func(r *reading) error {
		spaces = map[loci.Space]int64{}
		known, err := r.spaces()
		if err != nil {
			return err
		}
		if done, err := r.keptSpaces(known, spaces); done || err != nil {
			return err
		}
		group := bson.D{{Key: fID, Value: "$space"}, {Key: "records", Value: is("$sum", 1)}}
		return r.aggregate(cVector, []bson.D{is("$match", r.t.about()), is("$group", group)}, func(d *doc) error {
			spaces[known[d.int(fID)]] = d.int("records")
			return nil
		})
	})
	return spaces, err
}

// ActiveSpace implements [loci.VectorStore].
func (s *Store) ActiveSpace(ctx context.Context, t loci.Tenant) (space loci.Space, err error) {
	err = s.read(ctx, t, "read the active space", func(r *reading) error {
		known, err := r.spaces()
		space = known[r.state.Active]
		return err
	})
	return space, err
}

// SwitchSpace implements [loci.VectorStore].
func (s *Store) SwitchSpace(ctx context.Context, name loci.Tenant, from, to loci.Space, lack int64) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	if err := to.Validate(); err != nil {
		return err
	}
	j := &job{Needs: batch.Needs{Spaces: true}, Decide: func(x *tx) error {
		if active := x.Active(); active != from {
			return loci.Errorf(loci.Conflict, "the active space is %s, not %s", active, from)
		}
		var n int64
		if err := x.now(func(ctx context.Context) (err error) {
			n, err = s.db.Collection(cRecord).CountDocuments(ctx, x.t.about(lacking(x.Spaces[to])...))
			return err
		}); err != nil {
			return err
		}
		if n > lack {
			return loci.Errorf(loci.Conflict, "%d memories have no vectors in %s", n, to)
		}
		x.State.Active = x.Number(to)
		return nil
	}}
	return translate("switch space", s.write(ctx, g, j))
}

// DropVectors implements [loci.VectorStore].
func (s *Store) DropVectors(ctx context.Context, name loci.Tenant, space loci.Space, limit int) (int, error) {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return 0, err
	}
	defer s.lobby.Leave(g)
	if limit < 1 {
		return 0, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	dropped := 0
	j := &job{Needs: batch.Needs{Spaces: true}, Decide: func(x *tx) error {
		dropped = 0
		n, ok := x.Spaces[space]
		if !ok {
			return nil
		}
		if n == x.State.Active {
			return loci.Errorf(loci.Conflict, "%s is the active space", space)
		}
		var ids []loci.ID
		if err := x.now(func(context.Context) error {
			return x.find(x.ctx, cVector, x.t.about(bson.E{Key: "space", Value: n}), func(d *doc) error {
				ids = append(ids, d.id("record"))
				return nil
			}, options.Find().SetLimit(int64(limit)).SetProjection(is("record", 1)))
		}); err != nil || len(ids) == 0 {
			return err
		}
		if err := x.unvectored(ids, n); err != nil {
			return err
		}
		dropped = len(ids)
		gone := make(bson.A, len(ids))
		for i, id := range ids {
			gone[i] = keyed(x.t.key, id[:], number(n))
		}
		x.delete(cVector, bson.E{Key: fID, Value: is("$in", gone)})
		x.changeAll(cRecord, is("$pull", is("spaces", n)), bson.E{Key: fID, Value: is("$in", keysOf(x.t.key, ids))})
		// The records stay as they are: no index of another space need look at them.
		x.change(cSpace, keyed(x.t.key, number(n)), is("$set", is("dropped", x.State.Seq)))
		return nil
	}}
	err = s.write(ctx, g, j)
	return dropped, translate("drop vectors", err)
}

// unvectored takes vectors in a space off the kept counts.
func (x *tx) unvectored(ids []loci.ID, space int64) error {
	gone := batch.Tallies{}
	err := x.find(x.ctx, cRecord, x.t.about(bson.E{Key: fID, Value: is("$in", keysOf(x.t.key, ids))}), func(d *doc) error {
		of := batch.Amounts{Records: -1}
		if d.bool("live") && d.int("passage_count") > 0 {
			of.Searched = -1
		}
		gone.Add(batch.TallyKey{Namespace: d.int("namespace"), Kind: loci.Kind(d.string("kind")), Space: space}, of)
		x.Unvectored(d.recordID(), space)
		return nil
	}, options.Find().SetProjection(bson.D{
		{Key: "namespace", Value: 1}, {Key: "kind", Value: 1}, {Key: "live", Value: 1}, {Key: "passage_count", Value: 1},
	}))
	x.Tally(gone)
	return err
}

// eraseAtOnce is how many documents of a tenant one transaction erases. It is a variable for
// tests, whose tenants are small.
var eraseAtOnce = 5000

// EraseTenant implements [loci.Store]. Its document stays, without a name: what other servers
// remember of it goes by that. One that holds much is erased in steps, each a transaction.
func (s *Store) EraseTenant(ctx context.Context, name loci.Tenant) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	there := false
	if err := s.read(ctx, name, "erase tenant", func(r *reading) error {
		err := r.glance()
		there = r.state.There
		return err
	}); err != nil || !there {
		return err
	}
	defer s.shelf.Tidy(name) // copies of what was kept of its index
	for more := true; more; {
		if err := ctx.Err(); err != nil {
			return loci.AsError(err)
		}
		j := &job{Decide: func(x *tx) (err error) {
			more, err = x.eraseSome()
			return err
		}, Time: eraseTime}
		if err := s.write(ctx, g, j); err != nil {
			return translate("erase tenant", err)
		}
	}
	return nil
}

// eraseSome erases a part of the tenant's documents; more: there are others. When there are
// none the tenant begins again.
func (x *tx) eraseSome() (more bool, err error) {
	left := eraseAtOnce
	err = x.now(func(context.Context) error {
		for _, collection := range tenantCollections {
			var ids bson.A
			if err := x.find(x.ctx, collection, x.t.about(), func(d *doc) error {
				ids = append(ids, bson.Binary{Data: append([]byte(nil), d.bytes(fID)...)})
				return nil
			}, options.Find().SetLimit(int64(left)).SetProjection(is(fID, 1))); err != nil {
				return err
			}
			if len(ids) > 0 {
				x.delete(collection, bson.E{Key: fID, Value: is("$in", ids)})
			}
			if left -= len(ids); left == 0 {
				more = true
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if more {
		x.State.Floor = x.State.Seq // whoever followed begins again
		x.Uncounted()
		return true, nil
	}
	x.Forget()
	return false, nil
}
