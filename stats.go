package loci

import (
	"context"
	"time"
)

// Stats measure the memory of a handle.
type Stats struct {
	Facts    Counts          `json:"facts"`
	Features map[Kind]Counts `json:"features"` // of each [FeatureKind] that is counted
	At       time.Time       `json:"at"`
}

// Stats counts what the handle may read. Unembedded counts what has no vectors in
// the active space, or in the engine's own while there is none.
func (m *Memory) Stats(ctx context.Context) (s Stats, err error) {
	s.At, s.Features = m.engine.now(), map[Kind]Counts{}
	space, err := m.engine.wantedSpace(ctx, m.view.Tenant)
	if err != nil {
		return Stats{}, err
	}
	count := func(kind Kind) (Counts, error) {
		f := m.readable(s.At, kind)
		f.NotLive, f.Space = true, space
		return m.engine.store.Count(ctx, m.view.Tenant, f)
	}
	if s.Facts, err = count(KindFact); err != nil {
		return Stats{}, err
	}
	for _, f := range m.engine.opts.Features {
		for _, k := range f.Kinds() {
			if !k.Counted {
				continue
			}
			if s.Features[k.Kind], err = count(k.Kind); err != nil {
				return Stats{}, err
			}
		}
	}
	return s, nil
}

// wantedSpace is the space in which every record should have vectors: the active
// one, or the engine's own while there is none; zero without an embedder.
func (e *Engine) wantedSpace(ctx context.Context, t Tenant) (Space, error) {
	space, err := e.look(ctx, t)
	if err != nil || !space.IsZero() || e.own == nil {
		return space, err
	}
	if err := e.own.LearnDims(ctx); err != nil {
		e.opts.Logger.WarnContext(ctx, "embedder did not answer; memories count as without vectors", "error", err)
	}
	return e.own.space(), nil
}
