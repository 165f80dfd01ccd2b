package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/loci-memory/loci/internal/intake"
	"github.com/loci-memory/loci/internal/jsonguard"
)

var (
	faultBatch      = &fault{jsonrpc.CodeInvalidRequest, "batch", "batches are part of revision " + revisionBatches + " alone: send one message a line"}
	faultEmpty      = &fault{jsonrpc.CodeInvalidRequest, "batch", "the batch is empty"}
	faultInitialize = &fault{jsonrpc.CodeInvalidRequest, "batch", "initialize must not be part of a batch"}
)

// A batch collects the replies to the requests of one line, which go out as one
// line, in the order of the requests.
type batch struct {
	mu      sync.Mutex
	waiting int // replies that are still to come
	replies [][]byte
}

// acceptBatch takes a batch apart; false: the connection is closed.
func (c *conn) acceptBatch(line []byte) bool {
	c.mu.Lock()
	allowed := c.revision == revisionBatches
	c.mu.Unlock()
	var elements []json.RawMessage
	err := json.Unmarshal(line, &elements)
	switch {
	case !allowed:
		c.refuse(nil, faultBatch)
		return true
	case err != nil:
		c.refuse(nil, faults[jsonguard.JSON])
		return true
	}
	if f := c.limits.batch(line, len(elements)); f != nil {
		c.refuse(nil, f)
		return true
	}
	b := &batch{replies: make([][]byte, len(elements))}
	var parts []incoming
	for i, element := range elements {
		e, f := guard(element, c.limits.Depth)
		var m jsonrpc.Message
		if f == nil {
			m, f = e.message()
		}
		r, isRequest := m.(*jsonrpc.Request)
		if isRequest && r.Method == "initialize" {
			f = faultInitialize
		}
		if f != nil {
			b.replies[i] = refusal(e.id, f)
			continue
		}
		if isRequest && r.IsCall() {
			b.waiting++
		}
		parts = append(parts, incoming{message: m, size: len(element), batch: b, at: i})
	}
	if b.waiting == 0 {
		_ = b.flush(c) // a client that is gone shows in the SDK's own writes, too
	}
	for _, in := range parts {
		if !c.pass(in) {
			return false
		}
	}
	return true
}

// batch is the fault of a batch that is empty, or has more than one request may do. A message alone may have all that
// [Limits.Line] allows.
func (l *Limits) batch(line []byte, messages int) *fault {
	why := ""
	switch {
	case messages == 0:
		return faultEmpty
	case messages > l.Batch:
		why = fmt.Sprintf("the batch has %d messages; the limit is %d: send several", messages, l.Batch)
	case messages > 1:
		if size := intake.SizeOfText(line); size > l.BatchBytes {
			why = fmt.Sprintf("the batch has %d bytes, of which what is not ASCII counts twice; the limit is %d: send several",
				size, l.BatchBytes)
		}
	}
	if why == "" {
		return nil
	}
	return &fault{jsonrpc.CodeInvalidRequest, "batch", why}
}

// put stores the reply to a request, nil for none; the last one sends them all.
func (b *batch) put(c *conn, at int, reply []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.replies[at] = reply
	if b.waiting--; b.waiting > 0 {
		return nil
	}
	return b.flush(c)
}

func (b *batch) flush(c *conn) error {
	var replies [][]byte
	for _, reply := range b.replies {
		if reply != nil {
			replies = append(replies, reply)
		}
	}
	if len(replies) == 0 {
		return nil
	}
	line := append([]byte{'['}, bytes.Join(replies, []byte{','})...)
	return c.writeLine(append(line, ']'))
}
