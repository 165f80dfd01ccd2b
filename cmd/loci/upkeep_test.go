package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// renamed is the lexical embedder under another name: another space, and nothing
// that is known to be local.
type renamed struct{ loci.Embedder }

func (renamed) Model() string { return "renamed-1" }

// While a server runs it builds the generation of a local embedder, after the first
// replies; one that may cost money waits for loci reindex.
func TestUpkeepBuildsLocalGenerations(t *testing.T) {
	lexical := embedding.NewLexical()
	for name, c := range map[string]struct {
		stored, configured loci.Embedder
		switches           bool
	}{
		"local":   {renamed{lexical}, lexical, true},
		"service": {lexical, renamed{lexical}, false},
		"none":    {lexical, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tenant, err := loci.NewTenant("default")
				if err != nil {
					t.Fatal(err)
				}
				s := memory.Open()
				engine := func(e loci.Embedder) *loci.Engine {
					engine, err := loci.New(s, &loci.Options{
						Features: locitest.Features(),
						Embedder: e,
						EmbedderFor: func(loci.Space) (loci.Embedder, error) {
							return c.stored, nil
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					return engine
				}
				m, err := engine(c.stored).Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"u"}, Actor: "a"})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 100 {
					if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprint("note ", i)}); err != nil {
						t.Fatal(err)
					}
				}
				models := func() (all []string) {
					spaces, err := s.Spaces(t.Context(), tenant)
					if err != nil {
						t.Fatal(err)
					}
					for s := range spaces {
						all = append(all, s.Model)
					}
					return all
				}
				var log bytes.Buffer
				a := &app{cfg: &config.Config{}, err: &log, embedder: c.configured, engine: engine(c.configured)}
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					a.upkeep(ctx, tenant)
				}()
				time.Sleep(upkeepDelay - time.Millisecond)
				if got := models(); !slices.Equal(got, []string{c.stored.Model()}) {
					t.Errorf("before the first replies there are vectors of %v", got)
				}
				time.Sleep(10 * time.Minute)
				want := c.stored.Model()
				if c.switches {
					want = c.configured.Model()
				}
				if got := models(); !slices.Equal(got, []string{want}) {
					t.Errorf("vectors of %v, want %s; log: %s", got, want, &log)
				}
				stop()
				<-done
			})
		})
	}
}

// A wiper counts for whom it is asked to wipe ahead.
type wiper struct {
	loci.Store
	asked atomic.Int64
}

func (w *wiper) WipeAhead(context.Context, loci.Tenant) error {
	w.asked.Add(1)
	return nil
}

// A server has its store wipe ahead of the first erase, behind the first replies: that of one tenant, and of all.
func TestUpkeepWipesAhead(t *testing.T) {
	for name, run := range map[string]func(*app, context.Context, loci.Tenant){
		"one": (*app).upkeep,
		"all": func(a *app, ctx context.Context, _ loci.Tenant) { a.upkeepOfAll(ctx) },
	} {
		synctest.Test(t, func(t *testing.T) {
			tenant, err := loci.NewTenant("t")
			if err != nil {
				t.Fatal(err)
			}
			s := &wiper{Store: memory.Open()}
			engine, err := loci.New(s, &loci.Options{Features: locitest.Features()})
			if err != nil {
				t.Fatal(err)
			}
			m, err := engine.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"u"}, Actor: "a"})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: "walrus"}); err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			embedder := embedding.NewLexical()
			a := &app{cfg: &config.Config{}, err: &log, store: s, embedder: embedder, engine: engine}
			ctx, stop := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { run(a, ctx, tenant) })
			time.Sleep(upkeepDelay - time.Millisecond)
			if n := s.asked.Load(); n > 0 {
				t.Errorf("%s: before the first replies it was asked %d times", name, n)
			}
			time.Sleep(upkeepInterval)
			if n := s.asked.Load(); n == 0 {
				t.Errorf("%s: it was not asked; log: %s", name, &log)
			}
			stop()
			running.Wait()
		})
	}
}
