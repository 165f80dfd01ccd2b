package embedcall

import (
	"context"
	"time"
)

// passingPatience bounds how long a write waits for vectors that may also come later.
const passingPatience = 500 * time.Millisecond

// passingRest is how long such writes leave an embedder alone after it did not answer one
// of them.
const passingRest = 30 * time.Second

// passingBatch bounds the texts of one call, unless one item alone has more.
const passingBatch = 16

// InPassing embeds items that must not wait for it, a few a call, until the patience is
// over. It returns a row for each text of the items it got to, in their order; complete
// says that these are all. After an error, or while the embedder rests from one, the
// remaining items have none.
func (c *Caller) InPassing(ctx context.Context, items [][]string) (made [][][]float32, complete bool, err error) {
	begun := time.Now() // a duration, not a date: not the engine's clock
	for len(made) < len(items) {
		left := passingPatience - time.Since(begun)
		if left <= 0 || begun.UnixMilli() < c.restsUntil.Load() {
			return made, false, nil
		}
		first, end := len(made), len(made)
		var texts []string
		for ; end < len(items) && (end == first || len(texts)+len(items[end]) <= passingBatch); end++ {
			texts = append(texts, items[end]...)
		}
		var rows [][]float32
		if len(texts) > 0 {
			if rows, err = c.Vectors(ctx, texts, left); err != nil {
				if ctx.Err() == nil {
					c.restsUntil.Store(time.Now().Add(passingRest).UnixMilli())
				}
				return made, false, err
			}
		}
		for _, item := range items[first:end] {
			n := len(item)
			made = append(made, rows[:n:n])
			rows = rows[n:]
		}
	}
	return made, true, nil
}
