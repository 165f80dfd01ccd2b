package admission

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// small is a gate of four slots.
func small() Options { return Options{Slots: 4, Queue: 8, Wait: 100 * time.Millisecond, Aside: 8} }

// enter takes a slot that must be free.
func enter(t *testing.T, g *Gate, tenant string) *Pass {
	t.Helper()
	p, refused := g.Enter(t.Context(), tenant, 0)
	if refused != nil {
		t.Fatalf("%s: %+v", tenant, refused)
	}
	return p
}

// An outcome is what became of a request that may have waited.
type outcome struct {
	tenant  string
	pass    *Pass
	refused *Refusal
}

// begin asks for a slot beside the test, which goes on when the request waits.
func begin(t *testing.T, g *Gate, tenant string, into chan outcome) {
	t.Helper()
	go func() {
		p, refused := g.Enter(t.Context(), tenant, 0)
		into <- outcome{tenant, p, refused}
	}()
	synctest.Wait()
}

func want(t *testing.T, g *Gate, running, waiting int) {
	t.Helper()
	if l := g.Load(); l.Running != running || l.Waiting != waiting {
		t.Fatalf("%d run and %d wait; want %d and %d", l.Running, l.Waiting, running, waiting)
	}
}

// One tenant alone takes every slot; its further requests wait in the order in which they came.
func TestAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		var held []*Pass
		for range 4 {
			held = append(held, enter(t, g, "a"))
		}
		first, second := make(chan outcome, 1), make(chan outcome, 1)
		begin(t, g, "a", first)
		begin(t, g, "a", second)
		want(t, g, 4, 2)
		held[0].Leave()
		o := <-first
		synctest.Wait()
		want(t, g, 4, 1)
		o.pass.Leave()
		(<-second).pass.Leave()
		for _, p := range held[1:] {
			p.Leave()
			p.Leave() // counts once
		}
		want(t, g, 0, 0)
	})
}

// A request that waits too long is refused. The refusal says how long it waited and when to ask
// again.
func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		for range 4 {
			defer enter(t, g, "a").Leave()
		}
		into := make(chan outcome, 1)
		since := time.Now()
		begin(t, g, "a", into)
		o := <-into
		if o.refused == nil || o.refused.Reason != TooOld || time.Since(since) != 100*time.Millisecond ||
			o.refused.Wait != 100*time.Millisecond || o.refused.Retry < time.Second {
			t.Errorf("after %v: %+v", time.Since(since), o.refused)
		}
		want(t, g, 4, 0)
	})
}

// If a queue has not been empty for as long as the longest wait, everybody in it waits that
// long. Whoever joins it then may wait only a quarter.
func TestStandingQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		held := enter(t, g, "a")
		for range 3 {
			defer enter(t, g, "a").Leave()
		}
		first, second, third := make(chan outcome, 1), make(chan outcome, 1), make(chan outcome, 1)
		begin(t, g, "a", first)
		time.Sleep(60 * time.Millisecond)
		begin(t, g, "a", second)
		<-first
		time.Sleep(10 * time.Millisecond)
		since := time.Now()
		begin(t, g, "a", third)
		o := <-third
		if waited := time.Since(since); waited != 25*time.Millisecond || o.refused.Wait != waited {
			t.Errorf("waited %v: %+v", waited, o.refused)
		}
		<-second
		patience := func(want time.Duration) {
			t.Helper()
			since := time.Now()
			begin(t, g, "a", third)
			<-third
			if waited := time.Since(since); waited != want {
				t.Errorf("waited %v; want %v", waited, want)
			}
		}
		patience(25 * time.Millisecond) // nobody waits, but nobody got in
		held.Leave()
		held = enter(t, g, "a")
		patience(100 * time.Millisecond)
		begin(t, g, "a", third)
		time.Sleep(10 * time.Millisecond)
		held.Leave()
		held = (<-third).pass // whoever waited is in
		defer held.Leave()
		patience(100 * time.Millisecond)
		time.Sleep(500 * time.Millisecond)
		patience(100 * time.Millisecond) // nobody asked for a while
	})
}

// crowd is a gate whose line is short as soon as more than 8 wait for more than 10 ms.
func crowd() Options { return Options{Slots: 4, Queue: 32, Wait: 160 * time.Millisecond, Aside: 8} }

// A burst waits. When others come behind it and the line has not emptied, those who have waited
// for longest are refused, and as many wait as run: nobody waits long for an answer.
func TestCrowdedLineIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(crowd())
		var held []*Pass
		for range 4 {
			held = append(held, enter(t, g, "a"))
		}
		old, newest := make(chan outcome, 16), make(chan outcome, 16)
		for range 9 {
			begin(t, g, "a", old)
		}
		for range 3 {
			begin(t, g, "a", newest)
		}
		time.Sleep(10 * time.Millisecond)
		begin(t, g, "a", newest)
		want(t, g, 4, 13) // a burst
		time.Sleep(time.Millisecond)
		begin(t, g, "a", newest)
		want(t, g, 4, 4)
		for range 9 {
			o := <-old
			if o.refused == nil || o.refused.Reason != QueueFull || o.refused.Limit != 4 || o.refused.Used != 13 {
				t.Fatalf("%+v; want that 13 waited, and 4 may", o.refused)
			}
		}
		if o := <-newest; o.refused == nil { // the oldest of these
			t.Error("five wait")
		}
		for what, refused := range map[string]*Refusal{"Look": g.Look("a", 0), "Enter": refusedBy(t, g)} {
			if refused == nil || refused.Reason != QueueFull || refused.Limit != 4 || refused.Used != 4 {
				t.Errorf("%s: %+v; want that 4 of 4 wait", what, refused)
			}
		}
		for _, p := range held {
			p.Leave()
		}
		for range 4 {
			if o := <-newest; o.refused != nil {
				t.Errorf("%+v", o.refused)
			} else {
				o.pass.Leave()
			}
		}
	})
}

func refusedBy(t *testing.T, g *Gate) *Refusal {
	t.Helper()
	p, refused := g.Enter(t.Context(), "a", 0)
	p.Leave()
	return refused
}

// A line that was short is as long as ever once a second went by in which hardly anybody was
// refused, and no sooner.
func TestCrowdsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(crowd())
		into := make(chan outcome, 64)
		var held []*Pass
		hold := func() {
			for range 4 {
				held = append(held, enter(t, g, "a"))
			}
		}
		letGo := func() {
			for _, p := range held {
				p.Leave()
			}
			held = nil
			synctest.Wait()
			for len(into) > 0 {
				if o := <-into; o.refused == nil {
					o.pass.Leave()
					synctest.Wait()
				}
			}
			want(t, g, 0, 0)
		}
		may := func(wait int) {
			t.Helper()
			hold()
			for range 16 {
				begin(t, g, "a", into)
			}
			want(t, g, 4, wait)
			letGo()
		}
		hold()
		for range 8 {
			begin(t, g, "a", into)
		}
		time.Sleep(11 * time.Millisecond)
		begin(t, g, "a", into)
		letGo()
		may(4) // the second is not over
		for range 10 {
			time.Sleep(100 * time.Millisecond)
			may(4)
		}
		for range 200 {
			time.Sleep(10 * time.Millisecond)
			enter(t, g, "a").Leave()
		}
		may(16)
	})
}

// At twice what can be answered a gate answers as much as ever. Those who get an answer wait for
// it no longer than it takes.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes, over = 10 * time.Millisecond, 4 * time.Second
		g := New(Options{Slots: 8, Queue: 256, Wait: 2 * time.Second, Aside: 256})
		var mu sync.Mutex
		var waited []time.Duration
		var all sync.WaitGroup
		for begun := time.Now(); time.Since(begun) < over; time.Sleep(takes / 8 / 2) {
			all.Go(func() {
				since := time.Now()
				p, refused := g.Enter(t.Context(), "a", 0)
				if refused != nil {
					return
				}
				mu.Lock()
				waited = append(waited, time.Since(since))
				mu.Unlock()
				time.Sleep(takes)
				p.Leave()
			})
		}
		all.Wait()
		if most := int(over/takes) * 8; len(waited) < most*95/100 {
			t.Errorf("%d of %d were answered", len(waited), most)
		}
		slices.Sort(waited)
		if long := waited[len(waited)*95/100]; long > takes {
			t.Errorf("19 of 20 waited up to %v; want %v", long, takes)
		}
		if long := waited[len(waited)-1]; long > 10*takes {
			t.Errorf("the longest wait was %v", long)
		}
	})
}

// A request that would wait longer than allowed is refused at once, as soon as it is known how
// long requests take.
func TestHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Slots: 1, Queue: 100, Wait: 100 * time.Millisecond, Aside: 8})
		p := enter(t, g, "a")
		time.Sleep(40 * time.Millisecond)
		p.Leave()
		p = enter(t, g, "a")
		into := make(chan outcome, 8)
		begin(t, g, "a", into)
		begin(t, g, "a", into)
		since := time.Now()
		if refused := g.Look("a", 0); refused == nil || refused.Reason != Hopeless || refused.Retry != time.Second {
			t.Errorf("%+v", refused)
		}
		if _, refused := g.Enter(t.Context(), "a", 0); refused == nil || time.Since(since) != 0 {
			t.Errorf("%+v after %v", refused, time.Since(since))
		}
		want(t, g, 1, 2)
		p.Leave()
		(<-into).pass.Leave()
		(<-into).pass.Leave()
	})
}

// A few requests that take minutes say nothing about how long others take.
func TestLongRequestsDoNotMakeOthersHopeless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		p := enter(t, g, "a")
		time.Sleep(time.Hour)
		p.Leave()
		for range 4 {
			defer enter(t, g, "a").Leave()
		}
		if refused := g.Look("a", 0); refused != nil {
			t.Errorf("%+v", refused)
		}
	})
}

// A tenant that asks for everything leaves the others their share: once they are there, they
// never wait for one of its requests to end.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Slots: 8, Queue: 100, Wait: time.Second, Aside: 8})
		enter(t, g, "light").Leave()
		into := make(chan outcome, 100)
		for range 50 {
			begin(t, g, "heavy", into)
		}
		want(t, g, 4, 46) // of eight slots half, as two tenants are there
		since := time.Now()
		for range 4 {
			defer enter(t, g, "light").Leave()
		}
		if waited := time.Since(since); waited != 0 {
			t.Errorf("waited %v", waited)
		}
		begin(t, g, "light", into) // beyond its share
		want(t, g, 8, 47)
		(<-into).pass.Leave()
		synctest.Wait()
		want(t, g, 8, 46) // the heavy one had three then, the light one four
		for range 3 {
			o := <-into
			if o.tenant != "heavy" {
				t.Errorf("%s took what is above its share", o.tenant)
			}
			defer o.pass.Leave()
		}
		drain(into, 47)
	})
}

// drain lets requests wait until their time is over.
func drain(into chan outcome, n int) {
	for range n {
		o := <-into
		if o.pass != nil {
			o.pass.Leave()
		}
	}
}

// A tenant that has gone leaves its share to the others, and no trace.
func TestTenantsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		for i := range 1000 {
			enter(t, g, fmt.Sprint("t", i)).Leave()
		}
		busy := enter(t, g, "busy")
		time.Sleep(2 * time.Second)
		for range 1000 {
			enter(t, g, "a").Leave()
		}
		if n := g.Load().Tenants; n != 2 {
			t.Errorf("%d tenants are known", n)
		}
		busy.Leave()
		time.Sleep(2 * time.Second)
		for range 4 {
			defer enter(t, g, "a").Leave()
		}
		if n := g.Load().Tenants; n != 1 {
			t.Errorf("%d tenants are known", n)
		}
	})
}

// A queue is bounded in number, and one tenant cannot fill it for the others.
func TestQueueIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		into := make(chan outcome, 100)
		for range 4 {
			defer enter(t, g, "heavy").Leave()
		}
		for range 8 {
			begin(t, g, "heavy", into)
		}
		want(t, g, 4, 8)
		_, refused := g.Enter(t.Context(), "heavy", 0)
		if refused == nil || refused.Reason != QueueFull || refused.Limit != 8 || refused.Used != 8 {
			t.Errorf("%+v", refused)
		}
		begin(t, g, "light", into)
		if o := <-into; o.tenant != "heavy" || o.refused == nil || o.refused.Reason != QueueFull {
			t.Errorf("%+v gave way", o)
		}
		want(t, g, 4, 8)
		drain(into, 8)
	})
}

// The limit of a tenant's requests under way holds even if the tenant is alone.
func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(small())
		a, b := enter(t, g, "a"), enter(t, g, "a")
		refused := g.Look("a", 2)
		if refused == nil || refused.Reason != Concurrent || refused.Limit != 2 || refused.Used != 2 {
			t.Errorf("%+v", refused)
		}
		if _, entered := g.Enter(t.Context(), "a", 2); entered == nil || *entered != *refused {
			t.Errorf("%+v", entered)
		}
		enter(t, g, "b").Leave()
		back := a.Aside() // is under way all the same
		if g.Look("a", 2) == nil {
			t.Error("what waits aside does not count")
		}
		if err := back(t.Context()); err != nil {
			t.Error(err)
		}
		b.Leave()
		enter(t, g, "a").Leave()
		a.Leave()
	})
}

// A client that goes away no longer waits.
func TestGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := small()
		o.Slots = 1
		g := New(o)
		defer enter(t, g, "a").Leave()
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		if _, refused := g.Enter(ctx, "a", 0); refused == nil || refused.Reason != Gone {
			t.Errorf("%+v", refused)
		}
		want(t, g, 1, 0)
	})
}

// Whoever is woken by the network has a turn while others enter and leave without a pause:
// there a connection waits to be accepted, and a request to be refused.
func TestTheNetworkHasItsTurn(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	g := New(Options{Slots: 4, Queue: 64, Wait: time.Minute, Aside: 8})
	var all sync.WaitGroup
	var entered atomic.Int64
	var turns int64
	for range 12 {
		all.Go(func() {
			for range 200 {
				p := enter(t, g, "a")
				entered.Add(1)
				p.Leave()
			}
		})
	}
	for entered.Load() == 0 || g.Load().Waiting > 0 {
		turns++
		runtime.Gosched() // to the queue of all processors, as the network does it
	}
	all.Wait()
	if n := entered.Load(); 20*turns < n {
		t.Errorf("%d turns while %d requests entered; want one in 20 at least", turns, n)
	}
}
