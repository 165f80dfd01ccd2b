package tool

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// A bound is how large an argument may be.
type bound struct {
	characters int // of a text, and of each text of a list
	entries    int // of a list
	members    int // of an object
	values     int // in an object, at all levels together
}

// wholeCall stands for the limit on all arguments of a call: what a text may be, beyond
// that, is the library's to say, which knows the engine's options.
const wholeCall = -1

// wholeMemory stands for what the engine takes as the text of one memory, in bytes: the
// library looks at them, when the characters are no more. An object is stored as its text.
const wholeMemory = -2

// maxFaults is how many arguments that do not fit are named one by one.
const maxFaults = 100

// maxTimeCharacters is more than a time with its zone has.
const maxTimeCharacters = 64

// bounds are the limits of arguments by name; a name means the same in every tool. They
// are declared only here: the schemas show them, and [Tool.Call] refuses what is larger
// before anything looks into it.
var bounds = map[string]bound{
	"content":        {characters: wholeMemory, members: 100_000},
	"query":          {characters: loci.MaxQueryBytes},
	"topic":          {characters: loci.MaxQueryBytes},
	"trigger_prompt": {characters: wholeCall}, // the first 16 KiB count
	"since":          {characters: maxTimeCharacters},
	"until":          {characters: maxTimeCharacters},
	"reason":         {characters: loci.MaxReasonBytes},
	"tags":           {characters: loci.MaxTagCharacters, entries: loci.MaxTags},
	"types":          {characters: 64, entries: len(kinds)},
	"metadata":       {members: loci.MaxMetadataNames},
	"filter":         {members: loci.MaxConditions, values: loci.MaxConditions},
	"id":             {characters: maxNameCharacters},
	"note_id":        {characters: maxNameCharacters},
	"rule_id":        {characters: maxNameCharacters},
	"session_id":     {characters: maxNameCharacters},
	"cursor":         {characters: maxPathCharacters},
	"butler":         {characters: maxNameCharacters},
	"scope":          {characters: maxNameCharacters},
	"subject":        {characters: maxNameCharacters},
	"predicate":      {characters: maxNameCharacters},
	"type":           {characters: maxNameCharacters},
	"mode":           {characters: maxNameCharacters},
	"permanence":     {characters: maxNameCharacters},
	"action":         {characters: maxNameCharacters},
	"command":        {characters: maxNameCharacters},
	"path":           {characters: maxPathCharacters},
	"old_path":       {characters: maxPathCharacters},
	"new_path":       {characters: maxPathCharacters},
	"oldContent":     {characters: wholeCall},
	"file_text":      {characters: wholeCall},
	"old_str":        {characters: wholeCall},
	"new_str":        {characters: wholeCall},
	"insert_text":    {characters: wholeCall},
	"view_range":     {entries: 2},
}

const (
	maxNameCharacters = 1024 // more than any name or id has that the library takes
	maxPathCharacters = 16 << 10
)

// bindBounds puts the bounds of the arguments into a schema. call is the limit on all
// arguments of a call, memory that on the text of a memory, in bytes.
func bindBounds(schema *jsonschema.Schema, call, memory int) {
	for _, name := range schema.PropertyOrder {
		b := bounds[name]
		switch b.characters {
		case wholeCall:
			b.characters = call
		case wholeMemory:
			b.characters = min(call, memory)
		}
		b.bind(schema.Properties[name])
		for _, form := range schema.Properties[name].AnyOf {
			b.bind(form)
		}
	}
}

func (b bound) bind(schema *jsonschema.Schema) {
	switch {
	case schema.Type == "array":
		schema.MaxItems = &b.entries
		b.bind(schema.Items)
	case schema.Type == "object":
		schema.MaxProperties = &b.members
	case schema.Type == "string" && schema.Enum == nil:
		schema.MaxLength = &b.characters
	}
}

// checkBounds refuses what is larger, or emptier, than the schema says. It goes over each value
// once, whatever it holds; what is of another type than it should be is left to the
// decoder.
func checkBounds(schema *jsonschema.Schema, given arguments) error {
	for _, a := range given {
		s := schema.Properties[a.name]
		if s == nil {
			continue
		}
		if most := bounds[a.name].values; most > 0 && jsonguard.CountValues(a.value) > most {
			return loci.Errorf(loci.Invalid, "%s has more than %d conditions: leave some out", a.name, most)
		}
		if err := checkBound(s, a.name, a.value); err != nil {
			return err
		}
		for _, form := range s.AnyOf {
			if err := checkBound(form, a.name, a.value); err != nil {
				return err
			}
		}
		for _, form := range s.AnyOf { // an object is stored as its text
			if form.MaxLength == nil || a.value[0] != '{' {
				continue
			}
			if n := jsonguard.Length(a.value); n > *form.MaxLength {
				return tooLong(a.name, n, "bytes", *form.MaxLength)
			}
		}
	}
	return nil
}

func checkBound(schema *jsonschema.Schema, name string, value json.RawMessage) error {
	switch first := value[0]; {
	case string(value) == `""` && schema.MinLength != nil:
		return loci.Errorf(loci.Invalid, "%s must not be empty: leave it out, or name one", name)
	case first == '"' && schema.MaxLength != nil && len(value)-2 > *schema.MaxLength:
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return loci.Errorf(loci.Invalid, "%s is not valid JSON: %w", name, err)
		}
		if n := utf8.RuneCountInString(text); n > *schema.MaxLength {
			return tooLong(name, n, "characters", *schema.MaxLength)
		}
	case first == '[' && schema.MaxItems != nil:
		if n := jsonguard.Count(value); n > *schema.MaxItems {
			return loci.Errorf(
				loci.Invalid,
				"%s has %d entries; the limit is %d: leave some out",
				name,
				n,
				*schema.MaxItems,
			)
		}
		var entries []json.RawMessage
		if err := json.Unmarshal(value, &entries); err != nil {
			return loci.Errorf(loci.Invalid, "%s is not valid JSON: %w", name, err)
		}
		for i, e := range entries {
			if err := checkBound(schema.Items, fmt.Sprintf("%s[%d]", name, i), e); err != nil {
				return loci.Errorf(loci.Invalid, "%s", err)
			}
		}
	case first == '{' && schema.MaxProperties != nil:
		if n := jsonguard.Count(value); n > *schema.MaxProperties {
			return loci.Errorf(
				loci.Invalid,
				"%s has %d members; the limit is %d: leave some out",
				name,
				n,
				*schema.MaxProperties,
			)
		}
	}
	return nil
}

func tooLong(name string, n int, of string, most int) error {
	remedy := "shorten it"
	if name == "content" {
		remedy = "split it"
	}
	return loci.Errorf(loci.TooLarge, "%s has %d %s; the limit is %d: %s", name, n, of, most, remedy)
}
