package loci_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/view"
)

func nan() float64 { return math.NaN() }

func storeEpisode(t testing.TB, m *loci.Memory, butler, content string) loci.ID {
	t.Helper()
	id, err := m.StoreEpisode(t.Context(), loci.NewEpisode{Content: content, Butler: butler})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func episodes(t testing.TB, m *loci.Memory, q loci.EpisodeQuery) []loci.Episode {
	t.Helper()
	list, _, err := m.Episodes(t.Context(), q, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEpisodesExpireAtTheirMillisecond looks at every read there is.
func TestEpisodesExpireAtTheirMillisecond(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		m := locitest.Bind(t, e, "u")
		id := storeEpisode(t, m, "general", "User asked about recipes")
		got, err := m.Episode(t.Context(), id)
		if err != nil || got.Importance != 5 || got.Status != loci.Pending ||
			!got.ExpiresAt.Equal(got.CreatedAt.Add(7*dayLong)) || got.Butler != "general" {
			t.Errorf("%+v, %v", got, err)
		}
		reads := func() (n int) {
			if _, err := m.Episode(t.Context(), id); err == nil {
				n++
			}
			if _, err := m.Links(t.Context(), id); err == nil {
				n++
			}
			if _, err := m.Revisions(t.Context(), id); err == nil {
				n++
			}
			n += len(episodes(t, m, loci.EpisodeQuery{})) + len(episodes(t, m, loci.EpisodeQuery{History: true}))
			n += len(locitest.Search(t, m, loci.Query{Text: "recipes"}).Matches) +
				len(locitest.Search(t, m, loci.Query{}).Matches)
			return n + int(locitest.CountLines(locitest.Exported(t, m), `"kind":"episode"`))
		}
		for _, step := range []struct {
			at   time.Time
			want int
		}{
			{got.ExpiresAt.Add(-time.Millisecond), 8},
			{got.ExpiresAt, 0},
			{got.ExpiresAt.Add(-time.Millisecond), 8},
			{got.ExpiresAt.Add(dayLong), 0},
		} {
			c.Set(step.at)
			if n := reads(); n != step.want {
				t.Errorf("%d of 8 reads find it at %v; want %d", n, step.at, step.want)
			}
		}
		locitest.WantCode(t, m.Link(t.Context(), id, loci.LinkSupports, locitest.Save(t, m, "x")), loci.NotFound)
		if report, err := e.Sweep(t.Context()); err != nil || report.Expired != 1 {
			t.Errorf("sweep: %+v, %v", report, err)
		}
		if want := []loci.EventType{"created", "erased", "expired"}; !slices.Equal(eventTypes(t, m, id), want) {
			t.Errorf("events: %v", eventTypes(t, m, id))
		}
		forgotten := storeEpisode(t, m, "general", "User asked to forget this") // it goes at its time, too
		if _, err := m.Forget(t.Context(), loci.KindEpisode, forgotten); err != nil {
			t.Fatal(err)
		}
		c.Advance(8 * dayLong)
		plan, planned := e.PlanSweep(t.Context(), locitest.Tenant(t, "t"))
		done, err := e.Sweep(t.Context())
		if cmp.Or(planned, err) != nil || plan.Expired != 1 || done.Expired != 1 {
			t.Errorf("what was forgotten: planned %+v, %v; done %+v, %v", plan, planned, done, err)
		}
	})
}

func TestEpisodeInputIsChecked(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
		Retention: loci.RetentionOptions{EpisodeTTL: time.Hour},
	}), "u")
	number := func(x float64) *float64 { return &x }
	for name, in := range map[string]loci.NewEpisode{
		"no butler": {Content: "x"}, "blank": {Content: " ", Butler: "b"}, "importance": {Content: "x", Butler: "b", Importance: number(11)},
		"ttl": {Content: "x", Butler: "b", TTL: -1}, "short ttl": {Content: "x", Butler: "b", TTL: 1},
	} {
		_, err := m.StoreEpisode(t.Context(), in)
		if locitest.WantCode(t, err, loci.Invalid); err == nil {
			t.Error(name)
		}
	}
	id, err := m.StoreEpisode(t.Context(), loci.NewEpisode{Content: "x", Butler: "b", Session: "s", Importance: number(9)})
	got, readErr := m.Episode(t.Context(), id)
	if err != nil || readErr != nil || got.Importance != 9 ||
		got.Session != "s" || !got.ExpiresAt.Equal(got.CreatedAt.Add(time.Hour)) {
		t.Errorf("%+v, %v, %v", got, err, readErr)
	}
	for _, o := range []loci.RetentionOptions{{EpisodeTTL: -1}, {EpisodeCap: -1}} {
		_, err := loci.New(locitest.OpenMemory(), &loci.Options{Retention: o})
		locitest.WantCode(t, err, loci.Invalid)
	}
}

func TestConcludeEpisode(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		conclude := func(id loci.ID, outcomes ...loci.EpisodeStatus) (e loci.Episode, err error) {
			for _, o := range outcomes {
				if e, err = m.ConcludeEpisode(t.Context(), id, o); err != nil {
					return e, err
				}
			}
			return e, nil
		}
		for _, row := range []struct {
			outcomes []loci.EpisodeStatus
			attempts int
			events   []loci.EventType
		}{
			{[]loci.EpisodeStatus{"consolidated"}, 0, []loci.EventType{"created", "consolidated"}},
			{[]loci.EpisodeStatus{"failed", "failed", "consolidated"}, 2, []loci.EventType{"created", "failed", "failed", "consolidated"}},
			{[]loci.EpisodeStatus{"failed", "dead_letter"}, 2, []loci.EventType{"created", "failed", "dead_lettered"}},
		} {
			id := storeEpisode(t, m, "b", "x")
			e, err := conclude(id, row.outcomes...)
			if err != nil || e.Status != row.outcomes[len(row.outcomes)-1] ||
				e.Attempts != row.attempts || !slices.Equal(eventTypes(t, m, id), row.events) {
				t.Errorf("%v: %+v, %v, %v", row.outcomes, e, err, eventTypes(t, m, id))
			}
			_, err = conclude(id, loci.Failed)
			locitest.WantCode(t, err, loci.Conflict) // final
		}
		_, err := conclude(storeEpisode(t, m, "b", "x"), loci.Pending)
		locitest.WantCode(t, err, loci.Invalid)
	})
}

// TestEpisodeCap: the oldest consolidated ones go, and only those, however many
// sweep at once.
func TestEpisodeCap(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now, Retention: loci.RetentionOptions{EpisodeCap: 10}})
		m := locitest.Bind(t, e, "u")
		for n := range 30 { // agent a: 30, the even ones consolidated; b: 12, none; c: 10, all
			for butler, most := range map[string]int{"a": 30, "b": 12, "c": 10} {
				if n >= most {
					continue
				}
				id := storeEpisode(t, m, butler, fmt.Sprint(butler, n))
				if butler == "c" || butler == "a" && n%2 == 0 {
					if _, err := m.ConcludeEpisode(t.Context(), id, loci.Consolidated); err != nil {
						t.Fatal(err)
					}
				}
			}
			c.Advance(time.Second)
		}
		plan, err := e.PlanSweep(t.Context(), locitest.Tenant(t, "t"))
		if err != nil || plan.Capped != 15 || !plan.DryRun {
			t.Errorf("plan: %+v, %v", plan, err)
		}
		var wait sync.WaitGroup
		var sum int64
		var mu sync.Mutex
		for range 4 {
			wait.Go(func() {
				report, err := e.Sweep(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if sum += report.Capped; err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		a := episodes(t, m, loci.EpisodeQuery{Butlers: []string{"a"}})
		if sum != 15 || len(a) != 15 || len(episodes(t, m, loci.EpisodeQuery{Butlers: []string{"b"}})) != 12 ||
			len(episodes(t, m, loci.EpisodeQuery{Butlers: []string{"c"}})) != 10 {
			t.Errorf("%d erased, %d of a left", sum, len(a))
		}
		for _, e := range a {
			if e.Status != loci.Pending {
				t.Errorf("%s stayed before a pending one went", e.Content)
			}
		}
	})
}

// TestEpisodeCapErasesTheOldest: of those that it may erase.
func TestEpisodeCapErasesTheOldest(t *testing.T) {
	c := locitest.NewClock()
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
		Now: c.Now, Retention: loci.RetentionOptions{EpisodeCap: 3},
	})
	m := locitest.Bind(t, e, "u")
	for n := range 6 {
		id := storeEpisode(t, m, "a", fmt.Sprint(n))
		if _, err := m.ConcludeEpisode(t.Context(), id, loci.Consolidated); err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Second)
	}
	if _, err := e.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	var left []string
	for _, e := range episodes(t, m, loci.EpisodeQuery{}) {
		left = append(left, e.Content)
	}
	if !slices.Equal(left, []string{"5", "4", "3"}) {
		t.Errorf("left: %v", left)
	}
}

// TestLifecycleStats: the counts of each state and scope are right, for states that only time
// has changed, too.
func TestLifecycleStats(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{
			Now: c.Now, Retention: loci.RetentionOptions{EpisodeTTL: 20 * 365 * dayLong},
		})
		m := locitest.Bind(t, e, "u")
		keyedAt := func(scope, subject string) loci.ID {
			return locitest.StoreFact(t, m, loci.NewFact{
				Content:   "x " + subject,
				Subject:   subject,
				Predicate: "p",
				Scope:     scope,
			}).ID
		}
		keyedAt("", "expires")
		c.Advance(300 * dayLong)
		keyedAt("health", "fades")
		storeRule(t, m, "candidate")
		if _, err := m.StoreEpisode(t.Context(), loci.NewEpisode{Content: "gone", Butler: "health", TTL: dayLong}); err != nil {
			t.Fatal(err)
		}
		c.Advance(250 * dayLong)
		keyedAt("home", "old")
		keyedAt("home", "old")
		if _, err := m.Forget(t.Context(), loci.KindFact, keyedAt("home", "wrong")); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Forget(t.Context(), loci.KindRule, storeRule(t, m, "wrong")); err != nil {
			t.Fatal(err)
		}
		locitest.Save(t, m, "a note")
		storeEpisode(t, m, "home", "x")
		c.Advance(90 * time.Minute)
		for scope, want := range map[string]view.LifecycleStats{
			"": {
				Facts:    view.FactStats{Total: 6, Active: 2, Fading: 1, Superseded: 1, Expired: 1, Retracted: 1},
				Rules:    view.RuleStats{Total: 2, Candidate: 1, Forgotten: 1},
				Episodes: view.EpisodeStats{Total: 2, Unconsolidated: 1, Expired: 1, BacklogHours: 1.5},
			},
			"health": {
				Facts:    view.FactStats{Total: 3, Active: 1, Fading: 1, Expired: 1},
				Rules:    view.RuleStats{Total: 2, Candidate: 1, Forgotten: 1},
				Episodes: view.EpisodeStats{Total: 1, Expired: 1},
			},
		} {
			want.At = c.Now().Truncate(time.Millisecond)
			if got, err := view.Lifecycle(t.Context(), m, scope); err != nil || got != want {
				t.Errorf("scope %q:\n%+v\nwant\n%+v, %v", scope, got, want, err)
			}
		}
	})
}
