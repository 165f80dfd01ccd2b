package loci

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/retrieval"
)

// A nearness is what a new note is to the memories there are; the zero value: nothing.
type nearness struct {
	related, updates ID // see [Stored]
	shown            ID // the note only shows memories, this one first
}

// comparedFacts is how many facts that share the most telling words a write looks at.
const comparedFacts = 4

// compare looks for live memories of the same namespace that a new fact is near to.
// Candidates come from the keyword index by a quick [Probe], so that the effort grows
// neither with what the fact says nor with what there is. Facts of two keys are never
// near: their keys say that they are about different things.
func (m *Memory) compare(ctx context.Context, draft *factDraft, now time.Time) (n nearness, err error) {
	if !draft.isKeyed() {
		if n.shown, err = m.shown(ctx, draft, now); err != nil || !n.shown.IsZero() {
			return n, err
		}
	}
	f := Filter{Within: []Namespace{m.view.Namespace}, Exact: true, Kinds: []Kind{KindFact}, At: now}
	probe := Probe{Text: plainWords(keyedText(&draft.Record)), Quick: true, Texts: true}
	if probe.Text == "" {
		return n, nil
	}
	near, err := m.engine.store.Match(ctx, m.view.Tenant, probe, f, comparedFacts)
	if err != nil {
		return n, err
	}
	slices.SortFunc(near, func(a, b Hit) int { return a.KeywordRank - b.KeywordRank })
	relation := relations(&draft.Record)
	for i := range near {
		if draft.isKeyed() && near[i].Heading != "" {
			continue
		}
		switch relation(&Record{Text: near[i].Text, Heading: near[i].Heading}) {
		case retrieval.Changed:
			if n.updates.IsZero() {
				n.updates = near[i].ID
			}
		case retrieval.Rephrased, retrieval.Same: // the same text with other metadata
			if n.related.IsZero() {
				n.related = near[i].ID
			}
		}
	}
	return n, nil
}

// relations compares what a new fact says with older ones. The content of one with a key
// may be a value, "blue", or a sentence, "My favorite color is blue": it is compared with
// and without its key.
func relations(newer *Record) func(older *Record) retrieval.Relation {
	text := retrieval.NewComparison(newer.Text)
	return func(older *Record) retrieval.Relation {
		r := text.With(older.Text)
		if older.Heading == "" && newer.Heading == "" {
			return r
		}
		r = max(r, retrieval.Compare(keyedText(older), keyedText(newer)))
		return max(r, retrieval.Compare(keyedValue(older), keyedValue(newer)))
	}
}

// keyedText is the text of a fact, led by the words of its key.
func keyedText(r *Record) string {
	return strings.TrimSpace(retrieval.Words(r.Heading) + " " + r.Text)
}

// keyedValue is the text of a fact as what its key is: "user favorite color: blue".
func keyedValue(r *Record) string {
	if r.Heading == "" {
		return r.Text
	}
	return retrieval.Words(r.Heading) + ": " + r.Text
}
