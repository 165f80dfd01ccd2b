package main

import (
	"time"

	"github.com/loci-memory/loci"
)

type saveCmd struct {
	Content        []string `arg:"" help:"What to remember; - reads it from standard input."`
	Tag            []string `sep:"none" short:"t" placeholder:"TAG" help:"A tag; may be repeated."`
	Metadata       []string `sep:"none" short:"m" placeholder:"NAME=VALUE" help:"A detail to filter by, or several as a JSON object; may be repeated."`
	CreatedAt      string   `placeholder:"TIME" help:"When it was said, such as 2025-08-30 or 2h for two hours ago. Default: now."`
	IdempotencyKey string   `placeholder:"KEY" help:"Makes the command safe to repeat: the same key saves only once."`
	place
}

// Help is shown below the usage.
func (*saveCmd) Help() string {
	return `Prints the id of the memory. Saving a memory that exists already confirms it and prints its id. If the new memory is much like
another one, or may correct it, the command saves it and tells you.

    loci save "Prefers window seats." --tag travel
    git log -1 --format=%B | loci save - --metadata repo=loci`
}

// Run saves one note.
func (c *saveCmd) Run(a *app) error {
	fact, err := a.factFrom(c.Content, c.Tag, c.Metadata)
	if err != nil {
		return err
	}
	created, err := parseTime("--created-at", c.CreatedAt, time.Now())
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, c.IdempotencyKey, loci.ScopeWrite)
	if err != nil {
		return err
	}
	fact.CreatedAt = created
	stored, err := m.StoreFact(a.ctx, fact)
	if err != nil {
		return err
	}
	id := shownID(stored.ID, true)
	if stored.Outcome == loci.DuplicateOf { // a text that only shows memories may show a fact with a key
		id = shownNear(a, m, stored.ID)
	}
	reply := savedJSON{ID: id, Outcome: string(stored.Outcome), RelatedTo: shownNear(a, m, stored.RelatedTo),
		PossibleUpdateOf: shownNear(a, m, stored.PossibleUpdateOf)}
	if a.json {
		return a.printJSON(reply)
	}
	a.printf("%s\n", id)
	if stored.Outcome == loci.DuplicateOf {
		a.note("already remembered")
	}
	if reply.PossibleUpdateOf != "" {
		a.note("may correct %s: if so, delete that one", reply.PossibleUpdateOf)
	}
	if reply.RelatedTo != "" {
		a.note("much like %s", reply.RelatedTo)
	}
	return nil
}

// shownNear is the id of a memory that a new one is near to, as list shows it.
func shownNear(a *app, m *loci.Memory, id loci.ID) string {
	if id.IsZero() {
		return ""
	}
	near, err := m.Fact(a.ctx, id)
	return shownID(id, err == nil && near.IsNote()) // without "note-" any command takes it, too
}

// factFrom makes a note of what the arguments of a command say.
func (a *app) factFrom(content, tags, metadata []string) (fact loci.NewFact, err error) {
	cfg, err := a.configure()
	if err != nil {
		return fact, err
	}
	if fact.Metadata, err = parseMetadata(metadata); err != nil {
		return fact, err
	}
	fact.Content, err = a.words(content, cfg.MaxContent)
	fact.Tags = tags
	return fact, err
}
