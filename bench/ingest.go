package bench

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// The contexts a turn can be stored in: what is written before its text.
const (
	ContextNone        = "none"         // the text alone
	ContextSpeaker     = "speaker"      // "Caroline: …"
	ContextSpeakerDate = "speaker+date" // "Caroline (8 May 2023): …"
)

// Contexts lists the contexts.
var Contexts = []string{ContextNone, ContextSpeaker, ContextSpeakerDate}

// content is what is stored of a turn; empty if nothing of it is stored.
func (t *Turn) content(heading string, captions bool) string {
	text := t.Text
	if captions && t.Caption != "" {
		if text != "" {
			text += " "
		}
		text += "[shared: " + t.Caption + "]"
	}
	if text == "" || heading == ContextNone || t.Speaker == "" {
		return text
	}
	if heading == ContextSpeakerDate && !t.at.IsZero() {
		return t.Speaker + " (" + t.at.Format("2 January 2006") + "): " + text
	}
	return t.Speaker + ": " + text
}

// metadata is what a client would keep beside the text, to filter by.
func (t *Turn) metadata() map[string]any {
	m := map[string]any{"turn": t.ID, "idx": t.Index}
	for name, value := range map[string]string{"session": t.Session, "speaker": t.Speaker, "role": t.Role, "time": t.Time} {
		if value != "" {
			m[name] = value
		}
	}
	return m
}

// source says who gave a turn to the memory.
func (t *Turn) source() loci.Source {
	kind := "user"
	if t.Role == "assistant" || t.Role == "agent" {
		kind = "agent"
	}
	return loci.Source{Kind: kind, Client: "loci bench"}
}

// conversation is where the memories of a conversation are.
func conversation(conv string) loci.Namespace { return loci.Namespace{"user", conv} }

// ingested is a dataset in a store.
type ingested struct {
	engine *loci.Engine
	tenant loci.Tenant
	turns  map[loci.ID]string // their ids in the dataset
	stored time.Duration
	embeds time.Duration // it took to embed them, in batches
}

// writers is how many turns are stored at the same time: callers who save at
// once share a commit.
const writers = 64

// ingest stores every turn as one memory, created when it was said. Then all are
// embedded in batches.
func ingest(ctx context.Context, s loci.Store, d *Dataset, r *run) (*ingested, error) {
	in := &ingested{turns: make(map[loci.ID]string, len(d.Turns))}
	var err error
	if in.tenant, err = loci.NewTenant("default"); err != nil {
		return nil, err
	}
	opts := r.engine
	opts.Embedder = r.Embedder
	if in.engine, err = loci.New(s, &opts); err != nil {
		return nil, err
	}
	start := time.Now()
	if err := in.storeAll(ctx, s, d, r); err != nil {
		return nil, err
	}
	in.stored = time.Since(start)
	start = time.Now()
	if _, err := in.engine.Backfill(ctx, in.tenant, nil); err != nil {
		return nil, &loci.Error{Code: loci.Unavailable, Op: "bench", Msg: fmt.Sprintf("embedder %s does not embed all memories, so nothing can be measured: %v", r.Name, err), Err: err}
	}
	in.embeds = time.Since(start)
	return in, nil
}

func (in *ingested) storeAll(ctx context.Context, s loci.Store, d *Dataset, r *run) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wait sync.WaitGroup
		mu   sync.Mutex
		free = make(chan struct{}, writers)
		said = d.times()
		at   = d.positions()
	)
	for i := range d.Turns {
		t := &d.Turns[i]
		text := t.content(r.Context, r.Captions)
		if text == "" {
			continue
		}
		free <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wait.Go(func() {
			defer func() { <-free }()
			id, err := in.store(ctx, s, t, text, said[i], at[i], r)
			if err != nil {
				cancel(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			in.turns[id] = t.ID
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// times are when the turns were said: each later than the one before in its
// conversation, also where the data knows only the day or nothing. A search
// shows the newer one of equals first, so it must be known which is newer.
func (d *Dataset) times() []time.Time {
	last := map[string]time.Time{}
	out := make([]time.Time, len(d.Turns))
	for i := range d.Turns {
		t := &d.Turns[i]
		now, ok := last[t.Conv]
		if !ok {
			now = time.Unix(0, 0).UTC()
		}
		now = now.Add(time.Millisecond)
		if t.at.After(now) {
			now = t.at
		}
		last[t.Conv], out[i] = now, now
	}
	return out
}

// positions are the places of the turns in their conversations: by the order of the
// data, since not all data numbers its turns.
func (d *Dataset) positions() []int64 {
	next := map[string]int64{}
	out := make([]int64, len(d.Turns))
	for i := range d.Turns {
		conv := d.Turns[i].Conv
		out[i] = next[conv]
		next[conv]++
	}
	return out
}

// store stores a turn with the clock at the time when it was said.
func (in *ingested) store(
	ctx context.Context, s loci.Store, t *Turn, text string, said time.Time, position int64, r *run,
) (loci.ID, error) {
	opts := r.engine
	opts.Embedder = nil // embedded together afterwards
	opts.Now = func() time.Time { return said }
	engine, err := loci.New(s, &opts)
	if err != nil {
		return loci.ID{}, err
	}
	m, err := engine.Memory(loci.View{Tenant: in.tenant, Namespace: conversation(t.Conv), Actor: "bench", Source: t.source()})
	if err != nil {
		return loci.ID{}, err
	}
	stored, err := m.StoreFact(ctx, loci.NewFact{
		Content:  text,
		Metadata: t.metadata(),
		Sequence: cmp.Or(t.Session, t.Conv),
		Position: position,
	})
	if err == nil && stored.Outcome != loci.Created {
		err = loci.Errorf(loci.Internal, "it was not stored as a memory of its own but as %s", stored.Outcome)
	}
	if err != nil {
		return loci.ID{}, &loci.Error{
			Code: loci.AsError(err).Code,
			Op:   "bench",
			Msg:  fmt.Sprintf("turn %q of %q: %v", t.ID, t.Conv, err),
			Err:  err,
		}
	}
	return stored.ID, nil
}

// conversations groups the turns.
func (d *Dataset) conversations() map[string][]*Turn {
	by := map[string][]*Turn{}
	for i := range d.Turns {
		t := &d.Turns[i]
		by[t.Conv] = append(by[t.Conv], t)
	}
	return by
}
