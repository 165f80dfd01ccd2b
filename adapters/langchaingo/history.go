package langchaingo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/schema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

var _ schema.ChatMessageHistory = (*History)(nil)

// A History is a session of Loci as langchaingo's history of messages. It is safe for
// concurrent use, also by several processes: nothing that is appended is lost.
type History struct {
	sessions *session.Handle
	session  string
	opts     Options
}

// NewHistory returns the history of a session in the handle's namespace. The session
// is made by the first append; "" is a new one with a UUID, see [History.Session].
// Options may be nil. Invalid: Last is not 0 to 1000.
func NewHistory(memory *loci.Memory, id string, opts *Options) (*History, error) {
	h := &History{session: id}
	if opts != nil {
		h.opts = *opts
	}
	switch {
	case memory == nil:
		return nil, loci.Errorf(loci.Invalid, "memory must not be nil: get one from loci.Engine.Memory")
	case h.opts.Last < 0 || h.opts.Last > 1000:
		return nil, loci.Errorf(loci.Invalid, "last is %d; it must be 0 to 1000, where 0 is all", h.opts.Last)
	}
	if h.session == "" {
		h.session = loci.NewID().String()
	}
	h.sessions = session.Of(memory)
	return h, nil
}

// Session is the id of the session.
func (h *History) Session() string { return h.session }

// AddMessage appends a message.
func (h *History) AddMessage(ctx context.Context, message llms.ChatMessage) error {
	return h.AddMessages(ctx, message)
}

// AddUserMessage appends what a person said.
func (h *History) AddUserMessage(ctx context.Context, message string) error {
	return h.AddMessages(ctx, llms.HumanChatMessage{Content: message})
}

// AddAIMessage appends what a model said.
func (h *History) AddAIMessage(ctx context.Context, message string) error {
	return h.AddMessages(ctx, llms.AIChatMessage{Content: message})
}

// AddMessages appends messages, all of them or none: up to 1000, of up to 1 MiB each.
func (h *History) AddMessages(ctx context.Context, messages ...llms.ChatMessage) error {
	converted, err := toLoci(messages)
	if err == nil {
		_, err = h.sessions.Append(ctx, h.session, converted)
	}
	return h.opts.settle(ctx, Outcome{Op: opAppend, Session: h.session, Stored: err == nil, Err: err})
}

// Messages returns the messages of the session, the oldest first: all of them, or the
// newest Options.Last. Content in several blocks is returned as its text. A session
// that is not there has none.
func (h *History) Messages(ctx context.Context) ([]llms.ChatMessage, error) {
	stored, err := h.load(ctx)
	var messages []llms.ChatMessage
	if err == nil {
		messages, err = fromLoci(stored)
	}
	if err != nil {
		return []llms.ChatMessage{}, h.opts.settle(ctx, Outcome{Op: opLoad, Session: h.session, Err: err})
	}
	return messages, nil
}

func (h *History) load(ctx context.Context) ([]session.Message, error) {
	var out []session.Message
	q := session.HistoryQuery{Last: h.opts.Last}
	if q.Last == 0 {
		q.Limit = 1000
	}
	for {
		part, err := h.sessions.History(ctx, h.session, q)
		if errors.Is(err, loci.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		for _, m := range part.Messages {
			q.After = m.Seq
			if len(out) == 0 && h.opts.Last > 0 &&
				(m.Type == session.MessageTool || m.Type == session.MessageFunction) {
				continue // models refuse a result without its call
			}
			out = append(out, m.Message)
		}
		if !part.More {
			return out, nil
		}
	}
}

// Clear erases the session. One that is not there is no error.
func (h *History) Clear(ctx context.Context) error {
	if _, err := h.sessions.Clear(ctx, h.session); err != nil && !errors.Is(err, loci.ErrNotFound) {
		return loci.AsError(err)
	}
	return nil
}

// SetMessages erases the messages of the session and stores others instead, in one
// step; up to 100,000. The session keeps its metadata and its limits, and loses its
// summary. Without messages it is erased.
func (h *History) SetMessages(ctx context.Context, messages []llms.ChatMessage) error {
	if len(messages) == 0 {
		return h.Clear(ctx)
	}
	converted, err := toLoci(messages)
	if err != nil {
		return loci.AsError(err)
	}
	type head struct {
		ID             string          `json:"id"`
		Metadata       json.RawMessage `json:"metadata,omitempty"`
		MaxMessages    int             `json:"max_messages,omitzero"`
		TimeoutSeconds int64           `json:"timeout_seconds,omitzero"`
	}
	keep := head{ID: h.session}
	switch before, err := h.sessions.Session(ctx, h.session); {
	case err == nil:
		keep.Metadata, keep.MaxMessages = before.Metadata, before.MaxMessages
		keep.TimeoutSeconds = before.TimeoutSeconds
	case !errors.Is(err, loci.ErrNotFound):
		return loci.AsError(err)
	}
	document, err := json.Marshal(struct {
		Format   string            `json:"format"`
		Version  int               `json:"version"`
		Session  head              `json:"session"`
		Messages []session.Message `json:"messages"`
	}{session.Format, session.FormatVersion, keep, converted})
	if err != nil {
		return &loci.Error{Code: loci.Internal, Op: "set messages", Err: fmt.Errorf("encode session: %w", err)}
	}
	_, err = h.sessions.Import(ctx, bytes.NewReader(document), session.Import{Mode: session.ImportReplace})
	if err != nil {
		return loci.AsError(err)
	}
	return nil
}
