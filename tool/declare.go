package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

// A spec is what a tool is, beside its function.
type spec struct {
	Tool                                                  // what it says and may do
	adjust func(properties map[string]*jsonschema.Schema) // puts this instance's limits and defaults into the input schema
	output []result                                       // what a success has in Structured; nil if it has nothing
}

// A result is one property of a structured reply.
type result struct {
	name     string
	schema   *jsonschema.Schema
	optional bool
}

// declare makes a tool of a typed function. The fields of In are its arguments;
// their types are string, int, decimal, bool, []string, map[string]any and content,
// and every int and decimal gets its minimum and maximum from adjust.
func declare[In any](s spec, handle func(context.Context, *call, In) (Reply, error)) *Tool {
	schema := inputSchema[In]()
	if s.adjust != nil {
		s.adjust(schema.Properties)
	}
	t := s.Tool
	t.takes(schema)
	if s.output != nil {
		t.OutputSchema = schemaBytes(outputSchema(s.output))
	}
	t.bind = func(given arguments) (work, error) {
		var in In
		if err := fill(reflect.ValueOf(&in).Elem(), schema, given); err != nil {
			return nil, err
		}
		return func(ctx context.Context, c *call) (Reply, error) { return handle(ctx, c, in) }, nil
	}
	return &t
}

// takes sets the schema of the arguments, with their bounds.
func (t *Tool) takes(schema *jsonschema.Schema) {
	memory := loci.DefaultMaxContent
	switch {
	case t.Family == FamilyFiles: // its content is a file's
		memory = t.base.cfg.MaxArguments
	case t.base.engine != nil:
		memory = t.base.engine.Settings().MaxContent
	}
	bindBounds(schema, t.base.cfg.MaxArguments, memory)
	t.arguments, t.InputSchema = schema, schemaBytes(schema)
}

// inputSchema derives the schema of the arguments, in as few words as will do.
func inputSchema[In any]() *jsonschema.Schema {
	schema, err := jsonschema.For[In](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[content]():        {AnyOf: []*jsonschema.Schema{{Type: "string"}, {Type: "object"}}},
		reflect.TypeFor[decimal]():        {Type: "number"},
		reflect.TypeFor[map[string]any](): {Type: "object"},
		reflect.TypeFor[[]string]():       {Type: "array", Items: &jsonschema.Schema{Type: "string"}},
	}})
	if err != nil {
		panic(fmt.Sprintf("tool: arguments %T: %v", *new(In), err)) // a mistake in this package; every test would show it
	}
	return schema
}

// outputSchema admits a success or an error, since clients check the structured
// form of both against it.
func outputSchema(success []result) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string"}
	failure := []result{{name: "error", schema: text}, {name: "code", schema: text}, {name: "recovery", schema: text}}
	return &jsonschema.Schema{Type: "object", AnyOf: []*jsonschema.Schema{objectOf(success), objectOf(failure)}}
}

// objectOf is the schema of an object with the given properties.
func objectOf(results []result) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{}}
	for _, r := range results {
		s.Properties[r.name] = r.schema
		s.PropertyOrder = append(s.PropertyOrder, r.name)
		if !r.optional {
			s.Required = append(s.Required, r.name)
		}
	}
	return s
}

func schemaBytes(schema *jsonschema.Schema) json.RawMessage {
	data, err := encode(schema)
	if err != nil {
		panic(fmt.Sprintf("tool: schema: %v", err)) // a mistake in this package; every test would show it
	}
	return data
}

// number makes a schema pointer of a limit.
func number(n int) *float64 { return new(float64(n)) }

// within sets the range of a number.
func within(schema *jsonschema.Schema, low, high float64) {
	schema.Minimum, schema.Maximum = new(low), new(high)
}

// floor sets the range and the default of the least score of a result.
func (i Instance) floor(schema *jsonschema.Schema) {
	within(schema, 0, 1)
	schema.Description = "Least chance that a result answers"
	schema.Default = json.RawMessage(strconv.FormatFloat(i.MinScore, 'g', -1, 64))
}

// fit is floor of tools whose results have a score and a fit.
func (i Instance) fit(schema *jsonschema.Schema) {
	i.floor(schema)
	schema.Description = "Least fit"
}

// least is the least score that a call asks for.
func (i Instance) least(given decimal) float64 {
	if given.given {
		return given.value
	}
	return i.MinScore
}

// choices sets the words that an argument, or each entry of a list, may be.
func choices[T ~string](schema *jsonschema.Schema, words ...T) {
	if schema.Items != nil {
		schema = schema.Items
	}
	for _, w := range words {
		schema.Enum = append(schema.Enum, string(w))
	}
}

// between sets the range and the default of an integer argument.
func between(schema *jsonschema.Schema, low, high, preset int) {
	schema.Minimum, schema.Maximum = number(low), number(high)
	schema.Default = json.RawMessage(fmt.Sprint(preset))
}
