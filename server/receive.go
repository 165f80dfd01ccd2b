package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
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
// kept. Where there is no room the tenant gives way that has the most of it, with the body
// that has been coming for longest, and not the newcomer: one that somebody sends in earnest
// is here within moments. There is no bound for each address, because every client of the
// loopback, and every one behind a proxy, has the same.
type intake struct {
	most      int   // bodies that come in at once
	mostBytes int64 // of the bodies of all requests, beyond smallBody of each

	mu     sync.Mutex
	coming []*body          // oldest first
	shares map[string]share // of each tenant in them
	held   int64            // bytes, as mostBytes counts them
}

// A share is what a tenant has of the bodies that come in.
type share struct{ bodies, held int64 }

// A body is one that comes in.
type body struct {
	tenant string
	held   int64
	gone   bool // it had to give way

	mu       sync.Mutex      // never held with the lock of the intake
	deadline func(time.Time) // of the Read that waits, and of those after it
	final    bool            // the deadline stays as it is: it has passed, or the request is over
}

// extend sets the time of the next Read, unless the body had to give way.
func (b *body) extend(to time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.final {
		b.deadline(to)
	}
}

// giveUp makes a Read that waits return.
func (b *body) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.final {
		b.final = true
		b.deadline(time.Unix(1, 0)) // where it does not work, nobody waits either
	}
}

// enter lets a body come in.
func (i *intake) enter(b *body) {
	i.mu.Lock()
	i.coming = append(i.coming, b)
	i.addLocked(b.tenant, share{bodies: 1})
	var evicted []*body
	for len(i.coming) > i.most {
		evicted = append(evicted, i.evictLocked(
			func(tenant string) int64 { return i.shares[tenant].bodies }, func(*body) bool { return true }))
	}
	i.mu.Unlock()
	giveUp(evicted)
}

// grow makes room for all bytes of a body that have arrived. It returns false if there is
// no room, or if the body had to give way.
func (i *intake) grow(b *body, size int64) bool {
	i.mu.Lock()
	more := max(0, size-smallBody) - b.held
	var evicted []*body
	for !b.gone && i.held+more > i.mostBytes {
		evicted = append(evicted, i.evictLocked(func(tenant string) int64 {
			if tenant == b.tenant {
				return i.shares[tenant].held + more
			}
			return i.shares[tenant].held
		}, func(other *body) bool { return other == b || other.held > 0 }))
	}
	fits := !b.gone
	if fits {
		b.held += more
		i.held += more
		i.addLocked(b.tenant, share{held: more})
	}
	i.mu.Unlock()
	giveUp(evicted)
	return fits
}

// giveUp tells those that had to give way. No lock is held: over HTTP/2 it waits for the
// goroutine of a connection, to which a thousand others may have something to say.
func giveUp(evicted []*body) {
	for _, b := range evicted {
		b.giveUp()
	}
}

// evictLocked makes a body give way: of the tenant that has the most, the oldest that makes
// room. There is one: whoever asks has come in, or wants to grow.
func (i *intake) evictLocked(has func(tenant string) int64, makesRoom func(*body) bool) *body {
	var most int64
	for tenant := range i.shares {
		most = max(most, has(tenant))
	}
	at := slices.IndexFunc(i.coming, func(b *body) bool { return has(b.tenant) == most && makesRoom(b) })
	b := i.coming[at]
	i.removeLocked(b)
	i.held -= b.held
	b.held, b.gone = 0, true
	return b
}

func (i *intake) addLocked(tenant string, more share) {
	if i.shares == nil {
		i.shares = map[string]share{}
	}
	now := i.shares[tenant]
	now.bodies += more.bodies
	now.held += more.held
	if i.shares[tenant] = now; now.bodies == 0 {
		delete(i.shares, tenant)
	}
}

// arrived says that a body is whole; false: it had to give way before.
func (i *intake) arrived(b *body) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removeLocked(b)
	return !b.gone
}

// leave gives back what a body holds, when its request is over. Nobody sets a deadline from
// then on.
func (i *intake) leave(b *body) {
	i.mu.Lock()
	i.removeLocked(b)
	i.held -= b.held
	b.held = 0
	i.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.final = true
}

// removeLocked takes a body out of those that come in. It keeps what it holds.
func (i *intake) removeLocked(b *body) {
	if at := slices.Index(i.coming, b); at >= 0 {
		i.coming = slices.Delete(i.coming, at, at+1)
		i.addLocked(b.tenant, share{-1, -b.held})
	}
}

// receive takes the body of a request in before anything else is done for it, so that
// a client that sends slowly takes no slot from those that do not.
func (s *Server) receive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		deadline := http.NewResponseController(w).SetReadDeadline
		b := &body{tenant: underwayOf(r).tenant, deadline: func(at time.Time) { _ = deadline(at) }}
		defer s.intake.leave(b)
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
func (s *Server) take(r *http.Request, b *body) (content io.ReadCloser, whole bool, p *problem.Problem) {
	most := s.opts.MaxBody
	if r.ContentLength > most {
		return &overlong{limit: most}, false, nil
	}
	begun := time.Now()
	s.intake.enter(b)
	var in bytes.Buffer
	for {
		size := int64(in.Len())
		b.extend(s.pace(begun, size, s.opts.Receive))
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
