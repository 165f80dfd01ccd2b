package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/view"
)

type eventsCmd struct {
	ID     idArg    `placeholder:"ID" help:"Only of this memory."`
	Type   []string `sep:"none" placeholder:"TYPE" values:"created,updated,confirmed,superseded,erased,imported,elevated,refused,faded,expired,retracted,forgotten,linked,marked_helpful,marked_harmful,promoted,demoted,inverted,consolidated,failed,dead_lettered" help:"Only of this type, such as created, erased or expired; may be repeated."`
	Since  string   `placeholder:"TIME" help:"Only at this time or after: a date, a time, or how long ago (7d)."`
	Until  string   `placeholder:"TIME" help:"Only before this time."`
	Limit  int      `short:"n" default:"50" placeholder:"N" help:"The most to show, 1 to 1000. Default: 50."`
	Verify bool     `help:"Prove that the tenant's whole log is as it was written, instead of listing it."`
	Head   string   `placeholder:"HASH" help:"With --verify: the head that an earlier --verify gave; it must be in the log."`
	width
	following
	place
}

// Help is shown below the usage.
func (*eventsCmd) Help() string {
	return `Events tell who did what to which memory and when, never what it says. The actor "local" is this machine, where nobody is asked
who they are; on a server the actor is the caller's key or user. "loci get" shows which program saved a memory, as its source.
For an erased memory, the log cannot tell whether it was a note or a fact.

    loci events --since 7d --type erased
    loci events --verify`
}

// Run lists audit events.
func (c *eventsCmd) Run(a *app) error {
	if c.Verify {
		return c.verify(a)
	}
	if c.Head != "" {
		return loci.Errorf(loci.Invalid, "--head needs --verify")
	}
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
	if c.ID != "" {
		if f.Entity, err = c.ID.find(a, m); err != nil {
			return err
		}
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
	t := table{wide: c.Wide, head: []string{"AGE", "TYPE", "KIND", "MEMORY", "ACTOR", "DETAILS"}}
	kinds, err := a.kindsOf(m, events)
	if err != nil {
		return err
	}
	for i, e := range events {
		id := a.shortID(shownID(e.Entity, kinds[i] == view.KindNote), c.Wide)
		t.add(a.when(e.At), string(e.Type), string(kinds[i]), id, e.Actor, string(e.Payload))
	}
	if len(events) == 0 && c.Cursor == "" {
		a.note("%s", c.whyEmpty())
	}
	t.print(a)
	a.more(next)
	return nil
}

// noteOrFact is the kind of what was erased: the log has one word for both, and only the memory
// itself could tell.
const noteOrFact loci.Kind = "note or fact"

// kindsOf are the kinds of what events are about, as all other commands call them.
func (a *app) kindsOf(m *loci.Memory, events []loci.Event) ([]loci.Kind, error) {
	of := loci.Filter{
		Within: []loci.Namespace{m.View().Namespace}, Kinds: []loci.Kind{loci.KindFact}, NotLive: true, At: m.Now(),
	}
	for _, e := range events {
		if e.Kind == loci.KindFact && !slices.Contains(of.IDs, e.Entity) {
			of.IDs = append(of.IDs, e.Entity)
		}
	}
	known := map[loci.ID]loci.Kind{}
	if len(of.IDs) > 0 {
		records, _, err := m.Records(a.ctx, of, loci.Page{Limit: len(of.IDs), NoText: true})
		if err != nil {
			return nil, err
		}
		for i := range records {
			entry, err := view.Of(a.ctx, m, &records[i], of.At)
			if err != nil {
				return nil, err
			}
			known[entry.ID] = entry.Kind
		}
	}
	kinds := make([]loci.Kind, len(events))
	for i, e := range events {
		if kinds[i] = e.Kind; e.Kind == loci.KindFact {
			kinds[i] = cmp.Or(known[e.Entity], noteOrFact)
		}
	}
	return kinds, nil
}

// whyEmpty says what to do about an empty list.
func (c *eventsCmd) whyEmpty() string {
	if c.ID != "" || len(c.Type) > 0 || c.Since != "" || c.Until != "" {
		return "no event fits; loci events without flags shows all"
	}
	return nothingYet
}

func (c *eventsCmd) filter(now time.Time) (f loci.EventFilter, err error) {
	if c.ID != "" {
		if err := c.ID.check(); err != nil {
			return f, err
		}
	}
	if err := checkNames("--type", c.Type, textsOf(loci.EventTypes)...); err != nil {
		return f, err
	}
	f.Types = namesOf[loci.EventType](c.Type)
	at, err := periodOf(c.Since, c.Until, now)
	f.Since, f.Until = at.since, at.until
	return f, err
}

// verify reads the whole log of the tenant, whatever the place.
func (c *eventsCmd) verify(a *app) error {
	var known loci.Hash
	if c.Head != "" {
		if err := known.UnmarshalText([]byte(c.Head)); err != nil {
			return loci.Errorf(loci.Invalid, "--head: %v", err)
		}
	}
	if err := a.open(loci.ScopeRead); err != nil {
		return err
	}
	report, err := a.engine.VerifyEvents(a.ctx, a.principal.Tenant(), known)
	if err != nil {
		return err
	}
	if a.json {
		if err := a.printJSON(report); err != nil {
			return err
		}
	} else {
		c.printReport(a, report)
	}
	if len(report.Problems) > 0 {
		return &loci.Error{Code: loci.Internal, Msg: "the audit log is not as it was written: " + report.Problems[0],
			Recovery: "Keep the file as it is, and compare it with a backup."}
	}
	return nil
}

func (c *eventsCmd) printReport(a *app, report loci.ChainReport) {
	for _, p := range report.Problems {
		a.printf("fail\t%s\n", p)
	}
	if len(report.Problems) == 0 {
		a.printf("%s\n", number(report.Events, "event is as it was written", "events are as they were written"))
	}
	if report.Emptied > 0 {
		a.printf("%s to an erase\n", number(report.Emptied, "of them lost its details", "of them lost their details"))
	}
	if report.Older > 0 {
		a.printf("%s than the chain and not proven\n", number(report.Older, "more is older", "more are older"))
	}
	a.printf("head\t%s\n", report.Head)
}
