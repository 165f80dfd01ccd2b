package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// maxDepth bounds how deep arguments nest. Deeper ones cost a parser far more
// than their size suggests.
const maxDepth = 64

// An argument is a name and the JSON a caller gave for it.
type argument struct {
	name  string
	value json.RawMessage
}

type arguments []argument

// parseArguments takes a JSON object apart. No arguments at all are an empty object.
func parseArguments(args json.RawMessage, limit int) (arguments, error) {
	if len(args) > limit {
		return nil, loci.Errorf(loci.TooLarge, "arguments have %d bytes; the limit is %d: send less at once", len(args), limit)
	}
	args = bytes.TrimSpace(args)
	if len(args) == 0 || string(args) == "null" {
		return nil, nil
	}
	var given arguments
	twice := ""
	fault := jsonguard.CheckStored(args, maxDepth, func(name, value []byte) {
		a := argument{string(name), value}
		if value == nil {
			twice = fmt.Sprintf("argument %q is given twice: give it once", clip(a.name, 64))
		}
		given = append(given, a)
	})
	if fault == "" && args[0] != '{' {
		return nil, loci.Errorf(loci.Invalid, "arguments must be a JSON object, got %s", kindOf(args))
	}
	switch fault {
	case "":
		return given, nil
	case jsonguard.UTF8:
		return nil, loci.Errorf(loci.Invalid, "arguments are not valid UTF-8")
	case jsonguard.Depth:
		return nil, loci.Errorf(loci.Invalid, "arguments nest deeper than %d levels: flatten them", maxDepth)
	case jsonguard.Surrogate:
		return nil, loci.Errorf(
			loci.Invalid,
			`a text of the arguments contains half of a surrogate pair, such as \ud800: write the whole character`,
		)
	case jsonguard.Duplicate:
		if twice == "" {
			twice = "arguments: one " + fault.Of(args)
		}
		return nil, loci.Errorf(loci.Invalid, "%s", twice)
	}
	return nil, loci.Errorf(loci.Invalid, "arguments are not valid JSON: pass one JSON object")
}

// content is an argument that is a text or a JSON object.
type content struct {
	given  bool
	text   string
	object json.RawMessage
}

// decimal is an argument that is a number and may be left out.
type decimal struct {
	given bool
	value float64
}

// period reads the times that a call bounds its results by; "" is none.
func period(since, until string) (from, to time.Time, err error) {
	if from, err = moment("since", since); err != nil {
		return from, to, err
	}
	to, err = moment("until", until)
	return from, to, err
}

// moment reads a date, or a time; without a zone it is taken as UTC.
func moment(name, given string) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	if t, ok := jsonform.ReadTime(given); ok {
		return t, nil
	}
	return time.Time{}, loci.Errorf(loci.Invalid, "%s is %q; write %s", name, clip(given, 40), jsonform.Moments)
}

// fill decodes arguments into the struct in, as the schema derived from it says:
// defaults for what is absent, an error that lists every fault otherwise.
func fill(in reflect.Value, schema *jsonschema.Schema, given arguments) error {
	var faults []string
	fields := map[string]reflect.Value{}
	for i := range in.NumField() {
		fields[schema.PropertyOrder[i]] = in.Field(i)
	}
	present := map[string]bool{}
	for _, a := range given {
		if len(faults) == maxFaults {
			break
		}
		field, ok := fields[a.name]
		if !ok {
			faults = append(faults, fmt.Sprintf("unknown argument %q: this tool takes %s",
				clip(a.name, 64), strings.Join(schema.PropertyOrder, ", ")))
			continue
		}
		if string(a.value) == "null" {
			continue // as if it were absent
		}
		present[a.name] = true
		if fault := set(field, schema.Properties[a.name], a); fault != "" {
			faults = append(faults, fault)
		}
	}
	for _, name := range schema.PropertyOrder {
		switch s := schema.Properties[name]; {
		case present[name]:
		case slices.Contains(schema.Required, name):
			faults = append(faults, fmt.Sprintf("argument %s is missing: pass %s", name, expected(fields[name])))
		case s.Default != nil:
			if fault := set(fields[name], s, argument{name, s.Default}); fault != "" {
				faults = append(faults, fault)
			}
		}
	}
	if len(faults) == 0 {
		return nil
	}
	return loci.Errorf(loci.Invalid, "%s", strings.Join(faults, "; "))
}

// set decodes one argument; it returns what is wrong with it, or "".
func set(field reflect.Value, schema *jsonschema.Schema, a argument) string {
	switch v := field.Addr().Interface().(type) {
	case *int:
		n, ok := integer(a.value)
		if !ok {
			return mismatch(field, a)
		}
		low, high := int(*schema.Minimum), int(*schema.Maximum)
		if n < low || n > high {
			return fmt.Sprintf("%s is %s; it must be %d to %d", a.name, clip(string(a.value), 40), low, high)
		}
		*v = n
		return ""
	case *decimal:
		if json.Unmarshal(a.value, &v.value) != nil {
			return mismatch(field, a)
		}
		if low, high := *schema.Minimum, *schema.Maximum; v.value < low || v.value > high {
			return fmt.Sprintf("%s is %s; it must be %g to %g", a.name, clip(string(a.value), 40), low, high)
		}
		v.given = true
		return ""
	case *content:
		v.given = true
		if a.value[0] == '{' {
			v.object = a.value
			return ""
		}
		if json.Unmarshal(a.value, &v.text) == nil {
			return ""
		}
		return mismatch(field, a)
	case *[]string:
		// A null inside would become "" and lose its place in the message.
		var entries []any
		if json.Unmarshal(a.value, &entries) != nil {
			return mismatch(field, a)
		}
		for i, e := range entries {
			s, ok := e.(string)
			if !ok {
				return fmt.Sprintf("%s[%d] must be a string: pass a list of strings", a.name, i)
			}
			*v = append(*v, s)
		}
		return ""
	case *map[string]any:
		d := json.NewDecoder(bytes.NewReader(a.value))
		d.UseNumber() // large integers stay exact
		if d.Decode(v) == nil {
			return ""
		}
	default:
		if json.Unmarshal(a.value, v) == nil {
			return ""
		}
	}
	return mismatch(field, a)
}

// integer accepts 5 and 5.0, which some clients write for one another.
func integer(value json.RawMessage) (int, bool) {
	text := string(value)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return int(n), true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int(f), true
}

// expected says what a field takes.
func expected(field reflect.Value) string {
	switch field.Interface().(type) {
	case int:
		return "an integer"
	case bool:
		return "true or false"
	case decimal:
		return "a number"
	case content:
		return "a string or an object"
	case []string:
		return "a list of strings"
	case map[string]any:
		return "an object"
	}
	return "a string"
}

// kindOf says what came, in the words of expected.
func kindOf(value json.RawMessage) string {
	switch value[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f', 'n':
		return string(value)
	}
	return "the number " + clip(string(value), 40)
}

// mismatch says what a field takes, what came and what to do.
func mismatch(field reflect.Value, a argument) string {
	want, got := expected(field), kindOf(a.value)
	remedy := "pass " + want
	switch {
	case (want == "an integer" || want == "a number") && got == "a string":
		remedy = "write the number without quotes"
	case want == "an integer" && strings.HasPrefix(got, "the number"):
		remedy = "pass a whole number"
		if number := strings.ToLower(string(a.value)); !strings.Contains(number, ".") && !strings.Contains(number, "e-") {
			remedy = fmt.Sprintf("pass one from %d to %d", math.MinInt64, math.MaxInt64)
		}
	case want == "true or false" && got == "a string":
		remedy = "write it without quotes"
	case want == "an object" && got == "a string":
		remedy = "pass the object itself, not its text"
	case want == "a list of strings" && got == "a string":
		remedy = "put it in a list"
	case strings.HasPrefix(want, "a string") && got != "a list" && got != "an object":
		remedy = "write it in quotes"
	}
	return fmt.Sprintf("%s must be %s, got %s: %s", a.name, want, got, remedy)
}
