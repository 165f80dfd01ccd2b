package session

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
)

// openAIRole keeps a role that LangChain has no type for, under the key that
// LangChain uses.
const openAIRole = "__openai_role__"

// openAIRoles are the roles of OpenAI's chat, with the type of their messages.
var openAIRoles = map[string]MessageType{"user": MessageHuman, "assistant": MessageAI, "system": MessageSystem, "developer": MessageSystem,
	"tool": MessageTool, "function": MessageFunction}

// sharedKeys are the keys that both forms know, with the same meaning.
var sharedKeys = []string{"content", "name", "tool_call_id"}

// openAIMessage reads a message of OpenAI's chat. Keys that LangChain has no place
// for go to additional_kwargs, from where [Message.OpenAI] brings them back.
func openAIMessage(object fields) (Message, error) {
	role, err := object.text("", "role", true)
	if err != nil {
		return Message{}, err
	}
	typ, ok := openAIRoles[role]
	if !ok {
		return Message{}, loci.OneOf("role", loci.ClipLabel(role), slices.Sorted(maps.Keys(openAIRoles))...)
	}
	data, kwargs := map[string]any{"type": typ}, map[string]any{}
	for key, value := range object {
		switch {
		case slices.Contains(sharedKeys, key):
			if string(value) != "null" {
				data[key] = value
			}
		case key == "tool_calls":
			if err := fromOpenAICalls(value, data); err != nil {
				return Message{}, err
			}
		case key != "role":
			kwargs[key] = value
		}
	}
	if _, there := data["content"]; !there && typ == MessageAI {
		data["content"] = "" // a message that only calls tools
	}
	if role == "developer" {
		kwargs[openAIRole] = role
	}
	data["additional_kwargs"], data["response_metadata"] = kwargs, map[string]any{}
	encoded, err := loci.MarshalJSON(data)
	if err != nil {
		return Message{}, loci.Errorf(loci.Invalid, "a message is not JSON: %s", err)
	}
	if err := checkMessage(typ, encoded, ""); err != nil {
		return Message{}, err
	}
	return Message{Type: typ, Data: encoded}, nil
}

// openAICall is a tool call as OpenAI's chat has it.
type openAICall struct {
	ID       *string `json:"id"`
	Type     string  `json:"type"`
	Function *struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// fromOpenAICalls sorts tool calls into those whose arguments are a JSON object and
// those a model got wrong. Calls of other tools than functions stay as they are.
func fromOpenAICalls(raw json.RawMessage, data map[string]any) error {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return loci.Errorf(loci.Invalid, "tool_calls must be a list")
	}
	calls, invalid := []any{}, []any{}
	for i, raw := range list {
		var call openAICall
		if err := json.Unmarshal(raw, &call); err != nil || call.Function == nil {
			return loci.Errorf(loci.Invalid, `tool_calls[%d] must be {"id": …, "type": "function", "function": {"name": …, "arguments": "…"}}`, i)
		}
		var args fields
		text := call.Function.Arguments
		if json.Unmarshal([]byte(text), &args) == nil && args != nil {
			calls = append(calls, map[string]any{"name": call.Function.Name, "args": json.RawMessage(text), "id": call.ID, "type": "tool_call"})
			continue
		}
		invalid = append(invalid, map[string]any{"name": call.Function.Name, "args": text, "id": call.ID, "type": "invalid_tool_call",
			"error": "the arguments are not a JSON object"})
	}
	data["tool_calls"], data["invalid_tool_calls"] = calls, invalid
	return nil
}

// OpenAI returns the message as one of OpenAI's chat: {"role": …, "content": …}. The
// types chat and generic keep the role they name. Unsupported: a message that asks
// for the removal of another.
func (m Message) OpenAI() (json.RawMessage, error) {
	data := m.data()
	role, err := m.openAIRole(data)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	var kwargs fields
	if json.Unmarshal(data.orNull("additional_kwargs"), &kwargs) == nil {
		for key, value := range kwargs {
			if key != openAIRole {
				out[key] = value
			}
		}
	}
	out["role"] = role
	for _, key := range sharedKeys {
		if raw, ok := data[key]; ok && string(raw) != "null" {
			out[key] = raw
		}
	}
	if blocks, ok := openAIBlocks(data["content"]); ok {
		out["content"] = blocks
	}
	if m.Type.base() == MessageAI {
		calls, err := toOpenAICalls(data)
		if err != nil {
			return nil, err
		}
		if len(calls) > 0 {
			out["tool_calls"] = calls
			if string(data["content"]) == `""` {
				out["content"] = nil
			}
		}
	}
	encoded, err := loci.MarshalJSON(out)
	if err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "encode message", Err: err}
	}
	return encoded, nil
}

// openAIBlocks makes blocks of the texts in a list of content: LangChain allows bare
// ones. ok is false where the content is no list.
func openAIBlocks(content json.RawMessage) (blocks []any, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(content, &list) != nil || list == nil {
		return nil, false
	}
	blocks = []any{}
	for _, raw := range list {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			blocks = append(blocks, map[string]string{"type": "text", "text": text})
			continue
		}
		blocks = append(blocks, raw)
	}
	return blocks, true
}

func (m Message) openAIRole(data fields) (string, error) {
	switch m.Type.base() {
	case MessageHuman:
		return "user", nil
	case MessageAI:
		return "assistant", nil
	case MessageSystem:
		var kwargs struct {
			Role string `json:"__openai_role__"`
		}
		if json.Unmarshal(data.orNull("additional_kwargs"), &kwargs) == nil && kwargs.Role == "developer" {
			return kwargs.Role, nil
		}
		return "system", nil
	case MessageTool, MessageFunction:
		return string(m.Type.base()), nil
	case MessageChat, MessageGeneric:
		return data.text("data", "role", true)
	}
	return "", loci.Errorf(loci.Unsupported, "a message of type %s has no form in OpenAI's chat", m.Type)
}

func toOpenAICalls(data fields) (out []any, err error) {
	calls, err := data.toolCalls("data")
	if err != nil {
		return nil, err
	}
	add := func(id any, name, arguments string) {
		out = append(out, map[string]any{"id": id, "type": "function", "function": map[string]any{"name": name, "arguments": arguments}})
	}
	for _, c := range calls {
		add(c.ID, c.Name, string(c.Args))
	}
	var invalid []struct{ Name, Args, ID *string }
	if err := json.Unmarshal(data.orNull("invalid_tool_calls"), &invalid); err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "read message", Err: fmt.Errorf("invalid_tool_calls: %w", err)}
	}
	for _, c := range invalid {
		text := func(p *string) string {
			if p == nil {
				return ""
			}
			return *p
		}
		add(text(c.ID), text(c.Name), text(c.Args))
	}
	return out, nil
}
