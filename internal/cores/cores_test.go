package cores

import (
	"runtime"
	"testing"
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
