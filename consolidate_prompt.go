package loci

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci/internal/fence"
	"github.com/loci-memory/loci/internal/jsonform"
	"github.com/loci-memory/loci/internal/lesson"
)

// prompted is a prompt with its estimated size.
type prompted struct {
	Prompt
	tokens int64
	model  string
}

// episodeLine shows an episode to the model.
func episodeLine(r *Record) string {
	return lesson.Line(map[string]any{"id": r.ID, "at": jsonform.Time(r.CreatedAt), "content": r.Text})
}

// memoryLine shows a fact or a rule to the model.
func memoryLine(r *Record) (string, error) {
	line := map[string]any{"id": r.ID, "type": r.Kind, "scope": r.Scope, "content": r.Text}
	if r.Kind == KindFact {
		body, err := readFact(r)
		if err != nil {
			return "", err
		}
		if body.Subject != "" {
			line["subject"], line["predicate"] = body.Subject, body.Predicate
		}
	}
	return lesson.Line(line), nil
}

// prompt shows a group to the model, with what its namespace knows about it already.
func (c *consolidation) prompt(ctx context.Context, m *Memory, g *group) (prompted, error) {
	p := prompted{
		Prompt: Prompt{System: lesson.Instructions, MaxTokens: int(c.opts.CompletionTokens)}, model: c.report.Model,
	}
	var episodes strings.Builder
	for i := range g.episodes {
		episodes.WriteString(episodeLine(&g.episodes[i]))
	}
	head := lesson.Line(map[string]any{"agent": g.butler, "now": jsonform.Time(c.engine.now())})
	room := c.opts.PromptTokens - EstimateTokens(lesson.Instructions+head+episodes.String())
	known, err := m.known(ctx, g, room)
	if err != nil {
		return p, err
	}
	p.User = lesson.Question(head, known, episodes.String())
	p.tokens = EstimateTokens(p.System) + EstimateTokens(p.User)
	return p, nil
}

// Bounds on the known memories that a prompt shows.
const (
	knownPerEpisode = 5
	knownEpisodes   = 30 // that are looked for
	knownProbeBytes = 600
)

// known are the facts and rules of the group's namespace that share words with its
// episodes, in as many tokens as there is room for.
func (m *Memory) known(ctx context.Context, g *group, room int64) (string, error) {
	var lines strings.Builder
	seen := map[ID]bool{}
	f := m.own(m.engine.now(), g.butler, KindFact, KindRule)
	for i := range g.episodes[:min(len(g.episodes), knownEpisodes)] {
		near, err := m.sharingWords(ctx, f, g.episodes[i].Text, knownPerEpisode)
		if err != nil {
			return "", err
		}
		for j := range near {
			line, err := memoryLine(&near[j])
			if err != nil {
				return "", err
			}
			cost := EstimateTokens(line)
			if seen[near[j].ID] || cost > room {
				continue
			}
			seen[near[j].ID] = true
			room -= cost
			lines.WriteString(line)
		}
	}
	return lines.String(), nil
}

// own is the filter for what a group may see and touch: live, in its very namespace,
// in the scope "global" or its agent's.
func (m *Memory) own(now time.Time, butler string, kinds ...Kind) Filter {
	return Filter{
		Within: []Namespace{m.view.Namespace}, Exact: true,
		Kinds: kinds, Scopes: []string{GlobalScope, butler}, At: now,
	}
}

// sharingWords returns up to limit records that share the most telling words with the
// beginning of a text, the best first.
func (m *Memory) sharingWords(ctx context.Context, f Filter, text string, limit int) ([]Record, error) {
	return m.matching(ctx, f, Probe{Text: fence.Query(text, knownProbeBytes)}, limit)
}

// matching returns up to limit records that fit a probe by words, the best first.
func (m *Memory) matching(ctx context.Context, f Filter, p Probe, limit int) ([]Record, error) {
	if p.Text == "" {
		return nil, nil
	}
	hits, err := m.engine.store.Match(ctx, m.view.Tenant, p, f, limit)
	if err != nil || len(hits) == 0 {
		return nil, err
	}
	rank := map[ID]int{}
	for _, h := range hits {
		f.IDs = append(f.IDs, h.ID)
		rank[h.ID] = h.KeywordRank
	}
	records, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: len(f.IDs)})
	slices.SortFunc(records, func(a, b Record) int { return rank[a.ID] - rank[b.ID] })
	return records, err
}

// readDigest takes what is to be remembered out of an answer. Anything that is not clear is unusable.
func readDigest(answer Completion) (lesson.Reply, error) {
	if answer.Truncated {
		return lesson.Reply{}, unusable("the answer of the model was cut at its limit of tokens")
	}
	reply, err := lesson.Read(answer.Text)
	if err != nil {
		return reply, unusable(err.Error())
	}
	return reply, nil
}
