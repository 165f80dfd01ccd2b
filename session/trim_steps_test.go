package session_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// A trim of many messages goes in steps of bounded size, also with an idempotency key. Its reply counts all of them.
func TestATrimOfManyGoesInSteps(t *testing.T) {
	store, e, m := long(t)
	once := keyed(t, e, m)
	store.stop = 2
	if n, err := session.Of(once).Trim(t.Context(), "s", 100); !errors.Is(err, errStopped) {
		t.Fatalf("the trim was not stopped: %+v, %v", n, err)
	}
	if n := ofRecord(t, m, "s").Messages; n != 1500 || there(t, m) != n {
		t.Errorf("%d messages are left, the session says %d", there(t, m), n)
	}
	*store = steps{Store: store.Store}
	for range 2 {
		n, err := session.Of(once).Trim(t.Context(), "s", 100)
		if err != nil || n != (session.Trimmed{Erased: 1400, Messages: 100}) || store.n != 5 || store.largest > 300 {
			t.Errorf("trimmed %+v in %d steps of up to %d, %v", n, store.n, store.largest, err)
		}
	}
	if store.last != 0 || store.settled != 1 {
		t.Errorf("%d steps wait for the wiping, and %d changes for that of all", store.last, store.settled)
	}
	if got := seqs(locitest.HistoryOf(t, m, "s", session.HistoryQuery{})); len(got) != 100 || got[0] != 2001 {
		t.Errorf("%d messages are left, from %d on", len(got), got[0])
	}
}

// A trim in steps leaves what one in a single change leaves. Stopped between two steps, what is left does not begin
// with the result of a call that went.
func TestATrimInStepsKeepsWhatOneWould(t *testing.T) {
	store := &steps{Store: locitest.OpenMemory()}
	m := locitest.Bind(t, locitest.NewEngine(t, store, locitest.Quiet(locitest.NewClock())), "u")
	messages := slices.Repeat([]session.Message{locitest.Spoken(session.MessageHuman, "hello")}, 700)
	messages[299], messages[300], messages[301] = asks("a", "b", "c", "d"), answer("a"), answer("b")
	messages[400], messages[650] = answer("c"), answer("d")
	locitest.AppendTo(t, m, "s", messages...)
	store.stop = 1
	if _, err := session.Of(m).Trim(t.Context(), "s", 100); !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	all := session.HistoryQuery{Limit: 1000}
	if got := seqs(locitest.HistoryOf(t, m, "s", all)); len(got) != 397 || got[0] != 303 || slices.Contains(got, 401) {
		t.Errorf("a step leaves %d messages from %d on", len(got), got[0])
	}
	store.stop = 0
	locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "new"))
	n, err := session.Of(m).Trim(t.Context(), "s", 100)
	got := seqs(locitest.HistoryOf(t, m, "s", all))
	if err != nil || n.Messages != 99 || len(got) != 99 || got[0] != 602 || slices.Contains(got, 651) {
		t.Errorf("trimmed %+v to %v, %v", n, got, err)
	}
}

// An append to a session whose limit was lowered by much erases in steps before it, unless it is refused: then nothing goes.
func TestAnAppendTrimsManyInSteps(t *testing.T) {
	store, e, m := long(t)
	once := keyed(t, e, m)
	lower := func(most int) {
		if _, err := session.Of(m).Update(t.Context(), "s", session.Change{MaxMessages: &most}); err != nil {
			t.Fatal(err)
		}
	}
	lower(1)
	_, err := session.Of(m).Append(t.Context(), "s", []session.Message{asks("c"), answer("c")})
	if !errors.Is(err, loci.ErrTooLarge) || store.n > 0 {
		t.Errorf("%d changes erase before an append is refused: %v", store.n, err)
	}
	lower(100)
	for range 2 {
		n, err := session.Of(once).Append(t.Context(), "s", []session.Message{locitest.Spoken(session.MessageHuman, "new")})
		if err != nil || n.Trimmed != 2001 || n.Messages != 100 || n.Last != 2101 {
			t.Errorf("appended %+v, %v", n, err)
		}
		if store.n != 7 || store.largest > 300 {
			t.Errorf("%d steps of up to %d", store.n, store.largest)
		}
	}
	if store.settled != 1 || there(t, m) != 100 {
		t.Errorf("%d changes wait for the wiping of all; %d messages are left", store.settled, there(t, m))
	}
}

// A session that is cleared between two steps of an append is made again by it.
func TestAnAppendInStepsMakesWhatWasCleared(t *testing.T) {
	store, _, m := long(t)
	most := 100
	if _, err := session.Of(m).Update(t.Context(), "s", session.Change{MaxMessages: &most}); err != nil {
		t.Fatal(err)
	}
	store.after = func() {
		if _, err := session.Of(m).Clear(t.Context(), "s"); err != nil {
			t.Error(err)
		}
	}
	n, err := session.Of(m).Append(t.Context(), "s", []session.Message{locitest.Spoken(session.MessageHuman, "new")})
	if err != nil || !n.Created || n.Last != 1 || n.Messages != 1 || n.Trimmed != 300 {
		t.Errorf("appended %+v, %v", n, err)
	}
}
