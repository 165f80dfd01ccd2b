// Package sequence finds the place of a memory when nobody named it: its conversation,
// what it comes after, and who speaks. It is pure except for the counter.
package sequence

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"
	"time"
)

// MaxName bounds the name of a sequence, in bytes.
const MaxName = 256

// A Counter gives places to what is saved one after another. Its zero value is ready.
type Counter struct{ last atomic.Int64 }

// Next returns the place of what is saved at a moment: microseconds since 1970, or one
// more than the last place if the clock has not moved on since. So the place needs no look
// at what stands there, later processes go on behind earlier ones, and it is below 2^53,
// up to which JavaScript counts.
func (c *Counter) Next(now time.Time) int64 {
	for {
		last := c.last.Load()
		next := max(last+1, At(now))
		if c.last.CompareAndSwap(last, next) {
			return next
		}
	}
}

// At is the place that a moment stands for; what was before 1970 comes first.
func At(now time.Time) int64 { return max(0, now.UnixMicro()) }

// names are the attributes that programs name a conversation with, the most telling
// first.
type names struct {
	SessionID      any `json:"session_id"`
	ThreadID       any `json:"thread_id"`
	ConversationID any `json:"conversation_id"`
	Session        any `json:"session"`
	Thread         any `json:"thread"`
	Conversation   any `json:"conversation"`
}

// Named returns the conversation that the attributes of a memory name; "": none. Numbers
// are names, too.
func Named(attributes json.RawMessage) string {
	if !mentions(attributes, `"session`, `"thread`, `"conversation`) {
		return ""
	}
	var n names
	d := json.NewDecoder(bytes.NewReader(attributes))
	d.UseNumber()
	if d.Decode(&n) != nil {
		return ""
	}
	for _, v := range []any{n.SessionID, n.ThreadID, n.ConversationID, n.Session, n.Thread, n.Conversation} {
		name := ""
		switch v := v.(type) {
		case string:
			name = v
		case json.Number:
			name = v.String()
		}
		if name != "" && len(name) <= MaxName && !strings.ContainsRune(name, 0) {
			return name
		}
	}
	return ""
}

// Speaker returns who the attributes of a memory say is speaking; "": they do not.
func Speaker(attributes json.RawMessage) string {
	if !mentions(attributes, `"speaker"`, `"role"`) {
		return ""
	}
	var said struct {
		Speaker any `json:"speaker"`
		Role    any `json:"role"`
	}
	if json.Unmarshal(attributes, &said) != nil {
		return ""
	}
	for _, v := range []any{said.Speaker, said.Role} {
		if name, ok := v.(string); ok && strings.TrimSpace(name) != "" && len(name) <= MaxName {
			return name
		}
	}
	return ""
}

// mentions reports whether attributes may have one of the names, without reading them.
// Names that are escaped are passed over.
func mentions(attributes json.RawMessage, names ...string) bool {
	for _, name := range names {
		if bytes.Contains(attributes, []byte(name)) {
			return true
		}
	}
	return false
}
