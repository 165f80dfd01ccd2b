// Package attribute joins what a memory's attributes hold in one JSON object: a structured
// content under a name of its own, and metadata beside it.
package attribute

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// Content is the name that metadata cannot have.
const Content = "content"

var errNoObject = errors.New("attributes are no JSON object")

// Object decodes attributes; none are nil.
func Object(attributes json.RawMessage) (map[string]any, error) {
	if len(attributes) == 0 {
		return nil, nil
	}
	v, err := jsonform.Decode(attributes)
	object, ok := v.(map[string]any)
	if err == nil && !ok {
		err = errNoObject
	}
	return object, err
}

// Some is Object with the members alone whose name is asked for: a filter looks at two of many.
func Some(attributes json.RawMessage, asked func(name string) bool) (map[string]any, error) {
	text := bytes.TrimLeft(attributes, " \t\r\n")
	if len(text) == 0 || text[0] != '{' || !jsonguard.Valid(text) {
		return Object(attributes)
	}
	some := map[string]any{}
	return some, jsonguard.Each(text, func(name string, value []byte) (err error) {
		if asked(name) {
			some[name], err = jsonform.Decode(value)
		}
		return err
	})
}

// Has reports whether an object has a member of a name.
func Has(object json.RawMessage, name string) bool {
	some, err := Some(object, func(member string) bool { return member == name })
	_, has := some[name]
	return err == nil && has
}

// MayHave reports whether an object may have a member of a name that is plainly written: in most that have none, the
// name stands nowhere else either. To look through the object takes several times as long.
func MayHave(object json.RawMessage, name string) bool {
	return bytes.Contains(object, []byte(name+`"`))
}

// Split takes attributes apart: the structured content, if any, and the metadata.
func Split(attributes json.RawMessage) (value json.RawMessage, metadata map[string]any, err error) {
	object, err := Object(attributes)
	if err != nil {
		return nil, nil, err
	}
	if content, ok := object[Content]; ok {
		if value, err = jsonform.Marshal(content); err != nil {
			return nil, nil, err
		}
		delete(object, Content)
	}
	if len(object) == 0 {
		object = nil
	}
	return value, object, nil
}

// Join is the inverse of [Split]; nil without either.
func Join(value json.RawMessage, metadata map[string]any) (json.RawMessage, error) {
	if len(value) == 0 && len(metadata) == 0 {
		return nil, nil
	}
	all := map[string]any{}
	maps.Copy(all, metadata)
	if len(value) > 0 {
		all[Content] = value
	}
	return jsonform.Marshal(all)
}

// With returns metadata with more members. Those given are not changed.
func With(metadata map[string]any, members map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, metadata)
	maps.Copy(all, members)
	return all
}

// Fault says in words what keeps metadata from being stored: "" if nothing does. large: they have too many
// bytes.
func Fault(metadata map[string]any, names, bytes int) (fault string, large bool) {
	if _, ok := metadata["content"]; ok {
		return "metadata.content is reserved for the text itself: use another key", false
	}
	if len(metadata) == 0 {
		return "", false
	}
	if len(metadata) > names {
		return fmt.Sprintf("metadata has %d names; the limit is %d: leave some out", len(metadata), names), false
	}
	data, err := jsonform.Marshal(metadata)
	switch {
	case err != nil:
		return "metadata is not JSON: " + jsonform.Fault(err), false
	case jsonform.Replaced(data):
		return "metadata has a text that is not valid UTF-8", false
	case len(data) > bytes:
		return fmt.Sprintf("metadata has %d bytes; the limit is %d: shorten it", len(data), bytes), true
	}
	return "", false
}
