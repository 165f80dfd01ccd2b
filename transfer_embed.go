package loci

import (
	"context"
	"slices"
)

// wantsVectors reports whether a record is searched: only live ones with words are.
func wantsVectors(r *Record) bool { return r.Live && len(r.Passages) > 0 }

// embed makes the vectors of those drafts of a batch that are not there yet; the
// others get nil. When the embedder does not answer, this batch and the rest of
// the import go without: a dead one would hold up every call for as long as one
// may take.
func (in *importer) embed(ctx context.Context, drafts []imported) []*Vectors {
	vectors := make([]*Vectors, len(drafts))
	if in.m.engine.opts.Embedder == nil || in.silent {
		return vectors
	}
	var texts []string
	for i := range drafts {
		if d := &drafts[i]; d.fresh && wantsVectors(&d.Record) {
			for _, p := range d.Passages {
				texts = append(texts, p.Of(d.Text))
			}
		}
	}
	rows, err := in.rows(ctx, texts)
	if err != nil {
		in.m.engine.opts.Logger.WarnContext(ctx, "embedder did not answer; vectors of the import follow later",
			"model", in.m.engine.Space().Model, "error", err)
		in.silent = true
		return vectors
	}
	for i := range drafts {
		if d := &drafts[i]; d.fresh && wantsVectors(&d.Record) {
			n := len(d.Passages)
			vectors[i] = &Vectors{Space: in.m.engine.Space(), Rows: rows[:n:n]}
			rows = rows[n:]
		}
	}
	return vectors
}

// rows calls the embedder with at most 64 texts at once: long records have
// hundreds of passages, and one call has a time to keep.
func (in *importer) rows(ctx context.Context, texts []string) (rows [][]float32, err error) {
	for part := range slices.Chunk(texts, 64) {
		more, err := in.m.engine.vectors(ctx, batchTimeout, part)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}
