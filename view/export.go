package view

import (
	"context"
	"io"
	"slices"

	"github.com/loci-memory/loci"
)

// Export writes the memories that a query selects as [loci.Memory.Export] writes all of
// them: those that stand for themselves by kind and state, the others by kind alone and
// whole. Tags, Where and AsOf must not be set. It returns how many an import of it counts.
func Export(
	ctx context.Context, m *loci.Memory, w io.Writer, q Query, progress func(done int64),
) (n int64, err error) {
	n, _, err = ExportPart(ctx, m, w, q, progress, loci.ExportPart{})
	return n, err
}

// ExportPart writes a part of an [Export]: see [loci.Memory.ExportPart]. Kinds, Keep and Narrow of the part must not be
// set, and the query is the same for each part.
func ExportPart(
	ctx context.Context, m *loci.Memory, w io.Writer, q Query, progress func(done int64), part loci.ExportPart,
) (n int64, next string, err error) {
	if len(q.Tags) > 0 || !q.Where.IsZero() || !q.AsOf.IsZero() {
		return 0, "", loci.Errorf(loci.Invalid, "an export can be limited only by kind and state")
	}
	if len(q.Kinds)+len(q.States) > 0 {
		if err := choose(m, q, &part); err != nil {
			return 0, "", err
		}
	}
	return m.ExportPart(ctx, w, progress, part)
}

// choose says what a query selects to an export.
func choose(m *loci.Memory, q Query, part *loci.ExportPart) error {
	if len(q.States) == 0 {
		q.States = States
	}
	if err := checkNames(m, q.Kinds, q.States); err != nil {
		return err
	}
	asked := func(name loci.Kind) bool { return len(q.Kinds) == 0 || slices.Contains(q.Kinds, name) }
	var single []loci.Kind // of those that stand for themselves, as they are named
	for _, s := range shapes(m) {
		switch {
		case s.memory:
			names := []loci.Kind{s.name}
			if s.kind == loci.KindFact {
				names = append(names, KindNote)
			}
			if names = slices.DeleteFunc(names, func(name loci.Kind) bool { return !asked(name) }); len(names) > 0 {
				single, part.Kinds = append(single, names...), append(part.Kinds, s.kind)
			}
		case asked(s.name) && slices.Contains(q.States, Live):
			for _, k := range s.feature.Kinds() { // with an owner go its parts
				part.Kinds = append(part.Kinds, k.Kind)
			}
		}
	}
	if len(part.Kinds) == 0 {
		part.Kinds = []loci.Kind{""} // nothing is of this kind
	}
	s := selection{shapes: shapes(m), names: single, states: q.States}
	part.Narrow = s.narrow
	part.Keep = func(ctx context.Context, r *loci.Record) (bool, error) {
		_, ok, err := s.entry(ctx, m, r, m.Now())
		return ok, err
	}
	return nil
}

// narrow leaves out of a filter of all that stands for itself what is in no state that is asked for, where one list
// has all that is.
func (s *selection) narrow(f *loci.Filter) {
	if len(f.Kinds) == 0 {
		return
	}
	s.filter = *f
	switch lists := s.filters(); len(lists) {
	case 0:
		f.Kinds = []loci.Kind{} // none of them is ever in such a state
	case 1:
		*f = lists[0]
	}
}
