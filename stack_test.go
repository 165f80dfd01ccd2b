package loci_test

import (
	"runtime"
	"runtime/debug"
	"strings"
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
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection would make stacks smaller again
	runtime.GC()                                     // and one that has begun goes on: this waits for its end
	type place struct {
		at        uintptr
		goroutine string
	}
	var began, made place // where the clock is asked first, and for the first id
	note := func(p *place) {
		if p.at == 0 {
			text := make([]byte, 64)
			fields := strings.Fields(string(text[:runtime.Stack(text, false)])) // it begins with "goroutine 7 [running]"
			*p = place{stackAt(), fields[1]}
		}
	}
	clock := locitest.NewClock()
	engine := locitest.NewEngine(t, locitest.OpenSQLite(t), loci.Options{
		Now:   func() time.Time { note(&began); return clock.Now() },
		NewID: func() loci.ID { note(&made); return loci.NewID() },
	})
	m := locitest.Bind(t, engine, "u")
	whole := true // everything between two places was done by one goroutine
	between := func(text string) uintptr {
		began, made = place{}, place{}
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: text}); err != nil {
			t.Error(err)
		}
		whole = whole && began.goroutine == made.goroutine
		return began.at - made.at
	}
	for range 3 { // what is made once takes another way
		between("A walrus sleeps on the ice " + loci.NewID().String())
	}
	for seen, tried := 0, 0; seen < 3; tried++ {
		done := make(chan struct{})
		go func() {
			defer close(done)
			whole = true
			grown := between("A walrus sleeps in the water " + loci.NewID().String())
			again := between("A walrus eats in the water " + loci.NewID().String())
			switch { // where others write, too, one goroutine decides for all who wait
			case whole && grown != again:
				t.Errorf("between two places of a save lie %d bytes in a new goroutine, and %d in one that has saved", grown, again)
				fallthrough
			case whole:
				seen++
			case tried > 1000:
				t.Error("no save was done by one goroutine")
				seen = 3
			}
		}()
		<-done
	}
}
