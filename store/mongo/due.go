package mongo

import (
	"context"
	"errors"
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/upkeep"
)

// upkeepTable is what the database says about tenants and leases.
type upkeepTable struct{ *Store }

// leaseTime is how long a tenant is left to a server that has gone.
var leaseTime = time.Minute

// maintain runs what is about no tenant in particular, again if it has to.
func (s *Store) maintain(ctx context.Context, op string, do func() error) error {
	g, err := s.lobby.EnterAlone(ctx)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return translate(op, again(ctx, do))
}

// listing is the filter and the order of a list of tenants.
func listing(after upkeep.Place, until *int64) (filter, by bson.D) {
	later := bson.E{Key: "name", Value: is("$gt", after.Name)}
	if until == nil {
		return bson.D{later}, is("name", 1)
	}
	return bson.D{ // who has waited longest is seen to first
		{Key: "due_at", Value: bson.D{{Key: "$gte", Value: after.At}, {Key: "$lte", Value: *until}}},
		{Key: "name", Value: is("$exists", true)},
		{Key: "$or", Value: []bson.D{
			{{Key: "due_at", Value: is("$gt", after.At)}}, {{Key: "due_at", Value: after.At}, later},
		}},
	}, bson.D{{Key: "due_at", Value: 1}, {Key: "name", Value: 1}}
}

// ListTenants implements [upkeep.Table].
func (s upkeepTable) ListTenants(
	ctx context.Context, after upkeep.Place, until *int64, limit int,
) (found []upkeep.Place, err error) {
	filter, by := listing(after, until)
	err = s.maintain(ctx, "list tenants", func() error {
		found = nil
		c, err := s.db.Collection(cTenant).Find(ctx, filter, options.Find().SetSort(by).SetLimit(int64(limit)).
			SetProjection(bson.D{{Key: "name", Value: 1}, {Key: "due_at", Value: 1}}))
		return each(ctx, c, err, func(d *doc) error {
			found = append(found, upkeep.Place{Name: d.text("name"), At: d.int("due_at")})
			return nil
		})
	})
	return found, err
}

// leaseOf is the _id of a lease.
func leaseOf(about []byte) bson.Binary { return keyed(system.key, about) }

// take takes a lease, by the clock of the database: servers do not agree on theirs.
func (s *Store) take(ctx context.Context, about []byte, d time.Duration) (taken bool, err error) {
	mine := is("$eq", bson.A{"$owner", binaryOf(s.owner)})
	free := bson.D{
		{Key: fID, Value: leaseOf(about)},
		{Key: "$expr", Value: is("$or", bson.A{mine, is("$lte", bson.A{"$until", "$$NOW"})})},
	}
	_, err = s.db.Collection(cLease).UpdateOne(ctx, free, []bson.D{is("$set", bson.D{
		{Key: fTenant, Value: binaryOf(system.key)}, {Key: "owner", Value: binaryOf(s.owner)},
		{Key: "until", Value: is("$add", bson.A{"$$NOW", d.Milliseconds()})},
	})}, options.UpdateOne().SetUpsert(true))
	if hasCode(err, codeDuplicate) {
		return false, nil // it is there, and another one's
	}
	return err == nil, err
}

// giveBack ends a lease of ours.
func (s *Store) giveBack(ctx context.Context, about []byte) error {
	_, err := s.db.Collection(cLease).DeleteOne(
		ctx, bson.D{{Key: fID, Value: leaseOf(about)}, {Key: "owner", Value: binaryOf(s.owner)}})
	return err
}

// Lease implements [upkeep.Table].
func (s upkeepTable) Lease(ctx context.Context, name loci.Tenant, until int64) (seq int64, err error) {
	t := newTenant(name)
	err = s.maintain(ctx, "take a tenant for upkeep", func() error {
		seq = -1
		taken, err := s.take(ctx, t.key, leaseTime)
		if err != nil || !taken {
			return err
		}
		due := append(t.self(), bson.E{Key: "name", Value: is("$exists", true)})
		if until != math.MaxInt64 {
			due = append(due, bson.E{Key: "due_at", Value: is("$lte", until)})
		}
		raw, err := s.db.Collection(cTenant).FindOne(ctx, due).Raw()
		if errors.Is(err, mongo.ErrNoDocuments) {
			return s.giveBack(ctx, t.key)
		}
		if err == nil {
			d := doc{raw: raw}
			seq, err = d.int("seq"), d.err
		}
		return err
	})
	return seq, err
}

// Renew implements [upkeep.Table].
func (s upkeepTable) Renew(ctx context.Context, name loci.Tenant) error {
	return s.maintain(ctx, "keep a tenant for upkeep", func() error {
		_, err := s.take(ctx, batch.KeyOf(name), leaseTime)
		return err
	})
}

// Release implements [upkeep.Table].
func (s upkeepTable) Release(ctx context.Context, name loci.Tenant, seq int64, done bool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	t := newTenant(name)
	return s.maintain(ctx, "note that upkeep is done", func() error {
		if done {
			if err := s.noteDone(ctx, t, seq); err != nil {
				return err
			}
		}
		return s.giveBack(ctx, t.key)
	})
}

// noteDone says when a tenant has something to do again, unless it was written to.
func (s *Store) noteDone(ctx context.Context, t *tenant, seq int64) error {
	due := int64(math.MaxInt64)
	for _, field := range []string{"expires_at", "due_at"} {
		filter := t.about(bson.E{Key: field, Value: is("$exists", true)})
		raw, err := s.db.Collection(cRecord).FindOne(
			ctx, filter, options.FindOne().SetSort(up(fTenant, field)).SetProjection(is(field, 1))).Raw()
		switch {
		case errors.Is(err, mongo.ErrNoDocuments):
		case err != nil:
			return err
		default:
			d := doc{raw: raw}
			due = min(due, d.int(field))
		}
	}
	update := is("$set", is("due_at", due))
	if due == math.MaxInt64 {
		update = is("$unset", is("due_at", ""))
	}
	unchanged := append(t.self(), bson.E{Key: "seq", Value: seq}, bson.E{Key: "name", Value: is("$exists", true)})
	_, err := s.db.Collection(cTenant).UpdateOne(ctx, unchanged, update)
	return err
}
