package retrieval

import "testing"

// A small word of a language is one, whatever its length and letters are.
func TestSmallWordsAreToldInEachLanguage(t *testing.T) {
	lists := []map[string]bool{asking, stopWords, wordSet("x walrus größe qu zz")}
	for i := range languages {
		lists = append(lists, languages[i].stop)
	}
	for l, code := range LatinLanguages() {
		small := 0
		for _, list := range lists {
			for word := range list {
				want := languages[l].stop[word] || asking[word] || stopWords[word]
				if want {
					small++
				}
				if got := SmallIn(code, word); got != want {
					t.Errorf("%q is small in %s: %v", word, code, got)
				}
			}
		}
		if small < 100 {
			t.Errorf("%d words are small in %s", small, code)
		}
	}
}
