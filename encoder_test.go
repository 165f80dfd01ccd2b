package loci_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// A stuck embedder does not heed its context.
type stuck struct {
	locitest.WordEmbedder
	release chan struct{}
}

func (s *stuck) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	<-s.release
	return s.WordEmbedder.Embed(ctx, texts)
}

func TestStuckEmbedderHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{WordEmbedder: locitest.WordEmbedder{Name: "stuck"}, release: make(chan struct{})}
		e := locitest.NewEngine(t, memory.Open(), loci.Options{Embedder: w})
		m := locitest.Bind(t, e, "u")
		begun := time.Now()
		for i := range 20 {
			locitest.Save(t, m, fmt.Sprint("zebra ", i))
		}
		// Five seconds each, until so many are stuck that it is not asked any more.
		if took := time.Since(begun); took != 16*5*time.Second {
			t.Errorf("20 writes took %v", took)
		}
		if r := locitest.Search(t, m, loci.Query{Text: "zebra", Limit: 100}); len(r.Matches) != 20 || !r.KeywordOnly {
			t.Errorf("%d matches", len(r.Matches))
		}
		close(w.release)
		synctest.Wait()
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 20 || err != nil {
			t.Errorf("backfill: %d, %v", n, err)
		}
	})
}

// An embedder that panics or returns nonsense counts as one that does not answer.
func TestUselessEmbedders(t *testing.T) {
	for name, reply := range map[string]func() [][]float32{
		"panic":      func() [][]float32 { panic("zebra") },
		"none":       func() [][]float32 { return nil },
		"too short":  func() [][]float32 { return [][]float32{make([]float32, 63)} },
		"not finite": func() [][]float32 { return [][]float32{slices.Repeat([]float32{float32(nan())}, 64)} },
	} {
		t.Run(name, func(t *testing.T) {
			e := locitest.NewEngine(t, memory.Open(),
				loci.Options{Embedder: useless{&locitest.WordEmbedder{Name: "w"}, reply}})
			locitest.Save(t, locitest.Bind(t, e, "u"), "zebra")
			r := locitest.Search(t, locitest.Bind(t, e, "u"), loci.Query{Text: "zebra"})
			if !r.KeywordOnly || len(r.Matches) != 1 || !e.Lagging(locitest.Tenant(t, "t")) {
				t.Errorf("%+v", r)
			}
		})
	}
}

type useless struct {
	*locitest.WordEmbedder
	reply func() [][]float32
}

func (u useless) Embed(context.Context, []string) ([][]float32, error) { return u.reply(), nil }
