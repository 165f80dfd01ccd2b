package storetest

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

var matchCases = []testCase{
	{"an empty store has no hits", func(b *bench) {
		for _, p := range []loci.Probe{words("walrus"), direction(spaceA), both("walrus", spaceA)} {
			b.same("hits", b.match(p, loci.Filter{}, 10), nil)
		}
	}},
	{"keyword search finds words, whole and in any letter case", func(b *bench) {
		b.put(record(1, "The Walrus looked through the telescope."), record(2, "A harbour; a WALRUS!"), record(3, "walrusfish telescopefish"), record(4, ""))
		b.same("hits of walrus", b.found(words("walrus")), ids(2, 1))
		b.same("hits of WALRUS", b.found(words("WALRUS?")), ids(2, 1))
		b.same("hits of harbour", b.found(words("harbour")), ids(2))
		b.same("hits of either", b.found(words("harbour telescope")), ids(2, 1))
		b.same("hits of a part of a word", b.found(words("walr")), nil)
		b.same("hits of an unknown word", b.found(words("xylophone")), nil)
	}},
	{"what comes into one place after a search is in no other", func(b *bench) {
		b.put(placed(record(1, "walrus")), placed(record(2, "walrus"), "user", "u"))
		for n := 3; n < 9; n++ {
			b.match(words("walrus"), loci.Filter{Within: everywhere}, 10)
			b.put(placed(record(n, "walrus"), "user", fmt.Sprint(n)))
			got := map[loci.ID]string{}
			hits := b.match(words("walrus"), loci.Filter{Within: everywhere}, 10)
			for _, h := range hits {
				got[h.ID] = h.Namespace.Key()
			}
			want := map[loci.ID]string{id(1): loci.Namespace{}.Key(), id(2): loci.Namespace{"user", "u"}.Key()}
			for other := 3; other <= n; other++ {
				want[id(other)] = loci.Namespace{"user", fmt.Sprint(other)}.Key()
			}
			b.same("hits", len(hits), n)
			b.same("places", got, want)
		}
	}},
	{"what lies in many places scores as it would in one", manyPlaces},
	{"a rarer word, a repeated word and a shorter text weigh more", func(b *bench) {
		b.put(record(1, "walrus harbour harbour harbour harbour"), record(2, "walrus walrus walrus harbour harbour"),
			record(3, "walrus"), record(4, "harbour telescope harbour harbour harbour"), record(5, "harbour"))
		h := b.byID(words("walrus telescope"), 10)
		if !(h[id(2)].Keyword > h[id(1)].Keyword && h[id(3)].Keyword > h[id(1)].Keyword &&
			h[id(4)].Keyword > h[id(1)].Keyword) {
			b.Errorf("scores %v; want 2, 3 and 4 above 1", h)
		}
	}},
	{"two-character words of Chinese, Japanese and Korean are found", func(b *bench) {
		b.put(record(1, "昨日、東京都に行きました。"), record(2, "我们在北京吃了饺子"), record(3, "어제 서울에서 만났다"), record(4, "東と京"))
		b.same("hits of 東京", b.found(words("東京"))[:1], ids(1))
		if slices.Contains(b.found(words("東京")), id(2)) {
			b.Error("東京 found what holds neither character")
		}
		b.same("hits of 饺子", b.found(words("饺子")), ids(2))
		b.same("hits of 서울", b.found(words("서울")), ids(3))
		b.same("hits of 大阪", b.found(words("大阪")), nil)
	}},
	{"a hit has the text of its record where the probe asks for it", func(b *bench) {
		keyed, long := record(1, "walrus at the harbour"), record(2, "walrus "+strings.Repeat("telescope ", 500))
		keyed.Heading = "user animal"
		message := record(3, "walrus said")
		message.Kind = "message"
		b.put(keyed, long, message)
		p := words("walrus")
		for _, h := range b.match(p, loci.Filter{}, 10) {
			if h.Text != "" || h.Heading != "" {
				b.Errorf("%s has the text %.20q, and nobody asked", h.ID, h.Text)
			}
		}
		p.Texts = true
		check := func(want ...loci.Record) {
			b.Helper()
			hits := b.byID(p, 10)
			for _, r := range want {
				if h := hits[r.ID]; h.Text != r.Text || h.Heading != r.Heading || len(hits) != len(want) {
					b.Errorf("%s of %d hits has the text %.20q and the heading %q", r.ID, len(hits), h.Text, h.Heading)
				}
			}
		}
		check(keyed, long, message)
		again := next(keyed)
		again.Text, again.Passages = cut("a walrus elsewhere")
		b.put(again)
		check(again, long, message)
		b.apply(erasure(long))
		check(again, message)
	}},
	{"a probe says of which hits it wants the text, and of how many bytes", func(b *bench) {
		for i := range 300 { // more than are read at once
			r := record(i+1, fmt.Sprintf("walrus %03d", i))
			if r.Heading = "heading"; i%2 == 0 {
				r.Kind = "message"
			}
			b.put(r)
		}
		p := words("walrus")
		p.Texts = true
		var asked []loci.ID
		p.Wanted = func(hits []loci.Hit) (wanted []int) {
			asked = nil
			for i := len(hits) - 1; i >= 0; i-- {
				if hits[i].Text != "" {
					b.Errorf("%s has a text before it is wanted", hits[i].ID)
				}
				if i%3 != 0 {
					wanted, asked = append(wanted, i), append(asked, hits[i].ID)
				}
			}
			return wanted
		}
		for _, most := range []int{0, 10, 21, 1500} {
			p.MostText = most
			hits, given := b.match(p, loci.Filter{}, 300), map[loci.ID]bool{}
			want := len(asked)
			if most > 0 {
				want = min(want, (most+9)/10) // each has 10 bytes, and the last one may go beyond
			}
			for _, id := range asked[:want] {
				given[id] = true
			}
			for _, h := range hits {
				if (h.Text != "") != given[h.ID] || (h.Heading != "") != given[h.ID] {
					b.Errorf("within %d bytes %s has the text %q", most, h.ID, h.Text)
				}
			}
			b.same("hits with a text", len(given), want)
		}
	}},
	{"a heading is searched with each passage", func(b *bench) {
		keyed, plain := record(1, ""), record(2, "harbour blue")
		keyed.Heading = "user favorite_color homeTown"
		keyed.Text, keyed.Passages = cut("blue. ", "At the harbour.")
		b.put(keyed, plain)
		for _, query := range []string{"color", "favorite_color", "town", `"favorite color"`, "favor*"} {
			b.same("hits of "+query, b.found(words(query)), ids(1))
		}
		for query, want := range map[string]int{"color blue": 0, "color harbour": 1} {
			hits := b.match(words(query), loci.Filter{}, 10)
			if hits[0].ID != id(2) || hits[1].KeywordSpan != want || hits[1].KeywordRank != 1 {
				b.Errorf("%s: %+v", query, hits)
			}
		}
		again := next(keyed)
		again.Heading, again.Text, again.Passages = "other", "words", nil
		b.apply(changeOf(loci.Put{Record: again, SameText: true}))
		b.same("hits after a put of the same text", b.found(words("color")), ids(1))
		b.same("the record", b.get(id(1)).Heading, keyed.Heading)
		again.Version++
		again.Passages = whole("words")
		b.apply(changeOf(loci.Put{Record: again}))
		b.same("hits of the old heading", b.found(words("color")), nil)
		b.same("hits of the new one", b.found(words("other")), ids(1))
	}},
	{"a quick search looks for rare words alone", func(b *bench) {
		var frequent []loci.Record
		for n := range loci.QuickHolders + 1 {
			frequent = append(frequent, record(n+1, "harbour"))
		}
		b.apply(creation(frequent...))
		rare := "walrus telescope zebra ostrich penguin giraffe antelope"
		b.put(record(1001, "harbour "+rare), record(1002, "harbour "+rare+" crocodile"), record(1003, "harbour "+rare+" hippopotamus"), record(1004, rare+" "+rare))
		quick := func(text string) loci.Probe { return loci.Probe{Text: text, Quick: true} }
		b.same("hits of a frequent word", b.found(quick("harbour")), nil)
		b.same("hits beside a frequent word", b.found(quick("harbour crocodile")), ids(1002))
		b.same("hits of a phrase and a beginning", b.found(quick(`"harbour walrus" hippo* crocodile`)), ids(1004, 1003, 1002, 1001))
		for _, h := range b.match(quick("crocodile hippopotamus "+rare), loci.Filter{}, 10) {
			if plain := b.byID(words("crocodile hippopotamus walrus telescope zebra ostrich penguin giraffe"), 10)[h.ID]; h.Keyword != plain.Keyword {
				b.Errorf("%s has the score %v; want %v, that of the %d rarest words", h.ID, h.Keyword, plain.Keyword, loci.QuickWords)
			}
		}
	}},
	{"similarity is the cosine of the best passage", func(b *bench) {
		for n, s := range map[int]float64{1: 0.9, 2: -0.5, 3: 0.1, 4: 1} {
			b.apply(changeOf(embedded(record(n, "text"), s)))
		}
		h := b.byID(direction(spaceA), 10)
		for n, want := range map[int]float64{1: 0.9, 2: -0.5, 3: 0.1, 4: 1} {
			b.near(fmt.Sprint("similarity of ", n), h[id(n)].Similarity, want)
		}
		ranks := []int{h[id(4)].VectorRank, h[id(1)].VectorRank, h[id(3)].VectorRank, h[id(2)].VectorRank}
		b.same("ranks", ranks, []int{1, 2, 3, 4})
	}},
	{"hits are the union of the best by each signal, with both scores", union},
	{"random vectors rank as their cosines", func(b *bench) {
		r := random(3)
		exact := map[loci.ID]float64{}
		probe := loci.Probe{Vector: randomVector(r, spaceA), Space: spaceA}
		for n := 1; n <= 200; n++ {
			v := randomVector(r, spaceA)
			exact[id(n)] = dot(v, probe.Vector)
			b.apply(changeOf(loci.Put{Record: record(n, "x"), Vectors: vectors(spaceA, v)}))
		}
		hits := b.match(probe, loci.Filter{}, 20)
		if len(hits) != 20 {
			b.Fatalf("%d hits; want 20", len(hits))
		}
		worst := 1.0
		for _, h := range hits {
			b.near("similarity", h.Similarity, exact[h.ID])
			worst = min(worst, h.Similarity)
			delete(exact, h.ID)
		}
		for id, s := range exact {
			if s > worst+0.02 {
				b.Errorf("%v with cosine %v was passed over for one with %v", id, s, worst)
			}
		}
	}},
	{"ties go to the newer, then to the lower id", func(b *bench) {
		for n := 1; n <= 9; n++ {
			r := record(n, "walrus")
			r.CreatedAt = at(n / 3) // 1 2 | 3 4 5 | 6 7 8 | 9
			b.apply(changeOf(embedded(r, 0.5)))
		}
		hits := b.match(both("walrus", spaceA), loci.Filter{}, 6)
		b.same("hits", hitIDs(hits), ids(9, 6, 7, 8, 3, 4))
		for i, h := range hits {
			if h.KeywordRank != i+1 || h.VectorRank != i+1 {
				b.Errorf("hit %d has the ranks %d and %d; want its place", i, h.KeywordRank, h.VectorRank)
			}
		}
	}},
	{"a long record comes once, with its best passage", func(b *bench) {
		var parts []string
		var rows [][]float32
		for n := range 60 {
			part := fmt.Sprintf("Passage %d speaks of a walrus and of other things. ", n)
			if n == 41 {
				part = "The walrus bought a telescope. "
			}
			parts = append(parts, part)
			rows = append(rows, leaning(spaceA, float64(n%50)/100))
		}
		rows[17] = leaning(spaceA, 0.8)
		r := record(1, "")
		r.Text, r.Passages = cut(parts...)
		b.apply(changeOf(loci.Put{Record: r, Vectors: vectors(spaceA, rows...)}, embedded(record(2, "walrus"), 0.6),
			embedded(record(3, "harbour"), 0.1)))
		hits := b.match(both("walrus telescope", spaceA), loci.Filter{}, 2)
		b.same("hits", hitIDs(hits), ids(2, 1))
		if h := hits[1]; h.KeywordSpan != 41 || h.VectorSpan != 17 || h.KeywordRank != 1 || h.VectorRank != 1 {
			b.Errorf("hit %+v; want passages 41 and 17, first by both", h)
		}
		b.near("similarity", hits[1].Similarity, 0.8)
	}},
	{"a hit tells version and time of the record", func(b *bench) {
		r := record(1, "walrus")
		b.put(r)
		b.put(next(r))
		hits := b.match(words("walrus"), loci.Filter{}, 10)
		if len(hits) != 1 || hits[0].Version != 2 || !hits[0].CreatedAt.Equal(r.CreatedAt) {
			b.Errorf("hits %+v; want version 2, created at %v", hits, r.CreatedAt)
		}
	}},
	{"a hit tells where the record stands", func(b *bench) {
		r, other := placed(record(1, "walrus"), "user", "bob"), record(2, "walrus")
		r.Sequence, r.Position = "talk 🦭", 7
		b.put(r, other)
		hits := b.byID(words("walrus"), 10)
		if h := hits[id(1)]; !h.Namespace.Equal(r.Namespace) || h.Sequence != r.Sequence || h.Position != r.Position {
			b.Errorf("hit %+v; want sequence %q, position %d", h, r.Sequence, r.Position)
		}
		if h := hits[id(2)]; !h.Namespace.Equal(home) || h.Sequence != "" || h.Position != 0 {
			b.Errorf("hit %+v; want none", h)
		}
		r = next(r)
		r.Sequence, r.Position = "another", 0
		b.apply(changeOf(loci.Put{Record: r, SameText: true, Revisions: -1}))
		b.comesBack(r)
		if h := b.byID(words("walrus"), 10)[id(1)]; h.Sequence != "another" || h.Position != 0 {
			b.Errorf("hit %+v after a put at another place", h)
		}
	}},
	{"an impossible place in a sequence is refused", func(b *bench) {
		for what, set := range map[string]func(r *loci.Record){
			"a position without a sequence": func(r *loci.Record) { r.Position = 1 },
			"a position below zero":         func(r *loci.Record) { r.Sequence, r.Position = "talk", -1 },
			"a long name":                   func(r *loci.Record) { r.Sequence = strings.Repeat("s", loci.MaxLabelBytes+1) },
		} {
			r := record(1, "walrus")
			set(&r)
			b.refused(what, b.store.Apply(b.Context(), b.tenant, creation(r)), loci.Invalid)
		}
		r := record(1, "walrus")
		r.Sequence = strings.Repeat("s", loci.MaxLabelBytes)
		b.put(r)
		b.comesBack(r)
	}},
	{"every write is seen by the next search", func(b *bench) {
		for n := 1; n <= 30; n++ {
			r := record(n, fmt.Sprintf("walrus number%d", n))
			b.apply(changeOf(embedded(r, 0.5)))
			b.same("hits after a put", b.found(words(fmt.Sprint("number", n))), ids(n))
			r = next(r)
			r.Text, r.Passages = cut(fmt.Sprintf("telescope other%d", n))
			b.apply(changeOf(embedded(r, 0.9)))
			b.same("hits of the old word", b.found(words(fmt.Sprint("number", n))), nil)
			b.same("hits of the new word", b.found(words(fmt.Sprint("other", n))), ids(n))
			hits := b.match(direction(spaceA), loci.Filter{}, 1)
			b.near("similarity after a put", hits[0].Similarity, 0.9)
			if n%2 == 0 {
				b.apply(erasure(r))
				b.same("hits after an erase", b.found(words(fmt.Sprint("other", n))), nil)
			}
		}
	}},
	{"what is not live is not found, and found again when it lives again", func(b *bench) {
		r := record(1, "walrus")
		b.apply(changeOf(embedded(r, 0.5)))
		before := b.match(both("walrus", spaceA), loci.Filter{}, 10)
		r = next(r)
		r.Live = false
		b.apply(changeOf(loci.Put{Record: r, SameText: true, Revisions: -1}))
		b.same("hits of what is not live", b.match(both("walrus", spaceA), loci.Filter{}, 10), nil)
		b.same("hits of what is not live, asked for", b.match(both("walrus", spaceA), loci.Filter{NotLive: true}, 10), nil)
		r = next(r)
		r.Live = true
		b.apply(changeOf(loci.Put{Record: r, SameText: true, Revisions: -1}))
		before[0].Version = 3
		b.same("hits of what lives again", b.match(both("walrus", spaceA), loci.Filter{}, 10), before)
	}},
	{"the limit is at least 1 and bounds each list", func(b *bench) {
		for n := 1; n <= 20; n++ {
			b.put(record(n, "walrus "+strings.Repeat("telescope ", n)))
		}
		for _, limit := range []int{1, 2, 19, 20, 21, 44_000} {
			if got := b.match(words("walrus"), loci.Filter{}, limit); len(got) != min(limit, 20) {
				b.Errorf("limit %d: %d hits", limit, len(got))
			}
		}
		for _, limit := range []int{0, -1} {
			_, err := b.store.Match(b.Context(), b.tenant, words("walrus"), loci.Filter{Within: everywhere}, limit)
			b.refused(fmt.Sprint("limit ", limit), err, loci.Invalid)
		}
	}},
	{"a probe for nothing finds nothing", func(b *bench) {
		b.apply(changeOf(embedded(record(1, "walrus"), 0.5)))
		b.same("hits", b.match(loci.Probe{}, loci.Filter{}, 10), nil)
		b.same("hits in a space", b.match(loci.Probe{Space: spaceA}, loci.Filter{}, 10), nil)
	}},
}

// union holds the two lists against records of which each signal knows best.
func union(b *bench) {
	const n = 30
	for i := 1; i <= n; i++ { // later ones have more of the word, earlier ones lean more to the axis
		text := strings.Repeat("walrus ", i) + strings.Repeat("telescope ", n-i)
		b.apply(changeOf(embedded(record(i, text), 1-float64(i)/n)))
	}
	b.put(record(31, "walrus telescope"))                   // no vectors
	b.apply(changeOf(embedded(record(32, "silent"), 0.99))) // no word in common
	hits := b.match(both("walrus", spaceA), loci.Filter{}, 5)
	if !slices.IsSortedFunc(hits, func(x, y loci.Hit) int { return y.CreatedAt.Compare(x.CreatedAt) }) {
		b.Errorf("hits %v are not newest first", hitIDs(hits))
	}
	byWord, byVector := b.byRank(hits)
	if len(byWord) != 5 || len(byVector) != 5 || len(hits) != 10 {
		b.Fatalf("%d by keyword, %d by similarity, %d in all; want 5, 5 and 10", len(byWord), len(byVector), len(hits))
	}
	for rank := 1; rank <= 5; rank++ {
		w, v := byWord[rank], byVector[rank]
		if w.ID != id(n+1-rank) || rank > 1 && w.Keyword > byWord[rank-1].Keyword {
			b.Errorf("keyword rank %d is %+v", rank, w)
		}
		want := map[int]int{1: 32, 2: 1, 3: 2, 4: 3, 5: 4}[rank]
		if v.ID != id(want) || rank > 1 && v.Similarity > byVector[rank-1].Similarity {
			b.Errorf("vector rank %d is %+v", rank, v)
		}
	}
	b.scoredAsAlone(hits, n)
}

// scoredAsAlone compares hits with those of a search whose lists hold every record: one
// that came by words alone has its similarity all the same, and the other way round.
func (b *bench) scoredAsAlone(hits []loci.Hit, n float64) {
	b.Helper()
	alone := b.byID(both("walrus", spaceA), 100) // here every record is in the lists
	for _, h := range hits {
		full := alone[h.ID]
		if h.Keyword != full.Keyword || h.Similarity != full.Similarity || !h.Embedded {
			b.Errorf("hit %+v; want both scores as in %+v", h, full)
		}
		b.near("similarity", h.Similarity, map[bool]float64{true: 0.99, false: 1 - float64(h.ID[15])/n}[h.ID == id(32)])
		if (h.Keyword == 0) != (h.ID == id(32)) {
			b.Errorf("hit %+v has the wrong keyword score", h)
		}
	}
	if h := alone[id(31)]; h.Embedded || h.VectorRank != 0 || h.Keyword == 0 {
		b.Errorf("hit %+v; want no vectors and a keyword score", h)
	}
	if h := alone[id(32)]; h.KeywordRank != 0 || h.VectorRank == 0 {
		b.Errorf("hit %+v; want a vector rank alone", h)
	}
}

// byRank are hits by their place in the list of words, and by that in the list of
// vectors. Each must be in one.
func (b *bench) byRank(hits []loci.Hit) (byWord, byVector map[int]loci.Hit) {
	b.Helper()
	byWord, byVector = map[int]loci.Hit{}, map[int]loci.Hit{}
	for _, h := range hits {
		if h.KeywordRank > 0 {
			byWord[h.KeywordRank] = h
		}
		if h.VectorRank > 0 {
			byVector[h.VectorRank] = h
		}
		if h.KeywordRank == 0 && h.VectorRank == 0 {
			b.Errorf("hit %+v is in neither list", h)
		}
	}
	return byWord, byVector
}

// byID searches the whole tenant and returns the hits by id.
func (b *bench) byID(p loci.Probe, limit int) map[loci.ID]loci.Hit {
	b.Helper()
	out := map[loci.ID]loci.Hit{}
	for _, h := range b.match(p, loci.Filter{}, limit) {
		if _, twice := out[h.ID]; twice {
			b.Errorf("record %v is there twice", h.ID)
		}
		out[h.ID] = h
	}
	return out
}

// near requires a cosine up to what quantising a vector to bytes costs.
func (b *bench) near(what string, got, want float64) {
	b.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 0.01 {
		b.Errorf("%s is %v; want %v", what, got, want)
	}
}
