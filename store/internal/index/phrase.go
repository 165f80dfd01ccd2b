package index

import (
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// withPrefix lists the passages with a word that begins so, ascending, with how
// many there are. Stop words do not count.
func (sh *scoring) withPrefix(prefix string) []posting {
	fits := sh.beginning(prefix)
	var out []posting
	candidates := make([]bool, len(sh.passages))
	for t := range fits.terms {
		for _, p := range sh.list(t) {
			candidates[p.Passage] = candidates[p.Passage] || p.Count > 0
		}
	}
	for n, candidate := range candidates {
		if !candidate {
			continue
		}
		count := uint32(0)
		for _, w := range sh.wordsOf(uint32(n)) {
			if fits.words[w&^overlaid] {
				count++
			}
		}
		if count > 0 { // else only another word of the same stem
			out = append(out, posting{Passage: uint32(n), Count: count})
		}
	}
	return out
}

// withPhrase lists the passages where the terms follow one another, ascending,
// with how often they do.
func (sh *scoring) withPhrase(phrase []string) []posting {
	terms, rarest, ok := sh.phraseTerms(phrase)
	if !ok {
		return nil
	}
	var out []posting
	for _, p := range sh.list(rarest) {
		if p.Count == 0 {
			continue
		}
		if n := sh.countPhrase(sh.wordsOf(p.Passage), terms); n > 0 {
			out = append(out, posting{Passage: p.Passage, Count: n})
		}
	}
	return out
}

// phraseTerms returns the numbers of a phrase's terms and the one that fewest
// passages hold; not ok: some term is nowhere.
func (sh *scoring) phraseTerms(phrase []string) (terms []uint32, rarest uint32, ok bool) {
	for i, name := range phrase {
		t, ok := sh.findTerm(name)
		if !ok {
			return nil, 0, false
		}
		if i == 0 || sh.holding(t) < sh.holding(rarest) {
			rarest = t
		}
		terms = append(terms, t)
	}
	return terms, rarest, true
}

// countPhrase counts where the terms follow one another in a passage.
func (sh *scoring) countPhrase(words, terms []uint32) (count uint32) {
	for i, w := range words {
		if w&overlaid == 0 && sh.termOf(w) == terms[0] && sh.followed(words[i+1:], terms[1:]) {
			count++
		}
	}
	return count
}

// followed reports whether words begin with the terms, overlaid words aside.
func (sh *scoring) followed(words, terms []uint32) bool {
	for _, w := range words {
		switch {
		case len(terms) == 0:
			return true
		case w&overlaid != 0:
		case sh.termOf(w) != terms[0]:
			return false
		default:
			terms = terms[1:]
		}
	}
	return len(terms) == 0
}

// restrict leaves only the entries with a phrase, whose passages are given by
// part, to be found, by words and by vectors.
func (s *search) restrict(phrase []string, in []askedIn) error {
	if s.phrased == nil {
		s.phrased = make([][]bool, len(s.parts))
		for i := range s.parts {
			s.phrased[i] = slices.Repeat([]bool{true}, s.parts[i].allEntries())
		}
	}
	for i := range s.parts {
		sh := &s.parts[i]
		have := make([]bool, sh.allEntries())
		for _, p := range in[i].list {
			have[sh.passages[p.Passage].Entry] = true
		}
		if err := s.acrossPassages(i, phrase, have); err != nil {
			return err
		}
		for e := range have {
			s.phrased[i][e] = s.phrased[i][e] && have[e]
		}
	}
	return nil
}

// acrossPassages finds the phrase in texts that were cut in the middle of it.
// Passages overlap, so that takes a long phrase; only the text itself can tell.
func (s *search) acrossPassages(part int, phrase []string, have []bool) error {
	sh := &s.parts[part]
	terms, rarest, ok := sh.phraseTerms(phrase)
	if !ok || len(terms) < 2 {
		return nil
	}
	for _, p := range sh.list(rarest) {
		n := sh.passages[p.Passage].Entry
		if p.Count == 0 || have[n] {
			continue
		}
		e := sh.seen(n)
		if e.passages < 2 || !sh.holdsAll(&e, terms) {
			continue
		}
		full, err := s.load([]loci.ID{e.id})
		if err != nil {
			return err
		}
		have[n] = len(full) > 0 && retrieval.HasPhrase(full[0].Text, phrase)
	}
	return nil
}

// holdsAll reports whether each term is in some passage of an entry.
func (sh *scoring) holdsAll(e *seen, terms []uint32) bool {
	for _, t := range terms {
		held := false
		for n := e.first; n < e.first+e.passages && !held; n++ {
			held = sh.countPhrase(sh.wordsOf(n), []uint32{t}) > 0
		}
		if !held {
			return false
		}
	}
	return true
}
