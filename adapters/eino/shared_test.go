package eino_test

import (
	"context"
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/adapters/eino"
	"github.com/loci-memory/loci/tests/adapters"
)

// TestShared is what all adapters have in common.
func TestShared(t *testing.T) {
	adapters.Run(t, adapters.Adapter{NewHistory: newHistory, Retrieve: retrieve})
}

func options(o *adapters.Options) *eino.Options {
	if o == nil {
		return nil
	}
	out := &eino.Options{Last: o.Last, Strict: o.Strict, Logger: o.Logger}
	if o.Report != nil {
		out.Report = func(ctx context.Context, outcome eino.Outcome) { o.Report(ctx, adapters.Outcome(outcome)) }
	}
	return out
}

type history struct{ *eino.History }

func newHistory(m *loci.Memory, id string, o *adapters.Options) (adapters.History, error) {
	h, err := eino.NewHistory(m, id, options(o))
	return history{h}, err
}

func (h history) Append(ctx context.Context, messages ...adapters.Message) error {
	out := make([]*schema.Message, len(messages))
	for i, m := range messages {
		switch m.Role {
		case "":
		case "tool":
			out[i] = &schema.Message{Role: schema.Tool, Content: m.Text, ToolCallID: adapters.CallID}
		default:
			out[i] = &schema.Message{Role: schema.RoleType(m.Role), Content: m.Text}
			if m.Tool != "" {
				out[i].ToolCalls = []schema.ToolCall{{ID: adapters.CallID, Type: "function",
					Function: schema.FunctionCall{Name: m.Tool, Arguments: adapters.CallArguments}}}
			}
		}
	}
	return h.History.Append(ctx, out...)
}

func (h history) Messages(ctx context.Context) ([]adapters.Message, error) {
	stored, err := h.History.Messages(ctx)
	if stored == nil || err != nil {
		return nil, err
	}
	out := make([]adapters.Message, len(stored))
	for i, m := range stored {
		out[i] = adapters.Message{Role: string(m.Role), Text: m.Content}
		if len(m.ToolCalls) == 1 && m.ToolCalls[0].ID == adapters.CallID &&
			m.ToolCalls[0].Function.Arguments == adapters.CallArguments {
			out[i].Tool = m.ToolCalls[0].Function.Name
		}
	}
	return out, nil
}

func retrieve(ctx context.Context, h adapters.Handle, q loci.Query,
	o *adapters.Options, text string) ([]adapters.Document, error) {
	found, err := (&eino.Retriever{Handle: h, Query: q, Options: *options(o)}).Retrieve(ctx, text)
	if found == nil || err != nil {
		return nil, err
	}
	out := make([]adapters.Document, len(found))
	for i, doc := range found {
		kind, _ := doc.MetaData["kind"].(string)
		at, _ := doc.MetaData["created_at"].(time.Time)
		out[i] = adapters.Document{
			ID:        doc.ID,
			Text:      doc.Content,
			Kind:      kind,
			CreatedAt: at,
			Score:     doc.Score(),
			Metadata:  doc.MetaData,
		}
		for _, own := range []string{"kind", "created_at", "_score"} {
			delete(doc.MetaData, own)
		}
	}
	return out, nil
}
