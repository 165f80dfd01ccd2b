package bench

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/loci-memory/loci"
)

// A Prompt is what somebody says to an agent.
type Prompt struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Lang string `json:"lang"`
	Text string `json:"prompt"`
}

// ReadPrompts reads prompts.jsonl of a directory.
func ReadPrompts(dir string) ([]Prompt, error) {
	return readObjects(filepath.Join(dir, "prompts.jsonl"), func(p *Prompt) error {
		if p.Text == "" {
			return fmt.Errorf("prompt %q is empty", p.ID)
		}
		return nil
	})
}

// Floors are the least scores that [Injection] looks at.
var Floors = []float64{0, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5}

// An InjectionReport says what a memory shows unasked, and how far its scores are
// chances.
type InjectionReport struct {
	Version    int        `json:"version"` // of this form: 1
	Embedder   string     `json:"embedder"`
	Limit      int        `json:"limit"`      // results of a search
	Answerable int        `json:"answerable"` // questions whose evidence is stored
	Unrelated  int        `json:"unrelated"`  // prompts that nothing answers, times the memories they were put to
	Floors     []Floor    `json:"floors"`
	Bins       []ScoreBin `json:"reliability"`
	Error      float64    `json:"calibration_error"` // mean difference of score and share, weighed by results
}

// A Floor is what a least score keeps.
type Floor struct {
	Score     float64  `json:"min_score"`
	Served    Estimate `json:"served"`    // share of answerable questions that get evidence
	Disturbed Estimate `json:"disturbed"` // share of unrelated prompts that get anything
	Shown     float64  `json:"shown"`     // results of an answerable question, on average
}

// A ScoreBin is a row of a reliability diagram: results with scores of a range.
type ScoreBin struct {
	From     float64 `json:"from"`
	To       float64 `json:"to"`
	N        int     `json:"n"`
	Score    float64 `json:"score"`    // their mean
	Evidence float64 `json:"evidence"` // the share that is evidence
}

// shown is a result of a search.
type shown struct {
	score    float64
	evidence bool
}

// Injection puts questions to the memories that answer them, and prompts that nothing
// answers to each of the same memories. Every conversation is the memory of a user, as
// in [Retrieval]; the first of o.Systems and of o.Contexts counts.
func Injection(ctx context.Context, o RetrievalOptions, prompts []Prompt, limit int) (*InjectionReport, error) {
	datasets, err := o.prepare()
	if err != nil {
		return nil, err
	}
	r := &run{System: o.Systems[0], Context: o.Contexts[0], Captions: o.Captions, engine: o.Engine}
	var answered, disturbed [][]shown
	for _, d := range datasets {
		err := o.within(ctx, d, r, func(in *ingested, _ string) error {
			find, err := in.scored(d, limit)
			if err != nil {
				return err
			}
			o.progress("%s: asking %d questions and %d prompts", d.Name, len(d.Questions), len(prompts))
			for i := range d.Questions {
				q := &d.Questions[i]
				if !q.counts() {
					continue
				}
				results, err := find(ctx, q.Conv, q.Text, q.Evidence)
				if err != nil {
					return err
				}
				answered = append(answered, results)
			}
			for conv := range d.conversations() {
				for _, p := range prompts {
					results, err := find(ctx, conv, p.Text, nil)
					if err != nil {
						return err
					}
					disturbed = append(disturbed, results)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	report := &InjectionReport{Version: 1, Embedder: r.Name, Limit: limit,
		Answerable: len(answered), Unrelated: len(disturbed)}
	for _, least := range Floors {
		report.Floors = append(report.Floors, floorOf(least, answered, disturbed, max(0, o.Resamples)))
	}
	report.Bins, report.Error = reliability(answered)
	return report, nil
}

// scored searches with scores.
func (in *ingested) scored(
	d *Dataset, limit int,
) (func(ctx context.Context, conv, text string, evidence []string) ([]shown, error), error) {
	memories, err := in.memories(d)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, conv, text string, evidence []string) ([]shown, error) {
		found, err := memories[conv].Search(ctx, loci.Query{Text: text, Limit: limit})
		if err == nil && found.KeywordOnly {
			err = loci.Errorf(loci.Unavailable, "the embedder does not answer, so hybrid search cannot be measured")
		}
		out := make([]shown, len(found.Matches))
		for i := range found.Matches {
			m := &found.Matches[i]
			out[i] = shown{m.Score, slices.Contains(evidence, in.turns[m.Record.ID])}
		}
		return out, err
	}, nil
}

// floorOf counts what a least score keeps.
func floorOf(least float64, answered, disturbed [][]shown, resamples int) Floor {
	f := Floor{Score: least}
	share := func(all [][]shown, keeps func(shown) bool) Estimate {
		rows := make([]scores, len(all))
		for i, results := range all {
			if slices.ContainsFunc(results, func(s shown) bool { return s.score >= least && keeps(s) }) {
				rows[i][0] = 1
			}
		}
		return estimate(rows, resamples)[Metrics[0]]
	}
	f.Served = share(answered, func(s shown) bool { return s.evidence })
	f.Disturbed = share(disturbed, func(shown) bool { return true })
	for _, results := range answered {
		for _, s := range results {
			if s.score >= least {
				f.Shown += 1 / float64(len(answered))
			}
		}
	}
	return f
}

// bounds are where the rows of a reliability diagram begin and end.
var bounds = []float64{0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1}

// reliability compares scores with how often they are right.
func reliability(answered [][]shown) (bins []ScoreBin, calibration float64) {
	total := 0
	for i := range bounds[1:] {
		b := ScoreBin{From: bounds[i], To: bounds[i+1]}
		for _, results := range answered {
			for _, s := range results {
				if s.score < b.From || s.score >= b.To {
					continue
				}
				b.N++
				b.Score += s.score
				if s.evidence {
					b.Evidence++
				}
			}
		}
		total += b.N
		calibration += max(b.Score-b.Evidence, b.Evidence-b.Score)
		if b.N > 0 {
			b.Score, b.Evidence = b.Score/float64(b.N), b.Evidence/float64(b.N)
		}
		bins = append(bins, b)
	}
	return bins, calibration / float64(max(total, 1))
}

// Print writes the report as tables.
func (r *InjectionReport) Print(w io.Writer) error {
	p := &printer{w: w}
	p.line("embedder %s, hybrid, limit %d: %d answerable questions, %d times an unrelated prompt\n",
		r.Embedder, r.Limit, r.Answerable, r.Unrelated)
	rows := [][]string{{"min_score", "served", "95 %", "disturbed", "95 %", "results"}}
	for _, f := range r.Floors {
		rows = append(rows, []string{fmt.Sprintf("%.2f", f.Score), plain(f.Served), interval(f.Served),
			plain(f.Disturbed), interval(f.Disturbed), fmt.Sprintf("%.1f", f.Shown)})
	}
	p.table(rows)
	p.line("")
	rows = [][]string{{"score", "results", "mean score", "evidence"}}
	for _, b := range r.Bins {
		rows = append(rows, []string{fmt.Sprintf("%.2f–%.2f", b.From, b.To), fmt.Sprint(b.N),
			fmt.Sprintf("%.3f", b.Score), fmt.Sprintf("%.3f", b.Evidence)})
	}
	p.table(rows)
	p.line("\ncalibration error %.3f", r.Error)
	return p.err
}
