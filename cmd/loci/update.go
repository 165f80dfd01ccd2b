package main

import "github.com/loci-memory/loci"

type updateCmd struct {
	ID             idArg    `arg:"" help:"The id of the memory."`
	Content        []string `arg:"" optional:"" help:"What it should say; - reads it from standard input. Without it only tags or metadata change."`
	Tag            []string `sep:"none" short:"t" placeholder:"TAG" xor:"tags" help:"A tag that replaces all old ones; may be repeated."`
	ClearTags      bool     `xor:"tags" help:"Remove all tags."`
	Metadata       []string `sep:"none" short:"m" placeholder:"NAME=VALUE" xor:"metadata" help:"A detail that replaces all old ones; may be repeated."`
	ClearMetadata  bool     `xor:"metadata" help:"Remove all metadata."`
	IfVersion      int64    `placeholder:"N" help:"Refuse if the memory is at another version."`
	IdempotencyKey string   `placeholder:"KEY" help:"Makes the command safe to repeat: the same key updates only once."`
	place
}

// Help is shown below the usage.
func (*updateCmd) Help() string {
	return `The memory keeps its id. Its earlier text is kept as a revision.

    loci update note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 "Prefers aisle seats."
    loci update note-01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77 --tag travel --if-version 2`
}

// Run revises one memory.
func (c *updateCmd) Run(a *app) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	if err := c.ID.check(); err != nil {
		return err
	}
	if c.IfVersion < 0 {
		return loci.Errorf(loci.Invalid, "--if-version must be at least 1")
	}
	change := loci.FactRevision{IfVersion: c.IfVersion}
	if len(c.Content) > 0 {
		content, err := a.words(c.Content, cfg.MaxContent)
		if err != nil {
			return err
		}
		change.Content = &content
	}
	if len(c.Tag) > 0 || c.ClearTags {
		change.Tags = &c.Tag
	}
	if len(c.Metadata) > 0 || c.ClearMetadata {
		metadata, err := parseMetadata(c.Metadata)
		if err != nil {
			return err
		}
		change.Metadata = &metadata
	}
	m, id, err := c.ID.in(a, c.place, c.IdempotencyKey, loci.ScopeWrite)
	if err != nil {
		return err
	}
	fact, err := m.ReviseFact(a.ctx, id, change)
	if err != nil {
		return err
	}
	shown := shownID(fact.ID, fact.IsNote())
	if a.json {
		return a.printJSON(savedJSON{ID: shown, Outcome: "updated", Version: fact.Version})
	}
	a.printf("%s\n", shown)
	return nil
}
