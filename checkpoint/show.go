package checkpoint

import (
	"context"

	"github.com/loci-memory/loci"
)

// Show describes a thread, or the part of one that a subgraph has.
func (Feature) Show(_ context.Context, _ *loci.Memory, r *loci.Record, _ bool) (out loci.Shown, err error) {
	var b threadBody
	err = loci.ReadBody(r, &b)
	out.Key, out.Source = b.Thread, b.Source
	if b.Namespace != "" {
		out.Details = map[string]any{"checkpoint_ns": b.Namespace}
	}
	return out, err
}

// DeleteRecord erases a thread with all of its checkpoints, those of subgraphs too. Of a large one a part goes, and the
// error, which wraps [ErrUnfinished], says that the same call goes on.
func (Feature) DeleteRecord(ctx context.Context, m *loci.Memory, r *loci.Record) error {
	var b threadBody
	if err := loci.ReadBody(r, &b); err != nil {
		return err
	}
	inner, err := m.At(r.Namespace)
	if err != nil {
		return err
	}
	done, err := Of(inner).deletePart(ctx, b.Thread, place{})
	if err == nil {
		_, err = done.Whole()
	}
	return err
}
