package server

import (
	"container/list"
	"context"
	"fmt"
	"math"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/internal/problem"
)

// Limits bound what runs, for all and for each tenant. They can be changed while a server
// runs. The zero value of each field means its default.
type Limits struct {
	InFlight int           // requests that run at once; default four for each processor
	Queue    int           // that wait for one of them to end; default 256
	Wait     time.Duration // for at most so long; default 2 s
	Aside    int           // that wait for something else than processors, such as a service; default 256

	Concurrent int     // requests of a tenant under way at once; default no bound
	PerSecond  float64 // requests a second of a tenant; default no bound
	Burst      int     // of them at once; default twice PerSecond
}

func (l *Limits) complete() error {
	if min(l.InFlight, l.Queue, l.Aside, l.Concurrent, l.Burst) < 0 || l.Wait < 0 || l.PerSecond < 0 {
		return loci.Errorf(loci.Invalid, "limits of a server must not be negative")
	}
	for _, f := range []struct {
		field  *int
		preset int
	}{
		{&l.InFlight, 4 * runtime.GOMAXPROCS(0)}, {&l.Queue, 256}, {&l.Aside, 256},
		{&l.Burst, max(1, int(math.Ceil(2*l.PerSecond)))},
	} {
		if *f.field == 0 {
			*f.field = f.preset
		}
	}
	if l.Wait == 0 {
		l.Wait = 2 * time.Second
	}
	return nil
}

func (l *Limits) gate() admission.Options {
	return admission.Options{Slots: l.InFlight, Queue: l.Queue, Wait: l.Wait, Aside: l.Aside, Concurrent: l.Concurrent}
}

// SetLimits changes the limits of a running server. What runs already goes on.
func (s *Server) SetLimits(l Limits) error {
	if err := l.complete(); err != nil {
		return err
	}
	s.gate.Set(l.gate())
	s.rates.set(l)
	return nil
}

// maxRates is how many tenants have a bucket of their own at once. Whoever asked least
// recently starts again with a full one.
const maxRates = 10_000

// rates count the requests of each tenant in token buckets, of this process alone.
type rates struct {
	mu     sync.Mutex
	limits Limits
	of     map[string]*list.Element // of *bucket
	recent *list.List               // who asked last is in front
}

type bucket struct {
	tenant  string
	limiter *rate.Limiter
}

func newRates(l Limits) *rates {
	return &rates{limits: l, of: map[string]*list.Element{}, recent: list.New()}
}

func (r *rates) set(l Limits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.PerSecond != r.limits.PerSecond || l.Burst != r.limits.Burst {
		r.of, r.recent = map[string]*list.Element{}, list.New()
	}
	r.limits = l
}

// take counts a request. left is how many more may come at once, and full when the bucket
// is; retry is when the next may come, if this one may not.
func (r *rates) take(tenant string, now time.Time) (l Limits, left int, full, retry time.Duration, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l = r.limits
	if l.PerSecond == 0 {
		return l, 0, 0, 0, true
	}
	at := r.of[tenant]
	if at == nil {
		if len(r.of) >= maxRates {
			last := r.recent.Back()
			delete(r.of, r.recent.Remove(last).(*bucket).tenant) //nolint:forcetypeassert // nothing else is in it
		}
		at = r.recent.PushFront(&bucket{tenant, rate.NewLimiter(rate.Limit(l.PerSecond), l.Burst)})
		r.of[tenant] = at
	}
	r.recent.MoveToFront(at)
	b := at.Value.(*bucket) //nolint:forcetypeassert // nothing else is in it
	ok = b.limiter.AllowN(now, 1)
	tokens := b.limiter.TokensAt(now)
	left = max(0, int(tokens))
	full = time.Duration((float64(l.Burst) - tokens) / l.PerSecond * float64(time.Second))
	retry = time.Duration((1 - tokens) / l.PerSecond * float64(time.Second))
	return l, left, full, retry, ok
}

// show tells a client its rate, as the draft of RateLimit header fields writes it.
func showRate(h http.Header, l Limits, left int, full time.Duration) {
	window := math.Ceil(float64(l.Burst) / l.PerSecond)
	h.Set("RateLimit-Policy", fmt.Sprintf(`"tenant";q=%d;w=%.0f`, l.Burst, window))
	h.Set("RateLimit", fmt.Sprintf(`"tenant";r=%d;t=%.0f`, left, math.Ceil(full.Seconds())))
}

// uncounted says which requests no limit counts: probes, which come when there is much to
// do, and clients that listen at an address of MCP, which take any time and cost nothing.
func uncounted(r *http.Request) bool {
	listens := r.Method == http.MethodGet && (r.URL.Path == mcpPath || strings.HasPrefix(r.URL.Path, mcpPath+"/"))
	return listens || isProbe(r)
}

// underway is what a request has to do with the limits.
type underway struct {
	admission.Visit
	tenant  string
	counted bool
}

type underwayKey struct{}

// begin puts what a request has to do with the limits into its context.
func (s *Server) begin(ctx context.Context) context.Context {
	u := &underway{Visit: admission.Visit{Ending: s.ending}}
	return context.WithValue(admission.With(ctx, &u.Visit), underwayKey{}, u)
}

func underwayOf(r *http.Request) *underway {
	return r.Context().Value(underwayKey{}).(*underway) //nolint:forcetypeassert // observe put it there
}

// admit refuses what is too much before its body comes in: what is above the rate of its
// tenant, and what would be refused afterwards.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uncounted(r) {
			next.ServeHTTP(w, r)
			return
		}
		u := underwayOf(r)
		u.tenant, u.counted = s.opts.Tenant(r), true
		l, left, full, retry, ok := s.rates.take(u.tenant, time.Now())
		if l.PerSecond > 0 {
			showRate(w.Header(), l, left, full)
		}
		if !ok {
			s.refused(w, r, http.StatusTooManyRequests, retry, &loci.Error{
				Code: loci.Unavailable,
				Msg: fmt.Sprintf("the tenant has used all of its %d requests at once; the limit is %g a second",
					l.Burst, l.PerSecond),
				Recovery: "Send fewer requests, and again after Retry-After, or raise limits.requests_per_second.",
			})
			return
		}
		if no := s.gate.Look(u.tenant); no != nil {
			s.refuseEntry(w, r, no)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// enter bounds the requests that run at once, and shares them out among tenants.
func (s *Server) enter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := underwayOf(r)
		if !u.counted {
			next.ServeHTTP(w, r)
			return
		}
		pass, no := s.gate.Enter(r.Context(), u.tenant)
		if no != nil {
			s.refuseEntry(w, r, no)
			return
		}
		defer pass.Leave()
		u.Let(pass)
		next.ServeHTTP(w, r)
	})
}

// refuseEntry says why a request gets no slot.
func (s *Server) refuseEntry(w http.ResponseWriter, r *http.Request, no *admission.Refusal) {
	status, err := http.StatusServiceUnavailable, loci.Errorf(loci.Unavailable, "whoever asked is gone")
	again := "Try again after Retry-After, with a pause that grows"
	switch no.Reason {
	case admission.QueueFull:
		err = loci.Errorf(loci.Unavailable, "the server has as many requests as it can handle: %d of %d that may wait do",
			no.Used, no.Limit)
		err.Recovery = again + ", or raise http.max_queue."
	case admission.TooOld:
		err = loci.Errorf(loci.Unavailable, "the server has as many requests as it can handle: this one waited for %v, "+
			"which is the limit", no.Wait)
		err.Recovery = again + "; http.max_wait is the limit."
	case admission.Hopeless:
		err = loci.Errorf(loci.Unavailable, "the server has as many requests as it can handle: this one would wait for "+
			"longer than the limit of %v", no.Wait)
		err.Recovery = again + "; http.max_wait is the limit."
	case admission.Elsewhere:
		err = loci.Errorf(loci.Unavailable, "%d requests wait for an index or for a service; the limit is %d",
			no.Used, no.Limit)
		err.Recovery = again + "."
	case admission.Concurrent:
		status = http.StatusTooManyRequests
		err = loci.Errorf(loci.Unavailable, "%d requests of this tenant are under way; the limit is %d", no.Used, no.Limit)
		err.Recovery = "Send fewer at once, or raise limits.concurrent_requests."
	case admission.Gone:
	}
	s.refused(w, r, status, no.Retry, err)
}

func (s *Server) refused(w http.ResponseWriter, r *http.Request, status int, retry time.Duration, err *loci.Error) {
	p := problem.At(status, err)
	p.Retry = retry
	refuse(w, r, p)
}
