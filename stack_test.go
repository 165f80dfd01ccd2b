package loci_test

import (
	"runtime/debug"
	"testing"
	"time"
	"unsafe"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// stackAt is where the stack ends for now.
//
//go:noinline
func stackAt() uintptr {
	var x byte
	return uintptr(unsafe.Pointer(&x))
}

// The stack of a goroutine grows before a save has put anything on it, and not on the way: what lies between two
// places of a save is as long in a new goroutine as in one whose stack has grown.
func TestASaveGrowsItsStackOnce(t *testing.T) {
	locitest.Unshared(t)
	if locitest.Raced {
		t.Skip("with the race detector stacks are larger")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would make stacks smaller again
	var began, made uintptr                          // where the clock is asked first, and for the first id
	clock := locitest.NewClock()
	engine := locitest.NewEngine(t, locitest.OpenSQLite(t), loci.Options{
		Now: func() time.Time {
			if began == 0 {
				began = stackAt()
			}
			return clock.Now()
		},
		NewID: func() loci.ID {
			if made == 0 {
				made = stackAt()
			}
			return loci.NewID()
		},
	})
	m := locitest.Bind(t, engine, "u")
	between := func(text string) uintptr {
		began, made = 0, 0
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: text}); err != nil {
			t.Error(err)
		}
		return began - made
	}
	for range 3 { // what is made once takes another way
		between("A walrus sleeps on the ice " + loci.NewID().String())
	}
	for range 3 {
		done := make(chan struct{})
		go func() {
			defer close(done)
			grown := between("A walrus sleeps in the water " + loci.NewID().String())
			if again := between("A walrus eats in the water " + loci.NewID().String()); grown != again {
				t.Errorf("between two places of a save lie %d bytes in a new goroutine, and %d in one that has saved", grown, again)
			}
		}()
		<-done
	}
}
