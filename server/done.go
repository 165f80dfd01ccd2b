package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/internal/trail"
)

// Done says what became of a request. Nothing of it is a caller's choice.
type Done struct {
	Operation string // as the surface calls it, or mcp, probe or metrics; "": none that is there
	Method    string // one of those that some surface takes; "": another one
	Route     string // the pattern of the path; "": the request did not come that far
	Status    int
	Took      time.Duration
	Refused   string // why, in one word; "": it was not refused
	Calls     []trail.Call
}

// unauthorised is the reason of a refusal of what a caller may not do.
const unauthorised = "authority"

// tellDone says what became of a request.
func (s *Server) tellDone(r *http.Request, out *response) {
	u := underwayOf(r)
	d := Done{
		Operation: u.Operation(), Status: out.status, Took: time.Since(out.begun),
		Refused: u.reason, Calls: u.Calls(), Route: pathOf(out.route),
	}
	if d.Status == 0 { // nothing was written: net/http says 200
		d.Status = http.StatusOK
	}
	if d.Operation == "" {
		d.Operation = operationOf(out.route)
	}
	if d.Refused == "" && u.Refused() != "" {
		d.Refused = unauthorised
	}
	if slices.Contains(methods, r.Method) {
		d.Method = r.Method
	}
	if s.opts.Done != nil {
		s.opts.Done(d)
	}
	out.ended(d)
}

// beginning says that a request comes.
func (s *Server) beginning(ctx context.Context, r *http.Request) (of context.Context, ended func(Done)) {
	if s.opts.Begin == nil || s.uncounted(r) {
		return ctx, func(Done) {}
	}
	return s.opts.Begin(ctx, r.Header)
}

// pathOf is the path of a pattern, which has a method or none.
func pathOf(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		return path
	}
	return pattern
}

// operationOf is that of a route which no surface of ours has, or which says none.
func operationOf(route string) string {
	path := pathOf(route)
	switch {
	case path == healthPath || path == livePath || path == readyPath:
		return "probe"
	case path == metricsPath:
		return "metrics"
	case isMCP(path):
		return "mcp"
	}
	return ""
}

// metrics answers those who may read metrics; where nobody is asked who they are, everybody.
func (s *Server) metrics(w http.ResponseWriter, r *http.Request) {
	if p, asked := PrincipalOf(r.Context()); asked {
		if err := p.Require(loci.ScopeMetrics); err != nil {
			trail.Refuses(r.Context(), "metrics")
			trail.Lacks(r.Context(), string(loci.ScopeMetrics))
			refuse(w, r, problem.Of(err))
			return
		}
	}
	s.opts.Metrics.ServeHTTP(w, r)
}

// A Load is what a server has to do at the moment, and who is connected to it.
type Load struct {
	Running, Waiting, Aside, Slots, Tenants int // requests, and tenants that ask

	Unread  int    // answers that wait for their readers
	GivenUp uint64 // of these, those that gave way to others, since the start

	Connections     int    // that are open
	Strangers       int    // of these, those on which no good credential has come
	MostConnections int    // that may be open
	Displaced       uint64 // connections that gave way to others, since the start
}

// Load is what the server has to do at the moment.
func (s *Server) Load() Load {
	g := s.gate.Load()
	l := Load{
		Running: g.Running, Waiting: g.Waiting, Aside: g.Aside, Slots: g.Slots, Tenants: g.Tenants,
		MostConnections: s.limits.Load().Connections,
	}
	l.Unread, l.GivenUp = s.answers.count()
	s.connections.count(&l)
	s.operators.count(&l)
	return l
}
