package loci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/lesson"
)

// Bounds of what one answer may bring.
const (
	maxDigestItems  = 100     // of each list
	maxDerivedBytes = 4 << 10 // of one content
)

// Reasons for which an item of an answer is left out.
const (
	skipMalformed  = "malformed"
	skipTooMany    = "too_many"
	skipEmpty      = "empty"
	skipTooLong    = "too_long"
	skipNoEvidence = "no_evidence"
	skipEvidence   = "unknown_evidence"
	skipID         = "unknown_id"
	skipPermanence = "unknown_permanence"
	skipConfidence = "confidence_out_of_range"
	skipImportance = "importance_out_of_range"
	skipScope      = "unknown_scope"
	skipTwice      = "twice" // the answer has said something about the same memory before
)

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
// attempt in the meantime are no evidence any more. When none is left nothing is
// written.
func (m *Memory) applyDigest(ctx context.Context, g *group, reply lesson.Reply, lease ID) (digested, error) {
	return Commit(ctx, m, "consolidate", nil, func(now time.Time) (out Decision[digested], err error) {
		d := &digestion{
			m: m, butler: g.butler, now: now, evidence: map[string]ID{}, touched: map[ID]bool{},
			slots: map[string]bool{}, done: digested{Skipped: map[string]int{}},
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
		if err := d.all(ctx, reply); err != nil {
			return out, err
		}
		items := len(reply.NewFacts) + len(reply.UpdatedFacts) + len(reply.NewRules) + len(reply.Confirmations)
		if d.done.unusable = items > 0 && len(d.change.Put) == 0; d.done.unusable {
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

// all takes the lists one after another. Updates and confirmations come first: they
// name what they are about.
func (d *digestion) all(ctx context.Context, reply lesson.Reply) error {
	for _, list := range []struct {
		items []json.RawMessage
		take  func(context.Context, *digestItem, []ID) (skip string, err error)
	}{
		{reply.UpdatedFacts, d.update}, {reply.Confirmations, d.confirmation},
		{reply.NewFacts, d.newFact}, {reply.NewRules, d.newRule},
	} {
		for i, raw := range list.items {
			if i == maxDigestItems {
				d.done.Skipped[skipTooMany] += len(list.items) - i
				break
			}
			skip, err := d.item(ctx, raw, list.take)
			if err != nil {
				return err
			}
			if skip != "" {
				d.done.Skipped[skip]++
			}
		}
	}
	return nil
}

func (d *digestion) item(
	ctx context.Context, raw json.RawMessage, take func(context.Context, *digestItem, []ID) (string, error),
) (skip string, err error) {
	var item digestItem
	if json.Unmarshal(raw, &item) != nil {
		return skipMalformed, nil //nolint:nilerr // counted
	}
	var evidence []ID
	for _, text := range item.Evidence {
		id, ok := d.evidence[strings.ToLower(text)]
		if !ok {
			return skipEvidence, nil
		}
		if !slices.Contains(evidence, id) {
			evidence = append(evidence, id)
		}
	}
	if len(evidence) == 0 {
		return skipNoEvidence, nil
	}
	return take(ctx, &item, evidence)
}

// check looks at what the items with a content have in common.
func (d *digestion) check(item *digestItem) (skip string) {
	item.Permanence = cmp.Or(item.Permanence, Standard)
	_, rateErr := item.Permanence.Rate()
	switch {
	case strings.TrimSpace(item.Content) == "":
		return skipEmpty
	case len(item.Content) > maxDerivedBytes:
		return skipTooLong
	case item.Scope != "" && item.Scope != GlobalScope && item.Scope != d.butler:
		return skipScope
	case rateErr != nil:
		return skipPermanence
	case item.Confidence != nil && checkConfidence(*item.Confidence) != nil:
		return skipConfidence
	case item.Importance != nil && checkImportance(*item.Importance) != nil:
		return skipImportance
	}
	return ""
}

// draft makes the record of a fact. What StoreFact would refuse is skipped.
func (d *digestion) draft(in NewFact) (*factDraft, string, error) {
	draft, err := d.m.draft(in)
	switch {
	case errors.Is(err, ErrTooLarge):
		return nil, skipTooLong, nil
	case errors.Is(err, ErrInvalid):
		return nil, skipMalformed, nil
	}
	return draft, "", err
}

func (item *digestItem) fact() NewFact {
	in := NewFact{
		Content: item.Content, Subject: item.Subject, Predicate: item.Predicate, Scope: item.Scope,
		Tags: item.Tags, Importance: item.Importance, Permanence: item.Permanence,
	}
	if item.Confidence != nil {
		in.Confidence = *item.Confidence
	}
	return in
}

func (d *digestion) newFact(ctx context.Context, item *digestItem, evidence []ID) (skip string, err error) {
	if skip := d.check(item); skip != "" {
		return skip, nil
	}
	draft, skip, err := d.draft(item.fact())
	if skip != "" || err != nil {
		return skip, err
	}
	return d.store(ctx, draft, nil, evidence)
}

// store adds a fact in place of an old one, if there is one. What is there already is
// confirmed instead.
func (d *digestion) store(ctx context.Context, draft *factDraft, old *Record, evidence []ID) (skip string, err error) {
	slot := draft.Slot
	if slot == "" { // the operator keeps what is said twice, but not twice in one breath
		slot = normalise(draft.Text)
	}
	if d.slots[slot] {
		return skipTwice, nil
	}
	holder, err := d.m.slotHolder(ctx, &draft.Record)
	if err != nil {
		return "", err
	}
	if holder != nil && d.touched[holder.ID] && (old == nil || holder.ID != old.ID) {
		return skipTwice, nil
	}
	if holder != nil && normalise(holder.Text) == normalise(draft.Text) {
		skip, err := d.confirm(ctx, holder, evidence)
		if skip == "" && err == nil {
			d.slots[slot] = true
		}
		return skip, err
	}
	if old == nil {
		old = holder
	}
	stored, err := d.m.addFact(ctx, &d.change, draft, old, d.now)
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
func (d *digestion) update(ctx context.Context, item *digestItem, evidence []ID) (skip string, err error) {
	given := item.Permanence
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
	in := item.fact()
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
	return d.store(ctx, draft, old, evidence)
}

// named looks up what an item is about, in what the group may touch.
func (d *digestion) named(ctx context.Context, text string, kinds ...Kind) (r *Record, skip string, err error) {
	id, err := ParseID(text)
	if err != nil {
		return nil, skipID, nil //nolint:nilerr // counted
	}
	if d.touched[id] {
		return nil, skipTwice, nil
	}
	found, err := d.m.one(ctx, d.m.own(d.now, d.butler, kinds...), id)
	if errors.Is(err, ErrNotFound) {
		return nil, skipID, nil
	}
	return &found, "", err
}

func (d *digestion) confirmation(ctx context.Context, item *digestItem, evidence []ID) (skip string, err error) {
	r, skip, err := d.named(ctx, item.ID, KindFact, KindRule)
	if skip != "" || err != nil {
		return skip, err
	}
	return d.confirm(ctx, r, evidence)
}

// confirm starts the clock of a fact or a rule anew.
func (d *digestion) confirm(ctx context.Context, old *Record, evidence []ID) (skip string, err error) {
	if d.touched[old.ID] {
		return skipTwice, nil
	}
	r := *old
	if r.Kind == KindRule {
		err = reviveRule(&r, d.now)
	} else {
		err = d.m.reviveFact(ctx, &r, d.now)
	}
	if errors.Is(err, ErrConflict) {
		return skipID, nil
	}
	if err != nil {
		return "", err
	}
	r.Version++
	d.touched[r.ID] = true
	d.change.Put = append(d.change.Put, Put{Record: r, SameText: true, Revisions: -1})
	d.change.Events = append(d.change.Events, d.m.event(EventConfirmed, &r, d.now, map[string]any{"version": r.Version}))
	d.link(r.ID, evidence)
	d.done.Confirmed++
	return "", nil
}

func (d *digestion) newRule(ctx context.Context, item *digestItem, evidence []ID) (skip string, err error) {
	if skip := d.check(item); skip != "" {
		return skip, nil
	}
	draft, body, err := d.m.draftRule(NewRule{Content: item.Content, Scope: item.Scope, Tags: item.Tags})
	if err != nil {
		return skipMalformed, nil //nolint:nilerr // counted
	}
	key := "rule:" + ruleKey(body.Scope, draft.Text)
	if d.slots[key] {
		return skipTwice, nil
	}
	d.slots[key] = true
	near, err := d.m.sharingWords(ctx, d.m.own(d.now, d.butler, KindRule), draft.Text, knownPerEpisode)
	if err != nil {
		return "", err
	}
	for i := range near {
		if near[i].Scope == body.Scope && normalise(near[i].Text) == normalise(draft.Text) {
			return d.confirm(ctx, &near[i], evidence)
		}
	}
	id, err := d.m.addRule(ctx, &d.change, *draft, body, d.now)
	if err != nil {
		return "", err
	}
	d.link(id, evidence)
	d.done.Rules++
	return "", nil
}

func ruleKey(scope, text string) string { return scope + "\x00" + normalise(text) }

// link says what a memory was derived from.
func (d *digestion) link(from ID, evidence []ID) {
	for _, to := range evidence {
		d.change.Links = append(d.change.Links, Link{From: from, Type: LinkDerivedFrom, To: to, At: d.now})
	}
}

// Reasons returns the reasons in order, for printing.
func (r *ConsolidateReport) Reasons() []string { return slices.Sorted(maps.Keys(r.Skipped)) }
