package loci

import (
	"context"
	"fmt"

	"github.com/loci-memory/loci/internal/quota"
)

// A Quota bounds what a tenant holds. 0: no bound.
type Quota struct {
	Records int64
	Bytes   int64
}

// Holding is what a tenant holds, as a [Quota] counts it: see [quota.Holding].
type Holding = quota.Holding

// Sizes are the bytes of a record as a [Quota] counts them: of its text and heading, which a
// change may leave as they are, and of the rest.
func (r *Record) Sizes() (text, data int64) {
	return int64(len(r.Text) + len(r.Heading)), int64(len(r.Attributes) + len(r.Body))
}

// Refuse is the error for a change that takes a tenant from one usage to another, or nil. A
// change that makes nothing larger may always be made, also beyond a quota that was lowered.
func (q *Quota) Refuse(from, to Holding) error {
	switch {
	case q == nil:
	case q.Records > 0 && to.Records > q.Records && to.Records > from.Records:
		return overQuota("records", q.Records, from.Records, to.Records)
	case q.Bytes > 0 && to.Bytes > q.Bytes && to.Bytes > from.Bytes:
		return overQuota("bytes", q.Bytes, from.Bytes, to.Bytes)
	}
	return nil
}

// A QuotaError is the cause of the TooLarge with which a store refuses a change, and a TokensError that of the
// Unavailable with which a call of a language model is refused that would take a tenant beyond its tokens of the day.
type (
	QuotaError  = quota.Error
	TokensError = quota.TokensError
)

func overQuota(of string, limit, used, wanted int64) error {
	return &Error{
		Code: TooLarge, Op: "apply",
		Msg:      fmt.Sprintf("the tenant holds %d of its %d %s, and this would make it %d", used, limit, of, wanted),
		Recovery: "Erase what you no longer need, or ask the operator for more: loci tenant limit.",
		Err:      &QuotaError{Of: of, Limit: limit, Used: used},
	}
}

// refusal is the error for a call that may cost so many tokens, where the limit of the tenant leaves fewer.
func (l *ledger) refusal(cost int64) error {
	return &Error{
		Code: Unavailable, Op: "complete",
		Msg: fmt.Sprintf("the tenant has used %d of its %d tokens of language models today (UTC), and this call may take %d",
			l.used, l.limit, cost),
		Recovery: "Try again tomorrow, or ask the operator for more: loci tenant rate-limit, or limits.model_tokens_per_day.",
		Err:      &TokensError{Limit: l.limit, Used: l.used, Wanted: cost, In: quota.Tomorrow(l.m.engine.now())},
	}
}

// ModelTokensUsed returns how many tokens language models have used for a tenant since the day (UTC) began, on all
// processes, as the audit log has them. A call under way counts as the most that it may take.
func (e *Engine) ModelTokensUsed(ctx context.Context, t Tenant) (int64, error) {
	return (&ledger{m: &Memory{engine: e, view: View{Tenant: t}}}).day(ctx)
}
