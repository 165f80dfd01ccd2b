package segment

import (
	"fmt"
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

// Where a text was found is noted, and another one at the same place of the notes does not get its place.
func TestPlacesAreNoted(t *testing.T) {
	list := make([]string, 2*foundKept) // so that places are shared
	for i := range list {
		list[i] = fmt.Sprintf("%05d", 2*i)
	}
	b := blobOf(len(list), func(i int) []byte { return []byte(list[i]) })
	b.firsts = &firsts{}
	for range 2 {
		for i := range 4 * foundKept { // every second one is not in the list
			name := fmt.Sprintf("%05d", i)
			for range 2 {
				if n, found := b.search(name); int(n) != (i+1)/2 || found != (i%2 == 0) {
					t.Fatalf("%s is found %v at %d", name, found, n)
				}
			}
			if noted := b.firsts.noted(name).Load(); int(noted) != (i+1)/2+1 {
				t.Fatalf("%s is noted at %d; want %d", name, noted, (i+1)/2+1)
			}
		}
	}
}
