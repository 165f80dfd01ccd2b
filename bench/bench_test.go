package bench

import (
	"context"
	"testing"
	"time"
)

// TestRunMeasuresEveryFigure runs the whole measurement in small, so that it
// cannot rot: every row has a time on both sides.
func TestRunMeasuresEveryFigure(t *testing.T) {
	rows := 0
	err := Run(context.Background(), Options{Sizes: []int{200}, Time: 20 * time.Millisecond, Dir: t.TempDir()}, func(r Row) {
		rows++
		if r.Loci <= 0 || r.Baseline <= 0 || r.Ratio <= 0 {
			t.Errorf("%s: loci %v, baseline %v, ratio %v", r.Name, r.Loci, r.Baseline, r.Ratio)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := 4 + 3; rows != want {
		t.Errorf("%d figures, want %d", rows, want)
	}
}
