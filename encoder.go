package loci

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/patience"
)

// embedTimeout bounds how long a write or a search waits for the embedder. A
// write that waited in vain is stored without vectors; they follow.
const embedTimeout = 5 * time.Second

// batchTimeout bounds one batch that nobody waits for: a local model may need
// seconds for 64 passages, and longer for the first ones.
const batchTimeout = 2 * time.Minute

// An encoder is an embedder kept from harming its callers: its calls end in time
// and what they return is checked.
type encoder struct {
	embedder Embedder
	calls    patience.Calls
	resting  resting
}

// space is what the embedder makes vectors of; without dimensions as long as it
// does not know them.
func (c *encoder) space() Space { return Space{Model: c.embedder.Model(), Dims: c.embedder.Dims()} }

// makes reports whether the encoder's vectors are of a space, as far as it knows.
func (c *encoder) makes(s Space) bool {
	own := c.space()
	return own == s || own.Model == s.Model && own.Dims == 0
}

// learnDims makes an embedder that does not know its dimensions yet find out, for
// calls that ask the store about the space before they embed anything.
func (c *encoder) learnDims(ctx context.Context) error {
	if c.embedder.Dims() > 0 {
		return nil
	}
	_, err := c.vectors(ctx, []string{"dimensions"}, embedTimeout)
	return err
}

// vectors returns a row for each text, or an error when the time is over, also
// where the embedder goes on.
func (c *encoder) vectors(ctx context.Context, texts []string, timeout time.Duration) ([][]float32, error) {
	return c.bounded(ctx, len(texts), timeout, func(ctx context.Context) ([][]float32, error) {
		return c.embedder.Embed(ctx, texts)
	})
}

// query embeds what somebody looks for, and says how much of it the embedder knows.
func (c *encoder) query(ctx context.Context, text string) (row []float32, known float64, err error) {
	q, ok := c.embedder.(QueryEmbedder)
	known = 1
	rows, err := c.bounded(ctx, 1, embedTimeout, func(ctx context.Context) ([][]float32, error) {
		if k, ok := c.embedder.(KnowingEmbedder); ok {
			known = k.Knows(text)
		}
		if !ok {
			return c.embedder.Embed(ctx, []string{text})
		}
		row, err := q.EmbedQuery(ctx, text)
		return [][]float32{row}, err
	})
	if err != nil {
		return nil, 0, err // known may still be written to
	}
	if !(known >= 0 && known <= 1) {
		return nil, 0, Errorf(Unavailable, "embedder %s says it knows %v of a text; it must be 0 to 1", c.embedder.Model(), known)
	}
	return rows[0], known, nil
}

// scale is what the cosines of the embedder mean.
func (c *encoder) scale(configured Scale) Scale {
	if configured != (Scale{}) {
		return configured
	}
	if s, ok := c.embedder.(ScaledEmbedder); ok && s.Scale().fits() {
		return s.Scale()
	}
	return DefaultScale
}

// reweigh is for [Probe].Reweigh; nil: the embedder cannot weigh words.
func (c *encoder) reweigh(text string) func(weight func(word string) float64) []float32 {
	w, ok := c.embedder.(WeighingEmbedder)
	if !ok {
		return nil
	}
	return func(weight func(word string) float64) (row []float32) {
		defer func() {
			if recover() != nil {
				row = nil // the vector without weights is there already
			}
		}()
		if row = w.EmbedWeighed(text, weight); c.check([][]float32{row}, 1) != nil {
			return nil
		}
		return row
	}
}

// bounded calls the embedder and checks what it returns.
func (c *encoder) bounded(ctx context.Context, texts int, timeout time.Duration, call func(context.Context) ([][]float32, error)) ([][]float32, error) {
	rows, err := patience.Call(ctx, &c.calls, timeout, call)
	switch {
	case errors.Is(err, patience.ErrTooMany):
		return nil, Errorf(Unavailable, "embedder %s has %d calls under way that do not end", c.embedder.Model(), patience.Most)
	case err != nil:
		return nil, err
	}
	return rows, c.check(rows, texts)
}

// check refuses rows that do not fit the texts or the space.
func (c *encoder) check(rows [][]float32, texts int) error {
	space := c.space()
	if len(rows) != texts {
		return Errorf(Unavailable, "embedder %s returned %d vectors for %d texts", space.Model, len(rows), texts)
	}
	for _, row := range rows {
		if len(row) != space.Dims || len(row) == 0 || len(row) > MaxDims {
			return Errorf(Unavailable, "embedder %s returned a vector of %d dimensions; it promised %d", space.Model, len(row), space.Dims)
		}
		for _, x := range row {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return Errorf(Unavailable, "embedder %s returned a vector that is not finite", space.Model)
			}
		}
	}
	return nil
}

// embedBatch bounds the texts of one call to an embedder.
const embedBatch = 64

// inBatches embeds many texts, each call within batchTimeout: long memories have
// hundreds of passages.
func (c *encoder) inBatches(ctx context.Context, texts []string) (rows [][]float32, err error) {
	for part := range slices.Chunk(texts, embedBatch) {
		more, err := c.vectors(ctx, part, batchTimeout)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}
