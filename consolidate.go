package loci

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/fit"
	"github.com/loci-memory/loci/internal/lesson"
)

// Numbers of consolidation.
const (
	DefaultTokensPerRun     = 100_000
	DefaultTokensPerDay     = 400_000
	DefaultPromptTokens     = 24_000 // of one call
	DefaultCompletionTokens = 4_096  // of one call

	consolidationBatch = 100 // episodes of one call at most
	consolidationLease = 300 * time.Second
	maxDigestAttempts  = 5     // failures after which an episode is a dead letter
	leastPrompt        = 4_000 // tokens; room for the instructions, some memories and an episode
)

// ConsolidateOptions bound a run of [Engine.Consolidate]. The zero value only reports what would be done.
type ConsolidateOptions struct {
	Completer Completer // nil: only report
	DryRun    bool      // only report

	// Budgets, in tokens of prompts and answers together. They hold before a call is
	// made: it is not made unless its prompt, as estimated, and the longest answer fit.
	TokensPerRun int64 // 0: 100,000
	TokensPerDay int64 // of the tenant on a day (UTC), by all processes; 0: 400,000

	PromptTokens     int64 // of one call, as estimated, at least 4,000; 0: 24,000. Less where TokensPerRun asks for it
	CompletionTokens int64 // of one answer, at least 256; 0: 4,096
}

func (o *ConsolidateOptions) complete() error {
	setDefault(&o.TokensPerRun, DefaultTokensPerRun)
	setDefault(&o.TokensPerDay, DefaultTokensPerDay)
	setDefault(&o.PromptTokens, DefaultPromptTokens)
	setDefault(&o.CompletionTokens, DefaultCompletionTokens)
	o.PromptTokens = min(o.PromptTokens, min(o.TokensPerRun, o.TokensPerDay)-o.CompletionTokens)
	switch {
	case o.CompletionTokens < 256:
		return Errorf(Invalid, "completion tokens is %d; it must be at least 256", o.CompletionTokens)
	case o.PromptTokens < leastPrompt:
		return Errorf(Invalid, "the tokens a call leave %d for its prompt; it needs %d: raise the budget a run and a day to %d at least",
			o.PromptTokens, leastPrompt, leastPrompt+o.CompletionTokens)
	}
	return nil
}

// A ConsolidateReport says what a run did, or would do.
type ConsolidateReport struct {
	DryRun bool   `json:"dry_run"` // nothing was done
	Model  string `json:"model,omitempty"`

	Groups          int    `json:"groups"`           // calls made, or to be made
	Episodes        int    `json:"episodes"`         // taken, or to be taken
	EstimatedTokens int64  `json:"estimated_tokens"` // of the prompts and the longest answers
	TooLarge        int    `json:"too_large"`        // episodes that fit in no prompt; they stay as they are
	Waiting         int    `json:"waiting"`          // episodes with an attempt under way, or due later
	Consolidated    int    `json:"consolidated"`     // episodes digested
	Failed          int    `json:"failed"`           // episodes whose attempt failed; another follows
	DeadLettered    int    `json:"dead_lettered"`    // episodes whose last attempt failed
	Created         int    `json:"created"`          // facts
	Updated         int    `json:"updated"`          // facts that took the place of older ones
	Confirmed       int    `json:"confirmed"`        // facts and rules
	Rules           int    `json:"rules"`            // created
	Budget          string `json:"budget,omitempty"` // that ended the run: run or day

	Skipped map[string]int `json:"skipped,omitempty"` // items of the answers, by reason
	Usage   Usage          `json:"usage"`
}

// Consolidate turns episodes into facts and rules with the help of a language model: it claims pending episodes, the
// oldest first, asks once for each group of one namespace and agent, and writes what comes back, with links to the
// evidence, in one change a group. What a group may touch is what lies in its own namespace, in the scope "global" or
// the agent's.
//
// A claim lasts 300 s, so that several processes may consolidate at once and the episodes of one that died are taken
// up by another; the attempt then counts as failed. After the nth failure an episode waits 60·2^n s; after the fifth
// it is a dead letter. Consolidate returns an error when the store fails, the context ends, or the Completer says
// that its configuration is Invalid. It then gives back what it claimed. The report counts what was done until then.
func (e *Engine) Consolidate(ctx context.Context, t Tenant, opts ConsolidateOptions) (ConsolidateReport, error) {
	report := ConsolidateReport{DryRun: opts.DryRun || opts.Completer == nil, Skipped: map[string]int{}}
	if t.IsZero() {
		return report, Errorf(Invalid, "consolidation needs a tenant")
	}
	if err := opts.complete(); err != nil {
		return report, err
	}
	limit, err := e.opts.ModelTokens(ctx, t)
	if err != nil {
		return report, err
	}
	if limit > 0 { // no prompt may be larger than what the tenant has
		opts.TokensPerDay = min(opts.TokensPerDay, limit)
		opts.PromptTokens = max(leastPrompt, min(opts.PromptTokens, limit-opts.CompletionTokens))
	}
	c := &consolidation{engine: e, tenant: t, opts: opts, report: &report}
	if opts.Completer != nil {
		report.Model = opts.Completer.Model()
	}
	c.ledger = ledger{m: c.handle(nil), model: report.Model, perRun: opts.TokensPerRun, perDay: opts.TokensPerDay}
	err = c.run(ctx)
	return report, err
}

// ConsolidatedAt returns when a language model was last asked to consolidate for a tenant, by any process; zero: never.
func (e *Engine) ConsolidatedAt(ctx context.Context, t Tenant) (last time.Time, err error) {
	f := EventFilter{Within: []Namespace{{}}, Types: []EventType{EventReserved}}
	err = e.eachEvent(ctx, t, f, 100, func(event *Event) (more bool, err error) {
		var entry fit.Entry[ID]
		if err := json.Unmarshal(event.Payload, &entry); err != nil {
			return false, &Error{Code: Internal, Op: "read ledger", Err: err}
		}
		if entry.For != "" {
			return true, nil
		}
		last = event.At
		return false, nil
	})
	return last, err
}

// A consolidation is one run.
type consolidation struct {
	engine *Engine
	tenant Tenant
	opts   ConsolidateOptions
	report *ConsolidateReport
	ledger ledger
}

// handle is bound to the namespace of a group and to nothing else.
func (c *consolidation) handle(n Namespace) *Memory {
	return &Memory{engine: c.engine, view: View{Tenant: c.tenant, Namespace: n, Actor: "loci consolidate",
		Source: Source{Kind: "derived", Client: "loci"}}}
}

// A group is what one call is about.
type group struct {
	namespace Namespace
	butler    string
	episodes  []Record
}

// run goes through the episodes once, a batch at a time.
func (c *consolidation) run(ctx context.Context) error {
	f := Filter{
		Within: []Namespace{{}}, Kinds: []Kind{KindEpisode},
		Statuses: []string{string(Pending), string(Failed)}, At: c.engine.now(),
	}
	var batch []Record
	for page := (Page{Limit: consolidationBatch, Order: OldestFirst}); ; {
		records, next, err := c.engine.store.Records(ctx, c.tenant, f, page)
		if err != nil {
			return err
		}
		for i := range records {
			body, err := readEpisode(&records[i])
			if err != nil {
				return err
			}
			if !body.due(c.engine.now()) {
				c.report.Waiting++
				continue
			}
			batch = append(batch, records[i])
		}
		if page.Cursor = next; next != "" && len(batch) < consolidationBatch {
			continue
		}
		for part := range slices.Chunk(batch, consolidationBatch) {
			for _, g := range c.groups(part) {
				if done, err := c.digest(ctx, g); err != nil || done {
					return err
				}
			}
		}
		if batch = batch[:0]; next == "" {
			return nil
		}
	}
}

// due reports whether an attempt may begin: no other one is under way, and the time after the last failure has passed.
func (b *episodeBody) due(now time.Time) bool {
	return (b.Status == Pending || b.Status == Failed) && !now.Before(b.LeasedUntil) && !now.Before(b.RetryAt)
}

// groups divides episodes by namespace and agent, in parts that fit in a prompt.
func (c *consolidation) groups(episodes []Record) []group {
	room := c.opts.PromptTokens * 3 / 4 // the rest is for the instructions and what is known already
	parts, tooLarge := lesson.Groups(episodes, room, func(r *Record) (key string, cost int64) {
		return r.Namespace.Key() + "\x00" + r.Scope, EstimateTokens(episodeLine(r))
	})
	c.report.TooLarge += tooLarge
	out := make([]group, len(parts))
	for i, part := range parts {
		out[i] = group{namespace: part[0].Namespace, butler: part[0].Scope, episodes: part}
	}
	return out
}

// digest makes one call. done says that a budget ends the run.
func (c *consolidation) digest(ctx context.Context, g group) (done bool, err error) {
	m := c.handle(g.namespace)
	if c.report.DryRun {
		p, err := c.prompt(ctx, m, &g)
		c.report.Groups++
		c.report.Episodes += len(g.episodes)
		c.report.EstimatedTokens += c.cost(p)
		return false, err
	}
	// Asked before anything is claimed: a budget that is used up leaves no trace.
	if left, budget, err := c.ledger.left(ctx); err != nil || left < leastPrompt+c.opts.CompletionTokens {
		c.report.Budget = budget
		return err == nil, err
	}
	lease := c.engine.opts.NewID()
	claimed, err := m.claim(ctx, g.episodes, lease)
	c.report.DeadLettered += claimed.dead
	if g.episodes = claimed.episodes; err != nil || len(g.episodes) == 0 {
		return false, err
	}
	budget, err := c.attempt(ctx, m, &g, lease)
	if err != nil || budget != "" {
		c.report.Budget = budget
		// Also when the caller has gone: others need not wait for the lease.
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return true, errors.Join(err, m.release(last, g.episodes, lease))
	}
	return false, nil
}

// attempt asks and writes down what comes of it. An error, or a budget that is too
// small, means that there was no attempt.
func (c *consolidation) attempt(ctx context.Context, m *Memory, g *group, lease ID) (budget string, err error) {
	p, err := c.prompt(ctx, m, g)
	if err != nil {
		return "", err
	}
	cost := c.cost(p)
	call, budget, err := c.ledger.reserve(ctx, cost)
	if err != nil || budget != "" {
		return budget, err
	}
	c.report.Groups++
	c.report.Episodes += len(g.episodes)
	c.report.EstimatedTokens += cost
	answer, failure := ask(ctx, c.opts.Completer, p.Prompt, p.tokens)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := c.ledger.settle(last, call, cost, answer.Usage); err != nil {
		return "", err
	}
	c.report.Usage.add(answer.Usage)
	switch {
	case ctx.Err() != nil:
		return "", AsError(ctx.Err())
	case errors.Is(failure, ErrInvalid):
		return "", failure
	}
	if failure == nil {
		failure = c.write(ctx, m, g, answer, lease)
		if failure == nil {
			return "", nil
		}
		if !errors.Is(failure, errUnusable) {
			return "", failure
		}
	}
	c.engine.opts.Logger.WarnContext(ctx, "an attempt to consolidate failed", "model", p.model, "episodes", len(g.episodes), "error", failure)
	failed, dead, err := m.failEpisodes(ctx, g.episodes, lease)
	c.report.Failed += failed
	c.report.DeadLettered += dead
	return "", err
}

// cost is the most a call is expected to take.
func (c *consolidation) cost(p prompted) int64 { return p.tokens + c.opts.CompletionTokens }

func (u *Usage) add(more Usage) {
	u.PromptTokens += more.PromptTokens
	u.CompletionTokens += more.CompletionTokens
	u.Estimated = u.Estimated || more.Estimated
}

// write digests an answer. errUnusable: there is nothing in it.
func (c *consolidation) write(ctx context.Context, m *Memory, g *group, answer Completion, lease ID) error {
	reply, err := readDigest(answer)
	if err != nil {
		return err
	}
	done, err := m.applyDigest(ctx, g, reply, lease)
	if err != nil {
		return err
	}
	r := c.report
	r.Consolidated += done.Consolidated
	r.Created += done.Created
	r.Updated += done.Updated
	r.Confirmed += done.Confirmed
	r.Rules += done.Rules
	for reason, n := range done.Skipped {
		r.Skipped[reason] += n
	}
	if done.unusable {
		return errUnusable
	}
	return nil
}

// errUnusable is an answer from which nothing can be taken.
var errUnusable = &Error{Code: Unavailable, Op: "consolidate", Msg: "the answer of the model cannot be used"}

// unusable says why.
func unusable(why string) error {
	return &Error{Code: Unavailable, Op: "consolidate", Msg: cmp.Or(why, errUnusable.Msg), Err: errUnusable}
}
