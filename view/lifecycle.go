package view

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
)

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
func Lifecycle(ctx context.Context, m *loci.Memory, scope string) (s LifecycleStats, err error) {
	s.At = m.Now()
	var shared, own []string
	if scope != "" {
		shared, own = []string{loci.GlobalScope, scope}, []string{scope}
	}
	count := func(to *int64, f loci.Filter) {
		if err != nil {
			return
		}
		var c loci.Counts
		c, err = m.Count(ctx, f)
		*to = c.Records
	}
	countFacts(m, &s.Facts, shared, s.At, count)
	countRules(m, &s.Rules, shared, count)
	countEpisodes(m, &s.Episodes, own, s.At, count)
	if err != nil {
		return LifecycleStats{}, err
	}
	if s.Episodes.Unconsolidated == 0 {
		return s, nil
	}
	waiting := unconsolidated(m, own, s.At)
	oldest, _, err := m.Records(ctx, waiting, loci.Page{Limit: 1, Order: loci.OldestFirst})
	if err != nil {
		return LifecycleStats{}, err
	}
	if len(oldest) > 0 {
		s.Episodes.BacklogHours = max(0, s.At.Sub(oldest[0].CreatedAt).Hours())
	}
	return s, nil
}

func countFacts(
	m *loci.Memory, s *FactStats, scopes []string, now time.Time, count func(*int64, loci.Filter),
) {
	all := reach(m, time.Time{}, loci.KindFact)
	all.Scopes, all.NotLive = scopes, true
	count(&s.Total, all)
	closed := all
	closed.Statuses = []string{string(loci.Superseded)}
	count(&s.Superseded, closed)
	closed.Statuses = []string{string(loci.Retracted)}
	count(&s.Retracted, closed)
	countOpen(s, all, now, count)
	s.Expired = max(0, s.Total-s.Superseded-s.Retracted-s.Active-s.Fading)
}

// countOpen counts the facts that are active or fading: by the states that are written
// down, which stores keep counts of, with what has changed since and is not written down
// yet. That is little, and found by when it was due.
func countOpen(s *FactStats, all loci.Filter, now time.Time, count func(*int64, loci.Filter)) {
	noted := func(state loci.Validity) (stays, changed int64) {
		var ended int64
		f := all
		f.Statuses = []string{string(state)}
		count(&stays, f)
		f.At, f.Expired = now, true
		count(&ended, f)
		f.Expired, f.Due = false, now
		count(&changed, f)
		return stays - ended - changed, changed
	}
	var since int64
	active, changed := noted(loci.Active)
	fading, _ := noted(loci.Fading)
	if changed > 0 {
		f := all
		f.Statuses, f.At, f.Due, f.NotLive = []string{string(loci.Active)}, now, now, false
		count(&since, f)
	}
	// Never below 0, whatever others store between two counts.
	s.Active, s.Fading = max(0, active), max(0, fading+since)
}

func countRules(
	m *loci.Memory, s *RuleStats, scopes []string, count func(*int64, loci.Filter),
) {
	f := reach(m, time.Time{}, loci.KindRule)
	f.Scopes = scopes
	for _, part := range []struct {
		maturity loci.Maturity
		to       *int64
	}{
		{loci.Candidate, &s.Candidate}, {loci.Established, &s.Established},
		{loci.Proven, &s.Proven}, {loci.AntiPattern, &s.AntiPattern},
	} {
		f.Statuses = []string{string(part.maturity)}
		count(part.to, f)
	}
	f.Statuses, f.NotLive = nil, true
	count(&s.Total, f)
	s.Forgotten = max(0, s.Total-s.Candidate-s.Established-s.Proven-s.AntiPattern)
}

func countEpisodes(
	m *loci.Memory, s *EpisodeStats, butlers []string, now time.Time, count func(*int64, loci.Filter),
) {
	f := reach(m, time.Time{}, loci.KindEpisode)
	f.Scopes, f.NotLive = butlers, true
	count(&s.Total, f)
	f.At, f.Expired = now, true
	count(&s.Expired, f)
	waiting, past := unconsolidated(m, butlers, time.Time{}), int64(0)
	count(&s.Unconsolidated, waiting)
	waiting.At, waiting.Expired = now, true
	count(&past, waiting)
	s.Unconsolidated = max(0, s.Unconsolidated-past)
}

// unconsolidated is the filter for episodes that wait for their digestion.
func unconsolidated(m *loci.Memory, butlers []string, now time.Time) loci.Filter {
	f := reach(m, now, loci.KindEpisode)
	f.Scopes, f.Statuses = butlers, []string{string(loci.Pending), string(loci.Failed)}
	return f
}
