package admission

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A request that waits for something else gives its slot to others. It gets one again before
// requests that have not begun.
func TestAside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		o := small()
		o.Slots = 1
		g.Set(o)
		cold := enter(t, g, "a")
		back := cold.Aside()
		want(t, g, 0, 0)
		warm := enter(t, g, "a")
		into := make(chan outcome, 1)
		begin(t, g, "a", into)
		done := make(chan error, 1)
		go func() { done <- back(context.Background()) }()
		synctest.Wait()
		want(t, g, 1, 2)
		warm.Leave()
		if err := <-done; err != nil {
			t.Error(err)
		}
		want(t, g, 1, 1)
		cold.Leave()
		(<-into).pass.Leave()
		want(t, g, 0, 0)
		if l := g.Load(); l.Aside != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// TestSending: while an answer waits for its reader, its slot is another's, and it counts for its tenant.
// To go on it takes one again; one that has one, waits aside, or is over needs none.
func TestSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 1
		g := New(o)
		p := enter(t, g, "a")
		over := func(wait func(context.Context) error, running int) {
			t.Helper()
			if err := wait(t.Context()); err != nil {
				t.Error(err)
			}
			want(t, g, running, 0)
		}
		alone := func() *Refusal {
			p, no := g.Enter(t.Context(), "a", 1)
			p.Leave()
			return no
		}
		taken := p.Sending()
		want(t, g, 0, 0)
		if no := alone(); no == nil || no.Reason != Concurrent {
			t.Errorf("beside it: %+v", no)
		}
		enter(t, g, "a").Leave()
		over(taken, 1)
		one, two := p.Sending(), p.Sending()
		over(one, 1)
		over(two, 1)
		back, taken := p.Aside(), p.Sending()
		over(taken, 0)
		over(back, 1)
		taken = p.Sending()
		p.Leave()
		over(taken, 0)
		if no := alone(); no != nil { // nothing of it is under way
			t.Errorf("after it: %+v", no)
		}
	})
}

// Two waits of one request at the same time count as one. A request that ends during a wait, or
// gives up, holds nothing.
func TestAsideEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 1
		g := New(o)
		p := enter(t, g, "a")
		one, two := p.Aside(), p.Aside()
		if err := one(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, g, 0, 0)
		if err := two(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, g, 1, 0)
		back := p.Aside()
		other := enter(t, g, "a")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := back(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("it waited: %v", err)
		}
		p.Leave()
		want(t, g, 1, 0)
		back = other.Aside()
		other.Leave()
		if err := back(t.Context()); err != nil {
			t.Error(err)
		}
		want(t, g, 0, 0)
		var nobody *Pass
		if err := nobody.Aside()(t.Context()); err != nil {
			t.Error(err)
		}
		nobody.Leave()
		time.Sleep(2 * time.Second)
		p = enter(t, g, "b") // the queues of those that left are gone, too
		back = p.Aside()
		time.Sleep(2 * time.Second)
		for range 4 {
			enter(t, g, "c").Leave()
		}
		if err := back(t.Context()); err != nil {
			t.Error(err)
		}
		p.Leave()
		want(t, g, 0, 0)
	})
}

// Overlapping waits of one request count once. A request that goes aside again, or leaves,
// while it waits for its slot holds none. A tenant with a request aside is not forgotten.
func TestAsideMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 1
		g := New(o)
		aside := func(want int) {
			t.Helper()
			if l := g.Load(); l.Aside != want {
				t.Errorf("%d are aside; want %d", l.Aside, want)
			}
		}
		come := func(back func(context.Context) error) {
			if err := back(context.Background()); err != nil {
				t.Error(err)
			}
		}
		p := enter(t, g, "a")
		one, two := p.Aside(), p.Aside()
		aside(1)
		come(one)
		aside(1)
		other := enter(t, g, "a")
		go come(two) // waits for the slot
		synctest.Wait()
		again := p.Aside()
		other.Leave()
		synctest.Wait()
		want(t, g, 0, 0) // it got the slot, and has gone aside again
		come(again)
		want(t, g, 1, 0)
		again = p.Aside()
		other = enter(t, g, "a")
		go come(again)
		synctest.Wait()
		p.Leave()
		other.Leave()
		synctest.Wait()
		want(t, g, 0, 0) // it got the slot, and had left
		aside(0)
		p = enter(t, g, "a")
		back := p.Aside()
		for range 4 {
			time.Sleep(2 * time.Second)
			enter(t, g, "b").Leave()
		}
		if l := g.Load(); l.Tenants != 2 {
			t.Errorf("%d tenants are known; one asks, and one is aside", l.Tenants)
		}
		come(back)
		p.Leave()
	})
}

// However the waits of one request overlap, it comes back to one slot, and leaves none behind.
func TestAsideComesBackOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 2
		g := New(o)
		p := enter(t, g, "a")
		one := p.Aside()
		others := []*Pass{enter(t, g, "a"), enter(t, g, "a")}
		var errs = make(chan error, 2)
		go func() { errs <- one(context.Background()) }() // waits for a slot
		synctest.Wait()
		two := p.Aside()
		go func() { errs <- two(context.Background()) }()
		synctest.Wait()
		for _, other := range others {
			other.Leave()
		}
		synctest.Wait()
		if len(errs) != 2 {
			t.Fatal("it waits for a slot that it has itself")
		}
		want(t, g, 1, 0)
		p.Leave()
		want(t, g, 0, 0)
		if l := g.Load(); l.Aside != 0 {
			t.Errorf("%+v", l)
		}
	})
}

// Waits elsewhere are bounded, and no tenant takes all of them.
func TestAsideIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		enter(t, g, "light").Leave()
		var held []*Pass
		for range 4 {
			p := enter(t, g, "heavy")
			p.Aside()
			held = append(held, p)
		}
		refused := g.Look("heavy", 0)
		if refused == nil || refused.Reason != Elsewhere || refused.Limit != 4 || refused.Used != 4 {
			t.Errorf("%+v", refused)
		}
		for range 3 {
			p := enter(t, g, "light")
			p.Aside()
			held = append(held, p)
		}
		enter(t, g, "light").Leave()
		p := enter(t, g, "third") // the share of three is three
		p.Aside()
		if refused := g.Look("fourth", 0); refused == nil || refused.Reason != Elsewhere || refused.Limit != 8 {
			t.Errorf("%+v", refused)
		}
		p.Leave()
		for _, p := range held {
			p.Leave()
		}
	})
}

// A request that comes back to a full gate gets a slot after a while, though nobody gives one
// back: the holders may be waiting for this very request.
func TestAsideComesBackToAFullGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 1
		g := New(o)
		p := enter(t, g, "a")
		back := p.Aside()
		other := enter(t, g, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 10*o.Wait)
		defer cancel()
		began := time.Now()
		if err := back(ctx); err != nil || time.Since(began) != o.Wait {
			t.Errorf("after %v: %v; want a slot after %v", time.Since(began), err, o.Wait)
		}
		want(t, g, 2, 0)
		other.Leave()
		want(t, g, 1, 0)
		p.Leave()
		want(t, g, 0, 0)
	})
}

// A request whose write also does the writes of others gets its slot back at once. Those others
// may hold every slot and wait for it.
func TestLentSlotsComeBackAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 1
		g := New(o)
		p := enter(t, g, "a")
		visit, done, told := &Visit{}, make(chan error), make(chan error, 1)
		visit.Let(p)
		go func() { told <- Outcome(With(context.Background(), visit), done, func() bool { return false }) }()
		time.Sleep(time.Second)
		other := enter(t, g, "a")
		done <- nil
		synctest.Wait()
		if len(told) != 1 {
			t.Error("the write waits for requests that wait for it")
		}
		want(t, g, 2, 0)
		other.Leave()
		p.Leave()
		want(t, g, 0, 0)
	})
}

// A lent slot never comes back to a request that has left, nor to one that is about to get
// another slot.
func TestLentSlotsAreOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 1
		g := New(o)
		p := enter(t, g, "a")
		back := p.lend()
		p.Leave()
		back()
		want(t, g, 0, 0)
		p = enter(t, g, "a")
		aside := p.Aside()
		other := enter(t, g, "a")
		came := make(chan error, 1)
		go func() { came <- aside(context.Background()) }()
		synctest.Wait()
		p.lend()()
		want(t, g, 1, 1)
		other.Leave()
		if err := <-came; err != nil {
			t.Error(err)
		}
		want(t, g, 1, 0)
		p.Leave()
		want(t, g, 0, 0)
	})
}
