package view

import (
	"cmp"
	"context"
	"slices"

	"github.com/loci-memory/loci"
)

// subject finds the kind of the memory that a verb is for, and refuses one of a kind that
// the verb does not know.
func subject(
	ctx context.Context, m *loci.Memory, id loci.ID, done string, kinds ...loci.Kind,
) (*loci.Record, error) {
	r, err := record(ctx, m, id)
	if err != nil || slices.Contains(kinds, r.Kind) {
		return r, err
	}
	e, err := Of(ctx, m, r, m.Now())
	if err != nil {
		return nil, err
	}
	refusal := &loci.Error{Code: loci.Invalid, Msg: "the memory is of kind " + string(e.Kind) + ", which is not " + done +
		": that is for " + join(kinds), Recovery: recovery[r.Kind]}
	for _, s := range shapes(m) {
		if s.kind == r.Kind && s.change != "" {
			refusal.Recovery = s.change
		}
	}
	return nil, refusal
}

// recovery says what can be done with the kernel's own kinds.
var recovery = map[loci.Kind]string{
	loci.KindFact:    "Confirm, supersede, forget or delete it.",
	loci.KindRule:    "Confirm it, mark it helpful or harmful, forget or delete it.",
	loci.KindEpisode: "Forget or delete it.",
}

// after shows what a verb made of a memory.
func after(ctx context.Context, m *loci.Memory, id loci.ID, err error) (Entry, error) {
	if err != nil {
		return Entry{}, err
	}
	return Get(ctx, m, id)
}

// Confirm says of a fact or a rule that it still holds; see [loci.Memory.Confirm].
func Confirm(ctx context.Context, m *loci.Memory, id loci.ID) (Entry, error) {
	r, err := subject(ctx, m, id, "confirmed", loci.KindFact, loci.KindRule)
	if err != nil {
		return Entry{}, err
	}
	return after(ctx, m, id, m.Confirm(ctx, r.Kind, id))
}

// Forget takes a fact, a rule or an episode out of every search; see [loci.Memory.Forget].
func Forget(ctx context.Context, m *loci.Memory, id loci.ID) (Entry, error) {
	r, err := subject(ctx, m, id, "forgotten", loci.KindFact, loci.KindRule, loci.KindEpisode)
	if err != nil {
		return Entry{}, err
	}
	_, err = m.Forget(ctx, r.Kind, id)
	return after(ctx, m, id, err)
}

// Restore brings back a fact, a rule or an episode that was forgotten, or a fact that was
// superseded; with a version it brings back what the fact said in that version. See
// [loci.Memory.Restore].
func Restore(ctx context.Context, m *loci.Memory, id loci.ID, version int64) (Entry, error) {
	r, err := subject(ctx, m, id, "restored", loci.KindFact, loci.KindRule, loci.KindEpisode)
	switch {
	case err != nil:
		return Entry{}, err
	case version < 0:
		return Entry{}, loci.Errorf(loci.Invalid, "version is %d; it must be at least 1: see the history of the memory", version)
	case version == 0:
		id, err = m.Restore(ctx, r.Kind, id)
		return after(ctx, m, id, err)
	case r.Kind != loci.KindFact:
		return Entry{}, loci.Errorf(loci.Invalid, "a %s has no earlier texts: leave version out", r.Kind)
	}
	revisions, err := m.Revisions(ctx, id)
	if err != nil {
		return Entry{}, err
	}
	i := slices.IndexFunc(revisions, func(v loci.Revision) bool { return v.Version == version })
	if i < 0 {
		return Entry{}, loci.Errorf(loci.NotFound, "version %d of the memory is not kept: see its history", version)
	}
	then, err := loci.FactOf(earlier(r, &revisions[i]), revisions[i].UpdatedAt)
	if err != nil {
		return Entry{}, err
	}
	tags, metadata := append([]string{}, then.Tags...), then.Metadata
	change := loci.FactRevision{Tags: &tags, Metadata: &metadata, Value: then.Value}
	if then.Value == nil {
		change.Content = &then.Content
	}
	_, err = m.ReviseFact(ctx, id, change)
	return after(ctx, m, id, err)
}

// Supersede stores a fact in the place of another, which is superseded; see
// [loci.Memory.Supersede].
func Supersede(ctx context.Context, m *loci.Memory, id loci.ID, in loci.NewFact) (Entry, error) {
	if _, err := subject(ctx, m, id, "superseded", loci.KindFact); err != nil {
		return Entry{}, err
	}
	stored, err := m.Supersede(ctx, id, in)
	return after(ctx, m, stored.ID, err)
}

// Helpful counts that a rule helped; see [loci.Memory.MarkHelpful].
func Helpful(ctx context.Context, m *loci.Memory, id loci.ID) (Entry, error) {
	_, err := subject(ctx, m, id, "rated", loci.KindRule)
	if err == nil {
		_, err = m.MarkHelpful(ctx, id)
	}
	return after(ctx, m, id, err)
}

// Harmful counts that a rule did harm, and why; see [loci.Memory.MarkHarmful].
func Harmful(ctx context.Context, m *loci.Memory, id loci.ID, reason string) (Entry, error) {
	_, err := subject(ctx, m, id, "rated", loci.KindRule)
	if err == nil {
		_, err = m.MarkHarmful(ctx, id, reason)
	}
	return after(ctx, m, id, err)
}

// A Past is what a memory was.
type Past struct {
	Revisions []loci.Revision `json:"revisions"` // what it said under its id, newest first
	Chain     []Entry         `json:"chain"`     // the facts that gave way one to the next, oldest first, itself too
}

// History returns what a memory that stands for itself was before.
func History(ctx context.Context, m *loci.Memory, id loci.ID) (p Past, err error) {
	var kinds []loci.Kind
	for _, s := range shapes(m) {
		if s.memory {
			kinds = append(kinds, s.kind)
		}
	}
	r, err := subject(ctx, m, id, "kept with its history", kinds...)
	if err != nil {
		return p, err
	}
	revisions, err := m.Revisions(ctx, id)
	if err != nil {
		return p, err
	}
	p.Revisions = append([]loci.Revision{}, revisions...)
	if r.Kind != loci.KindFact {
		e, err := Get(ctx, m, id)
		p.Chain = []Entry{e}
		return p, err
	}
	facts, err := m.History(ctx, id)
	p.Chain = []Entry{}
	for i := range facts {
		e, err := Get(ctx, m, facts[i].ID)
		if err != nil {
			return p, err
		}
		p.Chain = append(p.Chain, e)
	}
	return p, err
}

// Links returns the links from or to a memory, oldest first.
func Links(ctx context.Context, m *loci.Memory, id loci.ID) ([]loci.Link, error) {
	if _, err := Get(ctx, m, id); err != nil {
		return nil, err
	}
	links, err := m.Links(ctx, id)
	return append([]loci.Link{}, links...), err
}

// maxLinks bounds the links from and to one memory: who lists them, or adds one, gets all of them, and its
// provenance reads what is at the other ends.
var maxLinks = 10_000

// Link joins two memories; see [loci.Memory.Link]. TooLarge: one of them has 10,000 links.
func Link(ctx context.Context, m *loci.Memory, from loci.ID, typ loci.LinkType, to loci.ID) error {
	for i, id := range []loci.ID{from, to} {
		if r, err := record(ctx, m, id); err != nil {
			return err
		} else if _, err := Of(ctx, m, r, m.Now()); err != nil {
			return err
		}
		links, err := m.Links(ctx, id)
		if err != nil {
			return err
		}
		there := func(l loci.Link) bool { return l.From == from && l.Type == typ && l.To == to }
		if len(links) >= maxLinks && !slices.ContainsFunc(links, there) {
			return loci.Errorf(loci.TooLarge, "%s has %d links; the limit is %d: link to a memory between, or erase one that is linked",
				[]string{"the memory", "the memory that to names"}[i], len(links), maxLinks)
		}
	}
	return m.Link(ctx, from, typ, to)
}

// Origin is where a memory comes from.
type Origin struct {
	Source  loci.Source  `json:"source"`  // who wrote it, and with what
	From    []Entry      `json:"from"`    // what it was derived from, and what it superseded
	Missing int          `json:"missing"` // of those: erased, or expired
	Events  []loci.Event `json:"events"`  // what happened to it, oldest first; the newest 100
}

// Provenance says where a memory comes from.
func Provenance(ctx context.Context, m *loci.Memory, id loci.ID) (o Origin, err error) {
	e, err := Get(ctx, m, id)
	if err != nil {
		return o, err
	}
	o.Source, o.From = e.Source, []Entry{}
	links, err := m.Links(ctx, id)
	if err != nil {
		return o, err
	}
	for _, l := range links {
		if l.From != id || l.Type != loci.LinkDerivedFrom && l.Type != loci.LinkSupersedes {
			continue
		}
		from, err := Get(ctx, m, l.To)
		switch {
		case err != nil && loci.AsError(err).Code == loci.NotFound:
			o.Missing++
		case err != nil:
			return o, err
		default:
			o.From = append(o.From, from)
		}
	}
	events, _, err := m.Events(ctx, loci.EventFilter{Entity: id}, loci.Page{Limit: 100})
	slices.Reverse(events)
	o.Events = append([]loci.Event{}, events...)
	return o, err
}

// A Due is a memory that somebody should look at.
type Due struct {
	Entry
	Reason string `json:"reason"`
}

// Review lists what somebody should look at, newest first: facts and rules that fade,
// rules that did harm, episodes that wait.
func Review(ctx context.Context, m *loci.Memory, page loci.Page) (due []Due, next string, err error) {
	page.Limit = cmp.Or(page.Limit, 100)
	now := m.Now()
	fading, waiting := reach(m, now, loci.KindFact, loci.KindRule), reach(m, now, loci.KindEpisode)
	fading.Waning, waiting.Statuses = true, statuses[Waiting]
	harmful := reach(m, now, loci.KindRule)
	harmful.Where.Member = "harmful_count" // no other rule has it
	filters := []loci.Filter{fading, waiting, harmful}
	due, next, err = gather(ctx, m, filters, page, func(r *loci.Record) (Due, bool, error) {
		e, err := Of(ctx, m, r, now)
		reason := whyDue(&e)
		return Due{e, reason}, reason != "", err
	})
	return append([]Due{}, due...), next, err
}

// whyDue says why somebody should look at a memory; "": there is no need.
func whyDue(e *Entry) string {
	harms, _ := e.Details["harmful_count"].(int64)
	switch {
	case e.State == Fading:
		return "it fades: confirm it if it still holds, else forget it"
	case e.State == Waiting:
		return "it waits for consolidation"
	case harms > 0 && e.Details["maturity"] != loci.AntiPattern:
		return "it did harm: forget it, or mark it helpful where it helps"
	}
	return ""
}
