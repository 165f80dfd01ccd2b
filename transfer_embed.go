package loci

import "context"

// wantsVectors reports whether a record is searched: only live ones with words are.
func wantsVectors(r *Record) bool { return r.Live && len(r.Passages) > 0 }

// embed makes the vectors of those drafts of a batch that are not stored yet. When an embedder does not
// answer, this batch and the rest are stored without: otherwise every batch would wait for a dead embedder.
func (in *importer) embed(ctx context.Context, drafts []*Imported) ([][]Vectors, error) {
	e, t := in.m.engine, in.m.view.Tenant
	vectors := make([][]Vectors, len(drafts))
	if e.own == nil {
		return vectors, nil
	}
	var err error
	if in.active, err = e.activeSpace(ctx, t); err != nil {
		return nil, err
	}
	if !in.silent[e.own] {
		if err := e.own.LearnDims(ctx); err != nil {
			in.fall(ctx, e.own, err)
		}
	}
	var texts []string
	for i := range drafts {
		if d := drafts[i]; d.fresh && wantsVectors(&d.Record) {
			texts = append(texts, d.searched()...)
		}
	}
	in.writers = in.writers[:0]
	for _, c := range e.writers(ctx, t) {
		in.writers = append(in.writers, c)
		if in.silent[c] {
			continue
		}
		rows, err := c.InBatches(ctx, texts)
		if err != nil {
			in.fall(ctx, c, err)
			continue
		}
		for i := range drafts {
			if d := drafts[i]; d.fresh && wantsVectors(&d.Record) {
				n := len(d.Passages)
				vectors[i] = append(vectors[i], Vectors{Space: c.space(), Rows: rows[:n:n]})
				rows = rows[n:]
			}
		}
	}
	return vectors, nil
}

// fall stops the import from asking an embedder that does not answer.
func (in *importer) fall(ctx context.Context, c *encoder, err error) {
	in.m.engine.opts.Logger.WarnContext(ctx, "embedder did not answer; vectors of the import follow later", "model", c.embedder.Model(), "error", err)
	in.silent[c] = true
}
