package view

import (
	"context"
	"slices"
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
	c := counting{ctx: ctx, m: m, shared: shared, own: own}
	// Facts are counted by the states that are written down, which stores keep counts of, with what has changed
	// since and is not written down yet. That is little, and found by when it was due.
	kinds := []loci.Kind{loci.KindFact, loci.KindRule, loci.KindEpisode}
	noted := c.count(kinds, func(f *loci.Filter) { f.NotLive = true })
	ended := c.count(kinds, func(f *loci.Filter) { f.NotLive, f.At, f.Expired = true, s.At, true })
	changed := c.count(kinds[:1], func(f *loci.Filter) { f.NotLive, f.At, f.Due = true, s.At, s.At })
	s.Facts.count(noted, ended, changed, func() int64 {
		since := c.count(kinds[:1], func(f *loci.Filter) {
			f.Statuses, f.At, f.Due = []string{string(loci.Active)}, s.At, s.At
		})
		return since.of(loci.KindFact).Records
	})
	s.Rules.count(noted)
	past := c.count(kinds[2:], func(f *loci.Filter) { f.Statuses, f.At, f.Expired = statuses[Waiting], s.At, true })
	s.Episodes.Total, s.Episodes.Expired = noted.of(loci.KindEpisode).Records, ended.of(loci.KindEpisode).Records
	waiting := noted.of(loci.KindEpisode, statuses[Waiting]...).Live - past.of(loci.KindEpisode).Records
	s.Episodes.Unconsolidated = max(0, waiting)
	if c.failed != nil {
		return LifecycleStats{}, c.failed
	}
	if s.Episodes.Unconsolidated == 0 {
		return s, nil
	}
	oldest, _, err := m.Records(ctx, unconsolidated(m, own, s.At), loci.Page{Limit: 1, Order: loci.OldestFirst})
	if err != nil {
		return LifecycleStats{}, err
	}
	if len(oldest) > 0 {
		s.Episodes.BacklogHours = max(0, s.At.Sub(oldest[0].CreatedAt).Hours())
	}
	return s, nil
}

// A tally is how many records there are of each kind in each status.
type tally map[kindStatus]loci.Counts

type kindStatus struct {
	kind   loci.Kind
	status string
}

// of adds up some statuses of a kind; none: all of them.
func (t tally) of(kind loci.Kind, among ...string) (sum loci.Counts) {
	for at, c := range t {
		if at.kind == kind && (len(among) == 0 || slices.Contains(among, at.status)) {
			sum.Records, sum.Live = sum.Records+c.Records, sum.Live+c.Live
		}
	}
	return sum
}

// counting counts what a handle may read, until that fails.
type counting struct {
	ctx         context.Context
	m           *loci.Memory
	shared, own []string // scopes of facts and rules, and of episodes; none: all
	failed      error
}

// count counts records of some kinds at once, if their scopes are the same.
func (c *counting) count(kinds []loci.Kind, narrow func(f *loci.Filter)) tally {
	t := tally{}
	add := func(scopes []string, kinds ...loci.Kind) {
		if len(kinds) == 0 || c.failed != nil {
			return
		}
		f := reach(c.m, time.Time{}, kinds...)
		f.Scopes, f.Each = scopes, func(kind loci.Kind, status string, part loci.Counts) {
			at := kindStatus{kind, status}
			t[at] = loci.Counts{Records: t[at].Records + part.Records, Live: t[at].Live + part.Live}
		}
		narrow(&f)
		_, c.failed = c.m.Count(c.ctx, f)
	}
	episodes := slices.Index(kinds, loci.KindEpisode)
	if len(c.own) == 0 || episodes < 0 {
		add(c.shared, kinds...)
	} else {
		add(c.shared, kinds[:episodes]...)
		add(c.own, kinds[episodes])
	}
	return t
}

// count says how facts are by the states that are noted, of which some have ended or changed; since are those that
// were noted as active, have changed and are live.
func (s *FactStats) count(noted, ended, changed tally, since func() int64) {
	records := func(t tally, state loci.Validity) int64 { return t.of(loci.KindFact, string(state)).Records }
	stays := func(state loci.Validity) int64 {
		return records(noted, state) - records(ended, state) - records(changed, state)
	}
	s.Total = noted.of(loci.KindFact).Records
	s.Superseded, s.Retracted = records(noted, loci.Superseded), records(noted, loci.Retracted)
	// Never below 0, whatever others store between two counts.
	s.Active, s.Fading = max(0, stays(loci.Active)), stays(loci.Fading)
	if records(changed, loci.Active) > 0 {
		s.Fading += since()
	}
	s.Fading = max(0, s.Fading)
	s.Expired = max(0, s.Total-s.Superseded-s.Retracted-s.Active-s.Fading)
}

// count says how rules are; those that are not live are forgotten.
func (s *RuleStats) count(noted tally) {
	live := func(maturity loci.Maturity) int64 { return noted.of(loci.KindRule, string(maturity)).Live }
	s.Total = noted.of(loci.KindRule).Records
	s.Candidate, s.Established = live(loci.Candidate), live(loci.Established)
	s.Proven, s.AntiPattern = live(loci.Proven), live(loci.AntiPattern)
	s.Forgotten = max(0, s.Total-s.Candidate-s.Established-s.Proven-s.AntiPattern)
}

// unconsolidated is the filter for episodes that wait for their digestion.
func unconsolidated(m *loci.Memory, butlers []string, now time.Time) loci.Filter {
	f := reach(m, now, loci.KindEpisode)
	f.Scopes, f.Statuses = butlers, []string{string(loci.Pending), string(loci.Failed)}
	return f
}
