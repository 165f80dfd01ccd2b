package index

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/retrieval"
)

// Where notes say of several people what each of them does, those of others are as similar to a question about one of
// them as his own. So a search notes whom its query is about, if some note says who that is ("my daughter Mia"), and a
// hit whether it names him.

// What is left of the weight that a word has in the vector of a query if it only says whom the query is about: that is known, and notes that
// call him otherwise are not near to it.
const namedPart = 0.25

// describedPart is what a note about somebody whom the query describes gets of what fits the description best: it says another
// thing of him.
const describedPart = 0.4

// mostAbout bounds the passages that name somebody: who is in more of them tells nothing apart.
const mostAbout = 10_000

// A person is somebody whom a query names. Some note says that his name and what he is to the writer are one.
type person struct {
	name, role string // the role as the term of its token

	characters string // by which the query names him, where words have no spaces between them
	words      []int  // of the query, by which it does
}

// findPeople tells whom a query names, each if he is the only one who bears his role.
func (s *search) findPeople(q *retrieval.Query, found []asked) (people []*person) {
	for i := range q.Words {
		w := &q.Words[i]
		name := cmp.Or(w.Word(), w.Term)
		role := ""
		switch {
		case len(people) == mostRoles:
			return people
		case len(w.Roles) == 1:
			role = w.Roles[0]
		case len(w.Roles) == 0 && s.holders(retrieval.BearerTerm(name)) > 0:
			role = s.roleOf(name)
		}
		if role == "" || slices.ContainsFunc(people, func(p *person) bool { return p.role == role }) {
			continue
		}
		if names := s.bearers([]string{role}); len(names) == 1 && (len(w.Roles) > 0 || names[0] == name) {
			p := &person{name: names[0], role: role}
			s.findNaming(p, q, found)
			people = append(people, p)
		}
	}
	return people
}

// findNaming finds the words of a query by which it names somebody.
func (s *search) findNaming(p *person, q *retrieval.Query, found []asked) {
	typed := func(i int) bool {
		w := &q.Words[i]
		return slices.Contains(w.Roles, p.role) || cmp.Or(w.Word(), w.Term) == p.name
	}
	naming := ""
	for i := range q.Words {
		if !typed(i) {
			continue
		}
		w := &q.Words[i]
		p.words = append(p.words, i)
		if first, _ := utf8.DecodeRuneInString(w.Term); retrieval.InPairs(first) {
			naming += w.Term
			for j := i + 1; j < len(q.Words) && len(w.Roles) == 0; j++ { // a name of three characters
				if next := &q.Words[j]; next.Follows(w) && s.hasAll(&found[j], &found[i]) {
					naming += next.Term
				}
			}
		}
	}
	if naming == "" {
		return
	}
	for _, word := range retrieval.RoleWords(p.role) {
		if strings.Contains(q.Text, word) {
			naming += word + "我们的" // which stands before it
		}
	}
	p.words = p.words[:0]
	for i := range q.Words {
		other := func(r rune) bool { return !strings.ContainsRune(naming, r) }
		if !strings.ContainsFunc(q.Words[i].Term, other) {
			p.words = append(p.words, i)
		}
	}
}

// hasAll reports whether something stands in all passages that have something else.
func (s *search) hasAll(a, b *asked) bool {
	return s.without(*b, a).holders == 0
}

// roleOf is the term of the role that a name bears; "": none, or several.
func (s *search) roleOf(name string) (role string) {
	bearer := retrieval.BearerTerm(name)
	if s.holders(bearer) > mostSaying {
		return ""
	}
	for i := range s.parts {
		sh := &s.parts[i]
		t, ok := sh.findTerm(bearer)
		if !ok {
			continue
		}
		for _, p := range sh.list(t) {
			says := p.Count > 0 && s.filter.SelectsHeader(sh.headerOf(sh.passages[p.Passage].Entry, &s.room))
			if !says { // as one that was replaced
				continue
			}
			before := ""
			for _, w := range sh.wordsOf(p.Passage) {
				spelling, _ := sh.spelled(w &^ overlaid)
				if spelling == bearer && before != role {
					if role != "" {
						return ""
					}
					role = before
				}
				before = spelling
			}
		}
	}
	return role
}

// askPerson looks for all texts that name somebody: in which way they do says nothing. What the query does not call him
// counts a little less.
func (s *search) askPerson(p *person, q *retrieval.Query, found []asked, missed []bool, told func(string, []string)) {
	typed, own := asked{in: make([]askedIn, len(s.parts))}, 0.0
	named := false
	for _, i := range p.words {
		w := &q.Words[i]
		named = named || cmp.Or(w.Word(), w.Term) == p.name
		if len(w.Roles) == 0 && cmp.Or(w.Word(), w.Term) != p.name {
			if missed[i] {
				own += w.Weight
			}
			continue
		}
		typed = s.either(typed, &found[i])
		own += w.Weight
	}
	all := []string{}
	for _, word := range append(retrieval.RoleWords(p.role), p.name) {
		term, _ := retrieval.Normalize(word)
		all = append(all, term)
	}
	s.addAbout(slices.Clone(all)...)
	s.roles = append(s.roles, p.role)
	by := s.findWord(all)
	rare := rareness(s.passages, float64(by.holders))
	by = s.without(by, &typed)
	if typed.holders > 0 {
		s.askRare(typed, own, own, rare)
		own = 0
	}
	weight := 0.0
	for _, i := range p.words {
		if missed[i] {
			weight += q.Words[i].Weight
		}
	}
	if by.holders > 0 {
		s.askRare(by, weight*bearerWeight, own, rare)
	}
	if w := &q.Words[p.words[0]]; told != nil && !named {
		told(w.Word(), []string{w.Word(), p.name})
	}
}

// either is what is asked for together with something else.
func (s *search) either(a asked, other *asked) asked {
	out := asked{in: make([]askedIn, len(s.parts))}
	for i := range s.parts {
		sh := &s.parts[i]
		out.in[i].list = union(slices.Clone(a.listOf(sh)), slices.Clone(other.listOf(sh)))
		out.holders += len(out.in[i].list)
	}
	return out
}

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

// described is somebody whom a query describes.
type described struct {
	description string // what the query says of him; "": it describes nobody who is known
	by          place  // what fits that best
	worded      worded // what words of the query say of it
}

// findDescribed finds out whom a query describes.
func (s *search) findDescribed(p *loci.Probe) error {
	if !p.Sequences || p.Quick || s.about {
		return nil
	}
	description := retrieval.DescriptionOf(p.Text)
	if description == "" {
		return nil
	}
	words := byWords
	if s.skips {
		words = s.byWordsSkipping(1)
	}
	best, err := s.best(1, words, nil)
	if err != nil || len(best) == 0 {
		return err
	}
	if s.follow(best[0]); s.about {
		sh := &s.parts[best[0].part]
		s.described = described{description: description, by: best[0]}
		e := sh.seen(best[0].entry)
		for n := e.first; n < e.first+e.passages; n++ {
			if w := s.wordsAt(sh, n); w.score > s.worded.score {
				s.worded = w
			}
		}
	}
	return nil
}

// bestDescribed are the best entries by similarity among those that name whom a query describes.
func (s *search) bestDescribed(limit int) ([]place, error) {
	if s.description == "" {
		return nil, nil
	}
	each := func(sh *scoring, _ *float64, yield func(uint32, float64) error) error {
		for _, p := range sh.about {
			if score, ok := sh.similarity(p.Passage); ok && p.Count > 0 {
				if err := yield(p.Passage, score); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return s.best(limit, signal{of: (*scoring).similarity, each: each}, nil)
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

// nameless is what is left of the weight of a word in the vector of a query.
func (s *search) nameless(word string) float64 {
	if s.description != "" && strings.Contains(s.description, word) {
		return namedPart
	}
	for _, role := range s.roles {
		if slices.Contains(retrieval.RolesOf(word), role) {
			return namedPart
		}
	}
	return 1
}
