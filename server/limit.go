package server

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/internal/trail"
)

// Limits bound what runs, for all and for each tenant that has no limits of its own
// ([Options].Allowed). They can be changed while a server runs. The zero value of each field
// means its default.
type Limits struct {
	InFlight int           // requests that run at once; default four for each processor
	Queue    int           // that wait for one of them to end; default 256
	Wait     time.Duration // for at most so long; default 2 s
	Aside    int           // that wait for something else than processors, such as a service; default 256

	// Connections are how many may be open at once, and as many again of operators at listeners
	// of their own; default 4,096, or half of the files that the process may open if that is less.
	Connections int

	Concurrent int     // requests of a tenant under way at once; default no bound
	PerSecond  float64 // requests a second of a tenant; default no bound
	Burst      int     // of them at once; default twice PerSecond
}

func (l *Limits) complete() error {
	if min(l.InFlight, l.Queue, l.Aside, l.Connections, l.Concurrent, l.Burst) < 0 || l.Wait < 0 || l.PerSecond < 0 {
		return loci.Errorf(loci.Invalid, "limits of a server must not be negative")
	}
	for _, f := range []struct {
		field  *int
		preset int
	}{
		{&l.InFlight, 4 * cores.Usable()}, {&l.Queue, 256}, {&l.Aside, 256},
		{&l.Connections, min(4096, mayOpen()/2)}, {&l.Burst, burstOf(l.PerSecond)},
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
	return admission.Options{Slots: l.InFlight, Queue: l.Queue, Wait: l.Wait, Aside: l.Aside}
}

// of are the limits of a tenant: its own, and the server's where it has none.
func (l *Limits) of(own CallerLimits) CallerLimits {
	own.ConcurrentRequests = cmp.Or(own.ConcurrentRequests, l.Concurrent)
	if own.RequestsPerSecond == 0 {
		own.RequestsPerSecond, own.Burst = l.PerSecond, l.Burst
	}
	own.Burst = cmp.Or(own.Burst, burstOf(own.RequestsPerSecond))
	return own
}

// SetLimits changes the limits of a running server. What runs already goes on.
func (s *Server) SetLimits(l Limits) error {
	if err := l.complete(); err != nil {
		return err
	}
	s.gate.Set(l.gate())
	s.connections.set(l.Connections)
	s.operators.set(l.Connections)
	s.limits.Store(&l)
	return nil
}

// uncounted says which requests no limit counts: probes and readers of metrics, which come
// when there is much to do, those that ask where to get a token, and clients that listen at an address of MCP, which take any time and cost nothing.
func (s *Server) uncounted(r *http.Request) bool {
	return listens(r) || isProbe(r) || s.isMetadata(r) || r.URL.Path == metricsPath
}

// listens reports whether a client waits for what happens, at an address of MCP.
func listens(r *http.Request) bool {
	return r.Method == http.MethodGet && isMCP(r.URL.Path)
}

// underway is what a request has to do with the limits.
type underway struct {
	admission.Visit
	trail.Trail
	caller   Caller         // nobody where nobody was asked
	stranger loci.Principal // whose credential was refused, if that is known
	reason   string         // why the server refused it, in one word; "": it did not
	tenant   string
	limits   CallerLimits // of the tenant
	counted  bool
}

type underwayKey struct{}

// begin puts what a request has to do with the limits into its context.
func (s *Server) begin(ctx context.Context) context.Context {
	u := &underway{Visit: admission.Visit{Ending: s.ending}}
	return context.WithValue(trail.With(admission.With(ctx, &u.Visit), &u.Trail), underwayKey{}, u)
}

func underwayOf(r *http.Request) *underway {
	return r.Context().Value(underwayKey{}).(*underway) //nolint:forcetypeassert // observe put it there
}

// admit refuses what is too much before its body comes in: what is above the rate of its
// tenant, and what would be refused afterwards.
func (s *Server) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.uncounted(r) {
			next.ServeHTTP(w, r)
			return
		}
		u := underwayOf(r)
		done, ok := s.bound(w, r)
		if !ok {
			return
		}
		defer done()
		u.tenant, u.counted = s.opts.Tenant(r), true
		own, err := s.opts.Allowed(r.Context(), u.tenant)
		if err != nil {
			u.reason = "tenant_limits"
			refuse(w, r, problem.Of(err))
			return
		}
		u.limits = s.limits.Load().of(own)
		t := s.rates.take(u.tenant, allowance{"tenant", u.limits.RequestsPerSecond, u.limits.Burst}, time.Now())
		t.show(w.Header())
		if !t.ok {
			u.reason = "tenant_rate"
			s.refused(w, r, http.StatusTooManyRequests, t.retry,
				t.refusal("ask the operator for more: loci tenant rate-limit, or limits.requests_per_second"))
			return
		}
		if no := s.gate.Look(u.tenant, u.limits.ConcurrentRequests); no != nil {
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
		pass, no := s.gate.Enter(r.Context(), u.tenant, u.limits.ConcurrentRequests)
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
	underwayOf(r).reason = string(no.Reason)
	status, err := http.StatusServiceUnavailable, loci.Errorf(loci.Unavailable, "whoever asked is gone")
	again := "Try again after Retry-After, with a pause that grows"
	switch no.Reason {
	case admission.QueueFull:
		err = loci.Errorf(loci.Unavailable, "the server has as many requests as it can handle: %d wait, and %d may",
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
		err.Recovery = "Send fewer at once, or ask the operator for more: loci tenant rate-limit, or limits.concurrent_requests."
	case admission.Gone:
	}
	s.refused(w, r, status, no.Retry, err)
}

func (s *Server) refused(w http.ResponseWriter, r *http.Request, status int, retry time.Duration, err *loci.Error) {
	p := problem.At(status, err)
	p.Retry = retry
	refuse(w, r, p)
}
