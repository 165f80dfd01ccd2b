package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/terminal"
	"github.com/loci-memory/loci/view"
)

type getCmd struct {
	ID      idArg `arg:"" help:"The id of the memory."`
	History bool  `help:"Also show its earlier states."`
	Links   bool  `help:"Also show how it relates to others."`
	place
}

// Help is shown below the usage.
func (*getCmd) Help() string {
	return `Shows a memory of any kind in full, even a superseded or forgotten one.

    loci get note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 --history`
}

// Run shows one memory.
func (c *getCmd) Run(a *app) error {
	m, id, err := c.ID.in(a, c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	memory, err := view.Get(a.ctx, m, id)
	if err != nil {
		return err
	}
	out := struct {
		memoryJSON
		History *[]loci.Revision `json:"history,omitempty"`
		Links   *[]loci.Link     `json:"links,omitempty"`
	}{memoryJSON: entryJSON(&memory)}
	if c.History {
		history, err := m.Revisions(a.ctx, id)
		if err != nil {
			return err
		}
		history = append([]loci.Revision{}, history...) // none is a list, too
		out.History = &history
	}
	if c.Links {
		links, err := m.Links(a.ctx, id)
		if err != nil {
			return err
		}
		links = append([]loci.Link{}, links...)
		out.Links = &links
	}
	if a.json {
		return a.printJSON(out)
	}
	a.printMemory(out.memoryJSON)
	if c.History {
		for _, r := range *out.History {
			a.printf(
				"\n%s\n%s\n",
				a.style(dim, "version "+rank(int(r.Version))+", until "+jsonform.Time(r.ReplacedAt)),
				a.text(r.Text),
			)
		}
	}
	if c.Links && len(*out.Links) > 0 {
		a.printf("\n")
		a.tabulateLinks(*out.Links, false)
	}
	return nil
}

// printMemory writes the details of a memory, an empty line and its text.
func (a *app) printMemory(m memoryJSON) {
	field := func(name, value string) {
		if value != "" {
			a.printf("%s %s\n", a.style(dim, name+":"), terminal.Clean(value, false))
		}
	}
	field("id", m.ID)
	field("kind", string(m.Type))
	field("state", string(m.State))
	field("namespace", m.Namespace.String())
	field("key", m.Key)
	field("subject", m.Subject)
	field("predicate", m.Predicate)
	field("scope", m.Scope)
	field("tags", strings.Join(m.Tags, ", "))
	field("metadata", string(m.Metadata))
	for _, name := range slices.Sorted(maps.Keys(m.Details)) {
		data, _ := loci.MarshalJSON(m.Details[name]) // of numbers and texts: cannot fail
		field(strings.ReplaceAll(name, "_", " "), strings.Trim(string(data), `"`))
	}
	field("version", rank(int(m.Version)))
	field("created", jsonform.Time(m.CreatedAt))
	field("updated", jsonform.Time(m.UpdatedAt))
	if !m.ConfirmedAt.IsZero() {
		field("confirmed", jsonform.Time(m.ConfirmedAt))
	}
	if !m.ExpiresAt.IsZero() {
		field("expires", jsonform.Time(m.ExpiresAt))
	}
	if m.Validity != loci.Active {
		field("validity", string(m.Validity))
		field("superseded by", m.SupersededBy)
	}
	field("supersedes", m.Supersedes)
	field("source", m.savedBy())
	text := m.Content
	if text == "" {
		text = string(m.Value)
	}
	a.printf("\n%s\n", a.text(text))
}

// savedBy says who saved a memory, with which program and which tool of it.
func (m *memoryJSON) savedBy() string {
	return strings.TrimSpace(m.Source.Kind + " " + m.Source.Client + " " + m.Source.Tool)
}

// text is a memory's text: verbatim for programs, safe to look at on a terminal.
func (a *app) text(content string) string {
	if isTerminal(a.rawOut) {
		return terminal.Clean(content, true)
	}
	return content
}
