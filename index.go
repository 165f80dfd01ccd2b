package loci

import (
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/retrieval"
)

// embedTimeout bounds how long a write or a search waits for the embedder. A
// write that waited in vain is stored without vectors; they follow.
const embedTimeout = 5 * time.Second

// batchTimeout bounds one batch that nobody waits for: a local model may need
// seconds for 64 passages, and longer for the first ones.
const batchTimeout = 2 * time.Minute

// passages cuts a text into the parts that are searched one by one.
func (e *Engine) passages(text string) []Span {
	cut := retrieval.Chunk(text, e.opts.ChunkSize, *e.opts.ChunkOverlap)
	spans := make([]Span, len(cut))
	for i, c := range cut {
		spans[i] = Span(c)
	}
	return spans
}

// embed returns vectors for passages of a text, or nil when there is no embedder
// or it does not answer: a write is never refused for want of a vector.
func (e *Engine) embed(ctx context.Context, t Tenant, text string, passages []Span) *Vectors {
	if e.opts.Embedder == nil || len(passages) == 0 {
		return nil
	}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Of(text)
	}
	rows, err := e.vectors(ctx, embedTimeout, texts)
	if err != nil {
		e.opts.Logger.WarnContext(ctx, "embedder did not answer; vectors follow later", "model", e.Space().Model, "error", err)
		e.lagged.Store(t, true)
		return nil
	}
	return &Vectors{Space: e.Space(), Rows: rows}
}

// vectors calls the embedder, waits for it no longer than limit, and checks what
// comes back.
func (e *Engine) vectors(ctx context.Context, limit time.Duration, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows, err := e.opts.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	return rows, e.checkVectors(rows, len(texts))
}

// queryVector embeds what somebody looks for.
func (e *Engine) queryVector(ctx context.Context, text string) ([]float32, error) {
	q, ok := e.opts.Embedder.(QueryEmbedder)
	if !ok {
		rows, err := e.vectors(ctx, embedTimeout, []string{text})
		if err != nil {
			return nil, err
		}
		return rows[0], nil
	}
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	row, err := q.EmbedQuery(ctx, text)
	if err != nil {
		return nil, err
	}
	return row, e.checkVectors([][]float32{row}, 1)
}

func (e *Engine) checkVectors(rows [][]float32, texts int) error {
	space := e.Space()
	if len(rows) != texts {
		return Errorf(Unavailable, "embedder %s returned %d vectors for %d texts", space.Model, len(rows), texts)
	}
	for _, row := range rows {
		if len(row) != space.Dims || len(row) == 0 || len(row) > MaxDims {
			return Errorf(Unavailable, "embedder %s returned a vector of %d dimensions; it promised %d", space.Model, len(row), space.Dims)
		}
	}
	return nil
}

// learnDims makes an embedder that does not know its dimensions yet find out,
// for calls that ask the store about the space before they embed anything.
func (e *Engine) learnDims(ctx context.Context) error {
	if e.opts.Embedder == nil || e.Space().Dims > 0 {
		return nil
	}
	_, err := e.vectors(ctx, embedTimeout, []string{"dimensions"})
	return err
}

// Lagging reports whether a write of this engine was stored without vectors
// since the last complete [Engine.Backfill] of the tenant.
func (e *Engine) Lagging(t Tenant) bool {
	_, lagging := e.lagged.Load(t)
	return lagging
}

// embedBatch bounds the texts of one call to an embedder.
const embedBatch = 64

// Backfill embeds what has no vectors in the engine's space yet and returns how
// many records it completed. It can be stopped at any time and run by several
// processes at once: what is done stays done, and vectors are only stored for the
// text they were made from. A text the embedder refuses does not hold up the
// others; it is reported as Unavailable in the end. progress may be nil.
func (e *Engine) Backfill(ctx context.Context, t Tenant, progress func(done int)) (done int, err error) {
	if e.opts.Embedder == nil {
		return 0, nil
	}
	e.lagged.Delete(t)
	defer func() {
		if err != nil {
			e.lagged.Store(t, true)
		}
	}()
	if err := e.learnDims(ctx); err != nil {
		return 0, err
	}
	refused := 0
	for after := (ID{}); ; {
		records, err := e.store.Unembedded(ctx, t, e.Space(), after, embedBatch)
		if err != nil {
			return done, err
		}
		if len(records) == 0 {
			break
		}
		after = records[len(records)-1].ID
		vectors, err := e.embedRecords(ctx, records)
		if err != nil {
			return done, err
		}
		if err := e.store.PutVectors(ctx, t, vectors); err != nil {
			return done, err
		}
		done += len(vectors)
		refused += len(records) - len(vectors)
		if progress != nil {
			progress(done)
		}
	}
	if refused > 0 {
		return done, Errorf(Unavailable, "the embedder refused %d memories; they are found by keyword alone", refused)
	}
	return done, nil
}

// embedRecords embeds records together; when that fails, one by one, leaving out
// those it fails for. An embedder that fails for all of them is down.
func (e *Engine) embedRecords(ctx context.Context, records []Record) ([]RecordVectors, error) {
	vectors, err := e.embedTogether(ctx, records)
	if err == nil || len(records) == 1 || ctx.Err() != nil {
		return vectors, err
	}
	for i := range records {
		one, oneErr := e.embedTogether(ctx, records[i:i+1])
		if ctx.Err() != nil || oneErr != nil && len(vectors) == 0 && i == 2 {
			return nil, err // three in a row: not the texts are to blame
		}
		vectors = append(vectors, one...)
	}
	if len(vectors) == 0 {
		return nil, err
	}
	return vectors, nil
}

func (e *Engine) embedTogether(ctx context.Context, records []Record) ([]RecordVectors, error) {
	var texts []string
	for i := range records {
		for _, p := range records[i].Passages {
			texts = append(texts, p.Of(records[i].Text))
		}
	}
	var rows [][]float32
	for part := range slices.Chunk(texts, embedBatch) { // long records have hundreds of passages
		more, err := e.vectors(ctx, batchTimeout, part)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	vectors := make([]RecordVectors, len(records))
	for i, r := range records {
		n := len(r.Passages)
		vectors[i] = RecordVectors{ID: r.ID, Version: r.Version, Vectors: Vectors{Space: e.Space(), Rows: rows[:n:n]}}
		rows = rows[n:]
	}
	return vectors, nil
}
