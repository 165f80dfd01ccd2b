package loci

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/lifecycle"
)

// Effectiveness rates a rule by how often it helped and did harm, 0 to 1: successes / (successes + 4·harms + 0.01). One
// harm weighs as much as four successes; the last term keeps a new rule at 0.
func Effectiveness(successes, harms int64) float64 {
	return lifecycle.Marks{Successes: successes, Harms: harms}.Effectiveness()
}

// MaxReasonBytes bounds the reason why a rule did harm.
const MaxReasonBytes = 1 << 10

// maxReasons bounds how many of them a rule keeps.
const maxReasons = 20

// marks are what the maturity of a rule follows from.
func (b *ruleBody) marks() lifecycle.Marks {
	return lifecycle.Marks{Successes: b.Successes, Harms: b.Harms}
}

// MarkHelpful counts a success of a rule and returns the rule. It may rise in maturity, one step a call. NotFound:
// there is no such rule in this namespace; Conflict: it was forgotten.
func (m *Memory) MarkHelpful(ctx context.Context, id ID) (Rule, error) {
	return m.mark(ctx, "mark helpful", map[string]any{"id": id}, id, func(r *Record, b *ruleBody, now time.Time) ([]Event, error) {
		b.Successes++
		events := []Event{m.event(EventHelpful, r, now, map[string]any{"success_count": b.Successes})}
		if to := lifecycle.Risen(b.Maturity, b.marks(), now.Sub(r.CreatedAt)); to != b.Maturity {
			events = append(events, m.event(EventPromoted, r, now, map[string]any{"from": b.Maturity, "to": to}))
			b.Maturity = to
		}
		return events, nil
	})
}

// MarkHarmful counts a harm of a rule, keeps the reason, if any, and returns the rule. It may fall in maturity, one
// step a call, and at three harms and an effectiveness below 0.3 it becomes an anti-pattern: a warning that does not
// decay. The newest 20 reasons are kept, each at most 1 KiB. NotFound: there is no such rule in this namespace;
// Conflict: it was forgotten.
func (m *Memory) MarkHarmful(ctx context.Context, id ID, reason string) (Rule, error) {
	reason = m.engine.redact(strings.TrimSpace(reason))
	switch {
	case !utf8.ValidString(reason) || strings.ContainsRune(reason, 0):
		return Rule{}, Errorf(Invalid, "reason is not valid text")
	case len(reason) > MaxReasonBytes:
		return Rule{}, Errorf(TooLarge, "reason has %d bytes; the limit is %d: shorten it", len(reason), MaxReasonBytes)
	}
	return m.mark(ctx, "mark harmful", map[string]any{"id": id, "reason": reason}, id,
		func(r *Record, b *ruleBody, now time.Time) ([]Event, error) {
			b.Harms++
			if reason != "" {
				b.Reasons = append(b.Reasons, reason)
				b.Reasons = b.Reasons[max(0, len(b.Reasons)-maxReasons):]
			}
			events := []Event{m.event(EventHarmful, r, now, map[string]any{"harmful_count": b.Harms})}
			if to := lifecycle.Fallen(b.Maturity, b.marks()); to != b.Maturity {
				events = append(events, m.event(EventDemoted, r, now, map[string]any{"from": b.Maturity, "to": to}))
				b.Maturity = to
			}
			if lifecycle.Inverts(b.Maturity, b.marks()) {
				events = append(events, m.event(EventInverted, r, now, map[string]any{"from": b.Maturity, "to": AntiPattern}))
				b.Original, b.Maturity, b.Permanence, b.Validity = r.Text, AntiPattern, Permanent, Active
				r.Text = lifecycle.Warning(b.Original, b.Reasons, m.engine.opts.Content.MaxBytes)
				r.UpdatedAt = now
			}
			return events, nil
		})
}

// mark changes the counts of a rule; rate returns the events of it.
func (m *Memory) mark(
	ctx context.Context, op string, request any, id ID, rate func(*Record, *ruleBody, time.Time) ([]Event, error),
) (Rule, error) {
	return Commit(ctx, m, op, request, func(now time.Time) (Decision[Rule], error) {
		var none Decision[Rule]
		old, err := m.one(ctx, m.writable(now, KindRule), id)
		if err != nil {
			return none, err
		}
		if !old.Live {
			return none, Errorf(Conflict, "the rule %s was forgotten: restore it, or store it again", id)
		}
		r := old
		r.Version++
		body, err := readRule(&r)
		if err != nil {
			return none, err
		}
		body.Applied++
		body.AppliedAt = lifecycle.Later(now, body.AppliedAt)
		events, err := rate(&r, &body, now)
		if err != nil {
			return none, err
		}
		put := Put{SameText: r.Text == old.Text, Revisions: keptRevisions}
		if !put.SameText {
			put.Revisions = m.engine.opts.Retention.Revisions
			r.Passages = m.engine.passages(r.Text)
			put.Vectors = m.engine.embed(ctx, m.view.Tenant, &r)
		}
		if err := setRule(&r, body); err != nil {
			return none, err
		}
		put.Record = r
		rule, err := RuleOf(&r, now)
		return Decision[Rule]{Reply: rule, Record: id, Change: Change{Put: []Put{put}, Events: events}}, err
	})
}
