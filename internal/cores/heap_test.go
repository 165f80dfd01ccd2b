package cores

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// percent is what Go goes by now.
func percent() int {
	now := debug.SetGCPercent(usualPercent)
	debug.SetGCPercent(now)
	return now
}

// becomes waits until collections have made the percentage what it should be.
func becomes(t *testing.T, what string, is func(int) bool) {
	t.Helper()
	var now int
	for range 500 {
		runtime.GC()
		if now = percent(); is(now) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s: garbage of %d %% is left", what, now)
}

// A small heap may have much garbage, a large one as much as usual, and after the end it is as before.
func TestRoomyHeap(t *testing.T) {
	t.Setenv("GOGC", "")
	before := percent()
	end := RoomyHeap(ClientHeap)
	becomes(t, "a small heap", func(n int) bool { return n > 2*usualPercent })
	large := make([]byte, ClientHeap)
	becomes(t, "a large heap", func(n int) bool { return n == usualPercent })
	runtime.KeepAlive(large)
	becomes(t, "a heap that is small again", func(n int) bool { return n > 2*usualPercent })
	if !Roomy() {
		t.Error("nobody says so")
	}
	end()
	end()
	if Roomy() {
		t.Error("it has no end")
	}
	if n := percent(); n != before {
		t.Errorf("afterwards garbage of %d %% is left, not %d", n, before)
	}
	for _, bytes := range []int{ClientHeap, 1} { // nobody adapts to either
		large = make([]byte, bytes)
		for range 3 {
			runtime.GC()
			time.Sleep(10 * time.Millisecond)
		}
		runtime.KeepAlive(large)
	}
	if n := percent(); n != before {
		t.Errorf("after the end garbage of %d %% is left, not %d", n, before)
	}
}

// Whoever says how often to collect is obeyed.
func TestRoomyHeapLeavesWhatIsSet(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := percent()
	defer RoomyHeap(ClientHeap)()
	for range 3 {
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	if n := percent(); n != before {
		t.Errorf("garbage of %d %% is left, not %d", n, before)
	}
}

// Heap and garbage together stay about the size, whatever is in use beside it, and no less than as usual.
func TestPercentages(t *testing.T) {
	for _, c := range []struct {
		size, live, beside uint64
		want               int
	}{
		{ServerHeap, 0, 0, 9500},
		{ServerHeap, 16 << 20, 0, 500},
		{ServerHeap, 16 << 20, 16 << 20, 250},
		{ServerHeap, 48 << 20, 0, 100},
		{ServerHeap, 44 << 20, 44 << 20, usualPercent},
		{ServerHeap, 49 << 20, 0, usualPercent},
		{ServerHeap, 1 << 40, 0, usualPercent},
		{ClientHeap, 8 << 20, 0, 300},
		{ClientHeap, 4 << 20, 3 << 20, 400},
	} {
		if got := percentFor(c.size, c.live, c.beside); got != c.want {
			t.Errorf("of %d bytes, %d in use and %d beside, garbage of %d %% is left, not %d",
				c.size, c.live, c.beside, got, c.want)
		}
	}
}
