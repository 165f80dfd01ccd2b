package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

// headerRequestID names a request. A client may choose it; what could confuse a
// reader of the log is replaced.
const headerRequestID = "X-Request-Id"

var validRequestID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// observe names each request, logs it, refuses one with too long a head, and keeps a
// panic from ending more than it.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		c, waits := connectionOf(r.Context()), listens(r)
		if s.opts.Authenticate == nil {
			c.know("")
		}
		over := c.begin(r.Context(), waits)
		if over == nil {
			return
		}
		defer over()
		tooLong := checkHeaderSize(r) // of what was sent: the name below may be shorter
		id := r.Header.Get(headerRequestID)
		if !validRequestID.MatchString(id) {
			id = strings.ToLower(rand.Text()[:16])
		}
		r.Header.Set(headerRequestID, id)
		w.Header().Set(headerRequestID, id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.leaving() { // or the next request may meet a connection that was just closed
			w.Header().Set("Connection", "close")
		}
		body := &counted{ReadCloser: r.Body}
		// A copy: net/http looks at the body of its own after the reply.
		ctx, ended := s.beginning(s.begin(r.Context()), r)
		r = r.WithContext(ctx)
		r.Body = body
		out := &response{ResponseWriter: w, server: s, begun: begun, request: r, ended: ended}
		defer func() {
			defer out.extend(0) // for what net/http still has to send
			if p := recover(); p != nil {
				if err, ok := p.(error); ok && errors.Is(err, http.ErrAbortHandler) {
					panic(p)
				}
				s.opts.Logger.ErrorContext(r.Context(), "request panicked", "request_id", id, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				if out.status == 0 {
					refuse(out, r, problem.Of(&loci.Error{Code: loci.Internal, Msg: "internal error"}))
				}
			}
			s.tellRefusal(r)
			s.tellDone(r, out)
			// The pattern and not the path: paths may come to hold what users call things.
			line := []any{"request_id", id, "method", clipMethod(r.Method), "route", out.route,
				"status", out.status, "bytes_in", body.n, "bytes_out", out.n, "duration_ms", time.Since(begun).Milliseconds()}
			if out.caller != "" {
				line = append(line, "caller", out.caller)
			}
			if refused := underwayOf(r).Refused(); refused != "" {
				line = append(line, "refused", refused)
			}
			s.opts.Logger.InfoContext(r.Context(), "request", line...)
			if r.ProtoMajor == 2 { // package http would send the last bytes when nobody hears of it
				out.deliver(c)
			}
		}()
		if tooLong != nil {
			refuse(out, r, problem.At(http.StatusRequestHeaderFieldsTooLarge, tooLong))
			return
		}
		next.ServeHTTP(out, r)
	})
}

// clipMethod shortens a method that a stranger made up.
func clipMethod(method string) string { return method[:min(len(method), 16)] }

// counted counts what was read of a body.
type counted struct {
	io.ReadCloser
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n += int64(n)
	return n, err
}
