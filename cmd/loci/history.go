package main

import (
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

// read is what the commands that read about one memory have in common.
type read struct {
	ID idArg `arg:"" help:"The id of the memory."`
	place
}

func (c *read) memory(a *app, scope loci.Scope) (*loci.Memory, loci.ID, error) {
	return c.ID.in(a, c.place, "", scope)
}

type historyCmd struct {
	read
	width
}

// Help is shown below the usage.
func (*historyCmd) Help() string {
	return `Shows the earlier versions of the memory, newest first, then the facts with the same key that replaced one another, oldest first.

    loci history note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run shows what a memory was.
func (c *historyCmd) Run(a *app) error {
	m, id, err := c.memory(a, loci.ScopeRead)
	if err != nil {
		return err
	}
	past, err := view.History(a.ctx, m, id)
	if err != nil {
		return err
	}
	out := struct {
		Revisions []loci.Revision `json:"revisions"`
		Chain     []memoryJSON    `json:"chain"`
	}{past.Revisions, []memoryJSON{}}
	t := table{wide: c.Wide, head: []string{"WHAT", "ENDED", "CONTENT"}}
	for _, r := range past.Revisions {
		t.add("version "+rank(int(r.Version)), a.when(r.ReplacedAt), r.Text)
	}
	for i := range past.Chain {
		shown := entryJSON(&past.Chain[i])
		out.Chain = append(out.Chain, shown)
		ended, _ := shown.Details["valid_until"].(string)
		if at, err := time.Parse(time.RFC3339, ended); err == nil {
			ended = a.when(at)
		}
		t.add(a.shortID(shown.ID, c.Wide)+" "+string(shown.State), ended, shown.said())
	}
	if a.json {
		return a.printJSON(out)
	}
	t.print(a)
	return nil
}

type linksCmd struct {
	read
	width
}

// Help is shown below the usage.
func (*linksCmd) Help() string {
	return `Shows each link with its type, its direction and the other memory.

    loci links note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run lists the links of a memory.
func (c *linksCmd) Run(a *app) error {
	m, id, err := c.memory(a, loci.ScopeRead)
	if err != nil {
		return err
	}
	return a.printLinks(m, id, c.Wide)
}

func (a *app) printLinks(m *loci.Memory, id loci.ID, wide bool) error {
	links, err := view.Links(a.ctx, m, id)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"links": links})
	}
	if len(links) == 0 {
		a.note("no links; to make one: loci link ID related_to OTHER")
	}
	a.tabulateLinks(links, wide)
	return nil
}

func (a *app) tabulateLinks(links []loci.Link, wide bool) {
	t := table{wide: wide, head: []string{"FROM", "TYPE", "TO"}}
	for _, l := range links {
		t.add(a.shortID(l.From.String(), wide), string(l.Type), a.shortID(l.To.String(), wide))
	}
	t.print(a)
}

type linkCmd struct {
	From           idArg  `arg:"" help:"The id of the memory."`
	Type           string `arg:"" help:"derived_from, supports, contradicts, supersedes or related_to."`
	To             idArg  `arg:"" help:"The id of the other one."`
	IdempotencyKey string `placeholder:"KEY" help:"Makes the command safe to repeat: the same key does it only once."`
	place
}

// Help is shown below the usage.
func (*linkCmd) Help() string {
	return `A link changes no memory. Even a link of type supersedes only says so; use "loci supersede" to replace a memory.

    loci link note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 supports note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a78`
}

// Run links two memories.
func (c *linkCmd) Run(a *app) error {
	if err := c.To.check(); err != nil {
		return err
	}
	m, from, err := c.From.in(a, c.place, c.IdempotencyKey, loci.ScopeWrite)
	if err != nil {
		return err
	}
	to, err := c.To.find(a, m)
	if err != nil {
		return err
	}
	if err := view.Link(a.ctx, m, from, loci.LinkType(c.Type), to); err != nil {
		return err
	}
	return a.printLinks(m, from, false)
}

type provenanceCmd struct {
	read
	width
}

// Help is shown below the usage.
func (*provenanceCmd) Help() string {
	return `Shows who wrote the memory and with which program, what it was derived from, and what happened to it.

    loci provenance note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77`
}

// Run shows where a memory comes from.
func (c *provenanceCmd) Run(a *app) error {
	m, id, err := c.memory(a, loci.ScopeRead)
	if err != nil {
		return err
	}
	origin, err := view.Provenance(a.ctx, m, id)
	if err != nil {
		return err
	}
	from := []memoryJSON{}
	for i := range origin.From {
		from = append(from, entryJSON(&origin.From[i]))
	}
	if a.json {
		return a.printJSON(struct {
			Source  loci.Source  `json:"source"`
			From    []memoryJSON `json:"from"`
			Missing int          `json:"missing"`
			Events  []loci.Event `json:"events"`
		}{origin.Source, from, origin.Missing, origin.Events})
	}
	t := table{wide: c.Wide, head: []string{"WHAT", "AGE", "WHICH"}}
	if source := strings.TrimSpace(origin.Source.Kind + " " + origin.Source.Client + " " + origin.Source.Tool); source != "" {
		t.add("source", "", source)
	}
	for i := range from {
		t.add("from", a.when(from[i].CreatedAt), a.shortID(from[i].ID, c.Wide)+" "+from[i].said())
	}
	for _, e := range origin.Events {
		t.add(string(e.Type), a.when(e.At), e.Actor)
	}
	t.print(a)
	if origin.Missing > 0 {
		a.note("%d more were erased or have expired", origin.Missing)
	}
	return nil
}
