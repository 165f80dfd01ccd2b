package loci_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
)

// models are the embedders there are in a test; the second stands for what became
// of the first after a change of the configuration.
type models struct {
	one, two, three *wordEmbedder
	unavailable     bool // none is made for another's space
}

func newModels() *models {
	return &models{one: &wordEmbedder{model: "one"}, two: &wordEmbedder{model: "two"}, three: &wordEmbedder{model: "three"}}
}

func (m *models) embedderFor(s loci.Space) (loci.Embedder, error) {
	for _, w := range []*wordEmbedder{m.one, m.two, m.three} {
		if w.model == s.Model && !m.unavailable {
			return w, nil
		}
	}
	return nil, errors.New("no such model")
}

func (m *models) engine(t testing.TB, s loci.Store, e loci.Embedder) *loci.Engine {
	return newEngine(t, s, loci.Options{Embedder: e, EmbedderFor: m.embedderFor})
}

func spaceOf(w *wordEmbedder) loci.Space { return loci.Space{Model: w.model, Dims: w.Dims()} }

func wantActive(t testing.TB, s loci.Store, w *wordEmbedder) {
	t.Helper()
	if got, err := s.ActiveSpace(t.Context(), tenant(t, "t")); err != nil || got != spaceOf(w) {
		t.Errorf("the active space is %s, want %s; %v", got, w.model, err)
	}
}

func wantCovered(t testing.TB, s loci.Store, want map[string]int64) {
	t.Helper()
	spaces, err := s.Spaces(t.Context(), tenant(t, "t"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for s, n := range spaces {
		got[s.Model] = n
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("vectors of %v, want %v", got, want)
	}
}

// Everything a search says is the same before a change of the embedder, after it
// and while the new vectors are made; what is written meanwhile is found by
// similarity on both sides of the switch.
func TestSearchGoesOnAcrossGenerations(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		before := bind(t, all.engine(t, s, all.one), "u")
		for i := range 150 {
			save(t, before, fmt.Sprintf("note %d on zebra%d and lion%d", i, i%7, i%11))
		}
		query := loci.Query{Text: "zebra3 lion5", Limit: 20}
		want := search(t, before, query)
		if want.KeywordOnly || !want.Matches[0].Explain.Embedded {
			t.Fatalf("no search by similarity: %+v", want.Matches[0].Explain)
		}
		e := all.engine(t, s, all.two)
		after := bind(t, e, "u")
		same := func(when string) {
			t.Helper()
			for _, m := range []*loci.Memory{before, after} {
				if got := search(t, m, query); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: search says\n%v, not\n%v", when, texts(got), texts(want))
				}
			}
		}
		same("before")
		steps := 0
		report, err := e.Reindex(t.Context(), tenant(t, "t"), &loci.ReindexOptions{Progress: func(done, total int64) {
			if steps++; done < total {
				same("while it is built")
			}
			if steps == 1 { // by either process, and of no effect on the query
				save(t, before, "xylophone")
				save(t, after, "accordion")
				want = search(t, before, query)
			}
		}})
		if err != nil || !report.Switched || report.From != spaceOf(all.one) || report.To != spaceOf(all.two) || report.Lacking != 150 || report.Embedded != 151 || report.Dropped != 152 {
			t.Errorf("report %+v, %v", report, err)
		}
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 152})
		if steps < 3 {
			t.Errorf("%d steps", steps)
		}
		for _, m := range []*loci.Memory{before, after} {
			for _, word := range []string{"xylophone", "accordion", "zebra3"} {
				r := search(t, m, loci.Query{Text: word, Mode: loci.Semantic, Limit: 3})
				if len(r.Matches) == 0 || !strings.Contains(r.Matches[0].Record.Text, word) {
					t.Errorf("%q is not found by similarity", word)
				}
			}
			if r := search(t, m, query); !reflect.DeepEqual(r, search(t, bind(t, all.engine(t, s, all.two), "u"), query)) {
				t.Error("engines of different configurations find different things")
			}
		}
		again, err := e.Reindex(t.Context(), tenant(t, "t"), nil)
		if err != nil || again.Switched || again.Embedded != 0 || again.Dropped != 0 {
			t.Errorf("a second time: %+v, %v", again, err)
		}
	})
}

// A write while a generation is built brings vectors of both, an import too.
func TestWritesFeedBothGenerations(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		old := bind(t, all.engine(t, s, all.one), "u")
		save(t, old, "old")
		e := all.engine(t, s, all.two)
		m := bind(t, e, "u")
		id := save(t, m, "zebra")
		wantCovered(t, s, map[string]int64{"one": 2, "two": 1})
		if _, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("lion")}); err != nil {
			t.Fatal(err)
		}
		put(t, m, loci.Namespace{"u"}, "k", `{"text":"xylophone"}`, nil)
		imports(t, bind(t, e, "elsewhere"), exported(t, m))
		wantCovered(t, s, map[string]int64{"one": 6, "two": 5})
		all.one.setDown(true) // neither failure fails a write
		save(t, m, "without one")
		if !e.Lagging(tenant(t, "t")) {
			t.Error("what search lacks is not noticed")
		}
		all.one.setDown(false)
		if n, err := e.Backfill(t.Context(), tenant(t, "t"), nil); n != 1 || err != nil || e.Lagging(tenant(t, "t")) {
			t.Errorf("backfill of what is searched: %d, %v", n, err)
		}
		all.two.setDown(true)
		save(t, m, "without two")
		if e.Lagging(tenant(t, "t")) {
			t.Error("search lacks nothing")
		}
		wantCovered(t, s, map[string]int64{"one": 8, "two": 6})
		if err := m.EraseFact(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		wantCovered(t, s, map[string]int64{"one": 7, "two": 5})
		generations, err := e.Generations(t.Context(), tenant(t, "t"))
		want := []loci.Generation{{Space: spaceOf(all.one), Active: true, Vectors: 7}, {Space: spaceOf(all.two), Wanted: true, Vectors: 5, Lacking: 2}}
		if err != nil || !reflect.DeepEqual(generations, want) {
			t.Errorf("generations %+v, %v", generations, err)
		}
	})
}

// A switch in the middle of an import, or of a write, leaves no gap behind.
func TestSwitchInTheMiddleOfAWrite(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		source := bind(t, newEngine(t, memory.Open(), loci.Options{}), "u")
		for i := range 250 {
			save(t, source, fmt.Sprint("note ", i))
		}
		h := &hooked{wordEmbedder: wordEmbedder{model: "one"}}
		e := all.engine(t, s, h)
		m := bind(t, e, "u")
		save(t, m, "first")
		reindex := func(w *wordEmbedder) {
			if _, err := all.engine(t, s, w).Reindex(t.Context(), tenant(t, "t"), nil); err != nil {
				t.Error(err)
			}
		}
		h.do = func() { reindex(all.two) }
		wantReport(t, imports(t, m, exported(t, source)), 250, 0, 0)
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 251})
		reindex(all.one)
		h.do = func() { reindex(all.two) }
		save(t, m, "last")
		wantCovered(t, s, map[string]int64{"two": 252})
		if e.Lagging(tenant(t, "t")) {
			t.Error("vectors are said to be missing")
		}
	})
}

// Without the old embedder, search is by keyword, flagged, until the switch.
func TestFormerEmbedderUnavailable(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		save(t, bind(t, all.engine(t, s, all.one), "u"), "zebra")
		all.unavailable = true
		e := all.engine(t, s, all.two)
		m := bind(t, e, "u")
		save(t, m, "zebra lion")
		if e.Lagging(tenant(t, "t")) {
			t.Error("it waits for an embedder that cannot be had")
		}
		r := search(t, m, loci.Query{Text: "zebra"})
		if !r.KeywordOnly || len(r.Matches) != 2 || r.Matches[0].Explain.Embedded {
			t.Errorf("keyword only %v, %d matches", r.KeywordOnly, len(r.Matches))
		}
		_, err := m.Search(t.Context(), loci.Query{Text: "zebra", Mode: loci.Semantic})
		wantCode(t, err, loci.Unavailable)
		if n, err := e.Backfill(t.Context(), tenant(t, "t"), nil); n != 0 || err != nil {
			t.Errorf("backfill: %d, %v", n, err)
		}
		if report, err := e.Reindex(t.Context(), tenant(t, "t"), nil); err != nil || report.Embedded != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		if r := search(t, m, loci.Query{Text: "zebra", Mode: loci.Semantic}); len(r.Matches) != 2 {
			t.Errorf("%d matches", len(r.Matches))
		}
	})
}

// An embedder of another size under an old name is not the old one.
func TestEmbedderForMustFit(t *testing.T) {
	all := newModels()
	s := memory.Open()
	save(t, bind(t, all.engine(t, s, all.one), "u"), "zebra")
	e := newEngine(t, s, loci.Options{Embedder: all.two, EmbedderFor: func(loci.Space) (loci.Embedder, error) { return all.three, nil }})
	if r := search(t, bind(t, e, "u"), loci.Query{Text: "zebra"}); !r.KeywordOnly {
		t.Error("the vectors of one model were compared with those of another")
	}
}

// Processes of different configurations: the one that another overtook goes along.
func TestConfigurationsDoNotFight(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		one, two, three := all.engine(t, s, all.one), all.engine(t, s, all.two), all.engine(t, s, all.three)
		save(t, bind(t, one, "u"), "zebra")
		for _, e := range []*loci.Engine{one, two, three} {
			save(t, bind(t, e, "u"), "from "+e.Space().Model)
		}
		background := &loci.ReindexOptions{Background: true}
		if r, err := two.Reindex(t.Context(), tenant(t, "t"), background); err != nil || !r.Switched || r.Left {
			t.Fatalf("%+v, %v", r, err)
		}
		for range 2 {
			for _, e := range []*loci.Engine{one, three} {
				if r, err := e.Reindex(t.Context(), tenant(t, "t"), background); err != nil || !r.Left || r.Switched {
					t.Errorf("%s: %+v, %v", e.Space().Model, r, err)
				}
				m := bind(t, e, "u")
				save(t, m, "later, from "+e.Space().Model)
				if r := search(t, m, loci.Query{Text: "zebra", Mode: loci.Semantic}); len(r.Matches) == 0 {
					t.Errorf("%s finds nothing by similarity", e.Space().Model)
				}
			}
		}
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 6, "three": 1})                                 // the one from before it was overtaken
		if r, err := three.Reindex(t.Context(), tenant(t, "t"), nil); err != nil || !r.Switched { // because somebody says so
			t.Errorf("%+v, %v", r, err)
		}
		wantActive(t, s, all.three)
		wantCovered(t, s, map[string]int64{"three": 6})
		if r, err := two.Reindex(t.Context(), tenant(t, "t"), background); err != nil || !r.Left {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A switch in the middle of a build in the background ends it, and what it had made
// goes.
func TestOvertakenInTheMiddle(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		m := bind(t, all.engine(t, s, all.one), "u")
		for i := range 100 {
			save(t, m, fmt.Sprint("note ", i))
		}
		two, three := all.engine(t, s, all.two), all.engine(t, s, all.three)
		first := true
		r, err := two.Reindex(t.Context(), tenant(t, "t"), &loci.ReindexOptions{Background: true, Progress: func(int64, int64) {
			if first {
				first = false
				if _, err := three.Reindex(t.Context(), tenant(t, "t"), &loci.ReindexOptions{Background: true}); err != nil {
					t.Error(err)
				}
			}
		}})
		if err != nil || !r.Left || r.Switched || r.Embedded >= 100 {
			t.Errorf("%+v, %v", r, err)
		}
		wantActive(t, s, all.three)
		wantCovered(t, s, map[string]int64{"three": 100})
	})
}

// Two explicit ones at once: the same is made once whole; of two different, one wins.
func TestReindexAtOnce(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		m := bind(t, all.engine(t, s, all.one), "u")
		for i := range 200 {
			save(t, m, fmt.Sprint("note ", i))
		}
		var wg sync.WaitGroup
		for range 3 {
			e := all.engine(t, s, all.two)
			wg.Go(func() {
				if _, err := e.Reindex(t.Context(), tenant(t, "t"), nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 200})
		errs := make([]error, 2)
		for i, w := range []*wordEmbedder{all.one, all.three} {
			e := all.engine(t, s, w)
			wg.Go(func() { _, errs[i] = e.Reindex(t.Context(), tenant(t, "t"), nil) })
		}
		wg.Wait()
		if errs[0] != nil && errs[1] != nil {
			t.Errorf("neither was made: %v", errs)
		}
		for _, err := range errs {
			if err != nil {
				wantCode(t, err, loci.Conflict)
			}
		}
		if r := search(t, m, loci.Query{Text: "note", Mode: loci.Semantic, Limit: 1000}); len(r.Matches) != 200 {
			t.Errorf("%d of 200 are found by similarity", len(r.Matches))
		}
	})
}

// The switch waits for nobody that writes without pause, and misses none of it.
func TestReindexWhileOthersWrite(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		m := bind(t, all.engine(t, s, all.one), "u") // knows nothing of what is built
		save(t, m, "first")
		var switched atomic.Bool
		var wg sync.WaitGroup
		saved := make([]int, 3)
		for w := range saved {
			wg.Go(func() {
				for after := 0; after < 3; { // some after the switch
					if switched.Load() {
						after++
					}
					if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprintf("note %d of %d", saved[w], w)}); err != nil {
						t.Error(err)
						return
					}
					saved[w]++
				}
			})
		}
		r, err := all.engine(t, s, all.two).Reindex(t.Context(), tenant(t, "t"), nil)
		switched.Store(true)
		wg.Wait()
		if err != nil || !r.Switched {
			t.Fatalf("%+v, %v", r, err)
		}
		missing, err := s.Unembedded(t.Context(), tenant(t, "t"), spaceOf(all.two), loci.ID{}, 1000)
		if err != nil || len(missing) > 0 {
			t.Errorf("%d of %v lack vectors of the active space, %v", len(missing), saved, err)
		}
	})
}

// A racing store has a writer that is always quicker than the switch.
type racing struct {
	loci.Store
	write func()
	tries int
}

func (r *racing) SwitchSpace(ctx context.Context, t loci.Tenant, from, to loci.Space, lacking int64) error {
	r.tries++
	r.write()
	return r.Store.SwitchSpace(ctx, t, from, to, lacking)
}

func TestSwitchGetsThrough(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		old := bind(t, all.engine(t, s, all.one), "u")
		save(t, old, "first")
		r := &racing{Store: s}
		r.write = func() { save(t, old, fmt.Sprint("note ", r.tries)) }
		report, err := all.engine(t, r, all.two).Reindex(t.Context(), tenant(t, "t"), nil)
		if err != nil || !report.Switched || r.tries > 6 {
			t.Errorf("%+v, %v after %d tries", report, err, r.tries)
		}
		wantCovered(t, s, map[string]int64{"two": int64(r.tries) + 1})
	})
}

// Without an embedder the active generation stays as it is.
func TestNoEmbedderLeavesGenerationsAlone(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		save(t, bind(t, all.engine(t, s, all.one), "u"), "zebra")
		e := newEngine(t, s, loci.Options{EmbedderFor: all.embedderFor})
		save(t, bind(t, e, "u"), "lion")
		if r := search(t, bind(t, e, "u"), loci.Query{Text: "zebra"}); r.KeywordOnly || len(r.Matches) != 1 {
			t.Errorf("%+v", r)
		}
		_, err := e.Reindex(t.Context(), tenant(t, "t"), nil)
		wantCode(t, err, loci.Unsupported)
		wantActive(t, s, all.one)
		stats, err := bind(t, e, "u").Stats(t.Context())
		if err != nil || stats.Facts.Unembedded != 1 {
			t.Errorf("%+v, %v", stats.Facts, err)
		}
	})
}

// A stuck embedder does not heed its context.
type stuck struct {
	wordEmbedder
	release chan struct{}
}

func (s *stuck) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	<-s.release
	return s.wordEmbedder.Embed(ctx, texts)
}

func TestStuckEmbedderHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stuck{wordEmbedder: wordEmbedder{model: "stuck"}, release: make(chan struct{})}
		e := newEngine(t, memory.Open(), loci.Options{Embedder: w})
		m := bind(t, e, "u")
		begun := time.Now()
		for i := range 20 {
			save(t, m, fmt.Sprint("zebra ", i))
		}
		// Five seconds each, until so many are stuck that it is not asked any more.
		if took := time.Since(begun); took != 16*5*time.Second {
			t.Errorf("20 writes took %v", took)
		}
		if r := search(t, m, loci.Query{Text: "zebra", Limit: 100}); len(r.Matches) != 20 || !r.KeywordOnly {
			t.Errorf("%d matches", len(r.Matches))
		}
		close(w.release)
		synctest.Wait()
		if n, err := e.Backfill(t.Context(), tenant(t, "t"), nil); n != 20 || err != nil {
			t.Errorf("backfill: %d, %v", n, err)
		}
	})
}

// A panicking embedder is one that does not answer, one that returns nonsense, too.
func TestUselessEmbedders(t *testing.T) {
	for name, reply := range map[string]func() [][]float32{
		"panic":      func() [][]float32 { panic("zebra") },
		"none":       func() [][]float32 { return nil },
		"too short":  func() [][]float32 { return [][]float32{make([]float32, 63)} },
		"not finite": func() [][]float32 { return [][]float32{slices.Repeat([]float32{float32(nan())}, 64)} },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, memory.Open(), loci.Options{Embedder: useless{&wordEmbedder{model: "w"}, reply}})
			save(t, bind(t, e, "u"), "zebra")
			if r := search(t, bind(t, e, "u"), loci.Query{Text: "zebra"}); !r.KeywordOnly || len(r.Matches) != 1 || !e.Lagging(tenant(t, "t")) {
				t.Errorf("%+v", r)
			}
		})
	}
}

type useless struct {
	*wordEmbedder
	reply func() [][]float32
}

func (u useless) Embed(context.Context, []string) ([][]float32, error) { return u.reply(), nil }
