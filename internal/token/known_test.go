package token

import (
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
)

// What is remembered makes counting cheaper than the codec is: no word is cut into tokens twice, whatever its neighbours
// are and wherever its line ends.
func TestWordsAreRemembered(t *testing.T) {
	t.Parallel()
	c := newCounter("o200k_base", o200kTokens, (*pieces).o200k)
	for _, words := range [][]string{
		{" quick", " fox,", " (jumps:", " lazy", " dog.", " a"},
		{"\none", "\nword", "\na", "\nline"},
		{"\ttable", "\tof", "\t12"},
		{" 1", " 22", " 333"},
	} {
		for _, word := range words {
			c.Count(word)
			c.Count(word[:1])
			c.Count(word[1:]) // a text is counted line by line
		}
		for range 20 {
			text := ""
			for range 30 {
				text += words[rand.IntN(len(words))]
			}
			before := c.cut.Load()
			if c.Count(text); c.cut.Load() > before {
				t.Errorf("%d bytes of known words are cut again: %q", c.cut.Load()-before, text)
			}
		}
	}
}

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
