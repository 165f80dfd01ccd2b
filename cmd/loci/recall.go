package main

import (
	"fmt"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/fence"
)

type recallCmd struct {
	Topic         []string `arg:"" help:"What matters now, in plain words; - reads it from standard input."`
	Limit         int      `short:"n" default:"20" placeholder:"N" help:"The most results to show, 1 to 500. Default: 20."`
	Scope         string   `placeholder:"NAME" help:"Only memories that are global or belong to this agent."`
	MinConfidence *float64 `placeholder:"X" help:"Only memories with at least this effective confidence, 0 to 1. Default: recall.min_confidence."`
	MinScore      float64  `placeholder:"X" help:"Only memories with at least this score, 0 to 1. A score is about the chance that the memory answers. Default: 0."`
	Since         string   `placeholder:"TIME" help:"Only what was made at this time or after: a date, a time, or how long ago (7d)."`
	Until         string   `placeholder:"TIME" help:"Only what was made before this time."`
	Filter        string   `placeholder:"JSON" help:"Only memories whose metadata, or subject and predicate, match."`
	Explain       bool     `help:"Show how each score came about."`
	width
	place
}

// Help is shown below the usage.
func (*recallCmd) Help() string {
	return `Recalls facts and rules as an agent does, weighing relevance, importance, recent use and confidence, but counts no use.

    loci recall "what the user eats" --scope health --explain`
}

// A recalledJSON is one result as --json shows it.
type recalledJSON struct {
	memoryJSON
	Score      float64             `json:"score"`
	Fit        float64             `json:"fit"`
	Confidence float64             `json:"effective_confidence"`
	Passage    string              `json:"passage"`
	Explain    *loci.RecallExplain `json:"explain,omitempty"`
}

// Run recalls.
func (c *recallCmd) Run(a *app) error {
	where, err := parseFilter(c.Filter)
	if err != nil {
		return err
	}
	topic, err := a.words(c.Topic, loci.MaxQueryBytes)
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return loci.Errorf(loci.Invalid, "--limit is %d; it must be 1 to %d", c.Limit, loci.MaxRecallLimit)
	}
	created, err := periodOf(c.Since, c.Until, time.Now())
	if err != nil {
		return err
	}
	m, err := a.memory(c.place, "", loci.ScopeRead)
	if err != nil {
		return err
	}
	q := loci.RecallQuery{Topic: topic, Limit: c.Limit, MinConfidence: c.MinConfidence, MinScore: c.MinScore,
		Where: where, Since: created.since, Until: created.until}
	if c.Scope != "" {
		q.Scopes = []string{c.Scope}
	}
	result, err := m.Recall(a.ctx, q)
	if err != nil {
		return err
	}
	if result.KeywordOnly {
		a.note("the embedder did not answer: these are results by keyword")
	}
	return c.print(a, m, result)
}

func (c *recallCmd) print(a *app, m *loci.Memory, result loci.RecallResult) error {
	t := table{wide: c.Wide, head: []string{"SCORE", "ID", "AGE", "PASSAGE"}}
	if c.Explain {
		t.head = []string{"SCORE", "FIT", "RELEVANCE", "IMPORTANCE", "RECENCY", "CONFIDENCE", "ID", "AGE", "PASSAGE"}
	}
	out := struct {
		Results     []recalledJSON `json:"results"`
		Unfit       int            `json:"unfit"`
		KeywordOnly bool           `json:"keyword_only"`

		Times []loci.NamedTime `json:"times,omitempty"`
	}{[]recalledJSON{}, result.Unfit, result.KeywordOnly, result.Times}
	for i := range result.Memories {
		found := &result.Memories[i]
		shown, err := a.recordJSON(m, &found.Record, result.At)
		if err != nil {
			return err
		}
		r := recalledJSON{memoryJSON: shown, Score: found.Score, Fit: found.Fit,
			Confidence: found.Confidence, Passage: found.Passage}
		row := []string{fmt.Sprintf("%.3f", found.Score)}
		if x := &found.Explain; c.Explain {
			r.Explain = x
			for _, part := range []float64{found.Fit, x.Relevance, x.Importance, x.Recency, x.Confidence} {
				row = append(row, fmt.Sprintf("%.3f", part))
			}
		}
		out.Results = append(out.Results, r)
		key := fence.Key(shown.Subject, shown.Predicate)
		t.add(append(row, a.shortID(shown.ID, c.Wide), a.when(shown.CreatedAt), key+found.Passage)...)
	}
	if a.json {
		return a.printJSON(out)
	}
	switch {
	case len(t.rows) == 0 && result.Unfit > 0:
		a.note("nothing found: every candidate has a fit below %g", c.MinScore)
	case len(t.rows) == 0:
		a.note("nothing found")
	}
	t.print(a)
	return nil
}
