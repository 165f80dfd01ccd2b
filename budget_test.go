package loci_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A brokenLedger is a store that, from a given look on, fails to read how many tokens models
// took.
type brokenLedger struct {
	loci.Store
	looks, good int
}

func (s *brokenLedger) Events(
	ctx context.Context,
	t loci.Tenant,
	f loci.EventFilter,
	p loci.Page,
) ([]loci.Event, string, error) {
	if slices.Contains(f.Types, loci.EventReserved) {
		if s.looks++; s.looks > s.good {
			return nil, "", errors.New("disk on fire")
		}
	}
	return s.Store.Events(ctx, t, f, p)
}

// TestConsolidateNeedsItsLedger: as long as nobody knows what is left of a budget, no
// model is asked, whenever counting begins to fail.
func TestConsolidateNeedsItsLedger(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		locitest.Episode(t, locitest.Bind(t, locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock())), "user", "u"), "home", "something")
		for good := range 4 {
			asked := 0
			answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
				asked++
				return loci.Completion{Text: "{}"}, nil
			})
			broken := &brokenLedger{Store: s, good: good}
			_, err := locitest.NewEngine(t, broken, locitest.Quiet(locitest.NewClock())).Consolidate(t.Context(),
				locitest.Tenant(t, "t"), loci.ConsolidateOptions{Completer: answer})
			if broken.looks <= good {
				if good < 3 {
					t.Errorf("only %d looks: before, and after a reservation", broken.looks)
				}
				continue
			}
			if err == nil || asked > 0 {
				t.Errorf("counting failed at look %d, and the model was asked %d times: %v", good+1, asked, err)
			}
		}
	})
}

// spent is what the newest call took, by the audit log.
func spent(t *testing.T, e *loci.Engine) (u struct {
	Tokens    int64
	Prompt    int64 `json:"prompt_tokens"`
	Estimated bool
}) {
	t.Helper()
	took := loci.EventFilter{Types: []loci.EventType{loci.EventSpent}}
	events, _, err := locitest.Bind(t, e).Events(t.Context(), took, loci.Page{Limit: 1})
	if err != nil || len(events) != 1 {
		t.Fatalf("%d events, %v", len(events), err)
	}
	if err := json.Unmarshal(events[0].Payload, &u); err != nil {
		t.Fatal(err)
	}
	return u
}

// A call counts what the service says. If it says nothing that can be, the call counts as
// estimated; if there may have been an answer that nobody got, as the longest one.
func TestWhatACallCounts(t *testing.T) {
	prompt := loci.Prompt{System: strings.Repeat("abc", 4), User: strings.Repeat("abc", 6), MaxTokens: 7} // 4 and 6 tokens
	failure := errors.New("it failed")
	for _, c := range []struct {
		name      string
		usage     loci.Usage
		err       error
		gone      bool // the caller, before there was an answer
		tokens    int64
		prompt    int64
		estimated bool
	}{
		{"as it says", loci.Usage{PromptTokens: 12, CompletionTokens: 5}, nil, false, 17, 12, false},
		{"an empty answer", loci.Usage{PromptTokens: 1}, nil, false, 1, 1, false},
		{"it says nothing", loci.Usage{}, nil, false, 12, 10, true},
		{"nonsense", loci.Usage{PromptTokens: 12, CompletionTokens: -1}, nil, false, 12, 10, true},
		{"refused", loci.Usage{}, failure, false, 0, 0, false},
		{"refused at a price", loci.Usage{PromptTokens: 3}, failure, false, 3, 3, false},
		{"no answer in time", loci.Usage{}, failure, true, 17, 10, true},
		{"known though late", loci.Usage{PromptTokens: 1}, failure, true, 1, 1, false},
	} {
		e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock()))
		ctx, cancel := context.WithCancel(t.Context())
		answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
			if c.gone {
				cancel()
			}
			return loci.Completion{Text: "abcabc", Usage: c.usage}, c.err
		})
		_, err := locitest.Bind(t, e, "u").Complete(ctx, answer, loci.Budget{Tokens: 17, For: "a test", Actor: "a"}, prompt) // as much as the call may take
		cancel()
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v", c.name, err)
		}
		if got := spent(t, e); got.Tokens != c.tokens || got.Prompt != c.prompt || got.Estimated != c.estimated {
			t.Errorf("%s: counted %+v, want %d of which %d for the prompt", c.name, got, c.tokens, c.prompt)
		}
	}
}

// A day's budget holds from midnight to midnight, UTC, to the last token.
func TestADayHasItsBudget(t *testing.T) {
	c := locitest.NewClock()
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(c))
	midnight := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
		return loci.Completion{Usage: loci.Usage{PromptTokens: 8, CompletionTokens: 7}}, nil
	})
	prompt := loci.Prompt{User: strings.Repeat("abc", 10), MaxTokens: 7}
	const late = 24*time.Hour - time.Millisecond
	for _, call := range []struct {
		at   time.Duration
		made bool
	}{
		{-time.Millisecond, true}, {0, true}, {late, true}, {late, false}, {24 * time.Hour, true},
	} {
		c.Set(midnight.Add(call.at))
		budget := loci.Budget{Tokens: 32, For: "a test", Actor: "a"}
		_, err := locitest.Bind(t, e, "u").Complete(t.Context(), answer, budget, prompt)
		if (err == nil) != call.made {
			t.Errorf("%v from midnight, two calls being 32 tokens: %v", call.at, err)
		}
	}
}

// A hurried store notes until when its writes may take.
type hurried struct {
	loci.Store
	left []time.Duration
}

func (s *hurried) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if deadline, ok := ctx.Deadline(); ok {
		s.left = append(s.left, time.Until(deadline))
	}
	return s.Store.Apply(ctx, t, c)
}

// When its caller goes in the middle of a call, 10 s are there to write down what it took,
// and to give back the episodes.
func TestWhatACallTookIsWrittenDown(t *testing.T) {
	for _, consolidates := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := &hurried{Store: locitest.OpenMemory()}
			e := locitest.NewEngine(t, s, locitest.Quiet(locitest.NewClock()))
			id := locitest.Episode(t, locitest.Bind(t, e, "user", "u"), "home", "something")
			ctx, cancel := context.WithCancel(t.Context())
			answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
				cancel()
				return loci.Completion{}, context.Canceled
			})
			writes, err := 1, error(nil)
			if consolidates {
				writes = 2
				_, err = e.Consolidate(ctx, locitest.Tenant(t, "t"), loci.ConsolidateOptions{Completer: answer})
			} else {
				budget, prompt := loci.Budget{Tokens: 1000, Actor: "a"}, loci.Prompt{User: "x", MaxTokens: 1}
				_, err = locitest.Bind(t, e, "u").Complete(ctx, answer, budget, prompt)
			}
			if err == nil || !slices.Equal(s.left, slices.Repeat([]time.Duration{10 * time.Second}, writes)) {
				t.Errorf("%v; %d writes had %v", err, writes, s.left)
			}
			if got := episodeNow(t, locitest.Bind(t, e, "user", "u"), id); got.Attempts != 0 || got.Status != loci.Pending {
				t.Errorf("the episode: %+v", got)
			}
		})
	}
}

// Episodes take three quarters of a prompt at most, and what does not fit is left out; the
// least budget is enough for a call.
func TestConsolidateAtItsLimits(t *testing.T) {
	opts, next := locitest.Quiet(locitest.NewClock()), byte(0)
	opts.NewID = func() loci.ID { next++; return loci.ID{next/10<<4 | next%10} } // decimal digits: as many tokens each
	e := locitest.NewEngine(t, locitest.OpenMemory(), opts)
	m := locitest.Bind(t, e, "user", "u")
	id := locitest.Episode(t, m, "home", "x")
	around := loci.EstimateTokens(fmt.Sprintf(`{"at":"2026-01-02T03:04:05.678Z","content":"","id":%q}`+"\n", id))
	if err := m.Erase(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	const room = 3000
	for _, c := range []struct {
		tokens   int64
		tooLarge int
	}{{room - around, 0}, {room - around + 1, 1}} {
		id := locitest.Episode(t, m, "home", strings.Repeat("abc", int(c.tokens)))
		plan := locitest.Consolidate(t, e, loci.ConsolidateOptions{PromptTokens: 4000})
		if plan.TooLarge != c.tooLarge || plan.Episodes != 1-c.tooLarge {
			t.Errorf("%d tokens beside %d others: %+v", c.tokens, around, plan)
		}
		if err := m.Erase(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	id = locitest.Episode(t, m, "home", "something")
	item := func(size int) string {
		return fmt.Sprintf(`{"content":%q,"evidence":[%q]}`, strings.Repeat("x", size), id)
	}
	answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
		return loci.Completion{Text: `{"new_facts":[` + item(4096) + "," + item(4097) + "]}"}, nil
	})
	r := locitest.Consolidate(t, e, loci.ConsolidateOptions{
		Completer: answer, TokensPerRun: 4256, PromptTokens: 4000, CompletionTokens: 256,
	})
	if r.Model != "func" || r.Budget != "" || r.Groups != 1 || r.Created != 1 || r.Skipped["too_long"] != 1 {
		t.Errorf("with the least budget: %+v", r)
	}
}

// TestATenantHasItsTokensOfTheDay: what language models do for a tenant stays within its limit,
// over all engines of the store and whatever the budget of a purpose is; the refusal says limit,
// use and when to come again; another tenant and another day have their own.
func TestATenantHasItsTokensOfTheDay(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		c.Set(time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC))
		limits := map[string]int64{"t": 40, "least": 1}
		var broken error
		opts := locitest.Quiet(c)
		opts.ModelTokens = func(_ context.Context, tenant loci.Tenant) (int64, error) {
			return limits[tenant.String()], broken
		}
		one, two := locitest.NewEngine(t, s, opts), locitest.NewEngine(t, s, opts)
		asked := 0
		answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
			asked++
			return loci.Completion{Usage: loci.Usage{PromptTokens: 13, CompletionTokens: 7}}, nil
		})
		call := func(e *loci.Engine, tenant string) error {
			view := loci.View{Tenant: locitest.Tenant(t, tenant), Namespace: loci.Namespace{"user", "u"}, Actor: "u"}
			m := locitest.BindView(t, e, view)
			_, err := m.Complete(t.Context(), answer, loci.Budget{Tokens: 10_000, For: "a test", Actor: "a"},
				loci.Prompt{User: strings.Repeat("abc", 10), MaxTokens: 10})
			return err
		}
		refused := func(err error) {
			t.Helper()
			locitest.WantCode(t, err, loci.Unavailable)
			var e *loci.TokensError
			if !errors.As(err, &e) || *e != (loci.TokensError{Limit: 40, Used: 40, Wanted: 20, In: 2 * time.Hour}) ||
				!strings.Contains(err.Error(), "used 40 of its 40 tokens") ||
				!strings.Contains(loci.AsError(err).Advice(), "loci tenant rate-limit") {
				t.Errorf("%v, %+v", err, e)
			}
		}
		for i, e := range []*loci.Engine{one, two} {
			if err := call(e, "t"); err != nil {
				t.Errorf("call %d: %v", i, err)
			}
		}
		refused(call(one, "t"))
		refused(call(two, "t"))
		var least *loci.TokensError // the least limit is one, too
		if err := call(one, "least"); !errors.As(err, &least) || least.Limit != 1 || least.Used != 0 {
			t.Errorf("with a limit of 1: %v, %+v", err, least)
		}
		if err := call(one, "other"); err != nil || asked != 3 {
			t.Errorf("another tenant: %v, asked %d times", err, asked)
		}
		if used, err := two.ModelTokensUsed(t.Context(), locitest.Tenant(t, "t")); err != nil || used != 40 {
			t.Errorf("used %d, %v", used, err)
		}
		limits["t"] = 60
		if err := call(two, "t"); err != nil {
			t.Errorf("with a higher limit: %v", err)
		}
		limits["t"], broken = 0, errors.New("disk on fire")
		if err := call(one, "t"); !errors.Is(err, broken) || asked != 4 {
			t.Errorf("whose limit nobody knows: %v, asked %d times", err, asked)
		}
		limits["t"], broken = 40, nil
		c.Advance(2 * time.Hour)
		if err := call(one, "t"); err != nil {
			t.Errorf("on the next day: %v", err)
		}
	})
}

// TestConsolidateWithinTheTokensOfATenant: prompts fit the limit of the tenant; what is too
// little for any of them ends the run before anything is claimed, as a budget that is used up.
func TestConsolidateWithinTheTokensOfATenant(t *testing.T) {
	limit := int64(4999)
	opts := locitest.Quiet(locitest.NewClock())
	opts.ModelTokens = func(context.Context, loci.Tenant) (int64, error) { return limit, nil }
	e := locitest.NewEngine(t, locitest.OpenMemory(), opts)
	m := locitest.Bind(t, e, "user", "u")
	id := locitest.Episode(t, m, "home", strings.Repeat("abc", 2000))
	locitest.Episode(t, m, "home", strings.Repeat("xyz", 2000)) // both are too much for one prompt
	var costs []int64
	answer := completerFunc(func(_ context.Context, p loci.Prompt) (loci.Completion, error) {
		costs = append(costs, loci.EstimateTokens(p.System)+loci.EstimateTokens(p.User)+int64(p.MaxTokens))
		return loci.Completion{Text: "{}", Usage: loci.Usage{PromptTokens: 1000, CompletionTokens: 100}}, nil
	})
	o := loci.ConsolidateOptions{Completer: answer, CompletionTokens: 1000}
	if r := locitest.Consolidate(t, e, o); r.Budget != "day" || len(costs) > 0 || episodeNow(t, m, id).Attempts != 0 {
		t.Errorf("one token too few: %+v, asked %d times", r, len(costs))
	}
	limit = 5000
	if r := locitest.Consolidate(t, e, o); r.Groups != 1 || r.Budget != "day" || len(costs) != 1 || costs[0] > limit {
		t.Errorf("the least limit: %+v, prompts of %d tokens", r, costs)
	}
	if r := locitest.Consolidate(t, e, o); r.Budget != "day" || len(costs) != 1 {
		t.Errorf("when it is used up: %+v, asked %d times", r, len(costs))
	}
}

// A contended store runs something before the first reservation of tokens is written.
type contended struct {
	loci.Store
	first func()
}

func (s *contended) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if first := s.first; first != nil && len(c.Events) > 0 && c.Events[0].Type == loci.EventReserved {
		s.first = nil
		first()
	}
	return s.Store.Apply(ctx, t, c)
}

// Two processes reserve the last tokens at once: one of them is refused. It gives back what it
// reserved, and says what the other one left.
func TestOneOfTwoGetsTheLastTokens(t *testing.T) {
	c := locitest.NewClock()
	c.Set(time.Date(2026, 3, 3, 22, 0, 0, 0, time.UTC))
	opts := locitest.Quiet(c)
	opts.ModelTokens = func(context.Context, loci.Tenant) (int64, error) { return 40, nil }
	s := &contended{Store: locitest.OpenMemory()}
	one, two := locitest.NewEngine(t, s, opts), locitest.NewEngine(t, s.Store, opts)
	call := func(e *loci.Engine) error {
		answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
			return loci.Completion{Usage: loci.Usage{PromptTokens: 18, CompletionTokens: 7}}, nil
		})
		_, err := locitest.Bind(t, e, "u").Complete(t.Context(), answer, loci.Budget{Tokens: 1000, Actor: "a"},
			loci.Prompt{User: strings.Repeat("abc", 10), MaxTokens: 10})
		return err
	}
	s.first = func() {
		if err := call(two); err != nil {
			t.Errorf("the first: %v", err)
		}
	}
	err := call(one)
	var e *loci.TokensError
	want := loci.TokensError{Limit: 40, Used: 25, Wanted: 20, In: 2 * time.Hour}
	if !errors.As(err, &e) || *e != want {
		t.Errorf("the second: %v, %+v; want %+v", err, e, want)
	}
	if used, err := one.ModelTokensUsed(t.Context(), locitest.Tenant(t, "t")); err != nil || used != 25 {
		t.Errorf("used %d, %v", used, err)
	}
}
