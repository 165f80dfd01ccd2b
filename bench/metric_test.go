package bench

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func near(a, b float64) bool { return math.Abs(a-b) < 5e-5 }

// TestScoreWorkedByHand compares with values worked out on paper; discounts are
// 1/log2(rank+1): 1, 0.63093, 0.5, 0.43068, 0.38685 for the ranks 1 to 5.
func TestScoreWorkedByHand(t *testing.T) {
	numbered := func(n int) (ids []string) {
		for i := range n {
			ids = append(ids, fmt.Sprint(i+1))
		}
		return ids
	}
	for _, c := range []struct {
		name              string
		ranking, evidence []string
		want              scores // recall at 1, 5, 10, 20, nDCG, hit, MRR
	}{
		{"only hit, first", numbered(20), []string{"1"}, scores{1, 1, 1, 1, 1, 1, 1}},
		{"only hit, third", numbered(20), []string{"3"}, scores{0, 1, 1, 1, 0.5, 1, 1.0 / 3}},
		// (0.63093 + 0.38685) / (1 + 0.63093)
		{"two hits, second and fifth", numbered(6), []string{"5", "2"}, scores{0, 1, 1, 1, 0.62405, 1, 0.5}},
		// 1 / (1 + 0.63093 + 0.5)
		{"one of three", numbered(4), []string{"1", "x", "y"}, scores{1.0 / 3, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0.46928, 1, 1}},
		{"eleventh and twentieth", numbered(20), []string{"11", "20"}, scores{0, 0, 0, 1, 0, 0, 1.0 / 11}},
		{"beyond the depth", numbered(25), []string{"21"}, scores{}},
		{"more evidence than the cut", numbered(12), numbered(12), scores{1.0 / 12, 5.0 / 12, 10.0 / 12, 1, 1, 1, 1}},
		{"nothing found", nil, []string{"1"}, scores{}},
	} {
		got := score(c.ranking, c.evidence)
		for m, name := range Metrics {
			if !near(got[m], c.want[m]) {
				t.Errorf("%s: %s is %.5f, want %.5f", c.name, name, got[m], c.want[m])
			}
		}
	}
}

// TestSessionsAndAnswers compares with values worked out on paper.
func TestSessionsAndAnswers(t *testing.T) {
	for _, c := range []struct {
		found, evidence string
		want            float64
	}{
		{"a a b", "b", 1}, {"a b c d e f", "f", 0}, {"a a a b b c c d e", "e", 1}, {"", "a", 0}, {"a", "b c", 0}, {"x c", "b c", 1},
	} {
		if got := sessionHit(strings.Fields(c.found), strings.Fields(c.evidence)); got != c.want {
			t.Errorf("%q for %q: %v, want %v", c.found, c.evidence, got, c.want)
		}
	}
	for _, c := range []struct {
		answer string
		texts  []string
		want   float64
	}{
		{"the blue pot", []string{"It lies under a pot.", "Blue!"}, 1}, {"9 April, 9 April", []string{"on 2 April"}, 0.5},
		{"yes", nil, 0}, {"to be", []string{"to whom?"}, 0.5}, // nothing but stop words
	} {
		if got := coverage(c.answer, c.texts); !near(got, c.want) {
			t.Errorf("%q in %q: %v, want %v", c.answer, c.texts, got, c.want)
		}
	}
	if got := coverage(" – ", []string{"x"}); !math.IsNaN(got) {
		t.Errorf("no answer: %v", got)
	}
	rows := make([]scores, 4)
	for i := range rows {
		rows[i][8] = math.NaN()
	}
	if _, ok := estimate(rows, 100)[metricAnswer]; ok {
		t.Error("a figure that no question has is there")
	}
	rows[2][8] = 0.5
	if e := estimate(rows, 0)[metricAnswer]; e != (Estimate{0.5, 0.5, 0.5}) {
		t.Errorf("one question has it: %+v", e)
	}
}

func TestScoreProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := strings.Split("abcdefghijklmnopqrstuvwxyz", "")
		ranking := rapid.Permutation(pool).Draw(t, "ranking")[:rapid.IntRange(0, 26).Draw(t, "hits")]
		evidence := rapid.Permutation(pool).Draw(t, "evidence")[:rapid.IntRange(1, 26).Draw(t, "n")]
		s := score(ranking, evidence)
		for m, v := range s {
			if v < 0 || v > 1+1e-12 {
				t.Fatalf("%s is %v", Metrics[m], v)
			}
		}
		if !slices.IsSorted(s[:4]) {
			t.Fatalf("recall falls with k: %v", s[:4])
		}
		if best := score(evidence, evidence); !near(best[4], 1) || best[6] != 1 {
			t.Fatalf("a perfect ranking has nDCG %v and MRR %v", best[4], best[6])
		}
		if len(ranking) < 2 {
			return
		}
		i := rapid.IntRange(1, len(ranking)-1).Draw(t, "i")
		if slices.Contains(evidence, ranking[i]) {
			better := slices.Clone(ranking)
			better[i-1], better[i] = better[i], better[i-1]
			for m, v := range score(better, evidence) {
				if v < s[m]-1e-12 {
					t.Fatalf("%s falls from %v to %v when evidence moves up", Metrics[m], s[m], v)
				}
			}
		}
	})
}

func TestEstimate(t *testing.T) {
	constant := []scores{{0.25}, {0.25}, {0.25}}
	if e := estimate(constant, 500)["recall@1"]; !near(e.Value, 0.25) || !near(e.Low, 0.25) || !near(e.High, 0.25) {
		t.Errorf("of a constant: %+v", e)
	}
	// 120 of 400 are 1: the normal approximation is 0.3 ± 1.96·sqrt(0.3·0.7/400) = 0.3 ± 0.0449.
	coins := make([]scores, 400)
	for i := range 120 {
		coins[i] = scores{1}
	}
	e := estimate(coins, 4000)["recall@1"]
	if !near(e.Value, 0.3) || math.Abs(e.Low-0.2551) > 0.005 || math.Abs(e.High-0.3449) > 0.005 {
		t.Errorf("of 120 in 400: %+v", e)
	}
	if again := estimate(coins, 4000)["recall@1"]; again != e {
		t.Errorf("the same scores give %+v and %+v", e, again)
	}
	if e := estimate(coins, -1)["recall@1"]; e.Low != e.Value || e.High != e.Value {
		t.Errorf("without resamples: %+v", e)
	}
	if e := estimate(nil, 10)["mrr"]; e != (Estimate{}) {
		t.Errorf("of nothing: %+v", e)
	}
	// The same shift of every question leaves no doubt, however much questions differ.
	shifted := make([]scores, len(coins))
	for i := range coins {
		shifted[i][0] = coins[i][0] + 0.125
	}
	if e := estimate(minus(shifted, coins), 500)["recall@1"]; !near(e.Low, 0.125) || !near(e.High, 0.125) {
		t.Errorf("paired difference: %+v", e)
	}
}

func TestQuantile(t *testing.T) {
	sorted := []float64{10, 20, 30, 40}
	for q, want := range map[float64]float64{0: 10, 0.5: 25, 0.95: 38.5, 1: 40} {
		if got := quantile(sorted, q); !near(got, want) {
			t.Errorf("%v: %v, want %v", q, got, want)
		}
	}
	if got := quantile([]float64{7}, 0.95); got != 7 {
		t.Errorf("of one: %v", got)
	}
}
