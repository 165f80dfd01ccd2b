package embedding

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/gloss"
	"github.com/loci-memory/loci/internal/retrieval"
)

// Knows returns the share of a text's words that the vocabulary knows, 0 to 1: those
// at least half of whose characters stand in tokens of two characters or more. A
// vocabulary holds the words of the languages it was made of, and single characters
// of all others, whose vectors mean nothing; each Han character is a word of its own.
// Numbers, signs and single Latin letters count for neither side; 1 if there is
// nothing else. Of a text that seems to be in another language of Latin letters than
// English it knows less the fewer of its words stand in the vocabulary whole, small ones not counted:
// pieces such as "##ter" are in all texts of that language. Of a text in a language of which it has words it knows
// these, and the names and other words that its vocabulary has whole. A damaged model knows everything: Embed reports it.
func (s *Static) Knows(text string) float64 {
	m, err := s.load()
	if err != nil {
		return 1
	}
	ids := s.ids.Get().(*[]int32)
	defer s.giveBack(ids)
	if words := s.glosses(m, text, ids, gloss.Asked); words != nil {
		return m.knowsOf(words, ids)
	}
	*ids = m.tokenizer.Append((*ids)[:0], text)
	var small func(string) bool // nil: it was not needed yet, or the text seems to be English
	var known, whole, learnt, all int
	for i := 0; i < len(*ids); {
		word := (*ids)[i : i+m.wordSize((*ids)[i:])]
		i += len(word)
		switch m.familiarity(word) {
		case familiar:
			if known == 0 {
				small = retrieval.Strange(text)
			}
			known++
			all++
			if len(word) == 1 {
				whole++
				if small != nil && !small(m.tokenizer.Token(word[0])) {
					learnt++
				}
			}
		case strange:
			all++
		}
	}
	switch {
	case all == 0:
		return 1
	case small == nil, whole == all && whole-learnt < 2: // "die hard", where one word is small elsewhere
		return float64(known) / float64(all)
	}
	return float64(known) / float64(all) * fluent(float64(learnt)/float64(all))
}

// knowsOf is Knows of words in several languages.
func (m *staticModel) knowsOf(words []gloss.Word, ids *[]int32) float64 {
	known, all := 0.0, 0.0
	for i := range words {
		w := &words[i]
		switch {
		case w.Small || w.Asks:
			continue
		case w.English != "":
			share := glossed
			if w.Guessed {
				share *= guessed
			}
			known += share
			all++
			continue
		}
		*ids = m.tokenizer.Append((*ids)[:0], w.Text)
		for rest := *ids; len(rest) > 0; {
			pieces := rest[:m.wordSize(rest)]
			rest = rest[len(pieces):]
			switch kind := m.familiarity(pieces); {
			case kind == familiar && (w.In == "" || len(pieces) == 1):
				known++
				all++
			case kind != neutral && w.Spelled():
				all++
			case kind != neutral: // characters of one word
				all++
				rest = nil
			}
		}
	}
	if all == 0 {
		return 1
	}
	return known / all
}

// glossed is how much is known of a word if what it means is known: less than of one that the model has learnt.
const glossed = 5.0 / 6

// guessed is how much of that is known of a misspelt word: it counts as much by words.
const guessed = 0.8

// Shares of words that a vocabulary of English has whole, in a text that seems to be in another language: up
// to which it knows nothing of what the text says, and from which the text may be English after all.
// More than half of a question in German, Spanish or French is hardly ever whole, and less than three
// quarters of one in English.
const (
	fluentFrom = 0.5
	fluentAt   = 0.75
)

func fluent(whole float64) float64 { return min(1, max(0, (whole-fluentFrom)/(fluentAt-fluentFrom))) }

// inside begins the tokens that continue a word.
const inside = "##"

// wordSize is how many tokens the first word has.
func (m *staticModel) wordSize(ids []int32) int {
	n := 1
	for n < len(ids) && isInside(m.tokenizer.Token(ids[n])) {
		n++
	}
	return n
}

func isInside(token string) bool { return len(token) > len(inside) && strings.HasPrefix(token, inside) }

// What a vocabulary can make of a word.
type wordKind int

const (
	neutral wordKind = iota
	familiar
	strange
)

// A tokenShape is what familiarity needs of a token.
type tokenShape struct {
	length  uint8 // in characters, without what marks the inside of a word; 0: no token of a word
	letter  bool  // it is one letter
	foreign bool  // which is not Latin
	spells  bool  // nor of a script whose characters are words or syllables: alone it says nothing
}

func shapeOf(token string) (s tokenShape) {
	if token == "[UNK]" {
		return s
	}
	if isInside(token) {
		token = token[len(inside):]
	}
	n := utf8.RuneCountInString(token)
	s.length = uint8(min(n, math.MaxUint8))
	if r, _ := utf8.DecodeRuneInString(token); n == 1 && unicode.IsLetter(r) {
		s.letter, s.foreign = true, !unicode.Is(unicode.Latin, r)
		scripts := []*unicode.RangeTable{unicode.Lm, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}
		s.spells = s.foreign && !unicode.In(r, scripts...)
	}
	return s
}

// familiarity judges the tokens of one word.
func (m *staticModel) familiarity(word []int32) wordKind {
	long, all, foreign := 0, 0, false
	for _, id := range word {
		s := m.shapes[id]
		if s.length == 0 {
			return strange
		}
		n := int(s.length)
		all += n
		if n > 1 {
			long += n
			continue
		}
		foreign = foreign || s.letter && (len(word) > 1 || s.foreign)
	}
	switch {
	case long > 0 && 2*long >= all:
		return familiar
	case foreign:
		return strange
	}
	return neutral
}
