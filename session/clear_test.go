package session_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// steps is a store that counts the changes that erase, and the records of the largest one.
type steps struct {
	loci.Store
	n, largest int
	last       int    // how many of them wait for the wiping
	longer     int    // and of these, for what others left, too
	settled    int    // changes that erase nothing, and wait for what the steps before them left
	stop       int    // after so many the process ends; 0: never
	after      func() // of the first one; may be nil
	told       loci.Event
}

var errStopped = errors.New("the process ended")

func (s *steps) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if len(c.Erase) == 0 {
		if c.Last {
			s.settled++
		}
		return s.Store.Apply(ctx, t, c)
	}
	if s.n++; s.stop > 0 && s.n > s.stop {
		return errStopped
	}
	s.told = c.Events[0]
	s.largest = max(s.largest, len(c.Erase))
	if !c.More {
		s.last++
	}
	if c.Last {
		s.longer++
	}
	err := s.Store.Apply(ctx, t, c)
	if after := s.after; after != nil {
		s.after = nil
		after()
	}
	return err
}

// long makes a session "s" of 2,100 messages over a store that counts.
func long(t *testing.T) (*steps, *loci.Engine, *loci.Memory) {
	t.Helper()
	store := &steps{Store: locitest.OpenMemory()}
	e := locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock()))
	m := locitest.Bind(t, e, "u")
	messages := slices.Repeat([]session.Message{locitest.Spoken(session.MessageHuman, "hello")}, 700)
	for range 3 {
		locitest.AppendTo(t, m, "s", messages...)
	}
	return store, e, m
}

// there counts the messages of the session.
func there(t *testing.T, m *loci.Memory) int64 {
	t.Helper()
	x, err := session.Of(m).Extent(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	return x.Messages
}

// A long session is cleared in steps of bounded size. Stopped between two of them it is there with
// fewer messages, and the clear goes on when it is asked for again.
func TestALongSessionIsClearedInSteps(t *testing.T) {
	store, _, m := long(t)
	store.stop = 1
	first, err := session.Of(m).Clear(t.Context(), "s")
	if !errors.Is(err, errStopped) || first != (session.Cleared{Messages: 300}) {
		t.Fatalf("the clear was not stopped: %+v, %v", first, err)
	}
	left := ofRecord(t, m, "s").Messages
	if n := there(t, m); left != 1800 || n != 1800 || store.last != 0 {
		t.Errorf("%d messages are left, the session says %d; %d steps say that they are the last", n, left, store.last)
	}
	if e := store.told; e.Type != loci.EventTrimmed || !strings.Contains(string(e.Payload), `"messages":300,"to":300`) {
		t.Errorf("the log says %s %s", e.Type, e.Payload)
	}
	*store = steps{Store: store.Store}
	rest, err := session.Of(m).Clear(t.Context(), "s")
	if err != nil || rest != (session.Cleared{Sessions: 1, Messages: 1800}) {
		t.Errorf("cleared %+v, %v", rest, err)
	}
	if store.n != 6 || store.largest > 301 || store.last != 1 || store.longer != 1 {
		t.Errorf("%d steps, of up to %d records; %d wait for the wiping, %d for that of all", store.n, store.largest, store.last, store.longer)
	}
	locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "again"))
	if n, err := session.Of(m).Clear(t.Context(), "s"); err != nil || n.Messages != 1 || store.longer != 1 {
		t.Errorf("a clear in one step waits for the wiping of many: %+v, %v", n, err)
	}
}

// Who clears all sessions and is stopped is told of the messages that went, also of a session that stays.
func TestAStoppedClearOfAllCounts(t *testing.T) {
	store, _, m := long(t)
	store.stop = 1
	n, err := session.Of(m).ClearAll(t.Context())
	if !errors.Is(err, errStopped) || n != (session.Cleared{Messages: 300}) {
		t.Errorf("cleared %+v, %v", n, err)
	}
}

// keyed is the handle with an idempotency key.
func keyed(t *testing.T, e *loci.Engine, m *loci.Memory) *loci.Memory {
	t.Helper()
	view := m.View()
	view.IdempotencyKey = "k"
	return locitest.BindView(t, e, view)
}

// With an idempotency key a clear goes in steps, too. Stopped, it goes on when it is repeated; the reply is kept with
// the last step, so that a clear that was made takes nothing of a session that came since.
func TestAClearWithAKeyGoesInSteps(t *testing.T) {
	store, e, m := long(t)
	once := keyed(t, e, m)
	store.stop = 1
	if n, err := session.Of(once).Clear(t.Context(), "s"); !errors.Is(err, errStopped) || n.Messages != 300 {
		t.Fatalf("the clear was not stopped: %+v, %v", n, err)
	}
	*store = steps{Store: store.Store}
	for again := range 3 {
		n, err := session.Of(once).Clear(t.Context(), "s")
		if err != nil || n != (session.Cleared{Sessions: 1, Messages: 1800}) || store.n != 6 || store.largest > 301 {
			t.Errorf("cleared %+v in %d changes, %v", n, store.n, err)
		}
		if again == 0 {
			locitest.AppendTo(t, m, "s", slices.Repeat([]session.Message{locitest.Spoken(session.MessageHuman, "new")}, 400)...)
		}
	}
}

// Who erases a long session by its id does so in steps; the last one waits for the wiping of all.
func TestALongSessionIsErasedByItsIDInSteps(t *testing.T) {
	store, e, m := long(t)
	found := locitest.Search(t, m, loci.Query{Kinds: []loci.Kind{session.Kind}})
	if len(found.Matches) != 1 {
		t.Fatalf("%d sessions", len(found.Matches))
	}
	once := keyed(t, e, m)
	for range 2 {
		if err := once.Erase(t.Context(), found.Matches[0].Record.ID); err != nil {
			t.Fatal(err)
		}
	}
	if store.n != 7 || store.largest > 301 || store.last != 1 || store.longer != 1 {
		t.Errorf("%d steps, of up to %d records; %d wait for the wiping, %d for that of all", store.n, store.largest, store.last, store.longer)
	}
	if n := there(t, m); n != 0 {
		t.Errorf("%d messages are left", n)
	}
	locitest.LogIsWhole(t, e, locitest.Tenant(t, "t"))
}

// What comes between two steps of a clear stays, and the error says what went.
func TestAClearInStepsTakesNothingNew(t *testing.T) {
	store, _, m := long(t)
	x, err := session.Of(m).Extent(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "before"))
	done, err := session.Of(m).ClearExtent(t.Context(), x)
	if !errors.Is(err, loci.ErrConflict) || done != (session.Cleared{}) || store.n > 0 {
		t.Errorf("what was there before the clear: %+v, %v", done, err)
	}
	if x, err = session.Of(m).Extent(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	store.after = func() { // so much that a step would take some of it
		locitest.AppendTo(t, m, "s", slices.Repeat([]session.Message{locitest.Spoken(session.MessageHuman, "new")}, 400)...)
	}
	done, err = session.Of(m).ClearExtent(t.Context(), x)
	if !errors.Is(err, loci.ErrConflict) || done.Sessions != 0 || done.Messages != 2100 {
		t.Errorf("cleared %+v, %v", done, err)
	}
	if err == nil || loci.AsError(err).Msg != "the session has changed meanwhile: 2100 messages were deleted, and the others stay" {
		t.Errorf("%v", err)
	}
	if left := there(t, m); left != 1+400 {
		t.Errorf("%d messages are left", left)
	}
}
