package gloss

import (
	_ "embed" // the tables
	"hash/maphash"
	"math/bits"
	"strings"
	"sync"
	"sync/atomic"
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
	lines       func() []int32        // where they begin, and where the last one ends
	slots       func() []uint32       // of a hash table: the index of a line and 1, and bits of the hash of its key; 0: none
	firsts      func() map[string]int // what phrases of the table begin with: whether words or stems of words
	heads       func() map[rune]span  // which lines begin with a character
	asked       atomic.Int32          // how many words were looked up, until they are enough
}

// A span is which lines, from one up to but not including another.
type span struct{ from, to int }

// enough is how many words a process looks up until a hash table pays: to make one costs as much as some thousand
// searches of the lines, and most processes that run a command look up some ten words.
const enough = 1000

// What phrases begin with.
const (
	firstWord = 1 << iota
	firstStem
)

// seed is that of the hash tables.
var seed = maphash.MakeSeed()

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
	l := &lexicon{code: code, table: table}
	l.lines = sync.OnceValue(func() []int32 {
		begin := []int32{0}
		for i := range len(table) {
			if table[i] == '\n' {
				begin = append(begin, int32(i+1))
			}
		}
		return begin
	})
	l.slots = sync.OnceValue(l.makeSlots)
	l.firsts = sync.OnceValue(l.makeFirsts)
	l.heads = sync.OnceValue(l.makeHeads)
	return l
}

// line is a line of the table.
func (l *lexicon) line(i int) (key, english string) {
	lines := l.lines()
	key, english, _ = strings.Cut(l.table[lines[i]:lines[i+1]-1], "=")
	return key, english
}

// indexBits are those of a slot that say which line, with 1 added.
const indexBits = 16

func (l *lexicon) makeSlots() []uint32 {
	n := len(l.lines()) - 1
	if n >= 1<<indexBits-1 {
		panic("gloss: too many lines of " + l.code)
	}
	slots := make([]uint32, 1<<bits.Len(uint(n+n/2)))
	for i := range n {
		key, _ := l.line(i)
		word, isStem := strings.CutPrefix(key, stemMark)
		at, tag := slotOf(hashOf(word), isStem)
		for ; slots[at&(len(slots)-1)] != 0; at++ {
		}
		slots[at&(len(slots)-1)] = tag<<indexBits | uint32(i+1)
	}
	return slots
}

// hashOf is what the tables know a word by, or a stem.
func hashOf(word string) uint64 { return maphash.String(seed, word) }

// slotOf is where to look for a word of a hash, or for a stem, and what tells it from most others that lie there.
func slotOf(hash uint64, isStem bool) (at int, tag uint32) {
	at, tag = int(hash>>32), uint32(hash&(1<<(32-indexBits-1)-1))<<1
	if isStem {
		return at, tag | 1
	}
	return at, tag
}

func (l *lexicon) makeFirsts() map[string]int {
	firsts := map[string]int{}
	for i := range len(l.lines()) - 1 {
		key, _ := l.line(i)
		word, isStem := strings.CutPrefix(key, stemMark)
		if first, _, several := strings.Cut(word, " "); several && isStem {
			firsts[first] |= firstStem
		} else if several {
			firsts[first] |= firstWord
		}
	}
	return firsts
}

func (l *lexicon) makeHeads() map[rune]span {
	heads := map[rune]span{}
	for i := range len(l.lines()) - 1 {
		key, _ := l.line(i)
		head, _ := utf8.DecodeRuneInString(key)
		all, ok := heads[head]
		if !ok {
			all.from = i
		}
		all.to = i + 1
		heads[head] = all
	}
	return heads
}

// last is the last key of some lines that is not behind a text, and what it means; "": there is none.
func (l *lexicon) last(in span, text string) (key, english string) {
	for from, to := in.from, in.to; from < to; {
		middle := from + (to-from)/2
		if k, e := l.line(middle); k <= text {
			key, english, from = k, e, middle+1
		} else {
			to = middle
		}
	}
	return key, english
}

// mean is what a word of the table with a hash means, or a stem.
func (l *lexicon) mean(word string, hash uint64, isStem bool) string {
	if l.asked.Load() < enough {
		l.asked.Add(1)
		if isStem {
			word = stemMark + word
		}
		if found, english := l.last(span{0, len(l.lines()) - 1}, word); found == word {
			return english
		}
		return ""
	}
	slots := l.slots()
	for at, tag := slotOf(hash, isStem); ; at++ {
		slot := slots[at&(len(slots)-1)]
		if slot == 0 {
			return ""
		}
		if slot>>indexBits != tag {
			continue
		}
		line := l.table[l.lines()[slot&(1<<indexBits-1)-1]:]
		if isStem {
			line = line[len(stemMark):]
		}
		if len(line) > len(word) && line[len(word)] == '=' && line[:len(word)] == word {
			english, _, _ := strings.Cut(line[len(word)+1:], "\n")
			return english
		}
	}
}

// A meaning is what a word means, in whatever form; "": nobody knows. Its stem is told if that was needed.
type meaning struct{ english, stem string }

// find is what a word means, in whatever form; "": nobody knows.
func (l *lexicon) find(word string) string { return l.look(word).english }

// look is find, and what it took.
func (l *lexicon) look(word string) meaning { return l.lookHashed(word, hashOf(word)) }

// lookHashed is look of a word that has a hash.
func (l *lexicon) lookHashed(word string, hash uint64) meaning {
	if english := l.mean(word, hash, false); english != "" {
		return meaning{english: english}
	}
	stem := l.stem(word)
	if stem != word {
		hash = hashOf(stem)
	}
	if english := l.mean(stem, hash, true); english != "" || l.code != retrieval.Arabic {
		return meaning{english, stem}
	}
	// What somebody does begins by who does it. Lists have the form of "he".
	first, size := utf8.DecodeRuneInString(word)
	if strings.ContainsRune("تنا", first) && len(word) > 3*size {
		return meaning{l.find("ي" + word[size:]), stem}
	}
	return meaning{stem: stem}
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
// first is what the first of them means.
func (l *lexicon) phrase(words []string, first meaning) (n int, english string) {
	if len(words) < 2 || len(l.firsts()) == 0 {
		return 0, ""
	}
	if l.firsts()[words[0]]&firstWord == 0 {
		if first.stem == "" {
			first.stem = l.stem(words[0])
		}
		if l.firsts()[first.stem]&firstStem == 0 {
			return 0, ""
		}
	}
	for n := min(mostWords, len(words)); n > 1; n-- {
		if english := l.find(strings.Join(words[:n], " ")); english != "" {
			return n, english
		}
	}
	return 0, ""
}

// longest is the longest word that characters begin with, and what it means.
func (l *lexicon) longest(text string) (word, english string) {
	head, _ := utf8.DecodeRuneInString(text)
	in, ok := l.heads()[head]
	if !ok {
		return "", ""
	}
	for {
		key, english := l.last(in, text)
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
