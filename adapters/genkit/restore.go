package genkit

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/firebase/genkit/go/ai"
	"github.com/loci-memory/loci/session"
)

// fromLoci converts messages of a session, whoever wrote them. Responses of tools that
// were one message are one again. Messages that ask for the removal of another one say
// nothing to a model and are left out.
func fromLoci(messages []session.Message) ([]*ai.Message, error) {
	out := make([]*ai.Message, 0, len(messages))
	index := -1 // of the response before; -1: it was none
	for _, m := range messages {
		var data langChain
		if err := json.Unmarshal(m.Data, &data); err != nil {
			return nil, readError(err)
		}
		role := roleOf(m.Type)
		if role == "" {
			continue
		}
		converted := &ai.Message{Role: role}
		if raw := data.Kwargs[metadataKey]; raw != nil {
			if err := json.Unmarshal(raw, &converted.Metadata); err != nil {
				return nil, readError(err)
			}
		}
		if role == ai.RoleTool {
			part, at, err := data.response()
			if err != nil {
				return nil, err
			}
			if index >= 0 && at > index {
				last := out[len(out)-1]
				last.Content = append(last.Content, part)
				index = at
				continue
			}
			converted.Content, index = []*ai.Part{part}, at
			out = append(out, converted)
			continue
		}
		index = -1
		var err error
		if converted.Content, err = data.parts(); err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}

// roleOf is who speaks in messages of a type; "" for one that says nothing. Genkit has
// no role for the others than a user, a model, the system and tools.
func roleOf(typ session.MessageType) ai.Role {
	switch typ {
	case session.MessageAI, "AIMessageChunk":
		return ai.RoleModel
	case session.MessageSystem, "SystemMessageChunk":
		return ai.RoleSystem
	case session.MessageTool, session.MessageFunction, "ToolMessageChunk", "FunctionMessageChunk":
		return ai.RoleTool
	case session.MessageRemove:
		return ""
	}
	return ai.RoleUser
}

// parts are those of the content, with the calls at their places; calls of other clients
// follow.
func (d *langChain) parts() ([]*ai.Part, error) {
	parts, err := partsOf(d.Content)
	if err != nil {
		return nil, err
	}
	calls := slices.Concat(d.ToolCalls, d.InvalidCalls)
	slices.SortStableFunc(calls, func(a, b call) int { return cmp.Compare(a.place(), b.place()) })
	for i := range calls {
		place := min(calls[i].place(), len(parts))
		p, err := calls[i].part()
		if err != nil {
			return nil, err
		}
		parts = slices.Insert(parts, place, p)
	}
	return parts, nil
}

func (c *call) place() int {
	if c.Own == nil || c.Own.Index < 0 {
		return 1 << 30
	}
	return c.Own.Index
}

func (c *call) part() (p *ai.Part, err error) {
	p = ai.NewToolRequestPart(&ai.ToolRequest{Name: c.Name, Ref: c.ID})
	var o own
	if c.Own != nil {
		o = *c.Own
	}
	var text string
	if json.Unmarshal(c.Args, &text) == nil { // of an invalid call
		p.ToolRequest.Input = valueOf(text, o.JSON)
	} else if err := json.Unmarshal(c.Args, &p.ToolRequest.Input); err != nil {
		return nil, readError(err)
	}
	p.ToolRequest.Partial = o.Partial
	p.Metadata, err = o.metadata()
	return p, err
}

// valueOf is what a text stands for. A text that is no longer JSON, since a credential was
// taken out of it, stands for itself.
func valueOf(text string, isJSON bool) any {
	var value any
	if isJSON && json.Unmarshal([]byte(text), &value) == nil {
		return value
	}
	return text
}

// response is the response of a tool, and its place in its message.
func (d *langChain) response() (*ai.Part, int, error) {
	var o own
	if raw := d.Kwargs[ownKey]; raw != nil {
		if err := json.Unmarshal(raw, &o); err != nil {
			return nil, 0, readError(err)
		}
	}
	p := ai.NewToolResponsePart(&ai.ToolResponse{Name: d.Name})
	if d.ToolCallID != nil {
		p.ToolResponse.Ref = *d.ToolCallID
	}
	var text string
	if json.Unmarshal(d.Content, &text) != nil { // blocks of another client
		parts, err := partsOf(d.Content)
		if err != nil {
			return nil, 0, err
		}
		p.ToolResponse.Content = parts
		for _, part := range parts {
			if part.IsText() {
				text += part.Text
			}
		}
	}
	p.ToolResponse.Output = valueOf(text, o.JSON)
	if o.Content != nil {
		if err := json.Unmarshal(o.Content, &p.ToolResponse.Content); err != nil {
			return nil, 0, readError(err)
		}
		for _, part := range p.ToolResponse.Content {
			if part.IsText() && part.ContentType == "" { // which Genkit's JSON leaves out
				part.ContentType = plainText
			}
		}
	}
	var err error
	p.Metadata, err = o.metadata()
	return p, o.Index, err
}
