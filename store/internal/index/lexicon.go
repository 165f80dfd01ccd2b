package index

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/retrieval"
	"github.com/loci-memory/loci/store/internal/segment"
)

// A lexicon holds the words of a shard: as they are spelled, for phrases and
// prefixes, and the terms they are searched by, with where these stand.
type lexicon struct {
	spellings  table            // of the vocabulary
	vocabulary paged[word]      // by number
	marks      []retrieval.Mark // of the words, for misspelt ones; see [search.mend]

	terms   table       // of the names but for stems, which are found as spellings
	listed  paged[term] // by number
	stemmed bool        // see hasStems: one was, since it was made

	tokens, posted int // how many words passages have, and postings the lists

	sequence []uint32  // memory for addText
	ahead    []ahead   // words of it that are not looked up yet
	touched  uint32    // see ahead
	once     []posting // memory for lists of one
}

// manyOnce is for how many terms memory is made at once: most are those of one passage.
const manyOnce = 128

// word is a token's text.
type word struct {
	spelling string
	term     uint32
	uses     uint32 // in passages alive
	stop     bool
}

// term is what words are searched by.
type term struct {
	name     string
	postings []posting // ascending by passage; count 0 marks a removed one
	holders  uint32    // passages alive that hold it
}

// A posting says how often a term stands in a passage.
type posting = segment.Posting

// overlaid marks a word of a passage that lies over others, such as a part of a
// compound: no phrase sees it.
const overlaid = 1 << 31

// addText takes in the text of a passage with a number higher than those before.
// It returns the passage's words, how many count for its length, and its traits.
func (l *lexicon) addText(text string, number uint32) (words []uint32, length uint32, traits retrieval.Traits) {
	var reader retrieval.TraitReader
	l.sequence = l.sequence[:0]
	retrieval.Analyze(text, func(t retrieval.Token) {
		reader.Read(&t)
		l.ahead = append(l.ahead, ahead{spelling: t.Text, hash: hashOf(t.Text), placed: t.Kind.HasPosition()})
		if len(l.ahead) == mostAhead {
			length += l.takeAhead(number)
		}
	})
	length += l.takeAhead(number)
	words = slices.Clone(l.sequence)
	l.tokens += len(words)
	if cap(l.sequence) > 1<<16 { // a huge text must not keep its memory
		l.sequence = nil
	}
	return words, length, reader.Of(text)
}

// ahead is a word that will be looked up.
type ahead struct {
	spelling string
	hash     uint32
	placed   bool   // it has a position
	likely   uint32 // the number of the word that has its hash, with 1 added; 0: none has
}

// mostAhead is how many words are looked up together. Where each lies in a large table is read from memory, which takes
// as long as a hundred steps of a program: of many words that do not wait for one another, about as long as of one.
const mostAhead = 32

// takeAhead takes in the words that are not looked up yet, and returns how many count for the passage's length.
func (l *lexicon) takeAhead(number uint32) (length uint32) {
	l.touchAhead()
	for i := range l.ahead {
		a := &l.ahead[i]
		n := a.likely - 1
		if a.likely == 0 || l.vocabulary.at(n).spelling != a.spelling {
			n = l.word(a.spelling, a.hash)
		}
		w := l.vocabulary.at(n)
		w.uses++
		l.post(w.term, number)
		switch {
		case !a.placed:
			n |= overlaid
		case !w.stop:
			length++
		}
		l.sequence = append(l.sequence, n)
	}
	clear(l.ahead) // their text must not be kept
	l.ahead = l.ahead[:0]
	return length
}

// touchAhead reads all that taking in the next words will read, step by step: what one step reads of a word says where
// the next one reads.
func (l *lexicon) touchAhead() {
	touched := uint32(0)
	for i := range l.ahead {
		a := &l.ahead[i]
		a.likely = l.spellings.likely(a.hash)
		if !isStem(a.spelling) { // mostly a word that is new is its own term
			touched += l.terms.touch(a.hash)
		}
	}
	for i := range l.ahead {
		if n := l.ahead[i].likely; n > 0 {
			touched += l.vocabulary.at(n - 1).uses
		}
	}
	for i := range l.ahead {
		if n := l.ahead[i].likely; n > 0 {
			w := l.vocabulary.at(n - 1)
			touched += uint32(w.spelling[0]) + l.listed.at(w.term).holders
		}
	}
	for i := range l.ahead {
		if n := l.ahead[i].likely; n > 0 {
			if list := l.listed.at(l.vocabulary.at(n - 1).term).postings; len(list) > 0 {
				touched += list[len(list)-1].Count
			}
		}
	}
	l.touched = touched // kept, so that no compiler leaves the reading out
}

// adoptText takes in the words of a passage with a number higher than those before.
func (l *lexicon) adoptText(words []uint32, number uint32) {
	l.tokens += len(words)
	for _, n := range words {
		w := l.vocabulary.at(n &^ overlaid)
		w.uses++
		l.post(w.term, number)
	}
}

// word returns the number of a spelling with a hash. It keeps the text of a stem, and a copy of another one.
func (l *lexicon) word(spelling string, hash uint32) uint32 {
	n, ok := l.findSpelling(hash, spelling)
	switch {
	case ok:
	case isStem(spelling): // which is no part of the text
		n = l.newWord(hash, word{spelling: spelling, term: l.newTerm(spelling)}, markOf(spelling, false))
	default:
		spelling = strings.Clone(spelling) // a part of the text would keep all of it in memory
		name, stop := retrieval.Normalize(spelling)
		if name == spelling { // mostly: then both are one text in memory, too
			name = spelling
		} else {
			name = strings.Clone(name) // a part of a word that leaves would keep that
		}
		n = l.newWord(hash, word{spelling: spelling, term: l.term(name), stop: stop}, markOf(spelling, stop))
	}
	return n
}

// findSpelling is the number of a spelling with a hash.
func (l *lexicon) findSpelling(hash uint32, spelling string) (number uint32, ok bool) {
	return l.spellings.find(hash, func(n uint32) bool { return l.vocabulary.at(n).spelling == spelling })
}

// newWord takes in a word that the lexicon lacks.
func (l *lexicon) newWord(hash uint32, w word, mark retrieval.Mark) uint32 {
	n := uint32(l.vocabulary.len())
	l.vocabulary.add(w)
	l.marks = append(l.marks, mark)
	l.spellings.add(hash, n)
	return n
}

// markOf is the mark of a word, or of a stem in a language, that another may be meant for.
func markOf(spelling string, stop bool) retrieval.Mark {
	if stop {
		return 0
	}
	if _, stem, ok := retrieval.CutStem(spelling); ok {
		return retrieval.MarkOf(stem)
	}
	return retrieval.MarkOf(spelling)
}

// term returns the number of a term of a spelling that is new. It keeps its text.
func (l *lexicon) term(name string) uint32 {
	if isStem(name) { // a term that comes and leaves with the spelling
		return l.newTerm(name)
	}
	hash := hashOf(name)
	t, ok := l.findName(hash, name)
	if !ok {
		t = l.newTerm(name)
		l.terms.add(hash, t)
	}
	return t
}

// findName is the number of a term with a hash.
func (l *lexicon) findName(hash uint32, name string) (term uint32, ok bool) {
	if isStem(name) {
		n, ok := l.findSpelling(hash, name)
		if !ok {
			return 0, false
		}
		return l.vocabulary.at(n).term, true
	}
	return l.terms.find(hash, func(t uint32) bool { return l.listed.at(t).name == name })
}

// isStem reports whether a term is the stem of a word in another language than English.
func isStem(term string) bool { return term != "" && term[0] == retrieval.StemsFrom[0] }

func (l *lexicon) newTerm(name string) uint32 {
	t := uint32(l.listed.len())
	l.stemmed = l.stemmed || isStem(name)
	l.listed.add(term{name: name})
	return t
}

func (l *lexicon) post(to, number uint32) {
	t := l.listed.at(to)
	list := t.postings
	if n := len(list); n > 0 && list[n-1].Passage == number {
		list[n-1].Count++
		return
	}
	if list == nil {
		if len(l.once) == 0 {
			l.once = make([]posting, manyOnce)
		}
		list, l.once = l.once[:0:1], l.once[1:]
	}
	list = append(list, posting{Passage: number, Count: 1})
	t.postings = list
	t.holders++
	l.posted++
}

// removeText takes out the words of a passage.
func (l *lexicon) removeText(words []uint32, number uint32) {
	l.tokens -= len(words)
	for _, n := range words {
		w := l.vocabulary.at(n &^ overlaid)
		l.unpost(w.term, number)
		if w.uses--; w.uses == 0 { // no word outlives the last memory that said it
			l.spellings.remove(hashOf(w.spelling), n&^overlaid)
			*w, l.marks[n&^overlaid] = word{}, 0
		}
	}
}

// unpost marks the posting of a passage as removed.
func (l *lexicon) unpost(from, number uint32) {
	t := l.listed.at(from)
	list := t.postings
	i, found := slices.BinarySearchFunc(list, number, func(p posting, n uint32) int { return int(p.Passage) - int(n) })
	if !found || list[i].Count == 0 {
		return // the passage held the term more than once
	}
	list[i].Count = 0
	t.holders--
	if t.holders == 0 {
		if !isStem(t.name) {
			l.terms.remove(hashOf(t.name), from)
		}
		l.posted -= len(list)
		*t = term{}
	}
}

// renumbering is for adopt: no word has a new number yet.
func (l *lexicon) renumbering() []uint32 {
	return slices.Repeat([]uint32{overlaid}, l.vocabulary.len())
}

// adopt takes over the words of a passage from another lexicon and renumbers them
// in place; renumbered holds the new numbers and grows.
func (l *lexicon) adopt(words []uint32, number uint32, old *lexicon, renumbered []uint32) {
	l.tokens += len(words)
	for i, n := range words {
		before := n &^ overlaid
		if renumbered[before] == overlaid {
			w := *old.vocabulary.at(before)
			w.term = l.term(old.listed.at(w.term).name)
			renumbered[before] = l.newWord(hashOf(w.spelling), w, markOf(w.spelling, w.stop))
		}
		now := renumbered[before]
		l.post(l.vocabulary.at(now).term, number)
		words[i] = now | n&overlaid
	}
}
