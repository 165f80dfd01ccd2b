package mongo_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store/internal/follow/followtest"
	"github.com/loci-memory/loci/store/mongo"
)

// TestKeptIndex is what every store does that keeps its index in its database.
func TestKeptIndex(t *testing.T) {
	followtest.Run(t, followtest.Suite{
		New:   func(t *testing.T) followtest.Database { return kept(keptDatabase(t)) },
		Steps: 60,
	})
}

// keptDatabase is an empty one.
func keptDatabase(t *testing.T) string {
	t.Helper()
	at, giveBack := database(t)
	t.Cleanup(giveBack)
	return at
}

// openWith opens a database with options.
func openWith(t testing.TB, at string, opts *mongo.Options) *mongo.Store {
	t.Helper()
	s, err := mongo.Open(context.Background(), at, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	urls.Store(loci.Store(s), at)
	return s
}

// kept is the URL of a database in which the index is kept.
type kept string

func (d kept) Open(t *testing.T, o followtest.Options) followtest.Store {
	t.Helper()
	opts := &mongo.Options{IndexCache: o.Dir, IndexCacheSize: o.Size, Logger: slog.Default()}
	opts.Shelve(o.From, o.Book, true)
	if o.Forget {
		opts.Forget()
	}
	if o.Join > 0 {
		opts.Join(o.Join)
	}
	if o.Part > 0 {
		opts.Load(o.Part, nil)
	}
	return openWith(t, string(d), opts)
}

// with calls do with the database itself.
func (d kept) with(t *testing.T, do func(ctx context.Context, db *driver.Database) error) {
	t.Helper()
	if err := mongotest.Shared(t).With(nameOf(string(d)), do); err != nil {
		t.Fatal(err)
	}
}

// A piece is a document of a segment.
type piece struct {
	Segment bson.Binary `bson:"segment"`
	N       int64       `bson:"n"`
	Data    bson.Binary `bson:"data"`
}

func (d kept) Pieces(t *testing.T) (pieces []followtest.Piece) {
	t.Helper()
	var all []piece
	d.with(t, func(ctx context.Context, db *driver.Database) error {
		c, err := db.Collection("segment").Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		if err != nil {
			return err
		}
		return c.All(ctx, &all)
	})
	for _, p := range all {
		pieces = append(pieces, followtest.Piece{Segment: string(p.Segment.Data), N: p.N, Data: p.Data.Data})
	}
	return pieces
}

func named(segment string) bson.Binary { return bson.Binary{Data: []byte(segment)} }

func set(name string, value any) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{{Key: name, Value: value}}}}
}

func (d kept) SetData(t *testing.T, p *followtest.Piece) {
	t.Helper()
	d.with(t, func(ctx context.Context, db *driver.Database) error {
		which := bson.D{{Key: "segment", Value: named(p.Segment)}, {Key: "n", Value: p.N}}
		_, err := db.Collection("segment").UpdateOne(ctx, which, set("data", bson.Binary{Data: p.Data}))
		return err
	})
}

func (d kept) RemovePieces(t *testing.T, segment string) {
	t.Helper()
	which := bson.D{}
	if segment != "" {
		which = bson.D{{Key: "segment", Value: named(segment)}}
	}
	d.with(t, func(ctx context.Context, db *driver.Database) error {
		_, err := db.Collection("segment").DeleteMany(ctx, which)
		return err
	})
}

func (d kept) Age(t *testing.T, except string) {
	t.Helper()
	d.with(t, func(ctx context.Context, db *driver.Database) error {
		which := bson.D{{Key: "segment", Value: bson.D{{Key: "$ne", Value: named(except)}}}}
		_, err := db.Collection("segment").UpdateMany(ctx, which, set("made_at", time.Now().Add(-time.Hour)))
		return err
	})
}

func (d kept) EditImage(t *testing.T, edit func(string) string) {
	t.Helper()
	d.with(t, func(ctx context.Context, db *driver.Database) error {
		c, err := db.Collection("image").Find(ctx, bson.D{})
		var all []bson.Raw
		if err == nil {
			err = c.All(ctx, &all)
		}
		if err != nil || len(all) == 0 {
			return errors.Join(err, errors.New("there are no images"))
		}
		for _, raw := range all {
			_, value := raw.Lookup("value").Binary()
			one := bson.D{{Key: "_id", Value: raw.Lookup("_id")}}
			edited := bson.Binary{Data: []byte(edit(string(value)))}
			if _, err := db.Collection("image").UpdateOne(ctx, one, set("value", edited)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d kept) HideImages(t *testing.T) (show func(t *testing.T)) {
	t.Helper()
	var hidden []bson.Raw
	d.with(t, func(ctx context.Context, db *driver.Database) error {
		c, err := db.Collection("image").Find(ctx, bson.D{})
		if err == nil {
			err = c.All(ctx, &hidden)
		}
		_, gone := db.Collection("image").DeleteMany(ctx, bson.D{})
		return errors.Join(err, gone)
	})
	return func(t *testing.T) {
		t.Helper()
		d.with(t, func(ctx context.Context, db *driver.Database) (err error) {
			if len(hidden) > 0 {
				_, err = db.Collection("image").InsertMany(ctx, hidden)
			}
			return err
		})
	}
}

func (d kept) ForgetChanges(t *testing.T) {
	t.Helper()
	d.with(t, func(ctx context.Context, db *driver.Database) error {
		c, err := db.Collection("tenant").Find(ctx, bson.D{})
		var tenants []bson.M
		if err == nil {
			err = c.All(ctx, &tenants)
		}
		for _, tenant := range tenants {
			_, fault := db.Collection("tenant").UpdateOne(ctx, bson.D{{Key: "_id", Value: tenant["_id"]}}, set("floor", tenant["seq"]))
			err = errors.Join(err, fault)
		}
		_, gone := db.Collection("change").DeleteMany(ctx, bson.D{})
		return errors.Join(err, gone)
	})
}
