package bench

import (
	"cmp"
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
	Conv string `json:"conv"` // the memory it is put to; "": each
	Half string `json:"half"` // as of [Question]
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

// InjectionOptions say what [Injection] asks.
type InjectionOptions struct {
	RetrievalOptions

	Half  string    // of the questions and prompts; "": all
	Apart bool      // what each memory shows is counted, too
	Mode  loci.Mode // of the searches; "": hybrid
}

// asks reports whether something of a half is asked.
func (o *InjectionOptions) asks(half string) bool { return o.Half == "" || o.Half == half }

// An InjectionReport says what a memory shows unasked, and how far its scores are
// chances.
type InjectionReport struct {
	Version    int        `json:"version"` // of this form: 1
	Embedder   string     `json:"embedder"`
	Mode       loci.Mode  `json:"mode"`       // of the searches
	Limit      int        `json:"limit"`      // results of a search
	Answerable int        `json:"answerable"` // questions whose evidence is stored
	Unrelated  int        `json:"unrelated"`  // prompts that nothing answers, times the memories they were put to
	Floors     []Floor    `json:"floors"`
	Bins       []ScoreBin `json:"reliability"`
	Error      float64    `json:"calibration_error"` // mean difference of score and share, weighed by results

	Conv  string             `json:"conv,omitempty"`  // whose memory it is about alone
	Apart []*InjectionReport `json:"apart,omitempty"` // of each memory, in the order of the data
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
// in [Retrieval]; the first of o.Systems and of o.Contexts counts. Of o.Half, only what is of it is
// asked and put.
func Injection(ctx context.Context, o InjectionOptions, prompts []Prompt, limit int) (*InjectionReport, error) {
	datasets, err := o.prepare()
	if err != nil {
		return nil, err
	}
	r := &run{System: o.Systems[0], Context: o.Contexts[0], Captions: o.Captions, engine: o.Engine}
	prompts = slices.DeleteFunc(slices.Clone(prompts), func(p Prompt) bool { return !o.asks(p.Half) })
	var all, apart []*put
	for _, d := range datasets {
		err := o.within(ctx, d, r, func(in *ingested, _ string) (err error) {
			o.progress("%s: asking %d questions and %d prompts", d.Name, len(d.Questions), len(prompts))
			all, err = in.putAll(ctx, d, &o, prompts, limit)
			return err
		})
		if err != nil {
			return nil, err
		}
		apart = append(apart, all...)
	}
	whole := &put{}
	for _, p := range apart {
		whole.answered, whole.disturbed = append(whole.answered, p.answered...), append(whole.disturbed, p.disturbed...)
	}
	if len(whole.answered)+len(whole.disturbed) == 0 {
		return nil, loci.Errorf(loci.Invalid, "half is %q; no question and no prompt is of it", o.Half)
	}
	report := whole.report(r.Name, &o, limit)
	for _, p := range apart {
		if o.Apart && len(p.answered) > 0 {
			report.Apart = append(report.Apart, p.report(r.Name, &o, limit))
		}
	}
	return report, nil
}

// put is what a memory shows.
type put struct {
	conv                string
	answered, disturbed [][]shown
}

// putAll puts questions and prompts to the memories of a dataset.
func (in *ingested) putAll(
	ctx context.Context, d *Dataset, o *InjectionOptions, prompts []Prompt, limit int,
) ([]*put, error) {
	find, err := in.scored(d, o.Mode, limit)
	if err != nil {
		return nil, err
	}
	var all []*put
	of := map[string]*put{}
	for i := range d.Turns {
		if conv := d.Turns[i].Conv; of[conv] == nil {
			of[conv] = &put{conv: conv}
			all = append(all, of[conv])
		}
	}
	for i := range d.Questions {
		q := &d.Questions[i]
		if !q.counts() || !o.asks(q.Half) {
			continue
		}
		results, err := find(ctx, q.Conv, q.Text, q.Evidence)
		if err != nil {
			return nil, err
		}
		of[q.Conv].answered = append(of[q.Conv].answered, results)
	}
	for _, p := range all {
		for _, prompt := range prompts {
			if prompt.Conv != "" && prompt.Conv != p.conv {
				continue
			}
			results, err := find(ctx, p.conv, prompt.Text, nil)
			if err != nil {
				return nil, err
			}
			p.disturbed = append(p.disturbed, results)
		}
	}
	return all, nil
}

// report counts what each floor keeps.
func (p *put) report(embedder string, o *InjectionOptions, limit int) *InjectionReport {
	r := &InjectionReport{Version: 1, Embedder: embedder, Mode: cmp.Or(o.Mode, loci.Hybrid), Limit: limit, Conv: p.conv,
		Answerable: len(p.answered), Unrelated: len(p.disturbed)}
	for _, least := range Floors {
		r.Floors = append(r.Floors, floorOf(least, p.answered, p.disturbed, max(0, o.Resamples)))
	}
	r.Bins, r.Error = reliability(p.answered)
	return r
}

// scored searches with scores.
func (in *ingested) scored(
	d *Dataset, mode loci.Mode, limit int,
) (func(ctx context.Context, conv, text string, evidence []string) ([]shown, error), error) {
	memories, err := in.memories(d)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, conv, text string, evidence []string) ([]shown, error) {
		found, err := memories[conv].Search(ctx, loci.Query{Text: text, Limit: limit, Mode: mode})
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

// mostApart is the greatest of the [Floors] that a row of one memory shows.
const mostApart = 0.08

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
	p.line("embedder %s, %s, limit %d: %d answerable questions, %d times an unrelated prompt\n",
		r.Embedder, r.Mode, r.Limit, r.Answerable, r.Unrelated)
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
	if len(r.Apart) > 0 {
		p.line("\nserved, disturbed at a score of")
		r.printApart(p)
	}
	return p.err
}

// printApart writes a row for each memory.
func (r *InjectionReport) printApart(p *printer) {
	rows := [][]string{{"memory"}}
	for _, part := range r.Apart {
		row := []string{part.Conv}
		for _, f := range part.Floors {
			if f.Score > mostApart {
				continue
			}
			if len(rows) == 1 {
				rows[0] = append(rows[0], fmt.Sprintf("%.2f", f.Score))
			}
			row = append(row, plain(f.Served)+" "+plain(f.Disturbed))
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f", part.Error)))
	}
	rows[0] = append(rows[0], "calibration error")
	p.table(rows)
}
