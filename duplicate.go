package loci

import (
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/fence"
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
	said := retrieval.Keyed{Text: draft.Text, Key: draft.Heading}
	probe := Probe{Text: fence.Query(said.All(), knownProbeBytes), Quick: true, Texts: true}
	if probe.Text == "" {
		return n, nil
	}
	near, err := m.engine.store.Match(ctx, m.view.Tenant, probe, f, comparedFacts)
	if err != nil {
		return n, err
	}
	slices.SortFunc(near, func(a, b Hit) int { return a.KeywordRank - b.KeywordRank })
	relation := said.Relations()
	for i := range near {
		if draft.isKeyed() && near[i].Heading != "" {
			continue
		}
		switch relation(retrieval.Keyed{Text: near[i].Text, Key: near[i].Heading}) {
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
