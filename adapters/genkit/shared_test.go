package genkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"

	"github.com/loci-memory/loci"
	adapter "github.com/loci-memory/loci/adapters/genkit"
	"github.com/loci-memory/loci/tests/adapters"
)

// TestShared is what all adapters have in common.
func TestShared(t *testing.T) {
	adapters.Run(t, adapters.Adapter{NewHistory: newHistory, Retrieve: retrieve})
}

func options(o *adapters.Options) *adapter.Options {
	if o == nil {
		return nil
	}
	out := &adapter.Options{Last: o.Last, Strict: o.Strict, Logger: o.Logger}
	if o.Report != nil {
		out.Report = func(ctx context.Context, outcome adapter.Outcome) { o.Report(ctx, adapters.Outcome(outcome)) }
	}
	return out
}

type history struct{ *adapter.History }

func newHistory(m *loci.Memory, id string, o *adapters.Options) (adapters.History, error) {
	h, err := adapter.NewHistory(m, id, options(o))
	return history{h}, err
}

var roles = map[string]ai.Role{"system": ai.RoleSystem, "user": ai.RoleUser, "assistant": ai.RoleModel}

func (h history) Append(ctx context.Context, messages ...adapters.Message) error {
	out := make([]*ai.Message, len(messages))
	for i, m := range messages {
		switch m.Role {
		case "":
		case "tool":
			out[i] = ai.NewMessage(ai.RoleTool, nil,
				ai.NewToolResponsePart(&ai.ToolResponse{Ref: adapters.CallID, Output: m.Text}))
		default:
			out[i] = &ai.Message{Role: roles[m.Role]}
			if m.Text != "" {
				out[i].Content = append(out[i].Content, ai.NewTextPart(m.Text))
			}
			if m.Tool != "" {
				call := &ai.ToolRequest{
					Name:  m.Tool,
					Ref:   adapters.CallID,
					Input: json.RawMessage(adapters.CallArguments),
				}
				out[i].Content = append(out[i].Content, ai.NewToolRequestPart(call))
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
		for name, role := range roles {
			if role == m.Role {
				out[i].Role = name
			}
		}
		for _, p := range m.Content {
			switch {
			case p.IsToolResponse():
				out[i].Role, out[i].Text = "tool", fmt.Sprint(p.ToolResponse.Output)
			case p.IsToolRequest():
				input, err := json.Marshal(p.ToolRequest.Input)
				if err == nil && p.ToolRequest.Ref == adapters.CallID &&
					string(input) == adapters.CallArguments {
					out[i].Tool = p.ToolRequest.Name
				}
			default:
				out[i].Text += p.Text
			}
		}
	}
	return out, nil
}

func retrieve(ctx context.Context, h adapters.Handle, q loci.Query,
	o *adapters.Options, text string) ([]adapters.Document, error) {
	r := adapter.DefineRetriever(genkit.Init(ctx), "shared", h, &adapter.RetrieverOptions{Query: q, Options: *options(o)})
	found, err := r.Retrieve(ctx, &ai.RetrieverRequest{Query: ai.DocumentFromText(text, nil)})
	if err != nil || found.Documents == nil {
		return nil, err
	}
	out := make([]adapters.Document, len(found.Documents))
	for i, doc := range found.Documents {
		id, _ := doc.Metadata["id"].(string)
		kind, _ := doc.Metadata["kind"].(string)
		score, ok := doc.Metadata["score"].(float64)
		written, _ := doc.Metadata["created_at"].(string)
		at, err := time.Parse(time.RFC3339, written)
		if err != nil || !ok {
			return nil, errors.Join(fmt.Errorf("metadata %v", doc.Metadata), err)
		}
		for _, own := range []string{"id", "kind", "score", "created_at"} {
			delete(doc.Metadata, own)
		}
		out[i] = adapters.Document{
			ID:        id,
			Text:      doc.Content[0].Text,
			Kind:      kind,
			CreatedAt: at,
			Score:     score,
			Metadata:  doc.Metadata,
		}
	}
	return out, nil
}
