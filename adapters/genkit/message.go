package genkit

import (
	"encoding/json"
	"fmt"

	"github.com/firebase/genkit/go/ai"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
)

// Messages of Genkit are lists of parts. They become LangChain's messages, which Loci
// stores: texts and images as blocks of content, requests of tools as tool_calls, and
// each response of a tool as a message. What only Genkit has stands beside it, under
// these keys, so that a message comes back as it was.
const (
	ownKey      = "genkit"          // of a block, a call, or a message's additional_kwargs
	metadataKey = "genkit_metadata" // of additional_kwargs: the metadata of a message
	partType    = "genkit_part"     // of a block: a part that other clients do not know
)

// own is what Genkit knows of a part and LangChain does not.
type own struct {
	Index       int             `json:"index"`                  // of a call: its place among the parts; of a response: in its message
	Metadata    map[string]any  `json:"metadata,omitempty"`     // of the part
	Bytes       []string        `json:"bytes,omitempty"`        // the metadata that are []byte, such as signatures: models refuse them as texts
	ContentType string          `json:"content_type,omitempty"` // of a text
	Partial     bool            `json:"partial,omitempty"`      // of a call
	JSON        bool            `json:"json,omitempty"`         // the text of a response, or of the input of a call, is JSON
	Content     json.RawMessage `json:"content,omitempty"`      // of a response: more parts
}

func ownOf(p *ai.Part, index int) own {
	o := own{Index: index, Metadata: p.Metadata}
	for key, value := range p.Metadata {
		if _, ok := value.([]byte); ok {
			o.Bytes = append(o.Bytes, key)
		}
	}
	return o
}

// metadata are those of the part, with bytes as bytes again.
func (o *own) metadata() (map[string]any, error) {
	for _, key := range o.Bytes {
		data, err := json.Marshal(o.Metadata[key])
		var value []byte
		if err == nil {
			err = json.Unmarshal(data, &value)
		}
		if err != nil {
			return nil, readError(fmt.Errorf("metadata %q: %w", key, err))
		}
		o.Metadata[key] = value
	}
	return o.Metadata, nil
}

func readError(err error) error {
	return &loci.Error{Code: loci.Internal, Op: "read message", Err: err}
}

// call is one of tool_calls or invalid_tool_calls.
type call struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"` // an object; of an invalid call a text
	ID   string          `json:"id"`
	Type string          `json:"type"`
	Err  string          `json:"error,omitempty"`
	Own  *own            `json:"genkit,omitempty"`
}

// langChain is the data of a message as LangChain stores it.
type langChain struct {
	Content      json.RawMessage            `json:"content"`
	ToolCalls    []call                     `json:"tool_calls,omitempty"`
	InvalidCalls []call                     `json:"invalid_tool_calls,omitempty"`
	ToolCallID   *string                    `json:"tool_call_id,omitempty"`
	Name         string                     `json:"name,omitempty"`
	Kwargs       map[string]json.RawMessage `json:"additional_kwargs,omitempty"`
}

var messageTypes = map[ai.Role]session.MessageType{
	ai.RoleUser: session.MessageHuman, ai.RoleModel: session.MessageAI, ai.RoleSystem: session.MessageSystem,
}

// toLoci converts messages. One with several responses of tools becomes several.
func toLoci(messages []*ai.Message) ([]session.Message, error) {
	var out []session.Message
	for i, m := range messages {
		converted, err := messageToLoci(m)
		if err != nil {
			e := *loci.AsError(err)
			e.Msg = fmt.Sprintf("messages[%d]: %s", i, e.Msg)
			return nil, &e
		}
		out = append(out, converted...)
	}
	return out, nil
}

func messageToLoci(m *ai.Message) ([]session.Message, error) {
	if m == nil {
		return nil, loci.Errorf(loci.Invalid, "a message must not be nil")
	}
	if m.Role == ai.RoleTool {
		return responsesToLoci(m)
	}
	typ, ok := messageTypes[m.Role]
	if !ok {
		return nil, loci.Errorf(loci.Invalid, "role is %q; it must be user, model, system or tool", m.Role)
	}
	data := langChain{}
	blocks := []any{}
	for i, p := range m.Content {
		if p == nil {
			return nil, loci.Errorf(loci.Invalid, "content[%d] must not be nil", i)
		}
		var err error
		if p.IsToolRequest() && m.Role == ai.RoleModel && p.ToolRequest != nil {
			err = data.addCall(p, i)
		} else {
			var b any
			b, err = blockOf(p)
			blocks = append(blocks, b)
		}
		if err != nil {
			return nil, err
		}
	}
	var content any = blocks
	if len(blocks) == 0 {
		content = ""
	} else if only, ok := blocks[0].(textBlock); ok && len(blocks) == 1 && only.Own == nil && only.Text != "" {
		content = only.Text
	}
	out, err := data.message(typ, content, m.Metadata, nil)
	return []session.Message{out}, err
}

// message makes the message of a type.
func (d *langChain) message(
	typ session.MessageType, content any, metadata map[string]any, beside *own,
) (session.Message, error) {
	var err error
	if d.Content, err = encode(content); err != nil {
		return session.Message{}, err
	}
	d.Kwargs = map[string]json.RawMessage{}
	if len(metadata) > 0 {
		if d.Kwargs[metadataKey], err = encode(metadata); err != nil {
			return session.Message{}, err
		}
	}
	if beside != nil {
		if d.Kwargs[ownKey], err = encode(beside); err != nil {
			return session.Message{}, err
		}
	}
	data, err := encode(struct {
		Type session.MessageType `json:"type"`
		Data *langChain          `json:"data"`
	}{typ, d})
	if err != nil {
		return session.Message{}, err
	}
	return session.ParseMessage(data)
}

func encode(v any) (json.RawMessage, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, loci.Errorf(loci.Invalid, "a message is not JSON: %w", err)
	}
	return data, nil
}

// addCall adds the request of a tool.
func (d *langChain) addCall(p *ai.Part, index int) error {
	o := ownOf(p, index)
	o.Partial = p.ToolRequest.Partial
	c := call{Name: p.ToolRequest.Name, ID: p.ToolRequest.Ref, Type: "tool_call", Own: &o}
	var err error
	if c.Args, err = encode(p.ToolRequest.Input); err != nil {
		return err
	}
	switch {
	case p.ToolRequest.Input == nil:
		c.Args = json.RawMessage("{}")
	case c.Args[0] != '{': // LangChain's arguments are objects
		o.JSON = true
		c.Type, c.Err = "invalid_tool_call", "the arguments are not a JSON object"
		if c.Args, err = encode(string(c.Args)); err != nil {
			return err
		}
		d.InvalidCalls = append(d.InvalidCalls, c)
		return nil
	}
	d.ToolCalls = append(d.ToolCalls, c)
	return nil
}

// responsesToLoci makes a message of each response.
func responsesToLoci(m *ai.Message) ([]session.Message, error) {
	if len(m.Content) == 0 {
		return nil, loci.Errorf(loci.Invalid, "a message of role tool must have a response")
	}
	var out []session.Message
	for i, p := range m.Content {
		if !p.IsToolResponse() || p.ToolResponse == nil {
			return nil, loci.Errorf(loci.Invalid, "content[%d] must be a response of a tool, as the role is tool", i)
		}
		o := ownOf(p, i)
		response := p.ToolResponse
		text, isText := response.Output.(string)
		if !isText {
			data, err := encode(response.Output)
			if err != nil {
				return nil, err
			}
			text, o.JSON = string(data), true
		}
		if len(response.Content) > 0 {
			var err error
			if o.Content, err = encode(response.Content); err != nil {
				return nil, err
			}
		}
		metadata := m.Metadata
		if i > 0 {
			metadata = nil
		}
		data := langChain{ToolCallID: &response.Ref, Name: response.Name}
		converted, err := data.message(session.MessageTool, text, metadata, &o)
		if err != nil {
			return nil, err
		}
		out = append(out, converted)
	}
	return out, nil
}
