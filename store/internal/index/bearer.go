package index

import (
	"cmp"
	"slices"

	"github.com/loci-memory/loci/internal/retrieval"
)

// What stands beside a word of a query that names a role, such as "daughter".
const (
	bearerWeight = 0.8   // of that word
	mostBearers  = 3     // of one role; if it has more, it tells nobody
	mostSaying   = 1_000 // passages that say who bears a role
	mostRoles    = 8     // words of a query that are looked up
)

// askBearers looks for those who bear a role that a word of a query names, by what the records that are searched
// say of them. A record that has the word needs no name beside it; one that has neither lacks nothing more. It
// reports whether names stand in for a word that nobody has, which then is not misspelt.
func (s *search) askBearers(words []retrieval.QueryWord, i int, found *asked, told func(string, []string)) bool {
	w := &words[i]
	names := s.bearers(w.Roles)
	terms, shown := make([]string, 0, len(names)), make([]string, 0, len(names)+1)
	shown = append(shown, w.Word())
	for _, name := range names {
		term, _ := retrieval.Normalize(name)
		if slices.ContainsFunc(words, func(w retrieval.QueryWord) bool { return w.Term == term }) {
			continue // "my daughter Mia"
		}
		terms, shown = append(terms, term), append(shown, name)
	}
	if len(w.Roles) == 1 && len(names) > 0 { // else the word is as broad as "kids", and notes say it in others
		s.addAbout(append(names, w.Term)...)
	}
	if len(terms) == 0 {
		return false
	}
	if told != nil {
		told(w.Word(), shown)
	}
	by := s.findWord(terms)
	if found.holders == 0 {
		s.ask(by, w.Weight*bearerWeight, w.Weight)
		return true
	}
	if by = s.without(by, found); by.holders > 0 {
		s.ask(by, w.Weight*bearerWeight, 0)
	}
	return false
}

// without is what is asked for without the passages that have something else.
func (s *search) without(a asked, other *asked) asked {
	out := asked{in: make([]askedIn, len(s.parts))}
	for i := range s.parts {
		sh := &s.parts[i]
		have := slices.Clone(other.listOf(sh)) // both may lie in the same room
		for _, p := range a.listOf(sh) {
			for len(have) > 0 && have[0].Passage < p.Passage {
				have = have[1:]
			}
			if p.Count > 0 && (len(have) == 0 || have[0].Passage != p.Passage || have[0].Count == 0) {
				out.in[i].list = append(out.in[i].list, p)
			}
		}
		out.holders += len(out.in[i].list)
	}
	return out
}

// bearers are the names that bear one of some roles, those that most passages say first; nil: none, or too many.
func (s *search) bearers(roles []string) (names []string) {
	said := map[string]int{}
	for _, role := range roles {
		all := 0
		for i := range s.parts {
			if t, ok := s.parts[i].findTerm(role); ok {
				all += s.parts[i].holding(t)
			}
		}
		if all > mostSaying {
			return nil
		}
		for i := range s.parts {
			s.countBearers(i, role, said)
		}
	}
	if len(said) > mostBearers {
		return nil
	}
	for name := range said {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(said[b]-said[a], cmp.Compare(a, b)) })
	return names
}

// countBearers counts how often the records of a part say that a name bears a role. Records that the filter
// leaves out, as those that were replaced, say nothing.
func (s *search) countBearers(part int, role string, said map[string]int) {
	sh := &s.parts[part]
	t, ok := sh.findTerm(role)
	if !ok {
		return
	}
	for _, p := range sh.list(t) {
		if p.Count == 0 || !s.filter.SelectsHeader(sh.headerOf(sh.passages[p.Passage].Entry, &s.room)) {
			continue
		}
		before := uint32(0)
		for n, w := range sh.wordsOf(p.Passage) {
			w &^= overlaid
			if n > 0 && sh.termOf(before) == t {
				spelling, _ := sh.spelled(w)
				if name, ok := retrieval.BearerOf(spelling); ok {
					said[name]++
				}
			}
			before = w
		}
	}
}
