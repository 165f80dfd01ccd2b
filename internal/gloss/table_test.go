package gloss

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

var update = flag.Bool("update", false, "make the tables again")

// Each table is made of its list, with the stems of today: `go test ./internal/gloss -update` makes them again.
func TestTablesAreThoseOfTheLists(t *testing.T) {
	for code := range lexicons {
		list, err := os.ReadFile("words/" + code + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		want := tableOf(code, string(list))
		file := "tables/" + code + ".txt"
		if *update {
			if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%s is not made of the list, %v: run go test ./internal/gloss -update, and the tests again", file, err)
		}
	}
}

// The vectors of the space builtin-2 are made with these tables. Texts that are stored keep theirs, so other tables are
// another space: then the built-in model's gets another name, and this sum is that of the new ones.
func TestTablesAreThoseOfTheSpace(t *testing.T) {
	const builtin2 = "31403c306fc1b865c8086e663d51347ed78ac6ede42b8f63232812e0347a0575"
	sum := sha256.New()
	for _, code := range slices.Sorted(maps.Keys(lexicons)) {
		sum.Write([]byte(code + "\n" + lexicons[code].table))
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != builtin2 {
		t.Errorf("the tables have the sum %s, and those of builtin-2 %s", got, builtin2)
	}
}

// tableOf makes a table.
func tableOf(code, list string) string {
	means := map[string]string{}
	add := func(key, english string) {
		switch had := means[key]; {
		case had == "":
			means[key] = english
		case had != english && !strings.Contains(had, Or): // of more than two the first ones
			means[key] = had + Or + english
		}
	}
	l := newLexicon(code, "")
	for line := range strings.Lines(list) {
		english, words, _ := strings.Cut(strings.TrimSpace(line), ":")
		for word := range strings.SplitSeq(words, ",") {
			word = strings.Join(strings.FieldsFunc(retrieval.FoldWords(word), separates), " ")
			switch code {
			case retrieval.Chinese:
			case retrieval.Korean: // its words are read one by one
				if strings.Contains(word, " ") {
					continue
				}
			case retrieval.Japanese:
				word = withoutEnding(word)
			default:
				add(stemMark+l.stem(word), english)
			}
			add(word, english)
		}
	}
	var table strings.Builder
	for _, key := range slices.Sorted(maps.Keys(means)) {
		if strings.HasPrefix(key, stemMark) || means[stemMark+l.stem(key)] != means[key] { // else its stem says so
			table.WriteString(key + "=" + means[key] + "\n")
		}
	}
	return table.String()
}

// separates reports whether a character stands between words.
func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != 'ー'
}

// withoutEnding is a Japanese word without what a verb or an adjective changes.
func withoutEnding(word string) string {
	first, size := utf8.DecodeRuneInString(word)
	last, ending := utf8.DecodeLastRuneInString(word)
	if unicode.Is(unicode.Han, first) && len(word) > size && strings.ContainsRune("うくぐすつぬぶむるい", last) {
		return word[:len(word)-ending]
	}
	return word
}

// A list has a line a meaning, in order and once, and no word twice in a line or in more than two.
func TestListsAreInOrder(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z' -]*: [^ ,][^,]*(, [^ ,][^,]*)*$`)
	for code := range lexicons {
		list, err := os.ReadFile("words/" + code + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		before, lines := "", 0
		times := map[string]int{}
		for line := range strings.Lines(string(list)) {
			line = strings.TrimSuffix(line, "\n")
			lines++
			english, words, _ := strings.Cut(line, ": ")
			if !form.MatchString(line) || english <= before {
				t.Errorf("%s:%d: %q stands behind %q", code, lines, line, before)
			}
			before = english
			in := map[string]bool{}
			for word := range strings.SplitSeq(words, ", ") {
				if in[word] {
					t.Errorf("%s:%d: %s comes twice", code, lines, word)
				}
				in[word] = true
				if times[word]++; times[word] > 2 {
					t.Errorf("%s:%d: %s means more than two things", code, lines, word)
				}
			}
		}
		if lines < 2000 {
			t.Errorf("%s has %d lines", code, lines)
		}
	}
}
