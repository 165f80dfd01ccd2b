package loci

import (
	"context"
	"time"

	"github.com/loci-memory/loci/internal/leg"
)

// A SweepReport says what upkeep did, or would do.
type SweepReport struct {
	Tenants  int   `json:"tenants"`
	Expired  int64 `json:"expired"`          // items and episodes past their time, erased
	Capped   int64 `json:"capped"`           // consolidated episodes beyond the cap of their agent, erased
	Faded    int64 `json:"faded"`            // facts and rules whose fading was written down
	Ended    int64 `json:"ended"`            // facts and rules whose expiry was written down; they stay
	Embedded int   `json:"embedded"`         // records that got the vectors they lacked
	DryRun   bool  `json:"dry_run"`          // nothing was done
	Lacking  int64 `json:"lacking,omitzero"` // in a dry run: records without vectors
}

func (r *SweepReport) add(one SweepReport) {
	r.Tenants, r.Embedded = r.Tenants+one.Tenants, r.Embedded+one.Embedded
	r.Expired, r.Capped = r.Expired+one.Expired, r.Capped+one.Capped
	r.Faded, r.Ended = r.Faded+one.Faded, r.Ended+one.Ended
}

const (
	sweepBatch   = 200 // bounds the records of one change of upkeep
	mergedPlaces = 8   // namespaces that are read together: the lists of so many are merged by every store
)

// Sweep does the upkeep of every tenant that needs some: it erases what has expired and the consolidated episodes
// beyond the cap of their agent, writes down with an event what decay has brought about, and embeds what has no vectors
// yet. Reads never depend on it: every state is right at the moment of reading. Several processes may sweep at once;
// each transition is written down once.
func (e *Engine) Sweep(ctx context.Context) (report SweepReport, err error) {
	for t, err := range e.store.Due(ctx, e.now()) {
		if err != nil {
			return report, err
		}
		one, err := e.SweepTenant(ctx, t)
		report.add(one)
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// SweepTenant does the upkeep of one tenant.
func (e *Engine) SweepTenant(ctx context.Context, t Tenant) (report SweepReport, err error) {
	report.Tenants = 1
	m := e.sweeper(t)
	if report.Expired, err = m.eraseExpired(ctx); err != nil {
		return report, err
	}
	if err = m.noteTransitions(ctx, &report); err != nil {
		return report, err
	}
	if report.Capped, err = m.capEpisodes(ctx, false); err != nil {
		return report, err
	}
	report.Embedded, err = e.Backfill(ctx, t, nil)
	return report, err
}

// PlanSweep says what SweepTenant would do now, and does nothing.
func (e *Engine) PlanSweep(ctx context.Context, t Tenant) (report SweepReport, err error) {
	report.Tenants, report.DryRun = 1, true
	m := e.sweeper(t)
	now := e.now()
	expired, err := e.store.Count(ctx, t, expiredBy(now))
	if err != nil {
		return report, err
	}
	report.Expired = expired.Records
	if err := m.each(ctx, dueBy(now), func(r *Record) { report.count(r.transitionsDue(now)) }); err != nil {
		return report, err
	}
	if report.Capped, err = m.capEpisodes(ctx, true); err != nil {
		return report, err
	}
	space, err := e.wantedSpace(ctx, t)
	if err != nil || space.IsZero() {
		return report, err
	}
	lacking, err := e.store.Count(ctx, t, Filter{Within: []Namespace{{}}, Space: space})
	report.Lacking = lacking.Unembedded
	return report, err
}

// sweeper is the handle of upkeep.
func (e *Engine) sweeper(t Tenant) *Memory {
	return &Memory{engine: e, view: View{Tenant: t, Actor: "loci sweep"}}
}

// expiredBy selects records past their expiry time.
func expiredBy(now time.Time) Filter {
	return Filter{Within: []Namespace{{}}, At: now, Expired: true, NotLive: true}
}

// dueBy selects records that have a transition to write down. Those past their expiry time are erased instead.
func dueBy(now time.Time) Filter {
	return Filter{Within: []Namespace{{}}, At: now, Due: now, NotLive: true}
}

func (m *Memory) eraseExpired(ctx context.Context) (n int64, err error) {
	for {
		erased, err := Commit(ctx, m, "sweep", nil, func(now time.Time) (Decision[int], error) {
			records, _, err := m.engine.store.Records(ctx, m.view.Tenant, expiredBy(now), Page{Limit: sweepBatch})
			change := m.eraseChange(records, now)
			for i := range records {
				if r := &records[i]; r.Kind == KindEpisode {
					change.Events = append(change.Events, m.event(EventExpired, r, now, map[string]any{"since": r.ExpiresAt}))
				}
			}
			return Decision[int]{Change: change, Reply: len(records)}, err
		})
		n += int64(erased)
		if err != nil || erased == 0 {
			return n, err
		}
	}
}

// noteTransitions writes down what decay has brought about since it was last done.
func (m *Memory) noteTransitions(ctx context.Context, report *SweepReport) error {
	for {
		done, err := Commit(ctx, m, "sweep", nil, func(now time.Time) (Decision[[]Event], error) {
			var d Decision[[]Event]
			records, _, err := m.engine.store.Records(ctx, m.view.Tenant, dueBy(now), Page{Limit: sweepBatch})
			if err != nil {
				return d, err
			}
			for i := range records {
				if err := m.noteTransition(&d.Change, records[i], now); err != nil {
					return d, err
				}
			}
			d.Reply = d.Change.Events
			return d, nil
		})
		if err != nil || len(done) == 0 {
			return err
		}
		var types []EventType
		for i := range done {
			types = append(types, done[i].Type)
		}
		report.count(types)
	}
}

func (r *SweepReport) count(types []EventType) {
	for _, t := range types {
		if t == EventFaded {
			r.Faded++
		} else {
			r.Ended++
		}
	}
}

// noteTransition writes the state of a record down as it is now.
func (m *Memory) noteTransition(c *Change, r Record, now time.Time) error {
	r.Version++
	var events []Event
	note := func(noted *Validity) {
		state := r.validityAt(*noted, now)
		events = m.transitions(&r, *noted, state, now)
		*noted = state
	}
	if r.Kind == KindRule {
		body, err := readRule(&r)
		if err != nil {
			return err
		}
		note(&body.Validity)
		err = setRule(&r, body)
		c.restate(r, events...)
		return err
	}
	body, err := readFact(&r)
	if err != nil {
		return err
	}
	note(&body.Validity)
	err = setFact(&r, body)
	c.restate(r, events...)
	return err
}

// transitions are the events of going from one state to a later one by decay, each with the moment it came about.
func (m *Memory) transitions(r *Record, from, to Validity, now time.Time) (events []Event) {
	if from == Active && to != Active {
		events = append(events, m.event(EventFaded, r, now, map[string]any{"since": r.Decay.Below(ActiveConfidence)}))
	}
	if from != Expired && to == Expired {
		events = append(events, m.event(EventExpired, r, now, map[string]any{"since": r.Decay.Below(LiveConfidence)}))
	}
	return events
}

// transitionsDue are the types of the events that noting the state would write.
func (r *Record) transitionsDue(now time.Time) (types []EventType) {
	if !r.DueAt.Equal(r.EndsAt) {
		types = append(types, EventFaded)
	}
	if r.Ended(now) {
		types = append(types, EventExpired)
	}
	return types
}

// capEpisodes erases the oldest consolidated episodes of every agent that has more
// than the cap, or counts them. Others are never erased for the cap.
func (m *Memory) capEpisodes(ctx context.Context, dry bool) (n int64, err error) {
	most := int64(m.engine.opts.Retention.EpisodeCap)
	live := Filter{Within: []Namespace{{}}, Kinds: []Kind{KindEpisode}, At: m.engine.now()}
	atMost := live
	atMost.At = time.Time{} // with those that have expired: stores keep that count
	all, err := m.engine.store.Count(ctx, m.view.Tenant, atMost)
	if err != nil || all.Records <= most { // then no agent has more
		return 0, err
	}
	held := map[string]int64{}
	err = m.each(ctx, live, func(r *Record) { held[r.Scope]++ })
	for butler, count := range held {
		if err != nil || count <= most {
			continue
		}
		f := live
		f.Scopes, f.Statuses = []string{butler}, []string{string(Consolidated)}
		var more int64
		if dry {
			digested, countErr := m.engine.store.Count(ctx, m.view.Tenant, f)
			more, err = min(count-most, digested.Records), countErr
		} else {
			more, err = m.eraseOldest(ctx, f, most)
		}
		n += more
	}
	return n, err
}

// eraseOldest erases the oldest records that f selects until no more than most live ones of its scope are left.
func (m *Memory) eraseOldest(ctx context.Context, f Filter, most int64) (n int64, err error) {
	live := f
	live.Statuses = nil
	for {
		erased, err := Commit(ctx, m, "sweep", nil, func(now time.Time) (Decision[int64], error) {
			// The list comes before the count: if another sweep erases records in between, they are either on this
			// list, which is a conflict, or gone before the count.
			records, _, err := m.engine.store.Records(ctx, m.view.Tenant, f,
				Page{Limit: sweepBatch, Order: OldestFirst})
			if err != nil {
				return Decision[int64]{}, err
			}
			have, err := m.engine.store.Count(ctx, m.view.Tenant, live)
			records = records[:min(int64(len(records)), max(0, have.Records-most))]
			return Decision[int64]{Change: m.eraseChange(records, now), Reply: int64(len(records))}, err
		})
		n += erased
		if err != nil || erased == 0 {
			return n, err
		}
	}
}

// each calls do for every record that a filter selects.
func (m *Memory) each(ctx context.Context, f Filter, do func(*Record)) error {
	return m.eachPage(ctx, &leg.Walk{}, f, Page{Limit: 1000}, func(records []Record) error {
		for i := range records {
			do(&records[i])
		}
		return nil
	})
}

// eachPage calls do with all that a filter selects, a page at a time, until it fails or the walk pauses. Where that is
// in many namespaces, those of some come after those of others: a page of all would be sorted out of all of them.
func (m *Memory) eachPage(ctx context.Context, w *leg.Walk, f Filter, page Page, do func([]Record) error) (err error) {
	all := f.Within
	if !f.Exact {
		reach := Filter{Within: f.Within, Kinds: f.Kinds, NotLive: true}
		if all, err = m.engine.store.Namespaces(ctx, m.view.Tenant, reach); err != nil {
			return err
		}
	}
	list := func(some []Namespace, cursor string) ([]Record, string, error) {
		f.Within, f.Exact, page.Cursor = some, true, cursor
		page.Limit, page.MaxBytes = w.Room(page.Limit, page.MaxBytes)
		return m.engine.store.Records(ctx, m.view.Tenant, f, page)
	}
	return leg.Pages(w, all, mergedPlaces, Namespace.Key, func(r *Record) string { return r.ID.String() }, list, do)
}

// RecordRefusal writes to the audit log of a tenant that one of its callers was refused what it may not do.
func (e *Engine) RecordRefusal(ctx context.Context, t Tenant, actor, requestID string, details map[string]any) error {
	m := &Memory{engine: e, view: View{Tenant: t, Actor: actor, RequestID: requestID}}
	return e.store.Apply(ctx, t, Change{Events: []Event{m.event(EventRefused, &Record{}, e.now(), details)}})
}
