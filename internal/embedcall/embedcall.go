// Package embedcall calls embedders so that they harm nobody: calls end in time, what they
// return is checked, and a text that one refuses does not hold up the others.
package embedcall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/patience"
	"github.com/loci-memory/loci/internal/trail"
)

// Timeout bounds how long a write or a search waits for the embedder.
const Timeout = 5 * time.Second

// batchTimeout bounds one batch that nobody waits for: a local model may need seconds for
// 64 passages, and longer for the first ones.
const batchTimeout = 2 * time.Minute

// Batch bounds the texts of one call that nobody waits for.
const Batch = 64

// MaxDims bounds the dimensions of a vector.
const MaxDims = 4096

// An Embedder is what is called. Those that can do more have the methods EmbedQuery,
// Knows or EmbedWeighed of the interfaces in package loci. One with a method Immediate
// computes in this process, ends soon, and is not waited for.
type Embedder interface {
	Model() string
	Dims() int
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// A Caller calls one embedder.
type Caller struct {
	embedder Embedder
	calls    patience.Calls

	restsUntil atomic.Int64 // Unix milliseconds; see [Caller.InPassing]
}

// For returns the caller of an embedder.
func For(e Embedder) *Caller { return &Caller{embedder: e} }

// LearnDims makes an embedder that does not know its dimensions yet find out, for callers
// that ask a store about its vectors before they embed anything.
func (c *Caller) LearnDims(ctx context.Context) error {
	if c.embedder.Dims() > 0 {
		return nil
	}
	_, err := c.Vectors(ctx, []string{"dimensions"}, Timeout)
	return err
}

// Vectors returns a row for each text. It returns an error when the time is over, even if
// the embedder is still busy.
func (c *Caller) Vectors(ctx context.Context, texts []string, timeout time.Duration) ([][]float32, error) {
	return c.bounded(ctx, len(texts), timeout, func(ctx context.Context) ([][]float32, error) {
		return c.embedder.Embed(ctx, texts)
	})
}

// InBatches embeds many texts, [Batch] a call: long memories have hundreds of passages.
func (c *Caller) InBatches(ctx context.Context, texts []string) (rows [][]float32, err error) {
	for part := range slices.Chunk(texts, Batch) {
		more, err := c.Vectors(ctx, part, batchTimeout)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// Query embeds what somebody looks for, and says how much of it the embedder knows, 0 to 1.
func (c *Caller) Query(ctx context.Context, text string) (row []float32, known float64, err error) {
	q, ok := c.embedder.(interface {
		EmbedQuery(ctx context.Context, query string) ([]float32, error)
	})
	known = 1
	rows, err := c.bounded(ctx, 1, Timeout, func(ctx context.Context) ([][]float32, error) {
		if k, ok := c.embedder.(interface{ Knows(text string) float64 }); ok {
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
		return nil, 0, fmt.Errorf("embedder %s says it knows %v of a text; it must be 0 to 1", c.embedder.Model(), known)
	}
	return rows[0], known, nil
}

// Reweigh returns a function that embeds a query again with weights of its words, or nil
// if the embedder cannot do that. The function returns nil when no word has any weight,
// or when it fails: the caller still has the vector without weights.
func (c *Caller) Reweigh(text string) func(weight func(word string) float64) []float32 {
	w, ok := c.embedder.(interface {
		EmbedWeighed(query string, weight func(word string) float64) []float32
	})
	if !ok {
		return nil
	}
	return func(weight func(word string) float64) (row []float32) {
		defer func() {
			if recover() != nil {
				row = nil
			}
		}()
		if row = w.EmbedWeighed(text, weight); c.check([][]float32{row}, 1) != nil {
			return nil
		}
		return row
	}
}

// bounded calls the embedder and checks what it returns.
func (c *Caller) bounded(
	ctx context.Context, texts int, timeout time.Duration, call func(context.Context) ([][]float32, error),
) ([][]float32, error) {
	ctx, ended := trail.Begin(ctx, trail.Step{Kind: trail.Embed, Name: "embeddings"})
	end := trail.End{Code: trail.Failed}
	defer func() { ended(end) }()
	rows, err := c.call(ctx, timeout, call)
	switch {
	case errors.Is(err, patience.ErrTooMany):
		return nil, fmt.Errorf("embedder %s has %d calls under way that do not end", c.embedder.Model(), patience.Most)
	case err != nil:
		return nil, err
	}
	if err = c.check(rows, texts); err == nil {
		end.Code = ""
	}
	return rows, err
}

// call makes a call that must end in time. To wait beside one that waits for nothing costs more than
// to make it.
func (c *Caller) call(
	ctx context.Context, timeout time.Duration, call func(context.Context) ([][]float32, error),
) ([][]float32, error) {
	if _, ok := c.embedder.(interface{ Immediate() }); ok {
		return patience.Guarded(ctx, call)
	}
	return patience.Call(ctx, &c.calls, timeout, call)
}

// check refuses rows that do not fit the texts or the dimensions.
func (c *Caller) check(rows [][]float32, texts int) error {
	model, dims := c.embedder.Model(), c.embedder.Dims()
	if len(rows) != texts {
		return fmt.Errorf("embedder %s returned %d vectors for %d texts", model, len(rows), texts)
	}
	for _, row := range rows {
		if len(row) != dims || len(row) == 0 || len(row) > MaxDims {
			return fmt.Errorf("embedder %s returned a vector of %d dimensions; it promised %d", model, len(row), dims)
		}
		var none float32
		for _, x := range row {
			none += x - x // 0, but of a number that is not finite no number
		}
		if none != 0 {
			return fmt.Errorf("embedder %s returned a vector that is not finite", model)
		}
	}
	return nil
}
