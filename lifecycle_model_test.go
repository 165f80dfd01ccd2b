package loci_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A plainFact, plainRule and plainEpisode are what the reference knows. It is
// written from docs/lifecycle.md and docs/scoring.md alone: lists, and a loop over
// them for every question.
type plainFact struct {
	id         loci.ID
	key        string // "" of a note
	text       string
	rate       float64
	confirmed  time.Time
	closed     string // superseded, retracted, or expired with its key given away
	supersedes loci.ID
	events     []string
}

type plainRule struct {
	id        loci.ID
	s, h      int
	maturity  string
	born      time.Time
	confirmed time.Time
	forgotten bool
	events    []string
}

type plainEpisode struct {
	id        loci.ID
	butler    string
	status    string
	born      time.Time
	expires   time.Time
	forgotten bool
	gone      bool // erased by the sweep
}

type reference struct {
	facts    []*plainFact
	rules    []*plainRule
	episodes []*plainEpisode
}

func left(confidence, rate float64, since time.Duration) float64 {
	return confidence * math.Exp(-rate*max(0, since.Hours())/24)
}

func (f *plainFact) state(now time.Time) string {
	switch c := left(1, f.rate, now.Sub(f.confirmed)); {
	case f.closed != "":
		return f.closed
	case c >= 0.2:
		return "active"
	case c >= 0.05:
		return "fading"
	}
	return "expired"
}

func (f *plainFact) live(now time.Time) bool {
	return slices.Contains([]string{"active", "fading"}, f.state(now))
}

func (r *plainRule) confidence(now time.Time) float64 {
	if r.maturity == "anti_pattern" {
		return 0.5
	}
	return left(0.5, 0.008, now.Sub(r.confirmed))
}

func (r *plainRule) score() float64 { return float64(r.s) / (float64(r.s) + 4*float64(r.h) + 0.01) }

func (r *plainRule) mark(helpful bool, now time.Time) {
	order := []string{"candidate", "established", "proven"}
	at := slices.Index(order, r.maturity)
	if helpful {
		r.s++
		r.events = append(r.events, "marked_helpful")
		if at == 0 && r.s >= 5 && r.score() >= 0.6 ||
			at == 1 && r.s >= 15 && r.score() >= 0.8 && now.Sub(r.born) >= 720*time.Hour {
			r.maturity = order[at+1]
			r.events = append(r.events, "promoted")
		}
		return
	}
	r.h++
	r.events = append(r.events, "marked_harmful")
	if at == 1 && r.score() < 0.6 || at == 2 && r.score() < 0.8 {
		r.maturity = order[at-1]
		r.events = append(r.events, "demoted")
	}
	if at >= 0 && r.h >= 3 && r.score() < 0.3 {
		r.maturity = "anti_pattern"
		r.events = append(r.events, "inverted")
	}
}

// play does random operations to an engine and to the reference.
type play struct {
	*testing.T
	r     *rand.Rand
	clock *locitest.Clock
	e     *loci.Engine
	m     *loci.Memory
	ref   reference
	done  int
}

func newPlay(t *testing.T, s loci.Store, seed uint64) *play {
	c := locitest.NewClock()
	c.Set(c.Now().Truncate(time.Millisecond))
	p := &play{T: t, r: rand.New(rand.NewPCG(seed, 7)), clock: c}
	p.e = locitest.NewEngine(t, s, loci.Options{
		Now: c.Now, Retention: loci.RetentionOptions{EpisodeCap: 5}, Passages: loci.PassageOptions{Size: 64},
	})
	p.m = locitest.Bind(t, p.e, "u")
	return p
}

// ok requires an outcome: a code, or "" for success.
func (p *play) ok(what string, err error, want loci.Code) {
	p.Helper()
	var got loci.Code
	var e *loci.Error
	if errors.As(err, &e) {
		got = e.Code
	}
	if got != want {
		p.Fatalf("operation %d, %s: %v; want %q", p.done, what, err, want)
	}
}

func pick[T any](p *play, from []T) (one T, ok bool) {
	if len(from) == 0 {
		return one, false
	}
	return from[p.r.IntN(len(from))], true
}

func (p *play) now() time.Time { return p.clock.Now() }

var modelRates = map[loci.Permanence]float64{"permanent": 0, "stable": 0.002, "standard": 0.008, "volatile": 0.03, "ephemeral": 0.1}

func (p *play) storeFact() {
	in := loci.NewFact{Content: fmt.Sprint("word", p.r.IntN(5))}
	key := ""
	if p.r.IntN(3) > 0 {
		in.Subject, in.Predicate = fmt.Sprint("s", p.r.IntN(3)), "p"
		in.Scope, _ = pick(p, []string{"", "global", "health"})
		key = in.Subject + "/" + strings.Replace(in.Scope, "global", "", 1)
	}
	in.Permanence, _ = pick(p, []loci.Permanence{"", "permanent", "stable", "standard", "volatile", "ephemeral"})
	rate := modelRates[in.Permanence]
	if in.Permanence == "" && key != "" {
		rate = 0.008
	}
	got, err := p.m.StoreFact(p.Context(), in)
	p.ok("store fact", err, "")
	now := p.now()
	for _, f := range p.ref.facts {
		switch {
		case f.closed != "" || f.key != key || key == "" && f.text != in.Content:
		case key == "": // said again
			if got.Outcome != loci.DuplicateOf || got.ID != f.id {
				p.Fatalf("operation %d: %+v; want a confirmation of %s", p.done, got, f.id)
			}
			f.confirmed = maxTime(f.confirmed, now)
			f.events = append(f.events, "confirmed")
			return
		case f.live(now):
			if got.Superseded != f.id {
				p.Fatalf("operation %d: %+v; want %s superseded", p.done, got, f.id)
			}
			f.closed = "superseded"
			f.events = append(f.events, "superseded")
			p.ref.facts = append(p.ref.facts, &plainFact{id: got.ID, key: key, text: in.Content,
				rate: rate, confirmed: now, supersedes: f.id, events: []string{"created"}})
			return
		default:
			f.closed = "expired"
		}
	}
	if got.Outcome != loci.Created || !got.Superseded.IsZero() {
		p.Fatalf("operation %d: %+v; want a new fact", p.done, got)
	}
	p.ref.facts = append(p.ref.facts,
		&plainFact{id: got.ID, key: key, text: in.Content, rate: rate, confirmed: now, events: []string{"created"}})
}

func (p *play) confirmFact() {
	f, ok := pick(p, p.ref.facts)
	if !ok {
		return
	}
	taken := slices.ContainsFunc(p.ref.facts, func(other *plainFact) bool {
		return other != f && other.closed == "" && other.key == f.key && (f.key != "" || other.text == f.text)
	})
	want := loci.Code("")
	if f.closed == "superseded" || f.closed == "retracted" || f.closed == "expired" && taken {
		want = loci.Conflict
	}
	p.ok("confirm fact", p.m.Confirm(p.Context(), loci.KindFact, f.id), want)
	if want == "" {
		f.closed, f.confirmed = "", maxTime(f.confirmed, p.now())
		f.events = append(f.events, "confirmed")
	}
}

func (p *play) forgetFact() {
	if f, ok := pick(p, p.ref.facts); ok {
		p.forget(loci.KindFact, f.id, f.closed != "retracted")
		if f.closed != "retracted" {
			f.events = append(f.events, "retracted")
		}
		f.closed = "retracted"
	}
}

func (p *play) forget(kind loci.Kind, id loci.ID, want bool) {
	p.Helper()
	changed, err := p.m.Forget(p.Context(), kind, id)
	if p.ok("forget", err, ""); changed != want {
		p.Fatalf("operation %d: forgetting %s %s changed %v", p.done, kind, id, changed)
	}
}

func (p *play) eraseFact() {
	if len(p.ref.facts) > 0 {
		at := p.r.IntN(len(p.ref.facts))
		p.ok("erase", p.m.Erase(p.Context(), p.ref.facts[at].id), "")
		p.ref.facts = slices.Delete(p.ref.facts, at, at+1)
	}
}

func (p *play) rule() {
	now := p.now()
	r, ok := pick(p, p.ref.rules)
	if !ok || len(p.ref.rules) < 6 && p.r.IntN(20) == 0 {
		id, err := p.m.StoreRule(p.Context(), loci.NewRule{Content: "do it"})
		p.ok("store rule", err, "")
		p.ref.rules = append(p.ref.rules, &plainRule{id: id, maturity: "candidate", born: now, confirmed: now, events: []string{"created"}})
		return
	}
	want := loci.Code("")
	if r.forgotten {
		want = loci.Conflict
	}
	switch n := p.r.IntN(40); {
	case n == 0:
		p.forget(loci.KindRule, r.id, !r.forgotten)
		if !r.forgotten {
			r.events = append(r.events, "forgotten")
		}
		r.forgotten = true
	case n < 5:
		p.ok("confirm rule", p.m.Confirm(p.Context(), loci.KindRule, r.id), want)
		if want == "" {
			r.confirmed = maxTime(r.confirmed, now)
			r.events = append(r.events, "confirmed")
		}
	case n < 32:
		_, err := p.m.MarkHelpful(p.Context(), r.id)
		if p.ok("helpful", err, want); want == "" {
			r.mark(true, now)
		}
	default:
		_, err := p.m.MarkHarmful(p.Context(), r.id, "it went wrong")
		if p.ok("harmful", err, want); want == "" {
			r.mark(false, now)
		}
	}
}

func (p *play) episode() {
	now := p.now()
	e, ok := pick(p, p.ref.episodes)
	if !ok || p.r.IntN(2) == 0 {
		ttl := time.Duration(1+p.r.IntN(30)) * 12 * time.Hour
		butler, _ := pick(p, []string{"a", "b"})
		id, err := p.m.StoreEpisode(p.Context(), loci.NewEpisode{Content: "it happened", Butler: butler, TTL: ttl})
		p.ok("store episode", err, "")
		p.ref.episodes = append(p.ref.episodes,
			&plainEpisode{id: id, butler: butler, status: "pending", born: now, expires: now.Add(ttl)})
		return
	}
	there := !e.gone && now.Before(e.expires)
	if p.r.IntN(6) == 0 {
		p.forget(loci.KindEpisode, e.id, there && !e.forgotten)
		e.forgotten = e.forgotten || there
		return
	}
	outcome, _ := pick(p, []loci.EpisodeStatus{"consolidated", "failed", "dead_letter", "consolidated"})
	want := loci.Code("")
	switch {
	case !there:
		want = loci.NotFound
	case e.forgotten || e.status == "consolidated" || e.status == "dead_letter":
		want = loci.Conflict
	}
	_, err := p.m.ConcludeEpisode(p.Context(), e.id, outcome)
	if p.ok("conclude", err, want); want == "" {
		e.status = string(outcome)
	}
}

// sweep changes nothing that can be read but episodes: expired ones go, and of each
// agent the oldest consolidated ones beyond five.
func (p *play) sweep() {
	_, err := p.e.SweepTenant(p.Context(), locitest.Tenant(p, "t"))
	p.ok("sweep", err, "")
	now := p.now()
	for _, butler := range []string{"a", "b"} {
		var live []*plainEpisode
		for _, e := range p.ref.episodes {
			e.gone = e.gone || !now.Before(e.expires)
			if e.butler == butler && !e.gone && !e.forgotten {
				live = append(live, e)
			}
		}
		slices.SortFunc(live, func(x, y *plainEpisode) int {
			return cmp.Or(x.born.Compare(y.born), slices.Compare(y.id[:], x.id[:]))
		})
		for n, i := len(live), 0; n > 5 && i < len(live); i++ {
			if live[i].status == "consolidated" {
				live[i].gone = true
				n--
			}
		}
	}
	p.ref.episodes = slices.DeleteFunc(p.ref.episodes, func(e *plainEpisode) bool { return e.gone })
}

// compare reads everything and requires what the reference says.
func (p *play) compare() {
	p.Helper()
	now := p.now()
	facts := map[loci.ID]loci.Fact{}
	for _, f := range locitest.AllFacts(p, p.m) {
		facts[f.ID] = f
	}
	var live []loci.ID
	for _, f := range p.ref.facts {
		got, ok := facts[f.id]
		if !ok || string(got.Validity) != f.state(now) ||
			got.Supersedes != f.supersedes || !got.ConfirmedAt.Equal(f.confirmed) {
			p.Fatalf("operation %d: %+v; want %+v, %s", p.done, got, f, f.state(now))
		}
		if f.live(now) {
			live = append(live, f.id)
		}
	}
	listed, _, err := p.m.Facts(p.Context(), loci.FactQuery{}, loci.Page{Limit: 1000})
	if p.ok("list", err, ""); len(facts) != len(p.ref.facts) || len(listed) != len(live) {
		p.Fatalf("operation %d: %d facts, %d live; want %d and %d", p.done, len(facts), len(listed), len(p.ref.facts), len(live))
	}
	p.compareSearch(live)
	for _, r := range p.ref.rules {
		got := rule(p, p.m, r.id)
		if string(got.Maturity) != r.maturity || got.Successes != int64(r.s) ||
			got.Harms != int64(r.h) || got.ForgottenAt.IsZero() == r.forgotten ||
			!r.forgotten && math.Abs(got.EffectiveConfidence-r.confidence(now)) > 1e-12 {
			p.Fatalf("operation %d: %+v; want %+v, %v", p.done, got, r, r.confidence(now))
		}
	}
	var want []loci.ID
	for _, e := range p.ref.episodes {
		if !e.gone && !e.forgotten && now.Before(e.expires) {
			want = append(want, e.id)
		}
	}
	var got []loci.ID
	for _, e := range episodes(p, p.m, loci.EpisodeQuery{}) {
		got = append(got, e.ID)
	}
	if !sameIDs(got, want) {
		p.Fatalf("operation %d: %d episodes; want %d", p.done, len(got), len(want))
	}
}

func (p *play) compareSearch(live []loci.ID) {
	p.Helper()
	var got []loci.ID
	for _, h := range locitest.Search(p, p.m,
		loci.Query{Text: "word0 word1 word2 word3 word4", Kinds: []loci.Kind{loci.KindFact}, Limit: 1000}).Matches {
		got = append(got, h.Record.ID)
	}
	if !sameIDs(got, live) {
		p.Fatalf("operation %d: a search finds %d facts; want %d", p.done, len(got), len(live))
	}
}

func sameIDs(a, b []loci.ID) bool {
	order := func(x, y loci.ID) int { return slices.Compare(x[:], y[:]) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

// told requires that the audit log is whole, and that it tells what was done to each fact and
// rule, except for transitions by decay.
func (p *play) told() {
	p.Helper()
	want := map[loci.ID][]string{}
	for _, f := range p.ref.facts {
		want[f.id] = f.events
	}
	for _, r := range p.ref.rules {
		want[r.id] = r.events
	}
	for id, events := range want {
		var got []string
		for _, typ := range eventTypes(p, p.m, id) {
			if !slices.Contains([]loci.EventType{loci.EventFaded, loci.EventExpired, loci.EventUpdated}, typ) {
				got = append(got, string(typ))
			}
		}
		if !slices.Equal(got, events) {
			p.Fatalf("events of %s: %v; want %v", id, got, events)
		}
	}
	locitest.LogIsWhole(p, p.e, locitest.Tenant(p, "t"))
}

func (p *play) run(operations int) {
	for p.done = 0; p.done < operations; p.done++ {
		switch n := p.r.IntN(100); {
		case n < 35:
			p.storeFact()
		case n < 43:
			p.confirmFact()
		case n < 47:
			p.forgetFact()
		case n < 50:
			p.eraseFact()
		case n < 70:
			p.rule()
		case n < 82:
			p.episode()
		case n < 86:
			p.sweep()
		case n < 88: // back a little; later operations catch up
			p.clock.Advance(-time.Duration(p.r.Int64N(int64(12 * time.Hour))).Truncate(time.Millisecond))
		default:
			p.clock.Advance(time.Duration(p.r.Int64N(int64(9 * dayLong))).Truncate(time.Millisecond))
		}
		if p.done%20 == 0 {
			p.compare()
		}
		if p.done < 50 || p.done%20 == 0 { // a longer log is looked at less often, for the time it takes
			locitest.LogIsWhole(p, p.e, locitest.Tenant(p, "t"))
		}
	}
	p.compare()
	p.told()
}

// TestLifecycleEqualsItsReference plays 36,000 random operations, in its long form 200,000, in
// games of 500, each with a store of its own; under the race detector, which has little to see
// here, four short games of each store. Games wait a little after a conflict, so several are
// played at once.
func TestLifecycleEqualsItsReference(t *testing.T) {
	const tables = 4
	game := locitest.Unraced(500, 50)
	for name, c := range map[string]struct {
		open       func(t *testing.T) loci.Store
		operations int
	}{
		"memory": {
			func(*testing.T) loci.Store { return locitest.OpenMemory() },
			locitest.Unraced(locitest.Long(30_000, 100_000), tables*game),
		},
		"sqlite": {
			func(t *testing.T) loci.Store { return locitest.OpenSQLite(t) },
			locitest.Unraced(locitest.Long(6_000, 100_000), tables*game),
		},
	} {
		for table := range tables {
			t.Run(fmt.Sprint(name, table), func(t *testing.T) {
				t.Parallel()
				for n := table; n < c.operations/game; n += tables {
					newPlay(t, c.open(t), uint64(n)).run(game)
				}
			})
		}
	}
}
