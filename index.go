package loci

import (
	"context"
	"slices"
	"sync"

	"github.com/loci-memory/loci/internal/embedcall"
	"github.com/loci-memory/loci/internal/retrieval"
)

// passages cuts a text into the parts that are searched one by one.
func (e *Engine) passages(text string) []Span {
	return retrieval.Chunk(text, e.opts.Passages.Size, e.opts.Passages.Overlap)
}

// cutPassages cuts the text of a live record that nobody has cut. So no kind of memory can
// keep a text that searches do not find; what is not live may hold any bytes.
func (e *Engine) cutPassages(r *Record) {
	if r.Live && r.Passages == nil {
		r.Passages = e.passages(r.Text)
	}
}

// embed returns vectors for the passages of a record; see embedTexts.
func (e *Engine) embed(ctx context.Context, t Tenant, r *Record) []Vectors {
	return e.embedTexts(ctx, t, r.searched())
}

// embedTexts returns vectors of texts, in each space that is written: see [Engine.writers]. All embedders are asked at
// once, so that two cost no more time than one. An embedder that does not answer is left out: no write is refused
// because it lacks a vector.
func (e *Engine) embedTexts(ctx context.Context, t Tenant, texts []string) []Vectors {
	if e.own == nil || len(texts) == 0 {
		return nil
	}
	encoders := e.writers(ctx, t)
	made := make([]Vectors, len(encoders))
	ask := func(i int) {
		rows, err := encoders[i].Vectors(ctx, texts, embedcall.Timeout)
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

// An Embedding says when the vectors of a write's new texts are made.
type Embedding int

// The embeddings there are. What has no vectors gets them by [Engine.Backfill].
const (
	EmbedLater Embedding = iota // not by the write
	EmbedFirst                  // before the change, all in one call; an embedder that does not answer refuses no write
	EmbedSoon                   // as many as half a second allows: the write must not wait
)

// madeVectors are those of one write, by what they were made of: when the write is
// decided again they are not made again, unless the active space has changed.
type madeVectors struct {
	active Space
	byText map[string][]Vectors
}

// add puts vectors into a change.
func (v *madeVectors) add(ctx context.Context, m *Memory, c *Change, when Embedding, active Space) {
	if when == EmbedLater || m.engine.own == nil {
		return
	}
	if v.byText == nil || v.active != active {
		v.active, v.byText = active, map[string][]Vectors{}
	}
	var puts []*Put
	var fresh []Record
	var keys, freshKeys []string
	for i := range c.Put {
		p := &c.Put[i]
		if p.SameText || p.Vectors != nil || len(p.Record.Passages) == 0 {
			continue
		}
		key := digest(p.Record.searched()...)
		if _, made := v.byText[key]; !made {
			fresh, freshKeys = append(fresh, p.Record), append(freshKeys, key)
			v.byText[key] = nil
		}
		puts, keys = append(puts, p), append(keys, key)
	}
	embed := m.engine.embedAll
	if when == EmbedSoon {
		embed = m.engine.embedInPassing
	}
	for i, made := range embed(ctx, m.view.Tenant, fresh) {
		v.byText[freshKeys[i]] = made
	}
	for i, p := range puts {
		p.Vectors = v.byText[keys[i]]
	}
}

// embedAll returns the vectors of records, one entry a record.
func (e *Engine) embedAll(ctx context.Context, t Tenant, records []Record) [][]Vectors {
	var texts []string
	for i := range records {
		texts = append(texts, records[i].searched()...)
	}
	out := make([][]Vectors, len(records))
	for _, v := range e.embedTexts(ctx, t, texts) {
		rows := v.Rows
		for i := range records {
			n := len(records[i].Passages)
			out[i] = append(out[i], Vectors{Space: v.Space, Rows: rows[:n:n]})
			rows = rows[n:]
		}
	}
	return out
}

// embedInPassing makes the vectors of records that must not wait for them: as many
// as there is patience for. The others follow by [Engine.Backfill].
func (e *Engine) embedInPassing(ctx context.Context, t Tenant, records []Record) [][]Vectors {
	vectors := make([][]Vectors, len(records))
	if e.own == nil {
		return vectors
	}
	texts := make([][]string, len(records))
	for i := range records {
		texts[i] = records[i].searched()
	}
	encoders := e.writers(ctx, t)
	for _, c := range encoders {
		made, complete, err := c.InPassing(ctx, texts)
		switch {
		case err != nil:
			e.lag(ctx, t, c, err)
		case !complete:
			e.generations(t).Lag(c.makes)
		}
		for i, rows := range made {
			if len(rows) > 0 {
				vectors[i] = append(vectors[i], Vectors{Space: c.space(), Rows: rows})
			}
		}
	}
	if !slices.Equal(encoders, e.writers(ctx, t)) { // with the first answer the embedder has learnt its dimensions
		clear(vectors)
		e.generations(t).SetLagging(true)
	}
	return vectors
}
