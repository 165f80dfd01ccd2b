package retrieval

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A typing error is a letter too many, a letter too few, a wrong letter, or two neighbours
// swapped. Beyond the number asked for, Distance stops counting.
func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"walrus", "walrus", 0}, {"walrus", "walrs", 1}, {"walrus", "wallrus", 1}, {"walrus", "warlus", 1}, {"walrus", "walros", 1},
		{"walrus", "awlrus", 1}, {"walrus", "walrsu", 1}, {"walrus", "alrus", 1}, {"walrus", "walru", 1}, {"walrus", "xwalrus", 1},
		{"walrus", "warlsu", 2}, {"walrus", "wlrs", 2}, {"walrus", "xwalrusx", 2}, {"walrus", "wxlrxs", 2}, {"walrus", "lawrus", 2},
		{"walrus", "wal", 3}, {"walrus", "xxwalrusx", 3}, {"walrus", "surlaw", 3}, {"walrus", "seals", 3}, {"ab", "ba", 1}, {"abc", "cab", 2},
		{"", "", 0}, {"", "ab", 2}, {"", "abc", 3}, {"größe", "grösse", 2}, {"straße", "strase", 1}, {"abcdef", "badcfe", 3},
	} {
		for _, most := range []int{1, 2} {
			want := min(c.want, most+1)
			if got, back := Distance(c.a, c.b, most), Distance(c.b, c.a, most); got != want || back != want {
				t.Errorf("%q and %q: %d and %d errors, want %d of at most %d", c.a, c.b, got, back, want, most)
			}
		}
	}
}

// One error away is what one change makes of a word, and nothing else: of all words of up to three of five letters.
func TestWordsOneErrorAway(t *testing.T) {
	t.Parallel()
	letters := []rune("abcéè")
	words := []string{""}
	for from := 0; len(words) < 1+5+25+125; {
		next := len(words)
		for _, w := range words[from:next] {
			for _, r := range letters {
				words = append(words, w+string(r))
			}
		}
		from = next
	}
	for _, word := range words {
		made := map[string]bool{}
		w := []rune(word)
		for i := range len(w) + 1 {
			for _, r := range letters {
				made[string(w[:i])+string(r)+string(w[i:])] = true
				if i < len(w) {
					made[string(w[:i])+string(r)+string(w[i+1:])] = true
				}
			}
			if i < len(w) {
				made[string(w[:i])+string(w[i+1:])] = true
			}
			if i+1 < len(w) {
				made[string(w[:i])+string([]rune{w[i+1], w[i]})+string(w[i+2:])] = true
			}
		}
		for _, other := range words {
			want := 2
			switch {
			case other == word:
				want = 0
			case made[other]:
				want = 1
			}
			got, further := Distance(word, other, 1), Distance(word, other, 2)
			if got != want || min(further, 2) != want {
				t.Fatalf("%q and %q: %d errors, %d with more; want %d", word, other, got, further, want)
			}
		}
	}
}

// A mark holds the length of a word and how many errors are mended in it, and tells which words
// are worth a look. A text that is not a word has no mark.
func TestMarks(t *testing.T) {
	for word, want := range map[string]struct{ letters, edits int }{
		"ab": {0, 0}, "abc": {3, 0}, "abcd": {4, 1}, "abcdefg": {7, 1}, "abcdefgh": {8, 2}, "größe": {5, 1}, "привет": {6, 1},
		strings.Repeat("a", 30): {30, 2}, strings.Repeat("a", 31): {0, 0}, "abc1": {0, 0}, "a-bcd": {0, 0}, "東京都庁": {0, 0}, "서울에서": {0, 0}, "": {0, 0},
	} {
		m := MarkOf(word)
		if (m == 0) != (want.letters == 0) || m.letters() != want.letters || m.Edits() != want.edits {
			t.Errorf("%q has %d letters and %d errors are mended; want %+v", word, m.letters(), m.Edits(), want)
		}
	}
	for _, c := range []struct {
		a, b  string
		edits int
		want  bool
	}{
		{"walrus", "walrus", 1, true}, {"walrus", "walros", 1, true}, {"walrus", "walxyz", 1, false}, {"walrus", "walxys", 2, true},
		{"walrus", "walrusx", 1, true}, {"walrus", "walrusxy", 1, false}, {"walrus", "walrusxy", 2, true}, {"walrus", "walr", 1, false},
		{"walrus", "walr", 2, true}, {"walrus", "wal", 2, false}, {"walrus", "a1", 2, false}, {"abc", "ab", 2, false},
		{"walrus", "walxuy", 1, false}, {"abcd", "abll", 1, false}, // letters that only one has
	} {
		if got := MarkOf(c.a).Near(MarkOf(c.b), c.edits); got != c.want {
			t.Errorf("%q and %q with %d errors: %t", c.a, c.b, c.edits, got)
		}
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"house", "housewife", true}, {"house", "houses", false}, {"house", "warehouse", true}, {"house", "housexy", false}, {"house", "housexyz", true},
		{"house", "warehaus", false}, {"house", "a1", false}, {"house", "abcdefgh", false}, {"aall", "aabcdefg", false},
	} {
		if got := MarkOf(c.a).Within(MarkOf(c.b)); got != c.want {
			t.Errorf("%q within %q: %t", c.a, c.b, got)
		}
	}
	for word, want := range map[string]bool{"house": true, "horse": true, "hosue": false, "": false, "#": false,
		"aback": true, "zossimov": true, "aback\nabandon": false, "zossimov\n": false, "bandon": false,
		"abandonedx": false} {
		if WellSpelled(word) != want {
			t.Errorf("%q is well spelled: %t", word, !want)
		}
	}
}

// Likely marks are those that are near or hold the word, of any words.
func TestLikelyMarksAreNearOrWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	marks := []Mark{0}
	for range 3000 {
		word := make([]rune, rng.IntN(20))
		for i := range word {
			word[i] = 'a' + rune(rng.IntN(6))
		}
		marks = append(marks, MarkOf(string(word)))
	}
	near, within := 0, 0
	for _, m := range marks {
		if m.Edits() == 0 {
			continue
		}
		want := map[int]Mark{}
		for i, other := range marks {
			isNear, isWithin := m.Near(other, m.Edits()), m.Within(other)
			if isNear || isWithin {
				want[i] = other
			}
			if isNear {
				near++
			} else if isWithin {
				within++
			}
		}
		if got := maps.Collect(m.Likely(marks, m.Edits())); !maps.Equal(got, want) {
			t.Fatalf("%x: %d are likely; want %d", m, len(got), len(want))
		}
	}
	if near < 1000 || within < 1000 {
		t.Errorf("%d are near, %d hold a word", near, within)
	}
}

// Every word of the list is found, and no line of its head.
func TestEveryWordOfTheListIsWellSpelled(t *testing.T) {
	words := 0
	for line := range strings.Lines(englishText) {
		word := strings.TrimSpace(line)
		if head := strings.HasPrefix(word, "#"); WellSpelled(word) == head || word+"\n" != line {
			t.Errorf("%q: it is in the head: %t", line, head)
		} else if !head {
			words++
		}
	}
	if words < 28_000 {
		t.Errorf("%d words", words)
	}
}

// Typing errors are counted without memory of their own in words that are mended.
func TestDistanceAllocatesNothing(t *testing.T) {
	a, b := strings.Repeat("ä", mostMisspelt), strings.Repeat("ä", mostMisspelt-1)+"b"
	if n := testing.AllocsPerRun(100, func() {
		if Distance(a, b, 2) != 1 || Distance("hosue", "house", 1) != 1 {
			t.Error("it counts wrong")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := Distance(a+b, b+a, 2); n != 2 {
		t.Errorf("long words: %d errors", n)
	}
}

// The better the ranks, the more: 1 is the most, and a rank that is absent counts as the
// one after the last.
func TestFused(t *testing.T) {
	for _, c := range []struct {
		rank, other, limit int
		want               float64
	}{
		{1, 1, 10, 1}, {1, 2, 10, (1./61 + 1./62) * 61 / 2},
		{0, 1, 10, (1./71 + 1./61) * 61 / 2}, {3, 0, 10, (1./63 + 1./71) * 61 / 2}, {0, 0, 5, 61. / 66},
	} {
		if got := Fused(c.rank, c.other, c.limit); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("ranks %d and %d of %d give %v, want %v", c.rank, c.other, c.limit, got, c.want)
		}
	}
}

// Letter case matters in a unit after a number, and nowhere else.
func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"Five  MW and 5 MW": "five mw and 5 MW", "5MW": "5MW", "5 MW.": "5 MW.", "(5 MB)": "(5 mb)", "1,5 Gb/s fast": "1,5 Gb/s fast",
		"MW 5": "mw 5", "5 Walruses": "5 walruses", "5Walruses": "5walruses", ".5G A": ".5G a", "x5 MW": "x5 mw", "5x MW": "5x mw",
		"1.5G": "1.5G", "G": "g", "5": "5", "Room 5 B": "room 5 B", "a 5 ": "a 5", "": "", "5 a MW": "5 a mw", ",5 Mb!": ",5 Mb!", "9G 0G": "9G 0G",
		"/5 MB :5 MB": "/5 mb :5 mb", "5- MB": "5- mb",
	} {
		if got := Fold(text); got != want {
			t.Errorf("%q folds to %q, want %q", text, got, want)
		}
	}
}

// A passage may be as long as is allowed, and ends at the end of a word, or of a sentence in
// its second half; the next one begins with a whole word.
func TestPassagesEndWhereWordsDo(t *testing.T) {
	for _, c := range []struct {
		text          string
		size, overlap int
		want          []string
	}{
		{"one two", 7, 2, []string{"one two"}},
		{"one two", 6, 2, []string{"one ", "two"}},
		{"ein Übel", 8, 2, []string{"ein Übel"}},
		{"ein Übel", 6, 0, []string{"ein ", "Übel"}},
		{"abcdefghij", 4, 1, []string{"abcd", "efgh", "ij"}},
		{"aaaa bbbb cccc dddd", 10, 0, []string{"aaaa bbbb ", "cccc dddd"}},
		{"aaaa bbbb cccc dddd", 9, 4, []string{"aaaa bbbb", " cccc ", "dddd"}},
		{"aaaa bbbb cccc dddd", 10, 4, []string{"aaaa bbbb ", "cccc dddd"}},
		{"aa bb cc dd ee ff", 9, 4, []string{"aa bb cc ", "cc dd ee ", "ee ff"}},
		{"Aa. Bb cc dd ee", 8, 0, []string{"Aa. Bb ", "cc dd ee"}},
		{"Aaa b. Cc dd ee", 10, 0, []string{"Aaa b. ", "Cc dd ee"}},
		{"", 5, 1, nil},
	} {
		var got []string
		for _, s := range Chunk(c.text, c.size, c.overlap) {
			got = append(got, c.text[s.Start:s.End])
		}
		if strings.Join(got, "|") != strings.Join(c.want, "|") {
			t.Errorf("%q in passages of %d with %d shared: %q, want %q", c.text, c.size, c.overlap, got, c.want)
		}
	}
}

// remembered is how many stems are.
func remembered() (n int) {
	places := stems.Load()
	if places == nil {
		return 0
	}
	for i := range places {
		if block := places[i].Load(); block != nil {
			for j := range block.stems {
				if block.stems[j].Load() != nil {
					n++
				}
			}
		}
	}
	return n
}

// The number of remembered stems is bounded. A forgotten stem comes out the same again.
func TestStemsAreForgotten(t *testing.T) {
	defer ForgetStems()
	for n := range maxStems + 10 {
		for range 2 {
			cachedStem('x', strings.Repeat("a", n%100)+string(rune('a'+n/100)), func(string) string { return "" })
		}
	}
	if held := remembered(); held > maxStems || held < maxStems/4 {
		t.Errorf("%d stems are remembered, at most %d should be", held, maxStems)
	}
	ForgetStems()
	addForms(nil, "run", "running", true)
	addForms(nil, "harbor", "harbours", true)
	if len(stemmed.of) != 2 {
		t.Errorf("stems of %d words are remembered, of two", len(stemmed.of))
	}
	for n := range maxStemmed + 10 {
		word := strings.Repeat("a", 4+n%100) + strings.Repeat("b", n/100)
		addForms(nil, word, word, true)
	}
	if held := len(stemmed.of); held > maxStemmed || held == 0 {
		t.Errorf("stems of %d words are remembered, at most %d should be", held, maxStemmed)
	}
	for n := range maxComparedWords + 10 {
		knownWord("a" + strconv.Itoa(n))
	}
	if held := len(comparedWords.of); held > maxComparedWords || held == 0 {
		t.Errorf("%d compared words are remembered, at most %d should be", held, maxComparedWords)
	}
	before := Stem("running")
	ForgetStems()
	if n := remembered() + len(stemmed.of) + len(comparedWords.of); n != 0 || Stem("running") != before || before != "run" {
		t.Errorf("%d are remembered; running is %q and %q", n, before, Stem("running"))
	}
}

// A text may be one word, a megabyte long, which is not remembered: not whole, and not its stem.
func TestLongWordsAreNotRemembered(t *testing.T) {
	defer ForgetStems()
	ForgetStems()
	for n, want := range map[int]int{maxTokenBytes: 1, maxTokenBytes + 1: 0} {
		word := strings.Repeat("a", n)
		Normalize(word)
		if k := knownWord(word); k.term != word || len(comparedWords.of) != want || remembered() != want {
			t.Errorf("of a word of %d bytes %d words and %d stems are remembered", n, len(comparedWords.of), remembered())
		}
		ForgetStems()
	}
}

// A word that comes once takes no place: what a text of words that nobody has seen says pushes out none that come again.
func TestWordsThatComeOnceTakeNoPlace(t *testing.T) {
	defer ForgetStems()
	ForgetStems()
	for range 2 {
		Normalize("running")
	}
	asked := 0
	ask := func(language byte, word string) string {
		return cachedStem(language, word, func(w string) string { asked++; return w + "s" })
	}
	for range 4 {
		if got := ask('x', "first"); got != "firsts" {
			t.Errorf("the stem is %q", got)
		}
	}
	if asked != 2 {
		t.Errorf("a word that came four times was stemmed %d times", asked)
	}
	for n := range 20_000 {
		ask('x', "once"+strconv.Itoa(n))
	}
	// Of two words that have one place after another, one in 32,768 looks as if it came again.
	if n := remembered(); n < 2 || n > 12 {
		t.Errorf("%d stems are remembered of two words that came again", n)
	}
	asked = 0
	if ask('x', "first"); asked != 0 {
		t.Error("a word that came again was pushed out by those that came once")
	}
	for range 3 {
		ask('y', "first")
	}
	if asked != 2 {
		t.Errorf("in another language it was stemmed %d times", asked)
	}
}

// Numbers differ from text to text: they would push out words that come again.
func TestNumbersAreNotRemembered(t *testing.T) {
	defer ForgetStems()
	ForgetStems()
	for _, w := range []string{"1", "9:30", "2026-05-01", "-100", "100%", "#3", "$5"} {
		if k, want := knownWord(w), compareWord(w); k != want || len(comparedWords.of) != 0 {
			t.Errorf("%q is %v and should be %v; %d words are remembered", w, k, want, len(comparedWords.of))
		}
	}
	if knownWord("5th"); len(comparedWords.of) != 1 {
		t.Error("a word with a digit is not remembered")
	}
}

// What a comparison makes of a word is found once, and the same then.
func TestComparedWordsAreRemembered(t *testing.T) {
	defer ForgetStems()
	text := strings.Fields(Fold(`No longer, now my user's the a didn't "can't" n'est seconds Monday May 5 5km is has running universities
		Lucas changed moved kein 没有 straße Zürich's #3 % = ne cannot their`))
	for _, w := range appendValues(nil, strings.Join(text, " ")) {
		want := compareWord(w)
		if first, again := knownWord(w), knownWord(w); first != want || again != want {
			t.Errorf("%q is %v, then %v, and should be %v", w, first, again, want)
		}
		if n := testing.AllocsPerRun(10, func() { knownWord(w) }); n != 0 {
			t.Errorf("to find %q again takes %v pieces of memory", w, n)
		}
	}
}

// The stems of a word in a query are found once: a second query of the same words stems nothing.
func TestStemsOfAQueryAreRemembered(t *testing.T) {
	defer ForgetStems()
	first := addForms([]string{"run"}, "run", "running", true)
	if len(first) < 3 || first[0] != "run" || len(addForms(nil, "is", "is", true)) != 0 {
		t.Fatal(first, addForms(nil, "is", "is", true))
	}
	for l, language := range languages {
		if want := stemAs("running", l); !slices.Contains(first[1:], want) {
			t.Errorf("the stem %q of %c is not among %q", want, language.mark, first)
		}
	}
	again := make([]string, 1, len(first))
	again[0] = "run"
	if n := testing.AllocsPerRun(10, func() { again = addForms(again[:1], "run", "running", true) }); n != 0 {
		t.Errorf("the stems of a known word take %v pieces of memory", n)
	}
	if !slices.Equal(again, first) {
		t.Errorf("%q, then %q", first, again)
	}
	ForgetStems()
	if again = addForms(again[:1], "run", "running", true); !slices.Equal(again, first) {
		t.Errorf("%q, then %q", first, again)
	}
}

// What texts may have in place of a word is remembered with its stems, in the same order.
func TestAlternatesAreRemembered(t *testing.T) {
	defer ForgetStems()
	ForgetStems()
	for _, word := range []string{"twelve", "pizza", "dogs", "grinning", "running", "not", "zwölf", "rosen"} {
		term, _ := Normalize(word)
		stems := []string(nil)
		for l := range languages {
			if s := stemIn(word, l); s != "" {
				stems = append(stems, s)
			}
		}
		named := stems
		if len([]rune(word)) < leastInflected {
			named = nil
		}
		want := withAlternates(term, named, append([]string{term}, stems...))
		for range 2 {
			if got := addForms([]string{term}, term, word, true); !slices.Equal(got, want) {
				t.Errorf("%q has the forms %q; want %q", word, got, want)
			}
		}
	}
	if len(addForms(nil, "dog", "dogs", true)) <= len(languages) {
		t.Error("no text has anything in place of dogs")
	}
}
