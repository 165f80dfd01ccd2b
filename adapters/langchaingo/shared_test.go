package langchaingo_test

import (
	"context"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/adapters/langchaingo"
	"github.com/loci-memory/loci/tests/adapters"
)

// TestShared is what all adapters have in common.
func TestShared(t *testing.T) {
	adapters.Run(t, adapters.Adapter{OneMemory: true, NewHistory: newHistory, Retrieve: retrieve})
}

func options(o *adapters.Options) *langchaingo.Options {
	if o == nil {
		return nil
	}
	out := &langchaingo.Options{Last: o.Last, Strict: o.Strict, Logger: o.Logger}
	if o.Report != nil {
		out.Report = func(ctx context.Context, outcome langchaingo.Outcome) { o.Report(ctx, adapters.Outcome(outcome)) }
	}
	return out
}

type history struct{ *langchaingo.History }

func newHistory(m *loci.Memory, id string, o *adapters.Options) (adapters.History, error) {
	h, err := langchaingo.NewHistory(m, id, options(o))
	return history{h}, err
}

func (h history) Append(ctx context.Context, messages ...adapters.Message) error {
	out := make([]llms.ChatMessage, len(messages))
	for i, m := range messages {
		switch m.Role {
		case "system":
			out[i] = llms.SystemChatMessage{Content: m.Text}
		case "user":
			out[i] = llms.HumanChatMessage{Content: m.Text}
		case "tool":
			out[i] = llms.ToolChatMessage{ID: adapters.CallID, Content: m.Text}
		case "assistant":
			reply := llms.AIChatMessage{Content: m.Text}
			if m.Tool != "" {
				reply.ToolCalls = []llms.ToolCall{{ID: adapters.CallID, Type: "function",
					FunctionCall: &llms.FunctionCall{Name: m.Tool, Arguments: adapters.CallArguments}}}
			}
			out[i] = reply
		}
	}
	return h.AddMessages(ctx, out...)
}

func (h history) Messages(ctx context.Context) ([]adapters.Message, error) {
	stored, err := h.History.Messages(ctx)
	if stored == nil || err != nil {
		return nil, err
	}
	out := make([]adapters.Message, len(stored))
	for i, m := range stored {
		switch m := m.(type) {
		case llms.SystemChatMessage:
			out[i] = adapters.Message{Role: "system", Text: m.Content}
		case llms.HumanChatMessage:
			out[i] = adapters.Message{Role: "user", Text: m.Content}
		case llms.ToolChatMessage:
			out[i] = adapters.Message{Role: "tool", Text: m.Content}
		case llms.AIChatMessage:
			out[i] = adapters.Message{Role: "assistant", Text: m.Content}
			if len(m.ToolCalls) == 1 && m.ToolCalls[0].ID == adapters.CallID &&
				m.ToolCalls[0].FunctionCall.Arguments == adapters.CallArguments {
				out[i].Tool = m.ToolCalls[0].FunctionCall.Name
			}
		}
	}
	return out, nil
}

func retrieve(ctx context.Context, h adapters.Handle, q loci.Query,
	o *adapters.Options, text string) ([]adapters.Document, error) {
	m, err := h(ctx)
	if err != nil {
		return nil, err
	}
	found, err := (&langchaingo.Retriever{Memory: m, Query: q, Options: *options(o)}).GetRelevantDocuments(ctx, text)
	if found == nil || err != nil {
		return nil, err
	}
	out := make([]adapters.Document, len(found))
	for i, doc := range found {
		id, _ := doc.Metadata["id"].(string)
		kind, _ := doc.Metadata["kind"].(string)
		at, _ := doc.Metadata["created_at"].(time.Time)
		for _, own := range []string{"id", "kind", "created_at"} {
			delete(doc.Metadata, own)
		}
		out[i] = adapters.Document{
			ID:        id,
			Text:      doc.PageContent,
			Kind:      kind,
			CreatedAt: at,
			Score:     float64(doc.Score),
			Metadata:  doc.Metadata,
		}
	}
	return out, nil
}
