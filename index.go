package loci

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci/internal/retrieval"
)

// How long is waited for an embedder. A write that waited in vain is stored
// without vectors; they follow. Upkeep has more patience, since nobody waits for it
// and its calls are larger: a local model may need a second for a long text.
const (
	embedTimeout  = 5 * time.Second
	upkeepTimeout = time.Minute
)

// maxAbandoned bounds the calls of an embedder that go on after their time, for an
// embedder that does not heed its context. Each holds a goroutine and its texts.
const maxAbandoned = 16

// An encoder is an embedder with its space, kept from harming its callers: its
// calls end in time and what they return is checked.
type encoder struct {
	embedder  Embedder
	space     Space
	abandoned atomic.Int32 // calls nobody waits for any more
}

func newEncoder(e Embedder) *encoder {
	return &encoder{embedder: e, space: Space{Model: e.Model(), Dims: e.Dims()}}
}

// vectors returns a row for each text, or an error when the timeout is over, also
// where the embedder goes on.
func (c *encoder) vectors(ctx context.Context, texts []string, timeout time.Duration) ([][]float32, error) {
	if n := c.abandoned.Load(); n >= maxAbandoned {
		return nil, Errorf(Unavailable, "embedder %s has %d calls under way that do not end", c.space.Model, n)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type outcome struct {
		rows [][]float32
		err  error
	}
	var settled atomic.Bool // set by whichever ends first, the call or the wait
	done := make(chan outcome, 1)
	go func() {
		rows, err := c.call(ctx, texts)
		done <- outcome{rows, err}
		if !settled.CompareAndSwap(false, true) {
			c.abandoned.Add(-1)
		}
	}()
	select {
	case o := <-done:
		if o.err == nil {
			o.err = c.check(o.rows, len(texts))
		}
		return o.rows, o.err
	case <-ctx.Done():
		c.abandoned.Add(1)
		if !settled.CompareAndSwap(false, true) {
			c.abandoned.Add(-1) // it ended at this very moment
		}
		return nil, ctx.Err()
	}
}

// call turns a panic of the embedder into an error: in a goroutine of its own it
// would end the process.
func (c *encoder) call(ctx context.Context, texts []string) (rows [][]float32, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{Code: Internal, Op: "embed", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return c.embedder.Embed(ctx, texts)
}

// check refuses rows that do not fit the texts or the space.
func (c *encoder) check(rows [][]float32, texts int) error {
	if len(rows) != texts {
		return Errorf(Unavailable, "embedder %s returned %d vectors for %d texts", c.space.Model, len(rows), texts)
	}
	for _, row := range rows {
		if len(row) != c.space.Dims {
			return Errorf(Unavailable, "embedder %s returned a vector of %d dimensions; it promised %d", c.space.Model, len(row), c.space.Dims)
		}
		for _, x := range row {
			if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
				return Errorf(Unavailable, "embedder %s returned a vector that is not finite", c.space.Model)
			}
		}
	}
	return nil
}

// passages cuts a text into the parts that are searched one by one.
func (e *Engine) passages(text string) []Span {
	cut := retrieval.Chunk(text, e.opts.ChunkSize, *e.opts.ChunkOverlap)
	spans := make([]Span, len(cut))
	for i, c := range cut {
		spans[i] = Span(c)
	}
	return spans
}

// embed returns vectors for passages of a text, in each space that is written: see
// [Engine.writers]. All embedders are asked at once, so that two cost no more time
// than one. One that does not answer is left out: a write is never refused for
// want of a vector.
func (e *Engine) embed(ctx context.Context, t Tenant, text string, passages []Span) []Vectors {
	if e.own == nil || len(passages) == 0 {
		return nil
	}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Of(text)
	}
	encoders := e.writers(ctx, t)
	made := make([]Vectors, len(encoders))
	ask := func(i int) {
		rows, err := encoders[i].vectors(ctx, texts, embedTimeout)
		if err != nil {
			e.lag(ctx, t, encoders[i].space, err)
			return
		}
		made[i] = Vectors{Space: encoders[i].space, Rows: rows}
	}
	var others sync.WaitGroup
	for i := 1; i < len(encoders); i++ {
		others.Go(func() { ask(i) })
	}
	if len(encoders) > 0 {
		ask(0)
	}
	others.Wait()
	return slices.DeleteFunc(made, func(v Vectors) bool { return v.Rows == nil })
}

// embedBatch bounds the texts of one call to an embedder.
const embedBatch = 64

// inBatches embeds many texts, each call within the timeout: long memories have
// hundreds of passages.
func (c *encoder) inBatches(ctx context.Context, texts []string, timeout time.Duration) (rows [][]float32, err error) {
	for part := range slices.Chunk(texts, embedBatch) {
		more, err := c.vectors(ctx, part, timeout)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}
