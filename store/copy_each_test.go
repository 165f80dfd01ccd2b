package store_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store"
)

// emptyStores are URLs of stores that hold nothing.
var emptyStores = map[string]func(t testing.TB) string{
	"sqlite": func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "x") },
	"file":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "one.db") },
	"postgres": func(t testing.TB) string {
		return emptyDatabase(t).Server
	},
	"mongo": func(t testing.TB) string {
		at := mongotest.Shared(t).Database()
		_, err := store.Migrate(t.Context(), at, store.Migration{})
		must(t, err)
		return at
	},
}

func openStore(t *testing.T, url string) loci.Store {
	t.Helper()
	s, err := store.Open(t.Context(), url, nil)
	must(t, err)
	return s
}

func isConflict(err error) bool { return err != nil && loci.AsError(err).Code == loci.Conflict }

// said is all that the store of a URL says of tenants.
func said(t *testing.T, url string, tenants ...loci.Tenant) (out [][]any) {
	t.Helper()
	s := openStore(t, url)
	for _, tn := range tenants {
		out = append(out, seen(t, s, tn))
	}
	must(t, s.Close())
	return out
}

// tie adds links of one moment whose types differ in length, one that is erased again, and a
// memory above all namespaces.
func tie(t *testing.T, s loci.Store, tn loci.Tenant) {
	t.Helper()
	records, _, err := s.Records(t.Context(), tn, loci.Filter{Within: everywhere, NotLive: true}, loci.Page{Limit: 3})
	must(t, err)
	at := time.UnixMilli(1_800_000_000_000).UTC()
	from, to, gone := records[0].ID, records[1].ID, records[2]
	must(t, s.Apply(t.Context(), tn, loci.Change{Links: []loci.Link{
		{From: from, Type: loci.LinkSupports, To: to, At: at}, {From: from, Type: loci.LinkSupersedes, To: to, At: at},
		{From: gone.ID, Type: loci.LinkSupports, To: to, At: at},
	}}))
	must(t, s.Apply(t.Context(), tn, loci.Change{
		Erase: []loci.Erase{{ID: gone.ID, Version: gone.Version}}, Events: []loci.Event{{
			ID: loci.NewID(), Type: loci.EventErased, Kind: gone.Kind, Entity: gone.ID, Namespace: gone.Namespace,
			At: at, Actor: "tester",
		}},
	}))
	must(t, s.Apply(t.Context(), tn, loci.Change{Put: []loci.Put{{Record: loci.Record{
		ID: loci.NewID(), Kind: loci.KindFact, Version: 1, Live: true, CreatedAt: at, UpdatedAt: at, Text: "at the root",
		Passages: []loci.Span{{Start: 0, End: 11}}, Body: json.RawMessage(`{"validity":"active"}`), Status: "active",
	}}}}))
}

// TestCopiesBetweenAllStores: what goes from store to store and back says the same
// everywhere, links of one moment in the same order, and lives on at its end.
func TestCopiesBetweenAllStores(t *testing.T) {
	locitest.Unshared(t)
	defer store.SmallSteps(7)()
	// Each kind is copied from and to; every pair of them, where there is time.
	ways := []string{"mongo postgres sqlite mongo", "postgres file mongo file"}
	for _, way := range append(ways, []string{"sqlite postgres mongo", "mongo sqlite"}[:locitest.Long(0, 2)]...) {
		t.Run(way, func(t *testing.T) {
			stops := strings.Fields(way)
			tenants := []loci.Tenant{loci.SystemTenant(), locitest.Tenant(t, "default")}
			if !strings.Contains(way, "file") {
				tenants = append(tenants, locitest.Tenant(t, "Ada / ü"))
			}
			from := emptyStores[stops[0]](t)
			s := openStore(t, from)
			for i, tn := range tenants {
				fill(t, s, tn, 5+5*i)
				tie(t, s, tn)
			}
			must(t, s.Close())
			want := said(t, from, tenants...)
			for _, stop := range stops[1:] {
				to := emptyStores[stop](t)
				var names []string
				must(t, store.Copy(t.Context(), from, to, nil, func(r store.CopyReport) error {
					names = append(names, r.Tenant)
					return nil
				}))
				if len(names) != len(tenants) {
					t.Fatalf("%s: copied %q", stop, names)
				}
				if diff := cmp.Diff(want, said(t, to, tenants...)); diff != "" {
					t.Fatalf("the copy in %s differs (-source +copy):\n%s", stop, diff)
				}
				from = to
			}
			livesOn(t, from, tenants[1])
		})
	}
}

// TestCopyOfWhatIsAboveAll: SQLite has no part of the key that is empty.
func TestCopyOfWhatIsAboveAll(t *testing.T) {
	from, to, tn := emptyStores["sqlite"](t), emptyStores["file"](t), locitest.Tenant(t, "default")
	s := openStore(t, from)
	fill(t, s, tn, 5)
	tie(t, s, tn)
	must(t, s.Close())
	must(t, store.Copy(t.Context(), from, to, nil, func(store.CopyReport) error { return nil }))
	if diff := cmp.Diff(said(t, from, tn), said(t, to, tn)); diff != "" {
		t.Errorf("the copy differs (-source +copy):\n%s", diff)
	}
}

// livesOn requires that a copy can be written to, and that its log stays true.
func livesOn(t *testing.T, url string, tn loci.Tenant) {
	t.Helper()
	s := openStore(t, url)
	fill(t, s, tn, 4)
	report, err := locitest.NewEngine(t, s, loci.Options{}).VerifyEvents(t.Context(), tn, loci.Hash{})
	if err != nil || len(report.Problems) > 0 {
		t.Errorf("the log of a copy that went on: %+v, %v", report, err)
	}
	if found, err := s.Check(t.Context(), tn); err != nil || len(found) > 0 {
		t.Errorf("a copy that went on: %v, %v", found, err)
	}
	must(t, s.Close())
}

// TestCopiesThatStopAnywhereGoOn: wherever a copy stops, nobody sees a part of it, and the
// next one goes on; what was begun from another state of the source begins again.
func TestCopiesThatStopAnywhereGoOn(t *testing.T) {
	locitest.Unshared(t)
	defer store.SmallSteps(3)()
	for _, kind := range []string{"sqlite", "file", "postgres", "mongo"} {
		t.Run(kind, func(t *testing.T) {
			from, to, tn := emptyStores["file"](t), emptyStores[kind](t), locitest.Tenant(t, "default")
			s := openStore(t, from)
			fill(t, s, tn, 8)
			must(t, s.Close())
			n, resumed := 0, false
			done := func(r store.CopyReport) error {
				resumed = r.Resumed
				return nil
			}
			for ; ; n++ {
				if n == 9 { // the source goes on meanwhile
					s := openStore(t, from)
					fill(t, s, tn, 1)
					must(t, s.Close())
				}
				err := store.CopyUntil(t.Context(), from, to, 2, done) // each begins where the one before stopped
				if !errors.Is(err, store.ErrStopped) {
					t.Fatalf("after %d stops: %v", n, err)
				}
				s := openStore(t, to)
				holds := 0
				for there, err := range s.Tenants(t.Context()) {
					must(t, err)
					if there != tn {
						t.Errorf("there is a tenant %v", there)
					}
					holds++
				}
				must(t, s.Close())
				if holds > 0 {
					break // it was whole, and stopped while it was verified
				}
			}
			if n < 20 {
				t.Errorf("it was whole after %d stops: that is not anywhere", n)
			}
			must(t, store.Copy(t.Context(), from, to, nil, done))
			if !resumed {
				t.Error("it began again")
			}
			if diff := cmp.Diff(said(t, from, tn), said(t, to, tn)); diff != "" {
				t.Errorf("the copy differs (-source +copy):\n%s", diff)
			}
			livesOn(t, to, tn)
			if err := store.Copy(t.Context(), from, to, nil, done); !isConflict(err) {
				t.Errorf("a copy over a tenant that was written to: %v", err)
			}
		})
	}
}

// TestCopiesInMongoThatDifferAreNoticed: verifying reads every field back.
func TestCopiesInMongoThatDifferAreNoticed(t *testing.T) {
	locitest.Unshared(t)
	from, to, tn := emptyStores["file"](t), emptyStores["mongo"](t), locitest.Tenant(t, "default")
	s := openStore(t, from)
	fill(t, s, tn, 4)
	must(t, s.Close())
	done := func(store.CopyReport) error { return nil }
	must(t, store.Copy(t.Context(), from, to, nil, done))
	server := mongotest.Shared(t)
	_, rest, _ := strings.Cut(to, "://")
	_, rest, _ = strings.Cut(rest, "/")
	name, _, _ := strings.Cut(rest, "?")
	for _, fault := range []struct {
		collection string
		update     bson.D
	}{
		{"record", bson.D{{Key: "$set", Value: bson.D{{Key: "text", Value: bson.Binary{Data: []byte("x")}}}}}},
		{"record", bson.D{{Key: "$bit", Value: bson.D{{Key: "uses", Value: bson.D{{Key: "xor", Value: int64(8)}}}}}}},
		{"revision", bson.D{{Key: "$unset", Value: bson.D{{Key: "tags", Value: ""}}}}},
		{"vector", bson.D{{Key: "$set", Value: bson.D{{Key: "data", Value: bson.Binary{}}}}}},
		{"link", bson.D{{Key: "$inc", Value: bson.D{{Key: "created_at", Value: int64(1)}}}}},
		{"event", bson.D{{Key: "$unset", Value: bson.D{{Key: "payload", Value: ""}}}}},
		{"reply", nil},
		{"namespace", bson.D{{Key: "$set", Value: bson.D{{Key: "kinds", Value: bson.Binary{}}}}}},
		{"space", bson.D{{Key: "$inc", Value: bson.D{{Key: "dims", Value: int64(1)}}}}},
		{"tenant", bson.D{{Key: "$inc", Value: bson.D{{Key: "active", Value: int64(1)}}}}},
	} {
		must(t, server.With(name, func(ctx context.Context, db *driver.Database) (err error) {
			mine := bson.D{{Key: "t", Value: bson.D{{Key: "$ne", Value: bson.Binary{Data: make([]byte, 16)}}}}}
			if fault.update == nil {
				_, err = db.Collection(fault.collection).DeleteMany(ctx, mine)
				return err
			}
			_, err = db.Collection(fault.collection).UpdateMany(ctx, mine, fault.update)
			return err
		}))
		if err := store.Copy(t.Context(), from, to, nil, done); !isConflict(err) {
			t.Errorf("not noticed: %v: %v", fault, err)
		}
		s := openStore(t, to)
		must(t, s.EraseTenant(t.Context(), tn))
		must(t, s.Close())
		must(t, store.Copy(t.Context(), from, to, nil, done))
	}
}

// TestWhatCannotBeCopied: it is said in words, without passwords.
func TestWhatCannotBeCopied(t *testing.T) {
	at := t.TempDir()
	dir := "sqlite:" + at
	for _, c := range [][3]string{
		{"memory:", dir, "write sqlite:PATH"}, {dir, "memory:", "write sqlite:PATH"}, {dir, dir, "into itself"},
		{dir, dir + "/../" + filepath.Base(at), "into itself"}, {dir, dir + "/", "into itself"},
		{dir, "redis://secret@host", "write sqlite:PATH"}, {dir + "-misspelt", dir, "-misspelt holds nothing to copy"},
		{dir, "mongodb://ada:secret@127.0.0.1:1/loci?serverSelectionTimeoutMS=200", "does not answer"},
	} {
		err := store.Copy(t.Context(), c[0], c[1], nil, func(store.CopyReport) error { return nil })
		e := loci.AsError(err)
		if e == nil || !strings.Contains(e.Error()+e.Advice(), c[2]) || strings.Contains(e.Error(), "secret") {
			t.Errorf("from %s to %s: %v", c[0], c[1], err)
		}
	}
	if _, err := os.Stat(at + "-misspelt"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a source that is not there is made: %v", err)
	}
}

// TestNoCopyOverMemories: a tenant that holds memories of its own, and was never a copy, is left as it is.
func TestNoCopyOverMemories(t *testing.T) {
	locitest.Unshared(t)
	for _, kind := range []string{"sqlite", "file", "postgres", "mongo"} {
		t.Run(kind, func(t *testing.T) {
			from, to, tn := emptyStores["file"](t), emptyStores[kind](t), locitest.Tenant(t, "default")
			for i, at := range []string{from, to} {
				s := openStore(t, at)
				fill(t, s, tn, 3+i)
				must(t, s.Close())
			}
			before := said(t, to, tn)
			err := store.Copy(t.Context(), from, to, nil, func(store.CopyReport) error { return nil })
			if !isConflict(err) || !strings.Contains(err.Error(), "is there already") {
				t.Errorf("it is copied over: %v", err)
			}
			if diff := cmp.Diff(before, said(t, to, tn)); diff != "" {
				t.Errorf("what was there differs (-before +after):\n%s", diff)
			}
		})
	}
}
