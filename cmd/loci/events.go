package main

import (
	"time"

	"github.com/loci-memory/loci"
)

type eventsCmd struct {
	ID     idArg    `placeholder:"ID" help:"Only of this memory."`
	Type   []string `sep:"none" placeholder:"TYPE" values:"created,updated,confirmed,superseded,erased,imported,elevated" help:"Only of this type: created, updated, confirmed, superseded, erased, imported or elevated; may be repeated."`
	Since  string   `placeholder:"TIME" help:"Only at this time or after: a date, a time, or how long ago (7d)."`
	Until  string   `placeholder:"TIME" help:"Only before this time."`
	Limit  int      `short:"n" default:"50" placeholder:"N" help:"At most so many, 1 to 1000. Default: 50."`
	Cursor string   `placeholder:"CURSOR" help:"Go on where the list before ended."`
	place
}

// Help is shown below the usage.
func (*eventsCmd) Help() string {
	return `Events tell who did what to which memory and when, never what it says.

    loci events --since 7d --type erased`
}

var eventTypes = []loci.EventType{loci.EventCreated, loci.EventUpdated, loci.EventConfirmed, loci.EventSuperseded,
	loci.EventErased, loci.EventImported, loci.EventElevated}

// Run lists audit events.
func (c *eventsCmd) Run(a *app) error {
	f, err := c.filter(time.Now())
	if err != nil {
		return err
	}
	if c.Limit < 1 || c.Limit > 1000 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to 1000: for more, use --cursor", c.Limit)
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	events, next, err := m.Events(a.ctx, f, loci.Page{Limit: c.Limit, Cursor: c.Cursor})
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			Events     []loci.Event `json:"events"`
			NextCursor string       `json:"next_cursor,omitempty"`
		}{append([]loci.Event{}, events...), next})
	}
	t := table{head: []string{"TIME", "TYPE", "KIND", "MEMORY", "ACTOR", "DETAILS"}}
	for _, e := range events {
		t.add(timestamp(e.At), string(e.Type), string(e.Kind), e.Entity.String(), e.Actor, string(e.Payload))
	}
	t.print(a)
	if next != "" {
		a.note("there are more: --cursor %s", next)
	}
	return nil
}

func (c *eventsCmd) filter(now time.Time) (f loci.EventFilter, err error) {
	if c.ID != "" {
		if f.Entity, err = c.ID.id(); err != nil {
			return f, err
		}
	}
	for _, name := range c.Type {
		names := make([]string, len(eventTypes))
		for i, t := range eventTypes {
			names[i] = string(t)
		}
		if _, err := oneOf(name, names...); err != nil {
			return f, loci.Errorf(loci.Invalid, "--type: %v", err)
		}
		f.Types = append(f.Types, loci.EventType(name))
	}
	if f.Since, err = parseTime("--since", c.Since, now); err != nil {
		return f, err
	}
	f.Until, err = parseTime("--until", c.Until, now)
	return f, err
}
