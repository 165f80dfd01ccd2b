package loci_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestSearchFindsByWordsAndMeaning: each mode finds what it should, on every store, and a
// record comes once with its best passage.
func TestSearchFindsByWordsAndMeaning(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		passages := loci.PassageOptions{Size: 64, Overlap: 8}
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now,
			Embedder: &locitest.WordEmbedder{Name: "w"}, Passages: passages})
		m := locitest.Bind(t, e, "u")
		filler := strings.Repeat("Nothing of interest stands in this sentence. ", 8)
		long := locitest.Save(t, m, filler+"The zebra crossed the river. "+filler)
		locitest.Save(t, m, "a lion in the grass")
		for _, mode := range []loci.Mode{loci.Hybrid, loci.Keyword, loci.Semantic} {
			r := locitest.Search(t, m, loci.Query{Text: "zebra river", Mode: mode})
			if len(r.Matches) == 0 || r.Matches[0].Record.ID != long ||
				!strings.Contains(r.Matches[0].Passage, "zebra crossed") || r.KeywordOnly {
				t.Errorf("%s: %d matches, passage %q", mode, len(r.Matches), r.Matches[0].Passage)
			}
			seen := map[loci.ID]bool{}
			for _, match := range r.Matches {
				if seen[match.Record.ID] {
					t.Errorf("%s: a record comes twice", mode)
				}
				seen[match.Record.ID] = true
			}
		}
		for _, q := range []loci.Query{
			{Text: "x", Mode: "fuzzy"}, {Limit: -1}, {Limit: 1001}, {Offset: -1}, {Offset: 10_001}, {Text: "a\xff"}, {Tags: []string{" "}},
		} {
			_, err := m.Search(t.Context(), q)
			locitest.WantCode(t, err, loci.Invalid)
		}
		_, err := m.Search(t.Context(), loci.Query{Mode: "x"})
		if want := "Invalid mode: 'x'. Must be one of ['hybrid', 'keyword', 'semantic']"; err == nil || err.Error() != want {
			t.Errorf("error %v", err)
		}
		_, err = m.Search(t.Context(), loci.Query{Text: strings.Repeat("x", loci.MaxQueryBytes+1)})
		locitest.WantCode(t, err, loci.TooLarge)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = m.Search(ctx, loci.Query{Text: "zebra", Mode: loci.Keyword})
		locitest.WantCode(t, err, loci.Unavailable)
	})
}

func TestPagesJoin(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		for i := range 60 {
			if i%3 == 0 {
				c.Advance(time.Second)
			}
			locitest.Save(t, m, fmt.Sprintf("zebra %s number %d", strings.Repeat("stripe ", i%5), i))
		}
		for _, text := range []string{"", "zebra stripe"} {
			whole := locitest.Texts(locitest.Search(t, m, loci.Query{Text: text, Limit: 1000}))
			var joined []string
			for offset := 0; ; offset += 7 {
				page := locitest.Texts(locitest.Search(t, m, loci.Query{Text: text, Limit: 7, Offset: offset}))
				if len(page) == 0 {
					break
				}
				joined = append(joined, page...)
			}
			if len(whole) != 60 || !slices.Equal(joined, whole) {
				t.Errorf("%q: pages give %d of %d, in another order or not at all", text, len(joined), len(whole))
			}
			if r := locitest.Search(t, m, loci.Query{Text: text, Limit: 1000, Offset: 10_000}); len(r.Matches) > 0 {
				t.Error("there is something behind the end")
			}
		}
	})
}

func TestEmbedderOutOfOrder(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		w := &locitest.WordEmbedder{Name: "w"}
		e := locitest.NewEngine(t, s, loci.Options{Embedder: w})
		m := locitest.Bind(t, e, "u")
		w.SetDown(true)
		id := locitest.Save(t, m, strings.Repeat("the quick brown fox jumps over the lazy dog. ", 2000))
		if !e.Lagging(locitest.Tenant(t, "t")) {
			t.Error("a write without vectors is not noticed")
		}
		r := locitest.Search(t, m, loci.Query{Text: "fox"})
		if len(r.Matches) != 1 || !r.KeywordOnly ||
			r.Matches[0].Explain.VectorPart != 0 || r.Matches[0].Explain.KeywordPart <= 0 {
			t.Errorf("keyword search: %d matches, keyword only %v", len(r.Matches), r.KeywordOnly)
		}
		_, err := m.Search(t.Context(), loci.Query{Text: "fox", Mode: loci.Semantic})
		locitest.WantCode(t, err, loci.Unavailable)
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 0 || err == nil {
			t.Errorf("backfill: %d, %v", n, err)
		}
		w.SetDown(false)
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 1 ||
			err != nil || e.Lagging(locitest.Tenant(t, "t")) {
			t.Errorf("backfill: %d, %v", n, err)
		}
		r = locitest.Search(t, m, loci.Query{Text: "quick brown", Mode: loci.Semantic})
		if len(r.Matches) != 1 || r.Matches[0].Record.ID != id || !r.Matches[0].Explain.Embedded {
			t.Errorf("semantic search: %+v", len(r.Matches))
		}
		plain := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		_, err = plain.Search(t.Context(), loci.Query{Text: "fox", Mode: loci.Semantic})
		locitest.WantCode(t, err, loci.Unsupported)
		if r := locitest.Search(t, plain, loci.Query{Text: "fox"}); r.KeywordOnly || len(r.Matches) != 1 {
			t.Errorf("without an embedder: %+v", r.KeywordOnly)
		}
	})
}

// A result below the least score is left out. A query without a word finds nothing and says so.
func TestLeastScore(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.Save(t, m, "walrus harbour")
		locitest.Save(t, m, "walrus telescope and much else besides")
		all := locitest.Search(t, m, loci.Query{Text: "walrus harbour"}).Matches
		if len(all) != 2 || !(all[0].Score > 0.5 && all[1].Score < 0.2) {
			t.Fatalf("%d matches: %+v", len(all), all)
		}
		for least, want := range map[float64]int{0: 2, all[1].Score: 2, 0.5: 1, all[0].Score: 1, 1: 0} {
			if got := locitest.Search(t, m, loci.Query{Text: "walrus harbour", MinScore: least}).Matches; len(got) != want {
				t.Errorf("%d matches of at least %v, want %d", len(got), least, want)
			}
		}
		for _, least := range []float64{-0.1, 1.1, math.NaN()} {
			_, err := m.Search(t.Context(), loci.Query{Text: "walrus", MinScore: least})
			locitest.WantCode(t, err, loci.Invalid)
		}
		for text, wordless := range map[string]bool{"?": true, "!!! …": true, "walrus?": false, "the": false, "zebra": false} {
			got := locitest.Search(t, m, loci.Query{Text: text})
			if got.NoWords != wordless || wordless && len(got.Matches) > 0 {
				t.Errorf("%q: %+v", text, got)
			}
		}
	})
}

// Vectors of one model never meet a query of another.
func TestSpacesDoNotMix(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		one := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "one"}})
		two := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "two"}})
		locitest.Save(t, locitest.Bind(t, one, "u"), "zebra")
		// Nobody can make the embedder of the other space.
		alone := func(e, other *loci.Engine) {
			t.Helper()
			for range 2 {
				_, err := locitest.Bind(t, other, "u").Search(t.Context(), loci.Query{Text: "zebra", Mode: loci.Semantic})
				locitest.WantCode(t, err, loci.Unavailable)
				r := locitest.Search(t, locitest.Bind(t, other, "u"), loci.Query{Text: "zebra"})
				if len(r.Matches) != 1 || r.Matches[0].Explain.Embedded || !r.KeywordOnly {
					t.Errorf("hybrid: %+v", r)
				}
				if r := locitest.Search(t, locitest.Bind(t, e, "u"), loci.Query{Text: "zebra", Mode: loci.Semantic}); len(
					r.Matches) != 1 || r.Matches[0].Explain.VectorPart < 0.99 {
					t.Errorf("the own vector is lost: %+v", r)
				}
			}
		}
		alone(one, two)
		if r, err := two.Reindex(t.Context(), locitest.Tenant(t, "t"), nil); r.Embedded != 1 || err != nil {
			t.Fatalf("reindex: %+v, %v", r, err)
		}
		alone(two, one)
	})
}

// Searches while the records change return no text that does not fit the query.
func TestSearchWhileRecordsChange(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		var ids []loci.ID
		for i := range 20 {
			ids = append(ids, locitest.Save(t, m, fmt.Sprintf("zebra %d", i)))
		}
		done := make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			defer close(done)
			for round := range 3 {
				for i, id := range ids {
					word := []string{"lion", "zebra"}[round%2]
					_, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new(fmt.Sprintf("%s %d", word, i))})
					if err != nil && !errors.Is(err, loci.ErrConflict) {
						t.Error(err)
					}
				}
			}
		})
		for running := true; running; {
			select {
			case <-done:
				running = false
			default:
			}
			for _, match := range locitest.Search(t, m, loci.Query{Text: "zebra", Limit: 20}).Matches {
				if !strings.Contains(match.Record.Text, "zebra") || !strings.Contains(match.Passage, "zebra") {
					t.Fatalf("found %q", match.Record.Text)
				}
			}
		}
		wg.Wait()
	})
}

// A moving store has another writer, who changes the best hit between the search and the
// look at its record, so often, and other processes that switch to another space.
type moving struct {
	loci.Store
	moves, switches, asked, most int // most: how many were asked for last
}

func (s *moving) Match(
	ctx context.Context, t loci.Tenant, p loci.Probe, f loci.Filter, limit int,
) ([]loci.Hit, error) {
	if s.asked++; s.asked > 20 {
		return nil, errors.New("asked again and again")
	}
	s.most = limit
	hits, err := s.Store.Match(ctx, t, p, f, limit)
	if s.asked <= s.moves && len(hits) > 0 {
		hits[0].Version++
	}
	return hits, err
}

func (s *moving) ActiveSpace(ctx context.Context, t loci.Tenant) (loci.Space, error) {
	if s.asked > 20 {
		return loci.Space{}, errors.New("asked again and again")
	}
	active, err := s.Store.ActiveSpace(ctx, t)
	if s.asked > 0 && s.asked <= s.switches {
		active.Model += fmt.Sprint(s.asked)
	}
	return active, err
}

// A search looks at four times as many candidates by each signal as it returns and passes
// over, but far down at no more than 16,000; a recall at as many.
func TestCandidatesOfASearch(t *testing.T) {
	s := &moving{Store: locitest.OpenMemory()}
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
	for _, c := range [][3]int{{0, 0, 40}, {3, 0, 12}, {7, 20, 108}, {1000, 0, 4000}, {1000, 3000, 16_000},
		{1000, 10_000, 16_000}} {
		if locitest.Search(t, m, loci.Query{Text: "zebra", Limit: c[0], Offset: c[1]}); s.most != c[2] {
			t.Errorf("%d after %d of %d candidates, want %d", c[0], c[1], s.most, c[2])
		}
	}
	for limit, most := range map[int]int{0: 20, 7: 7} {
		if recall(t, m, loci.RecallQuery{Topic: "zebra", Limit: limit}); s.most != most {
			t.Errorf("a recall of %d looks at %d, want %d", limit, s.most, most)
		}
	}
}

// Of a long text the passage is shown by which it stands higher in its list: the one that
// has the words, or the one that is near.
func TestPassageOfARecall(t *testing.T) {
	words, near := "zebra river and so much more of everything that is in there.", "zebra."
	rival := "zebra zebra river river with stripes and a good deal of cold dark water too all year"
	for _, c := range []struct {
		name  string
		texts []string
		mode  loci.Mode
		want  string
	}{
		{"equal in both lists", nil, loci.Hybrid, "river"},
		{"higher by similarity", []string{rival}, loci.Hybrid, near},
		{"by similarity alone", []string{rival}, loci.Semantic, near},
		{"by words alone", []string{rival}, loci.Keyword, "river"},
	} {
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
			Embedder: &locitest.WordEmbedder{Name: "w"}, Passages: loci.PassageOptions{Size: 64, Overlap: loci.None},
		}), "u")
		id := locitest.Save(t, m, words+" "+near)
		for _, text := range c.texts {
			locitest.Save(t, m, text)
		}
		found := recall(t, m, loci.RecallQuery{Topic: "zebra river", Mode: c.mode}).Memories
		i := slices.IndexFunc(found, func(r loci.Recalled) bool { return r.Record.ID == id })
		if i < 0 || !strings.Contains(found[i].Passage, c.want) || len(found[i].Passage) > len(words+" ") {
			t.Errorf("%s: found at %d of %d", c.name, i, len(found))
			for _, r := range found {
				t.Logf("%q %+v", r.Passage, r.Explain)
			}
		}
	}
}

// A new engine that writes and searches has nothing to warn of.
func TestNoWarningWithoutAFault(t *testing.T) {
	var logged bytes.Buffer
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{
		Embedder: &locitest.WordEmbedder{Name: "w"}, EmbedderFor: newModels().embedderFor,
		Logger: slog.New(slog.NewTextHandler(&logged, nil)),
	}), "u")
	locitest.Search(t, m, loci.Query{Text: "zebra"})
	locitest.Save(t, m, "zebra")
	recall(t, m, loci.RecallQuery{Topic: "zebra", Touch: true})
	if _, err := m.Stats(t.Context()); err != nil || logged.Len() > 0 {
		t.Errorf("%v; logged %s", err, logged.String())
	}
}

// A read that cannot move the expiry of what it read says so in the log, and else nothing.
func TestTouchesThatFailAreTold(t *testing.T) {
	s := locitest.OpenMemory()
	for name, c := range map[string]struct {
		store loci.Store
		told  bool
	}{"a store": {s, false}, "a full disk": {newToucher(s, errors.New("disk full")), true}} {
		var logged bytes.Buffer
		opts := loci.Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}
		m := locitest.Bind(t, locitest.NewEngine(t, c.store, opts), "u")
		m.Touch(t.Context(), []loci.Touch{{ID: locitest.Save(t, m, "note of "+name)}})
		if told := strings.Contains(logged.String(), "disk full"); told != c.told || told != (logged.Len() > 0) {
			t.Errorf("%s: logged %q", name, logged.String())
		}
	}
}

// TestTouchEndsWithTheYear9999: no reply could say a later time.
func TestTouchEndsWithTheYear9999(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		id := locitest.Save(t, m, "zebra")
		for _, year := range []int{9999, 10000} {
			m.Touch(t.Context(), []loci.Touch{{ID: id, ExpiresAt: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)}})
		}
		f := loci.Filter{Within: []loci.Namespace{m.View().Namespace}, IDs: []loci.ID{id}}
		r, _, err := s.Records(t.Context(), m.View().Tenant, f, loci.Page{Limit: 1})
		if err != nil || len(r) != 1 || r[0].ExpiresAt.Year() != 9999 {
			t.Errorf("%v, %v", r, err)
		}
	})
}

// A recall waits for the count of its uses as long as that takes, and no longer.
func TestRecallWaitsForAQuickStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
		locitest.Save(t, m, "zebra")
		begun := time.Now()
		recall(t, m, loci.RecallQuery{Topic: "zebra", Touch: true})
		if took := time.Since(begun); took != 0 {
			t.Errorf("it waited %v", took)
		}
	})
}

// A search asks the store once. Where a record or the active space changed meanwhile it asks
// again, four times in all; then it leaves out what is still changing.
func TestSearchIsRankedAgain(t *testing.T) {
	w := &locitest.WordEmbedder{Name: "w"}
	for _, c := range []struct {
		name            string
		embedder        loci.Embedder
		mode            loci.Mode
		moves, switches int
		asked, found    int
	}{
		{"nothing changes", w, loci.Hybrid, 0, 0, 1, 2},
		{"by keyword", w, loci.Keyword, 0, 99, 1, 2},
		{"without an embedder", nil, loci.Hybrid, 0, 99, 1, 2},
		{"one change", w, loci.Hybrid, 1, 0, 2, 2},
		{"three changes", w, loci.Keyword, 3, 0, 4, 2},
		{"changes without end", w, loci.Keyword, 99, 0, 4, 1},
		{"a switch there and back", w, loci.Hybrid, 0, 1, 3, 2},
		{"switches without end", w, loci.Hybrid, 0, 99, 4, 2},
	} {
		s := &moving{Store: locitest.OpenMemory()}
		first := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: w}), "u")
		locitest.Save(t, first, "zebra")
		locitest.Save(t, first, "zebra and lion")
		searches := map[string]func(m *loci.Memory) int{
			"search": func(m *loci.Memory) int {
				return len(locitest.Search(t, m, loci.Query{Text: "zebra", Mode: c.mode}).Matches)
			},
			"recall": func(m *loci.Memory) int {
				return len(recall(t, m, loci.RecallQuery{Topic: "zebra", Mode: c.mode}).Memories)
			},
		}
		for name, search := range searches {
			m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Embedder: c.embedder}), "u")
			s.moves, s.switches, s.asked = c.moves, c.switches, 0
			if n := search(m); n != c.found || s.asked != c.asked {
				t.Errorf("%s, %s: %d found after %d questions, want %d after %d", name, c.name, n, s.asked, c.found, c.asked)
			}
			s.moves, s.switches, s.asked = 0, 0, 0
		}
	}
}

// A query of ten thousand words is answered, from the first of them.
func TestLongQueries(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenSQLite(t), loci.Options{}), "u")
	locitest.SaveMany(t, m, 200, func(i int) string { return fmt.Sprintf("word%d and %s", i, strings.Repeat("filler ", i%7)) })
	var b strings.Builder
	for i := 0; b.Len() < loci.MaxQueryBytes-10; i++ {
		fmt.Fprintf(&b, "word%d ", i)
	}
	if r := locitest.Search(t, m, loci.Query{Text: b.String(), Limit: 1000, Offset: 0}); len(r.Matches) != 200 {
		t.Errorf("%d matches", len(r.Matches))
	}
}
