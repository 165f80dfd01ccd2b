package loci

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/attribute"
	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/fit"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/jsonguard"
)

// DefaultTokenBudget is how many tokens a context has unless its query says otherwise.
const (
	DefaultTokenBudget = 3000
	MaxTokenBudget     = 200_000
)

// A Tokenizer counts tokens as a model does. It is safe for concurrent use, and
// the same text always has the same number.
type Tokenizer interface {
	Name() string // such as "o200k_base"
	Count(text string) int
}

// ContextQuotas are the shares of a token budget that the sections of a context
// have, not negative, with the sum 1. What a section leaves unused passes on.
type ContextQuotas struct {
	Facts    float64 `json:"facts"`    // default 0.5
	Rules    float64 `json:"rules"`    // default 0.3
	Episodes float64 `json:"episodes"` // default 0.2
}

// A ContextQuery is what [Memory.Context] makes a context for.
type ContextQuery struct {
	Prompt string // what the agent was asked; of a long one the first 16 KiB count

	// Agent, the butler: its scope and "global", and its episodes; empty: the memory of all.
	Agent string

	// TokenBudget is the number of tokens the whole text has at most, 0 to 200,000; nil: 3000.
	TokenBudget *int

	MinScore float64        // as in [RecallQuery]
	Weights  *RecallWeights // the same

	// Clean, when not nil, gets every stored text before it is shown and counted. It may
	// remove credentials that were stored as written, for example.
	Clean func(text string) string
}

// A ContextBlock is a text for a system prompt, and what is in it.
type ContextBlock struct {
	Text        string        `json:"text"`
	Tokens      int           `json:"tokens"` // of Text
	Budget      int           `json:"token_budget"`
	Tokenizer   string        `json:"tokenizer"` // that counted; "bytes" without one
	Weights     RecallWeights `json:"weights"`   // that the scores were made with
	Shown       []ContextItem `json:"shown"`     // in the order of the text
	Omitted     []ContextItem `json:"omitted"`   // found, and left out; by section and score
	Unfit       int           `json:"unfit"`     // how many candidates were left out for MinScore
	KeywordOnly bool          `json:"keyword_only,omitzero"`
	At          time.Time     `json:"at"` // the moment it was made
}

// A ContextItem is a memory that a context shows, or leaves out for a reason.
type ContextItem struct {
	Kind    Kind          `json:"type"`
	ID      ID            `json:"id"`
	Score   float64       `json:"score"`
	Fit     float64       `json:"fit"` // see [Recalled]
	Explain RecallExplain `json:"explain"`
	Tokens  int           `json:"tokens"`           // of its line; 0: not counted, since it is far too long, others before it are, or no room was left
	Reason  OmitReason    `json:"reason,omitempty"` // of one left out
}

// An OmitReason says why a context leaves a memory out.
type OmitReason string

// The reasons there are.
const (
	TooLong OmitReason = "too_long" // alone longer than the budget
	NoRoom  OmitReason = "no_room"  // better ones took the room
)

// Context makes a text for the system prompt of an agent: facts, rules and recent episodes by score, in at most
// TokenBudget tokens. The same store and the same query at the same moment give the same bytes. Stored text is fenced:
// it cannot forge a heading or a line. It counts no use.
//
// A budget too small for the headings gives the empty text. An embedder that does
// not answer leaves what the keywords find.
func (m *Memory) Context(ctx context.Context, q ContextQuery) (ContextBlock, error) {
	prompt, budget, err := q.Check()
	if err != nil {
		return ContextBlock{}, err
	}
	topic := RecallQuery{Topic: prompt, MinScore: q.MinScore, Weights: q.Weights}
	if q.Agent != "" {
		topic.Scopes = []string{q.Agent}
	}
	words, err := m.checkRecall(&topic)
	if err != nil {
		return ContextBlock{}, err
	}
	if q.Clean == nil {
		q.Clean = func(text string) string { return text }
	}
	var p probing
	begun := ContextBlock{Budget: budget, Tokenizer: m.engine.opts.Tokenizer.Name(), At: m.engine.now()}
	block, more, err := m.contextFrom(ctx, fit.First, &q, begun, topic, words, &p)
	if more && err == nil && block.Text != "" && 3*block.Tokens < 2*budget && block.Unfit == 0 {
		block, _, err = m.contextFrom(ctx, fit.All, &q, begun, topic, words, &p)
	}
	return block, err
}

// contextFrom makes a context from the candidates of a round. more reports whether there may be others.
func (m *Memory) contextFrom(
	ctx context.Context, r fit.Round, q *ContextQuery, block ContextBlock, topic RecallQuery, words Query, p *probing,
) (_ ContextBlock, more bool, err error) {
	o := &m.engine.opts
	var limits, lines []int
	found := make([]*sought, len(contextSections))
	shares := []float64{o.ContextQuotas.Facts, o.ContextQuotas.Rules, o.ContextQuotas.Episodes}
	if _, err = m.candidates(ctx, words, p, func(Probe) (_ []Hit, err error) {
		asker := func(i, limit, wide int) (n int, few bool, err error) {
			topic.Kinds, topic.Limit, p.Few = []Kind{contextSections[i].kind}, limit, wide
			if found[i], err = m.ask(ctx, topic, words.Mode, block.At, p); err != nil {
				return 0, false, err
			}
			if few = len(found[i].hits) == 0 || found[i].hits[0].Many < 1; few {
				found[i].query.Limit = wide
			}
			return len(found[i].hits), few, nil
		}
		limits, lines, more, err = fit.Candidates(block.Budget, shares, r, asker)
		p.Few = 0
		return nil, err
	}); err != nil {
		return ContextBlock{}, false, err
	}
	best, err := m.weigh(ctx, found, p, limits, Page{Core: true})
	if err != nil {
		return ContextBlock{}, false, err
	}
	var sections [len(contextSections)]fit.Section[weighed]
	for i, f := range found {
		block.Unfit, block.Weights = block.Unfit+f.result.Unfit, f.result.Weights
		block.KeywordOnly = block.KeywordOnly || f.result.KeywordOnly
		sections[i] = fit.Section[weighed]{Heading: contextSections[i].heading, Share: shares[i]}
		for _, it := range best[i][:min(len(best[i]), lines[i])] {
			sections[i].Add(it, len(it.record.Text), block.Budget)
		}
	}
	line := func(w *weighed) (string, error) { return contextLine(w.record, block.At, q.Clean) }
	w := fit.Writer[weighed]{Title: "# Memory Context\n", Line: line, Count: o.Tokenizer.Count, Budget: block.Budget,
		Sections: sections[:], Compare: compareWeighed}
	if err := w.Fill(ctx); err != nil {
		return ContextBlock{}, false, AsError(err)
	}
	block.Text, block.Tokens = w.Fit()
	block.Shown, block.Omitted = manifest(sections[:])
	return block, more, nil
}

// manifest lists what a text shows and what it leaves out.
func manifest(sections []fit.Section[weighed]) (shown, omitted []ContextItem) {
	lines, left := fit.Count(sections)
	shown, omitted = make([]ContextItem, 0, lines-left), make([]ContextItem, 0, left) // each is large
	for _, s := range sections {
		for _, it := range s.Lines {
			w := it.About
			item := ContextItem{Kind: w.record.Kind, ID: w.ID, Score: w.total, Fit: w.score,
				Explain: w.x, Tokens: it.Tokens}
			if it.Shown {
				shown = append(shown, item)
				continue
			}
			item.Reason = NoRoom
			if it.TooLong {
				item.Reason = TooLong
			}
			omitted = append(omitted, item)
		}
	}
	return shown, omitted
}

// contextSections are the sections in their order.
var contextSections = [...]struct {
	heading string
	kind    Kind
}{{"## Key Facts", KindFact}, {"## Active Rules", KindRule}, {"## Recent Episodes", KindEpisode}}

// Check refuses a query out of range, and returns its budget and its prompt, cut to [MaxQueryBytes] and as plain words:
// a prompt is no query, so what it quotes need not be in a memory.
func (q *ContextQuery) Check() (prompt string, budget int, err error) {
	budget = DefaultTokenBudget
	if q.TokenBudget != nil {
		budget = *q.TokenBudget
	}
	prompt = fence.Without("\"“”*", fence.Clip(q.Prompt, MaxQueryBytes))
	switch {
	case budget < 0 || budget > MaxTokenBudget:
		return "", 0, Errorf(Invalid, "token_budget is %d; it must be 0 to %d", budget, MaxTokenBudget)
	case !utf8.ValidString(q.Prompt):
		return "", 0, Errorf(Invalid, "trigger_prompt is not valid UTF-8")
	case strings.TrimSpace(prompt) == "":
		return "", 0, Errorf(Invalid, "trigger_prompt must not be empty")
	}
	if q.Agent == "" {
		return prompt, budget, nil
	}
	return prompt, budget, CheckLabel("butler", q.Agent)
}

// contextLine is the line of a memory, cleaned and fenced.
func contextLine(r *Record, at time.Time, clean func(string) string) (line string, err error) {
	switch r.Kind {
	case KindFact:
		var subject, predicate string
		if attribute.MayHave(r.Body, "subject") { // and a predicate; the body was read for its importance
			if subject, predicate, err = keyOf(r.Body); err != nil {
				return "", err
			}
		}
		content, value := r.Text, json.RawMessage(nil)
		if value, _, err = splitAttributes(r.Attributes); value != nil {
			content = string(value)
		}
		return fence.FactLine(clean(subject), clean(predicate), clean(content), r.Decay.At(at)), err
	case KindRule:
		b := ruleBody{Maturity: Maturity(r.Status)} // most rules have no counts
		if b.Maturity == "" || attribute.MayHave(r.Body, "_count") {
			err := jsonguard.Members(r.Body, "maturity", (*string)(&b.Maturity), "success_count", &b.Successes, "harmful_count", &b.Harms)
			if err != nil {
				return "", &Error{Code: Internal, Op: "read rule", Err: err}
			}
		}
		return fence.RuleLine(clean(r.Text), string(b.Maturity), Effectiveness(b.Successes, b.Harms)), nil
	}
	return fence.EpisodeLine(jsonform.Time(r.CreatedAt), clean(r.Text)), nil
}

// keyOf reads the subject and the predicate of a fact; a note has neither.
func keyOf(body json.RawMessage) (subject, predicate string, err error) {
	if err := jsonguard.Members(body, "subject", &subject, "predicate", &predicate); err != nil {
		return "", "", &Error{Code: Internal, Op: "read fact", Err: err}
	}
	return subject, predicate, nil
}

// Fence makes a stored text safe to stand in one line of a block that is read as
// Markdown, or as plain text, with instructions around it, as [Memory.Context] does.
func Fence(text string) string { return fence.Text(text) }
