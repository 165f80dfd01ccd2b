package view

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A Query selects memories. Each condition that is set must hold.
type Query struct {
	Kinds  []loci.Kind // of these, as [Kinds] names them; none: all but those that are parts, such as messages
	States []State     // in one of these; none: [Current]
	Tags   []string    // has all of them
	Where  loci.Where  // on metadata, the key of a fact, the fields of an item

	AsOf time.Time // the facts that were believed at this moment, in the words of then; zero: now
}

// A selection is a query, checked.
type selection struct {
	shapes []shape
	names  []loci.Kind // wanted; none: every kind of filter
	states []State
	stated bool // the states were asked for
	filter loci.Filter
}

// check refuses unknown kinds and states, and makes the filter that selects
// at least what the query does.
func (q *Query) check(m *loci.Memory) (s selection, err error) {
	s.shapes, s.names, s.states = shapes(m), q.Kinds, q.States
	if err := checkNames(m, q.Kinds, q.States); err != nil {
		return s, err
	}
	if len(s.states) == 0 {
		s.states = Current
	}
	s.filter = reach(m, m.Now())
	s.filter.Where = q.Where
	if s.filter.Tags, err = loci.CheckTags(q.Tags); err != nil {
		return s, err
	}
	for _, k := range s.shapes {
		asked := slices.Contains(s.names, k.name) || k.kind == loci.KindFact && slices.Contains(s.names, KindNote)
		if (asked || len(s.names) == 0 && !k.part) && slices.ContainsFunc(s.states, k.reaches) {
			s.filter.Kinds = append(s.filter.Kinds, k.kind)
			s.filter.NotLive = s.filter.NotLive || !k.memory // what is live is the feature's to say
		}
	}
	for _, state := range s.states {
		s.filter.NotLive = s.filter.NotLive || !slices.Contains(Current, state)
	}
	return s, nil
}

// statuses are those of the records in a state, where they say it alone.
var statuses = map[State][]string{
	Superseded: {string(loci.Superseded)},
	Waiting:    {string(loci.Pending), string(loci.Failed)},
}

// reaches reports whether a memory of a kind may be in a state.
func (k *shape) reaches(state State) bool {
	switch state {
	case Superseded:
		return k.kind == loci.KindFact
	case Fading:
		return k.kind == loci.KindFact || k.kind == loci.KindRule
	case Waiting:
		return k.kind == loci.KindEpisode
	case Forgotten:
		return k.memory
	}
	return true
}

func checkNames(m *loci.Memory, kinds []loci.Kind, states []State) error {
	var all []loci.Kind
	if len(kinds) > 0 {
		all = Kinds(m)
	}
	for _, k := range kinds {
		if !slices.Contains(all, k) {
			return loci.OneOf("kind", string(k), all...)
		}
	}
	for _, state := range states {
		if !slices.Contains(States, state) {
			return loci.OneOf("state", string(state), States...)
		}
	}
	return nil
}

// takes reports whether an entry is selected.
func (s *selection) takes(e *Entry) bool {
	return slices.Contains(s.states, e.State) && (len(s.names) == 0 || slices.Contains(s.names, e.Kind))
}

// entry shows a record; false: it is not selected.
func (s *selection) entry(ctx context.Context, m *loci.Memory, r *loci.Record, at time.Time) (Entry, bool, error) {
	e, err := entryOf(ctx, m, s.shapes, r, at, false)
	if errors.Is(err, errPart) {
		return e, false, nil
	}
	return e, err == nil && s.takes(&e), err
}

// List lists memories of every kind, newest first; sessions by their last activity. next
// continues the list; "" is its end.
func List(ctx context.Context, m *loci.Memory, q Query, page loci.Page) (entries []Entry, next string, err error) {
	page.Limit = cmp.Or(page.Limit, 100)
	if !q.AsOf.IsZero() {
		return believed(ctx, m, q, page)
	}
	s, err := q.check(m)
	if err != nil || len(s.filter.Kinds) == 0 { // no kind of memory has these states
		return nil, "", err
	}
	return gather(ctx, m, s.filters(), page, func(r *loci.Record) (Entry, bool, error) {
		return s.entry(ctx, m, r, s.filter.At)
	})
}

// filters are what the store is asked for. Together they select at least what the query
// does. If live memories are wanted, that is one list of everything; otherwise it is a
// list for each state, so that the live ones are not read in vain.
func (s *selection) filters() (list []loci.Filter) {
	in := func(states ...State) bool {
		return slices.ContainsFunc(states, func(state State) bool { return slices.Contains(s.states, state) })
	}
	f := s.filter
	if in(Live) {
		return []loci.Filter{f}
	}
	of := func(state State) {
		f = s.filter
		f.Kinds = slices.DeleteFunc(slices.Clone(f.Kinds), func(kind loci.Kind) bool {
			return !slices.ContainsFunc(s.shapes, func(k shape) bool { return k.kind == kind && k.reaches(state) })
		})
	}
	add := func() {
		if len(f.Kinds) > 0 {
			list = append(list, f)
		}
	}
	if in(Waiting) {
		of(Waiting)
		f.Statuses, f.NotLive = statuses[Waiting], false
		add()
	}
	if in(Fading, Expired) {
		if of(Fading); in(Expired) {
			of(Expired)
		}
		f.Waning, f.NotLive, f.Ended = true, in(Expired), !in(Fading)
		add()
	}
	// This list comes last, so that a memory that changes its state meanwhile is seen
	// twice rather than never.
	if in(Superseded, Forgotten) {
		if of(Forgotten); !in(Forgotten) {
			of(Superseded)
			f.Statuses = statuses[Superseded]
		}
		f.Gone = true
		add()
	}
	return list
}

// believed lists the facts that were believed at a moment.
func believed(ctx context.Context, m *loci.Memory, q Query, page loci.Page) (entries []Entry, next string, err error) {
	for _, k := range q.Kinds {
		if k != loci.KindFact && k != KindNote {
			return nil, "", loci.Errorf(loci.Invalid, "as_of reads facts and notes: leave out kind %q", k)
		}
	}
	if len(q.States) > 0 || !q.Where.IsZero() {
		return nil, "", loci.Errorf(loci.Invalid, "as_of goes with kind and tags alone: leave out state and filter")
	}
	facts, next, err := AsOf(ctx, m, AsOfQuery{Valid: q.AsOf, Known: q.AsOf, Tags: q.Tags}, page)
	if err != nil {
		return nil, "", err
	}
	for i := range facts {
		r, err := record(ctx, m, facts[i].ID)
		if err != nil {
			return nil, "", err
		}
		e, err := Of(ctx, m, r, q.AsOf)
		if err != nil {
			return nil, "", err
		}
		if len(q.Kinds) > 0 && !slices.Contains(q.Kinds, e.Kind) {
			continue
		}
		e.State, e.Content, e.Value = stateOf(facts[i].Validity), facts[i].Content, facts[i].Value
		e.Tags, e.Version, e.UpdatedAt = append([]string{}, facts[i].Tags...), facts[i].Version, facts[i].UpdatedAt
		e.SupersededBy = facts[i].SupersededBy
		entries = append(entries, e)
	}
	return entries, next, nil
}

// record reads a record that the handle may read, whatever its state; NotFound: there is
// none, or its time is over.
func record(ctx context.Context, m *loci.Memory, id loci.ID) (*loci.Record, error) {
	f := reach(m, m.Now())
	f.IDs, f.NotLive = []loci.ID{id}, true
	records, _, err := m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(records) == 0 {
		return nil, loci.Errorf(loci.NotFound, "no memory with id %s", id)
	}
	return &records[0], nil
}

// Get reads one memory of any kind in full, also one that is no longer live. NotFound:
// there is none that the handle may read.
func Get(ctx context.Context, m *loci.Memory, id loci.ID) (Entry, error) {
	r, err := record(ctx, m, id)
	if err != nil {
		return Entry{}, err
	}
	return entryOf(ctx, m, shapes(m), r, m.Now(), true)
}

// Delete erases one memory of any kind with all that belongs to it: a session with its
// messages, a file with its versions, a thread with its checkpoints. NotFound: there is none
// in this namespace.
func Delete(ctx context.Context, m *loci.Memory, id loci.ID) error {
	r, err := record(ctx, m, id)
	if err != nil || !m.Namespace().Contains(r.Namespace) {
		return m.Erase(ctx, id) // a repeated request has its reply
	}
	for _, s := range shapes(m) {
		feature, ok := s.feature.(loci.Deleter)
		if !ok || s.kind != r.Kind || !among(s.status, r.Status) {
			continue
		}
		if err := feature.DeleteRecord(ctx, m, r); err != nil {
			return err
		}
		// The reply for a repetition, as Erase keeps it.
		_, err := loci.Commit(ctx, m, "erase", map[string]any{"id": id}, func(time.Time) (loci.Decision[loci.ID], error) {
			return loci.Decision[loci.ID]{Reply: id}, nil
		})
		return err
	}
	return m.Erase(ctx, id)
}

// join writes names as people list them.
func join[T ~string](names []T) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = string(n)
	}
	return strings.Join(texts, ", ")
}
