package bench

import (
	"context"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/locitest"
)

// TestRunMeasuresEveryFigure runs the whole measurement in small, so that it
// cannot rot: every row has a time on both sides.
func TestRunMeasuresEveryFigure(t *testing.T) {
	rows := 0
	err := Run(context.Background(), Options{Sizes: []int{200}, Time: 20 * time.Millisecond,
		Dir: t.TempDir()}, func(r Row) {
		rows++
		if r.Loci <= 0 || r.Baseline <= 0 || r.Ratio <= 0 {
			t.Errorf("%s: loci %v, baseline %v, ratio %v", r.Name, r.Loci, r.Baseline, r.Ratio)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := 4 + 4; rows != want {
		t.Errorf("%d figures, want %d", rows, want)
	}
}

// TestGrowthMeasuresEveryCall runs the other measurement in small: every call works, and
// has used something.
func TestGrowthMeasuresEveryCall(t *testing.T) {
	locitest.Unshared(t)
	rows := map[string]int{}
	opts := GrowthOptions{Sizes: []int{40, 80}, Time: time.Millisecond, Dir: t.TempDir()}
	err := RunGrowth(t.Context(), opts, func(g Growth) {
		rows[g.Name]++
		if g.Allocs <= 0 || g.Bytes <= 0 || g.Size == 0 {
			t.Errorf("%+v", g)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"list, first page", "stats", "delete of a note", "first search after start", "move a directory of as many files",
		"append to a full session",
	} {
		if rows[name] != 2 {
			t.Errorf("%q was measured %d times, want 2: there are %v", name, rows[name], rows)
		}
	}
}
