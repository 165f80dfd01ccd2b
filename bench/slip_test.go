package bench

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/loci-memory/loci/internal/retrieval"
)

// Misspelt queries by a rule: see testdata/hostile/README.md. A slip is one error in one word of a text; which word, which
// error and where, the first letter too, is drawn from a seed.
const (
	leastSlipped    = 4 // letters of a word
	leastCharacters = 2 // of Chinese, Japanese or Korean
	mostTries       = 50
)

// slipSeed is the seed of each half.
var slipSeed = map[string]uint64{"fit": 184, "held": 20_184}

// A slipper makes slips in one language.
type slipper struct {
	random  *rand.Rand
	letters []rune // of its texts, as often as they have them
}

// slip is a text with one error in one of its words; "" if there is no word that is long enough.
func (s *slipper) slip(text string) string {
	letters := []rune(text)
	var words [][2]int
	for i := 0; i < len(letters); {
		end := i
		for end < len(letters) && isWritten(letters[end]) && sameKind(letters[end], letters[i]) {
			end++
		}
		least := leastSlipped
		if isSyllable(letters[i]) {
			least = leastCharacters
		}
		if end-i >= least {
			words = append(words, [2]int{i, end})
		}
		i = max(end, i+1)
	}
	if len(words) == 0 {
		return ""
	}
	w := words[s.random.IntN(len(words))]
	before, word, after := letters[:w[0]], letters[w[0]:w[1]], letters[w[1]:]
	for range mostTries {
		wrong := string(before) + string(s.err(word)) + string(after)
		if retrieval.Fold(wrong) != retrieval.Fold(text) {
			return wrong
		}
	}
	return ""
}

// err is a word with one error in it.
func (s *slipper) err(word []rune) []rune {
	at := s.random.IntN(len(word))
	if unicode.Is(unicode.Hangul, word[at]) {
		return spliced(word, at, at+1, s.syllable(word[at]))
	}
	switch kind := s.random.IntN(5); {
	case kind == 0 && at+1 < len(word):
		return spliced(word, at, at+2, word[at+1], word[at])
	case kind == 1:
		return spliced(word, at, at+1)
	case kind == 2:
		return spliced(word, at, at, word[at])
	case kind == 3:
		return spliced(word, at, at, s.letter(word[at]))
	}
	return spliced(word, at, at+1, s.letter(word[at]))
}

// spliced is a word with letters in place of some.
func spliced(word []rune, from, to int, letters ...rune) []rune {
	out := append([]rune(nil), word[:from]...)
	return append(append(out, letters...), word[to:]...)
}

// letter is any letter of the language that is written like another one.
func (s *slipper) letter(like rune) rune {
	for range 1000 {
		if r := s.letters[s.random.IntN(len(s.letters))]; sameKind(r, like) && unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
	}
	return like
}

// syllable is a syllable of Hangul with another first letter, another vowel, or another last letter or none.
func (s *slipper) syllable(r rune) rune {
	n := int(r - 0xAC00)
	if n < 0 || n >= 11172 {
		return r
	}
	first, vowel, last := n/588, n/28%21, n%28
	switch s.random.IntN(3) {
	case 0:
		first = s.random.IntN(19)
	case 1:
		vowel = s.random.IntN(21)
	default:
		last = s.random.IntN(28)
	}
	return rune(0xAC00 + (first*21+vowel)*28 + last)
}

func isWritten(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.Mn, r) || unicode.Is(unicode.Mc, r)
}

func isSyllable(r rune) bool { return hasSyllables(r) || r == 'ー' }

// sameKind reports whether two letters are of one way of writing.
func sameKind(a, b rune) bool {
	kind := func(r rune) int {
		switch {
		case unicode.Is(unicode.Han, r):
			return 1
		case unicode.In(r, unicode.Hiragana):
			return 2
		case unicode.In(r, unicode.Katakana), r == 'ー':
			return 3
		case unicode.Is(unicode.Hangul, r):
			return 4
		}
		return 0
	}
	return kind(a) == kind(b)
}

// A written is a note of a language, and what is asked for it.
type written struct {
	language, note string
	forms          []string // queries of testdata/hostile
	questions      []string // of testdata/languages
}

// writtenNotes are all notes of testdata/hostile and testdata/languages, in their order.
func writtenNotes(t *testing.T) (all []written) {
	t.Helper()
	for _, name := range []string{"pairs", "second", "inflected"} {
		data, err := os.ReadFile(filepath.Join("testdata/hostile", name+".tsv"))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if !strings.HasPrefix(line, "#") {
				f := strings.Split(strings.TrimSpace(line), "\t")
				all = append(all, written{language: strings.Fields(f[0])[0], note: f[1], forms: f[2:]})
			}
		}
	}
	at := map[string]int{}
	eachRow(t, "testdata/languages/turns.jsonl", func(line []byte) {
		var turn struct{ Conv, Turn, Text string }
		if err := json.Unmarshal(line, &turn); err != nil {
			t.Fatal(err)
		}
		at[turn.Conv+turn.Turn] = len(all)
		all = append(all, written{language: turn.Conv, note: turn.Text})
	})
	eachRow(t, "testdata/languages/questions.jsonl", func(line []byte) {
		var q struct {
			Conv, Question, Category string
			Evidence                 []string
		}
		if err := json.Unmarshal(line, &q); err != nil {
			t.Fatal(err)
		}
		if q.Category != "other" {
			w := &all[at[q.Conv+q.Evidence[0]]]
			w.questions = append(w.questions, q.Question)
		}
	})
	return all
}

func eachRow(t *testing.T, path string, see func(line []byte)) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		see([]byte(line))
	}
}

// slippedSet is a dataset of all of these notes in one memory, and of misspelt queries in other languages than English. The
// category of a query is what it is made of and the half of its note.
func slippedSet(t *testing.T) *Dataset {
	t.Helper()
	all := writtenNotes(t)
	by := map[string]*slipper{}
	for _, w := range all {
		s := by[w.language]
		if s == nil {
			s = &slipper{}
			by[w.language] = s
		}
		s.letters = append(s.letters, []rune(w.note)...)
	}
	d := &Dataset{Name: "slipped"}
	for i, w := range all {
		note := strconv.Itoa(i)
		d.Turns = append(d.Turns, Turn{Conv: "all", ID: note, Text: w.note})
		if w.language == "en" || w.language == "th" { // Thai has no spaces between words
			continue
		}
		half := []string{"fit", "held"}[i/2%2]
		s := by[w.language]
		s.random = rand.New(rand.NewPCG(slipSeed[half], uint64(i)))
		add := func(kind, query string) {
			if wrong := s.slip(query); wrong != "" {
				d.Questions = append(d.Questions, Question{Conv: "all", ID: strconv.Itoa(len(d.Questions)),
					Category: kind + " " + half, Text: wrong, Evidence: []string{note}})
			}
		}
		if word := s.word(w.note); word != "" {
			add("word", word)
		}
		for _, q := range w.forms {
			add("form", q)
		}
		for _, q := range w.questions {
			add("question", q)
		}
	}
	return d
}

// word is a word of a note that is long enough for a slip, with what belongs to it between spaces.
func (s *slipper) word(note string) string {
	var words []string
	for _, w := range strings.FieldsFunc(note, func(r rune) bool { return !isWritten(r) && r != 'ー' && r != '・' }) {
		n := len([]rune(w))
		first := []rune(w)[0]
		if isSyllable(first) && !unicode.Is(unicode.Hangul, first) && n > 6 { // a sentence without spaces: a part of it
			from := s.random.IntN(n - 3)
			w = string([]rune(w)[from : from+4])
			n = 4
		}
		if n >= leastSlipped || isSyllable(first) && n >= leastCharacters+1 {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return words[s.random.IntN(len(words))]
}
