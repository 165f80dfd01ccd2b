package index

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/loci-memory/loci/internal/retrieval"
)

// smallRare is how far a small word counts as what no passage holds, when vectors are weighed.
const smallRare = 0.25

// fewAround is how many passages a word is rare or common among at least, when vectors are weighed: those of a long
// talk. A name that everybody says in one talk is rare in a memory of many, and says no more there.
const fewAround = 400.0

// rarity says how much a word of the query counts in its vector: the rarer in what is
// searched, the more. In long passages a word says little of what they are about; from
// 20 words on average rarity counts less, from 40 on not at all. How common a small word is in all
// texts is in its vector already, and who asks about what ("did I") is in the small words.
func (s *search) rarity() func(word string) float64 {
	if s.passages == 0 {
		s.measure(false)
	}
	power := 1 - s.long()
	return func(word string) float64 {
		if s.passages == 0 || power == 0 {
			return 1
		}
		term, small := retrieval.Normalize(word)
		held, holders := s.rarestOf(term)
		rare := rareness(s.passages, float64(holders))
		if s.passages > fewAround && s.sequences > 0 && !small && holders > 0 {
			rare = rareness(s.among(held, holders), float64(holders))
		}
		if small {
			rare = float64((1-smallRare)*rare) + float64(smallRare*rareness(s.passages, 0))
		}
		return s.nameless(word) * math.Pow(rare, power)
	}
}

// long says how long the passages are on average: 0 up to 20 words, 1 from 40 on.
func (s *search) long() float64 { return min(1, max(0, (s.average-20)/20)) }

// holders is how many passages hold a term.
func (s *search) holders(term string) (n int) {
	for i := range s.parts {
		if t, ok := s.parts[i].findTerm(term); ok {
			n += s.parts[i].holding(t)
		}
	}
	return n
}

// rarestOf is the term that a word is as rare as, and how many passages hold it: the word, or of one that is longer than
// the pairs of characters that stand for it the rarest pair.
func (s *search) rarestOf(word string) (term string, holders int) {
	first, width := utf8.DecodeRuneInString(word)
	if !retrieval.InPairs(first) || utf8.RuneCountInString(word) <= 2 {
		return word, s.holders(word)
	}
	holders = math.MaxInt
	for from := 0; holders > 0; {
		_, after := utf8.DecodeRuneInString(word[from+width:])
		if after == 0 {
			break
		}
		pair := word[from : from+width+after]
		if n := s.holders(pair); n < holders {
			term, holders = pair, n
		}
		from, width = from+width, after
	}
	return term, holders
}

// among is how many passages are searched of the sequences that have a term, and of no sequence; at least [fewAround].
func (s *search) among(term string, holders int) float64 {
	around := 0.0
	if i := slices.IndexFunc(s.asked, func(a asked) bool { return a.term == term }); i >= 0 {
		around = s.asked[i].around
	} else {
		around = s.wordsAround(s.findWord([]string{term}))
	}
	return min(s.passages, max((around+s.alone)/s.average, fewAround, float64(holders)))
}

// wordsAround is how many words the sequences have that have what is asked for.
func (s *search) wordsAround(a asked) (words float64) {
	for i := range s.parts {
		s.parts[i].countTalk(&a)
	}
	for i := range s.parts {
		if sh := &s.parts[i]; sh.first == i {
			for _, q := range sh.talk.spoken {
				words += float64(sh.shard.sequences[q].length)
				sh.talk.counts[q] = 0
			}
		}
	}
	return words
}
