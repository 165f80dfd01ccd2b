package loci

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/attribute"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
	"github.com/loci-memory/loci/internal/label"
	"github.com/loci-memory/loci/internal/secret"
)

// content checks a text or a structured content and redacts it. The text of a
// structured one is its values in lines: JSON's escapes would glue to the words.
func (e *Engine) content(text string, value json.RawMessage) (string, json.RawMessage, error) {
	if len(value) > 0 {
		if text != "" {
			return "", nil, Errorf(Invalid, "content is given twice, as text and as an object: give one")
		}
		if err := CheckJSON("content", value); err != nil {
			return "", nil, err
		}
		v, err := DecodeJSON(value)
		object, ok := v.(map[string]any)
		if err != nil || !ok || len(object) == 0 {
			return "", nil, Errorf(Invalid, "content must be a text or a non-empty JSON object")
		}
		if object, err = e.redactJSON(object); err != nil {
			return "", nil, err
		}
		value, err = MarshalJSON(object)
		if err != nil {
			return "", nil, Errorf(Invalid, "content is not JSON: %s", jsonform.Fault(err))
		}
		text = Flatten(object)
	} else {
		if label.Blank(text) {
			return "", nil, Errorf(Invalid, "content must not be empty")
		}
		if err := e.checkSize(len(text)); err != nil { // before it is searched for secrets
			return "", nil, err
		}
		if !utf8.ValidString(text) {
			return "", nil, Errorf(Invalid, "content is not valid UTF-8")
		}
		text = e.redact(text)
	}
	if err := e.checkSize(max(len(text), len(value))); err != nil {
		return "", nil, err
	}
	return text, value, nil
}

func (e *Engine) checkSize(bytes int) error {
	if bytes > e.opts.Content.MaxBytes {
		return Errorf(TooLarge, "content has %d bytes; the limit is %d: split it into several memories", bytes, e.opts.Content.MaxBytes)
	}
	return nil
}

// maxDepth is how deep a JSON value may nest; package json reads no more.
const maxDepth = 10_000

// CheckJSON refuses JSON that could not be stored as it was sent: decoders silently
// replace or drop some of it. It leaves what is no JSON to whoever decodes it.
func CheckJSON(what string, data []byte) error {
	switch fault := jsonguard.CheckStored(data, maxDepth, nil); fault {
	case jsonguard.UTF8, jsonguard.Surrogate, jsonguard.Duplicate:
		return Errorf(Invalid, "%s %s", what, fault.Of(data))
	}
	return nil
}

func checkMetadata(metadata map[string]any) error {
	switch fault, large := attribute.Fault(metadata, MaxMetadataNames, MaxMetadataBytes); {
	case fault == "":
		return nil
	case large:
		return Errorf(TooLarge, "%s", fault)
	default:
		return Errorf(Invalid, "%s", fault)
	}
}

// redactJSON redacts every string inside a JSON object, keys included.
func (e *Engine) redactJSON(object map[string]any) (map[string]any, error) {
	if len(object) == 0 || e.opts.Content.KeepSecrets {
		return object, nil
	}
	v, err := jsonform.Plain(object)
	if err != nil {
		return nil, Errorf(Invalid, "not JSON: %s", jsonform.Fault(err))
	}
	return e.redactValue(v).(map[string]any), nil
}

func (e *Engine) redactValue(v any) any {
	if e.opts.Content.KeepSecrets {
		return v
	}
	return secret.RedactValue(v)
}

// tags redacts and checks the tags of a fact; redaction comes first, since
// credentials are not known by their lower-case form.
func (e *Engine) tags(tags []string) ([]string, error) {
	if len(tags) > label.MaxGivenTags {
		return CheckTags(tags) // which says so
	}
	clean := make([]string, len(tags))
	for i, tag := range tags {
		clean[i] = e.redact(tag)
	}
	return CheckTags(clean)
}

// CheckTags brings tags to their stored form: trimmed, lower case, each once, in
// the order given. At most 16 tags of 1 to 64 characters.
func CheckTags(tags []string) ([]string, error) {
	clean, err := label.Tags(tags)
	if err != nil {
		return nil, Errorf(Invalid, "%s", err)
	}
	return clean, nil
}

// Flatten writes a JSON value as text for search: a string as it is, an object as
// "name: value" lines in order of name, a list one element a line.
func Flatten(value any) string { return jsonform.Flatten(value) }
