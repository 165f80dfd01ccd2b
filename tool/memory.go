package tool

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
)

// kinds are the types of memory that the family knows.
var kinds = []loci.Kind{loci.KindEpisode, loci.KindFact, loci.KindRule}

// outcome tells in every reply of a tool that stores what the write did.
var outcome = result{name: "outcome", schema: &jsonschema.Schema{Type: "string"}}

// duplicate is the outcome where only a create that stored nothing tells of it.
var duplicate = result{name: outcome.name, schema: outcome.schema, optional: true}

// idOutput describes a reply that names a memory.
func idOutput(more ...result) []result {
	return append([]result{{name: "id", schema: &jsonschema.Schema{Type: "string"}}}, more...)
}

// storing prepares a tool that adds memories.
func (b *base) storing(t Tool, title, description string, i Instance) Tool {
	t.Title, t.Description = title, describe(description, i)
	t.Tier, t.Timeout = SideEffecting, time.Duration(b.cfg.WriteTimeout)
	t.scopes = []loci.Scope{loci.ScopeWrite}
	return t
}

// reading prepares a tool that reads memories.
func (b *base) reading(t Tool, title, description string, i Instance) Tool {
	t.Title, t.Description = title, describe(description, i)
	t.Tier, t.Timeout = ReadOnly, time.Duration(b.cfg.SearchTimeout)
	t.scopes = []loci.Scope{loci.ScopeRead}
	t.Annotations = Annotations{ReadOnly: true, Idempotent: true}
	return t
}

// asButler refuses an agent that is not the caller's own.
func (c *call) asButler(given string) error {
	butler, agent := c.Principal.Var(loci.VarButler), c.Principal.Var(loci.VarAgent)
	switch {
	case strings.TrimSpace(given) == "":
		return loci.Errorf(loci.Invalid, "butler must not be empty: pass the name of your agent")
	case given == butler, given == agent, c.Principal.May(loci.ScopeDelegate):
		return nil
	}
	refusal := &loci.Error{Code: loci.Forbidden,
		Msg:      fmt.Sprintf("butler %q is refused: this credential names no agent", clip(given, 64)),
		Recovery: "Ask the operator to name the agent of this connection, or to give it the scope delegate."}
	if own := butler; own != "" || agent != "" {
		if own == "" {
			own = agent
		}
		refusal.Msg = fmt.Sprintf("butler %q is refused: it is not this credential's own", clip(given, 64))
		refusal.Recovery = fmt.Sprintf("Pass your own agent, %q, or use a credential with the scope delegate.", own)
	}
	return refusal
}

// A target is the memory that a call names by type and id.
type target struct {
	m    *loci.Memory
	kind loci.Kind
	id   loci.ID
}

// target finds out what a call names. A text that is no id names no memory.
func (c *call) target(kind, id string) (t target, err error) {
	if t.kind, err = memoryKind(kind); err != nil {
		return t, err
	}
	if t.m, err = c.memory(); err != nil {
		return t, err
	}
	if t.id, err = loci.ParseID(id); err != nil {
		err = unknownKind(t.kind, id)
	}
	return t, err
}

// memoryKind reads a type of memory.
func memoryKind(given string) (loci.Kind, error) {
	quoted := make([]string, len(kinds))
	for i, k := range kinds {
		if string(k) == given {
			return k, nil
		}
		quoted[i] = "'" + string(k) + "'"
	}
	return "", loci.Errorf(loci.Invalid, "Invalid type: '%s'. Must be one of [%s]", clip(given, 64), strings.Join(quoted, ", "))
}

// named words the error for a missing memory as the call did.
func named(err error, kind loci.Kind, given string) error {
	if err != nil && loci.AsError(err).Code == loci.NotFound {
		return unknownKind(kind, given)
	}
	return err
}

func unknownKind(kind loci.Kind, given string) error {
	return &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("no %s with id %q", kind, clip(given, 100)),
		Recovery: "Search for the memory and use its type and id exactly as the search returns them."}
}

// typeChoices puts the types of memory into the schema of an argument type.
func typeChoices(properties map[string]*jsonschema.Schema) { choices(properties["type"], kinds...) }

func text() *jsonschema.Schema    { return &jsonschema.Schema{Type: "string"} }
func boolean() *jsonschema.Schema { return &jsonschema.Schema{Type: "boolean"} }
