package genkit

import (
	"context"
	"errors"
	"slices"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// A History is a session of Loci as messages of Genkit. It is safe for concurrent use,
// also by several processes: nothing that is appended is lost.
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

// Generate asks a model about a message with the conversation before it, as
// genkit.Generate does, and stores the message and all that followed: calls of tools,
// their results and the reply. The options are those of genkit.Generate except
// ai.WithMessages, which is what the history is given by; what ai.WithSystem says is
// not stored. An error of the model is returned, and nothing is stored then.
func (h *History) Generate(
	ctx context.Context, g *genkit.Genkit, input *ai.Message, opts ...ai.GenerateOption,
) (*ai.ModelResponse, error) {
	if input == nil {
		return nil, loci.Errorf(loci.Invalid, "input must not be nil")
	}
	before, err := h.Messages(ctx)
	if err != nil {
		return nil, err
	}
	sent := append(slices.Clip(before), input)
	reply, err := genkit.Generate(ctx, g, append(slices.Clip(opts), ai.WithMessages(sent...))...)
	if err != nil {
		return nil, err
	}
	return reply, h.Append(ctx, append([]*ai.Message{input}, following(sent, reply)...)...)
}

// following are the messages of a reply that came after those that were sent. Genkit
// puts the text of ai.WithSystem before them.
func following(sent []*ai.Message, reply *ai.ModelResponse) []*ai.Message {
	var all []*ai.Message
	if reply.Request != nil {
		all = reply.Request.Messages
	}
	start := len(sent) + max(0, countSystem(all)-countSystem(sent))
	out := slices.Clone(all[min(start, len(all)):])
	if reply.Message != nil {
		out = append(out, reply.Message)
	}
	return out
}

func countSystem(messages []*ai.Message) (n int) {
	for _, m := range messages {
		if m.Role == ai.RoleSystem {
			n++
		}
	}
	return n
}

// Append adds messages to the end of the session, all of them or none: up to 1000, of
// up to 1 MiB each.
func (h *History) Append(ctx context.Context, messages ...*ai.Message) error {
	converted, err := toLoci(messages)
	if err == nil {
		_, err = h.sessions.Append(ctx, h.session, converted)
	}
	return h.opts.settle(ctx, Outcome{Op: opAppend, Session: h.session, Stored: err == nil, Err: err})
}

// Messages returns the messages of the session, the oldest first: all of them, or the
// newest Options.Last. A session that is not there has none.
func (h *History) Messages(ctx context.Context) ([]*ai.Message, error) {
	stored, err := h.load(ctx)
	var messages []*ai.Message
	if err == nil {
		messages, err = fromLoci(stored)
	}
	if err != nil {
		return []*ai.Message{}, h.opts.settle(ctx, Outcome{Op: opLoad, Session: h.session, Err: err})
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
