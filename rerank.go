package loci

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/loci-memory/loci/internal/retrieval"
)

// A Reranker reads a query and a text together and says how well the text answers, such as a cross-encoder
// ([github.com/loci-memory/loci/embedding.OpenReranker]). It takes milliseconds a text, so a search shows it only the
// best of what it found. It is safe for concurrent use.
type Reranker interface {
	// Model names the model, such as "local:ms-marco-MiniLM-L6-v2@1f2e3d4c".
	Model() string

	// Rerank returns for each text the chance that it answers the query, 0 to 1.
	Rerank(ctx context.Context, query string, texts []string) ([]float64, error)
}

// Defaults and limits of re-ranking.
const (
	DefaultRerankCandidates = 30
	MaxRerankCandidates     = 200
	DefaultRerankTimeout    = 2 * time.Second
)

// RerankOptions say what reads the best results of a search again.
type RerankOptions struct {
	Reranker   Reranker      // nil: none
	Candidates int           // results that it reads, the best first, 1 to 200; default 30
	Timeout    time.Duration // of all of them, at least 1 ms; default 2 s. What takes longer is left in the order it had
}

func (o *RerankOptions) check() error {
	switch {
	case o.Candidates < 1 || o.Candidates > MaxRerankCandidates:
		return Errorf(Invalid, "rerank candidates are %d; they must be 1 to %d", o.Candidates, MaxRerankCandidates)
	case o.Timeout < time.Millisecond:
		return Errorf(Invalid, "rerank timeout is %s; it must be at least 1 ms", o.Timeout)
	}
	return nil
}

// reranks reports whether a search is read again.
func (e *Engine) reranks(q *Query) (bool, error) {
	switch {
	case q.Rerank != nil && *q.Rerank && e.opts.Rerank.Reranker == nil:
		return false, &Error{Code: Unsupported, Msg: "there is no re-ranker, and the query asks for one",
			Recovery: "Leave rerank out, or have the operator set rerank.model."}
	case q.Rerank != nil:
		return *q.Rerank, nil
	}
	return e.opts.Rerank.Reranker != nil, nil
}

// paged is the part of ranked hits that a query asks for.
type paged struct {
	matches []Match
	missed  string // why nothing was read again; "": it was, or was not to be
	stale   bool   // something changed since it was ranked
}

// page loads the part of ranked hits that a query asks for, after the re-ranker has read the
// best of them, if one shall. Their scores become the re-ranker's. What it did not read
// stays behind them in its order, with a score of at most the least of theirs.
func (m *Memory) page(ctx context.Context, f Filter, q *Query, ranked []scored, reranks bool) (p paged, err error) {
	if !reranks {
		ranked = slices.DeleteFunc(ranked, func(s scored) bool { return s.score < q.MinScore })
		ranked = ranked[min(q.Offset, len(ranked)):min(q.Offset+q.Limit, len(ranked))]
		p.matches, p.stale, err = m.matches(ctx, f, q, ranked)
		return p, err
	}
	first := min(len(ranked), m.engine.opts.Rerank.Candidates)
	if p.matches, p.stale, err = m.matches(ctx, f, q, ranked[:first]); err != nil {
		return paged{}, err
	}
	rest := ranked[first:]
	if p.missed, err = m.engine.rerank(ctx, q.Text, p.matches); err != nil {
		return paged{}, err
	}
	if n := len(p.matches); n > 0 && p.missed == "" {
		for i := range rest {
			rest[i].score = min(rest[i].score, p.matches[n-1].Score)
		}
	}
	p.matches = slices.DeleteFunc(p.matches, func(x Match) bool { return x.Score < q.MinScore })
	rest = slices.DeleteFunc(rest, func(s scored) bool { return s.score < q.MinScore })
	n := len(p.matches)
	p.matches = p.matches[min(q.Offset, n):min(q.Offset+q.Limit, n)]
	begin, end := max(0, q.Offset-n), max(0, q.Offset+q.Limit-n)
	more, stale, err := m.matches(ctx, f, q, rest[min(begin, len(rest)):min(end, len(rest))])
	p.matches, p.stale = append(p.matches, more...), p.stale || stale
	return p, err
}

// rerank scores matches by the re-ranker and puts the best first. When it fails, or takes
// too long, they stay as they are and missed says why.
func (e *Engine) rerank(ctx context.Context, query string, matches []Match) (missed string, err error) {
	if len(matches) == 0 {
		return "", nil
	}
	o := &e.opts.Rerank
	texts := make([]string, len(matches))
	for i := range matches {
		texts[i] = matches[i].Passage
		if heading := retrieval.Words(matches[i].Record.Heading); heading != "" {
			texts[i] = heading + ": " + texts[i]
		}
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	chances, err := o.Reranker.Rerank(limited, query, texts)
	for i := 0; err == nil && i < len(texts); i++ {
		if len(chances) != len(texts) || !(chances[i] >= 0 && chances[i] <= 1) {
			err = Errorf(Internal, "re-ranker %s gave %d chances for %d texts, or one that is not 0 to 1", o.Reranker.Model(), len(chances), len(texts))
		}
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil && limited.Err() != nil:
		e.opts.Logger.WarnContext(ctx, "re-ranker took too long", "model", o.Reranker.Model(), "texts", len(texts), "limit", o.Timeout)
		return "the re-ranker took longer than " + o.Timeout.String(), nil
	case err != nil:
		e.opts.Logger.WarnContext(ctx, "re-ranker failed", "model", o.Reranker.Model(), "error", err)
		return "the re-ranker failed", nil
	}
	for i := range matches {
		x := &matches[i]
		x.Explain.Reranked, x.Explain.FirstScore, x.Score = chances[i], x.Score, chances[i]
	}
	slices.SortStableFunc(matches, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return "", nil
}
