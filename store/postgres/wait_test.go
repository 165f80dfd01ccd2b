package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/loci-memory/loci/store/postgres"
)

// A call waits for a connection as long as it may, whatever those before it did, and no longer than its caller.
func TestWaitsEndInTime(t *testing.T) {
	for range 20 { // alarms are used again
		_, end := postgres.Waiting(t.Context(), 20*time.Millisecond)
		end()
	}
	time.Sleep(15 * time.Millisecond) // what was begun would ring in the next ones
	began := time.Now()
	for range 20 {
		ctx, end := postgres.Waiting(t.Context(), 50*time.Millisecond)
		defer end()
		select {
		case <-ctx.Done():
			if took := time.Since(began); took < 50*time.Millisecond {
				t.Errorf("a wait ends after %v", took)
			}
		case <-time.After(time.Millisecond):
		}
		if at, ok := ctx.Deadline(); !ok || at.Sub(began) < 50*time.Millisecond {
			t.Error(at, ok)
		}
	}
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
