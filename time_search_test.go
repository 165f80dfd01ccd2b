package loci_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// dated is a memory of notes that were made on days of 2026; its clock ends on 22 November.
func dated(t *testing.T, s loci.Store, notes ...[2]string) *loci.Memory {
	t.Helper()
	c := locitest.NewClock()
	e := locitest.NewEngine(t, s, loci.Options{Now: c.Now, Embedder: &locitest.WordEmbedder{Name: "w"}})
	m := locitest.Bind(t, e, "u")
	for _, n := range notes {
		day, err := time.Parse(time.DateOnly, n[0])
		if err != nil {
			t.Fatal(err)
		}
		c.Set(day.Add(12 * time.Hour))
		locitest.Save(t, m, n[1])
	}
	c.Set(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	return m
}

// TestATimeInTheQueryLifts what was made then, and what speaks of then. It leaves nothing out,
// and says how it understood the time. Other modes search as before.
func TestATimeInTheQueryLifts(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := dated(t, s,
			[2]string{"2026-08-27", "The walk went around the lake"},
			[2]string{"2026-10-05", "The walk went up the hill"},
			[2]string{"2026-11-11", "The walk went along the river"},
			[2]string{"2026-11-20", "The walk three days ago went through a forest of old firs"})
		best := func(q loci.Query) string { return locitest.Texts(locitest.Search(t, m, q))[0] }
		for asked, want := range map[string]string{
			"Where did the walk go last week?":                "river",
			"Where did the walk go in October?":               "hill",
			"Wohin ging the walk im Oktober?":                 "hill",
			"Where did the walk go since 18 November?":        "forest",
			"Where did the walk go on 27 August 2026?":        "lake",
			"Where did the walk go on 17 November 2026?":      "forest",
			"Where did the walk go before September 1, 2026?": "lake",
		} {
			if got := best(loci.Query{Text: asked}); !strings.Contains(got, want) {
				t.Errorf("%s: %q comes first, want the %s", asked, got, want)
			}
		}
		r := locitest.Search(t, m, loci.Query{Text: "the walk last week"})
		week := time.Date(2026, 11, 9, 0, 0, 0, 0, time.UTC)
		if len(r.Matches) != 4 || len(r.Times) != 1 || r.Times[0].Text != "last week" || !r.Times[0].Since.Equal(week) ||
			r.Matches[0].Explain.TimePart <= 0 || r.Matches[1].Explain.TimePart != 0 {
			t.Errorf("%q, times %v, first %+v", locitest.Texts(r), r.Times, r.Matches[0].Explain)
		}
		for _, mode := range []loci.Mode{loci.Keyword, loci.Semantic} {
			r := locitest.Search(t, m, loci.Query{Text: "the walk last week", Mode: mode})
			if len(r.Times) > 0 || r.Matches[0].Explain.TimePart != 0 {
				t.Errorf("%s: a time counts: %v", mode, r.Times)
			}
		}
	})
}

// TestAQueryForATimeAlone finds what was made then, in whatever words, the surest first,
// however much there is from other times.
func TestAQueryForATimeAlone(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		notes := [][2]string{{"2026-11-21", "Bought bread"}}
		for range 60 {
			notes = append(notes, [2]string{"2026-03-01", "What was there, and what was it, in entry " + string(rune('a'+len(notes)%26)) + strings.Repeat("x", len(notes))})
		}
		m := dated(t, s, notes...)
		r := locitest.Search(t, m, loci.Query{Text: "What was there yesterday?", Limit: 1})
		if len(r.Matches) != 1 || r.Matches[0].Record.Text != "Bought bread" || r.Matches[0].Score < loci.FloorScore {
			t.Errorf("found %q", locitest.Texts(r))
		}
		one := r.Matches[0].Score
		if r = locitest.Search(t, m, loci.Query{Text: "What was there yesterday?", Limit: 50}); r.Matches[0].Score != one {
			t.Errorf("score %v among 50, %v alone", r.Matches[0].Score, one)
		}
	})
}

// TestSinceAndUntil bound every search and recall by the moment a memory was created, since
// included and until excluded.
func TestSinceAndUntil(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := dated(t, s, [2]string{"2026-01-05", "zebra one"}, [2]string{"2026-02-05", "zebra two"}, [2]string{"2026-03-05", "zebra three"})
		at := func(month, day, hour int) time.Time {
			return time.Date(2026, time.Month(month), day, hour, 0, 0, 0, time.UTC)
		}
		for _, x := range []struct {
			since, until time.Time
			want         string
		}{
			{want: "one three two"},
			{since: at(2, 5, 12), want: "three two"},
			{since: at(2, 5, 12).Add(time.Microsecond), want: "three"},
			{until: at(2, 5, 12), want: "one"},
			{until: at(2, 5, 12).Add(time.Microsecond), want: "one two"},
			{since: at(1, 6, 0), until: at(3, 5, 12), want: "two"},
			{since: at(4, 1, 0), want: ""},
		} {
			for _, text := range []string{"zebra", ""} {
				r := locitest.Search(t, m, loci.Query{Text: text, Since: x.since, Until: x.until})
				if got := lastWords(locitest.Texts(r)); got != x.want {
					t.Errorf("search %q from %s to %s: %q, want %q", text, x.since, x.until, got, x.want)
				}
			}
			r, err := m.Recall(t.Context(), loci.RecallQuery{Topic: "zebra", Since: x.since, Until: x.until})
			var texts []string
			for _, found := range r.Memories {
				texts = append(texts, found.Record.Text)
			}
			if got := lastWords(texts); err != nil || got != x.want {
				t.Errorf("recall from %s to %s: %q, want %q, %v", x.since, x.until, got, x.want, err)
			}
		}
		_, err := m.Search(t.Context(), loci.Query{Text: "zebra", Since: at(2, 1, 0), Until: at(2, 1, 0)})
		locitest.WantCode(t, err, loci.Invalid)
		if want := "until is 2026-02-01T00:00:00.000Z; it must be after since, 2026-02-01T00:00:00.000Z"; err.Error() != want {
			t.Errorf("error %q", err)
		}
	})
}

// TestSinceAndUntilOfFeatures bound messages by when they were said and passages of files by
// when they were written.
func TestSinceAndUntilOfFeatures(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now, Features: locitest.Features()}), "u")
		files, err := tree.Of(m, "memory", "")
		if err != nil {
			t.Fatal(err)
		}
		for i, name := range []string{"one", "two"} {
			c.Set(time.Date(2026, time.Month(1+i), 1, 0, 0, 0, 0, time.UTC))
			locitest.AppendTo(t, m, "talk", locitest.Spoken("human", "zebra "+name))
			if _, err := files.Write(t.Context(), "/"+name, "zebra "+name, nil); err != nil {
				t.Fatal(err)
			}
		}
		between := time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)
		for want, bounds := range map[string][2]time.Time{"one": {{}, between}, "two": {between, {}}} {
			said, err := session.Of(m).Search(t.Context(), session.Search{Text: "zebra", Since: bounds[0], Until: bounds[1]})
			if err != nil || len(said.Hits) != 1 || !strings.HasSuffix(said.Hits[0].Passage, want) {
				t.Errorf("messages %+v, want %s, %v", said.Hits, want, err)
			}
			found, err := files.Search(t.Context(), tree.Query{Text: "zebra", Since: bounds[0], Until: bounds[1]})
			if err != nil || len(found.Matches) != 1 || found.Matches[0].File.Name != want {
				t.Errorf("files %+v, want %s, %v", found.Matches, want, err)
			}
		}
	})
}

// lastWords are the last words of texts, sorted.
func lastWords(texts []string) string {
	var out []string
	for _, text := range texts {
		out = append(out, text[strings.LastIndex(text, " ")+1:])
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// A store that counts of how many hits it gives the text, and the bytes.
type readers struct {
	loci.Store
	texts, bytes int
}

func (s *readers) Match(
	ctx context.Context, t loci.Tenant, p loci.Probe, f loci.Filter, limit int,
) ([]loci.Hit, error) {
	hits, err := s.Store.Match(ctx, t, p, f, limit)
	for i := range hits {
		if n := len(hits[i].Text); n > 0 {
			s.texts++
			s.bytes += n
		}
	}
	return hits, err
}

// A search for a time reads what the best hits say, not what stands beside them for the sake of others, nor what was made
// then. However many results are asked for, it reads no more than 4,000 texts, or 2 MiB of them.
func TestASearchForATimeReadsTheBestTexts(t *testing.T) {
	s := &readers{Store: locitest.OpenMemory()}
	c := locitest.NewClock()
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
	h := session.Of(m)
	say := func(id string, n int, text func(i int) string) {
		messages := make([]session.Message, n)
		for i := range messages {
			messages[i] = locitest.Spoken(session.MessageHuman, text(i))
		}
		locitest.AppendTo(t, m, id, messages...)
	}
	const many = 1000
	for part := range 5 {
		say("many", many, func(i int) string { return fmt.Sprintf("Walrus %d, the one of May 2020.", part*many+i) })
	}
	say("few", 9, func(i int) string {
		if i == 4 {
			return "Walrus in the middle"
		}
		return fmt.Sprint("Harbour ", i)
	})
	say("long", 90, func(int) string { return "Walrus. " + strings.Repeat("zebra ", 9000) })
	c.Advance(400 * 24 * time.Hour)
	search := func(id, text string, limit, offset int) session.Hits {
		t.Helper()
		s.texts, s.bytes = 0, 0
		found, err := h.Search(t.Context(), session.Search{Session: id, Text: text, Limit: limit, Offset: offset})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if search("few", "walrus last week", 1, 0); s.texts != 5 { // itself, and two on each side
		t.Errorf("%d texts were read", s.texts)
	}
	for _, offset := range []int{0, 4000} {
		search("many", "walrus last week", 1000, offset)
		if s.texts > 4000 || s.texts < 3900 {
			t.Errorf("%d texts were read of many, after %d", s.texts, offset)
		}
	}
	if search("long", "walrus last week", 100, 0); s.bytes < 2<<20 || s.bytes > 2<<20+60_000 {
		t.Errorf("%d bytes were read", s.bytes)
	}
	c.Advance(-400 * 24 * time.Hour)
	if found := search("few", "walrus today", 1, 0); s.texts != 0 || found.Hits[0].Explain.TimePart == 0 {
		t.Errorf("%d texts were read of what was made then: %+v", s.texts, found.Hits)
	}
	first := search("many", "walrus in May 2020", 10, 0)
	if first.Hits[0].Explain.TimePart == 0 || !strings.Contains(first.Hits[0].Text, "May 2020") {
		t.Errorf("first %+v", first.Hits[0])
	}
}
