package main

import (
	"encoding/json"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/terminal"
)

type getCmd struct {
	ID      idArg `arg:"" help:"The id of the memory."`
	History bool  `help:"Also show its earlier states."`
	Links   bool  `help:"Also show how it relates to others."`
	place
}

// Help is shown below the usage.
func (*getCmd) Help() string {
	return `Shows a memory in full, also one that a newer fact has superseded.

    loci get note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 --history`
}

// Run shows one memory.
func (c *getCmd) Run(a *app) error {
	id, err := c.ID.id()
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	fact, err := m.Fact(a.ctx, id)
	if err != nil {
		return err
	}
	out := struct {
		memoryJSON
		History *[]loci.Revision `json:"history,omitempty"`
		Links   *[]loci.Link     `json:"links,omitempty"`
	}{memoryJSON: factJSON(&fact)}
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
	a.printFact(out.memoryJSON)
	if c.History {
		for _, r := range *out.History {
			a.printf(
				"\n%s\n%s\n",
				a.style(dim, "version "+rank(int(r.Version))+", until "+jsonform.Time(r.ReplacedAt)),
				a.text(r.Text),
			)
		}
	}
	if c.Links {
		a.printf("\n")
		for _, l := range *out.Links {
			a.printf("%s\t%s\t%s\n", l.From, l.Type, l.To)
		}
	}
	return nil
}

// printFact writes the details of a fact, an empty line and its text.
func (a *app) printFact(m memoryJSON) {
	field := func(name, value string) {
		if value != "" {
			a.printf("%s %s\n", a.style(dim, name+":"), terminal.Clean(value, false))
		}
	}
	field("id", m.ID)
	field("namespace", m.Namespace.String())
	field("subject", m.Subject)
	field("predicate", m.Predicate)
	field("scope", m.Scope)
	field("tags", strings.Join(m.Tags, ", "))
	if len(m.Metadata) > 0 {
		data, _ := json.Marshal(m.Metadata) // was decoded from JSON: cannot fail
		field("metadata", string(data))
	}
	field("version", rank(int(m.Version)))
	field("created", jsonform.Time(m.CreatedAt))
	field("updated", jsonform.Time(m.UpdatedAt))
	field("confirmed", jsonform.Time(m.ConfirmedAt))
	if m.Validity != loci.Active {
		field("validity", string(m.Validity))
		field("superseded by", m.SupersededBy)
	}
	field("supersedes", m.Supersedes)
	field("source", strings.TrimSpace(m.Source.Kind+" "+m.Source.Client+" "+m.Source.Tool))
	a.printf("\n%s\n", a.text(m.Content))
}

// text is a memory's text: verbatim for programs, safe to look at on a terminal.
func (a *app) text(content string) string {
	if isTerminal(a.rawOut) {
		return terminal.Clean(content, true)
	}
	return content
}
