package loci

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lesson"
)

// maxDerivedBytes bounds one content that an answer brings.
const maxDerivedBytes = 4 << 10

// digested is what came of an answer.
type digested struct {
	Consolidated, Created, Updated, Confirmed, Rules int

	Skipped  map[string]int
	unusable bool // it has items, and none of them could be used
}

// A digestion turns one answer into one change.
type digestion struct {
	m        *Memory
	butler   string
	now      time.Time
	change   Change
	evidence map[string]ID // the episodes, by the text of their id
	touched  map[ID]bool   // records of the change that were there before
	slots    map[string]bool
	done     digested
}

// applyDigest writes what an answer says, together with the outcome for its episodes,
// in one change. Episodes that were forgotten, have expired or were taken by another
// attempt in the meantime no longer count as evidence. When none is left nothing is written.
func (m *Memory) applyDigest(ctx context.Context, g *group, reply lesson.Reply, lease ID) (digested, error) {
	return Commit(ctx, m, "consolidate", nil, func(now time.Time) (out Decision[digested], err error) {
		d := &digestion{
			m: m, butler: g.butler, now: now, evidence: map[string]ID{}, touched: map[ID]bool{},
			slots: map[string]bool{},
		}
		var episodes Change
		err = m.eachEpisode(ctx, g.episodes, now, func(r Record, body episodeBody) error {
			if body.Lease != lease || body.Status == Consolidated || body.Status == DeadLetter {
				return nil
			}
			d.evidence[r.ID.String()] = r.ID
			body.conclude(Consolidated, now)
			return m.putEpisode(&episodes, &r, body, EventConsolidated, now)
		})
		if err != nil || len(d.evidence) == 0 {
			return out, err
		}
		known := func(id string) bool { return !d.evidence[id].IsZero() }
		if d.done.Skipped, err = reply.Each(known, d.takers(ctx)); err != nil {
			return out, err
		}
		if d.done.unusable = reply.Len() > 0 && len(d.change.Put) == 0; d.done.unusable {
			out.Reply = d.done
			return out, nil
		}
		d.done.Consolidated = len(episodes.Put)
		d.change.Put = append(d.change.Put, episodes.Put...)
		d.change.Events = append(d.change.Events, episodes.Events...)
		out.Change, out.Reply = d.change, d.done
		return out, nil
	})
}

// takers bind the methods below to a context.
func (d *digestion) takers(ctx context.Context) lesson.Takers {
	bind := func(take func(context.Context, *lesson.Item) (string, error)) lesson.Taker {
		return func(item *lesson.Item) (skip string, err error) { return take(ctx, item) }
	}
	return lesson.Takers{
		Update: bind(d.update), Confirm: bind(d.confirmation), NewFact: bind(d.newFact), NewRule: bind(d.newRule),
	}
}

// check looks at what the items with a content have in common.
func (d *digestion) check(item *lesson.Item) (skip string) {
	item.Permanence = cmp.Or(item.Permanence, string(Standard))
	_, rateErr := Permanence(item.Permanence).Rate()
	switch {
	case strings.TrimSpace(item.Content) == "":
		return lesson.SkipEmpty
	case len(item.Content) > maxDerivedBytes:
		return lesson.SkipTooLong
	case item.Scope != "" && item.Scope != GlobalScope && item.Scope != d.butler:
		return lesson.SkipScope
	case rateErr != nil:
		return lesson.SkipPermanence
	case item.Confidence != nil && checkConfidence(*item.Confidence) != nil:
		return lesson.SkipConfidence
	case item.Importance != nil && checkImportance(*item.Importance) != nil:
		return lesson.SkipImportance
	}
	return ""
}

// draft makes the record of a fact. What StoreFact would refuse is skipped.
func (d *digestion) draft(in NewFact) (*factDraft, string, error) {
	draft, err := d.m.draft(in)
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, lesson.SkipTooLong, nil
	case errors.Is(err, ErrInvalid):
		return nil, lesson.SkipMalformed, nil
	}
	return draft, "", err
}

func newFactOf(item *lesson.Item) NewFact {
	in := NewFact{
		Content: item.Content, Subject: item.Subject, Predicate: item.Predicate, Scope: item.Scope,
		Tags: item.Tags, Importance: item.Importance, Permanence: Permanence(item.Permanence),
	}
	if item.Confidence != nil {
		in.Confidence = *item.Confidence
	}
	return in
}

func (d *digestion) newFact(ctx context.Context, item *lesson.Item) (skip string, err error) {
	if skip := d.check(item); skip != "" {
		return skip, nil
	}
	draft, skip, err := d.draft(newFactOf(item))
	if skip != "" || err != nil {
		return skip, err
	}
	return d.store(ctx, draft, nil, item.Evidence)
}

// store adds a fact in place of an old one, if there is one. If the fact exists already, store confirms it instead.
func (d *digestion) store(
	ctx context.Context, draft *factDraft, old *Record, evidence []string,
) (skip string, err error) {
	slot := draft.Slot
	if slot == "" { // the operator keeps what is said twice, but not twice in one breath
		slot = normalise(draft.Text)
	}
	if d.slots[slot] {
		return lesson.SkipTwice, nil
	}
	holder, err := d.m.slotHolder(ctx, &draft.Record)
	if err != nil {
		return "", err
	}
	if holder != nil && d.touched[holder.ID] { // old is not: named refuses what is
		return lesson.SkipTwice, nil
	}
	if holder != nil && normalise(holder.Text) == normalise(draft.Text) {
		return d.confirm(ctx, holder, evidence)
	}
	stored, err := d.m.addFact(ctx, &d.change, draft, cmp.Or(old, holder), d.now)
	if err != nil {
		return "", err
	}
	d.slots[slot] = true
	if old != nil {
		d.touched[old.ID] = true
	}
	if stored.Superseded.IsZero() {
		d.done.Created++
	} else {
		d.done.Updated++
	}
	d.link(stored.ID, evidence)
	return "", nil
}

// update lets a new fact take the place of the one it names: under its key, with its
// metadata, and with its properties where it names no others.
func (d *digestion) update(ctx context.Context, item *lesson.Item) (skip string, err error) {
	given := Permanence(item.Permanence)
	old, skip, err := d.named(ctx, item.ID, KindFact)
	if skip != "" || err != nil {
		return skip, err
	}
	if skip := d.check(item); skip != "" {
		return skip, nil
	}
	body, err := readFact(old)
	if err != nil {
		return "", err
	}
	_, metadata, err := splitAttributes(old.Attributes)
	if err != nil {
		return "", err
	}
	in := newFactOf(item)
	in.Subject, in.Predicate, in.Scope, in.Metadata = body.Subject, body.Predicate, body.Scope, metadata
	in.Permanence = cmp.Or(given, body.Permanence)
	in.Importance = cmp.Or(in.Importance, &body.Importance)
	if len(in.Tags) == 0 {
		in.Tags = old.Tags
	}
	draft, skip, err := d.draft(in)
	if skip != "" || err != nil {
		return skip, err
	}
	return d.store(ctx, draft, old, item.Evidence)
}

// named looks up what an item is about, in what the group may touch.
func (d *digestion) named(ctx context.Context, text string, kinds ...Kind) (r *Record, skip string, err error) {
	id, err := ParseID(text)
	if err != nil {
		return nil, lesson.SkipID, nil //nolint:nilerr // counted
	}
	if d.touched[id] {
		return nil, lesson.SkipTwice, nil
	}
	found, err := d.m.one(ctx, d.m.own(d.now, d.butler, kinds...), id)
	if errors.Is(err, ErrNotFound) {
		return nil, lesson.SkipID, nil
	}
	return &found, "", err
}

func (d *digestion) confirmation(ctx context.Context, item *lesson.Item) (skip string, err error) {
	r, skip, err := d.named(ctx, item.ID, KindFact, KindRule)
	if skip != "" || err != nil {
		return skip, err
	}
	return d.confirm(ctx, r, item.Evidence)
}

// confirm restarts the clock of a fact or a rule.
func (d *digestion) confirm(ctx context.Context, old *Record, evidence []string) (skip string, err error) {
	if d.touched[old.ID] {
		return lesson.SkipTwice, nil
	}
	r := *old
	if r.Kind == KindRule {
		err = reviveRule(&r, d.now)
	} else {
		err = d.m.reviveFact(ctx, &r, d.now)
	}
	if errors.Is(err, ErrConflict) {
		return lesson.SkipID, nil
	}
	if err != nil {
		return "", err
	}
	r.Version++
	d.touched[r.ID] = true
	d.change.restate(r, d.m.event(EventConfirmed, &r, d.now, map[string]any{"version": r.Version}))
	d.link(r.ID, evidence)
	d.done.Confirmed++
	return "", nil
}

func (d *digestion) newRule(ctx context.Context, item *lesson.Item) (skip string, err error) {
	if skip := d.check(item); skip != "" {
		return skip, nil
	}
	draft, body, err := d.m.draftRule(NewRule{Content: item.Content, Scope: item.Scope, Tags: item.Tags})
	if err != nil {
		return lesson.SkipMalformed, nil //nolint:nilerr // counted
	}
	key := "rule:" + ruleKey(body.Scope, draft.Text)
	if d.slots[key] {
		return lesson.SkipTwice, nil
	}
	d.slots[key] = true
	near, err := d.m.sharingWords(ctx, d.m.own(d.now, d.butler, KindRule), draft.Text, knownPerEpisode)
	if err != nil {
		return "", err
	}
	for i := range near {
		if near[i].Scope == body.Scope && normalise(near[i].Text) == normalise(draft.Text) {
			return d.confirm(ctx, &near[i], item.Evidence)
		}
	}
	id, err := d.m.addRule(ctx, &d.change, *draft, body, d.now)
	if err != nil {
		return "", err
	}
	d.link(id, item.Evidence)
	d.done.Rules++
	return "", nil
}

func ruleKey(scope, text string) string { return scope + "\x00" + normalise(text) }

// link says what a memory was derived from.
func (d *digestion) link(from ID, evidence []string) {
	for _, episode := range evidence {
		l := Link{From: from, Type: LinkDerivedFrom, To: d.evidence[episode], At: d.now}
		d.change.Links = append(d.change.Links, l)
	}
}

// Reasons returns the reasons in order, for printing.
func (r *ConsolidateReport) Reasons() []string { return slices.Sorted(maps.Keys(r.Skipped)) }
