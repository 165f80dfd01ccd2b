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

// LifecycleStats count memories by the state they are in.
type LifecycleStats struct {
	Facts    FactStats    `json:"facts"`
	Rules    RuleStats    `json:"rules"`
	Episodes EpisodeStats `json:"episodes"`
	At       time.Time    `json:"at"`
}

// FactStats count facts by validity.
type FactStats struct {
	Total      int64 `json:"total"`
	Active     int64 `json:"active"`
	Fading     int64 `json:"fading"`
	Superseded int64 `json:"superseded"`
	Expired    int64 `json:"expired"`
	Retracted  int64 `json:"retracted"`
}

// RuleStats count rules by maturity; a forgotten one counts as that alone.
type RuleStats struct {
	Total       int64 `json:"total"`
	Candidate   int64 `json:"candidate"`
	Established int64 `json:"established"`
	Proven      int64 `json:"proven"`
	AntiPattern int64 `json:"anti_pattern"`
	Forgotten   int64 `json:"forgotten"`
}

// EpisodeStats count episodes.
type EpisodeStats struct {
	Total          int64   `json:"total"`          // expired ones that no sweep has erased yet included
	Unconsolidated int64   `json:"unconsolidated"` // pending or failed, neither expired nor forgotten
	Expired        int64   `json:"expired"`
	BacklogHours   float64 `json:"backlog_age_hours"` // since the oldest unconsolidated one
}

// Lifecycle counts what the handle may read by state. With a scope it counts facts
// and rules of that scope and of "global", and the episodes of the agent of that
// name.
func (m *Memory) Lifecycle(ctx context.Context, scope string) (s LifecycleStats, err error) {
	s.At = m.engine.now()
	var shared, own []string
	if scope != "" {
		shared, own = []string{GlobalScope, scope}, []string{scope}
	}
	count := func(to *int64, f Filter) {
		if err != nil {
			return
		}
		var c Counts
		c, err = m.engine.store.Count(ctx, m.view.Tenant, f)
		*to = c.Records
	}
	m.countFacts(&s.Facts, shared, s.At, count)
	m.countRules(&s.Rules, shared, count)
	m.countEpisodes(&s.Episodes, own, s.At, count)
	if err != nil {
		return LifecycleStats{}, err
	}
	waiting := m.unconsolidated(own, s.At)
	oldest, _, err := m.engine.store.Records(ctx, m.view.Tenant, waiting, Page{Limit: 1, Order: OldestFirst})
	if err != nil {
		return LifecycleStats{}, err
	}
	if len(oldest) > 0 {
		s.Episodes.BacklogHours = max(0, s.At.Sub(oldest[0].CreatedAt).Hours())
	}
	return s, nil
}

func (m *Memory) countFacts(s *FactStats, scopes []string, now time.Time, count func(*int64, Filter)) {
	all := m.readable(time.Time{}, KindFact)
	all.Scopes, all.NotLive = scopes, true
	count(&s.Total, all)
	closed := all
	closed.Statuses = []string{string(Superseded)}
	count(&s.Superseded, closed)
	closed.Statuses = []string{string(Retracted)}
	count(&s.Retracted, closed)
	live := all
	live.NotLive, live.At = false, now
	count(&s.Fading, live)
	live.MinConfidence = ActiveConfidence
	count(&s.Active, live)
	s.Fading = max(0, s.Fading-s.Active) // never below 0, whatever others store between two counts
	s.Expired = max(0, s.Total-s.Superseded-s.Retracted-s.Active-s.Fading)
}

func (m *Memory) countRules(s *RuleStats, scopes []string, count func(*int64, Filter)) {
	f := m.readable(time.Time{}, KindRule)
	f.Scopes = scopes
	for _, part := range []struct {
		maturity Maturity
		to       *int64
	}{{Candidate, &s.Candidate}, {Established, &s.Established}, {Proven, &s.Proven}, {AntiPattern, &s.AntiPattern}} {
		f.Statuses = []string{string(part.maturity)}
		count(part.to, f)
	}
	f.Statuses, f.NotLive = nil, true
	count(&s.Total, f)
	s.Forgotten = max(0, s.Total-s.Candidate-s.Established-s.Proven-s.AntiPattern)
}

func (m *Memory) countEpisodes(s *EpisodeStats, butlers []string, now time.Time, count func(*int64, Filter)) {
	f := m.readable(time.Time{}, KindEpisode)
	f.Scopes, f.NotLive = butlers, true
	count(&s.Total, f)
	count(&s.Unconsolidated, m.unconsolidated(butlers, now))
	f.At, f.Expired = now, true
	count(&s.Expired, f)
}

// unconsolidated is the filter for episodes that wait for their digestion.
func (m *Memory) unconsolidated(butlers []string, now time.Time) Filter {
	f := m.readable(now, KindEpisode)
	f.Scopes, f.Statuses = butlers, []string{string(Pending), string(Failed)}
	return f
}
