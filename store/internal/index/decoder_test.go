package index

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"
)

// A number of any length is read as the package for it does, whatever follows, and where it is cut.
func TestVarint(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(41, 42))
	check := func(b []byte) {
		t.Helper()
		want, size := binary.Varint(b)
		if got, n := varint(b); got != want || n != size {
			t.Fatalf("%x is read as %d of %d bytes, not %d of %d", b, got, n, want, size)
		}
	}
	numbers := []int64{0, -1, 1_700_000_000_000, math.MinInt64, math.MaxInt64}
	for range 2000 {
		numbers = append(numbers, int64(random.Uint64())>>random.IntN(64))
	}
	for _, n := range numbers {
		b := binary.AppendVarint(nil, n)
		for range random.IntN(12) {
			b = append(b, byte(random.Uint32()))
		}
		for end := range len(b) + 1 {
			check(b[:end])
		}
	}
}
