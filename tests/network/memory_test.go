package network

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store/storetest"
	"github.com/loci-memory/loci/tree"
)

// An act is what a memory is asked for.
type act struct {
	name string
	prep func(ctx context.Context, m *loci.Memory, word string) (loci.ID, error) // nil: nothing is there before
	do   func(ctx context.Context, m *loci.Memory, word string, at loci.ID) error

	// found is how often it was done, as can be seen.
	found func(ctx context.Context, m *loci.Memory, word string) (int, error)
}

// save stores a note that holds a word.
func save(ctx context.Context, m *loci.Memory, word string) (loci.ID, error) {
	stored, err := m.StoreFact(ctx, loci.NewFact{Content: "The word of the day is " + word + "."})
	return stored.ID, err
}

// notes counts those with a word.
func notes(ctx context.Context, m *loci.Memory, word string) (n int, err error) {
	facts, _, err := m.Facts(ctx, loci.FactQuery{History: true}, loci.Page{Limit: 1000})
	for i := range facts {
		n += strings.Count(facts[i].Content, word)
	}
	return n, err
}

// absent makes an answer of one that may be NotFound.
func absent(n int, err error) (int, error) {
	if e := loci.AsError(err); e != nil && e.Code == loci.NotFound {
		return 0, nil
	}
	return n, err
}

var place = loci.Namespace{"u"}

var acts = []act{
	{
		name: "save",
		do: func(ctx context.Context, m *loci.Memory, word string, _ loci.ID) error {
			_, err := save(ctx, m, word)
			return err
		},
		found: notes,
	},
	{
		name: "erase", prep: save,
		do: func(ctx context.Context, m *loci.Memory, _ string, at loci.ID) error { return m.EraseFact(ctx, at) },
		found: func(ctx context.Context, m *loci.Memory, word string) (int, error) {
			n, err := notes(ctx, m, word)
			return 1 - n, err
		},
	},
	{
		name: "session append",
		do: func(ctx context.Context, m *loci.Memory, word string, _ loci.ID) error {
			data, err := json.Marshal(map[string]string{"content": word})
			if err == nil {
				_, err = session.Of(m).Append(ctx, word, []session.Message{{Type: "human", Data: data}})
			}
			return err
		},
		found: func(ctx context.Context, m *loci.Memory, word string) (int, error) {
			h, err := session.Of(m).History(ctx, word, session.HistoryQuery{})
			return absent(len(h.Messages), err)
		},
	},
	{
		name: "file append",
		do: func(ctx context.Context, m *loci.Memory, word string, _ loci.ID) error {
			files, err := tree.Of(m, "", "")
			if err == nil {
				_, err = files.Append(ctx, "/"+word+".txt", word+"\n")
			}
			return err
		},
		found: func(ctx context.Context, m *loci.Memory, word string) (int, error) {
			files, err := tree.Of(m, "", "")
			if err != nil {
				return 0, err
			}
			text, err := files.Read(ctx, "/"+word+".txt")
			return absent(strings.Count(text, word), err)
		},
	},
	{
		name: "file write", // each makes a version
		do: func(ctx context.Context, m *loci.Memory, word string, _ loci.ID) error {
			files, err := tree.Of(m, "", "")
			if err == nil {
				_, err = files.Write(ctx, "/"+word+".txt", word, nil)
			}
			return err
		},
		found: func(ctx context.Context, m *loci.Memory, word string) (int, error) {
			files, err := tree.Of(m, "", "")
			if err != nil {
				return 0, err
			}
			versions, err := files.Versions(ctx, "/"+word+".txt")
			return absent(len(versions), err)
		},
	},
	{
		name: "item put",
		do: func(ctx context.Context, m *loci.Memory, word string, _ loci.ID) error {
			return item.Of(m).Put(ctx, place, word, json.RawMessage(`{"kept":true}`), nil)
		},
		found: func(ctx context.Context, m *loci.Memory, word string) (int, error) {
			_, err := item.Of(m).Get(ctx, place, word, false)
			return absent(1, err)
		},
	},
	{
		name: "checkpoint put",
		do: func(ctx context.Context, m *loci.Memory, word string, _ loci.ID) error {
			return checkpoint.Of(m).Put(ctx, checkpoint.Checkpoint{
				Thread: word, ID: "1", State: checkpoint.Typed{Type: "json", Data: []byte(`{}`)}, Metadata: json.RawMessage(`{}`),
			})
		},
		found: func(ctx context.Context, m *loci.Memory, word string) (int, error) {
			list, err := checkpoint.Of(m).List(ctx, checkpoint.Query{Thread: word})
			return absent(len(list.Checkpoints), err)
		},
	},
}

// What a memory acknowledges while the network breaks is there once, what it refuses is not, and
// the same request with the same key makes it so that it is there once in any case.
func TestMemoriesOverABrokenNetwork(t *testing.T) {
	for _, f := range faults() {
		if f.long && !long() || f.lasts > 0 { // until the call has ended
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			line := f.open(t)
			over := locitest.NewEngine(t, line.Store, loci.Options{})
			straight := locitest.NewEngine(t, line.Straight, loci.Options{})
			moments := []time.Duration{storetest.Before, latency * 3 / 2, 4 * latency}
			for i, a := range acts {
				for j, moment := range moments {
					if !long() && (i+j)%2 == 0 {
						continue
					}
					t.Run(fmt.Sprint(a.name, " ", moment), func(t *testing.T) {
						perform(t, &a, line, over, straight, moment, f.passes)
					})
				}
			}
		})
	}
}

// perform does one act while a line breaks.
func perform(
	t *testing.T, a *act, line storetest.Line, over, straight *loci.Engine, moment time.Duration, passes bool,
) {
	ctx := context.WithoutCancel(t.Context())
	word := "w" + strings.ReplaceAll(loci.NewID().String(), "-", "")
	view := loci.View{Tenant: locitest.Tenant(t, "t"), Namespace: loci.Namespace{"u"}, Actor: "tester"}
	seen := locitest.BindView(t, straight, view)
	var at loci.ID
	if a.prep != nil {
		var err error
		if at, err = a.prep(ctx, seen, word); err != nil {
			t.Fatal(err)
		}
	}
	view.IdempotencyKey = word
	m := locitest.BindView(t, over, view)

	began, err := struck(line, moment, func() error { return a.do(ctx, m, word, at) })
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %v", took)
	}
	e := loci.AsError(err)
	if err != nil && (passes || e.Code != loci.Unavailable) {
		t.Errorf("%v (cause: %v)", err, errors.Unwrap(err))
	}
	mended := time.Now()
	if err := a.do(ctx, m, word, at); err != nil {
		t.Errorf("again with the same key: %v (cause: %v)", err, errors.Unwrap(err))
	}
	if took := time.Since(mended); took > 5*time.Second {
		t.Errorf("again with the same key took %v", took)
	}
	if n, err := a.found(ctx, seen, word); err != nil || n != 1 {
		t.Errorf("after two requests with one key it was done %d times, %v", n, err)
	}
	// Others find it by a search, wherever they ask.
	if a.name == "save" {
		for _, m := range []*loci.Memory{seen, m} {
			hits, err := m.Search(ctx, loci.Query{Text: word})
			if err != nil || len(hits.Matches) == 0 || !strings.Contains(hits.Matches[0].Record.Text, word) {
				t.Errorf("a search finds %d, %v", len(hits.Matches), err)
			}
		}
	}
}

// struck does something while a line breaks, and mends it then.
func struck(line storetest.Line, moment time.Duration, do func() error) (began time.Time, err error) {
	broken := make(chan struct{})
	strike := func() { defer close(broken); line.Break() }
	if moment == storetest.Before {
		strike()
		began = time.Now()
	} else {
		began = time.Now()
		time.AfterFunc(moment, strike)
	}
	err = do()
	<-broken
	line.Mend()
	return began, err
}

// Where all connections of a store are in use and break, all calls end in time, and as many work
// as soon as the network does.
func TestAPoolOverABrokenNetwork(t *testing.T) {
	for _, f := range faults() {
		if f.long && !long() || f.lasts > 0 {
			continue
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			line := f.open(t)
			e := locitest.NewEngine(t, line.Store, loci.Options{})
			// crowd asks for much at once, of eight tenants, and returns what it took and how much failed.
			crowd := func(round string) (took time.Duration, failed []error) {
				var group sync.WaitGroup
				var mu sync.Mutex
				began := time.Now()
				for i := range 48 {
					m := locitest.BindView(t, e, loci.View{
						Tenant: locitest.Tenant(t, fmt.Sprint("t", i%8)), Namespace: loci.Namespace{"u"}, Actor: "tester",
					})
					group.Go(func() {
						ctx := context.WithoutCancel(t.Context())
						var err error
						if i%3 == 0 {
							_, err = save(ctx, m, fmt.Sprint("crowd", round, i))
						} else {
							_, err = m.Count(ctx, loci.Filter{Within: []loci.Namespace{{"u"}}})
						}
						mu.Lock()
						defer mu.Unlock()
						if err != nil {
							failed = append(failed, fmt.Errorf("%w: %w", err, errors.Unwrap(err)))
						}
						took = time.Since(began)
					})
				}
				group.Wait()
				return took, failed
			}
			plain, failed := crowd("before")
			if len(failed) > 0 {
				t.Fatal(failed[0])
			}
			for _, moment := range []time.Duration{storetest.Before, latency} {
				var took time.Duration
				var failed []error
				_, _ = struck(line, moment, func() error { took, failed = crowd("during" + moment.String()); return nil })
				if took > 30*time.Second {
					t.Errorf("took %v", took)
				}
				if f.passes && len(failed) > 0 {
					t.Errorf("%d calls failed, as %v", len(failed), failed[0])
				}
				took, failed = crowd("after" + moment.String())
				// On a machine that is granted a part of a processor as many take seconds on a whole network.
				if took > 5*time.Second+3*plain || len(failed) > 0 {
					t.Errorf("when the network works again 48 calls take %v, %v before, and %d fail: %v", took, plain, len(failed), failed)
				}
			}
		})
	}
}
