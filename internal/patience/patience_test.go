package patience

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCall returns what the function does, errors included, and ends in time.
func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls
		begun := time.Now()
		if n, err := Call(t.Context(), &calls, time.Second, func(context.Context) (int, error) {
			return 7, nil
		}); n != 7 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		broken := errors.New("broken")
		_, err := Call(t.Context(), &calls, time.Second, func(context.Context) (int, error) { return 0, broken })
		if !errors.Is(err, broken) {
			t.Errorf("the error is %v", err)
		}
		_, err = Call(t.Context(), &calls, time.Second, func(ctx context.Context) (int, error) {
			<-ctx.Done() // it heeds its context
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		synctest.Wait()
		if n := calls.abandoned.Load(); n != 0 {
			t.Errorf("%d calls count as going on", n)
		}
	})
}

// TestPanicIsAnError: it must not end the process.
func TestPanicIsAnError(t *testing.T) {
	var calls Calls
	_, err := Call(t.Context(), &calls, time.Minute, func(context.Context) (int, error) { panic("oops") })
	if err == nil || !strings.Contains(err.Error(), "it panicked: oops") {
		t.Errorf("the error is %v", err)
	}
}

// TestTooMany: calls that do not end are counted, refused beyond [Most], and forgotten
// when they end after all.
func TestTooMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls Calls
		release := make(chan struct{})
		stuck := func(context.Context) (int, error) { <-release; return 1, nil }
		for range Most {
			if _, err := Call(t.Context(), &calls, time.Second, stuck); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		called := false
		quick := func(context.Context) (int, error) { called = true; return 2, nil }
		if _, err := Call(t.Context(), &calls, time.Second, quick); !errors.Is(err, ErrTooMany) || called {
			t.Errorf("one more: %v, called: %v", err, called)
		}
		close(release)
		synctest.Wait()
		if n, err := Call(t.Context(), &calls, time.Second, quick); n != 2 || err != nil {
			t.Errorf("after they ended: %d, %v", n, err)
		}
	})
}

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := Sleep(ctx, time.Hour)
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 61*time.Minute {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
	})
}

// Work in the background rests as long as it worked, within bounds; a second attempt waits, a first one does not.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for step, want := range map[time.Duration]time.Duration{
			0: 5 * time.Millisecond, time.Second: time.Second, time.Hour: 5 * time.Second,
		} {
			begun := time.Now()
			if err := AsLong(t.Context(), step); err != nil || time.Since(begun) != want {
				t.Errorf("after %s it rests for %s, %v", step, time.Since(begun), err)
			}
		}
		for attempt, most := range map[int]time.Duration{1: 1e6, 10: 1e7, 1000: 1e7} {
			begun := time.Now()
			for range 100 {
				now := time.Now()
				if err := BetweenAttempts(t.Context(), attempt); err != nil || time.Since(now) >= most {
					t.Errorf("attempt %d waits for %s, %v", attempt, time.Since(now), err)
				}
			}
			if time.Since(begun) < most {
				t.Errorf("100 times attempt %d waits for %s together", attempt, time.Since(begun))
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if AsLong(ctx, time.Second) == nil || BetweenAttempts(ctx, 1) == nil || BetweenAttempts(ctx, 0) != nil {
			t.Error("who leaves waits, or the first attempt fails for it")
		}
	})
}
