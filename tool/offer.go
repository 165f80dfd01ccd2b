package tool

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

// A choice is an argument whose words need scopes, each its own.
type choice struct {
	argument string
	scopes   map[string]loci.Scope
	describe func(words []string) string // the tool with some of the words; nil: its description names none
	unused   func(words []string) string // the argument that none of them takes, "" for none; nil: each is taken
}

// schema shows the arguments that a call with some of the words takes.
func (c *choice) schema(arguments jsonschema.Schema, words []string) json.RawMessage {
	if c.unused != nil {
		unused := c.unused(words)
		arguments.Properties = maps.Clone(arguments.Properties)
		delete(arguments.Properties, unused)
		arguments.PropertyOrder = slices.DeleteFunc(slices.Clone(arguments.PropertyOrder), func(name string) bool {
			return name == unused
		})
	}
	return schemaBytes(&arguments)
}

// Limited reports whether a principal may only call tools of some families.
func Limited(p loci.Principal) bool {
	return slices.ContainsFunc(p.Scopes(), func(s loci.Scope) bool {
		return strings.HasPrefix(string(s), string(loci.ScopeTools))
	})
}

// allowed refuses a principal that may call tools of other families alone.
func (t *Tool) allowed(p loci.Principal) error {
	if !Limited(p) || p.May(loci.ScopeTools+loci.Scope(t.Family)) {
		return nil
	}
	return loci.Errorf(loci.Forbidden, "%s is of the family %s, which this credential may not use", t.Name, t.Family)
}

// For returns the tool as a principal may use it: without the words of its schema that
// the scopes forbid. False: the principal may not use it at all. The schema of a reply
// stays. A call refuses what is left out, as before. A tool that a program made by itself
// needs no scope: the program decides about its calls.
func (t *Tool) For(p loci.Principal) (*Tool, bool) {
	if len(t.scopes) > 0 && t.permit(p) != nil || t.allowed(p) != nil {
		return nil, false
	}
	if t.choice == nil {
		return t, true
	}
	argument := *t.arguments.Properties[t.choice.argument]
	argument.Enum = slices.DeleteFunc(slices.Clone(argument.Enum), func(word any) bool {
		text, _ := word.(string)
		return !p.May(t.choice.scopes[text])
	})
	if len(argument.Enum) == len(t.arguments.Properties[t.choice.argument].Enum) {
		return t, true
	}
	return t.choosing(&argument), true
}

// choosing is the tool with another schema of the argument that chooses.
func (t *Tool) choosing(argument *jsonschema.Schema) *Tool {
	words := make([]string, len(argument.Enum))
	for i, word := range argument.Enum {
		words[i], _ = word.(string)
	}
	var preset string
	if json.Unmarshal(argument.Default, &preset) == nil && !slices.Contains(words, preset) {
		argument.Default = nil
	}
	schema := *t.arguments
	schema.Properties = maps.Clone(schema.Properties)
	schema.Properties[t.choice.argument] = argument
	if argument.Default == nil && preset != "" {
		schema.Required = append(slices.Clone(schema.Required), t.choice.argument)
	}
	reads := !slices.ContainsFunc(words, func(word string) bool { return t.choice.scopes[word] != loci.ScopeRead })
	own := *t
	own.InputSchema = t.choice.schema(schema, words)
	if t.choice.describe != nil {
		own.Description = t.choice.describe(words)
	}
	if reads && !t.raised {
		own.Tier, own.Annotations = ReadOnly, Annotations{ReadOnly: true, Idempotent: true}
	}
	return &own
}

// For are the tools that a principal may use, each as [Tool.For] shows it.
func (s *Set) For(p loci.Principal) (tools []*Tool) {
	for _, t := range s.tools {
		if own, may := t.For(p); may {
			tools = append(tools, own)
		}
	}
	return tools
}

// commands are those of all that the entry permits, in the order of all.
func (i Instance) commands(all []string) []string {
	if i.Commands == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(c string) bool { return !slices.Contains(i.Commands, c) })
}

// commanded says what a tool with some commands may do, and what its callers need.
func (t *Tool) commanded(commands []string, scopes map[string]loci.Scope) {
	t.choice = &choice{"command", scopes, nil, nil}
	t.scopes = nil
	for _, c := range commands {
		if s := scopes[c]; !slices.Contains(t.scopes, s) {
			t.scopes = append(t.scopes, s)
		}
	}
	t.Tier, t.Annotations = SideEffecting, Annotations{Destructive: true}
	switch {
	case slices.Equal(t.scopes, []loci.Scope{loci.ScopeRead}):
		t.Tier, t.Annotations = ReadOnly, Annotations{ReadOnly: true, Idempotent: true}
	case !slices.ContainsFunc(commands, func(c string) bool {
		return scopes[c] != loci.ScopeRead && c != commandAppend && c != claudeInsert
	}):
		t.Annotations = Annotations{} // they only add
	}
}

// checkCommands looks at the commands of an entry.
func (i Instance) checkCommands(at int, applies bool) (faults []error) {
	all := allFileCommands
	if i.Family == FamilyClaude {
		all = claudeCommands
	}
	switch {
	case i.Commands == nil:
		return nil
	case !applies:
		return []error{fault(at, "commands is for the tool memory of the families files and claude only")}
	case len(i.Commands) == 0:
		return []error{fault(at, "commands cannot be empty")}
	}
	for n, c := range i.Commands {
		switch {
		case !slices.Contains(all, c):
			faults = append(faults, fault(at, "unknown command %q: must be one of %s", c, strings.Join(all, ", ")))
		case slices.Contains(i.Commands[:n], c):
			faults = append(faults, fault(at, "command %q is permitted twice: name it once", c))
		}
	}
	return faults
}

// searches are the tools that top_k is for, each with the most results that a call may ask for.
var searches = map[[2]string]int{
	{FamilyFacts, "search_memory"}:             maxSearchLimit,
	{FamilyNotes, "memory_search"}:             maxTopK,
	{FamilyMemory, "memory_search"}:            maxSearchLimit,
	{FamilyMemory, "memory_recall"}:            maxSearchLimit,
	{FamilySessions, "memory_list_sessions"}:   maxSessions,
	{FamilySessions, "memory_search_sessions"}: maxSessions,
}

// checkOwn looks at what an entry says of time, care and number, in place of what all tools have.
func (i Instance) checkOwn(at int, chosen []builder) (faults []error) {
	if d := time.Duration(i.Timeout); d != 0 && (d < time.Millisecond || d > 10*time.Minute) {
		faults = append(faults, fault(at, "timeout is %s; it must be 1ms to 10m", d))
	}
	if i.Tier != "" && i.Tier != ReadOnly && i.Tier != SideEffecting {
		faults = append(faults, fault(at, "unknown tier %q: must be one of %s, %s", i.Tier, ReadOnly, SideEffecting))
	}
	faults = append(faults, i.checkWeights(at, chosen)...)
	if i.TopK == 0 || len(chosen) == 0 {
		return faults
	}
	most := 0
	for _, c := range chosen {
		if n := searches[[2]string{c.family, c.name}]; n > 0 && (most == 0 || n < most) {
			most = n
		}
	}
	switch {
	case most == 0:
		faults = append(faults, fault(at, "top_k is for tools that search or list only"))
	case i.TopK < 1 || i.TopK > most:
		faults = append(faults, fault(at, "top_k is %d; it must be 1 to %d", i.TopK, most))
	}
	return faults
}

// weighing are the tools that weights are for.
var weighing = []string{"memory_recall", "memory_context"}

// checkWeights looks at the weights of an entry.
func (i Instance) checkWeights(at int, chosen []builder) []error {
	w := i.Weights
	if w == nil || len(chosen) == 0 {
		return nil
	}
	if !slices.ContainsFunc(chosen, func(c builder) bool { return slices.Contains(weighing, c.name) }) {
		return []error{fault(at, "weights are for %s only", strings.Join(weighing, " and "))}
	}
	sum := 0.0
	for _, share := range []float64{w.Relevance, w.Importance, w.Recency, w.Confidence} {
		if !(share >= 0) {
			return []error{fault(at, "weights has %v; none may be negative", share)}
		}
		sum += share
	}
	if !(math.Abs(sum-1) <= 1e-9) {
		return []error{fault(at, "weights sum to %v; relevance, importance, recency and confidence must sum to 1", sum)}
	}
	return nil
}
