package token

import (
	"math/bits"
	"strings"
	"testing"
)

// No two words have one hash, however alike they are: a word that has that of another one has its tokens. A letter
// changes half of the bits.
func TestHashesOfWordsDiffer(t *testing.T) {
	t.Parallel()
	words := map[string]bool{"": true}
	for n := 1; n <= 24; n++ {
		for _, letter := range "a\x00" {
			words[strings.Repeat(string(letter), n)] = true
		}
		for at := range n {
			for other := range 256 {
				b := []byte(strings.Repeat("a", n))
				b[at] = byte(other)
				words[string(b)] = true
				b[(at+1)%n]++
				words[string(b)] = true
			}
		}
	}
	of := make(map[uint64]string, len(words))
	for word := range words {
		h := hashOf(word)
		if other, taken := of[h]; taken {
			t.Fatalf("%q has the hash of %q", word, other)
		}
		of[h] = word
	}
	changed, pairs := 0, 0
	for n := 1; n <= 24; n++ {
		for at := range n {
			b := []byte(strings.Repeat("a", n))
			whole := hashOf(string(b))
			b[at]++
			changed += bits.OnesCount64(whole ^ hashOf(string(b)))
			pairs++
		}
	}
	if mean := float64(changed) / float64(pairs); mean < 30 || mean > 34 {
		t.Errorf("a letter changes %.1f of 64 bits", mean)
	}
}
