package admission

import (
	"context"
	"sync"
	"time"
)

// A Pass is a request that was let in. The nil Pass is one that nothing counts.
type Pass struct {
	gate *Gate
	line *line

	mu    sync.Mutex
	since time.Time
	slot  bool // it has one
	aside int  // how many waits of the request are under way elsewhere
	comes bool // one of its waits is over and takes a slot again
	left  bool
}

// Leave ends the request.
func (p *Pass) Leave() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = true
	p.giveBackLocked()
}

// giveBackLocked gives the slot back, if there is one.
func (p *Pass) giveBackLocked() {
	if !p.slot {
		return
	}
	p.slot = false
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	p.gate.releaseLocked(p.line, p.since)
}

// Aside gives the slot to others while the request waits for something that no slot is
// needed for. The function it returns, called once, takes one again, before all that wait
// in the line of the tenant: what was begun is to end. After the longest wait there is, it
// takes one beyond those there are: others may hold theirs until this request goes on.
func (p *Pass) Aside() (back func(context.Context) error) {
	if p == nil {
		return func(context.Context) error { return nil }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aside++
	if p.aside == 1 {
		p.gate.countAside(p.line, 1)
	}
	p.giveBackLocked()
	return p.back
}

// Sending is Aside for an answer that waits for its reader. It does not count among the waits that
// [Options].Aside bounds: then readers that take nothing would keep others from an answer.
func (p *Pass) Sending() (back func(context.Context) error) {
	if p == nil {
		return func(context.Context) error { return nil }
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBackLocked()
	p.gate.countSending(p.line, 1)
	return func(ctx context.Context) error {
		p.mu.Lock()
		need := !p.left && !p.slot && !p.comes && p.aside == 0
		p.comes = p.comes || need
		p.mu.Unlock()
		if !need {
			p.gate.countSending(p.line, -1)
			return nil
		}
		return p.take(ctx, &p.line.sending)
	}
}

// lend is Aside for a wait during which others may wait for this request, with slots of
// theirs: to wait for a slot in turn would never end. What it returns takes one at once,
// also beyond those there are.
func (p *Pass) lend() (back func()) {
	if p == nil {
		return func() {}
	}
	p.Aside()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.aside--
		if p.aside > 0 {
			return
		}
		p.gate.countAside(p.line, -1)
		if p.left || p.comes {
			return
		}
		p.gate.mu.Lock()
		p.gate.takeLocked(p.line)
		p.gate.mu.Unlock()
		p.slot, p.since = true, time.Now()
	}
}

func (p *Pass) back(ctx context.Context) error {
	p.mu.Lock()
	p.aside--
	last := p.aside == 0
	need := last && !p.left && !p.comes // one slot is all that it gives back
	p.comes = p.comes || need
	p.mu.Unlock()
	if !last {
		return nil
	}
	if !need {
		p.gate.countAside(p.line, -1)
		return nil
	}
	return p.take(ctx, &p.line.aside, &p.gate.aside)
}

// take takes a slot again, when a wait is over that the counts are of.
func (p *Pass) take(ctx context.Context, counts ...*int) error {
	err := p.gate.reenter(ctx, p.line, counts)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.comes = false
	if err != nil {
		return err
	}
	p.slot, p.since = true, time.Now()
	if p.left || p.aside > 0 { // meanwhile
		p.giveBackLocked()
	}
	return nil
}

func (g *Gate) countAside(l *line, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.aside += n
	g.aside += n
}

func (g *Gate) countSending(l *line, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.sending += n
}

// reenter ends a wait that the counts are of, and waits for a slot in front of the line. The line
// is not forgotten in between: something of it is under way at any moment.
func (g *Gate) reenter(ctx context.Context, l *line, counts []*int) error {
	g.mu.Lock()
	for _, n := range counts {
		*n--
	}
	if g.running < g.opts.Slots && l.running < g.shareLocked() {
		g.takeLocked(l)
		g.mu.Unlock()
		return nil
	}
	w := &waiter{line: l, since: time.Now(), firm: true, ready: make(chan struct{})}
	l.queue = append([]*waiter{w}, l.queue...)
	g.waiting++
	most := g.opts.Wait
	g.mu.Unlock()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-w.ready:
		return nil
	case <-late.C:
		if g.giveUp(w, &Refusal{Reason: TooOld}) != nil {
			g.mu.Lock()
			g.takeLocked(l)
			g.mu.Unlock()
		}
		return nil
	case <-ctx.Done():
		if g.giveUp(w, &Refusal{Reason: Gone}) == nil {
			return nil // it was let in at that moment
		}
		return ctx.Err()
	}
}
