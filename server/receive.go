package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

const (
	chunk     = 32 << 10 // bytes that are read of a body at once
	smallBody = 64 << 10 // bytes of a body that count for nothing: only how many bodies there are does
)

// receive takes the body of a request in before anything else is done for it, so that
// a client that sends slowly takes no slot from those that do not.
func (s *Server) receive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deadline := http.NewResponseController(w).SetReadDeadline
		b := &transfer{tenant: underwayOf(r).tenant, deadline: func(at time.Time) { _ = deadline(at) }}
		defer s.bodies.leave(b)
		if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
			content, whole, p := s.take(r, b)
			if !whole {
				// What is left is no request, and nobody waits for it.
				w.Header().Set("Connection", "close")
				defer deadline(time.Now()) //nolint:errcheck // what has no connection has no deadline
			}
			if p != nil {
				refuse(w, r, p)
				return
			}
			r.Body = content
		}
		next.ServeHTTP(w, r)
	})
}

// take reads a whole body. One that is too long for every surface is not read whole:
// they say so when they read it, each in its own way.
func (s *Server) take(r *http.Request, b *transfer) (content io.ReadCloser, whole bool, p *problem.Problem) {
	most := s.opts.MaxBody
	if r.ContentLength > most {
		return &overlong{limit: most}, false, nil
	}
	begun := time.Now()
	s.bodies.enter(b)
	var in bytes.Buffer
	for {
		size := int64(in.Len())
		b.extend(s.pace(begun, size, s.opts.Receive))
		in.Grow(int(min(chunk, most+1-size, max(r.ContentLength-size, bytes.MinRead))))
		n, err := r.Body.Read(in.AvailableBuffer()[:min(int64(in.Available()), most+1-size)])
		in.Write(in.AvailableBuffer()[:n])
		if size += int64(n); size > most {
			s.bodies.arrived(b)
			return &overlong{content: bytes.NewReader(in.Bytes()), limit: most}, false, nil
		}
		if n > 0 && !s.bodies.grow(b, size) {
			return nil, false, problem.Of(
				loci.Errorf(loci.Unavailable, "the server holds as many bytes of requests as it can"),
			)
		}
		switch {
		case errors.Is(err, io.EOF):
			if !s.bodies.arrived(b) {
				return nil, false, late()
			}
			return io.NopCloser(bytes.NewReader(in.Bytes())), true, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return nil, false, late()
		case err != nil:
			return nil, false, problem.Of(loci.Errorf(loci.Invalid, "the body did not come whole: %w", err))
		}
	}
}

// late is what a slow sender is told.
func late() *problem.Problem {
	return problem.At(
		http.StatusRequestTimeout,
		&loci.Error{Code: loci.Unavailable, Msg: "the body did not come in time",
			Recovery: "Send the request again, all of it at once."},
	)
}

// pace is the moment by which a transfer must have moved more than size bytes. It began
// at begun and must be over after most.
func (s *Server) pace(begun time.Time, size int64, most time.Duration) time.Time {
	return begun.Add(min(s.opts.Grace+time.Duration(size/int64(s.opts.Rate))*time.Second, most))
}

// overlong is a body of more bytes than any surface takes: those that came, and then an
// error in place of its end.
type overlong struct {
	content *bytes.Reader // nil: nothing was read
	limit   int64
}

// Read returns what there is, and then that it is too much.
func (o *overlong) Read(p []byte) (int, error) {
	if o.content != nil && o.content.Len() > 0 {
		return o.content.Read(p)
	}
	return 0, &http.MaxBytesError{Limit: o.limit}
}

// Close does nothing: the connection is the server's.
func (o *overlong) Close() error { return nil }
