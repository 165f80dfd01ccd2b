package mcp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A turn keeps the calls of one connection that change something in the order in
// which they came: a client that sends two corrections of a memory without waiting
// means the second. Calls that only read wait for nobody. The nil turn is always on.
type turn struct {
	before *turn
	done   chan struct{}
}

func newTurn(before *turn) *turn { return &turn{before: before, done: make(chan struct{})} }

// wait returns when the turn has come.
func (t *turn) wait(ctx context.Context) error {
	if t == nil || t.before == nil {
		return nil
	}
	select {
	case <-t.before.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass lets the next one go, once: also when this one gave up before its turn came.
func (t *turn) pass() {
	before := t.before
	if before == nil {
		close(t.done)
		return
	}
	select {
	case <-before.done:
		t.before = nil // or each would keep every one before it in memory
		close(t.done)
	default:
		go func() {
			<-before.done
			close(t.done)
		}()
	}
}

// turns are those of the calls under way that change something, by the id that the
// request has across connections: it is the one thing that reaches a tool's handler
// through the SDK. The code that puts a turn in also takes it out.
type turns struct {
	mu sync.Mutex
	of map[string]*turn
}

func (t *turns) put(requestID string, own *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[requestID] = own
}

// find returns the turn of a request, or nil if it needs none.
func (t *turns) find(requestID string) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[requestID]
}

func (t *turns) drop(requestID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.of, requestID)
}

// changes reports whether a request calls a tool that changes something.
func (s *Server) changes(r *jsonrpc.Request) bool {
	if r.Method != "tools/call" {
		return false
	}
	// A struct would take "NAME" for the name, which the SDK does not.
	var params map[string]json.RawMessage
	var name string
	if json.Unmarshal(r.Params, &params) != nil || json.Unmarshal(params["name"], &name) != nil {
		return false // the SDK refuses it
	}
	t := s.tools[name]
	return t != nil && !t.Annotations.ReadOnly
}
