package aside

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// A crew ends what goes on beside others when it is closed, waits for it, and begins nothing more.
func TestACrewWaitsForWhatIsBeside(t *testing.T) {
	t.Parallel()
	c := NewCrew(Turns())
	var ended atomic.Bool
	if !c.Beside(func(ctx context.Context) {
		<-ctx.Done()
		time.Sleep(20 * time.Millisecond) // longer than a crew that does not wait takes to be closed
		ended.Store(true)
	}) {
		t.Fatal("an open crew does nothing")
	}
	if c.Close(); !ended.Load() {
		t.Error("a crew is closed before what goes on beside has ended")
	}
	if c.Beside(func(context.Context) { t.Error("a closed crew does something") }) {
		t.Error("a closed crew takes something on")
	}
}
