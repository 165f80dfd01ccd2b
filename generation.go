package loci

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/generation"
)

// A Generation is a tenant's vectors in one space. Searches use the active one; another is being built, or left over.
type Generation struct {
	Space
	Active  bool  `json:"active"`
	Wanted  bool  `json:"wanted"`  // of the configured embedder
	Vectors int64 `json:"vectors"` // memories that have vectors in it, those out of search included
	Lacking int64 `json:"lacking"` // memories that are searched and have none
}

// Generations lists the generations of a tenant's vectors: the active one first,
// then the one of the configured embedder, also while it has none yet, then what is left over.
func (e *Engine) Generations(ctx context.Context, t Tenant) ([]Generation, error) {
	active, err := e.store.ActiveSpace(ctx, t)
	if err != nil {
		return nil, err
	}
	spaces, err := e.store.Spaces(ctx, t)
	if err != nil {
		return nil, err
	}
	if e.own != nil {
		if err := e.own.LearnDims(ctx); err != nil {
			e.opts.Logger.WarnContext(ctx, "embedder did not answer; it does not say its dimensions", "error", err)
		}
	}
	for _, s := range []Space{active, e.Space()} {
		if _, there := spaces[s]; !there && !s.IsZero() {
			spaces[s] = 0
		}
	}
	var out []Generation
	for s, n := range spaces {
		counts, err := e.store.Count(ctx, t, Filter{Within: []Namespace{{}}, NotLive: true, At: e.now(), Space: s})
		if err != nil {
			return nil, err
		}
		out = append(out, Generation{
			Space: s, Active: s == active, Wanted: s == e.Space(), Vectors: n, Lacking: counts.Unembedded,
		})
	}
	rank := func(g Generation) int { return generation.Rank(g.Active, g.Wanted) }
	slices.SortFunc(out, func(a, b Generation) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.Model, b.Model), cmp.Compare(a.Dims, b.Dims))
	})
	return out, nil
}

// generations is what the engine has seen of a tenant's.
func (e *Engine) generations(t Tenant) *generation.Watch[Space] {
	if g, ok := e.seen.Load(t); ok {
		return g.(*generation.Watch[Space])
	}
	g, _ := e.seen.LoadOrStore(t, &generation.Watch[Space]{})
	return g.(*generation.Watch[Space])
}

// activeSpace returns the active space as it was when last looked at. That may be out of date: what depends
// on it is checked by whoever uses it, a write by [Change].Active and a search by looking again.
func (e *Engine) activeSpace(ctx context.Context, t Tenant) (Space, error) {
	if active, known := e.generations(t).Active(); known {
		return active, nil
	}
	return e.look(ctx, t)
}

// look reads the active space from the store.
func (e *Engine) look(ctx context.Context, t Tenant) (Space, error) {
	active, err := e.store.ActiveSpace(ctx, t)
	if err != nil {
		return Space{}, err
	}
	e.generations(t).See(active, e.own != nil && e.own.makes(active))
	return active, nil
}

// lag notes that a write is stored without its vectors in a space, because the embedder did not answer.
func (e *Engine) lag(ctx context.Context, t Tenant, c *encoder, err error) {
	if !errors.Is(ctx.Err(), context.Canceled) { // who left did not wait for it
		e.opts.Logger.WarnContext(ctx, "embedder did not answer; vectors follow later", "model", c.embedder.Model(), "error", err)
	}
	e.generations(t).Lag(c.makes)
}

// Lagging reports whether a write of this engine was stored without vectors that
// search needs since the last complete [Engine.Backfill] of the tenant.
func (e *Engine) Lagging(t Tenant) bool { return e.generations(t).Lagging() }

// encoderOf returns the encoder of a space: the engine's own, or one that
// Options.EmbedderFor makes. Nil: there is none, which is logged once.
func (e *Engine) encoderOf(ctx context.Context, s Space) *encoder {
	if e.own != nil && e.own.makes(s) {
		return e.own
	}
	c, err := e.former(s)
	if err != nil {
		if _, logged := e.missing.LoadOrStore(s, true); !logged {
			e.opts.Logger.WarnContext(ctx, "the memories have vectors of another embedder than the configured one, and that one is not available; they are found by keyword until loci reindex has made new vectors",
				"vectors", s.String(), "embedder", e.Space().String(), "error", err)
		}
		return nil
	}
	return c
}

// former returns the encoder of a space that is not the engine's own.
func (e *Engine) former(s Space) (*encoder, error) {
	if known, ok := e.formers.Load(s); ok {
		c := known.(*encoder)
		if !c.makes(s) { // it has learnt its dimensions since
			return nil, Errorf(Unsupported, "the embedder that is there now makes vectors of %s, not %s", c.space(), s)
		}
		return c, nil
	}
	if e.opts.EmbedderFor == nil {
		return nil, Errorf(Unsupported, "no way to make an embedder of %s", s)
	}
	embedder, err := e.opts.EmbedderFor(s)
	if err != nil {
		return nil, err
	}
	if embedder == nil {
		return nil, Errorf(Unsupported, "there is no embedder of %s", s)
	}
	c := newEncoder(embedder)
	if !c.makes(s) {
		return nil, Errorf(Unsupported, "the embedder that is there now makes vectors of %s, not %s", c.space(), s)
	}
	stored, _ := e.formers.LoadOrStore(s, c)
	return stored.(*encoder), nil
}

// writers returns the encoders of the spaces a write stores vectors in: the active
// one, which is searched, and the engine's own while that is yet to become the
// active one, so that both generations stay complete.
func (e *Engine) writers(ctx context.Context, t Tenant) []*encoder {
	active, err := e.activeSpace(ctx, t)
	if err != nil || active.IsZero() || e.own.makes(active) { // a store that fails says so when it is written to
		return e.ownAlone
	}
	var out []*encoder
	if c := e.encoderOf(ctx, active); c != nil {
		out = append(out, c)
	}
	if !e.generations(t).Adopted() {
		out = append(out, e.own)
	}
	return out
}
