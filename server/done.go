package server

import (
	"net/http"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/internal/trail"
)

// Done says what became of a request. Nothing of it is a caller's choice.
type Done struct {
	Operation string // as the surface calls it, or mcp, probe or metrics; "": none that is there
	Status    int
	Took      time.Duration
	Refused   string // why, in one word; "": it was not refused
	Calls     []trail.Call
}

// unauthorised is the reason of a refusal of what a caller may not do.
const unauthorised = "authority"

// tellDone says what became of a request.
func (s *Server) tellDone(r *http.Request, out *response) {
	if s.opts.Done == nil {
		return
	}
	u := underwayOf(r)
	d := Done{
		Operation: u.Operation(), Status: out.status, Took: time.Since(out.begun),
		Refused: u.reason, Calls: u.Calls(),
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
	s.opts.Done(d)
}

// operationOf is that of a route which no surface of ours has, or which says none.
func operationOf(route string) string {
	_, path, _ := strings.Cut(route, " ") // a pattern has a method, or none
	if path == "" {
		path = route
	}
	switch {
	case path == healthPath || path == livePath || path == readyPath:
		return "probe"
	case path == metricsPath:
		return "metrics"
	case path == mcpPath || strings.HasPrefix(path, mcpPath+"/"):
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

// Load is what the server has to do at the moment.
func (s *Server) Load() admission.Load { return s.gate.Load() }
