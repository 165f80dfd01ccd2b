package server

import (
	"net/http"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

const (
	mcpPath   = "/mcp"
	adminPath = "/v1/admin" // and below it

	metricsPath = "/metrics"
)

// misplaced reports whether a request is for operators and did not come to their listener,
// or the other way round. The path is as the surfaces read it: without escapes.
func (s *Server) misplaced(r *http.Request) bool {
	if !s.opts.OperatorsApart || isProbe(r) || s.isMetadata(r) {
		return false
	}
	forOperators := r.URL.Path == adminPath || r.URL.Path == metricsPath || strings.HasPrefix(r.URL.Path, adminPath+"/")
	atOperators := atOperators(r.Context())
	return forOperators != atOperators
}

// routes sends requests to the surfaces.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(s.probe(healthPath, alive))
	mux.HandleFunc(s.probe(livePath, alive))
	mux.HandleFunc(s.probe(readyPath, s.readiness))
	if s.opts.Metrics != nil {
		mux.HandleFunc("GET "+metricsPath, s.metrics)
	}
	if s.opts.Resource != nil {
		mux.HandleFunc(metadataPath, s.describeResource)
		mux.HandleFunc(metadataPath+"/", s.describeResource)
	}
	if s.opts.REST != nil {
		mux.Handle("/v1/", s.opts.REST)
	}
	if s.opts.MCP != nil {
		mux.Handle(mcpPath, s.opts.MCP)
	}
	mux.HandleFunc(mcpPath+"/{agent}", func(w http.ResponseWriter, r *http.Request) {
		agent := r.PathValue("agent")
		if h := s.opts.Agents[agent]; h != nil {
			h.ServeHTTP(w, r)
			return
		}
		refuse(w, r, problem.Of(&loci.Error{Code: loci.NotFound, Msg: "there is no such agent here",
			Recovery: "Use an agent that the setting agents names."}))
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, r, problem.NoRoute(http.StatusNotFound, r.Method, r.URL.Path))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if out, ok := w.(*response); ok {
			defer func() { out.route = r.Pattern }() // what is in front may have a copy of the request
		}
		if s.misplaced(r) {
			refuse(w, r, problem.NoRoute(http.StatusNotFound, r.Method, r.URL.Path))
			return
		}
		mux.ServeHTTP(w, r)
	})
}
