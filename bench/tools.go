package bench

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/tool"
)

// The tools of a note that are measured with [RetrievalOptions.Tools].
const (
	saveTool   = "memory_save"
	searchTool = "memory_search"
)

// An agent is one that keeps the conversations of a dataset as its user's notes.
type agent struct {
	set    *tool.Set
	tenant loci.Tenant
	clock  atomic.Pointer[time.Time]
	turns  map[string]string    // by the id of the note that was first saved for it
	same   map[[2]string]string // by conversation and turn: the turn whose note said it already
	saved  time.Duration
}

// newAgent saves every turn with the tool for it, at the time when it was said, in the
// session it was said in, with no other word of where it stands.
func newAgent(ctx context.Context, s loci.Store, d *Dataset, r *run) (*agent, error) {
	a := &agent{turns: map[string]string{}, same: map[[2]string]string{}}
	opts := r.engine
	opts.Embedder, opts.Now = r.Embedder, func() time.Time { return *a.clock.Load() }
	a.clock.Store(new(time.Now()))
	var err error
	if a.tenant, err = loci.NewTenant("default"); err != nil {
		return nil, err
	}
	engine, err := loci.New(s, &opts)
	if err != nil {
		return nil, err
	}
	notes := tool.Config{Entries: []tool.Instance{{Family: tool.FamilyNotes}}, Logger: opts.Logger}
	if a.set, err = tool.New(engine, notes); err != nil {
		return nil, err
	}
	start := time.Now()
	said := d.times()
	for i := range d.Turns {
		a.clock.Store(&said[i])
		if err := a.save(ctx, &d.Turns[i], r); err != nil {
			return nil, err
		}
	}
	a.saved = time.Since(start)
	a.clock.Store(new(time.Now())) // questions are put today
	return a, nil
}

// call calls a tool for the user of a conversation and decodes its text.
func (a *agent) call(ctx context.Context, name, conv, sitting string, arguments map[string]any, into any) error {
	vars := loci.Vars{loci.VarUser: conv}
	if sitting != "" {
		vars[loci.VarSession] = sitting
	}
	p, err := loci.NewPrincipal(a.tenant, "bench", vars, loci.ScopeRead, loci.ScopeWrite)
	if err != nil {
		return err
	}
	given, err := json.Marshal(arguments)
	if err != nil {
		return &loci.Error{Code: loci.Internal, Op: "bench", Err: err}
	}
	t, found := a.set.Lookup(name)
	if !found {
		return loci.Errorf(loci.Internal, "there is no tool %s", name)
	}
	reply, err := t.Call(ctx, tool.Caller{Principal: p, Client: "loci bench"}, given)
	if err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(reply.Text), into); err != nil {
		return &loci.Error{Code: loci.Internal, Op: "read reply of " + name, Err: err}
	}
	return nil
}

// save saves a turn. What a note says already is that note.
func (a *agent) save(ctx context.Context, t *Turn, r *run) error {
	text := t.content(r.Context, r.Captions)
	if text == "" {
		return nil
	}
	most := cmp.Or(r.engine.Content.MaxBytes, loci.DefaultMaxContent)
	for _, part := range parts(text, most) {
		if err := a.savePart(ctx, t, part); err != nil {
			return err
		}
	}
	return nil
}

func (a *agent) savePart(ctx context.Context, t *Turn, text string) error {
	var saved struct {
		NoteID string `json:"note_id"`
	}
	err := a.call(ctx, saveTool, t.Conv, cmp.Or(t.Session, t.Conv), map[string]any{"content": text}, &saved)
	if err != nil {
		return &loci.Error{Code: loci.AsError(err).Code, Op: "bench", Msg: fmt.Sprintf("turn %q of %q: %v", t.ID, t.Conv, err), Err: err}
	}
	if first, known := a.turns[saved.NoteID]; known {
		a.same[[2]string{t.Conv, t.ID}] = first
		return nil
	}
	a.turns[saved.NoteID] = t.ID
	return nil
}

// parts cuts a text that is longer than a memory may be, at the last space or line that fits.
func parts(text string, most int) (out []string) {
	for len(text) > most {
		end := most
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		if space := strings.LastIndexAny(text[:end], " \n"); space > end/2 {
			end = space
		}
		out, text = append(out, text[:end]), text[end:]
	}
	return append(out, text)
}

// find searches the notes of a conversation.
func (a *agent) find(ctx context.Context, conv, query string) ([]hit, error) {
	var found []struct {
		NoteID string `json:"note_id"`
		Text   string `json:"text"`
	}
	if err := a.call(ctx, searchTool, conv, "", map[string]any{"query": query, "top_k": depth}, &found); err != nil {
		return nil, err
	}
	hits := make([]hit, len(found))
	for i, f := range found {
		hits[i] = hit{a.turns[f.NoteID], f.Text}
	}
	return hits, nil
}

// kept is a dataset whose questions ask for the turns that notes were saved for.
func (a *agent) kept(d *Dataset) *Dataset {
	out := *d
	out.Questions = slices.Clone(d.Questions)
	for i := range out.Questions {
		q := &out.Questions[i]
		q.Evidence = slices.Clone(q.Evidence)
		for n, turn := range q.Evidence {
			q.Evidence[n] = cmp.Or(a.same[[2]string{q.Conv, turn}], turn)
		}
		slices.Sort(q.Evidence)
		q.Evidence = slices.Compact(q.Evidence)
	}
	return &out
}

// throughTools measures a dataset that is saved and searched by tools.
func (o *RetrievalOptions) throughTools(
	ctx context.Context, s loci.Store, d *Dataset, r *run, tokens *tokenCounter,
) (*result, error) {
	a, err := newAgent(ctx, s, d, r)
	if err != nil {
		return nil, err
	}
	o.progress("%s, embedder %s, context %s: asking %d questions", d.Name, r.Name, r.Context, len(d.Questions))
	modes := []string{ModeHybrid}
	samples, err := ask(ctx, a.kept(d), modes, map[string]finder{ModeHybrid: a.find}, tokens)
	return &result{run: r, data: d.Name, memories: len(a.turns), stored: a.saved, modes: modes, samples: samples}, err
}
