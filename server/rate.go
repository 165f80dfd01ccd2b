package server

import (
	"container/list"
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/loci-memory/loci"
)

// CallerLimits bound the requests with one credential, whatever its tenant may, or those of
// one tenant. 0: no bound.
type CallerLimits struct {
	RequestsPerSecond  float64
	Burst              int // of them at once; 0: twice RequestsPerSecond
	ConcurrentRequests int // under way at once
}

// burstOf is how many requests may come at once where nobody said so.
func burstOf(perSecond float64) int { return max(1, int(math.Ceil(2*perSecond))) }

// An allowance is how many requests somebody may send.
type allowance struct {
	name      string  // of the limit, for clients
	perSecond float64 // 0: any number
	burst     int
}

// taken is what a request has left of an allowance.
type taken struct {
	allowance
	ok    bool
	left  int           // that may still come at once
	full  time.Duration // until the bucket is full
	retry time.Duration // until the next may come, if this one may not
}

// maxRates is how many callers have a bucket of their own at once. Whoever asked least
// recently starts again with a full one.
const maxRates = 10_000

// rates count the requests of each caller in token buckets, of this process alone.
type rates struct {
	mu     sync.Mutex
	of     map[string]*list.Element // of *bucket
	recent *list.List               // who asked last is in front
}

type bucket struct {
	caller string
	*rate.Limiter
}

func newRates() *rates {
	return &rates{of: map[string]*list.Element{}, recent: list.New()}
}

// take counts a request. A caller whose allowance has changed begins with a full bucket.
func (r *rates) take(caller string, a allowance, now time.Time) taken {
	t := taken{allowance: a, ok: true}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := r.of[caller]
	if a.perSecond == 0 {
		if at != nil {
			r.recent.Remove(at)
			delete(r.of, caller)
		}
		return t
	}
	if at == nil {
		if len(r.of) >= maxRates {
			last := r.recent.Back()
			delete(r.of, r.recent.Remove(last).(*bucket).caller) //nolint:forcetypeassert // nothing else is in it
		}
		at = r.recent.PushFront(&bucket{caller: caller})
		r.of[caller] = at
	}
	r.recent.MoveToFront(at)
	b := at.Value.(*bucket) //nolint:forcetypeassert // nothing else is in it
	if b.Limiter == nil || b.Limit() != rate.Limit(a.perSecond) || b.Burst() != a.burst {
		b.Limiter = rate.NewLimiter(rate.Limit(a.perSecond), a.burst)
	}
	t.ok = b.AllowN(now, 1)
	tokens := b.TokensAt(now)
	t.left = max(0, int(tokens))
	t.full = time.Duration((float64(a.burst) - tokens) / a.perSecond * float64(time.Second))
	t.retry = time.Duration((1 - tokens) / a.perSecond * float64(time.Second))
	return t
}

// show tells a client its rate, as the draft of RateLimit header fields writes it: an
// allowance is a member of a list.
func (t taken) show(h http.Header) {
	if t.perSecond == 0 {
		return
	}
	window := math.Ceil(float64(t.burst) / t.perSecond)
	h.Add("RateLimit-Policy", fmt.Sprintf(`"%s";q=%d;w=%.0f`, t.name, t.burst, window))
	h.Add("RateLimit", fmt.Sprintf(`"%s";r=%d;t=%.0f`, t.name, t.left, math.Ceil(t.full.Seconds())))
}

// refusal says that an allowance is used up.
func (t taken) refusal(remedy string) *loci.Error {
	return &loci.Error{
		Code: loci.Unavailable,
		Msg: fmt.Sprintf("the %s has used all of its %d requests at once; the limit is %g a second",
			t.name, t.burst, t.perSecond),
		Recovery: "Send fewer requests, and again after Retry-After, or " + remedy + ".",
	}
}

// underWay counts the requests of each caller whose credential bounds them.
type underWay struct {
	mu sync.Mutex
	of map[string]int
}

// begin counts one more request, unless that is more than most; used is how many there are
// without it. end is to be called where ok.
func (u *underWay) begin(caller string, most int) (used int, ok bool, end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if used = u.of[caller]; used >= most {
		return used, false, nil
	}
	if u.of == nil {
		u.of = map[string]int{}
	}
	u.of[caller]++
	return used, true, func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.of[caller]--; u.of[caller] == 0 {
			delete(u.of, caller)
		}
	}
}

// whose names the limits of a credential.
const whose = "key"

// bound keeps the requests with a credential to its own limits, before they count for their
// tenant. done is to be called when the request has ended; ok says that it may go on.
func (s *Server) bound(w http.ResponseWriter, r *http.Request) (done func(), ok bool) {
	done = func() {}
	c := &underwayOf(r).caller
	l := c.Limits
	if l == (CallerLimits{}) {
		return done, true
	}
	if l.Burst == 0 {
		l.Burst = burstOf(l.RequestsPerSecond)
	}
	t := s.callers.take(c.Subject(), allowance{whose, l.RequestsPerSecond, l.Burst}, time.Now())
	t.show(w.Header())
	if !t.ok {
		underwayOf(r).reason = "key_rate"
		s.refused(w, r, http.StatusTooManyRequests, t.retry, t.refusal("ask the operator for more: loci key limit"))
		return done, false
	}
	if l.ConcurrentRequests == 0 {
		return done, true
	}
	used, ok, end := s.under.begin(c.Subject(), l.ConcurrentRequests)
	if !ok {
		underwayOf(r).reason = "key_concurrency"
		s.refused(w, r, http.StatusTooManyRequests, time.Second, &loci.Error{
			Code: loci.Unavailable,
			Msg: fmt.Sprintf("%d requests of this %s are under way; the limit is %d",
				used, whose, l.ConcurrentRequests),
			Recovery: "Send fewer at once, or ask the operator for more: loci key limit.",
		})
		return done, false
	}
	return end, true
}
