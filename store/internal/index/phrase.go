package index

import (
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// withPrefix lists the passages with a word that begins so, ascending, with how
// many there are. Stop words do not count.
func (s *shard) withPrefix(prefix string) []posting {
	fits := make([]bool, len(s.vocabulary))
	terms := map[uint32]bool{}
	for spelling, n := range s.spellings {
		if strings.HasPrefix(spelling, prefix) && !s.vocabulary[n].stop {
			fits[n] = true
			terms[s.vocabulary[n].term] = true
		}
	}
	var out []posting
	candidates := make([]bool, len(s.passages))
	for t := range terms {
		for _, p := range s.postings[t] {
			candidates[p.passage] = candidates[p.passage] || p.count > 0
		}
	}
	for n, candidate := range candidates {
		if !candidate {
			continue
		}
		count := uint32(0)
		for _, w := range s.passages[n].words {
			if fits[w&^overlaid] {
				count++
			}
		}
		if count > 0 { // else only another word of the same stem
			out = append(out, posting{uint32(n), count})
		}
	}
	return out
}

// withPhrase lists the passages where the terms follow one another, ascending,
// with how often they do.
func (s *shard) withPhrase(phrase []string) []posting {
	terms, rarest, ok := s.phraseTerms(phrase)
	if !ok {
		return nil
	}
	var out []posting
	for _, p := range s.postings[rarest] {
		if p.count == 0 {
			continue
		}
		if n := s.countPhrase(s.passages[p.passage].words, terms); n > 0 {
			out = append(out, posting{p.passage, n})
		}
	}
	return out
}

// phraseTerms returns the numbers of a phrase's terms and the one that fewest
// passages hold; not ok: some term is nowhere.
func (s *shard) phraseTerms(phrase []string) (terms []uint32, rarest uint32, ok bool) {
	for i, name := range phrase {
		t, ok := s.terms[name]
		if !ok {
			return nil, 0, false
		}
		if i == 0 || s.holders[t] < s.holders[rarest] {
			rarest = t
		}
		terms = append(terms, t)
	}
	return terms, rarest, true
}

// countPhrase counts where the terms follow one another in a passage.
func (s *shard) countPhrase(words, terms []uint32) (count uint32) {
	for i, w := range words {
		if w&overlaid == 0 && s.vocabulary[w].term == terms[0] && s.followed(words[i+1:], terms[1:]) {
			count++
		}
	}
	return count
}

// followed reports whether words begin with the terms, overlaid words aside.
func (s *shard) followed(words, terms []uint32) bool {
	for _, w := range words {
		switch {
		case len(terms) == 0:
			return true
		case w&overlaid != 0:
		case s.vocabulary[w].term != terms[0]:
			return false
		default:
			terms = terms[1:]
		}
	}
	return len(terms) == 0
}

// restrict leaves only the entries with a phrase, whose passages are given by
// shard, to be found, by words and by vectors.
func (s *search) restrict(phrase []string, lists [][]posting) error {
	if s.phrased == nil {
		s.phrased = make([][]bool, len(s.shards))
		for i, sh := range s.shards {
			s.phrased[i] = slices.Repeat([]bool{true}, len(sh.entries))
		}
	}
	for i, sh := range s.shards {
		have := make([]bool, len(sh.entries))
		for _, p := range lists[i] {
			have[sh.passages[p.passage].entry] = true
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
func (s *search) acrossPassages(shard int, phrase []string, have []bool) error {
	sh := s.shards[shard]
	terms, rarest, ok := sh.phraseTerms(phrase)
	if !ok || len(terms) < 2 {
		return nil
	}
	for _, p := range sh.postings[rarest] {
		n := sh.passages[p.passage].entry
		e := &sh.entries[n]
		if p.count == 0 || have[n] || len(e.passages) < 2 || !sh.holdsAll(e, terms) {
			continue
		}
		full, err := s.load([]loci.ID{e.record.ID})
		if err != nil {
			return err
		}
		have[n] = len(full) > 0 && retrieval.HasPhrase(full[0].Text, phrase)
	}
	return nil
}

// holdsAll reports whether each term is in some passage of an entry.
func (s *shard) holdsAll(e *entry, terms []uint32) bool {
	for _, t := range terms {
		if !slices.ContainsFunc(e.passages, func(n uint32) bool { return s.countPhrase(s.passages[n].words, []uint32{t}) > 0 }) {
			return false
		}
	}
	return true
}
