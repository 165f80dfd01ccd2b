package loci_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

func storeRule(t testing.TB, m *loci.Memory, content string) loci.ID {
	t.Helper()
	id, err := m.StoreRule(t.Context(), loci.NewRule{Content: content})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func rule(t testing.TB, m *loci.Memory, id loci.ID) loci.Rule {
	t.Helper()
	r, err := m.Rule(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// eventTypes are the types of a record's events, oldest first.
func eventTypes(t testing.TB, m *loci.Memory, id loci.ID) (types []loci.EventType) {
	t.Helper()
	events, _, err := m.Events(t.Context(), loci.EventFilter{Entity: id}, loci.Page{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range slices.Backward(events) {
		types = append(types, e.Type)
	}
	return types
}

func TestNewRules(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		r := rule(t, m, storeRule(t, m, "Always ask first"))
		if r.Maturity != loci.Candidate || r.Confidence != 0.5 ||
			r.EffectiveConfidence != 0.5 || r.Scope != "global" || r.DecayRate != 0.008 ||
			r.Successes+r.Harms+r.Applied != 0 || r.Effectiveness != 0 ||
			r.Importance != 5 || r.Validity != loci.Active || !r.AppliedAt.IsZero() {
			t.Errorf("new rule: %+v", r)
		}
		for name, in := range map[string]loci.NewRule{"blank": {Content: " "}, "scope": {Content: "x", Scope: strings.Repeat("s", 257)}} {
			_, err := m.StoreRule(t.Context(), in)
			locitest.WantCode(t, err, loci.Invalid)
			if err == nil {
				t.Error(name)
			}
		}
		_, err := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "v").MarkHelpful(t.Context(), r.ID)
		locitest.WantCode(t, err, loci.NotFound)
	})
}

// TestMaturity plays marks: + is helpful, - is harmful, d lets 30 days pass, m one
// millisecond less. After each the maturity is as the table says.
func TestMaturity(t *testing.T) {
	const c, e, p, a = loci.Candidate, loci.Established, loci.Proven, loci.AntiPattern
	for _, row := range []struct {
		marks string
		want  loci.Maturity
	}{
		{"++++", c},
		{"+++++", e},
		{"+++++-", c},   // 5/9.01 < 0.6
		{"++++++-", c},  // 6/10.01 < 0.6
		{"+++++++-", e}, // 7/11.01 ≥ 0.6
		{"-+++++", c},   // 5/9.01 does not rise
		{"-+++++++", e}, // 7/11.01 does
		{"++++++++++++++d", e},
		{"++++++++++++++d+", p},
		{"++++++++++++++m+", e}, // a millisecond too young
		{"d+++++", e},           // one step a call
		{"+++++++++++++++d+", p},
		{"d++++++++++++++++", p},
		{"d++++++++++++++++-", e},  // 16/20.01 < 0.8
		{"d++++++++++++++++--", e}, // 16/24.01 ≥ 0.6
		{"d+++++++++++++++++-", p}, // 17/21.01 ≥ 0.8
		{"---", a},
		{"--", c},
		{"+---", a},      // 1/13.01
		{"+++++---", a},  // 5/17.01 < 0.3
		{"++++++---", c}, // 6/18.01 ≥ 0.3
		{"++++++----", a},
		{"---+++++++++++++++++++++++++", a}, // never back
		{"d+++++++++++++++++------", c},     // proven, established, candidate: a step a call
	} {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: c.Now}), "u")
		id := storeRule(t, m, "Do it")
		var s, h int64
		prev := loci.Candidate
		for _, mark := range row.marks {
			var got loci.Rule
			var err error
			switch mark {
			case '+':
				s++
				got, err = m.MarkHelpful(t.Context(), id)
			case '-':
				h++
				got, err = m.MarkHarmful(t.Context(), id, "")
			case 'd':
				c.Advance(30 * 24 * time.Hour)
				continue
			case 'm':
				c.Advance(30*24*time.Hour - time.Millisecond)
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			score := float64(s) / (float64(s) + 4*float64(h) + 0.01)
			if got.Successes != s || got.Harms != h || got.Applied != s+h ||
				got.Effectiveness != score || !got.AppliedAt.Equal(c.Now().Truncate(time.Millisecond)) {
				t.Fatalf("%s: %+v after %d and %d", row.marks, got, s, h)
			}
			prev = got.Maturity
		}
		if prev != row.want {
			t.Errorf("%s: %s; want %s", row.marks, prev, row.want)
		}
	}
}

// TestAntiPatterns: harm turns a rule into a warning with its reasons, which is searched,
// turned only once, and never decays.
func TestAntiPatterns(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{
			Now:      c.Now,
			Embedder: &locitest.WordEmbedder{Name: "w"},
		}), "u")
		id := storeRule(t, m, "reboot the server")
		for i, reason := range []string{"it lost data", " ", "it took an hour"} {
			c.Advance(time.Minute)
			if _, err := m.MarkHarmful(t.Context(), id, reason); err != nil {
				t.Fatal(i, err)
			}
		}
		for _, reason := range []string{"a\x00b", "a\xffb"} {
			_, err := m.MarkHarmful(t.Context(), id, reason)
			locitest.WantCode(t, err, loci.Invalid)
		}
		got := rule(t, m, id)
		if got.Content != "ANTI-PATTERN: Do NOT reboot the server. This caused problems because: it lost data; it took an hour" ||
			got.Original != "reboot the server" || got.Maturity != loci.AntiPattern || got.DecayRate != 0 || got.Confidence != 0.5 {
			t.Errorf("inverted: %+v", got)
		}
		if want := []loci.EventType{"created", "marked_harmful", "marked_harmful", "marked_harmful", "inverted"}; !slices.Equal(eventTypes(t, m, id), want) {
			t.Errorf("events: %v", eventTypes(t, m, id))
		}
		hits := locitest.Search(t, m, loci.Query{Text: "problems hour"})
		if len(hits.Matches) != 1 || !hits.Matches[0].Explain.Embedded {
			t.Errorf("the warning is not indexed again: %+v", hits)
		}
		before := got.Content
		if got, _ = m.MarkHarmful(t.Context(), id, "again"); got.Content != before || len(got.Reasons) != 3 || got.Harms != 4 {
			t.Errorf("inverted twice: %+v", got)
		}
		c.Advance(100 * 365 * 24 * time.Hour)
		if got = rule(t, m, id); got.Validity != loci.Active || got.EffectiveConfidence != 0.5 ||
			len(locitest.Search(t, m, loci.Query{Text: "reboot"}).Matches) != 1 {
			t.Errorf("it decayed: %+v", got)
		}

		other := storeRule(t, m, "shout")
		for range 3 {
			if _, err := m.MarkHarmful(t.Context(), other, ""); err != nil {
				t.Fatal(err)
			}
		}
		if got := rule(t, m, other).Content; got != "ANTI-PATTERN: Do NOT shout. This caused problems because: repeated failures" {
			t.Error(got)
		}
	})
}

func TestMarksOfSeveralCallersAllCount(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		id := storeRule(t, m, "x")
		errs := make(chan error)
		for w := range 8 {
			go func() {
				var err error
				for n := 0; n < 5 && err == nil; n++ {
					if w%2 == 0 {
						_, err = m.MarkHelpful(t.Context(), id)
					} else {
						_, err = m.MarkHarmful(t.Context(), id, fmt.Sprint(w, n))
					}
				}
				errs <- err
			}()
		}
		for range 8 {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
		got := rule(t, m, id)
		if got.Successes != 20 || got.Harms != 20 || got.Applied != 40 || got.Version != 41 || len(got.Reasons) != 20 {
			t.Errorf("after 40 marks: %+v", got)
		}
	})
}
