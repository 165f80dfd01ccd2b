package bench

import (
	"math"
	"math/rand/v2"
	"slices"
)

// depth is how many hits a search is asked for: the deepest cut of any metric.
const depth = 20

// Metrics are the names of what is measured for each question, each from 0 to 1:
//
//	recall@k  the share of the evidence among the first k hits
//	ndcg@10   discounted gain of the first 10 hits, a hit on evidence gaining 1, over
//	          that of the best possible order (Järvelin and Kekäläinen 2002)
//	hit@10    1 if any of the first 10 hits is evidence
//	mrr       1/rank of the first hit on evidence, 0 beyond rank 20
var Metrics = []string{"recall@1", "recall@5", "recall@10", "recall@20", "ndcg@10", "hit@10", "mrr"}

// scores are the values of Metrics, in their order.
type scores [7]float64

// score judges a ranking. evidence has no duplicates and at least one entry.
func score(ranking, evidence []string) (s scores) {
	var found [depth + 1]float64 // hits on evidence up to a rank
	gain, best, first := 0.0, 0.0, 0
	for i := range depth {
		found[i+1] = found[i]
		if i < min(10, len(evidence)) {
			best += 1 / math.Log2(float64(i+2))
		}
		if i >= len(ranking) || !slices.Contains(evidence, ranking[i]) {
			continue
		}
		found[i+1]++
		if i < 10 {
			gain += 1 / math.Log2(float64(i+2))
		}
		if first == 0 {
			first = i + 1
		}
	}
	n := float64(len(evidence))
	s = scores{found[1] / n, found[5] / n, found[10] / n, found[20] / n, gain / best, min(1, found[10]), 0}
	if first > 0 {
		s[6] = 1 / float64(first)
	}
	return s
}

// An Estimate is a mean over questions with its 95 % confidence interval.
type Estimate struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Resamples is how often the bootstrap draws, and bootstrapSeed what it draws
// with: the same scores give the same interval.
const (
	Resamples     = 10_000
	bootstrapSeed = 1
)

// estimate returns mean and percentile bootstrap interval of each metric (Efron 1979):
// questions are drawn with replacement, as many as there are. Without resamples the
// interval is the mean itself. Without a question everything is zero.
func estimate(rows []scores, resamples int) map[string]Estimate {
	out := make(map[string]Estimate, len(Metrics))
	if len(rows) == 0 {
		resamples = 0
	}
	means := make([][]float64, len(Metrics)) // by metric, of each resample
	rng := rand.New(rand.NewPCG(bootstrapSeed, uint64(len(rows))))
	for range resamples {
		var sum scores
		for range rows {
			for m, v := range rows[rng.IntN(len(rows))] {
				sum[m] += v
			}
		}
		for m, v := range sum {
			means[m] = append(means[m], v/float64(len(rows)))
		}
	}
	for m, name := range Metrics {
		var e Estimate
		for _, row := range rows {
			e.Value += row[m] / float64(len(rows))
		}
		e.Low, e.High = e.Value, e.Value
		if resamples > 0 {
			slices.Sort(means[m])
			e.Low, e.High = quantile(means[m], 0.025), quantile(means[m], 0.975)
		}
		out[name] = e
	}
	return out
}

// quantile interpolates between the two nearest of sorted values; there is one at least.
func quantile[T ~int64 | ~float64](sorted []T, q float64) T {
	at := q * float64(len(sorted)-1)
	low := int(at)
	high := min(low+1, len(sorted)-1)
	return sorted[low] + T((at-float64(low))*float64(sorted[high]-sorted[low]))
}

// minus subtracts scores of the same questions, one by one.
func minus(a, b []scores) []scores {
	out := make([]scores, len(a))
	for i := range a {
		for m := range a[i] {
			out[i][m] = a[i][m] - b[i][m]
		}
	}
	return out
}
