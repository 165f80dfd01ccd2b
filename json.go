package loci

import (
	"time"

	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// JSON as every kind of memory reads and writes it: names count to the letter, numbers stay exact, and
// times have one form. Errors say in plain words what is wrong with the JSON.

// MarshalJSON is [encoding/json.Marshal] with times in the one form of Loci, UTC with
// three digits of a second, and without the escapes for HTML.
func MarshalJSON(v any) ([]byte, error) {
	data, err := jsonform.Marshal(v)
	return data, jsonform.InWords(err)
}

// UnmarshalJSON is [encoding/json.Unmarshal] for what comes from callers: a name that
// differs from a known one by letter case is an error.
func UnmarshalJSON(data []byte, v any) error { return jsonform.InWords(jsonguard.Unmarshal(data, v)) }

// DecodeJSON reads one JSON value and nothing after it. It keeps numbers as written, so that large integers stay exact.
func DecodeJSON(data []byte) (any, error) {
	v, err := jsonform.Decode(data)
	return v, jsonform.InWords(err)
}

// EachJSON visits the members of an object or the elements of a list that is valid JSON, in order, up to
// the first error. An element has no name; any other value has nothing inside.
func EachJSON(value []byte, visit func(name string, element []byte) error) error {
	return jsonguard.Each(value, visit)
}

// CountJSON counts the elements of a list of valid JSON without decoding them, so that a bound comes before the work.
func CountJSON(list []byte) int { return jsonguard.Count(list) }

// ShowTime writes a time in the one form of Loci, such as 2026-01-02T03:04:05.678Z.
func ShowTime(t time.Time) string { return jsonform.Time(t) }
