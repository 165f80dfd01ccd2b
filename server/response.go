package server

import (
	"net/http"
	"time"

	"github.com/loci-memory/loci/internal/admission"
)

// A response counts what is sent, and gives up a reader that does not take it in time:
// until then it would hold the slot of a request.
type response struct {
	http.ResponseWriter
	server  *Server
	begun   time.Time
	request *http.Request
	status  int
	route   string // the pattern of it, once the request has come that far
	n       int64
	caller  string // the name of the credential; "": nobody was asked, or it was refused
	ended   func(Done)
}

// extend sets how long the next bytes may take.
func (r *response) extend(bytes int) {
	now := time.Now()
	// What has no connection has no deadline either.
	c := http.NewResponseController(r.ResponseWriter)
	_ = c.SetWriteDeadline(r.server.pace(now, int64(bytes), r.server.opts.Send-now.Sub(r.begun)))
}

func (r *response) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
		r.server.lacks(r.request, status, r.Header())
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.extend(len(p))
	taken := r.awaitReader(int64(len(p)))
	n, err := r.ResponseWriter.Write(p)
	r.n += int64(n)
	if gone := taken(); err == nil {
		err = gone
	}
	return n, err
}

// Flush is for responses that come in parts.
func (r *response) Flush() {
	r.extend(0)
	taken := r.awaitReader(0)
	_ = http.NewResponseController(r.ResponseWriter).Flush() // what cannot be flushed comes with the rest
	_ = taken()                                              // whoever is gone gets nothing of what comes after it
}

// prompt is how long an answer may take to be sent and count for nothing: whoever reads it takes
// it in less.
const prompt = 5 * time.Millisecond

// awaitReader says that so many bytes are about to be sent; taken, that they were, or that nobody
// takes them. Where they are not taken at once, the request gives its slot to others meanwhile, and
// counts among the answers that wait for their readers.
func (r *response) awaitReader(size int64) (taken func() error) {
	slow := make(chan func() error, 1)
	soon := time.AfterFunc(prompt, func() { slow <- r.waits(size) })
	return func() error {
		if soon.Stop() {
			return nil
		}
		return (<-slow)()
	}
}

// waits counts an answer that is not taken at once, until the function it returns is called.
func (r *response) waits(size int64) (taken func() error) {
	ctx, all, c := r.request.Context(), r.server.answers, connectionOf(r.request.Context())
	back := admission.Sending(ctx)
	var cut *time.Timer
	w := &transfer{tenant: underwayOf(r.request).tenant, deadline: func(at time.Time) {
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(at)
		cut = time.AfterFunc(time.Second, c.end) // over HTTP/2, one that takes nothing cannot be told
	}}
	all.enter(w)
	all.grow(w, min(size, all.mostBytes)) // where there is no room, another one has given way, or this one
	return func() error {
		all.leave(w) // from here on cut does not change
		if cut != nil {
			cut.Stop()
		}
		return back(ctx)
	}
}

// deliver waits until what is sent has gone, so that the request counts until then. Where nobody takes
// what a stranger is sent in time, the connection ends with all that waits behind.
func (r *response) deliver(c *connection) {
	begun := time.Now()
	r.Flush()
	if c.isStranger() && time.Since(begun) >= r.server.opts.Grace {
		c.end()
	}
}

// Unwrap is what http.ResponseController looks for.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }
