package loci

import (
	"context"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/retrieval"
)

// passages cuts a text into the parts that are searched one by one.
func (e *Engine) passages(text string) []Span {
	cut := retrieval.Chunk(text, e.opts.ChunkSize, *e.opts.ChunkOverlap)
	spans := make([]Span, len(cut))
	for i, c := range cut {
		spans[i] = Span(c)
	}
	return spans
}

// embed returns vectors for the passages of a record; see embedTexts.
func (e *Engine) embed(ctx context.Context, t Tenant, r *Record) []Vectors {
	return e.embedTexts(ctx, t, r.searched())
}

// embedTexts returns vectors of texts, in each space that is written: see
// [Engine.writers]. All embedders are asked at once, so that two cost no more time
// than one. One that does not answer is left out: a write is never refused for
// want of a vector.
func (e *Engine) embedTexts(ctx context.Context, t Tenant, texts []string) []Vectors {
	if e.own == nil || len(texts) == 0 {
		return nil
	}
	encoders := e.writers(ctx, t)
	made := make([]Vectors, len(encoders))
	ask := func(i int) {
		rows, err := encoders[i].vectors(ctx, texts, embedTimeout)
		if err != nil {
			e.lag(ctx, t, encoders[i], err)
			return
		}
		made[i] = Vectors{Space: encoders[i].space(), Rows: rows}
	}
	var others sync.WaitGroup
	for i := 1; i < len(encoders); i++ {
		others.Go(func() { ask(i) })
	}
	if len(encoders) > 0 {
		ask(0)
	}
	others.Wait()
	if !slices.Equal(encoders, e.writers(ctx, t)) {
		return e.embedTexts(ctx, t, texts) // with the first answer the embedder has learnt its dimensions
	}
	return slices.DeleteFunc(made, func(v Vectors) bool { return v.Rows == nil })
}
