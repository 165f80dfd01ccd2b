package retrieval

// A glance tells of most words that they are in none of some lists, by their lengths and their first and last letters:
// a text asks a dozen lists for each of its words, and each look into one costs as much as to read the word.
type glance [glanced][26]uint32

// glanced is the length from which on nothing is told.
const glanced = 24

// glanceOf is the glance of the words of lists.
func glanceOf[T any](lists ...map[string]T) *glance {
	g := &glance{}
	for _, list := range lists {
		for word := range list {
			if n := len(word); n > 0 && n < glanced && isSmallLetter(word[0]) && isSmallLetter(word[n-1]) {
				g[n][word[0]-'a'] |= 1 << (word[n-1] - 'a')
			}
		}
	}
	return g
}

// add takes in what another one tells.
func (g *glance) add(more *glance) {
	for n := range more {
		for first := range more[n] {
			g[n][first] |= more[n][first]
		}
	}
}

// may reports whether a word may be in one of the lists.
func (g *glance) may(word string) bool {
	n := len(word)
	if n == 0 || n >= glanced || !isSmallLetter(word[0]) || !isSmallLetter(word[n-1]) {
		return true
	}
	return g[n][word[0]-'a']>>(word[n-1]-'a')&1 != 0
}

func isSmallLetter(c byte) bool { return 'a' <= c && c <= 'z' }
