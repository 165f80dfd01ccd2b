package cores

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// Up to how many bytes a heap grows before its garbage is collected, however little of it is in use. Go collects at
// twice what is in use, and little is: indexes and tables of words lie in files.
const (
	// ServerHeap is for many callers. With 16 MiB in use Go collects seven times a second under load, each
	// of which delays requests for as long as some requests take.
	ServerHeap = 96 << 20

	// ClientHeap is for one caller beside other programs. What Loci promises of its own memory at 100,000 notes is
	// nearly twice that.
	ClientHeap = 32 << 20
)

// usualPercent is how much garbage Go leaves for what is in use.
const usualPercent = 100

var roomy atomic.Int64

// Roomy reports whether small heaps are collected more rarely.
func Roomy() bool { return roomy.Load() > 0 }

// RoomyHeap has heaps smaller than size bytes collected more rarely, until end, unless the variable GOGC says how
// often. Heaps of half the size and more are collected as usual.
func RoomyHeap(size uint64) (end func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	roomy.Add(1)
	h := &heap{size: size, percent: usualPercent}
	h.watch()
	return h.end
}

// A heap is adapted to soon after each collection.
type heap struct {
	size    uint64 // in bytes, before it is collected
	mu      sync.Mutex
	percent int // of garbage that is left
	ended   bool
}

// watch waits for the next collection.
func (h *heap) watch() {
	one := &struct{ h *heap }{h} // which nobody holds, so that the next collection finds it
	runtime.AddCleanup(one, (*heap).adapt, h)
}

// adapt sets how much garbage is left before the next collection.
func (h *heap) adapt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ended {
		return
	}
	now := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/globals:bytes"}, {Name: "/gc/scan/stack:bytes"},
	}
	metrics.Read(now)
	next := percentFor(h.size, now[0].Value.Uint64(), now[1].Value.Uint64()+now[2].Value.Uint64())
	// Each change stops everything for a moment, so a small one is not made, unless it leads to what is usual.
	small := next >= h.percent*7/8 && next <= h.percent*9/8
	if !small || next == usualPercent && h.percent != next {
		debug.SetGCPercent(next)
		h.percent = next
	}
	h.watch()
}

func (h *heap) end() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		roomy.Add(-1)
		debug.SetGCPercent(usualPercent)
	}
}

// percentFor is how much garbage may be left in a heap that may grow to size bytes where so many are in use. Go leaves
// as much for globals and stacks, which are in use beside it.
func percentFor(size, live, beside uint64) int {
	live = max(live, 1<<20)
	if live > size/2 {
		return usualPercent
	}
	return max(usualPercent, int((size-live)*100/(live+beside)))
}
