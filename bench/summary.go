package bench

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

func (d *Dataset) report() DatasetReport {
	r := DatasetReport{
		Name:          d.Name,
		Conversations: len(d.conversations()),
		Turns:         len(d.Turns),
		Questions:     len(d.Questions),
		Files:         d.Files,
		Unresolved:    d.Unresolved,
	}
	for i := range d.Questions {
		switch q := &d.Questions[i]; {
		case q.counts():
			r.Counted++
		case q.Category == adversarial && len(q.Evidence) > 0:
			r.Adversarial++
		default:
			r.LeftOut++
		}
	}
	return r
}

// pool puts the results of one run over several datasets together.
func pool(results []*result) *result {
	all := &result{run: results[0].run, data: AllData, modes: results[0].modes,
		samples: map[string][]sample{}, about: map[string]about{}}
	for _, r := range results {
		all.memories += r.memories
		all.stored += r.stored
		all.embeds += r.embeds
		for mode, samples := range r.samples {
			all.samples[mode] = append(all.samples[mode], samples...)
			a := r.about[mode]
			a.Stored += all.about[mode].Stored
			all.about[mode] = a
		}
	}
	return all
}

func (r *result) report(resamples int) RunReport {
	out := RunReport{Data: r.data, Embedder: r.run.Name, Context: r.run.Context, Captions: r.run.Captions,
		Memories: r.memories, StoreTime: r.stored, EmbedTime: r.embeds,
		StoredPerSec: float64(r.memories) / max(r.stored+r.embeds, 1).Seconds(), Differences: []Difference{}}
	if e := r.run.Embedder; e != nil {
		out.Model, out.Dims = e.Model(), e.Dims()
	}
	for _, mode := range r.modes {
		out.Modes = append(out.Modes, r.mode(mode, resamples))
	}
	pairs := [][2]string{
		{ModeHybrid, ModeKeyword}, {ModeHybrid, ModeVector}, {ModeKeyword, ModeFTS5}, {ModeHybrid, ModeFTS5},
	}
	for _, mode := range r.modes {
		if r.about[mode].System != "" {
			pairs = append(pairs, [2]string{ModeHybrid, mode})
		}
	}
	for _, pair := range pairs {
		if slices.Contains(r.modes, pair[0]) && slices.Contains(r.modes, pair[1]) {
			out.Differences = append(out.Differences, difference(pair[0], r, pair[0], pair[1], r, pair[1], resamples))
		}
	}
	return out
}

// mode sums up one mode of a run. Times and tokens are of the questions that count.
func (r *result) mode(mode string, resamples int) ModeReport {
	out := ModeReport{Mode: mode, about: r.about[mode],
		Groups: []GroupReport{group(Overall, r.counted(mode), resamples)}}
	by := map[string][]scores{}
	var times []time.Duration
	for _, s := range r.samples[mode] {
		by[s.question.Category] = append(by[s.question.Category], s.scores)
		if s.question.counts() {
			times = append(times, s.took)
			out.Tokens += float64(s.tokens)
		}
	}
	for _, category := range slices.Sorted(maps.Keys(by)) {
		out.Groups = append(out.Groups, group(category, by[category], resamples))
	}
	slices.Sort(times)
	out.P50, out.P95 = quantile(times, 0.5), quantile(times, 0.95)
	out.Tokens /= float64(len(times))
	return out
}

func group(name string, rows []scores, resamples int) GroupReport {
	return GroupReport{Group: name, N: len(rows), Metrics: estimate(rows, resamples)}
}

// counted are the scores of the questions that enter the main figures.
func (r *result) counted(mode string) (rows []scores) {
	for _, s := range r.samples[mode] {
		if s.question.counts() {
			rows = append(rows, s.scores)
		}
	}
	return rows
}

// difference compares two modes of one or two results over the same questions.
func difference(a string, ra *result, modeA, b string, rb *result, modeB string, resamples int) Difference {
	rows := minus(ra.counted(modeA), rb.counted(modeB))
	return Difference{A: a, B: b, Data: ra.data, N: len(rows), Metrics: estimate(rows, resamples)}
}

// across compares each mode of a later run with the same mode of the first.
func across(first, later *result, resamples int) (out []Difference) {
	for _, mode := range []string{ModeVector, ModeHybrid, ModeKeyword} {
		switch {
		case !slices.Contains(first.modes, mode) || !slices.Contains(later.modes, mode):
		case mode == ModeKeyword && first.run.Context == later.run.Context: // knows no embedder
		default:
			a, b := mode+" "+later.run.label(), mode+" "+first.run.label()
			out = append(out, difference(a, later, mode, b, first, mode, resamples))
		}
	}
	return out
}

// label tells runs apart.
func (r *run) label() string { return r.Name + "/" + r.Context }

// eachLine is what one search for one question brought, for who wants to look.
type eachLine struct {
	Data     string              `json:"data"`
	Embedder string              `json:"embedder"`
	Context  string              `json:"context"`
	Mode     string              `json:"mode"`
	Conv     string              `json:"conv"`
	Question string              `json:"qid"`
	Category string              `json:"category"`
	Text     string              `json:"question"`
	Evidence []string            `json:"evidence"`
	Found    []string            `json:"found"` // turns, the best first
	Metrics  map[string]*float64 `json:"metrics"`
	Tokens   int                 `json:"tokens_at_10"`
	Took     time.Duration       `json:"ns"`
}

// writeEach writes a line for each question and mode.
func (o *RetrievalOptions) writeEach(results []*result) error {
	if o.Each == nil {
		return nil
	}
	out := json.NewEncoder(o.Each)
	out.SetEscapeHTML(false)
	for _, r := range results {
		for _, mode := range r.modes {
			for _, s := range r.samples[mode] {
				q := s.question
				line := eachLine{r.data, r.run.Name, r.run.Context, mode, q.Conv, q.ID, q.Category, q.Text, q.Evidence,
					s.found, map[string]*float64{}, s.tokens, s.took}
				for m, name := range Metrics {
					if v := s.scores[m]; !math.IsNaN(v) {
						line.Metrics[name] = &v
					}
				}
				if err := out.Encode(line); err != nil {
					return &loci.Error{Code: loci.Unavailable, Op: "bench", Msg: "the lines of each question cannot be written: " + err.Error(), Err: err}
				}
			}
		}
	}
	return nil
}
