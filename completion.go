package loci

import (
	"cmp"
	"context"
	"time"

	"github.com/loci-memory/loci/internal/fit"
)

// A Completer is a language model that answers a prompt. It is safe for concurrent use and bounds the time and the size
// of an answer itself. Its errors are *[Error]s: Invalid for what the operator has to correct (a key, the name of the
// model); any other error may be gone at the next call.
type Completer interface {
	Model() string // for messages and the audit log
	Complete(ctx context.Context, p Prompt) (Completion, error)
}

// A Prompt is what a [Completer] answers.
type Prompt struct {
	System    string // what the model is to do
	User      string // the data
	MaxTokens int    // of the answer; at least 1
}

// A Completion is the answer to a prompt.
type Completion struct {
	Text      string
	Truncated bool // the answer was cut at MaxTokens
	Usage     Usage
}

// A Usage says how many tokens a call took.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
	Estimated        bool  `json:"estimated,omitzero"` // the service did not say: see [EstimateTokens]
}

// Total is what counts against a budget.
func (u Usage) Total() int64 { return u.PromptTokens + u.CompletionTokens }

// EstimateTokens guesses how many tokens a text takes, rather too many than too few: see [fit.Estimate].
func EstimateTokens(text string) int64 { return fit.Estimate(text) }

// A ledger holds the tokens of one run and, through the audit log, those of all
// processes on a day (UTC). Tokens are reserved before a call is made; what the call
// took replaces the reservation. A process that dies in between leaves it standing.
type ledger struct {
	m      *Memory // of the whole tenant
	model  string
	perRun int64
	perDay int64
	limit  int64  // of the tenant on a day, not below perDay; 0: none
	used   int64  // by the tenant today, when somebody looked last
	spent  int64  // by this run, what is reserved included
	usage  string // what the calls are for; "": consolidation
	today  fit.Day[ID]
}

// left is what may still be reserved, and which budget says so.
func (l *ledger) left(ctx context.Context) (tokens int64, budget string, err error) {
	day, err := l.day(ctx)
	if err == nil {
		l.used = day
		tokens, budget = fit.Left(l.perRun-l.spent, l.perDay-day)
	}
	return tokens, budget, err
}

// day sums the calls that were begun on the engine's day. It reads what the log has of them since it was asked last.
func (l *ledger) day(ctx context.Context) (tokens int64, err error) {
	l.today.Begin(l.m.engine.now())
	f := EventFilter{Within: []Namespace{{}}, Types: []EventType{EventReserved, EventSpent}}
	err = l.m.engine.eachEvent(ctx, l.m.view.Tenant, f, 100, func(e *Event) (more bool, err error) {
		if more, err = l.today.Take(e.Seq, e.At, e.Payload, e.Type == EventSpent); err != nil {
			err = &Error{Code: Internal, Op: "read ledger", Err: err}
		}
		return more, err
	})
	if err == nil {
		l.today.End()
	}
	return l.today.Sum, err
}

// reserve takes tokens out of both budgets, or none and says which one is too small. The sum is read again after the
// reservation is written: of two processes that reserve at once each sees the other's, and none goes beyond.
func (l *ledger) reserve(ctx context.Context, tokens int64) (call ID, budget string, err error) {
	left, budget, err := l.left(ctx)
	if err != nil || tokens > left {
		return ID{}, budget, err
	}
	call = l.m.engine.opts.NewID()
	if err := l.note(ctx, EventReserved, map[string]any{"call": call, "tokens": tokens, "model": l.model}); err != nil {
		return ID{}, "", err
	}
	l.spent += tokens
	day, err := l.day(ctx)
	if err == nil && day > l.perDay {
		l.used = day - tokens
		return ID{}, "day", l.settle(ctx, call, tokens, Usage{})
	}
	return call, "", err
}

// settle replaces a reservation by what the call took.
func (l *ledger) settle(ctx context.Context, call ID, reserved int64, u Usage) error {
	l.spent += u.Total() - reserved
	return l.note(ctx, EventSpent, map[string]any{"call": call, "tokens": u.Total(), "prompt_tokens": u.PromptTokens,
		"completion_tokens": u.CompletionTokens, "estimated": u.Estimated})
}

func (l *ledger) note(ctx context.Context, typ EventType, payload map[string]any) error {
	if l.usage != "" {
		payload["for"] = l.usage
	}
	return l.m.engine.store.Apply(ctx, l.m.view.Tenant,
		Change{Events: []Event{l.m.event(typ, &Record{}, l.m.engine.now(), payload)}})
}

// completionTimeout bounds a call of a model: less than the lease of a consolidation,
// so that what comes back may still be written down.
const completionTimeout = 240 * time.Second

// ask calls a model with a prompt of so many tokens, as estimated. The usage of a call
// that failed is unknown: if the model may have answered, the estimate counts.
func ask(ctx context.Context, model Completer, p Prompt, tokens int64) (Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	answer, err := model.Complete(ctx, p)
	u := &answer.Usage
	switch {
	case err != nil && ctx.Err() != nil && u.Total() == 0:
		*u = Usage{PromptTokens: tokens, CompletionTokens: int64(p.MaxTokens), Estimated: true}
	case err == nil && (u.PromptTokens <= 0 || u.CompletionTokens < 0):
		*u = Usage{PromptTokens: tokens, CompletionTokens: EstimateTokens(answer.Text), Estimated: true}
	}
	return answer, err
}

// ask makes a call of a model within the budgets. Unavailable: they are used up, and there was no call.
func (l *ledger) ask(ctx context.Context, model Completer, p Prompt) (Completion, error) {
	tokens := EstimateTokens(p.System) + EstimateTokens(p.User)
	cost := tokens + int64(p.MaxTokens)
	call, budget, err := l.reserve(ctx, cost)
	switch {
	case err != nil:
		return Completion{}, err
	case budget == "day" && l.limit > 0 && l.used+cost > l.limit:
		return Completion{}, l.refusal(cost)
	case budget != "":
		return Completion{}, Errorf(Unavailable, "a call of %d tokens is more than the budget of the %s leaves", cost, budget)
	}
	answer, failure := ask(ctx, model, p, tokens)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := l.settle(last, call, cost, answer.Usage); err != nil {
		return Completion{}, err
	}
	return answer, failure
}

// A Budget is what the calls of a model for one purpose may take on a day (UTC), over all processes.
type Budget struct {
	Tokens int64
	For    string // the purpose, for the audit log
	Actor  string // who calls, for the audit log
}

// Complete asks a language model within a budget, and writes down what the call took. The events lie above the
// namespaces of users and say nothing of the prompt. Unavailable: the budget is used up, and there was no call; with
// a [TokensError] if that is the limit of the tenant.
func (m *Memory) Complete(ctx context.Context, model Completer, b Budget, p Prompt) (Completion, error) {
	limit, err := m.engine.opts.ModelTokens(ctx, m.view.Tenant)
	if err != nil {
		return Completion{}, err
	}
	above := &Memory{engine: m.engine, view: View{Tenant: m.view.Tenant, Actor: b.Actor, RequestID: m.view.RequestID}}
	perDay := min(b.Tokens, cmp.Or(limit, b.Tokens))
	l := &ledger{m: above, model: model.Model(), perRun: b.Tokens, perDay: perDay, limit: limit, usage: b.For}
	return l.ask(ctx, model, p)
}
