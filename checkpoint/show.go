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

// DeleteRecord erases a thread with all of its checkpoints, those of subgraphs too.
func (Feature) DeleteRecord(ctx context.Context, m *loci.Memory, r *loci.Record) error {
	var b threadBody
	if err := loci.ReadBody(r, &b); err != nil {
		return err
	}
	inner, err := m.At(r.Namespace)
	if err != nil {
		return err
	}
	_, err = Of(inner).DeleteThread(ctx, b.Thread)
	return err
}
