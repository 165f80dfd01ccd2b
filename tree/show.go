package tree

import (
	"context"

	"github.com/loci-memory/loci"
)

// at is the tree that a record lies in, without a handle.
func at(r *loci.Record) *Tree {
	t := &Tree{ancestors: r.Namespace.Owner()}
	if place := r.Namespace[len(t.ancestors):]; len(place) >= 4 { // the label of features, "tree", its name, whose it is
		t.name = place[2]
		if len(place) > 4 {
			t.thread = place[4]
		}
	}
	return t
}

// Show describes a file: its path, and asked for alone what it says.
func (Feature) Show(ctx context.Context, m *loci.Memory, r *loci.Record, whole bool) (out loci.Shown, err error) {
	e, err := entryOf(r)
	if err != nil {
		return out, err
	}
	t, info := at(r), e.info()
	out = loci.Shown{Key: info.Path, Source: e.body.Source}
	out.Details = map[string]any{"bytes": info.Bytes, "lines": info.Lines, "memory": t.name}
	if t.thread != "" {
		out.Details["thread"] = t.thread
	}
	if !whole {
		return out, nil
	}
	if t.m, err = m.At(r.Namespace); err == nil {
		out.Content, err = t.Read(ctx, info.Path)
	}
	return out, err
}

// DeleteRecord erases a file with its versions.
func (Feature) DeleteRecord(ctx context.Context, m *loci.Memory, r *loci.Record) error {
	t := at(r)
	var err error
	if t.m, err = m.At(r.Namespace); err == nil {
		_, err = t.delete(ctx, slotPath(r.Slot), nil, nil, &Counts{})
	}
	return err
}
