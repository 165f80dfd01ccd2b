package loci_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/view"
)

const dayLong = 24 * time.Hour

func keyed(content string) loci.NewFact {
	return loci.NewFact{Content: content, Subject: "Ann", Predicate: "lives in"}
}

// seen says in which reads a fact is.
func seen(t testing.TB, m *loci.Memory, id loci.ID) (listed, found, confident bool) {
	t.Helper()
	facts, _, err := m.Facts(t.Context(), loci.FactQuery{}, loci.Page{})
	if err != nil {
		t.Fatal(err)
	}
	has := func(q loci.Query) bool {
		q.Text = "Berlin"
		return slices.ContainsFunc(locitest.Search(t, m, q).Matches, func(h loci.Match) bool {
			return h.Record.ID == id
		})
	}
	listed = slices.ContainsFunc(facts, func(f loci.Fact) bool { return f.ID == id })
	return listed, has(loci.Query{}), has(loci.Query{MinConfidence: loci.ActiveConfidence})
}

// TestFactsFadeAndExpireAtTheMillisecond walks over both boundaries and back: no
// sweep is needed for a state to be right, and none changes it.
func TestFactsFadeAndExpireAtTheMillisecond(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		m := locitest.Bind(t, e, "u")
		id := locitest.StoreFact(t, m, keyed("Berlin")).ID
		f := locitest.Fact(t, m, id)
		if f.Permanence != loci.Standard || f.DecayRate != 0.008 || f.Confidence != 1 ||
			f.EffectiveConfidence != 1 || f.Importance != 5 || !f.ConfirmedAt.Equal(f.CreatedAt) {
			t.Errorf("new fact: %+v", f)
		}
		curve := loci.Decay{Confidence: 1, Rate: 0.008, From: f.ConfirmedAt}
		fades, ends := curve.Below(0.2), curve.Below(0.05)
		for _, sweep := range []bool{false, true} {
			for _, step := range []struct {
				at              time.Time
				want            loci.Validity
				live, confident bool
			}{
				{fades.Add(-time.Millisecond), loci.Active, true, true}, {fades, loci.Fading, true, false},
				{ends.Add(-time.Millisecond), loci.Fading, true, false},
				{ends, loci.Expired, false, false}, {fades, loci.Fading, true, false}, // a clock set back
			} {
				c.Set(step.at)
				if sweep {
					if _, err := e.Sweep(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				got := locitest.Fact(t, m, id)
				listed, found, confident := seen(t, m, id)
				if got.Validity != step.want || listed != step.live ||
					found != step.live || confident != step.confident {
					t.Errorf("swept %v, at %v: %s, listed %v, found %v, with confidence %v; want %+v", sweep, step.at, got.Validity, listed, found, confident, step)
				}
			}
		}
		if want := []loci.EventType{"created", "faded", "expired"}; !slices.Equal(eventTypes(t, m, id), want) {
			t.Errorf("events %v; want %v", eventTypes(t, m, id), want)
		}
	})
}

// TestConfirmStartsTheClockAgain: a confirmed fact or rule is as certain as a new one, even if
// it had expired; a clock that was set back shortens no life.
func TestConfirmStartsTheClockAgain(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		m := locitest.Bind(t, e, "u")
		id, ruleID := locitest.StoreFact(t, m, keyed("Berlin")).ID, storeRule(t, m, "Ask")
		for _, days := range []int{1, 250, 1000} { // active, fading, expired
			c.Advance(time.Duration(days) * dayLong)
			if days == 1000 {
				if _, err := e.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			for _, err := range []error{m.Confirm(t.Context(), loci.KindFact, id),
				m.Confirm(t.Context(), loci.KindRule, ruleID)} {
				if err != nil {
					t.Fatal(err)
				}
			}
			now := c.Now().Truncate(time.Millisecond)
			f := locitest.Fact(t, m, id)
			if f.Validity != loci.Active || f.EffectiveConfidence != 1 || !f.ConfirmedAt.Equal(now) {
				t.Errorf("fact after %d days: %+v", days, f)
			}
			r := rule(t, m, ruleID)
			if r.Validity != loci.Active || r.EffectiveConfidence != 0.5 || !r.ConfirmedAt.Equal(now) {
				t.Errorf("rule after %d days: %+v", days, r)
			}
			if _, found, _ := seen(t, m, id); !found {
				t.Errorf("not found after %d days and a confirmation", days)
			}
		}
		last := locitest.Fact(t, m, id).ConfirmedAt
		c.Advance(-dayLong)
		if err := m.Confirm(t.Context(), loci.KindFact, id); err != nil ||
			!locitest.Fact(t, m, id).ConfirmedAt.Equal(last) {
			t.Errorf("a clock set back shortened a life: %v, %v", err, locitest.Fact(t, m, id).ConfirmedAt)
		}
		if want := []loci.EventType{"created", "confirmed", "confirmed", "faded", "expired", "confirmed", "confirmed"}; !slices.Equal(eventTypes(t, m, id), want) {
			t.Errorf("events %v", eventTypes(t, m, id))
		}
	})
}

// TestConfirmRefuses: what cannot be confirmed is refused: an episode, a superseded or
// forgotten fact, and an expired one whose key another fact holds by now.
func TestConfirmRefuses(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		err := m.Confirm(t.Context(), loci.KindEpisode, loci.NewID())
		if locitest.WantCode(t, err, loci.Invalid); err.Error() != "Episodes cannot be confirmed — they don't have confidence decay" {
			t.Error(err)
		}
		err = m.Confirm(t.Context(), "x", loci.NewID())
		if locitest.WantCode(t, err, loci.Invalid); err.Error() != "Invalid type: 'x'. Must be one of ['episode', 'fact', 'rule']" {
			t.Error(err)
		}
		locitest.WantCode(t, m.Confirm(t.Context(), loci.KindFact, loci.NewID()), loci.NotFound)
		old := locitest.StoreFact(t, m, keyed("Berlin")).ID
		locitest.WantCode(t, m.Confirm(t.Context(), loci.KindRule, old), loci.NotFound)
		now := locitest.StoreFact(t, m, keyed("Rome")).ID
		err = m.Confirm(t.Context(), loci.KindFact, old)
		if locitest.WantCode(t, err, loci.Conflict); !strings.Contains(err.Error(), "restore it, or store it again") {
			t.Error(err)
		}
		c.Advance(1000 * dayLong) // expired: its key goes to a new fact, and comes back with that one's retraction
		next := locitest.StoreFact(t, m, keyed("Oslo"))
		if next.Outcome != loci.Created || !next.Superseded.IsZero() {
			t.Errorf("an expired fact was superseded: %+v", next)
		}
		err = m.Confirm(t.Context(), loci.KindFact, now)
		if locitest.WantCode(t, err, loci.Conflict); !strings.Contains(err.Error(), "holds the key") {
			t.Error(err)
		}
		if f := locitest.Fact(t, m, now); f.Validity != loci.Expired {
			t.Errorf("the expired fact is %s", f.Validity)
		}
		if ok, err := m.Forget(t.Context(), loci.KindFact, next.ID); err != nil || !ok {
			t.Fatal(ok, err)
		}
		locitest.WantCode(t, m.Confirm(t.Context(), loci.KindFact, next.ID), loci.Conflict)
		if err := m.Confirm(t.Context(), loci.KindFact, now); err != nil ||
			locitest.Fact(t, m, now).Validity != loci.Active || !locitest.Fact(t, m, now).ValidUntil.IsZero() {
			t.Errorf("the key is free: %v, %+v", err, locitest.Fact(t, m, now))
		}
		if again := locitest.StoreFact(t, m, keyed("Bern")); again.Superseded != now {
			t.Errorf("the key was not taken: %+v", again)
		}
	})
}

// TestForget: a forgotten memory leaves searches and lists but can still be read by its id, and
// a second forget changes nothing.
func TestForget(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		episode, err := m.StoreEpisode(t.Context(), loci.NewEpisode{Content: "Berlin", Butler: "b"})
		if err != nil {
			t.Fatal(err)
		}
		for kind, id := range map[loci.Kind]loci.ID{
			loci.KindFact:    locitest.StoreFact(t, m, keyed("Berlin")).ID,
			loci.KindRule:    storeRule(t, m, "Berlin"),
			loci.KindEpisode: episode,
		} {
			c.Set(locitest.NewClock().Now().Add(time.Hour))
			for other := range map[loci.Kind]bool{loci.KindFact: true, loci.KindRule: true, loci.KindEpisode: true} {
				if other != kind {
					if changed, err := m.Forget(t.Context(), other, id); changed || err != nil {
						t.Errorf("%s forgotten as %s: %v, %v", kind, other, changed, err)
					}
				}
			}
			stranger := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "v")
			if elsewhere, err := stranger.Forget(t.Context(), kind, id); elsewhere || err != nil {
				t.Errorf("%s of another namespace: %v, %v", kind, elsewhere, err)
			}
			for _, want := range []bool{true, false} {
				if changed, err := m.Forget(t.Context(), kind, id); changed != want || err != nil {
					t.Errorf("%s: changed %v, %v; want %v", kind, changed, err, want)
				}
			}
			typ := loci.EventForgotten
			if kind == loci.KindFact {
				typ = loci.EventRetracted
			}
			if want := []loci.EventType{"created", typ}; !slices.Equal(eventTypes(t, m, id), want) {
				t.Errorf("events of %s: %v", kind, eventTypes(t, m, id))
			}
			if hits := locitest.Search(t, m, loci.Query{Text: "Berlin", Kinds: []loci.Kind{kind}}); len(hits.Matches) > 0 {
				t.Errorf("%s is still found", kind)
			}
		}
		f := locitest.AllFacts(t, m)[0]
		if f.Validity != loci.Retracted || f.Content != "Berlin" || !f.RetractedAt.Equal(c.Now().Truncate(time.Millisecond)) {
			t.Errorf("forgotten fact: %+v", f)
		}
		if e, err := m.Episode(t.Context(), episode); err != nil || e.ForgottenAt.IsZero() {
			t.Errorf("forgotten episode: %+v, %v", e, err)
		}
		rules, _, err := m.Rules(t.Context(), loci.RuleQuery{History: true}, loci.Page{})
		if err != nil || len(rules) != 1 || rules[0].ForgottenAt.IsZero() || rules[0].Validity != loci.Retracted {
			t.Errorf("forgotten rule: %+v, %v", rules, err)
		}
		_, err = m.MarkHelpful(t.Context(), rules[0].ID)
		locitest.WantCode(t, err, loci.Conflict)
		locitest.WantCode(t, m.Confirm(t.Context(), loci.KindRule, rules[0].ID), loci.Conflict)
		_, err = m.Forget(t.Context(), item.Kind, episode)
		locitest.WantCode(t, err, loci.Invalid)
	})
}

// TestHistory: a superseded fact is a record of its own, and both times answer.
func TestHistory(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		start := c.Now().Truncate(time.Millisecond)
		on := func(day int) time.Time { return start.Add(time.Duration(day) * dayLong) }
		berlin := locitest.StoreFact(t, m, keyed("Berlin")).ID
		c.Set(on(10))
		backdated := keyed("Rome")
		backdated.ValidFrom = on(5) // learned on day 10, true since day 5
		rome := locitest.StoreFact(t, m, backdated).ID
		c.Set(on(20))
		oslo := locitest.StoreFact(t, m, keyed("Oslo")).ID
		c.Set(on(30))
		if _, err := m.Forget(t.Context(), loci.KindFact, oslo); err != nil {
			t.Fatal(err)
		}
		for _, row := range []struct {
			valid, known int
			want         string
		}{
			{0, 0, "Berlin"}, {7, 7, "Berlin"}, {7, 9, "Berlin"}, {7, 10, "Rome"}, {4, 10, "Berlin"}, {5, 10, "Rome"}, {15, 15, "Rome"},
			{15, 25, "Rome"}, {20, 25, "Oslo"}, {25, 25, "Oslo"}, {25, 15, "Rome"}, {25, 30, ""}, {15, 30, "Rome"}, {-1, 30, ""}, {3, -1, ""},
		} {
			facts, _, err := view.AsOf(t.Context(), m, view.AsOfQuery{
				Valid:     on(row.valid),
				Known:     on(row.known),
				Subject:   "Ann",
				Predicate: "lives in",
			}, loci.Page{})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range facts {
				got += f.Content
			}
			if got != row.want {
				t.Errorf("true on day %d as known on day %d: %q; want %q", row.valid, row.known, got, row.want)
			}
		}
		for _, id := range []loci.ID{berlin, rome, oslo} {
			chain, err := m.History(t.Context(), id)
			var texts []string
			for _, f := range chain {
				texts = append(texts, f.Content)
			}
			if err != nil || strings.Join(texts, " ") != "Berlin Rome Oslo" {
				t.Errorf("history: %v, %v", texts, err)
			}
		}
		if f := locitest.Fact(t, m, berlin); !f.ValidUntil.Equal(on(5)) ||
			!f.ClosedAt.Equal(on(10)) || f.Validity != loci.Superseded {
			t.Errorf("the first: %+v", f)
		}
	})
}

// TestAsOfKnowsEarlierWords: a corrected fact answers with what it said then.
func TestAsOfKnowsEarlierWords(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		id := locitest.Save(t, m, "one")
		var times []time.Time
		for _, text := range []string{"two", "three"} {
			times = append(times, c.Now())
			c.Advance(time.Hour)
			if _, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: &text}); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"one", "two"} {
			facts, _, err := view.AsOf(t.Context(), m, view.AsOfQuery{Known: times[i]}, loci.Page{})
			if err != nil || len(facts) != 1 || facts[0].Content != want {
				t.Errorf("known at %v: %+v, %v; want %s", times[i], facts, err, want)
			}
		}
	})
}

func TestAsOfPages(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	want := map[string]bool{}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		for _, text := range []string{"old ", "new "}[min(i, 1):] { // so that a page ends inside of one of the store's
			locitest.StoreFact(t, m, loci.NewFact{Content: text + name, Subject: name, Predicate: "p"})
		}
		want["new "+name] = true
	}
	for cursor := ""; ; {
		facts, next, err := view.AsOf(t.Context(), m, view.AsOfQuery{}, loci.Page{Limit: 2, Cursor: cursor})
		if err != nil || len(facts) > 2 {
			t.Fatal(facts, err)
		}
		for _, f := range facts {
			if !want[f.Content] {
				t.Errorf("%s came twice, or should not come", f.Content)
			}
			delete(want, f.Content)
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestAClockSetBackHarmsNothing: supersession follows the order of writes.
func TestAClockSetBackHarmsNothing(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		old := locitest.StoreFact(t, m, keyed("Berlin")).ID
		c.Advance(-365 * dayLong)
		next := locitest.StoreFact(t, m, keyed("Rome"))
		was, is := locitest.Fact(t, m, old), locitest.Fact(t, m, next.ID)
		if next.Superseded != old || was.ValidUntil.Before(was.ValidFrom) ||
			is.ValidFrom.Before(was.ValidUntil) || was.ClosedAt.Before(was.CreatedAt) {
			t.Errorf("old %+v, new %+v", was, is)
		}
		if is.Validity != loci.Active || was.Validity != loci.Superseded || is.EffectiveConfidence != 1 {
			t.Errorf("%s and %s", was.Validity, is.Validity)
		}
	})
}

func TestFactInputIsChecked(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	number := func(x float64) *float64 { return &x }
	for name, in := range map[string]loci.NewFact{
		"importance above":  {Content: "x", Importance: number(10.1)},
		"importance below":  {Content: "x", Importance: number(-0.1)},
		"importance is NaN": {Content: "x", Importance: number(nan())},
		"permanence":        {Content: "x", Permanence: "forever"},
		"confidence above":  {Content: "x", Confidence: 1.1},
		"confidence below":  {Content: "x", Confidence: 0.04},
	} {
		_, err := m.StoreFact(t.Context(), in)
		if locitest.WantCode(t, err, loci.Invalid); err == nil {
			t.Error(name)
		}
	}
	id := locitest.StoreFact(t, m, loci.NewFact{
		Content:    "x",
		Importance: number(0),
		Permanence: loci.Ephemeral,
		Confidence: 0.05,
	}).ID
	if f := locitest.Fact(t, m, id); f.Importance != 0 || f.Permanence != loci.Ephemeral || f.Validity != loci.Fading {
		t.Errorf("%+v", f)
	}
	if f := locitest.Fact(t, m, locitest.Save(t, m, "a note")); f.Permanence != loci.Permanent || f.DecayRate != 0 {
		t.Errorf("a note decays: %+v", f)
	}
}

// TestRevisingConfirms: a corrected fact is a confirmed one; an expired one is gone.
func TestRevisingConfirms(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		id := locitest.StoreFact(t, m, keyed("Berlin")).ID
		c.Advance(300 * dayLong)
		if f, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("Bern")}); err != nil ||
			f.Validity != loci.Active || f.EffectiveConfidence != 1 {
			t.Errorf("%+v, %v", f, err)
		}
		c.Advance(500 * dayLong)
		_, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("Rome")})
		locitest.WantCode(t, err, loci.NotFound)
	})
}

// TestConfidenceAtItsFloor: what is exactly as sure as a search wants is found, and nothing less.
func TestConfidenceAtItsFloor(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.StoreFact(t, m, loci.NewFact{Content: "half sure", Confidence: 0.5, Permanence: loci.Permanent})
		for floor, want := range map[float64]int{0.5: 1, math.Nextafter(0.5, 1): 0} {
			if r := locitest.Search(t, m, loci.Query{Text: "half sure", MinConfidence: floor}); len(r.Matches) != want {
				t.Errorf("%d found with a floor of %v, want %d", len(r.Matches), floor, want)
			}
		}
	})
}

// TestAnExpiredFactComesBack: one whose key was given away lives again once it is confirmed and the key is
// free, and the log says what was restored.
func TestAnExpiredFactComesBack(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		old := keyed("Berlin")
		old.Permanence = loci.Ephemeral
		id := locitest.StoreFact(t, m, old).ID
		c.Advance(400 * 24 * time.Hour)
		next := locitest.StoreFact(t, m, keyed("Kiel")).ID
		locitest.WantCode(t, m.Confirm(t.Context(), loci.KindFact, id), loci.Conflict)
		if _, err := m.Forget(t.Context(), loci.KindFact, next); err != nil {
			t.Fatal(err)
		}
		if err := m.Confirm(t.Context(), loci.KindFact, id); err != nil {
			t.Fatal(err)
		}
		if r := locitest.Search(t, m, loci.Query{Text: "Berlin"}); len(r.Matches) != 1 || r.Matches[0].Record.ID != id {
			t.Errorf("found %q", locitest.Texts(r))
		}
		if _, err := m.Forget(t.Context(), loci.KindFact, id); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Restore(t.Context(), loci.KindFact, id); err != nil {
			t.Fatal(err)
		}
		restored := loci.EventFilter{Types: []loci.EventType{loci.EventRestored}}
		events, _, err := m.Events(t.Context(), restored, loci.Page{})
		if err != nil || len(events) != 1 || events[0].Entity != id {
			t.Errorf("restored: %+v, %v", events, err)
		}
	})
}
