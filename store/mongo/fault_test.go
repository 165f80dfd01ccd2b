package mongo_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store/mongo"
)

// A lossy proxy stands between a store and its server. For a number of commits it loses the
// answer and, with it, the connection; with early it loses the commit itself.
type lossy struct {
	listener net.Listener
	server   string
	loses    atomic.Int32
	lost     atomic.Int32
	early    atomic.Bool
	done     sync.WaitGroup
}

func newLossy(t *testing.T, server string) *lossy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &lossy{listener: l, server: server}
	p.done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.done.Go(func() { p.pass(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close() // ends the loop
		p.done.Wait()
	})
	return p
}

// pass forwards a connection: whole messages of the client, so that a commit is seen.
func (p *lossy) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	var mute atomic.Bool
	p.done.Go(func() {
		buffer := make([]byte, 64<<10)
		for {
			n, err := server.Read(buffer)
			if err != nil || mute.Load() {
				_ = client.Close()
				_ = server.Close()
				return
			}
			if _, err := client.Write(buffer[:n]); err != nil {
				return
			}
		}
	})
	for {
		head := make([]byte, 4)
		if _, err := io.ReadFull(client, head); err != nil {
			return
		}
		size := int(head[0]) | int(head[1])<<8 | int(head[2])<<16 | int(head[3])<<24
		if size < 16 || size > 64<<20 {
			return
		}
		message := make([]byte, size)
		copy(message, head)
		if _, err := io.ReadFull(client, message[4:]); err != nil {
			return
		}
		if bytes.Contains(message, []byte("\x10commitTransaction\x00")) && p.loses.Add(-1) >= 0 {
			p.lost.Add(1)
			if p.early.Load() {
				return
			}
			mute.Store(true)
		}
		if _, err := server.Write(message); err != nil {
			return
		}
	}
}

// through is a store behind the proxy.
func (p *lossy) through(t *testing.T, s *mongotest.Server, at string) loci.Store {
	t.Helper()
	return openAt(t, strings.Replace(at, s.Address(), p.listener.Addr().String(), 1))
}

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
		t.Fatal(err)
	}
	e, _, err := s.Events(t.Context(), tn, loci.EventFilter{Within: all}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return len(r), len(e)
}

// TestLostAnswersOfCommits: a commit whose answer is lost is made once, however often the
// answer is lost, and whether or not the server got the commit.
func TestLostAnswersOfCommits(t *testing.T) {
	server, at := own(t)
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	p := newLossy(t, server.Address())
	s := p.through(t, server, at)
	tn := locitest.Tenant(t, "lost")
	n := 0
	for _, early := range []bool{false, true} {
		for _, times := range []int32{1, 3, 40} {
			if err := s.Apply(t.Context(), tn, noted(loci.NewID())); err != nil {
				t.Fatal(err)
			}
			p.early.Store(early)
			p.lost.Store(0)
			p.loses.Store(times)
			err := s.Apply(t.Context(), tn, noted(loci.NewID()))
			p.loses.Store(0)
			n += 2
			if err != nil && early && times == 40 { // it never got through, and the store gave up
				n--
			} else if err != nil {
				t.Errorf("early %v, %d times: %v", early, times, err)
			}
			if p.lost.Load() == 0 {
				t.Error("no answer was lost")
			}
			if records, events := count(t, openAt(t, at), tn); records != n || events != n {
				t.Fatalf("early %v, %d times: %d records and %d events; want %d", early, times, records, events, n)
			}
		}
	}
}

// TestServerThatComesBack: acknowledged writes are there after the server was killed and
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
		"newer":            {change(migrated(), setVersion(int64(99))), "schema version 99 and this build knows up to 1: upgrade Loci"},
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
	if err != nil || report.From != 0 || report.To != 1 || len(report.Steps) != 1 {
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
	if report, err = mongo.Migrate(t.Context(), at, false); err != nil || report.From != 1 || len(report.Steps) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}
