package mongo_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store/mongo"
)

const (
	// always is more often than anybody tries.
	always = 1 << 20

	// lossyTime is how long a write stays whose answers are lost.
	lossyTime = 6 * time.Second
)

// ownProxy is a store behind a proxy to a server of the test's own, and one that is not.
func ownProxy(t *testing.T, args ...string) (p *proxy, server *mongotest.Server, s, straight loci.Store) {
	t.Helper()
	server, at := own(t, args...)
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	p = newProxy(t, server.Address())
	return p, server, p.through(t, server, at), openAt(t, at)
}

// begun is a tenant with one memory.
func begun(t *testing.T, s loci.Store, name string) loci.Tenant {
	t.Helper()
	tn := locitest.Tenant(t, name)
	if err := s.Apply(t.Context(), tn, noted(loci.NewID())); err != nil {
		t.Fatal(err)
	}
	return tn
}

// holds requires that there are so many memories and events.
func holds(t *testing.T, s loci.Store, tn loci.Tenant, want int) {
	t.Helper()
	if records, events := count(t, s, tn); records != want || events != want {
		t.Errorf("%d records and %d events; want %d", records, events, want)
	}
}

// TestLostAnswersOfCommits: a commit whose answer is lost is made once. The driver asks again,
// and where that does not help the store looks for what it wrote, once the time of a write is over.
func TestLostAnswersOfCommits(t *testing.T) {
	p, _, s, straight := ownProxy(t)
	tn := begun(t, s, "lost")
	n := 1
	for _, c := range []struct {
		fault, times int32
		looks        bool
	}{
		{losesAnswer, 1, false}, {losesAnswer, 3, false}, {losesAnswer, always, true},
		{losesCommit, 1, false}, {losesCommit, 3, false},
	} {
		back := func() {}
		if c.times == always { // the driver asks again until the write's time is over
			back = mongo.Hurry(lossyTime, time.Minute)
		}
		p.breaks(c.fault, c.times)
		err := s.Apply(t.Context(), tn, noted(loci.NewID()))
		back()
		if err != nil {
			t.Errorf("fault %d, %d times: %v: %v", c.fault, c.times, err, errors.Unwrap(err))
		}
		if p.struck.Load() == 0 || p.looked.Load() > 0 != c.looks {
			t.Errorf("fault %d, %d times: %d commits were struck and %d looked for", c.fault, c.times, p.struck.Load(), p.looked.Load())
		}
		p.times.Store(0)
		n++
		holds(t, straight, tn, n)
	}
	// The driver may miss that an operation lost its connection: the server is gone until then.
	if wait := p.waits.Load(); wait == 0 || wait > lossyTime.Milliseconds()/2 {
		t.Errorf("the server may seem to be gone for %d ms", wait)
	}
	// What has no event is told by a line of the list of changes.
	records, _, err := straight.Records(t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	touch := loci.Touch{ID: records[0].ID, ExpiresAt: time.UnixMilli(1_900_000_000_000).UTC()}
	defer mongo.Hurry(lossyTime, time.Minute)()
	p.breaks(losesAnswer, always)
	if err := s.Touch(t.Context(), tn, []loci.Touch{touch}); err != nil || p.looked.Load() == 0 {
		t.Errorf("a touch: %v, looked for %d times", err, p.looked.Load())
	}
	p.times.Store(0)
	again, _, err := straight.Records(
		t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}, IDs: []loci.ID{touch.ID}}, loci.Page{})
	if err != nil || len(again) != 1 || !again[0].ExpiresAt.Equal(touch.ExpiresAt) {
		t.Errorf("%v, %v", again, err)
	}
}

// TestServerKilledDuringACommit: a server that was started again does not know the
// transaction, whether or not it had committed it. The store looks, and writes it once.
func TestServerKilledDuringACommit(t *testing.T) {
	p, server, s, straight := ownProxy(t, "--sync-on-commit")
	tn := begun(t, s, "killed")
	n := 1
	p.then = func() {
		if err := server.Crash(); err != nil {
			t.Error(err)
		}
		if err := server.Launch(context.Background()); err != nil {
			t.Error(err)
		}
	}
	for _, fault := range []int32{losesAnswer, losesCommit} {
		p.breaks(fault, 1)
		if err := s.Apply(t.Context(), tn, noted(loci.NewID())); err != nil {
			t.Errorf("fault %d: %v", fault, err)
		}
		if p.struck.Load() != 1 || p.looked.Load() == 0 {
			t.Errorf("fault %d: %d commits were struck and %d looked for", fault, p.struck.Load(), p.looked.Load())
		}
		n++
		holds(t, straight, tn, n)
	}
}

// ends lets a server say of so many commands that it does not know their transaction.
func ends(t *testing.T, server *mongotest.Server, command string, times int) {
	t.Helper()
	if err := server.Command(bson.D{
		{Key: "configureFailPoint", Value: "failCommand"}, {Key: "mode", Value: bson.D{{Key: "times", Value: times}}},
		{Key: "data", Value: bson.D{
			{Key: "failCommands", Value: bson.A{command}}, {Key: "errorCode", Value: 251},
			{Key: "errorLabels", Value: bson.A{"TransientTransactionError"}},
		}},
	}); err != nil {
		t.Error(err)
	}
}

// TestAnotherPrimaryAnswersACommit: one that does not know a transaction, though it was
// committed, is not believed.
func TestAnotherPrimaryAnswersACommit(t *testing.T) {
	p, server, s, straight := ownProxy(t, "--enable-test-commands")
	tn := begun(t, s, "other")
	var once sync.Once
	p.then = func() { once.Do(func() { ends(t, server, "commitTransaction", 1) }) }
	p.breaks(losesAnswer, 1)
	if err := s.Apply(t.Context(), tn, noted(loci.NewID())); err != nil {
		t.Error(err)
	}
	if p.looked.Load() == 0 {
		t.Error("nobody looked")
	}
	holds(t, straight, tn, 2)

	// A read whose transaction ends once is made again; when it has ended five times, that is said.
	ends(t, server, "find", 1)
	holds(t, straight, tn, 2)
	ends(t, server, "find", 5)
	_, _, err := straight.Records(t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 10})
	if err == nil || !strings.Contains(err.Error(), "ended the read") {
		t.Errorf("a read whose transactions the server ended: %v", err)
	}
}

// TestServerThatHangsDuringACommit: the write ends in time. What was committed is found; what
// did not come through fails, and is never made later.
func TestServerThatHangsDuringACommit(t *testing.T) {
	p, _, s, straight := ownProxy(t)
	made, open := begun(t, s, "made"), begun(t, s, "open")
	defer mongo.Hurry(lossyTime, time.Second)()
	p.breaks(hangsAnswer, 1)
	if err := s.Apply(t.Context(), made, noted(loci.NewID())); err != nil || p.looked.Load() == 0 {
		t.Errorf("%v, looked for %d times", err, p.looked.Load())
	}
	holds(t, straight, made, 2)
	began := time.Now()
	p.breaks(hangsCommit, 1)
	err := s.Apply(t.Context(), open, noted(loci.NewID()))
	e := loci.AsError(err)
	if e == nil || e.Code != loci.Unavailable || p.looked.Load() == 0 {
		t.Errorf("a commit that did not come through: %v, looked for %d times", err, p.looked.Load())
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("it took %v", d)
	}
	holds(t, straight, open, 1)
}

// TestStepDownDuringACommit: a primary that steps down refuses the commit, and takes it when
// it is primary again.
func TestStepDownDuringACommit(t *testing.T) {
	server, at := own(t)
	if _, err := mongo.Migrate(t.Context(), at, false); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, strings.Replace(at, "directConnection=true", "replicaSet=secantus", 1))
	straight := openAt(t, at)
	tn := begun(t, s, "down")
	stepped := false
	stepDown := func() {
		stepped = true
		if err := server.Command(bson.D{{Key: "replSetStepDown", Value: 2}, {Key: "force", Value: true}}); err != nil {
			t.Error(err)
		}
	}
	atCommit.Store(&stepDown)
	defer atCommit.Store(nil)
	if err := s.Apply(t.Context(), tn, noted(loci.NewID())); err != nil || !stepped {
		t.Errorf("%v: %v, stepped down: %v", err, errors.Unwrap(err), stepped)
	}
	holds(t, straight, tn, 2)
}
