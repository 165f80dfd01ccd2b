package embedcall

import (
	"context"
	"errors"
	"time"
)

// After this many refusals in a row the embedder is asked for something that none
// refuses: a few texts that it cannot take look just like an embedder that is down. After
// many more it counts as down, whatever it answers.
const (
	refusalsInARow    = 3
	maxRefusalsInARow = 60
)

// ErrNoAnswer says that the embedder is to blame, and not a text. It also wraps what the
// embedder said.
var ErrNoAnswer = errors.New("the embedder does not answer")

// An Item is something whose texts are embedded: all of them or none.
type Item[K comparable] struct {
	Key     K
	Version int64 // of the texts; a newer one is tried again after a refusal
	Texts   []string
}

// Made are the vectors of an item.
type Made[K comparable] struct {
	Item Item[K]
	Rows [][]float32
}

// A Store holds items, some of which lack vectors in a space.
type Store[K comparable] interface {
	// Lacking lists up to limit of them behind a key, in order of key.
	Lacking(ctx context.Context, after K, limit int) ([]Item[K], error)

	// Put keeps vectors of items whose version is still the same.
	Put(ctx context.Context, made []Made[K]) error
}

// A Filler embeds the items of a store that lack vectors, and remembers those that the
// embedder refuses.
type Filler[K comparable] struct {
	Caller *Caller
	Store  Store[K]
	Batch  int // items at a time

	OnRefusal func(ctx context.Context, item *Item[K], cause error)     // for a log
	AfterStep func(ctx context.Context, begun time.Time, n int64) error // after each Batch; n: embedded so far

	Embedded int64
	Refused  map[K]int64 // the version that was refused

	inARow int // refused one after the other
}

// maxRounds bounds how often Fill looks at everything while others store items without
// vectors. Processes of another configuration do so.
const maxRounds = 20

// ErrTooBusy says that others store items faster than their vectors can be made.
var ErrTooBusy = errors.New("memories are stored faster than their vectors can be made")

// Fill embeds what lacks vectors, until one look at everything finds only what the
// embedder refuses.
func (f *Filler[K]) Fill(ctx context.Context) error {
	for range maxRounds {
		before := f.Embedded + int64(len(f.Refused))
		if err := f.pass(ctx); err != nil {
			return err
		}
		if f.Embedded+int64(len(f.Refused)) == before {
			return nil
		}
	}
	return ErrTooBusy
}

// pass goes once over all that lacks vectors, in order of key.
func (f *Filler[K]) pass(ctx context.Context) error {
	var after K
	for {
		begun := time.Now() // a duration, not a date: no clock of the caller's
		items, err := f.Store.Lacking(ctx, after, f.Batch)
		if err != nil || len(items) == 0 {
			return err
		}
		after = items[len(items)-1].Key
		made, err := f.embed(ctx, items)
		if len(made) > 0 { // also when it stopped half way: what is made need not be made again
			if err := f.Store.Put(ctx, made); err != nil {
				return err
			}
			f.Embedded += int64(len(made))
		}
		if err != nil {
			return err
		}
		if err := f.AfterStep(ctx, begun, f.Embedded); err != nil {
			return err
		}
	}
}

// embed embeds items together. If that fails, it embeds them one by one and leaves out
// those that fail. It returns what it made even with an error.
func (f *Filler[K]) embed(ctx context.Context, items []Item[K]) (made []Made[K], err error) {
	items = f.notRefused(items)
	made, err = f.together(ctx, items)
	if err == nil {
		f.inARow = 0
		return made, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err := f.alive(ctx, err); err != nil {
		return nil, err
	}
	for i := range items {
		one, err := f.together(ctx, items[i:i+1])
		if ctx.Err() != nil {
			return made, ctx.Err()
		}
		if err == nil {
			f.inARow = 0
			made = append(made, one...)
			continue
		}
		if err := f.refuse(ctx, &items[i], err); err != nil {
			return made, err
		}
	}
	return made, nil
}

// notRefused leaves out the items whose present texts were refused before.
func (f *Filler[K]) notRefused(items []Item[K]) (out []Item[K]) {
	if len(f.Refused) == 0 {
		return items
	}
	for _, item := range items {
		if version, ok := f.Refused[item.Key]; !ok || version != item.Version {
			out = append(out, item)
		}
	}
	return out
}

// together embeds items in as few calls as possible.
func (f *Filler[K]) together(ctx context.Context, items []Item[K]) ([]Made[K], error) {
	var texts []string
	for i := range items {
		texts = append(texts, items[i].Texts...)
	}
	rows, err := f.Caller.InBatches(ctx, texts)
	if err != nil {
		return nil, err
	}
	made := make([]Made[K], len(items))
	for i, item := range items {
		n := len(item.Texts)
		made[i] = Made[K]{item, rows[:n:n]}
		rows = rows[n:]
	}
	return made, nil
}

// alive returns an error when the embedder does not answer the simplest request; cause is
// what made one ask.
func (f *Filler[K]) alive(ctx context.Context, cause error) error {
	if _, err := f.Caller.Vectors(ctx, []string{"memory"}, Timeout); err != nil || f.inARow >= maxRefusalsInARow {
		return errors.Join(ErrNoAnswer, cause)
	}
	return nil
}

// refuse notes that an item was refused. An error means that the item is not to blame:
// the embedder is down.
func (f *Filler[K]) refuse(ctx context.Context, item *Item[K], cause error) error {
	f.inARow++
	if f.inARow%refusalsInARow == 0 {
		if err := f.alive(ctx, cause); err != nil {
			return err
		}
	}
	if f.Refused == nil {
		f.Refused = map[K]int64{}
	}
	f.Refused[item.Key] = item.Version
	f.OnRefusal(ctx, item, cause)
	return nil
}
