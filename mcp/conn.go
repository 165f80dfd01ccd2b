package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

var (
	faultTaken = &fault{jsonrpc.CodeInvalidRequest, "id_in_use", "a request with this id is still under way: use another id"}
	faultBusy  = &fault{-32000, "unavailable", "too many requests are waiting: try again in a few seconds"}
)

// A conn is the connection to one client, between the lines and the SDK. It knows
// every request that is not answered yet.
type conn struct {
	server *Server
	limits Limits
	out    io.Writer
	nonce  string
	stop   <-chan struct{} // closed: take it for the end of the input

	lines   chan incoming // closed at the end of the input
	readErr error         // why the input ended; set before lines is closed

	closed chan struct{}
	close  sync.Once

	writing sync.Mutex // one Write of out a line

	mu       sync.Mutex
	pending  map[jsonrpc.ID]*request
	size     int           // of all pending requests
	idle     chan struct{} // has a value once pending became empty
	revision string        // of the protocol, as initialize agreed; "" before it

	lastWrite *turn // of the call that changes something and came last; only Read uses it
}

// A request is a call that the SDK has and did not answer yet.
type request struct {
	incoming
	cancelled bool   // by the client, which no longer expects a reply
	name      string // see requestName
	turn      *turn  // nil for what changes nothing
}

func newConn(s *Server, out io.Writer, stop <-chan struct{}) *conn {
	return &conn{server: s, limits: s.opts.Limits, out: out, nonce: nonce(), stop: stop, lines: make(chan incoming, 16),
		closed: make(chan struct{}), pending: map[jsonrpc.ID]*request{}, idle: make(chan struct{}, 1)}
}

// SessionID is part of the SDK's interface; a line protocol has no sessions.
func (c *conn) SessionID() string { return "" }

// Close is called by the SDK when the session is over.
func (c *conn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// Read returns the next message for the SDK.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case in, more := <-c.lines:
			if !more {
				return nil, c.end()
			}
			if c.admit(in) {
				return in.message, nil
			}
		case <-c.stop:
			return nil, c.end()
		case <-c.closed:
			return nil, io.EOF
		}
	}
}

// end holds the end of the input back until every request is answered: once Read
// fails, the SDK cancels what runs and drops its replies.
func (c *conn) end() error {
	deadline := time.NewTimer(c.limits.Drain)
	defer deadline.Stop()
	for {
		c.mu.Lock()
		n := len(c.pending)
		c.mu.Unlock()
		if n == 0 {
			break
		}
		select {
		case <-c.idle:
			continue
		case <-deadline.C:
			c.server.opts.Logger.Warn("requests were still running when the time to finish them was up", "requests", n)
		case <-c.closed:
		}
		break
	}
	select {
	case <-c.stop:
		return io.EOF // readErr is not ours to read: the reader may still run
	default:
	}
	if c.readErr != nil {
		return c.readErr
	}
	return io.EOF
}

// admit decides whether a message goes to the SDK.
func (c *conn) admit(in incoming) bool {
	r, ok := in.message.(*jsonrpc.Request)
	switch {
	case !ok:
		return true
	case r.Method == "notifications/cancelled":
		c.cancel(r.Params)
		return true
	case !r.IsCall():
		return true
	}
	call := &request{incoming: in, name: c.requestName(r.ID)}
	if c.server.changes(r) {
		call.turn = newTurn(c.lastWrite)
	}
	c.mu.Lock()
	f := c.trackLocked(r.ID, call)
	c.mu.Unlock()
	if f != nil {
		id, _ := json.Marshal(r.ID.Raw())
		if f == faultTaken {
			id = nil // it would be taken for the answer to the request under way
		}
		// A client that is gone shows in the SDK's own writes, too.
		_ = c.answer(in, refusal(id, f))
		return false
	}
	if call.turn != nil {
		c.lastWrite = call.turn
		c.server.turns.put(call.name, call.turn)
	}
	r.Extra = &sdk.RequestExtra{Header: http.Header{headerRequestID: {call.name}, headerConnection: {c.nonce}}}
	return true
}

// requestName is the id of a request across connections. No two requests under way
// share one: 1 and "1" are different ids, so a text that looks like a number is quoted.
func (c *conn) requestName(id jsonrpc.ID) string {
	if text, ok := id.Raw().(string); ok {
		if _, err := strconv.ParseInt(text, 10, 64); err == nil || strings.HasPrefix(text, `"`) {
			return fmt.Sprintf("%s-%q", c.nonce, text)
		}
	}
	return fmt.Sprintf("%s-%v", c.nonce, id.Raw())
}

func (c *conn) trackLocked(id jsonrpc.ID, call *request) *fault {
	n := len(c.pending)
	switch {
	case c.pending[id] != nil:
		return faultTaken
	case n >= c.limits.InFlight+c.limits.Queued, n > 0 && c.size+call.size > c.limits.QueuedBytes:
		return faultBusy
	}
	c.pending[id] = call
	c.size += call.size
	return nil
}

// abandon forgets the requests that nobody answers any more: the SDK is done.
func (c *conn) abandon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, call := range c.pending {
		c.server.turns.drop(call.name)
	}
}

// cancel notes that the client expects no reply; the SDK stops the work.
func (c *conn) cancel(params json.RawMessage) {
	var p map[string]json.RawMessage // a struct would take "requestid" for the id
	if json.Unmarshal(params, &p) != nil || p["requestId"] == nil {
		return
	}
	id, f := (&envelope{id: p["requestId"]}).requestID()
	if f != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.pending[id]; r != nil && r.message.(*jsonrpc.Request).Method != "initialize" {
		r.cancelled = true
	}
}

// Write sends a message of the SDK.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		line, err := jsonrpc.EncodeMessage(m)
		if err != nil {
			return err
		}
		return c.writeLine(line)
	}
	if r.Error != nil {
		r.Error = wireError(r.Error)
	}
	c.mu.Lock()
	of := c.pending[r.ID]
	c.mu.Unlock()
	if of != nil && of.message.(*jsonrpc.Request).Method == "initialize" {
		c.initialized(of.message.(*jsonrpc.Request), r)
	}
	line, err := jsonrpc.EncodeMessage(r)
	// The request is forgotten before its reply is written, since a client may use the id
	// again as soon as it sees the reply. The same step looks whether it was cancelled.
	c.mu.Lock()
	cancelled := false
	if of != nil {
		cancelled = of.cancelled
		delete(c.pending, r.ID)
		c.server.turns.drop(of.name)
		c.size -= of.size
	}
	c.mu.Unlock()
	if of != nil && of.turn != nil {
		defer of.turn.pass()
	}
	if cancelled {
		line = nil
	}
	if err == nil && of == nil {
		err = c.writeLine(line)
	} else if err == nil {
		err = c.answer(of.incoming, line)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pending) == 0 {
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
	return err
}

// answer sends the reply to a request, if there is one.
func (c *conn) answer(in incoming, reply []byte) error {
	switch {
	case in.batch != nil:
		return in.batch.put(c, in.at, reply)
	case reply == nil:
		return nil
	}
	return c.writeLine(reply)
}

// refuse answers a line that is no message.
func (c *conn) refuse(id json.RawMessage, f *fault) {
	// A client that is gone shows in the SDK's own writes, too.
	_ = c.writeLine(refusal(id, f))
}

func (c *conn) writeLine(line []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	_, err := c.out.Write(append(line, '\n'))
	return err
}

// wireError brings an error of the SDK into a form a client can use: plain ones
// would go out with code 0, some quote the whole input.
func wireError(err error) *jsonrpc.Error {
	out := jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: err.Error()}
	var known *jsonrpc.Error
	if errors.As(err, &known) {
		out = *known
	}
	if strings.HasPrefix(out.Message, "handling '") {
		out.Message = "params do not have the form that this method needs"
	}
	if len(out.Message) > 512 {
		out.Message = strings.ToValidUTF8(out.Message[:512], "") + "…"
	}
	return &out
}
