package admission

import (
	"testing"
	"time"
)

// Who may rest learns how many requests have a slot, of all gates. One that waits has none.
func TestWorking(t *testing.T) {
	ctx, before := t.Context(), slots.taken.Load() // of tests that let requests stay
	expect := func(when string, want int64) {
		t.Helper()
		if have := slots.taken.Load() - before; have != want || Working() != (before+want > 0) || !Lately(time.Hour) {
			t.Errorf("%s: %d slots, working: %t, lately: %t; want %d", when, have, Working(), Lately(time.Hour), want)
		}
	}
	var passes []*Pass
	for range 2 {
		g := New(Options{Slots: 1, Queue: 1, Wait: time.Minute, Aside: 1})
		p, refused := g.Enter(ctx, "a tenant", 0)
		if refused != nil {
			t.Fatal(refused)
		}
		passes = append(passes, p)
	}
	expect("two requests", 2)
	passes[0].Leave()
	expect("one of two left", 1)
	back := passes[1].Aside()
	expect("the other one waits", 0)
	if err := back(ctx); err != nil {
		t.Fatal(err)
	}
	expect("it goes on", 1)
	passes[1].Leave()
	expect("all left", 0)
}

// A request is expected for a while after the last one, and not before the first.
func TestLately(t *testing.T) {
	var some tally
	if some.lately(time.Hour) {
		t.Error("a request was there before the first")
	}
	some.take()
	if !some.lately(0) {
		t.Error("a request that has a slot was not seen")
	}
	some.release()
	if !some.lately(time.Hour) || some.lately(0) {
		t.Error("a while after the last request is not as long as was asked for")
	}
}
