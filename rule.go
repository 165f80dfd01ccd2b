package loci

import (
	"cmp"
	"context"
	"time"

	"github.com/loci-memory/loci/internal/lifecycle"
)

// A Maturity says how far a rule has proved itself.
type Maturity string

// The maturities of a rule.
const (
	Candidate   Maturity = lifecycle.Candidate   // new
	Established Maturity = lifecycle.Established // helped at least 5 times
	Proven      Maturity = lifecycle.Proven      // helped at least 15 times over 30 days
	AntiPattern Maturity = lifecycle.AntiPattern // did harm: now a warning, for good
)

// A Rule is an instruction for how to behave, rated by those who follow it.
type Rule struct {
	ID        ID        `json:"id"`
	Namespace Namespace `json:"namespace"`
	Content   string    `json:"content"`
	Original  string    `json:"original_content,omitempty"` // of an anti-pattern: the rule it warns of
	Scope     string    `json:"scope"`
	Tags      []string  `json:"tags,omitempty"`

	Maturity      Maturity  `json:"maturity"`
	Successes     int64     `json:"success_count"`
	Harms         int64     `json:"harmful_count"`
	Applied       int64     `json:"applied_count"`
	Effectiveness float64   `json:"effectiveness_score"` // see [Effectiveness]
	Reasons       []string  `json:"harmful_reasons,omitempty"`
	AppliedAt     time.Time `json:"last_applied_at,omitzero"`

	Importance          float64    `json:"importance"`
	Permanence          Permanence `json:"permanence"`
	DecayRate           float64    `json:"decay_rate"` // a day
	Confidence          float64    `json:"confidence"`
	EffectiveConfidence float64    `json:"effective_confidence"` // at the moment of reading
	Validity            Validity   `json:"validity"`             // at the moment of reading; retracted: forgotten
	ForgottenAt         time.Time  `json:"forgotten_at,omitzero"`

	Version     int64     `json:"version"`
	CreatedAt   time.Time `json:"created_at"`
	UpdatedAt   time.Time `json:"updated_at"`
	ConfirmedAt time.Time `json:"last_confirmed_at"`
	Uses        int64     `json:"reference_count"`
	UsedAt      time.Time `json:"last_referenced_at,omitzero"`
	Source      Source    `json:"source,omitzero"`
}

// ruleBody is the part of a rule that only its own files read.
type ruleBody struct {
	Scope       string     `json:"scope"`
	Maturity    Maturity   `json:"maturity"`
	Successes   int64      `json:"success_count,omitzero"`
	Harms       int64      `json:"harmful_count,omitzero"`
	Applied     int64      `json:"applied_count,omitzero"`
	Reasons     []string   `json:"harmful_reasons,omitempty"`
	Original    string     `json:"original_content,omitempty"`
	AppliedAt   time.Time  `json:"last_applied_at,omitzero"`
	Confidence  float64    `json:"confidence"`
	Permanence  Permanence `json:"permanence"`
	Validity    Validity   `json:"validity"` // as last noted; see validityAt
	ConfirmedAt time.Time  `json:"last_confirmed_at"`
	ForgottenAt time.Time  `json:"forgotten_at,omitzero"`
	Source      Source     `json:"source,omitzero"`
}

// ruleConfidence is what a new rule starts with.
const ruleConfidence = 0.5

func readRule(r *Record) (body ruleBody, err error) {
	return body, ReadBody(r, &body)
}

// setRule encodes the body of a rule and derives what filters ask for.
func setRule(r *Record, body ruleBody) error {
	rate, err := body.Permanence.Rate()
	if err != nil {
		return err
	}
	r.Scope, r.Status = body.Scope, string(body.Maturity)
	r.schedule(Decay{Confidence: body.Confidence, Rate: rate, From: body.ConfirmedAt}, body.Validity)
	return SetBody(r, body)
}

// RuleOf decodes a record of kind rule, as it is at a moment.
func RuleOf(r *Record, at time.Time) (Rule, error) {
	b, err := readRule(r)
	if err != nil {
		return Rule{}, err
	}
	return Rule{
		ID: r.ID, Namespace: r.Namespace, Content: r.Text, Original: b.Original, Scope: b.Scope, Tags: r.Tags,
		Maturity: b.Maturity, Successes: b.Successes, Harms: b.Harms, Applied: b.Applied,
		Effectiveness: Effectiveness(b.Successes, b.Harms), Reasons: b.Reasons, AppliedAt: b.AppliedAt,
		Importance: DefaultImportance, Permanence: b.Permanence, DecayRate: decayRates[b.Permanence],
		Confidence: b.Confidence, EffectiveConfidence: r.Decay.At(at), Validity: r.validityAt(b.Validity, at),
		ForgottenAt: b.ForgottenAt, Version: r.Version, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		ConfirmedAt: b.ConfirmedAt, Uses: r.Uses, UsedAt: r.UsedAt, Source: b.Source,
	}, nil
}

// A NewRule is what [Memory.StoreRule] stores.
type NewRule struct {
	Content string   `json:"content"`
	Scope   string   `json:"scope,omitempty"` // default "global"
	Tags    []string `json:"tags,omitempty"`  // see [CheckTags]
}

// StoreRule remembers a rule as a candidate with confidence 0.5.
func (m *Memory) StoreRule(ctx context.Context, in NewRule) (ID, error) {
	draft, body, err := m.draftRule(in)
	if err != nil {
		return ID{}, err
	}
	return Commit(ctx, m, "store rule", in, func(now time.Time) (d Decision[ID], err error) {
		d.Reply, err = m.addRule(ctx, &d.Change, *draft, body, now)
		d.Record = d.Reply
		return d, err
	})
}

// draftRule checks a new rule and makes its record, all but ids and times.
func (m *Memory) draftRule(in NewRule) (*Record, ruleBody, error) {
	e := m.engine
	text, _, err := e.content(in.Content, nil)
	if err != nil {
		return nil, ruleBody{}, err
	}
	tags, err := e.tags(in.Tags)
	if err != nil {
		return nil, ruleBody{}, err
	}
	body := ruleBody{
		Scope: cmp.Or(e.redact(in.Scope), GlobalScope), Maturity: Candidate,
		Confidence: ruleConfidence, Permanence: Standard, Validity: Active, Source: m.view.Source,
	}
	if err := CheckLabel("scope", body.Scope); err != nil {
		return nil, ruleBody{}, err
	}
	return &Record{
		Kind: KindRule, Namespace: m.view.Namespace, Version: 1,
		Live: true, Text: text, Passages: e.passages(text), Tags: tags,
	}, body, nil
}

// addRule adds a new rule to a change.
func (m *Memory) addRule(ctx context.Context, c *Change, r Record, body ruleBody, now time.Time) (ID, error) {
	r.ID, r.CreatedAt, r.UpdatedAt, body.ConfirmedAt = m.engine.opts.NewID(), now, now, now
	if err := setRule(&r, body); err != nil {
		return ID{}, err
	}
	c.Put = append(c.Put, Put{Record: r, Vectors: m.engine.embed(ctx, m.view.Tenant, &r)})
	c.Events = append(c.Events, m.event(EventCreated, &r, now, map[string]any{"version": 1, "bytes": len(r.Text)}))
	return r.ID, nil
}

// Rule reads one rule by id, even a forgotten one. NotFound: there is none in what the handle may read.
func (m *Memory) Rule(ctx context.Context, id ID) (Rule, error) {
	r, now, err := m.kept(ctx, id, KindRule)
	if err != nil {
		return Rule{}, err
	}
	return RuleOf(&r, now)
}

// A RuleQuery selects rules for [Memory.Rules].
type RuleQuery struct {
	Tags          []string // has all of them
	Scopes        []string // one of these
	Maturities    []Maturity
	MinConfidence float64 // effective confidence of at least so much; 0: any
	History       bool    // also forgotten and expired ones
}

// Rules lists rules, newest first. next continues the list; "" is its end.
func (m *Memory) Rules(ctx context.Context, q RuleQuery, page Page) (rules []Rule, next string, err error) {
	now := m.engine.now()
	f := m.readable(now, KindRule)
	f.NotLive, f.Scopes, f.MinConfidence = q.History, q.Scopes, q.MinConfidence
	for _, maturity := range q.Maturities {
		f.Statuses = append(f.Statuses, string(maturity))
	}
	if f.Tags, err = CheckTags(q.Tags); err != nil {
		return nil, "", err
	}
	return listed(ctx, m, f, page, func(r *Record) (Rule, error) { return RuleOf(r, now) })
}

// listed reads a page of records and decodes them.
func listed[T any](
	ctx context.Context, m *Memory, f Filter, page Page, decode func(*Record) (T, error),
) (out []T, next string, err error) {
	page.Brief = false // what a memory is needs all of its record
	records, next, err := m.engine.store.Records(ctx, m.view.Tenant, f, page)
	if err != nil {
		return nil, "", err
	}
	out = make([]T, len(records))
	for i := range records {
		if out[i], err = decode(&records[i]); err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}
