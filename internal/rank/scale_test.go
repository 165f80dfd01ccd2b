package rank_test

import (
	"math"
	"testing"

	"github.com/loci-memory/loci/internal/rank"
)

// For a query in a language that an embedder cuts into pieces, what says the same begins where texts
// are alike elsewhere. One that it knows, or that is not in such a language, has the scale as it is.
func TestTold(t *testing.T) {
	usual := rank.Scale{Unrelated: 0.15, Alike: 0.75}
	beyond, full := rank.Scale{Unrelated: 0.75, Alike: 1}, rank.Scale{Unrelated: 0.5, Alike: 1}
	for _, c := range []struct {
		scale     rank.Scale
		known     float64
		strange   bool
		want      rank.Scale
		wantKnown float64
	}{
		{usual, 0, false, usual, 0},
		{usual, 0.4, false, usual, 0.4},
		{usual, 0, true, beyond, 1},
		{usual, 0.25, true, rank.Scale{Unrelated: 0.45, Alike: 0.875}, 1},
		{usual, 0.5, true, rank.Scale{Unrelated: 0.25, Alike: 0.75 + 0.25/6}, 1},
		{usual, 0.8, true, rank.Scale{Unrelated: 0.19, Alike: 0.75 + 0.05/3}, 1}, // what words mean in another language
		{usual, 1, true, usual, 1},
		{full, 0, true, full, 0},
	} {
		got, known := rank.Told(c.scale, c.known, c.strange)
		off := math.Abs(got.Unrelated-c.want.Unrelated) + math.Abs(got.Alike-c.want.Alike)
		if off > 1e-9 || known != c.wantKnown || !got.Fits() {
			t.Errorf("%+v: %+v, known %v", c, got, known)
		}
	}
}
