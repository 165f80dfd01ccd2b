package follow

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// inTime runs something that must not wait for anything.
func inTime(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal(what)
	}
}

// found is what a search finds whose look does something between the question and the answer. early: the index
// cannot be searched afterwards.
func found(t *testing.T, x *Index, s *table, early bool, between func(q *Search)) (hits []loci.Hit, served bool) {
	t.Helper()
	inTime(t, "a search waits for the index though it has searched", func() {
		q := s.search()
		locked := false
		var err error
		hits, served, err = x.MatchPresent(t.Context(), q, func(meanwhile func()) (batch.State, error) {
			if meanwhile == nil {
				t.Error("nobody searches while the counter is on its way")
				return s.st, nil
			}
			meanwhile()
			if between != nil {
				between(q)
			}
			if early {
				locked = true
				x.mu.Lock()
			}
			return s.st, nil
		})
		if locked {
			x.mu.Unlock()
		}
		if err != nil {
			t.Error(err)
		}
	})
	return hits, served
}

// While the tenant's counter is on its way the index is searched as it stands. What that finds is the answer if
// the counter shows nothing newer, and nothing else is.
func TestSearchesWhileTheCounterIsOnItsWay(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  batch.State
		counts bool
		served bool
	}{
		{"nothing is newer", batch.State{Seq: 10, NameKey: key, Line: 3}, true, true},
		{"the index is ahead", batch.State{Seq: 9, NameKey: key, Line: 3}, true, true},
		{"another write of this process", batch.State{Seq: 11, NameKey: key, Line: 3}, false, true},
		{"another server's write", batch.State{Seq: 12, NameKey: key, Line: 3}, false, false},
		{"the tenant was erased", batch.State{Seq: 1, NameKey: bytes.Repeat([]byte{8}, 32), Line: 3}, false, false},
		{"the database went back", batch.State{Seq: 9, NameKey: key, Line: 4}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, s := newIndex(t)
			hits, served := found(t, x, s, c.counts, func(*Search) {
				s.st = c.state
				x.Hand(commit(11, 1))
			})
			if served != c.served || (len(hits) == 1) != (served && !c.counts) {
				t.Errorf("served %v with %d hits", served, len(hits))
			}
		})
	}
}

// What this process committed before is in what a search finds while the counter is on its way.
func TestOwnCommitsAreThereWhileTheCounterIsOnItsWay(t *testing.T) {
	x, s := newIndex(t)
	x.Hand(commit(11, 1))
	x.Wrote(11)
	s.st.Seq = 11
	if hits, served := found(t, x, s, true, nil); !served || len(hits) != 1 {
		t.Error(hits, served)
	}
}

// A search that was overtaken would be made twice again where others write all the time: the next one waits for
// the counter, and the one behind it searches early if that found nothing newer.
func TestSearchesThatWereOvertakenWaitForTheCounter(t *testing.T) {
	x, s := newIndex(t)
	early := func() (was bool) {
		_, _, err := x.MatchPresent(t.Context(), s.search(), func(meanwhile func()) (batch.State, error) {
			if was = meanwhile != nil; was {
				meanwhile()
			}
			return s.st, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return was
	}
	steps := []struct{ written, want bool }{
		{false, true}, {true, true}, {true, false}, {true, false}, {false, false}, {false, true}, {false, true},
	}
	for i, step := range steps {
		if step.written { // by another server
			s.st.Seq++
		}
		if got := early(); got != step.want {
			t.Errorf("search %d: early %v", i, got)
		}
		if step.written {
			if _, err := x.MatchAfter(t.Context(), s.search()); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Who searches while the counter is on its way may hold a connection: it waits neither for the index, whose holder
// may wait for a connection, nor for records, which would need another one.
func TestEarlySearchesWaitForNobody(t *testing.T) {
	x, s := newIndex(t)
	c := commit(11, 1)
	c.Came[0].Record.Body = []byte(`{"harm":1}`)
	x.Hand(c)
	x.takeOwn(s.search())
	s.st.Seq = 11
	loads, away, times := 0, false, 0
	for range 2 + passAfterLacks {
		q := s.search()
		q.Filter.Where = loci.Where{Member: "harm"} // for which a record is read
		q.Load = func([]loci.ID) ([]loci.Record, error) {
			if loads++; away {
				t.Error("records are read while the counter is on its way")
			}
			return []loci.Record{*c.Came[0].Record}, nil
		}
		hits, served, err := x.MatchPresent(t.Context(), q, func(meanwhile func()) (batch.State, error) {
			if meanwhile != nil {
				times++
				away = true
				meanwhile()
				away = false
			}
			return s.st, nil
		})
		if err != nil || !served || len(hits) != 1 {
			t.Fatal(hits, served, err)
		}
	}
	if loads != 2+passAfterLacks || times != 2 {
		t.Errorf("%d early searches that need records, which were read %d times", times, loads)
	}
	x.mu.Lock()
	inTime(t, "a search waits for the index with a connection in hand", func() {
		e := early{}
		e.search(x, s.search())
		if e.made {
			t.Error("an index that is changed was searched")
		}
	})
	x.mu.Unlock()
	x.index = nil
	e := early{made: true}
	if e.search(x, s.search()); e.made {
		t.Error("there is no index")
	}
}

// A look that fails is an error, whatever was found meanwhile.
func TestNoAnswerWithoutACounter(t *testing.T) {
	x, s := newIndex(t)
	lost := errors.New("lost")
	hits, served, err := x.MatchPresent(t.Context(), s.search(), func(meanwhile func()) (batch.State, error) {
		meanwhile()
		return batch.State{}, lost
	})
	if !errors.Is(err, lost) || served || hits != nil {
		t.Error(hits, served, err)
	}
}

// Who searches while the counter is on its way leaves the turn to the next one. Where others wait for the answer
// nobody does so.
func TestEarlySearchesKeepNobodyWaiting(t *testing.T) {
	x, s := newIndex(t)
	nested := false
	_, _, err := x.MatchPresent(t.Context(), s.search(), func(meanwhile func()) (batch.State, error) {
		meanwhile()
		ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
		defer end()
		_, _, err := x.MatchPresent(ctx, s.search(), func(meanwhile func()) (batch.State, error) {
			if nested = true; meanwhile != nil {
				t.Error("a search keeps others waiting for its look")
			}
			return s.st, nil
		})
		if err != nil {
			t.Error("a search waits for the end of another one", err)
		}
		return s.st, nil
	})
	if err != nil || !nested {
		t.Error(err, nested)
	}
	if x.handover.lookers.Load() != 0 {
		t.Error("who has looked is still counted")
	}
	for range 2 * sharedLooks { // where nobody writes all search early
		_, _, _ = x.MatchPresent(t.Context(), s.search(), s.look)
	}
	seen := 0
	_, _, err = x.MatchPresent(t.Context(), s.search(), func(func()) (batch.State, error) {
		_, _, err := x.MatchPresent(t.Context(), s.search(), func(meanwhile func()) (batch.State, error) {
			if meanwhile != nil {
				seen++
			}
			return s.st, nil
		})
		return s.st, err
	})
	if err != nil || seen != 1 {
		t.Error("a search does nothing while the counter is on its way though nobody waits for it", err)
	}
}

// What was found while the counter was on its way is as new as the counter: a search that may be stale goes on
// from there.
func TestEarlySearchesAreNoted(t *testing.T) {
	x, s := newIndex(t)
	x.seen.Store(0)
	var at time.Duration
	if _, served := found(t, x, s, false, func(q *Search) { at = q.looked }); !served {
		t.Fatal("not served")
	}
	if at == 0 || x.seen.Load() != int64(at) {
		t.Errorf("the index is known to be present at %d, not %d", x.seen.Load(), at)
	}
	x.mu.Lock() // it is changed, and may begin again behind that
	defer x.mu.Unlock()
	e, q := early{moment: x.moment, made: true}, s.search()
	q.looked = q.now() + time.Hour
	inTime(t, "a search waits for an index that it has searched", func() {
		if !e.answers(x, q, &s.st) || x.seen.Load() >= int64(time.Hour) {
			t.Error("an index that is changed is known to be present")
		}
	})
}

// A search that others have brought the index up to date for knows that it shows what they read. It does not show what
// the search itself looked at after that, in vain: who begins later would miss what was written in between.
func TestWhatOthersReadIsNoNewerForALaterLook(t *testing.T) {
	x, s := newIndex(t)
	now := time.Hour // later than all that was seen
	q := s.search()
	q.Clock = func() time.Duration { return now }
	q.Begin()
	now += 10
	_, served, err := x.MatchPresent(t.Context(), q, func(func()) (batch.State, error) {
		return batch.State{Seq: 12, NameKey: key, Line: 3}, nil
	})
	if served || err != nil {
		t.Fatal(served, err)
	}
	before := int64(now - 5)
	x.seen.Store(before) // as another one does, which read the state before
	if _, err := x.MatchAfter(t.Context(), q); err != nil {
		t.Fatal(err)
	}
	if seen := x.seen.Load(); seen != before {
		t.Errorf("the index is known to show what the database had at %d, want %d", seen, before)
	}
}
