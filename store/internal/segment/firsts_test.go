package segment

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// A list that knows where its texts begin with which byte finds what one finds that does not.
func TestSearchAmongThoseOfOneLetter(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	word := func() string {
		b := make([]byte, rng.IntN(4))
		for i := range b {
			b[i] = "\x00\x01abyz\x7f\x80\xfe\xff"[rng.IntN(10)]
		}
		return string(b)
	}
	for range 200 {
		var list []string
		for range rng.IntN(300) {
			list = append(list, word())
		}
		slices.Sort(list)
		list = slices.Compact(list)
		b := blobOf(len(list), func(i int) []byte { return []byte(list[i]) })
		with := b
		with.firsts = &firsts{}
		for range 200 {
			name := word()
			n, found := b.search(name)
			if at, is := with.search(name); at != n || is != found {
				t.Fatalf("%q is found %v at %d of %q; want %v at %d", name, is, at, list, found, n)
			}
		}
	}
}
