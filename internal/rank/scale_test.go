package rank_test

import (
	"math"
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

// For a query in a language that an embedder cuts into pieces, what says the same begins where texts
// are alike elsewhere. In Japanese it begins a third of what is not known higher. One that it knows, or that is not in
// such a language, has the scale as it is.
func TestTold(t *testing.T) {
	usual := rank.Scale{Unrelated: 0.15, Alike: 0.75}
	beyond, full := rank.Scale{Unrelated: 0.75, Alike: 1}, rank.Scale{Unrelated: 0.5, Alike: 1}
	for _, c := range []struct {
		scale     rank.Scale
		known     float64
		strange   bool
		kana      bool
		want      rank.Scale
		wantKnown float64
	}{
		{usual, 0, false, false, usual, 0},
		{usual, 0.4, false, false, usual, 0.4},
		{usual, 0, true, false, beyond, 1},
		{usual, 0.25, true, false, rank.Scale{Unrelated: 0.45, Alike: 0.875}, 1},
		{usual, 0.5, true, false, rank.Scale{Unrelated: 0.25, Alike: 0.75 + 0.25/6}, 1},
		{usual, 0.8, true, false, rank.Scale{Unrelated: 0.19, Alike: 0.75 + 0.05/3}, 1}, // what words mean in another language
		{usual, 1, true, false, usual, 1},
		{full, 0, true, false, full, 0},
		{usual, 0.7, false, true, rank.Scale{Unrelated: 0.21, Alike: 0.775}, 0.7}, // in Japanese, beside words
		{usual, 1, false, true, usual, 1},
		{full, 0, false, true, full, 0},
	} {
		got, known := rank.Told(c.scale, c.known, c.strange, c.kana)
		off := math.Abs(got.Unrelated-c.want.Unrelated) + math.Abs(got.Alike-c.want.Alike)
		if off > 1e-9 || known != c.wantKnown || !got.Fits() {
			t.Errorf("%+v: %+v, known %v", c, got, known)
		}
	}
}
