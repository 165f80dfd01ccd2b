package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

// busy has a tenant run one request after the other for some time, each for 5 ms.
func busy(t *testing.T, g *Gate, tenant string, over time.Duration) {
	t.Helper()
	for end := time.Now().Add(over); time.Now().Before(end); {
		p := enter(t, g, tenant)
		time.Sleep(5 * time.Millisecond)
		p.Leave()
	}
}

// Who had more than his share of the processors lately begins nothing while requests of others keep them busy, and
// goes on when they are done.
func TestWhoHadMoreGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Slots: 4, Queue: 8, Wait: 2 * time.Second, Aside: 8}) // of one processor
		busy(t, g, "heavy", 3*time.Second)
		light := enter(t, g, "light")
		waits := make(chan outcome, 2)
		begin(t, g, "heavy", waits)
		want(t, g, 1, 1) // though there are slots, and it has none
		again := enter(t, g, "light")
		light.Leave()
		synctest.Wait()
		want(t, g, 1, 1)
		again.Leave()
		o := <-waits
		if o.refused != nil {
			t.Fatalf("%+v", o.refused)
		}
		want(t, g, 1, 0)
		light = enter(t, g, "light") // beside what is under way
		want(t, g, 2, 0)
		o.pass.Leave()
		light.Leave()
	})
}

// Nobody gives way for longer than a sixteenth of the longest wait, and then nothing has to happen first.
func TestGivingWayEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Slots: 4, Queue: 8, Wait: 1600 * time.Millisecond, Aside: 8})
		busy(t, g, "heavy", 3*time.Second)
		defer enter(t, g, "light").Leave()
		begun := time.Now()
		p := enter(t, g, "heavy")
		if waited := time.Since(begun); waited != 100*time.Millisecond {
			t.Errorf("it waited for %v", waited)
		}
		p.Leave()
	})
}

// These give way to nobody.
func TestWhoDoesNotGiveWay(t *testing.T) {
	for _, c := range []struct {
		name   string
		slots  int
		before func(t *testing.T, g *Gate)
	}{
		{"who had his share", 4, func(t *testing.T, g *Gate) {
			for range 100 {
				busy(t, g, "light", 5*time.Millisecond)
				busy(t, g, "heavy", 5*time.Millisecond)
			}
		}},
		{"who had much long ago", 4, func(t *testing.T, g *Gate) {
			busy(t, g, "heavy", 3*time.Second)
			time.Sleep(800 * time.Millisecond)
		}},
		{"who shared a processor with many", 4, func(t *testing.T, g *Gate) {
			done := make(chan struct{})
			for _, tenant := range []string{"one", "two", "three"} {
				go func() {
					busy(t, g, tenant, 3*time.Second)
					done <- struct{}{}
				}()
			}
			busy(t, g, "heavy", 3*time.Second)
			for range 3 {
				<-done
			}
		}},
		{"where a processor is idle", 8, func(t *testing.T, g *Gate) {
			done := make(chan struct{})
			go func() {
				busy(t, g, "heavy", 3*time.Second)
				close(done)
			}()
			busy(t, g, "heavy", 3*time.Second)
			<-done
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(Options{Slots: c.slots, Queue: 8, Wait: 2 * time.Second, Aside: 8})
				c.before(t, g)
				light := enter(t, g, "light")
				begun := time.Now()
				p := enter(t, g, "heavy")
				if waited := time.Since(begun); waited != 0 {
					t.Errorf("it waited for %v", waited)
				}
				p.Leave()
				light.Leave()
			})
		})
	}
}

// What had begun and comes back for a slot gives way to nobody: others may wait for it.
func TestWhatHadBegunDoesNotGiveWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Slots: 4, Queue: 8, Wait: 2 * time.Second, Aside: 8})
		p := enter(t, g, "heavy")
		time.Sleep(time.Second)
		back := p.Aside()
		light := []*Pass{enter(t, g, "light"), enter(t, g, "light")}
		other := []*Pass{enter(t, g, "other"), enter(t, g, "other")} // all slots are taken
		came := make(chan error, 1)
		go func() { came <- back(t.Context()) }()
		synctest.Wait()
		light[0].Leave()
		synctest.Wait()
		select {
		case err := <-came:
			if err != nil {
				t.Error(err)
			}
		default:
			t.Error("it gives way")
		}
		for _, p := range []*Pass{p, light[1], other[0], other[1]} {
			p.Leave()
		}
	})
}
