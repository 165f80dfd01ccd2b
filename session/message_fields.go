package session

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
)

// checkMessageData checks the fields that LangChain reads.
func checkMessageData(typ MessageType, data fields, place string) error {
	if err := data.content(place, typ.base() == MessageRemove); err != nil {
		return err
	}
	required := map[MessageType]string{
		MessageTool: "tool_call_id", MessageFunction: "name",
		MessageChat: "role", MessageGeneric: "role", MessageRemove: "id",
	}[typ.base()]
	for _, key := range []string{"id", "name", "tool_call_id", "role", "status"} {
		if _, err := data.text(place, key, key == required); err != nil {
			return err
		}
	}
	if status, _ := data.text(place, "status", false); typ.base() == MessageTool && status != "" && status != "success" && status != "error" {
		return loci.Errorf(loci.Invalid, "%s is %q; it must be success or error", in(place, "status"), loci.ClipLabel(status))
	}
	for _, key := range []string{"additional_kwargs", "response_metadata", "usage_metadata"} {
		var object map[string]json.RawMessage
		if json.Unmarshal(data.orNull(key), &object) != nil {
			return loci.Errorf(loci.Invalid, "%s must be a JSON object", in(place, key))
		}
	}
	if _, err := data.toolCalls(place); err != nil {
		return err
	}
	return data.invalidToolCalls(place)
}

// orNull returns a field, or null where it is missing.
func (f fields) orNull(key string) json.RawMessage {
	if raw, ok := f[key]; ok {
		return raw
	}
	return json.RawMessage("null")
}

// in names a field of an object for an error; "" is the place of what the caller wrote.
func in(place, key string) string {
	if place == "" {
		return key
	}
	return place + "." + key
}

// text reads a field that is a text; missing and null are "", unless required.
func (f fields) text(place, key string, required bool) (string, error) {
	var text *string
	if json.Unmarshal(f.orNull(key), &text) != nil || text == nil && required {
		return "", loci.Errorf(loci.Invalid, "%s must be a text", in(place, key))
	}
	if text == nil {
		return "", nil
	}
	return *text, nil
}

// content checks the content: a text, or a list of texts and of objects with a type.
func (f fields) content(place string, optional bool) error {
	raw, ok := f["content"]
	if !ok && optional {
		return nil
	}
	switch {
	case ok && raw[0] == '"':
		return nil
	case !ok || raw[0] != '[':
		return loci.Errorf(loci.Invalid, "%s must be a text or a list of blocks", in(place, "content"))
	}
	if n := loci.CountJSON(raw); n > MaxMessageParts {
		return loci.Errorf(loci.Invalid, "%s has %d blocks; the limit is %d: split the message", in(place, "content"), n, MaxMessageParts)
	}
	i := -1
	return loci.EachJSON(raw, func(_ string, block []byte) error {
		i++
		switch block[0] {
		case '"':
			return nil
		case '{':
			return eachText(block, func() string { return fmt.Sprintf("%s[%d]", in(place, "content"), i) }, "type")
		}
		return loci.Errorf(loci.Invalid, "%s[%d] must be a text or a JSON object", in(place, "content"), i)
	})
}

// eachText checks members of an object that are texts, or null where there is none. What
// there is once for each part of a message is not decoded to be checked: a message of ten
// thousand parts would take a hundred times what its bytes do.
func eachText(object []byte, place func() string, keys ...string) error {
	return loci.EachJSON(object, func(key string, value []byte) error {
		if slices.Contains(keys, key) && value[0] != '"' && value[0] != 'n' {
			return loci.Errorf(loci.Invalid, "%s.%s must be a text", place(), key)
		}
		return nil
	})
}

// A toolCall is a call of a tool that a model asks for.
type toolCall struct {
	Name string          `json:"name"`
	Args json.RawMessage `json:"args"`
	ID   string          `json:"id"`
}

// list returns a field that is a list; missing and null are an empty one.
func (f fields) list(place, key string) (json.RawMessage, error) {
	raw := f.orNull(key)
	switch {
	case raw[0] == 'n':
		return json.RawMessage("[]"), nil
	case raw[0] != '[':
		return nil, loci.Errorf(loci.Invalid, "%s must be a list", in(place, key))
	}
	if n := loci.CountJSON(raw); n > MaxMessageParts {
		return nil, loci.Errorf(loci.Invalid, "%s has %d entries; the limit is %d: split the message", in(place, key), n, MaxMessageParts)
	}
	return raw, nil
}

// toolCalls reads tool_calls.
func (f fields) toolCalls(place string) (calls []toolCall, err error) {
	list, err := f.list(place, "tool_calls")
	if err != nil {
		return nil, err
	}
	return calls, loci.EachJSON(list, func(_ string, raw []byte) error {
		at := func() string { return fmt.Sprintf("%s[%d]", in(place, "tool_calls"), len(calls)) }
		if raw[0] != '{' {
			return loci.Errorf(loci.Invalid, "%s must be a JSON object", at())
		}
		if err := eachText(raw, at, "name", "id"); err != nil {
			return err
		}
		call, named := toolCall{}, false
		err := loci.EachJSON(raw, func(key string, value []byte) error {
			switch {
			case key == "args":
				call.Args = value
			case value[0] != '"':
			case key == "name":
				named = true
				return json.Unmarshal(value, &call.Name)
			case key == "id":
				return json.Unmarshal(value, &call.ID)
			}
			return nil
		})
		switch {
		case err != nil:
			return err
		case !named:
			return loci.Errorf(loci.Invalid, "%s.name must be a text", at())
		case len(call.Args) == 0 || call.Args[0] != '{':
			return loci.Errorf(loci.Invalid, "%s.args must be a JSON object", at())
		}
		calls = append(calls, call)
		return nil
	})
}

// invalidToolCalls checks invalid_tool_calls: what a model wrote and nobody could read.
func (f fields) invalidToolCalls(place string) error {
	list, err := f.list(place, "invalid_tool_calls")
	if err != nil {
		return err
	}
	i := -1
	return loci.EachJSON(list, func(_ string, raw []byte) error {
		i++
		at := func() string { return fmt.Sprintf("%s[%d]", in(place, "invalid_tool_calls"), i) }
		if raw[0] != '{' {
			return loci.Errorf(loci.Invalid, "%s must be a JSON object", at())
		}
		return eachText(raw, at, "name", "args", "id", "error")
	})
}
