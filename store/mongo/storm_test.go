package mongo_test

import (
	"context"
	"os"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store/mongo"
)

// openChild opens the store of a server of the storm.
func openChild(ctx context.Context, url string) (loci.Store, error) { return mongo.Open(ctx, url, nil) }

// newStorm is one over a server of its own, or a database of the one that was given: servers
// that were killed hold locks in it until their transactions end, else for a minute each.
func newStorm(t *testing.T, unlocked bool) *storm.Storm {
	t.Helper()
	server, err := mongotest.Start(t.Context(), mongotest.Options{Unfinished: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	at := server.Database()
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	return &storm.Storm{
		URL: at, Unlocked: unlocked, Nodes: []loci.Store{openAt(t, at)}, Life: 2 * time.Second,
		Ended: func(t *testing.T) {
			t.Helper()
			if err := server.Patient(); err != nil {
				t.Error(err)
			}
		},
		Gaps: func(t *testing.T, tn loci.Tenant) (changes, events int64) {
			t.Helper()
			if err := server.With(nameOf(at), func(ctx context.Context, db *driver.Database) (err error) {
				changes, events, err = gaps(ctx, db, tn)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return changes, events
		},
	}
}

// gaps counts what is missing below the counters of a tenant.
func gaps(ctx context.Context, db *driver.Database, tn loci.Tenant) (changes, events int64, err error) {
	key := bson.Binary{Data: mongo.KeyOf(tn)}
	mine := bson.D{{Key: "t", Value: key}}
	var counters struct {
		Seq    int64 `bson:"seq"`
		Events int64 `bson:"events"`
	}
	if err := db.Collection("tenant").FindOne(ctx, bson.D{{Key: "_id", Value: key}}).Decode(&counters); err != nil {
		return 0, 0, err
	}
	seqs := map[string]bool{} // those of changes stand behind the tenant in the _id
	rows, err := db.Collection("change").Find(ctx, mine)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = rows.Close(ctx) }()
	for rows.Next(ctx) {
		_, id := rows.Current.Lookup("_id").Binary()
		seqs[string(id[16:24])] = true
	}
	n, err := db.Collection("event").CountDocuments(ctx, mine)
	return counters.Seq - int64(len(seqs)), counters.Events - n, err
}

// Four servers are killed at random while 32 clients write to one tenant and to twenty: no
// acknowledged write is lost, counters have no gap, chains verify, and the next search on
// another server finds each write.
func TestStormOfKilledServersLosesNothing(t *testing.T) {
	w := newStorm(t, false)
	if os.Getenv("LOCI_LONG") == "" {
		w.Writes, w.Looks = 20, 25
		w.Rage(t, 25*time.Second)
		w.Calm(t)
		return
	}
	w.Writes, w.Looks = 1000, 100_000
	for range 3 {
		w.Nodes = append(w.Nodes, openAt(t, w.URL))
	}
	w.Rage(t, 5*time.Minute)
	w.Calm(t)
}

// The storm notices a build whose writes do not raise the tenant's counter first.
func TestStormNoticesAMissingLock(t *testing.T) {
	w := newStorm(t, true)
	w.Writes = 20
	w.Rage(t, 15*time.Second)
	w.Noticed(t)
}
