package loci_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// Budgets are checked before a call is made. The budget of a day holds across runs and engines.
func TestConsolidateBudgets(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, locitest.Quiet(c))
		for u := range 8 {
			locitest.Episode(t, locitest.Bind(t, e, "user", fmt.Sprint(u)), "home", "something")
		}
		f := &fakeModel{t: t, reply: says(`{"new_facts":[]}`)}
		// A call takes 1,100 tokens and reserves up to 8,096.
		opts := loci.ConsolidateOptions{Completer: f.completer(), TokensPerRun: 9_500, TokensPerDay: 11_600}
		r := locitest.Consolidate(t, e, opts)
		if r.Budget != "run" || r.Groups != 2 || r.Usage.Total() > 9_500 || r.Consolidated != 2 {
			t.Errorf("a run: %+v", r)
		}
		r = locitest.Consolidate(t, locitest.NewEngine(t, s, locitest.Quiet(c)), opts)
		if r.Budget != "day" || r.Groups != 2 {
			t.Errorf("the rest of the day: %+v", r)
		}
		if r := locitest.Consolidate(t, e, opts); r.Budget != "day" || r.Groups != 0 || f.calls.Load() != 4 {
			t.Errorf("nothing left: %+v", r)
		}
		c.Advance(24 * time.Hour)
		if r := locitest.Consolidate(t, e, opts); r.Groups != 2 {
			t.Errorf("the next day: %+v", r)
		}
		now := c.Now().Truncate(time.Millisecond)
		if at, err := e.ConsolidatedAt(t.Context(), locitest.Tenant(t, "t")); err != nil || !at.Equal(now) {
			t.Errorf("the last of two days was %v, %v; want %v", at, err, now)
		}
		_, err := e.Consolidate(t.Context(), locitest.Tenant(t, "t"), loci.ConsolidateOptions{TokensPerRun: 100})
		locitest.WantCode(t, err, loci.Invalid)
	})
}

// What is already known shares one bound of tokens in the prompt.
func TestConsolidatePromptHasABound(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock()))
	m := locitest.Bind(t, e, "user", "a")
	for i := range 5 {
		locitest.Save(t, m, fmt.Sprint("noodles ", i, strings.Repeat(" and more", 500))) // about 1,100 tokens
	}
	locitest.Episode(t, m, "home", "noodles")
	f := &fakeModel{t: t, reply: says(`{"new_facts":[]}`)}
	const most = 4_000
	locitest.Consolidate(t, e, loci.ConsolidateOptions{Completer: f.completer(), PromptTokens: most})
	if len(f.prompts) != 1 {
		t.Fatalf("%d calls", len(f.prompts))
	}
	shown := strings.Count(f.prompts[0], "and more and") / 100
	if tokens := loci.EstimateTokens(f.prompts[0]); tokens > most || shown == 0 {
		t.Errorf("the prompt has %d tokens; want some of what is known, and %d at most", tokens, most)
	}
}

// A call that takes more than is left is not made, though a smaller one might be.
func TestConsolidateBudgetHoldsBeforeACall(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for _, c := range []struct {
			spare  int64 // tokens beyond what two calls take
			groups int
			budget string
		}{{-200, 1, "run"}, {200, 2, ""}} {
			if err := s.EraseTenant(t.Context(), locitest.Tenant(t, "t")); err != nil {
				t.Fatal(err)
			}
			e := locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock()))
			for _, user := range []string{"a", "b"} {
				locitest.Episode(t, locitest.Bind(t, e, "user", user), "home", strings.Repeat("something ", 1200))
			}
			f := &fakeModel{t: t, reply: says(`{"new_facts":[]}`)} // a call takes 1,100 tokens
			opts := loci.ConsolidateOptions{Completer: f.completer(), DryRun: true}
			plan := locitest.Consolidate(t, e, opts)
			opts.DryRun, opts.TokensPerRun = false, plan.EstimatedTokens/2+1100+c.spare
			r := locitest.Consolidate(t, e, opts)
			if plan.Groups != 2 || r.Budget != c.budget || r.Groups != c.groups || int(f.calls.Load()) != c.groups {
				t.Errorf("%+d tokens: %+v, %d calls", c.spare, r, f.calls.Load())
			}
		}
	})
}
