package tool

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
)

// A tool that a program made itself is shown to everybody. A tool of a family is shown to those
// who may use it.
func TestToolsOfAProgramAreShown(t *testing.T) {
	tenant, err := loci.NewTenant("t")
	if err != nil {
		t.Fatal(err)
	}
	reader, err := loci.NewPrincipal(tenant, "reader", nil, loci.ScopeRead)
	if err != nil {
		t.Fatal(err)
	}
	made := &Tool{Name: "own"}
	if got, shown := made.For(reader); !shown || got != made {
		t.Errorf("%+v, %v", got, shown)
	}
	set := newSet(t, Instance{Family: FamilyNotes})
	for name, want := range map[string]bool{"memory_search": true, "memory_save": false} {
		if found, _ := set.Lookup(name); found == nil {
			t.Errorf("no tool %s", name)
		} else if _, shown := found.For(reader); shown != want {
			t.Errorf("%s is shown to a reader: %v", name, shown)
		}
	}
}

// TestEveryToolDeclaresItsScope: nobody without a scope may call a tool of any family, nor
// see it, and whoever may call one family of tools sees and calls no other.
func TestEveryToolDeclaresItsScope(t *testing.T) {
	for _, family := range Families() {
		set := newSet(t, Instance{Family: family})
		both := append(slices.Clone(loci.Scopes[:3]), loci.ScopeTools+loci.Scope(family), loci.ScopeTools+"other")
		for _, one := range set.Tools() {
			if len(one.scopes) == 0 {
				t.Errorf("%s declares no scope", one.Name)
			}
			for _, c := range []struct {
				who    Caller
				closed bool
			}{
				{user(t, "u-1", loci.ScopeAdmin, loci.ScopeDelegate, loci.ScopeElevate), true},
				{user(t, "u-1", loci.ScopeTools+loci.Scope(family)), true}, // a family is no scope
				{user(t, "u-1", append(loci.Scopes[:3:3], loci.ScopeTools+"other")...), true},
				{user(t, "u-1", append(loci.Scopes[:3:3], loci.ScopeTools)...), true},
				{user(t, "u-1", both...), false},
				{user(t, "u-1", loci.Scopes[:3]...), false},
			} {
				_, shown := one.For(c.who.Principal)
				_, err := one.Call(t.Context(), c.who, nil)
				refused := err != nil && loci.AsError(err).Code == loci.Forbidden
				if one.envelope != nil { // its failures are replies
					refused = one.permit(c.who.Principal) != nil
				}
				if shown == c.closed || refused != c.closed {
					t.Errorf("%s for %v: shown %v, refused %v (%v)", one.Name, c.who.Principal.Scopes(), shown, refused, err)
				}
				if !one.HasFiles() {
					continue
				}
				_, err = one.Tree(c.who)
				if closed := err != nil && loci.AsError(err).Code == loci.Forbidden; closed != c.closed {
					t.Errorf("the files of %s for %v: %v", one.Name, c.who.Principal.Scopes(), err)
				}
			}
		}
	}
}

// TestOnlyArgumentsOfThePermittedActionsAreShown: whoever may only create sees no id, which a create refuses.
func TestOnlyArgumentsOfThePermittedActionsAreShown(t *testing.T) {
	writer := user(t, "u-1", loci.ScopeWrite)
	anybody := user(t, "u-1")
	for _, c := range []struct {
		actions []string
		who     Caller
		shown   bool
	}{
		{nil, anybody, true}, {[]string{"create"}, anybody, false}, {[]string{"create", "update"}, writer, true},
		{[]string{"create", "delete"}, writer, false}, {[]string{"delete"}, anybody, true},
	} {
		set := newSet(t, Instance{Family: FamilyFacts, ActionsPermitted: c.actions})
		tool, _ := set.Lookup("manage_memory")
		own, may := tool.For(c.who.Principal)
		if !may {
			t.Fatalf("%v: refused", c.actions)
		}
		var schema struct{ Properties map[string]any }
		decode(t, own.InputSchema, &schema)
		if _, shown := schema.Properties["id"]; shown != c.shown || schema.Properties["content"] == nil {
			t.Errorf("%v: the schema shows %v", c.actions, schema.Properties)
		}
	}
	only := newSet(t, Instance{Family: FamilyFacts, ActionsPermitted: []string{"create"}})
	refused(t, only, "manage_memory", anybody, object("content", "x", "id", someID), loci.Invalid,
		"You cannot provide a MEMORY ID when creating a MEMORY. Please try again, omitting the id argument.")
}

// TestDefaultsOfThePermittedActions: an action that is chosen where none is named stays so for all
// who may use it; others have to name one.
func TestDefaultsOfThePermittedActions(t *testing.T) {
	set := newSet(t, factsFamily)
	tool, _ := set.Lookup("manage_memory")
	for scope, preset := range map[loci.Scope]string{loci.ScopeWrite: `"create"`, loci.ScopeDelete: ""} {
		own, _ := tool.For(user(t, "u-1", scope).Principal)
		var schema struct {
			Properties map[string]struct{ Default json.RawMessage }
			Required   []string
		}
		decode(t, own.InputSchema, &schema)
		got, required := string(schema.Properties["action"].Default), slices.Contains(schema.Required, "action")
		if got != preset || required != (preset == "") {
			t.Errorf("with %s the default is %s, required %q; want %s", scope, got, schema.Required, preset)
		}
	}
}

// TestWhatReadsIsSaidToRead: a tool that only reads says that it changes nothing and may be called
// again, whether its entry leaves it no other command or its caller has no other scope.
func TestWhatReadsIsSaidToRead(t *testing.T) {
	entry, _ := newSet(t, Instance{Family: FamilyFiles, Commands: []string{"read", "list"}}).Lookup("memory")
	whole, _ := newSet(t, Instance{Family: FamilyFiles}).Lookup("memory")
	reader, _ := whole.For(user(t, "u-1", loci.ScopeRead).Principal)
	for name, one := range map[string]*Tool{"an entry": entry, "a reader": reader} {
		if one.Tier != ReadOnly || one.Annotations != (Annotations{ReadOnly: true, Idempotent: true}) {
			t.Errorf("%s: %s, %+v", name, one.Tier, one.Annotations)
		}
	}
}
