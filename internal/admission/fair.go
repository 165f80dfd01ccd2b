package admission

import (
	"math"
	"time"
)

// greedy is how many times its share of the processors a tenant may have had lately before it gives
// way. It is more than 1, as whoever asks for just its share has more of it now and then.
const greedy = 1.5

// A spent is what a tenant had of the processors, each second of it counting less the longer it is
// past: by a factor of e in the time for which a tenant is present.
type spent struct {
	seconds float64
	at      time.Time
	turn    float64 // of the gate, as of when it is counted
}

// processors is how many requests keep all processors busy.
func (g *Gate) processors() int { return max(1, g.opts.Slots/4) }

// countLocked counts what a line had until now. It is called before more or fewer requests run.
func (g *Gate) countLocked(l *line, now time.Time) {
	if g.running > 0 { // they share the processors
		part := min(1, float64(g.processors())/float64(g.running))
		g.turn += part * now.Sub(g.turned).Seconds()
	}
	g.turned = now
	s := &l.spent
	s.seconds *= math.Exp(-now.Sub(s.at).Seconds() / present.Seconds())
	s.seconds += float64(l.running) * (g.turn - s.turn)
	s.at, s.turn = now, g.turn
}

// givesWayLocked says whether a tenant that had more than its share of the processors lets others
// have them first: while requests of theirs run that keep the processors busy, it begins none, though
// there are slots.
func (g *Gate) givesWayLocked(l *line, since, now time.Time) bool {
	if g.running == l.running || g.running < g.processors() || now.Sub(since) >= g.wayLocked() {
		return false
	}
	g.countLocked(l, now)
	share := present.Seconds() * float64(g.processors()) / float64(len(g.lines))
	return l.spent.seconds > greedy*share
}

// wayLocked is how long a request gives way at most.
func (g *Gate) wayLocked() time.Duration { return g.opts.Wait / 16 }
