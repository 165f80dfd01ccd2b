package loci

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/leg"
)

// Erase removes one memory by id: its text, passages, vectors, earlier states and links. The audit log keeps that it
// was there. Parts of a checkpoint or of a file are erased with the whole. NotFound: there is none in this namespace.
func (m *Memory) Erase(ctx context.Context, id ID) error {
	_, err := m.erase(ctx, id, nil)
	return err
}

// EraseFact is Erase for facts alone.
func (m *Memory) EraseFact(ctx context.Context, id ID) error {
	_, err := m.erase(ctx, id, []Kind{KindFact})
	return err
}

func (m *Memory) erase(ctx context.Context, id ID, kinds []Kind) (ID, error) {
	steps := 0
	return Commit(ctx, m, "erase", map[string]any{"id": id}, func(now time.Time) (Decision[ID], error) {
		r, err := m.one(ctx, m.writable(now, kinds...), id)
		if err != nil {
			return Decision[ID]{}, err
		}
		feature := m.engine.featureOf(r.Kind)
		if owner, ok := feature.(Eraser); ok {
			d := Decision[ID]{Reply: id}
			d.Change, err = owner.EraseRecord(ctx, m, &r, now)
			if d.Change.Last = steps > 0 && !d.Change.More; d.Change.More {
				d.Then = func() { steps++ }
			}
			return d, err
		}
		if feature != nil {
			return Decision[ID]{}, &Error{Code: Unsupported, Msg: fmt.Sprintf("a record of kind %q is not erased by its own id, but with what it belongs to", r.Kind),
				Recovery: "Delete the thread, session or file it is part of."}
		}
		return Decision[ID]{Change: m.eraseChange([]Record{r}, now), Reply: id}, nil
	})
}

func (m *Memory) eraseChange(records []Record, now time.Time) (c Change) {
	for i := range records {
		r := &records[i]
		c.Erase = append(c.Erase, Erase{ID: r.ID, Version: r.Version})
		c.Events = append(c.Events, m.event(EventErased, r, now, map[string]any{"version": r.Version, "bytes": len(r.Text)}))
	}
	return c
}

// An EraseQuery selects what [Memory.EraseAll] removes. It must say something: All, or at least one other condition.
type EraseQuery struct {
	All   bool
	Kinds []Kind // sessions and messages go together, and by kind alone
	Tags  []string
	Where Where

	// Expect is how many records must be selected, as counted before; with any other number nothing is erased.
	Expect int64
}

// Check refuses a number of selected records that is not the one expected, with Conflict.
func (q *EraseQuery) Check(selected int64) error {
	if selected == q.Expect {
		return nil
	}
	return &Error{Code: Conflict, Msg: fmt.Sprintf("nothing was erased: %d are selected, not %d", selected, q.Expect),
		Recovery: "Count again and repeat the call with the number you see."}
}

// EraseAll removes many records at once, in or below the handle's namespace. It refuses a query without a condition,
// and one that does not select exactly the expected number, with Conflict. It works in batches: if it is stopped half
// way, it says how many it has erased, which are wiped within seconds; run it again for the rest.
func (m *Memory) EraseAll(ctx context.Context, q EraseQuery, progress func(done int64)) (erased int64, err error) {
	f, err := m.EraseFilter(q)
	if err != nil {
		return 0, err
	}
	// The ids are settled before the first of them goes: what others store from now on is not part of the selection.
	ids, err := m.selectedIDs(ctx, f)
	if err = cmp.Or(err, q.Check(int64(len(ids)))); err != nil {
		return 0, err
	}
	return m.EraseThese(ctx, q, ids, progress)
}

// EraseThese erases, in batches, what [Memory.EraseFilter] selects of some ids. Expect is ignored.
func (m *Memory) EraseThese(
	ctx context.Context, q EraseQuery, ids []ID, progress func(done int64),
) (erased int64, err error) {
	batch, err := m.EraseFilter(q)
	for err == nil && len(ids) > 0 {
		batch.IDs = ids[:min(len(ids), 200)]
		ids = ids[len(batch.IDs):]
		var n int
		n, err = Commit(ctx, m, "erase all", nil, func(now time.Time) (Decision[int], error) {
			current, _, err := m.engine.store.Records(ctx, m.view.Tenant, batch, Page{Limit: len(batch.IDs)})
			d := Decision[int]{Change: m.eraseChange(current, now), Reply: len(current)}
			d.Change.More, d.Change.Last = len(ids) > 0, len(ids) == 0 && erased > 0
			d.Change.Settled = d.Change.Last // others may have erased the last ones
			return d, err
		})
		if erased += int64(n); err == nil && progress != nil {
			progress(erased)
		}
	}
	return erased, err
}

// selectedIDs lists the ids of all that a filter selects, owners before their parts:
// when the erase stops half way, no session is left without some of its messages.
func (m *Memory) selectedIDs(ctx context.Context, f Filter) (ids []ID, err error) {
	var others []ID
	err = m.eachPage(ctx, &leg.Walk{}, f, Page{Limit: 1000, NoText: true}, func(records []Record) error {
		for i := range records {
			owner, ok := m.engine.featureOf(records[i].Kind).(Eraser)
			if ok && owner.Kinds()[0].Kind == records[i].Kind {
				ids = append(ids, records[i].ID)
			} else {
				others = append(others, records[i].ID)
			}
		}
		return nil
	})
	return append(ids, others...), err
}

// CountErase says how many records an EraseQuery selects now; Expect is ignored.
func (m *Memory) CountErase(ctx context.Context, q EraseQuery) (int64, error) {
	f, err := m.EraseFilter(q)
	if err != nil {
		return 0, err
	}
	counts, err := m.engine.store.Count(ctx, m.view.Tenant, f)
	return counts.Records, err
}

// EraseFilter is what an EraseQuery selects, Expect aside, and refuses what says nothing.
func (m *Memory) EraseFilter(q EraseQuery) (Filter, error) {
	tags, err := CheckTags(q.Tags)
	if err != nil {
		return Filter{}, err
	}
	narrowed := len(q.Kinds) > 0 || len(tags) > 0 || !q.Where.IsZero()
	if narrowed == q.All {
		return Filter{}, Errorf(Invalid, "say what to erase: either everything, or a kind, tag or filter")
	}
	if !q.All && len(q.Kinds) == 0 {
		q.Kinds = m.engine.memoryKinds()
	}
	kinds := slices.Clone(q.Kinds)
	for _, k := range q.Kinds {
		feature := m.engine.featureOf(k)
		if feature == nil {
			continue
		}
		// A checkpoint without its values is worth nothing, nor is a file without its
		// blocks, and the other way round: only everything takes them along.
		if _, ok := feature.(Eraser); !ok {
			return Filter{}, Errorf(Invalid, "records of kind %q belong together: delete the thread, session or file they are part of, or erase everything", k)
		}
		if len(tags) > 0 || !q.Where.IsZero() {
			return Filter{}, Errorf(Invalid, "%ss have no tags and no metadata to filter by: erase them by kind alone", k)
		}
		for _, part := range feature.Kinds() {
			kinds = append(kinds, part.Kind)
		}
	}
	return Filter{Within: []Namespace{m.view.Namespace}, Kinds: kinds, Tags: tags, Where: q.Where, NotLive: true}, nil
}

// EraseTenant removes everything of a principal's tenant, the audit log included. Forbidden: the principal lacks the
// scope delete or admin. An elevated one is in the log of the tenant it comes from: see [Engine.RecordElevation].
func (e *Engine) EraseTenant(ctx context.Context, p Principal) error {
	if err := cmp.Or(p.Require(ScopeDelete), p.Require(ScopeAdmin)); err != nil {
		return err
	}
	return e.store.EraseTenant(ctx, p.Tenant())
}
