package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/item"
)

type searchInput struct {
	Query  string         `json:"query" jsonschema:"What to look for, in plain words; empty lists the newest"`
	Limit  int            `json:"limit,omitempty"`
	Offset int            `json:"offset,omitempty"`
	Filter map[string]any `json:"filter,omitempty" jsonschema:"Conditions on metadata, such as {\"category\":\"preference\"} or {\"year\":{\"$gte\":2024}}"`

	MinScore decimal `json:"min_score,omitzero"`

	Since string `json:"since,omitempty" jsonschema:"From this date or time on"`
	Until string `json:"until,omitempty" jsonschema:"Before this date or time"`
}

// found is one result of search_memory as the model sees it.
type found struct {
	Namespace loci.Namespace  `json:"namespace"`
	Key       string          `json:"key"`
	Value     json.RawMessage `json:"value"`
	CreatedAt string          `json:"created_at"`
	UpdatedAt string          `json:"updated_at"`
	Score     *float64        `json:"score"` // null: nothing was searched for

	// Excerpt is set when the value is only the passage that fits best, because
	// the whole would not fit into a reply.
	Excerpt bool `json:"excerpt,omitempty"`
}

func searchMemory(b *base, t Tool, i Instance) *Tool {
	t.Title = "Search memory"
	t.Description = "Search the long-term memory for what is relevant to the current conversation. " +
		"Finds by meaning and by words; the best come first. A result's key is its id." + "\n\n" +
		cmp.Or(i.Instructions, "Call this tool before you answer anything that earlier conversations may bear on.")
	t.Tier, t.Timeout = ReadOnly, time.Duration(b.cfg.SearchTimeout)
	t.Annotations = Annotations{ReadOnly: true, Idempotent: true}
	t.scopes = []loci.Scope{loci.ScopeRead}
	s := spec{Tool: t, adjust: func(properties map[string]*jsonschema.Schema) {
		between(properties["limit"], 1, maxSearchLimit, b.most(b.cfg.SearchLimit))
		between(properties["offset"], 0, 10_000, 0)
		i.floor(properties["min_score"])
	}}
	name := ""
	if i.ResponseFormat == FormatContentAndArtifact {
		name = "memories"
		s.output = listOutput(name)
	}
	return declare(s, func(ctx context.Context, c *call, in searchInput) (Reply, error) {
		where, err := loci.ParseWhere(in.Filter)
		if err != nil {
			return Reply{}, err
		}
		m, err := c.memory()
		if err != nil {
			return Reply{}, err
		}
		query := loci.Query{Text: in.Query, Limit: in.Limit, Offset: in.Offset, Where: where,
			MinScore: i.least(in.MinScore), Kinds: []loci.Kind{loci.KindFact, item.Kind}}
		if query.Since, query.Until, err = period(in.Since, in.Until); err != nil {
			return Reply{}, err
		}
		r, err := m.Search(ctx, query)
		if err != nil {
			return Reply{}, err
		}
		scored := strings.TrimSpace(in.Query) != ""
		var texts, raws []json.RawMessage
		for n := range r.Matches {
			text, err := b.showMatch(&r.Matches[n], scored)
			if err != nil {
				return Reply{}, err
			}
			texts = append(texts, text)
			if name == "" {
				continue
			}
			raw, err := b.rawRecord(&r.Matches[n].Record, r.At)
			if err != nil {
				return Reply{}, err
			}
			raws = append(raws, raw)
		}
		return b.listReply(texts, name, raws, understood{r.Corrections, r.Times, r.NotReranked})
	})
}

// listOutput describes the structured reply of a search.
func listOutput(name string) []result {
	return []result{
		{name: name, schema: &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object"}}},
		{name: droppedField, schema: &jsonschema.Schema{Type: "integer"}, optional: true},
		{name: "corrections", schema: &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object"}}, optional: true},
		{name: "times", schema: &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "object"}}, optional: true},
		{name: "not_reranked", schema: &jsonschema.Schema{Type: "string"}, optional: true},
	}
}

// showMatch writes a match for the model.
func (b *base) showMatch(match *loci.Match, scored bool) (json.RawMessage, error) {
	entry, err := item.FromRecord(&match.Record)
	if err != nil {
		return nil, err
	}
	f := found{
		Namespace: entry.Namespace, Key: entry.Key,
		CreatedAt: jsonform.Time(entry.CreatedAt), UpdatedAt: jsonform.Time(entry.UpdatedAt),
	}
	if scored {
		f.Score = new(round(match.Score))
	}
	if f.Value, err = b.scrubJSON(entry.Value); err != nil {
		return nil, err
	}
	data, err := encode(f)
	if err != nil || len(data)+len("[]") <= b.cfg.ReplyCap {
		return data, err
	}
	// Dropping it would hide a memory for good that was stored without complaint.
	passage := match.Passage
	if !scored && len(match.Record.Passages) > 0 {
		passage = match.Record.Passages[0].Of(match.Record.Text)
	}
	f.Excerpt = true
	excerpt := map[string]string{"content": b.scrubPassage(passage, match.Record.Text)}
	if match.Record.Kind == loci.KindFact {
		fact, err := loci.FactOf(&match.Record, match.Record.UpdatedAt)
		if err != nil {
			return nil, err
		}
		if !fact.IsNote() {
			excerpt["subject"], excerpt["predicate"] = b.scrub(fact.Subject), b.scrub(fact.Predicate)
		}
	}
	if f.Value, err = encode(excerpt); err != nil {
		return nil, err
	}
	return encode(f)
}

// rawRecord writes a record in full, as the fact or the item that it is.
func (b *base) rawRecord(r *loci.Record, at time.Time) (json.RawMessage, error) {
	if r.Kind == item.Kind {
		entry, err := item.FromRecord(r)
		if err != nil {
			return nil, err
		}
		if entry.Value, err = b.scrubJSON(entry.Value); err != nil {
			return nil, err
		}
		return encode(entry)
	}
	f, err := loci.FactOf(r, at)
	if err != nil {
		return nil, err
	}
	f.Content, f.Subject, f.Predicate = b.scrub(f.Content), b.scrub(f.Subject), b.scrub(f.Predicate)
	if f.Value, err = b.scrubJSON(f.Value); err != nil {
		return nil, err
	}
	f.Metadata, _ = b.scrubValue(f.Metadata).(map[string]any)
	f.Tags = slices.Clone(f.Tags)
	for n := range f.Tags {
		f.Tags[n] = b.scrub(f.Tags[n])
	}
	return encode(f)
}
