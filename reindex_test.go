package loci_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// A picky embedder refuses texts that hold a given word, as a service refuses texts that are
// too long. It refuses each batch that has such a text.
type picky struct {
	locitest.WordEmbedder
	refuses string
	left    int // calls until it goes down; 0: never
	calls   int
}

func (p *picky) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	p.calls++
	if p.left > 0 {
		if p.left--; p.left == 0 {
			p.SetDown(true)
		}
	}
	for _, text := range texts {
		if p.refuses != "" && strings.Contains(text, p.refuses) {
			return nil, errors.New("text too long")
		}
	}
	return p.WordEmbedder.Embed(ctx, texts)
}

func newPicky(refuses string) *picky {
	return &picky{WordEmbedder: locitest.WordEmbedder{Name: "two"}, refuses: refuses}
}

// saveMany saves n notes with the old embedder; bad says which hold the word "bad".
func saveMany(t *testing.T, s loci.Store, n int, bad func(i int) bool) *loci.Memory {
	t.Helper()
	all := newModels()
	m := locitest.Bind(t, all.engine(t, s, all.one), "u")
	locitest.SaveMany(t, m, n, func(i int) string {
		word := "good"
		if bad(i) {
			word = "bad"
		}
		return fmt.Sprintf("%s note %d", word, i)
	})
	return m
}

// TestRefusedTextsDoNotHoldUpTheOthers: a few refused texts are reported and left to keyword
// search; too many of them keep the old generation active.
func TestRefusedTextsDoNotHoldUpTheOthers(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for _, c := range []struct {
			name     string
			of       int64
			bad      func(i int) bool
			refused  int64
			switched bool
		}{
			{"one", 150, func(i int) bool { return i == 70 }, 1, true},
			{"the first three", 10, func(i int) bool { return i < 3 }, 3, true},
			{"a few in a row later", 150, func(i int) bool { return i >= 66 && i < 73 }, 7, true},
			{"one in twenty", 80, func(i int) bool { return i%20 == 5 }, 4, true},
			{"more than that", 79, func(i int) bool { return i%20 == 5 }, 4, false},
			{"too many", 150, func(i int) bool { return i%10 == 0 }, 15, false},
		} {
			t.Run(c.name, func(t *testing.T) {
				if err := s.EraseTenant(t.Context(), locitest.Tenant(t, "t")); err != nil {
					t.Fatal(err)
				}
				m := saveMany(t, s, int(c.of), c.bad)
				p := newPicky("bad")
				var log strings.Builder
				logger := slog.New(slog.NewTextHandler(&log, nil))
				e := locitest.NewEngine(t, s, loci.Options{Embedder: p, Logger: logger})
				r, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
				if told := fmt.Sprint("memories=", c.refused, "\n"); strings.Contains(log.String(), told) != c.switched {
					t.Errorf("the log has %s", &log)
				}
				if r.Refused != c.refused || r.Embedded != c.of-c.refused ||
					r.Switched != c.switched || (err == nil) != c.switched {
					t.Errorf("%+v, %v", r, err)
				}
				if !c.switched {
					locitest.WantCode(t, err, loci.Unavailable)
					wantCovered(t, s, map[string]int64{"one": c.of, "two": c.of - c.refused})
					return
				}
				found := locitest.Search(t, locitest.Bind(t, e, "u"), loci.Query{Text: "bad note", Mode: loci.Keyword, Limit: 200})
				if len(found.Matches) != int(c.of) {
					t.Errorf("%d found by keyword", len(found.Matches))
				}
				calls := p.calls
				if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 0 ||
					!errors.Is(err, loci.ErrUnavailable) {
					t.Errorf("backfill: %d, %v", n, err)
				}
				if p.calls > calls+20 {
					t.Errorf("%d calls for what was refused", p.calls-calls)
				}
				_ = m
			})
		}
	})
}

// An embedder that refuses one text after the other counts as down, and is not asked for every
// memory.
func TestDownEmbedderEndsTheReindex(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		saveMany(t, s, 200, func(int) bool { return false })
		down := newPicky("")
		down.SetDown(true)
		e := locitest.NewEngine(t, s, loci.Options{Embedder: down})
		r, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		locitest.WantCode(t, err, loci.Unavailable)
		if down.calls > 2 || r.Embedded != 0 || r.Switched {
			t.Errorf("%d calls, %+v", down.calls, r)
		}
		// Down while the texts of a batch are tried one by one.
		p := newPicky("note 3")
		p.left = 6 // a batch, a question whether it is there, three notes
		r, err = locitest.NewEngine(t, s, loci.Options{Embedder: p}).Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		locitest.WantCode(t, err, loci.Unavailable)
		if p.calls > 10 || r.Embedded != 3 {
			t.Errorf("%d calls, %+v", p.calls, r)
		}
		wantCovered(t, s, map[string]int64{"one": 200, "two": 3})
		all := newPicky("note")
		_, err = locitest.NewEngine(t, s, loci.Options{Embedder: all}).Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		locitest.WantCode(t, err, loci.Unavailable)
		if all.calls > 100 {
			t.Errorf("%d calls of one that refuses everything", all.calls)
		}
	})
}

// The vectors of a batch that were made before the embedder went down in the middle of it are
// stored.
func TestReindexStopsInTheMiddleOfABatch(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		saveMany(t, s, 100, func(i int) bool { return i == 70 })
		p := newPicky("bad")
		p.left = 10 // 64 notes, 36 and one of them bad, a question whether it is there, one by one: 6, and the next
		e := locitest.NewEngine(t, s, loci.Options{Embedder: p})
		r, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		locitest.WantCode(t, err, loci.Unavailable)
		if r.Embedded != 70 || r.Switched {
			t.Errorf("%+v", r)
		}
		wantCovered(t, s, map[string]int64{"one": 100, "two": 70})
		p.SetDown(false)
		r, err = e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		if err != nil || r.Lacking != 30 || r.Embedded != 29 || !r.Switched {
			t.Errorf("then %+v, %v", r, err)
		}
	})
}

// Vectors that were made before the embedder went down need not be made again.
func TestReindexGoesOnWhereItStopped(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		old := saveMany(t, s, 200, func(int) bool { return false })
		p := newPicky("")
		p.left = 3
		e := locitest.NewEngine(t, s, loci.Options{Embedder: p, EmbedderFor: newModels().embedderFor})
		r, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		locitest.WantCode(t, err, loci.Unavailable)
		if r.Embedded != 128 || r.Switched {
			t.Errorf("%+v", r)
		}
		m := locitest.Bind(t, e, "u")
		for _, handle := range []*loci.Memory{old, m} {
			got := locitest.Search(t, handle, loci.Query{Text: "note 77", Mode: loci.Semantic, Limit: 1})
			if got.Matches[0].Record.Text != "good note 77" {
				t.Errorf("half way found %v", locitest.Texts(got))
			}
		}
		p.SetDown(false)
		ctx, cancel := context.WithCancel(t.Context())
		_, err = e.Reindex(ctx, locitest.Tenant(t, "t"), &loci.ReindexOptions{Progress: func(int64, int64) { cancel() }})
		locitest.WantCode(t, err, loci.Unavailable)
		p.Embedded = 0
		plan, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), &loci.ReindexOptions{DryRun: true})
		if err != nil || plan.Lacking != 8 || plan.Bytes != 8*int64(len("good note 199")) || plan.Embedded != 0 || p.Embedded > 0 {
			t.Errorf("dry run: %+v, %v", plan, err)
		}
		r, err = e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		if err != nil || r.Embedded != 8 || !r.Switched || p.Embedded != 8 {
			t.Errorf("%+v, %v; %d texts", r, err, p.Embedded)
		}
	})
}

// A slow embedder takes a while for each batch, and notes when it is asked; so does a slow
// store for each removal of vectors.
type slow struct {
	locitest.WordEmbedder
	loci.Store
	takes          time.Duration
	batches, drops []time.Time
}

func (s *slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	s.batches = append(s.batches, time.Now())
	time.Sleep(s.takes)
	return s.WordEmbedder.Embed(ctx, texts)
}

func (s *slow) DropVectors(ctx context.Context, t loci.Tenant, space loci.Space, most int) (int, error) {
	s.drops = append(s.drops, time.Now())
	time.Sleep(s.takes)
	return s.Store.DropVectors(ctx, t, space, most)
}

// In the background a step is followed by a pause as long as it took, of 5 ms to 5 s; on
// demand by none.
func TestPausesInTheBackground(t *testing.T) {
	const ms, sec = time.Millisecond, time.Second
	background := &loci.ReindexOptions{Background: true}
	for _, c := range []struct{ takes, background, atOnce time.Duration }{
		{0, 5 * ms, 0}, {2 * sec, 4 * sec, 2 * sec}, {10 * sec, 15 * sec, 10 * sec},
	} {
		for _, opts := range []*loci.ReindexOptions{background, nil} {
			synctest.Test(t, func(t *testing.T) {
				s := &slow{WordEmbedder: locitest.WordEmbedder{Name: "two"}, Store: locitest.OpenMemory(), takes: c.takes}
				saveMany(t, s, 130, func(int) bool { return false })
				e := locitest.NewEngine(t, s, loci.Options{Embedder: s})
				r, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), opts)
				if err != nil || r.Embedded != 130 || r.Dropped != 130 {
					t.Fatalf("%+v, %v", r, err)
				}
				want, batches := c.atOnce, 3 // of 64
				if opts == background {
					want, batches = c.background, 9 // of 16
				}
				if len(s.batches) != batches || len(s.drops) != 2 {
					t.Errorf("%d batches and %d removals, want %d and 2", len(s.batches), len(s.drops), batches)
				}
				for _, times := range [][]time.Time{s.batches, s.drops} {
					for i := range times[1:] {
						if after := times[i+1].Sub(times[i]); after != want {
							t.Errorf("a step that takes %v begins %v after another, want %v", c.takes, after, want)
						}
					}
				}
			})
		}
	}
}

// A build in the background that is told to end does so in the middle of a pause.
func TestPauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &slow{WordEmbedder: locitest.WordEmbedder{Name: "two"}, Store: locitest.OpenMemory(), takes: 2 * time.Second}
		saveMany(t, s, 40, func(int) bool { return false })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := locitest.NewEngine(t, s, loci.Options{Embedder: s}).Reindex(ctx, locitest.Tenant(t, "t"),
			&loci.ReindexOptions{Background: true})
		locitest.WantCode(t, err, loci.Unavailable)
		if took := time.Since(begun); took != 3*time.Second || len(s.batches) != 1 {
			t.Errorf("it ended after %v and %d batches", took, len(s.batches))
		}
	})
}
