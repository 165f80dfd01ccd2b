package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

const (
	chunk     = 32 << 10 // bytes that are read of a body at once
	smallBody = 64 << 10 // bytes of a body that count for nothing: only how many bodies there are does
)

// An intake bounds the bodies that come in: how many, and how many bytes of them are
// kept. Where there is no room the body that has been coming for longest gives way, and
// not the newcomer: one that somebody sends in earnest is here within moments. There is
// no bound for each address, because every client of the loopback, and every one behind
// a proxy, has the same.
type intake struct {
	most      int   // bodies that come in at once
	mostBytes int64 // of the bodies of all requests, beyond smallBody of each

	mu     sync.Mutex
	coming []*body // oldest first
	held   int64   // bytes, as mostBytes counts them
}

// A body is one that comes in.
type body struct {
	held  int64
	evict func() // makes a Read that waits return; called once, while the intake's lock is held
	gone  bool   // it had to give way
}

// enter lets a body come in.
func (i *intake) enter(b *body) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for len(i.coming) >= i.most {
		i.evictLocked(0)
	}
	i.coming = append(i.coming, b)
}

// grow makes room for all bytes of a body that have arrived. It returns false if there is
// no room, or if the body had to give way.
func (i *intake) grow(b *body, size int64) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	more := max(0, size-smallBody) - b.held
	for !b.gone && i.held+more > i.mostBytes && i.evictHeldLocked(b) {
	}
	if b.gone || i.held+more > i.mostBytes {
		return false
	}
	b.held += more
	i.held += more
	return true
}

// evictHeldLocked makes the oldest body that holds bytes give way, which may be b.
func (i *intake) evictHeldLocked(b *body) bool {
	for at, other := range i.coming {
		if other == b || other.held > 0 {
			i.evictLocked(at)
			return true
		}
	}
	return false
}

func (i *intake) evictLocked(at int) {
	b := i.coming[at]
	i.coming = append(i.coming[:at], i.coming[at+1:]...)
	i.held -= b.held
	b.held, b.gone = 0, true
	b.evict()
}

// extend sets the time of the next Read, unless the body had to give way.
func (i *intake) extend(b *body, set func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !b.gone {
		set()
	}
}

// arrived says that a body is whole; false: it had to give way before.
func (i *intake) arrived(b *body) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removeLocked(b)
	return !b.gone
}

// leave gives back what a body holds, when its request is over.
func (i *intake) leave(b *body) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removeLocked(b)
	i.held -= b.held
	b.held = 0
}

func (i *intake) removeLocked(b *body) {
	for at, other := range i.coming {
		if other == b {
			i.coming = append(i.coming[:at], i.coming[at+1:]...)
			return
		}
	}
}

// receive takes the body of a request in before anything else is done for it, so that
// a client that sends slowly takes no slot from those that do not.
func (s *Server) receive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deadline := http.NewResponseController(w).SetReadDeadline
		b := &body{}
		defer s.intake.leave(b)
		if r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 {
			content, whole, p := s.take(r, b, deadline)
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
func (s *Server) take(
	r *http.Request,
	b *body,
	deadline func(time.Time) error,
) (content io.ReadCloser, whole bool, p *problem.Problem) {
	most := s.opts.MaxBody
	if r.ContentLength > most {
		return &overlong{limit: most}, false, nil
	}
	begun := time.Now()
	b.evict = func() { _ = deadline(begun) } // in the past; where it does not work, nobody waits either
	s.intake.enter(b)
	var in bytes.Buffer
	for {
		size := int64(in.Len())
		s.intake.extend(b, func() { _ = deadline(s.pace(begun, size, s.opts.Receive)) })
		in.Grow(int(min(chunk, most+1-size, max(r.ContentLength-size, bytes.MinRead))))
		n, err := r.Body.Read(in.AvailableBuffer()[:min(int64(in.Available()), most+1-size)])
		in.Write(in.AvailableBuffer()[:n])
		if size += int64(n); size > most {
			s.intake.arrived(b)
			return &overlong{content: bytes.NewReader(in.Bytes()), limit: most}, false, nil
		}
		if n > 0 && !s.intake.grow(b, size) {
			return nil, false, problem.Of(
				loci.Errorf(loci.Unavailable, "the server holds as many bytes of requests as it can"),
			)
		}
		switch {
		case errors.Is(err, io.EOF):
			if !s.intake.arrived(b) {
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
