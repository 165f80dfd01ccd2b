package tree

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/effort"
)

// A text is found where package strings finds it, short or long, and replaced as there.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = "aaab"[rng.IntN(4)]
		}
		return string(b)
	}
	for range 3000 {
		unit := letters(1 + rng.IntN(40))
		text := letters(rng.IntN(50)) + strings.Repeat(unit, 1+rng.IntN(20))
		text += letters(rng.IntN(50)) + strings.Repeat(unit, rng.IntN(10))
		from := rng.IntN(len(text) + 1)
		sought := text[from : from+rng.IntN(len(text)-from+1)]
		if rng.IntN(4) == 0 {
			sought += letters(1)
		}
		var want []int
		for at := 0; sought != "" && at+len(sought) <= len(text); at++ {
			if text[at:at+len(sought)] == sought {
				want = append(want, at)
			}
		}
		if got := slices.Collect(places(text, sought)); !slices.Equal(got, want) {
			t.Fatalf("%q begins in %q at %v, want %v", sought, text, got, want)
		}
		if sought == "" {
			continue
		}
		got := substitute(text, apart(text, sought), len(sought), "XY")
		if want := strings.ReplaceAll(text, sought, "XY"); got != want {
			t.Fatalf("%q in %q: %q, want %q", sought, text, got, want)
		}
	}
}

// To look for a long text that nearly occurs again and again takes time with the size of both.
func TestPlacesInLinearTime(t *testing.T) {
	// Quadratic time would make it 64 times.
	effort.Grows(t, "a look for half of it", 64<<10, 512<<10, 40, func(size int) {
		text := strings.Repeat("is not never no ", size/16)
		if at := apart(text+"END", text[:size/2]+"END"); len(at) != 1 {
			t.Errorf("found at %v", at)
		}
	})
}
