package rest

import (
	"encoding/json"
	"errors"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci/internal/jsonform"
)

// An instant is a moment that a request names, as the arguments of tools do: a date, or a time;
// without a zone it is of UTC. Zero is none.
type instant struct{ at time.Time }

// maxInstant bounds the text of one, in characters.
const maxInstant = 64

// Schema says nothing of a format: dates and times have one each.
func (instant) Schema(huma.Registry) *huma.Schema {
	longest := maxInstant
	return &huma.Schema{Type: huma.TypeString, MaxLength: &longest, Examples: []any{"2026-01-31", "2026-01-31T08:00:00Z"}}
}

// Form is what a place for an instant takes.
func (instant) Form() string { return jsonform.Moments }

// UnmarshalText is for a parameter of the address.
func (i *instant) UnmarshalText(text []byte) error {
	at, ok := jsonform.ReadTime(string(text))
	if !ok {
		return errors.New("write " + jsonform.Moments)
	}
	i.at = at
	return nil
}

// UnmarshalJSON is for a body; the error leaves the name of the place to whoever reads the object.
func (i *instant) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	if i.UnmarshalText([]byte(text)) != nil {
		return &json.UnmarshalTypeError{Value: "string", Type: reflect.TypeFor[instant]()}
	}
	return nil
}
