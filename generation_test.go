package loci_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// models are the embedders there are in a test; the second stands for what became
// of the first after a change of the configuration.
type models struct {
	one, two, three *locitest.WordEmbedder
	unavailable     bool // none is made for another's space
}

func newModels() *models {
	return &models{
		one:   &locitest.WordEmbedder{Name: "one"},
		two:   &locitest.WordEmbedder{Name: "two"},
		three: &locitest.WordEmbedder{Name: "three"},
	}
}

func (m *models) embedderFor(s loci.Space) (loci.Embedder, error) {
	for _, w := range []*locitest.WordEmbedder{m.one, m.two, m.three} {
		if w.Name == s.Model && !m.unavailable {
			return w, nil
		}
	}
	return nil, errors.New("no such model")
}

func (m *models) engine(t testing.TB, s loci.Store, e loci.Embedder) *loci.Engine {
	return locitest.NewEngine(t, s, loci.Options{Embedder: e, EmbedderFor: m.embedderFor})
}

func spaceOf(w *locitest.WordEmbedder) loci.Space { return loci.Space{Model: w.Name, Dims: w.Dims()} }

func wantActive(t testing.TB, s loci.Store, w *locitest.WordEmbedder) {
	t.Helper()
	if got, err := s.ActiveSpace(t.Context(), locitest.Tenant(t, "t")); err != nil || got != spaceOf(w) {
		t.Errorf("the active space is %s, want %s; %v", got, w.Name, err)
	}
}

func wantCovered(t testing.TB, s loci.Store, want map[string]int64) {
	t.Helper()
	spaces, err := s.Spaces(t.Context(), locitest.Tenant(t, "t"))
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
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		before := locitest.Bind(t, all.engine(t, s, all.one), "u")
		locitest.SaveMany(t, before, 150, func(i int) string {
			return fmt.Sprintf("note %d on zebra%d and lion%d", i, i%7, i%11)
		})
		query := loci.Query{Text: "zebra3 lion5", Limit: 20}
		want := locitest.Search(t, before, query)
		if want.KeywordOnly || !want.Matches[0].Explain.Embedded {
			t.Fatalf("no search by similarity: %+v", want.Matches[0].Explain)
		}
		e := all.engine(t, s, all.two)
		after := locitest.Bind(t, e, "u")
		same := func(when string) {
			t.Helper()
			for _, m := range []*loci.Memory{before, after} {
				if got := locitest.Search(t, m, query); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: search says\n%v, not\n%v", when, locitest.Texts(got), locitest.Texts(want))
				}
			}
		}
		same("before")
		steps := 0
		report, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"),
			&loci.ReindexOptions{Progress: func(done, total int64) {
				if steps++; done < total {
					same("while it is built")
				}
				if steps == 1 { // by either process, and of no effect on the query
					locitest.Save(t, before, "xylophone")
					locitest.Save(t, after, "accordion")
					want = locitest.Search(t, before, query)
				}
			}})
		if err != nil || !report.Switched || report.From != spaceOf(all.one) || report.To != spaceOf(all.two) ||
			report.Lacking != 150 || report.Embedded != 151 || report.Dropped != 152 {
			t.Errorf("report %+v, %v", report, err)
		}
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 152})
		if steps < 3 {
			t.Errorf("%d steps", steps)
		}
		for _, m := range []*loci.Memory{before, after} {
			for _, word := range []string{"xylophone", "accordion", "zebra3"} {
				r := locitest.Search(t, m, loci.Query{Text: word, Mode: loci.Semantic, Limit: 3})
				if len(r.Matches) == 0 || !strings.Contains(r.Matches[0].Record.Text, word) {
					t.Errorf("%q is not found by similarity", word)
				}
			}
			fresh := locitest.Search(t, locitest.Bind(t, all.engine(t, s, all.two), "u"), query)
			if r := locitest.Search(t, m, query); !reflect.DeepEqual(r, fresh) {
				t.Error("engines of different configurations find different things")
			}
		}
		again, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		if err != nil || again.Switched || again.Embedded != 0 || again.Dropped != 0 {
			t.Errorf("a second time: %+v, %v", again, err)
		}
	})
}

// A write while a generation is built brings vectors of both, an import too.
func TestWritesFeedBothGenerations(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		old := locitest.Bind(t, all.engine(t, s, all.one), "u")
		locitest.Save(t, old, "old")
		e := all.engine(t, s, all.two)
		m := locitest.Bind(t, e, "u")
		id := locitest.Save(t, m, "zebra")
		wantCovered(t, s, map[string]int64{"one": 2, "two": 1})
		if _, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("lion")}); err != nil {
			t.Fatal(err)
		}
		locitest.PutItem(t, m, loci.Namespace{"u"}, "k", `{"text":"xylophone"}`, nil)
		imports(t, locitest.Bind(t, e, "elsewhere"), locitest.Exported(t, m))
		wantCovered(t, s, map[string]int64{"one": 6, "two": 5})
		all.one.SetDown(true) // neither failure fails a write
		locitest.Save(t, m, "without one")
		if !e.Lagging(locitest.Tenant(t, "t")) {
			t.Error("what search lacks is not noticed")
		}
		all.one.SetDown(false)
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 1 ||
			err != nil || e.Lagging(locitest.Tenant(t, "t")) {
			t.Errorf("backfill of what is searched: %d, %v", n, err)
		}
		all.two.SetDown(true)
		locitest.Save(t, m, "without two")
		if e.Lagging(locitest.Tenant(t, "t")) {
			t.Error("search lacks nothing")
		}
		wantCovered(t, s, map[string]int64{"one": 8, "two": 6})
		if err := m.EraseFact(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		wantCovered(t, s, map[string]int64{"one": 7, "two": 5})
		generations, err := e.Generations(t.Context(), locitest.Tenant(t, "t"))
		want := []loci.Generation{
			{Space: spaceOf(all.one), Active: true, Vectors: 7},
			{Space: spaceOf(all.two), Wanted: true, Vectors: 5, Lacking: 2},
		}
		if err != nil || !reflect.DeepEqual(generations, want) {
			t.Errorf("generations %+v, %v", generations, err)
		}
	})
}

// A switch in the middle of an import, or of a write, leaves no gap behind.
func TestSwitchInTheMiddleOfAWrite(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		source := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u")
		for i := range 250 {
			locitest.Save(t, source, fmt.Sprint("note ", i))
		}
		h := &hooked{WordEmbedder: locitest.WordEmbedder{Name: "one"}}
		e := all.engine(t, s, h)
		m := locitest.Bind(t, e, "u")
		locitest.Save(t, m, "first")
		reindex := func(w *locitest.WordEmbedder) {
			if _, err := all.engine(t, s, w).Reindex(t.Context(), locitest.Tenant(t, "t"), nil); err != nil {
				t.Error(err)
			}
		}
		h.do = func() { reindex(all.two) }
		wantReport(t, imports(t, m, locitest.Exported(t, source)), 250, 0, 0)
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 251})
		reindex(all.one)
		h.do = func() { reindex(all.two) }
		locitest.Save(t, m, "last")
		wantCovered(t, s, map[string]int64{"two": 252})
		if e.Lagging(locitest.Tenant(t, "t")) {
			t.Error("vectors are said to be missing")
		}
	})
}

// Without the old embedder, search is by keyword, flagged, until the switch.
func TestFormerEmbedderUnavailable(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		locitest.Save(t, locitest.Bind(t, all.engine(t, s, all.one), "u"), "zebra")
		all.unavailable = true
		e := all.engine(t, s, all.two)
		m := locitest.Bind(t, e, "u")
		locitest.Save(t, m, "zebra lion")
		if e.Lagging(locitest.Tenant(t, "t")) {
			t.Error("it waits for an embedder that is not available")
		}
		r := locitest.Search(t, m, loci.Query{Text: "zebra"})
		if !r.KeywordOnly || len(r.Matches) != 2 || r.Matches[0].Explain.Embedded {
			t.Errorf("keyword only %v, %d matches", r.KeywordOnly, len(r.Matches))
		}
		_, err := m.Search(t.Context(), loci.Query{Text: "zebra", Mode: loci.Semantic})
		locitest.WantCode(t, err, loci.Unavailable)
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 0 || err != nil {
			t.Errorf("backfill: %d, %v", n, err)
		}
		if report, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil); err != nil || report.Embedded != 1 {
			t.Errorf("%+v, %v", report, err)
		}
		if r := locitest.Search(t, m, loci.Query{Text: "zebra", Mode: loci.Semantic}); len(r.Matches) != 2 {
			t.Errorf("%d matches", len(r.Matches))
		}
	})
}

// An embedder of another size under an old name is not the old one.
func TestEmbedderForMustFit(t *testing.T) {
	all := newModels()
	s := memory.Open()
	locitest.Save(t, locitest.Bind(t, all.engine(t, s, all.one), "u"), "zebra")
	e := locitest.NewEngine(t, s, loci.Options{Embedder: all.two, EmbedderFor: func(loci.Space) (loci.Embedder, error) {
		return all.three, nil
	}})
	if r := locitest.Search(t, locitest.Bind(t, e, "u"), loci.Query{Text: "zebra"}); !r.KeywordOnly {
		t.Error("the vectors of one model were compared with those of another")
	}
}

// Two processes have different configurations: the one that was overtaken follows the other.
func TestConfigurationsDoNotFight(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		one, two, three := all.engine(t, s, all.one), all.engine(t, s, all.two), all.engine(t, s, all.three)
		locitest.Save(t, locitest.Bind(t, one, "u"), "zebra")
		for _, e := range []*loci.Engine{one, two, three} {
			locitest.Save(t, locitest.Bind(t, e, "u"), "from "+e.Space().Model)
		}
		background := &loci.ReindexOptions{Background: true}
		if r, err := two.Reindex(t.Context(), locitest.Tenant(t, "t"), background); err != nil || !r.Switched || r.Left {
			t.Fatalf("%+v, %v", r, err)
		}
		for range 2 {
			for _, e := range []*loci.Engine{one, three} {
				r, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), background)
				if err != nil || !r.Left || r.Switched {
					t.Errorf("%s: %+v, %v", e.Space().Model, r, err)
				}
				m := locitest.Bind(t, e, "u")
				locitest.Save(t, m, "later, from "+e.Space().Model)
				if r := locitest.Search(t, m, loci.Query{Text: "zebra", Mode: loci.Semantic}); len(r.Matches) == 0 {
					t.Errorf("%s finds nothing by similarity", e.Space().Model)
				}
			}
		}
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 6, "three": 1})                                          // the one from before it was overtaken
		if r, err := three.Reindex(t.Context(), locitest.Tenant(t, "t"), nil); err != nil || !r.Switched { // because somebody asks for it
			t.Errorf("%+v, %v", r, err)
		}
		wantActive(t, s, all.three)
		wantCovered(t, s, map[string]int64{"three": 6})
		if r, err := two.Reindex(t.Context(), locitest.Tenant(t, "t"), background); err != nil || !r.Left {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// A switch ends a build that runs in the background, and removes what that build had made.
func TestOvertakenInTheMiddle(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		m := locitest.Bind(t, all.engine(t, s, all.one), "u")
		locitest.SaveMany(t, m, 100, func(i int) string { return fmt.Sprint("note ", i) })
		two, three := all.engine(t, s, all.two), all.engine(t, s, all.three)
		first := true
		r, err := two.Reindex(t.Context(), locitest.Tenant(t, "t"), &loci.ReindexOptions{
			Background: true,
			Progress: func(int64, int64) {
				if first {
					first = false
					_, err := three.Reindex(t.Context(), locitest.Tenant(t, "t"), &loci.ReindexOptions{Background: true})
					if err != nil {
						t.Error(err)
					}
				}
			},
		})
		if err != nil || !r.Left || r.Switched || r.Embedded >= 100 {
			t.Errorf("%+v, %v", r, err)
		}
		wantActive(t, s, all.three)
		wantCovered(t, s, map[string]int64{"three": 100})
	})
}

// Two explicit builds at once: two of one space make it once and whole; of two spaces one wins.
func TestReindexAtOnce(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		m := locitest.Bind(t, all.engine(t, s, all.one), "u")
		locitest.SaveMany(t, m, 200, func(i int) string { return fmt.Sprint("note ", i) })
		var wg sync.WaitGroup
		for range 3 {
			e := all.engine(t, s, all.two)
			wg.Go(func() {
				if _, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		wantActive(t, s, all.two)
		wantCovered(t, s, map[string]int64{"two": 200})
		errs := make([]error, 2)
		for i, w := range []*locitest.WordEmbedder{all.one, all.three} {
			e := all.engine(t, s, w)
			wg.Go(func() { _, errs[i] = e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil) })
		}
		wg.Wait()
		if errs[0] != nil && errs[1] != nil {
			t.Errorf("neither was made: %v", errs)
		}
		for _, err := range errs {
			if err != nil {
				locitest.WantCode(t, err, loci.Conflict)
			}
		}
		if r := locitest.Search(t, m, loci.Query{Text: "note", Mode: loci.Semantic, Limit: 1000}); len(r.Matches) != 200 {
			t.Errorf("%d of 200 are found by similarity", len(r.Matches))
		}
	})
}

// The switch does not wait for a writer that never pauses, and misses none of its writes.
func TestReindexWhileOthersWrite(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		m := locitest.Bind(t, all.engine(t, s, all.one), "u") // knows nothing of what is built
		locitest.Save(t, m, "first")
		var switched atomic.Bool
		var wg sync.WaitGroup
		saved := make([]int, 3)
		for w := range saved {
			wg.Go(func() {
				for after := 0; after < 3; { // some after the switch
					if switched.Load() {
						after++
					}
					_, err := m.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprintf("note %d of %d", saved[w], w)})
					if err != nil {
						t.Error(err)
						return
					}
					saved[w]++
				}
			})
		}
		r, err := all.engine(t, s, all.two).Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		switched.Store(true)
		wg.Wait()
		if err != nil || !r.Switched {
			t.Fatalf("%+v, %v", r, err)
		}
		missing, err := s.Unembedded(t.Context(), locitest.Tenant(t, "t"), spaceOf(all.two), loci.ID{}, 1000)
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
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		old := locitest.Bind(t, all.engine(t, s, all.one), "u")
		locitest.Save(t, old, "first")
		r := &racing{Store: s}
		r.write = func() { locitest.Save(t, old, fmt.Sprint("note ", r.tries)) }
		report, err := all.engine(t, r, all.two).Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		if err != nil || !report.Switched || r.tries > 6 {
			t.Errorf("%+v, %v after %d tries", report, err, r.tries)
		}
		wantCovered(t, s, map[string]int64{"two": int64(r.tries) + 1})
	})
}

// Without an embedder the active generation stays as it is.
func TestNoEmbedderLeavesGenerationsAlone(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		all := newModels()
		locitest.Save(t, locitest.Bind(t, all.engine(t, s, all.one), "u"), "zebra")
		e := locitest.NewEngine(t, s, loci.Options{EmbedderFor: all.embedderFor})
		locitest.Save(t, locitest.Bind(t, e, "u"), "lion")
		if r := locitest.Search(t, locitest.Bind(t, e, "u"), loci.Query{Text: "zebra"}); r.KeywordOnly || len(r.Matches) != 1 {
			t.Errorf("%+v", r)
		}
		_, err := e.Reindex(t.Context(), locitest.Tenant(t, "t"), nil)
		locitest.WantCode(t, err, loci.Unsupported)
		wantActive(t, s, all.one)
		stats, err := locitest.Bind(t, e, "u").Stats(t.Context())
		if err != nil || stats.Facts.Unembedded != 1 {
			t.Errorf("%+v, %v", stats.Facts, err)
		}
	})
}
