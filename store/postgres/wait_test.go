package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/store/postgres"
)

// An alarm that is used again ends the wait at hand, in its time.
func TestAlarmsAreUsedAgain(t *testing.T) {
	var a postgres.Alarm
	for range 3 {
		long := a.Watch(t.Context(), time.Hour)
		if a.Ring(); long.Err() != nil { // as it may for a wait before, at the moment at which this one begins
			t.Error("an alarm of an earlier wait ends this one")
		}
		short := a.Watch(t.Context(), time.Millisecond)
		select {
		case <-short.Done():
		case <-time.After(10 * time.Second):
			t.Fatal("a wait does not end")
		}
		if long.Err() != nil {
			t.Error("a wait that is over ends another one")
		}
	}
}

// A call waits for a connection as long as it may, and no longer than its caller.
func TestWaitsEndInTime(t *testing.T) {
	ctx, end := postgres.Waiting(t.Context(), time.Millisecond)
	defer end()
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Error("a wait does not end")
	}
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error(ctx.Err())
	}
	gone, leave := context.WithCancel(t.Context())
	ctx, end = postgres.Waiting(gone, time.Hour)
	defer end()
	if ctx.Err() != nil {
		t.Error(ctx.Err())
	}
	if at, ok := ctx.Deadline(); !ok || time.Until(at) < 59*time.Minute || time.Until(at) > time.Hour {
		t.Errorf("it may wait until %v, %v; want an hour from now", at, ok)
	}
	leave()
	if <-ctx.Done(); !errors.Is(ctx.Err(), context.Canceled) {
		t.Error(ctx.Err())
	}
	short, leave := context.WithTimeout(t.Context(), time.Minute)
	defer leave()
	ctx, end = postgres.Waiting(short, time.Hour)
	at, _ := ctx.Deadline()
	if want, _ := short.Deadline(); !at.Equal(want) {
		t.Errorf("it may wait until %v, not %v", at, want)
	}
	if end(); ctx.Err() == nil {
		t.Error("a wait goes on")
	}
}
