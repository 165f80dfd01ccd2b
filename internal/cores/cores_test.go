package cores

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// alone runs something on a goroutine of its own, as what gives way keeps its thread for good.
func alone(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	<-done
}

// There are more processors while somebody spares some, and as many as before afterwards.
func TestSpare(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	first, second := Spare(), Spare()
	if n := runtime.GOMAXPROCS(0); n != Usable()+extra {
		t.Errorf("%d processors; want %d", n, Usable()+extra)
	}
	first()
	if n := runtime.GOMAXPROCS(0); n != Usable()+extra {
		t.Errorf("%d processors while one still spares some", n)
	}
	second()
	if n := runtime.GOMAXPROCS(0); n != before || before != Usable() {
		t.Errorf("%d processors afterwards; want %d, and %d are usable", n, before, Usable())
	}
}

// A number that somebody has given is kept.
func TestLimited(t *testing.T) {
	t.Setenv("GOMAXPROCS", "1")
	if !Limited() {
		t.Error("GOMAXPROCS limits nothing")
	}
}

// Where no processor is spared nothing gives way.
func TestGiveWayOnlyWithSpare(t *testing.T) {
	before := GaveWay()
	alone(func() {
		GiveWay()
		if lowered() {
			t.Error("a thread gave way")
		}
	})
	if n := GaveWay() - before; n != 0 {
		t.Errorf("%d goroutines gave way", n)
	}
}

// Each does everything once, and as much at once as may be.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		var done sync.Map
		var running, most atomic.Int64
		patience := time.Now().Add(10 * time.Second)
		Each(n, func(i int) {
			now := running.Add(1)
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			all := int64(min(n, Usable()))
			for now < all && most.Load() < all && time.Now().Before(patience) { // the others come, too
				runtime.Gosched()
			}
			running.Add(-1)
			if _, twice := done.LoadOrStore(i, true); twice {
				t.Errorf("%d is done twice of %d", i, n)
			}
		})
		for i := range n {
			if _, ok := done.Load(i); !ok {
				t.Errorf("%d is not done of %d", i, n)
			}
		}
		if most := most.Load(); most != int64(min(n, Usable())) {
			t.Errorf("of %d there were %d at once; want %d", n, most, min(n, Usable()))
		}
	}
}
