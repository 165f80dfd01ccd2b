package turn

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

// TestTurns: of several callers that want one key, one at a time has it; another key is free.
func TestTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var q Queues
		inside, done := 0, 0
		first, err := q.Enter(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			go func() {
				leave, err := q.Enter(t.Context(), "a")
				if err != nil {
					t.Error(err)
					return
				}
				inside++ // the race detector sees two at once
				if inside != 1 {
					t.Errorf("%d are inside", inside)
				}
				inside--
				done++
				leave()
			}()
		}
		synctest.Wait()
		if done != 0 {
			t.Errorf("%d did not wait", done)
		}
		other, err := q.Enter(t.Context(), "b")
		if err != nil {
			t.Fatal(err)
		}
		other()
		first()
		synctest.Wait()
		if done != 5 {
			t.Errorf("%d of 5 had a turn", done)
		}
		if len(q.open) != 0 {
			t.Errorf("queues stay open: %v", q.open)
		}
	})
}

// TestTurnsEndWithTheContext: a caller that gives up leaves nothing behind, and the next one
// has a turn.
func TestTurnsEndWithTheContext(t *testing.T) {
	var q Queues
	leave, err := q.Enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Enter(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if users := q.open["a"].users; users != 1 {
		t.Errorf("%d users are left", users)
	}
	leave()
	again, err := q.Enter(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	again()
	if len(q.open) != 0 {
		t.Errorf("queues stay open: %v", q.open)
	}
}
