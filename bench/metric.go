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
//	session@5 1 if any of the first 5 different sessions of the hits holds evidence
//	answer@10 the share of the answer's words, stop words aside, in the first 10 texts; only
//	          of questions with an answer in words
var Metrics = []string{"recall@1", "recall@5", "recall@10", "recall@20", "ndcg@10", "hit@10", "mrr", metricSession, metricAnswer}

const (
	metricSession = "session@5"
	metricAnswer  = "answer@10"
)

// scores are the values of Metrics, in their order; NaN: the question has no such figure.
type scores [9]float64

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
	s = scores{found[1] / n, found[5] / n, found[10] / n, found[20] / n, gain / best, min(1, found[10])}
	if first > 0 {
		s[6] = 1 / float64(first)
	}
	return s
}

// sessionHit is the value of session@5. found are the sessions of hits, the best first.
func sessionHit(found, evidence []string) float64 {
	const most = 5
	var seen []string
	for _, session := range found {
		if slices.Contains(seen, session) {
			continue
		}
		if seen = append(seen, session); len(seen) > most {
			break
		}
		if slices.Contains(evidence, session) {
			return 1
		}
	}
	return 0
}

// coverage is the value of answer@10.
func coverage(answer string, texts []string) float64 {
	words := queryWords(answer)
	if len(words) == 0 {
		return math.NaN()
	}
	slices.Sort(words)
	words = slices.Compact(words)
	said := map[string]bool{}
	for _, text := range texts {
		for _, word := range allWords(text) {
			said[word] = true
		}
	}
	covered := 0
	for _, word := range words {
		if said[word] {
			covered++
		}
	}
	return float64(covered) / float64(len(words))
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
// interval is the mean itself. Without a question everything is zero. A metric that no
// question has is left out.
func estimate(rows []scores, resamples int) map[string]Estimate {
	out := make(map[string]Estimate, len(Metrics))
	if len(rows) == 0 {
		resamples = 0
	}
	means := make([][]float64, len(Metrics)) // by metric, of each resample
	rng := rand.New(rand.NewPCG(bootstrapSeed, uint64(len(rows))))
	for range resamples {
		var sum, n scores
		for range rows {
			sum.add(&n, rows[rng.IntN(len(rows))])
		}
		for m, v := range sum {
			if n[m] > 0 {
				means[m] = append(means[m], v/n[m])
			}
		}
	}
	for m, name := range Metrics {
		var e Estimate
		n := 0
		for _, row := range rows {
			if !math.IsNaN(row[m]) {
				n++
			}
		}
		if n == 0 && len(rows) > 0 {
			continue
		}
		for _, row := range rows {
			if !math.IsNaN(row[m]) {
				e.Value += row[m] / float64(n)
			}
		}
		e.Low, e.High = e.Value, e.Value
		if len(means[m]) > 0 {
			slices.Sort(means[m])
			e.Low, e.High = quantile(means[m], 0.025), quantile(means[m], 0.975)
		}
		out[name] = e
	}
	return out
}

// add adds the figures of a question, and counts them in n.
func (s *scores) add(n *scores, row scores) {
	for m, v := range row {
		if !math.IsNaN(v) {
			s[m] += v
			n[m]++
		}
	}
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
