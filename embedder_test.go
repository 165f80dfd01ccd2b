package loci_test

import (
	"bytes"
	"context"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A lateEmbedder learns its dimensions from the first answer, as remote ones do.
type lateEmbedder struct {
	locitest.WordEmbedder
	dims atomic.Int64
}

func (l *lateEmbedder) Dims() int { return int(l.dims.Load()) }

func (l *lateEmbedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	rows, err := l.WordEmbedder.Embed(ctx, texts)
	if err == nil {
		l.dims.Store(int64(len(rows[0])))
	}
	return rows, err
}

func TestDimensionsComeLate(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		late := &lateEmbedder{WordEmbedder: locitest.WordEmbedder{Name: "late"}}
		late.SetDown(true)
		e := locitest.NewEngine(t, s, loci.Options{Embedder: late})
		m := locitest.Bind(t, e, "u")
		locitest.Save(t, m, "written while nobody answered")
		if r := locitest.Search(t, m, loci.Query{Text: "answered"}); len(r.Matches) != 1 || !r.KeywordOnly {
			t.Fatalf("by keyword: %d matches, keyword only: %v", len(r.Matches), r.KeywordOnly)
		}
		if stats, err := m.Stats(t.Context()); err != nil || stats.Facts.Unembedded != 1 {
			t.Errorf("stats without dimensions: %+v, %v", stats.Facts, err)
		}
		late.SetDown(false)
		if stats, err := m.Stats(t.Context()); err != nil || stats.Facts.Unembedded != 1 {
			t.Errorf("stats: %+v, %v", stats.Facts, err)
		}
		if e.Space() != (loci.Space{Model: "late", Dims: 64}) {
			t.Errorf("space = %+v", e.Space())
		}
		// Another engine that knows no dimensions yet counts and fills in by itself.
		again := &lateEmbedder{WordEmbedder: locitest.WordEmbedder{Name: "late"}}
		e = locitest.NewEngine(t, s, loci.Options{Embedder: again})
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 1 || err != nil {
			t.Fatalf("backfill: %d, %v", n, err)
		}
		e = locitest.NewEngine(t, s, loci.Options{Embedder: &lateEmbedder{WordEmbedder: locitest.WordEmbedder{Name: "late"}}})
		m = locitest.Bind(t, e, "u")
		if stats, err := m.Stats(t.Context()); err != nil || stats.Facts.Unembedded != 0 {
			t.Errorf("stats of a new engine: %+v, %v", stats.Facts, err)
		}
		if r := locitest.Search(t, m, loci.Query{Text: "nobody", Mode: loci.Semantic}); len(r.Matches) != 1 {
			t.Errorf("by similarity: %d matches", len(r.Matches))
		}
	})
}

// A leftEmbedder is one whose caller leaves while it works.
type leftEmbedder struct {
	locitest.WordEmbedder
	leave func()
}

func (l *leftEmbedder) Embed(ctx context.Context, _ []string) ([][]float32, error) {
	l.leave()
	<-ctx.Done()
	return nil, ctx.Err()
}

// TestWhoLeavesIsNoFaultOfTheEmbedder: the log warns of one that does not answer, and not of callers who
// did not wait for the answer: any of them could fill it.
func TestWhoLeavesIsNoFaultOfTheEmbedder(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	write := func(ctx context.Context, embedder loci.Embedder) {
		t.Helper()
		e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Embedder: embedder, Logger: logger})
		_, _ = locitest.Bind(t, e, "u").StoreFact(ctx, loci.NewFact{Content: "Likes tea."})
	}
	ctx, cancel := context.WithCancel(t.Context())
	write(ctx, &leftEmbedder{locitest.WordEmbedder{Name: "left"}, cancel})
	if log.Len() > 0 {
		t.Errorf("the log says %s", &log)
	}
	down := &locitest.WordEmbedder{Name: "down"}
	down.SetDown(true)
	write(t.Context(), down)
	if !strings.Contains(log.String(), "embedder did not answer") {
		t.Errorf("the log does not say that the embedder is down: %s", &log)
	}
}

// A swappedEmbedder gives vectors of queries another direction.
type swappedEmbedder struct {
	locitest.WordEmbedder
	short bool
}

func (q *swappedEmbedder) EmbedQuery(ctx context.Context, query string) ([]float32, error) {
	rows, err := q.Embed(ctx, []string{"query " + query})
	if err != nil {
		return nil, err
	}
	if q.short {
		return rows[0][:1], nil
	}
	return rows[0], nil
}

func TestQueriesAreEmbeddedAsQueries(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		q := &swappedEmbedder{WordEmbedder: locitest.WordEmbedder{Name: "q"}}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: q}), "u")
		locitest.Save(t, m, "query")
		locitest.Save(t, m, "zebra")
		r := locitest.Search(t, m, loci.Query{Text: "nothing", Mode: loci.Semantic})
		if len(r.Matches) == 0 || r.Matches[0].Record.Text != "query" || r.Matches[0].Explain.Similarity < 0.5 {
			t.Errorf("the query was embedded as a document: %+v", r.Matches)
		}
		q.short = true
		_, err := m.Search(t.Context(), loci.Query{Text: "nothing", Mode: loci.Semantic})
		locitest.WantCode(t, err, loci.Unavailable)
	})
}

// patience records until when it is waited for, and when it was asked.
type patience struct {
	locitest.WordEmbedder
	deadlines, asked []time.Time
}

func (p *patience) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	deadline, _ := ctx.Deadline()
	p.deadlines, p.asked = append(p.deadlines, deadline), append(p.asked, time.Now())
	return p.WordEmbedder.Embed(ctx, texts)
}

// A halfKnown embedder knows as much of a text as it says.
type halfKnown struct {
	locitest.WordEmbedder
	known float64
}

func (h *halfKnown) Knows(text string) float64 {
	if text != "harbour boat" {
		return 1
	}
	return h.known
}

// fittingWords is how well a match that holds each word of the query once fits by words: the
// BM25 of two words, by hand, for two records of one passage each.
func fittingWords(m loci.Match) float64 { return min(1, m.Explain.Keyword/(2*math.Log(2))) }

// The less an embedder knows of a query, the less similarity weighs in the search.
func TestSearchAsksWhatTheEmbedderKnows(t *testing.T) {
	for _, known := range []float64{1, 0.5, 0} {
		h := &halfKnown{locitest.WordEmbedder{Name: "one"}, known}
		weight := 0.8
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
			Embedder: h, Search: loci.SearchOptions{VectorWeight: weight},
		}), "u")
		locitest.Save(t, m, "harbour boat")
		locitest.Save(t, m, "mountain")
		got := locitest.Search(t, m, loci.Query{Text: "harbour boat"}).Matches
		if len(got) == 0 || math.Abs(got[0].Explain.VectorPart-inNotes(weight*known)) > 1e-9 ||
			math.Abs(got[0].Explain.KeywordPart-(1-inNotes(weight*known))*fittingWords(got[0])) > 1e-9 {
			t.Errorf("known %v: %+v", known, got)
		}
	}
}

// inNotes is what similarity weighs in a note, if it weighs so much elsewhere.
func inNotes(weight float64) float64 { return weight + 0.4*weight*(1-weight) }

func TestBatchesMayTakeLonger(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		p := &patience{WordEmbedder: locitest.WordEmbedder{Name: "p"}}
		p.SetDown(true)
		e := locitest.NewEngine(t, s, loci.Options{Embedder: p})
		begun := []time.Time{time.Now()}
		locitest.Save(t, locitest.Bind(t, e, "u"), "a text")
		p.SetDown(false)
		begun = append(begun, time.Now())
		if _, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); err != nil {
			t.Fatal(err)
		}
		want := []time.Duration{5 * time.Second, 2 * time.Minute}
		if len(p.deadlines) != len(want) {
			t.Fatalf("%d calls, want %d", len(p.deadlines), len(want))
		}
		for i, d := range p.deadlines { // set between the two moments, however slow the machine is
			if d.Before(begun[i].Add(want[i])) || d.After(p.asked[i].Add(want[i])) {
				t.Errorf("call %d, begun at %v, is waited for until %v; want %v", i, begun[i], d, want[i])
			}
		}
	})
}
