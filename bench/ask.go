package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/token"
)

// sample is what one search for one question brought.
type sample struct {
	question *Question
	scores   scores
	found    []string // the turns, each once, the best first
	took     time.Duration
	tokens   int
}

// A hit is a turn that a search found.
type hit struct{ turn, text string }

// A finder searches a conversation.
type finder func(ctx context.Context, conv, query string) ([]hit, error)

// memories are the handles of the conversations.
func (in *ingested) memories(d *Dataset) (map[string]*loci.Memory, error) {
	memories := map[string]*loci.Memory{}
	for conv := range d.conversations() {
		m, err := in.engine.Memory(loci.View{Tenant: in.tenant, Namespace: conversation(conv), Actor: "bench"})
		if err != nil {
			return nil, err
		}
		memories[conv] = m
	}
	return memories, nil
}

// finders are the modes of Loci.
func (in *ingested) finders(d *Dataset) (map[string]finder, error) {
	memories, err := in.memories(d)
	if err != nil {
		return nil, err
	}
	search := func(mode loci.Mode) finder {
		return func(ctx context.Context, conv, query string) ([]hit, error) {
			found, err := memories[conv].Search(ctx, loci.Query{Text: query, Mode: mode, Limit: depth})
			if err == nil && found.KeywordOnly {
				err = loci.Errorf(loci.Unavailable, "the embedder does not answer, so hybrid search cannot be measured")
			}
			if err != nil {
				return nil, err
			}
			hits := make([]hit, len(found.Matches))
			for i, m := range found.Matches {
				hits[i] = hit{in.turns[m.Record.ID], m.Record.Text}
			}
			return hits, nil
		}
	}
	return map[string]finder{
		ModeKeyword: search(loci.Keyword),
		ModeVector:  search(loci.Semantic),
		ModeHybrid:  search(loci.Hybrid),
	}, nil
}

// ask searches for every question in every mode. The first search of each
// conversation is made once more before, so that no figure holds the making of an index.
func ask(
	ctx context.Context, d *Dataset, modes []string, finders map[string]finder, tokens *tokenCounter,
) (map[string][]sample, error) {
	samples := map[string][]sample{}
	warm := map[string]bool{}
	sessions := d.sessions()
	for i := range d.Questions {
		q := &d.Questions[i]
		if !q.counts() && (q.Category != adversarial || len(q.Evidence) == 0) {
			continue
		}
		for _, mode := range modes {
			if !warm[q.Conv+"\x00"+mode] {
				warm[q.Conv+"\x00"+mode] = true
				if _, err := finders[mode](ctx, q.Conv, q.Text); err != nil {
					return nil, fmt.Errorf("question %q: %w", q.ID, err)
				}
			}
			start := time.Now()
			hits, err := finders[mode](ctx, q.Conv, q.Text)
			took := time.Since(start)
			if err != nil {
				return nil, fmt.Errorf("question %q: %w", q.ID, err)
			}
			s := judge(q, hits, sessions[q.Conv], tokens)
			s.took = took
			samples[mode] = append(samples[mode], s)
		}
	}
	return samples, nil
}

// judge scores what a search brought. A turn that was found in several parts counts once.
func judge(q *Question, hits []hit, sessions map[string]string, tokens *tokenCounter) (s sample) {
	s.question = q
	var texts, places []string
	for _, h := range hits {
		if slices.Contains(s.found, h.turn) {
			continue
		}
		s.found = append(s.found, h.turn)
		places = append(places, sessions[h.turn])
		if len(s.found) <= 10 {
			texts = append(texts, h.text)
			tokens.add(&s.tokens, h.text)
		}
	}
	s.scores = score(s.found, q.Evidence)
	wanted := q.Sessions
	if len(wanted) == 0 {
		for _, turn := range q.Evidence {
			wanted = append(wanted, sessions[turn])
		}
	}
	s.scores[slices.Index(Metrics, metricSession)] = sessionHit(places, wanted)
	s.scores[slices.Index(Metrics, metricAnswer)] = coverage(string(q.Answer), texts)
	return s
}

// sessions are those of the turns, by conversation. What is in none is one of its own.
func (d *Dataset) sessions() map[string]map[string]string {
	out := map[string]map[string]string{}
	for i := range d.Turns {
		t := &d.Turns[i]
		if out[t.Conv] == nil {
			out[t.Conv] = map[string]string{}
		}
		out[t.Conv][t.ID] = cmp.Or(t.Session, t.ID)
	}
	return out
}

// tokenCounter counts the tokens of texts, of each once.
type tokenCounter struct {
	*token.Counter
	known map[string]int
}

func newTokenCounter() *tokenCounter {
	counter, err := token.Open("o200k_base")
	if err != nil {
		panic(err) // it is there
	}
	return &tokenCounter{counter, map[string]int{}}
}

func (c *tokenCounter) add(sum *int, text string) {
	n, ok := c.known[text]
	if !ok {
		n = c.Count(text)
		c.known[text] = n
	}
	*sum += n
}
