package mongo_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store/mongo"
)

// noted is a change that adds a memory.
func noted(id loci.ID) loci.Change {
	at := time.UnixMilli(1_800_000_000_000).UTC()
	place := loci.Namespace{"user", "ada"}
	return loci.Change{
		Put: []loci.Put{{Record: loci.Record{
			ID: id, Kind: loci.KindFact, Namespace: place, Version: 1, Live: true, CreatedAt: at, UpdatedAt: at, Text: "walrus",
			Passages: []loci.Span{{Start: 0, End: 6}},
		}}},
		Events: []loci.Event{{
			ID: loci.NewID(), Type: loci.EventCreated, Kind: loci.KindFact, Entity: id, Namespace: place, At: at,
			Actor: "tester",
		}},
	}
}

// own starts a server that the test may kill, with a database on it.
func own(t *testing.T, args ...string) (s *mongotest.Server, at string) {
	t.Helper()
	s, err := mongotest.Start(t.Context(), mongotest.Options{Own: true, Args: args})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s, s.At("loci_test")
}

// count is how many memories and events there are.
func count(t *testing.T, s loci.Store, tn loci.Tenant) (records, events int) {
	t.Helper()
	all := []loci.Namespace{{}}
	r, _, err := s.Records(t.Context(), tn, loci.Filter{Within: all}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	e, _, err := s.Events(t.Context(), tn, loci.EventFilter{Within: all}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err, errors.Unwrap(err))
	}
	return len(r), len(e)
}

// TestServerThatComesBack: what was acknowledged is there when the server was killed and
// started again, and a store that was open goes on.
func TestServerThatComesBack(t *testing.T) {
	server, at := own(t, "--sync-on-commit") // as a majority does that keeps a journal
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	s, tn := openAt(t, at), locitest.Tenant(t, "back")
	acknowledged := map[loci.ID]bool{}
	for round := range 3 {
		if round > 0 {
			if err := server.Crash(); err != nil {
				t.Fatal(err)
			}
			if err := server.Launch(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			id := loci.NewID()
			if err := s.Apply(t.Context(), tn, noted(id)); err != nil {
				t.Fatal(err)
			}
			acknowledged[id] = true
		}
		if records, events := count(t, s, tn); records != len(acknowledged) || events != len(acknowledged) {
			t.Fatalf("round %d: %d records and %d events; want %d", round, records, events, len(acknowledged))
		}
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: "walrus"}, loci.Filter{Within: []loci.Namespace{{}}}, 100)
		if err != nil || len(hits) != len(acknowledged) {
			t.Fatalf("round %d: %d hits, %v", round, len(hits), err)
		}
	}
}

// TestDatabasesThatAreRefused: opening says what is wrong with a server or a database, and
// what to do, without a password.
func TestDatabasesThatAreRefused(t *testing.T) {
	shared := mongotest.Shared(t)
	change := func(at string, do func(context.Context, *driver.Database) error) string {
		t.Helper()
		if err := shared.With(nameOf(at), do); err != nil {
			t.Fatal(err)
		}
		return at
	}
	setVersion := func(version any) func(context.Context, *driver.Database) error {
		return func(ctx context.Context, db *driver.Database) error {
			_, err := db.Collection("setting").UpdateOne(ctx,
				bson.D{{Key: "_id", Value: bson.Binary{Data: append(make([]byte, 16), "schema"...)}}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "value", Value: version}}}})
			return err
		}
	}
	migrated := func() string {
		at := shared.Database()
		if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
			t.Fatal(err)
		}
		return at
	}
	_, standalone := own(t, "--standalone")
	for name, c := range map[string]struct{ at, want string }{
		"no collections": {shared.Database(), "loci migrate"},
		"another program's": {change(shared.Database(), func(ctx context.Context, db *driver.Database) error {
			_, err := db.Collection("users").InsertOne(ctx, bson.D{{Key: "name", Value: "x"}})
			return err
		}), "another program"},
		"newer":            {change(migrated(), setVersion(int64(99))), "schema version 99 and this build knows up to 7: upgrade Loci"},
		"no version":       {change(migrated(), setVersion("x")), "does not say which schema"},
		"a server alone":   {standalone, "--replSet"},
		"nobody listens":   {"mongodb://ada:secret@127.0.0.1:1/loci?serverSelectionTimeoutMS=300", "does not answer"},
		"a URL of another": {"mongodb://ada:secret@127.0.0.1:1/loci?nothing=%ZZ", "cannot be read"},
	} {
		s, err := mongo.Open(t.Context(), c.at, nil)
		if err == nil {
			t.Errorf("%s is opened", name)
			_ = s.Close() // it should not be there
			continue
		}
		e := loci.AsError(err)
		if said := e.Error() + " " + e.Advice(); !strings.Contains(said, c.want) || strings.Contains(said, "secret") {
			t.Errorf("%s: %s; want %q", name, said, c.want)
		}
	}
}

// TestMigrateAgain: a dry run makes nothing, the first run makes everything, two runs at once
// make no more, and another run finds nothing to do.
func TestMigrateAgain(t *testing.T) {
	at := mongotest.Shared(t).Database()
	report, err := mongo.Migrate(t.Context(), at, true)
	if err != nil || report.From != 0 || report.To != 7 || len(report.Steps) != 7 {
		t.Fatalf("%+v, %v", report, err)
	}
	if _, err := mongo.Open(t.Context(), at, nil); err == nil {
		t.Fatal("a dry run made the collections")
	}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if report, err = mongo.Migrate(t.Context(), at, false); err != nil || report.From != 7 || len(report.Steps) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
