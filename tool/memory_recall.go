package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/view"
)

// excerptBytes is the greatest length of a content that a list shows whole. It shows only
// the best passage of a longer one.
const excerptBytes = 2 << 10

// filterText is what a model reads of filters on memories that have no value of their own.
const filterText = `On metadata or keys, such as {"subject":"user"}`

type memorySearchInput struct {
	Query         string   `json:"query" jsonschema:"What to look for, in plain words"`
	Types         []string `json:"types,omitempty" jsonschema:"Default: all three"`
	Scope         string   `json:"scope,omitempty" jsonschema:"Only what is global or of this agent; default: all"`
	Mode          string   `json:"mode,omitempty"`
	Limit         int      `json:"limit,omitempty"`
	MinConfidence decimal  `json:"min_confidence,omitzero" jsonschema:"0 also finds what is fading"`
	MinScore      decimal  `json:"min_score,omitzero"`
	Since         string   `json:"since,omitempty" jsonschema:"From this date or time on"`
	Until         string   `json:"until,omitempty" jsonschema:"Before this date or time"`

	Filter map[string]any `json:"filter,omitempty"`
}

type recallInput struct {
	Topic string `json:"topic" jsonschema:"What you are about to deal with, in plain words"`
	Scope string `json:"scope,omitempty" jsonschema:"Only what is global or of this agent; default: all"`
	Limit int    `json:"limit,omitempty"`

	MinScore decimal `json:"min_score,omitzero"`

	Since string `json:"since,omitempty" jsonschema:"From this date or time on"`
	Until string `json:"until,omitempty" jsonschema:"Before this date or time"`

	Filter map[string]any `json:"filter,omitempty"`
}

type contextInput struct {
	TriggerPrompt string `json:"trigger_prompt" jsonschema:"What the agent was asked"`
	Butler        string `json:"butler" jsonschema:"Your own agent name"`
	TokenBudget   int    `json:"token_budget,omitempty" jsonschema:"Most tokens of the whole text"`

	MinScore decimal `json:"min_score,omitzero"`
}

// recalled is one result of memory_search and memory_recall.
type recalled struct {
	Type       loci.Kind     `json:"type"`
	ID         loci.ID       `json:"id"`
	Content    string        `json:"content"`
	Excerpt    bool          `json:"excerpt,omitzero"` // Content is a part of it
	Score      float64       `json:"score"`
	Fit        float64       `json:"fit"`        // how well it fits the query, whatever else matters
	Confidence float64       `json:"confidence"` // effective
	Scope      string        `json:"scope"`      // of an episode, its agent
	Subject    string        `json:"subject,omitempty"`
	Predicate  string        `json:"predicate,omitempty"`
	Validity   loci.Validity `json:"validity,omitempty"` // of a fact
	Maturity   loci.Maturity `json:"maturity,omitempty"` // of a rule
	Tags       []string      `json:"tags,omitempty"`
	CreatedAt  string        `json:"created_at"`
	Speaker    string        `json:"speaker,omitempty"` // who said it, where that is known

	Explain loci.RecallExplain `json:"explain"`
}

func searchMemories(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Search memories", "Search episodes, facts and rules by meaning and by words, most relevant first. "+
		"Use it to find a memory and its id, or to look into episodes; to prepare an answer use "+i.called("memory_recall")+". Counts no use.", i)
	s := spec{Tool: t, output: listOutput("results"), adjust: func(properties map[string]*jsonschema.Schema) {
		choices(properties["types"], kinds...)
		choices(properties["mode"], loci.Hybrid, loci.Keyword, loci.Semantic)
		properties["mode"].Default = json.RawMessage(`"hybrid"`)
		between(properties["limit"], 1, maxSearchLimit, b.most(loci.DefaultRecallLimit))
		within(properties["min_confidence"], 0, 1)
		i.fit(properties["min_score"])
		properties["filter"].Description = filterText
	}}
	return declare(s, func(ctx context.Context, c *call, in memorySearchInput) (Reply, error) {
		q := loci.RecallQuery{Topic: in.Query, Mode: loci.Mode(in.Mode), Limit: in.Limit,
			MinConfidence: in.MinConfidence.pointer(), MinScore: i.least(in.MinScore)}
		var err error
		if q.Since, q.Until, err = period(in.Since, in.Until); err != nil {
			return Reply{}, err
		}
		for _, given := range in.Types {
			kind, err := memoryKind(given)
			if err != nil {
				return Reply{}, err
			}
			q.Kinds = append(q.Kinds, kind)
		}
		return b.recall(c, "query", in.Scope, in.Filter, q,
			func(m *loci.Memory, q loci.RecallQuery) (loci.RecallResult, error) {
				return m.SearchMemories(ctx, q)
			})
	})
}

func recallMemories(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Recall memories", "Recall the facts and rules that matter for a topic, best first, weighing relevance, importance, recent use and confidence. "+
		"Call it before you answer or act on anything that earlier sessions may bear on. "+
		"It counts the use of what it returns, which keeps it fresh; nothing else changes.", i)
	t.Annotations.Idempotent = false
	s := spec{Tool: t, output: listOutput("results"), adjust: func(properties map[string]*jsonschema.Schema) {
		between(properties["limit"], 1, maxSearchLimit, b.most(loci.DefaultRecallLimit))
		i.fit(properties["min_score"])
		properties["filter"].Description = filterText
	}}
	return declare(s, func(ctx context.Context, c *call, in recallInput) (Reply, error) {
		q := loci.RecallQuery{
			Topic:    in.Topic,
			Limit:    in.Limit,
			Touch:    true,
			MinScore: i.least(in.MinScore),
			Weights:  i.Weights,
		}
		var err error
		if q.Since, q.Until, err = period(in.Since, in.Until); err != nil {
			return Reply{}, err
		}
		return b.recall(c, "topic", in.Scope, in.Filter, q,
			func(m *loci.Memory, q loci.RecallQuery) (loci.RecallResult, error) {
				return m.Recall(ctx, q)
			})
	})
}

// recall runs a query whose text is the argument of some name, and replies with
// what it finds.
func (b *base) recall(
	c *call, name, scope string, filter map[string]any, q loci.RecallQuery,
	run func(*loci.Memory, loci.RecallQuery) (loci.RecallResult, error),
) (reply Reply, err error) {
	if strings.TrimSpace(q.Topic) == "" {
		return Reply{}, loci.Errorf(loci.Invalid, "%s must not be empty", name)
	}
	if q.Where, err = loci.ParseWhere(filter); err != nil {
		return Reply{}, err
	}
	if scope != "" {
		q.Scopes = []string{scope}
	}
	m, err := c.memory()
	if err != nil {
		return Reply{}, err
	}
	result, err := run(m, q)
	if err != nil {
		return Reply{}, err
	}
	list := make([]json.RawMessage, len(result.Memories))
	for i := range result.Memories {
		if list[i], err = b.showRecalled(&result.Memories[i], result); err != nil {
			return Reply{}, err
		}
	}
	return b.resultsReply(list, understood{result.Corrections, result.Times, ""})
}

// showRecalled writes a memory that was found.
func (b *base) showRecalled(found *loci.Recalled, result loci.RecallResult) (json.RawMessage, error) {
	r, x := &found.Record, found.Explain
	x.Relevance, x.Importance = round(x.Relevance), round(x.Importance)
	x.Recency, x.Confidence = round(x.Recency), round(x.Confidence)
	out := recalled{
		Type:       r.Kind,
		ID:         r.ID,
		Content:    b.scrub(r.Text),
		Score:      round(found.Score),
		Fit:        round(found.Fit),
		Confidence: round(found.Confidence),
		Scope:      b.scrub(cmp.Or(r.Scope, loci.GlobalScope)),
		Tags:       b.scrubList(r.Tags),
		CreatedAt:  jsonform.Time(r.CreatedAt),
		Speaker:    b.scrub(found.Speaker),
		Explain:    x,
	}
	if len(r.Text) > excerptBytes {
		out.Content, out.Excerpt = b.scrubPassage(found.Passage, r.Text), true
	}
	switch r.Kind {
	case loci.KindFact:
		f, err := loci.FactOf(r, result.At)
		if err != nil {
			return nil, err
		}
		out.Subject, out.Predicate, out.Validity = b.scrub(f.Subject), b.scrub(f.Predicate), f.Validity
	case loci.KindRule:
		out.Maturity = loci.Maturity(r.Status)
	}
	return encode(out)
}

// maxOmitted is how many of the memories that a context leaves out its structured
// form names: some clients show that form to a model, which has a budget.
const maxOmitted = 20

// contextReply is the structured reply of memory_context.
type contextReply struct {
	loci.ContextBlock
	OmittedCount int `json:"omitted_count"`
}

func memoryContext(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Memory context", "Make a block of text for the system prompt of an agent: the facts, rules and recent episodes that matter for a prompt, "+
		"by score, in at most token_budget tokens. For the program that starts an agent; counts no use.", i)
	t.Secondary = true
	number := &jsonschema.Schema{Type: "integer"}
	s := spec{
		Tool:   t,
		output: []result{{name: "text", schema: text()}, {name: "tokens", schema: number}},
		adjust: func(properties map[string]*jsonschema.Schema) {
			between(properties["token_budget"], 0, loci.MaxTokenBudget, loci.DefaultTokenBudget)
			i.fit(properties["min_score"])
		},
	}
	return declare(s, func(ctx context.Context, c *call, in contextInput) (Reply, error) {
		if err := c.asButler(in.Butler); err != nil {
			return Reply{}, err
		}
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		block, err := m.Context(ctx, loci.ContextQuery{Prompt: in.TriggerPrompt, Agent: in.Butler,
			TokenBudget: &in.TokenBudget, MinScore: i.least(in.MinScore), Weights: i.Weights, Clean: b.scrub})
		if err != nil {
			return Reply{}, err
		}
		reply := contextReply{block, len(block.Omitted)}
		reply.Omitted = block.Omitted[:min(maxOmitted, len(block.Omitted))]
		structured, err := encode(reply)
		return Reply{Text: block.Text, Structured: structured}, err
	})
}

type statsInput struct {
	Scope string `json:"scope,omitempty" jsonschema:"Count only what is global or for this agent; default: all"`
}

// lifecycle is the reply of memory_stats.
type lifecycle struct {
	Facts    view.FactStats    `json:"facts"`
	Rules    view.RuleStats    `json:"rules"`
	Episodes view.EpisodeStats `json:"episodes"`
}

func memoryStats(b *base, t Tool, i Instance) *Tool {
	t = b.reading(t, "Memory statistics", "Count memories by the state they are in: facts by validity, rules by maturity, episodes that wait to be digested "+
		"and the age of the oldest of them in hours. For questions about the memory itself. Counts no use.", i)
	t.Secondary = true
	object := &jsonschema.Schema{Type: "object"}
	s := spec{Tool: t, output: []result{{name: "facts", schema: object}, {name: "rules", schema: object}, {name: "episodes", schema: object}}}
	return declare(s, func(ctx context.Context, c *call, in statsInput) (Reply, error) {
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		n, err := view.Lifecycle(ctx, m, in.Scope)
		if err != nil {
			return Reply{}, err
		}
		return objectReply(lifecycle{n.Facts, n.Rules, n.Episodes})
	})
}
