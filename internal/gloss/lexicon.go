package gloss

import (
	_ "embed" // the tables
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

// Tables are made of the lists in words: sorted lines of a folded word, "=" and what it means. Behind "~" stand the stems of words. To
// search them as they are takes no time at the start, and hardly any memory.
var (
	//go:embed tables/de.txt
	german string
	//go:embed tables/fr.txt
	french string
	//go:embed tables/es.txt
	spanish string
	//go:embed tables/pt.txt
	portuguese string
	//go:embed tables/it.txt
	italian string
	//go:embed tables/nl.txt
	dutch string
	//go:embed tables/ru.txt
	russian string
	//go:embed tables/ar.txt
	arabic string
	//go:embed tables/zh.txt
	chinese string
	//go:embed tables/ja.txt
	japanese string
	//go:embed tables/ko.txt
	korean string
)

// stemMark leads the stems of a table.
const stemMark = "~"

// Or stands between two meanings of a word.
const Or = "/"

// A lexicon holds the words of a language.
type lexicon struct {
	code, table string
	lines       func() []int32 // where they begin, and where the last one ends
}

// lexicons are those of all languages, by their codes.
var lexicons = func() map[string]*lexicon {
	of := map[string]*lexicon{}
	for code, table := range map[string]string{
		retrieval.German: german, retrieval.French: french, retrieval.Spanish: spanish,
		retrieval.Portuguese: portuguese, retrieval.Italian: italian, retrieval.Dutch: dutch,
		retrieval.Russian: russian, retrieval.Arabic: arabic,
		retrieval.Chinese: chinese, retrieval.Japanese: japanese, retrieval.Korean: korean,
	} {
		of[code] = newLexicon(code, table)
	}
	return of
}()

func newLexicon(code, table string) *lexicon {
	return &lexicon{code: code, table: table, lines: sync.OnceValue(func() []int32 {
		begin := []int32{0}
		for i := range len(table) {
			if table[i] == '\n' {
				begin = append(begin, int32(i+1))
			}
		}
		return begin
	})}
}

// last is the last key that is not behind a text, and what it means; "": there is none.
func (l *lexicon) last(text string) (key, english string) {
	lines := l.lines()
	for from, to := 0, len(lines)-1; from < to; {
		middle := from + (to-from)/2
		k, e, _ := strings.Cut(l.table[lines[middle]:lines[middle+1]-1], "=")
		if k <= text {
			key, english, from = k, e, middle+1
		} else {
			to = middle
		}
	}
	return key, english
}

// mean is what a key of the table means.
func (l *lexicon) mean(key string) string {
	if found, english := l.last(key); found == key {
		return english
	}
	return ""
}

// find is what a word means, in whatever form; "": nobody knows.
func (l *lexicon) find(word string) string {
	if english := l.mean(word); english != "" {
		return english
	}
	if english := l.mean(stemMark + l.stem(word)); english != "" || l.code != retrieval.Arabic {
		return english
	}
	// What somebody does begins by who does it. Lists have the form of "he".
	first, size := utf8.DecodeRuneInString(word)
	if strings.ContainsRune("تنا", first) && len(word) > 3*size {
		return l.find("ي" + word[size:])
	}
	return ""
}

// stem is the stem of a word, or those of a phrase.
func (l *lexicon) stem(word string) string {
	if !strings.Contains(word, " ") {
		return retrieval.StemIn(l.code, word)
	}
	parts := strings.Split(word, " ")
	for i, part := range parts {
		parts[i] = retrieval.StemIn(l.code, part)
	}
	return strings.Join(parts, " ")
}

// mostWords is how many words a phrase has at most.
const mostWords = 4

// phrase is how many words the longest phrase has that the words begin with, and what it means; 0: there is none.
func (l *lexicon) phrase(words []string) (n int, english string) {
	if len(words) < 2 || !l.begins(words[0]+" ") && !l.begins(stemMark+l.stem(words[0])+" ") {
		return 0, ""
	}
	for n := min(mostWords, len(words)); n > 1; n-- {
		if english := l.find(strings.Join(words[:n], " ")); english != "" {
			return n, english
		}
	}
	return 0, ""
}

// begins reports whether a key begins so.
func (l *lexicon) begins(key string) bool {
	found, _ := l.last(key + "\xff")
	return strings.HasPrefix(found, key)
}

// longest is the longest word that characters begin with, and what it means.
func (l *lexicon) longest(text string) (word, english string) {
	for {
		key, english := l.last(text)
		if strings.HasPrefix(text, key) {
			return key, english
		}
		same := 0
		for key[same] == text[same] { // one is not behind the other, nor its beginning
			same++
		}
		text = text[:same]
	}
}

// How many bytes a part of a compound has at least, and a compound at most.
const (
	leastPart    = 3
	mostCompound = 48
)

// compound is what the two words mean that a word consists of, the second as long as it can be.
func (l *lexicon) compound(word string) string {
	if len(word) > mostCompound {
		return ""
	}
	for i := leastPart; i <= len(word)-leastPart; i++ {
		second := l.find(word[i:])
		if second == "" {
			continue
		}
		for _, link := range []string{"", "s", "n", "en", "es", "e"} {
			if first, ok := strings.CutSuffix(word[:i], link); ok && len(first) >= leastPart {
				if english := l.find(first); english != "" {
					return firstOf(english) + " " + firstOf(second)
				}
			}
		}
	}
	return ""
}

// firstOf is the first meaning of several.
func firstOf(english string) string {
	english, _, _ = strings.Cut(english, Or)
	return english
}
