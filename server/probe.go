package server

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

// The paths of probes. That of health is the older name of that of life.
const (
	healthPath = "/healthz"
	livePath   = "/livez"
	readyPath  = "/readyz"
)

func isProbe(r *http.Request) bool {
	return r.URL.Path == healthPath || r.URL.Path == livePath || r.URL.Path == readyPath
}

// readyFor is how long an answer about readiness holds, so that whoever asks all the time
// does not ask the store; readyTime is how long the store may take for one.
const (
	readyFor  = time.Second
	readyTime = 2 * time.Second
)

// ready remembers whether the server can do its work.
type ready struct {
	check func(context.Context) error

	mu  sync.Mutex
	at  time.Time // of the answer
	err error
}

// ask returns the answer of the last second, or asks again. Those who come meanwhile wait
// for the same answer.
func (r *ready) ask(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.at.IsZero() && time.Since(r.at) < readyFor {
		return r.err
	}
	// The answer is for all who ask: it does not end with the first of them.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTime)
	defer cancel()
	r.err = r.check(ctx)
	r.at = time.Now()
	return r.err
}

// leaving reports whether the server is to end.
func (s *Server) leaving() bool {
	select {
	case <-s.left:
		return true
	default:
		return false
	}
}

// readiness says why the server is not to be sent requests.
func (s *Server) readiness(r *http.Request) error {
	if s.leaving() {
		return &loci.Error{Code: loci.Unavailable, Msg: "the server is about to end", Recovery: "Use another one."}
	}
	return s.ready.ask(r.Context())
}

// probe answers a question about the server.
func (s *Server) probe(path string, fault func(*http.Request) error) (string, http.HandlerFunc) {
	return path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			refuse(w, r, problem.NoRoute(http.StatusMethodNotAllowed, r.Method, path))
			return
		}
		if err := fault(r); err != nil {
			refuse(w, r, problem.At(http.StatusServiceUnavailable, err))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = io.WriteString(w, `{"status":"ok"}`+"\n") // nobody is left to tell
	}
}

// alive says nothing against a server that answers at all.
func alive(*http.Request) error { return nil }

// leave ends a server: it is not ready any more, serves on for a while, as whoever sends
// requests to several servers learns of it late, and then ends what listens.
func (s *Server) leave(base context.Context, h *http.Server) error {
	s.leaves.Do(func() { close(s.left) })
	if s.opts.Delay > 0 {
		select {
		case <-time.After(s.opts.Delay):
		case <-base.Done():
		}
	}
	s.end.Do(func() { close(s.ending) })
	late, cancel := context.WithTimeout(base, s.opts.Drain)
	defer cancel()
	return h.Shutdown(late)
}
