package index

import (
	"slices"

	"github.com/loci-memory/loci/internal/retrieval"
)

// Where notes say of several people what each of them does, those of others are as similar to a question about one of
// them as his own. So a search notes whom its query is about, if some note says who that is ("my daughter Mia"), and a
// hit whether it names him.

// mostAbout bounds the passages that name somebody: who is in more of them tells nothing apart.
const mostAbout = 10_000

// addAbout notes that a query is about somebody, by the words that name him.
func (s *search) addAbout(words ...string) {
	for i, word := range words {
		words[i], _ = retrieval.Normalize(word)
	}
	a := s.findWord(words)
	if a.holders == 0 || a.holders > mostAbout {
		return
	}
	s.about = true
	for i := range s.parts {
		sh := &s.parts[i]
		sh.about = union(sh.about, a.listOf(sh))
	}
}

// isAbout reports whether an entry names somebody whom the query is about.
func (sh *scoring) isAbout(e *seen) bool {
	behind := func(p posting, n uint32) int { return int(p.Passage) - int(n) }
	at, _ := slices.BinarySearchFunc(sh.about, e.first, behind)
	return at < len(sh.about) && sh.about[at].Passage < e.first+e.passages
}

// follow takes whom the entry names that fits the words of a query best for the one whom the query describes: his
// other notes say nothing of the description.
func (s *search) follow(best place) {
	sh := &s.parts[best.part]
	e := sh.seen(best.entry)
	looked := map[string]bool{}
	for n := e.first; n < e.first+e.passages; n++ {
		before := ""
		for _, w := range sh.wordsOf(n) {
			word, _ := sh.spelled(w &^ overlaid)
			for _, name := range []string{word, before + word} { // of two characters, or a word
				if looked[name] {
					continue
				}
				looked[name] = true
				if s.holders(retrieval.BearerTerm(name)) > 0 {
					s.addAbout(name)
				}
				if names := s.bearers(retrieval.RolesOf(name)); len(names) > 0 {
					s.addAbout(append(names, name)...)
				}
			}
			before = word
		}
	}
}
