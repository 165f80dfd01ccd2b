// Package admission decides which request runs now, which one waits and which one is
// refused, so that a server does useful work however many ask, and no tenant takes what
// is another's.
package admission

import (
	"container/list"
	"context"
	"runtime"
	"slices"
	"sync"
	"time"
)

// A Reason says why a request is refused.
type Reason string

// The reasons. They are published as labels of metrics.
const (
	QueueFull  Reason = "queue_full"  // as many wait as may
	TooOld     Reason = "queue_age"   // it waited for as long as a request may
	Hopeless   Reason = "queue_wait"  // it would wait longer than a request may
	Concurrent Reason = "concurrency" // its tenant has as many requests under way as it may
	Elsewhere  Reason = "aside"       // as many requests wait for something else as may
	Gone       Reason = "gone"        // whoever asked is gone
)

// A Refusal says why a request does not run, and when asking again may help.
type Refusal struct {
	Reason Reason
	Limit  int           // that was reached, of what the reason counts; 0: a time
	Used   int           // of the limit
	Wait   time.Duration // the longest wait there is, where that is the limit
	Retry  time.Duration // after which asking again may help
}

// Options configure a [Gate]. All are positive.
type Options struct {
	Slots int           // requests that run at once
	Queue int           // that wait at once; see [Gate] for when it is fewer
	Wait  time.Duration // for at most so long; a quarter of it while the queue does not empty
	Aside int           // requests that have given their slot back for a while ([Pass.Aside])
}

// present is how long a tenant that has asked counts among those that share the slots.
const present = time.Second

// A Gate lets requests in. Among tenants that ask at the same time each has the same share
// of the slots, and a line of its own to wait in. A tenant may take more than its share as
// long as it takes no more than a quarter of all slots: more would fill the processors
// with what others then wait for. One that had more than its share of the processors lately lets
// requests of others end first.
//
// A line in which a quarter of Queue wait, and which has not been empty for a sixteenth of
// Wait, is no burst: more comes than can be answered. Then as many wait as may run, those who
// have waited for longest are refused at once, and so is whoever finds the line full. It stays
// short until, within a second, fewer than one in eight were refused. A gate is safe for
// concurrent use.
type Gate struct {
	mu      sync.Mutex
	opts    Options
	running int
	waiting int
	aside   int
	lines   map[string]*line
	recent  *list.List    // of *line: who asked last is in front
	took    time.Duration // that a request has its slot for, about

	turn   float64   // seconds that a request had of a processor which ran all the time
	turned time.Time // when that was counted
}

// A line is one tenant's.
type line struct {
	tenant  string
	running int
	aside   int
	sending int       // answers of it that wait for their readers, and have no slot
	queue   []*waiter // the first has waited for longest
	asked   time.Time
	emptied time.Time // when nobody waited, last; not where who waited gave up
	place   *list.Element
	spent   spent

	short    bool      // more comes than can be answered, so few may wait
	counting time.Time // since when the others count
	taken    int       // requests that were let in, or may wait
	turned   int       // that found no place to wait
}

// underWay counts all requests of a line.
func (l *line) underWay() int { return l.running + l.aside + l.sending + len(l.queue) }

// A waiter is a request that waits.
type waiter struct {
	line    *line
	since   time.Time
	firm    bool          // it had begun, and gives way to nobody
	ready   chan struct{} // closed when it may run, or is refused
	refused *Refusal      // once ready is closed
}

// New makes a gate.
func New(o Options) *Gate { return &Gate{opts: o, lines: map[string]*line{}, recent: list.New()} }

// Set changes the options. Requests that run or wait go on by the old ones.
func (g *Gate) Set(o Options) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opts = o
	g.dispatchLocked()
}

// A Load is what a gate has to do.
type Load struct{ Running, Waiting, Aside, Slots, Tenants int }

// Load returns what the gate has to do now.
func (g *Gate) Load() Load {
	g.mu.Lock()
	defer g.mu.Unlock()
	return Load{Running: g.running, Waiting: g.waiting, Aside: g.aside, Slots: g.opts.Slots, Tenants: len(g.lines)}
}

// Look refuses at once what [Gate.Enter] would refuse at once. It costs less than taking
// a request in.
func (g *Gate) Look(tenant string, concurrent int) *Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := g.lines[tenant]
	if l == nil {
		l = &line{tenant: tenant}
	}
	_, refused := g.admitLocked(l, concurrent, time.Now())
	return refused
}

// Enter waits until a request of a tenant may run. Whoever gets a pass leaves with it.
// concurrent bounds the requests of the tenant that are under way or wait, even where nobody
// else asks; 0: no bound.
func (g *Gate) Enter(ctx context.Context, tenant string, concurrent int) (*Pass, *Refusal) {
	p, refused := g.enter(ctx, tenant, concurrent)
	if p != nil {
		// Whoever leaves wakes whoever waits, so there is always a goroutine to run that this
		// processor knows already. Those that the network wakes stand in the queue of all
		// processors, which the scheduler looks at once in 61 turns then: connections were not
		// accepted for seconds, and nobody was told that the server has too much to do. Going
		// to the end of that queue lets them have their turn first.
		runtime.Gosched()
	}
	return p, refused
}

func (g *Gate) enter(ctx context.Context, tenant string, concurrent int) (*Pass, *Refusal) {
	g.mu.Lock()
	now := time.Now()
	l := g.arriveLocked(tenant, now)
	run, refused := g.admitLocked(l, concurrent, now)
	if refused != nil {
		g.mu.Unlock()
		return nil, refused
	}
	l.taken++
	if run {
		l.emptied = now
		g.takeLocked(l)
		g.mu.Unlock()
		return &Pass{gate: g, line: l, since: now, slot: true}, nil
	}
	w := &waiter{line: l, since: now, ready: make(chan struct{})}
	g.makeRoomLocked(l)
	l.queue = append(l.queue, w)
	g.waiting++
	most, way := g.patienceLocked(l, now), g.wayLocked()
	g.mu.Unlock()
	if refused := g.await(ctx, w, most, way); refused != nil {
		return nil, refused
	}
	return &Pass{gate: g, line: l, since: time.Now(), slot: true}, nil
}

// await returns when a waiter has its slot, or why it gets none. It waits for at most so long, and
// gives way to others for a part of that.
func (g *Gate) await(ctx context.Context, w *waiter, most, way time.Duration) *Refusal {
	late, own := time.NewTimer(most), time.NewTimer(way)
	defer late.Stop()
	defer own.Stop()
	for {
		select {
		case <-w.ready:
			return w.refused
		case <-own.C: // it gives way no longer
			g.mu.Lock()
			g.dispatchLocked()
			g.mu.Unlock()
		case <-late.C:
			return g.giveUp(w, &Refusal{Reason: TooOld, Wait: most, Retry: time.Second})
		case <-ctx.Done():
			return g.giveUp(w, &Refusal{Reason: Gone, Retry: time.Second})
		}
	}
}

// giveUp takes a waiter out of its line, unless it was let in at that moment.
func (g *Gate) giveUp(w *waiter, why *Refusal) *Refusal {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-w.ready:
		return w.refused
	default:
	}
	g.removeLocked(w)
	return why
}

// arriveLocked finds the line of a tenant, and forgets those of tenants that are gone.
func (g *Gate) arriveLocked(tenant string, now time.Time) *line {
	l := g.lines[tenant]
	if l == nil {
		l = &line{tenant: tenant}
		l.place = g.recent.PushFront(l)
		g.lines[tenant] = l
	}
	g.recent.MoveToFront(l.place)
	if len(l.queue) == 0 && now.Sub(l.asked) > g.opts.Wait {
		l.emptied, l.short = now, false // nobody has waited for a while
	}
	l.asked = now
	g.forgetLocked(now)
	return l
}

// forgetLocked drops the lines of tenants that have not asked for a while and have
// nothing under way. Those that have something move to the front and are looked at later.
func (g *Gate) forgetLocked(now time.Time) {
	for range 2 { // so that it costs little, and more go than come
		last := g.recent.Back()
		if last == nil {
			return
		}
		l := last.Value.(*line) //nolint:forcetypeassert // nothing else is in the list
		switch {
		case now.Sub(l.asked) < present:
			return
		case l.underWay() > 0:
			g.recent.MoveToFront(last)
		default:
			g.recent.Remove(last)
			delete(g.lines, l.tenant)
		}
	}
}

// shareLocked is how many slots a tenant may hold now.
func (g *Gate) shareLocked() int {
	tenants := max(1, len(g.lines))
	if tenants == 1 {
		return g.opts.Slots
	}
	return max((g.opts.Slots+tenants-1)/tenants, g.opts.Slots/4, 1)
}

// standingLocked says whether a line has not been empty for the longest wait there is: to
// wait in it at full length helps nobody, as everybody waits that long. One from which all
// were turned away, as nothing moved, is as bad as one in which they still stand.
func (g *Gate) standingLocked(l *line, now time.Time) bool { return now.Sub(l.emptied) > g.opts.Wait }

// patienceLocked is how long a request may wait that joins a line now.
func (g *Gate) patienceLocked(l *line, now time.Time) time.Duration {
	if g.standingLocked(l, now) {
		return g.opts.Wait / 4
	}
	return g.opts.Wait
}

// admitLocked says whether a request may run at once, or is refused at once.
func (g *Gate) admitLocked(l *line, concurrent int, now time.Time) (run bool, refused *Refusal) {
	under := l.underWay()
	if concurrent > 0 && under >= concurrent {
		return false, &Refusal{Reason: Concurrent, Limit: concurrent, Used: under, Retry: time.Second}
	}
	if refused := g.asideLocked(l); refused != nil {
		return false, refused
	}
	share := g.shareLocked()
	if g.running < g.opts.Slots && l.running < share && len(l.queue) == 0 && !g.givesWayLocked(l, now, now) {
		return true, nil
	}
	most := g.patienceLocked(l, now)
	if expected := g.took * time.Duration(len(l.queue)+1) / time.Duration(share); expected > most {
		return false, &Refusal{Reason: Hopeless, Wait: most, Retry: max(time.Second, expected)}
	}
	if room := g.roomLocked(l, share, now); len(l.queue) >= room {
		l.turned++
		return false, crowded(room, len(l.queue))
	}
	if g.waiting >= g.opts.Queue && g.longestLocked(l) == l {
		return false, g.fullLocked()
	}
	return false, nil
}

// roomLocked is how many requests may wait in a line now. Nobody profits from a long line when
// more comes than can be answered: it only makes everybody in it wait, and those who wait for
// longest are the first to give up.
func (g *Gate) roomLocked(l *line, share int, now time.Time) int {
	crowd := max(1, g.opts.Queue/4)
	few := min(share, crowd)
	if l.short && now.Sub(l.counting) >= present {
		l.short = 8*l.turned >= l.taken
		l.counting, l.taken, l.turned = now, 0, 0
	}
	if !l.short && len(l.queue) >= crowd && now.Sub(l.emptied) > g.opts.Wait/16 {
		l.short = true
		l.counting, l.taken, l.turned = now, 0, 0
		g.shedLocked(l, few)
	}
	if l.short {
		return few
	}
	return g.opts.Queue + 1 // all lines together have that many
}

// shedLocked refuses those who have waited for longest, so that one more finds a place among few.
func (g *Gate) shedLocked(l *line, few int) {
	waited := len(l.queue)
	for _, w := range slices.Clone(l.queue[:max(0, waited-few+1)]) {
		if w.firm { // it had begun
			continue
		}
		w.refused = crowded(few, waited)
		g.removeLocked(w)
		close(w.ready)
	}
}

// crowded refuses a request of a line in which few may wait.
func crowded(few, waiting int) *Refusal {
	return &Refusal{Reason: QueueFull, Limit: few, Used: waiting, Retry: time.Second}
}

// asideLocked refuses a request where too many wait for something else already: all of a
// tenant's once half of what may wait does, if it has its share of that.
func (g *Gate) asideLocked(l *line) *Refusal {
	limit, used := g.opts.Aside, g.aside
	if 2*g.aside >= limit && len(g.lines) > 1 {
		if share := max(1, limit/len(g.lines)); l.aside >= share {
			limit, used = share, l.aside
		}
	}
	if used < limit {
		return nil
	}
	return &Refusal{Reason: Elsewhere, Limit: limit, Used: used, Retry: time.Second}
}

// longestLocked is the line whose last gives way when a request joins l and as many wait
// as may: the longest, which may be l itself.
func (g *Gate) longestLocked(l *line) *line {
	longest := l
	for _, other := range g.lines {
		if n := len(other.queue); n > 0 && other.queue[n-1].firm {
			continue
		}
		if len(other.queue) > len(longest.queue)+1 || longest != l && len(other.queue) > len(longest.queue) {
			longest = other
		}
	}
	return longest
}

func (g *Gate) fullLocked() *Refusal {
	return &Refusal{Reason: QueueFull, Limit: g.opts.Queue, Used: g.waiting, Retry: time.Second}
}

// makeRoomLocked makes room for one more who waits, where [Gate.admitLocked] found that
// another gives way.
func (g *Gate) makeRoomLocked(l *line) {
	if g.waiting < g.opts.Queue {
		return
	}
	longest := g.longestLocked(l)
	last := longest.queue[len(longest.queue)-1]
	last.refused = g.fullLocked()
	g.removeLocked(last)
	close(last.ready)
}

func (g *Gate) removeLocked(w *waiter) {
	for at, other := range w.line.queue {
		if other == w {
			w.line.queue = append(w.line.queue[:at], w.line.queue[at+1:]...)
			g.waiting--
			break
		}
	}
}

func (g *Gate) takeLocked(l *line) {
	g.countLocked(l, time.Now())
	l.running++
	g.running++
}

// dispatchLocked gives free slots to those who wait: first to the tenant that has the
// fewest, of those to the one whose request has waited for longest.
func (g *Gate) dispatchLocked() {
	for g.running < g.opts.Slots && g.waiting > 0 {
		share, now := g.shareLocked(), time.Now()
		var next *line
		for _, l := range g.lines {
			if len(l.queue) == 0 || l.running >= share {
				continue
			}
			if first := l.queue[0]; !first.firm && g.givesWayLocked(l, first.since, now) {
				continue
			}
			if next == nil || l.running < next.running ||
				l.running == next.running && l.queue[0].since.Before(next.queue[0].since) {
				next = l
			}
		}
		if next == nil {
			return
		}
		w := next.queue[0]
		g.removeLocked(w)
		if len(next.queue) == 0 {
			next.emptied = now
		}
		g.takeLocked(next)
		close(w.ready)
	}
}

// releaseLocked gives a slot back that was held since a time.
func (g *Gate) releaseLocked(l *line, since time.Time) {
	g.countLocked(l, time.Now())
	l.running--
	g.running--
	held := min(time.Since(since), g.opts.Wait) // a few that take minutes say nothing about the others
	if g.took == 0 {
		g.took = held
	}
	g.took += (held - g.took) / 16
	g.dispatchLocked()
}
