// Package cores says how many processors this process may use, and has work that can wait give
// way to work that somebody waits for (docs/adr/0109): what is no request, and the collection of garbage.
package cores

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
)

// extra is how many processors [Spare] adds: for the two goroutines of one load.
const extra = 2

var (
	usable = runtime.GOMAXPROCS(0) // before anybody changed it

	mu      sync.Mutex
	sparing int // callers of Spare
	spare   atomic.Bool
	gaveWay atomic.Int64
)

// Usable is the number of processors that this process may use, 1 or more: GOMAXPROCS at its start.
func Usable() int { return usable }

// Limited reports whether fewer processors may be used than there are, by the variable GOMAXPROCS or by the
// container, or whether nothing can give way on this system. Where time is limited, that of a
// thread that gives way is taken from the others all the same.
func Limited() bool {
	return !supported || os.Getenv("GOMAXPROCS") != "" || usable != runtime.NumCPU()
}

// Spare gives Go more processors than the machine has, until end, for goroutines that give way: Go takes no
// processor back from a thread that the system keeps waiting, so that without spare ones all others would wait with it.
func Spare() (end func()) {
	mu.Lock()
	defer mu.Unlock()
	if sparing++; sparing == 1 {
		runtime.GOMAXPROCS(usable + extra)
		spare.Store(true)
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if sparing--; sparing == 0 {
			spare.Store(false)
			runtime.GOMAXPROCS(usable)
		}
	}
}

// GiveWay has the system run the rest of the calling goroutine with little but what others leave, where processors are
// spared. It keeps its thread, which ends with it: a priority that was lowered cannot be raised again.
func GiveWay() {
	if spare.Load() {
		runtime.LockOSThread() // for good
		lower()
		gaveWay.Add(1)
	}
}

// GaveWay is how often a goroutine has given way, for tests of those that should.
func GaveWay() int64 { return gaveWay.Load() }

// Alike is work for another goroutine, which gives way if the caller does.
func Alike(work func()) func() {
	if !spare.Load() || !lowered() {
		return work
	}
	return func() {
		GiveWay()
		work()
	}
}

// Each calls do for 0 to n-1, side by side on the processors that this process may use, and returns when all
// have ended. Where the caller gives way there are two at once, for which there are spare ones.
func Each(n int, do func(i int)) {
	beside := Usable() - 1
	if spare.Load() && lowered() {
		beside = extra - 1
	}
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var others sync.WaitGroup
	for range min(beside, n-1) {
		others.Go(Alike(work))
	}
	work()
	others.Wait()
}
