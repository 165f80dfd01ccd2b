package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store"
)

// The modes that are measured. ModeFTS5 is the baseline, not a mode of Loci.
const (
	ModeKeyword = "keyword"
	ModeVector  = "vector"
	ModeHybrid  = "hybrid"
	ModeFTS5    = "fts5"
)

// RetrievalOptions say what [Retrieval] measures.
type RetrievalOptions struct {
	Dirs      []string     // of datasets, see [ReadDataset]; at least one
	Systems   []System     // the embedders to compare; at least one
	Contexts  []string     // of [Contexts]; default ContextNone. Each is measured with each system
	Captions  bool         // store captions of pictures, too
	Baseline  bool         // measure SQLite FTS5 as well
	Typing    bool         // measure questions with a typing error each as well: ModeTyping
	Tools     bool         // save and search with the tools memory_save and memory_search, as an agent does: ModeHybrid alone
	InMemory  bool         // keep memories in the process instead of a file
	Dir       string       // where the files go; default a temporary directory. Nothing is left behind
	Resamples int          // of the bootstrap; default [Resamples], negative: no intervals
	Engine    loci.Options // as memories are kept and searched; Embedder, and when storing Now, are set here

	Progress func(what string) // called before each step; may be nil
}

// A System is an embedder under the name the operator gave it; nil is no embedder.
type System struct {
	Name     string
	Embedder loci.Embedder
}

// A RetrievalReport is what [Retrieval] found.
type RetrievalReport struct {
	Version   int             `json:"version"` // of this form: 1
	Resamples int             `json:"resamples"`
	Datasets  []DatasetReport `json:"datasets"`
	Runs      []RunReport     `json:"runs"`
	// Differences compare later runs with the first one, question by question.
	Differences []Difference `json:"differences,omitempty"`
}

// A DatasetReport says what was measured on.
type DatasetReport struct {
	Name          string `json:"name"`
	Conversations int    `json:"conversations"`
	Turns         int    `json:"turns"`
	Questions     int    `json:"questions"`
	Counted       int    `json:"counted"`     // enter the main figures
	Adversarial   int    `json:"adversarial"` // shown apart
	LeftOut       int    `json:"left_out"`    // without evidence, or to abstain from
}

// A RunReport is one embedder and one context over one dataset, or over all of
// them together.
type RunReport struct {
	Data     string `json:"data"` // the name of a dataset, or [AllData]
	Embedder string `json:"embedder"`
	Model    string `json:"model,omitempty"`
	Dims     int    `json:"dims,omitempty"`
	Context  string `json:"context"`
	Captions bool   `json:"captions"`

	Memories     int           `json:"memories"`
	StoreTime    time.Duration `json:"store_ns"`            // of all memories
	EmbedTime    time.Duration `json:"embed_ns"`            // of all memories, in batches
	StoredPerSec float64       `json:"memories_per_second"` // both together

	Modes       []ModeReport `json:"modes"`
	Differences []Difference `json:"differences"` // between the modes
}

// AllData is the name of all datasets together: every question weighs the same.
const AllData = "all"

// A ModeReport is one mode in a run.
type ModeReport struct {
	Mode   string        `json:"mode"`
	Groups []GroupReport `json:"groups"` // [Overall] first, then the categories by name
	P50    time.Duration `json:"p50_ns"` // of one search, embedding the query included
	P95    time.Duration `json:"p95_ns"`
	Tokens float64       `json:"tokens_at_10"` // o200k_base, of the texts of the first 10 hits; mean over questions
}

// Overall is the group of all questions that count: with evidence, not to abstain
// from, not of the category adversarial.
const Overall = "overall"

// A GroupReport holds the metrics of some questions.
type GroupReport struct {
	Group   string              `json:"group"`
	N       int                 `json:"n"`
	Metrics map[string]Estimate `json:"metrics"` // by name, see [Metrics]
}

// A Difference is the mean of A − B over the questions that count, with the
// interval of the paired differences.
type Difference struct {
	A       string              `json:"a"`
	B       string              `json:"b"`
	Data    string              `json:"data"`
	N       int                 `json:"n"`
	Metrics map[string]Estimate `json:"metrics"`
}

// run is one embedder and one context.
type run struct {
	System
	Context  string
	Captions bool
	engine   loci.Options
}

// result is one run over one dataset, or over all.
type result struct {
	run      *run
	data     string
	memories int
	stored   time.Duration
	embeds   time.Duration
	modes    []string
	samples  map[string][]sample // by mode; the same questions in the same order
}

// Retrieval measures how well searches find the evidence of questions.
//
// Each conversation is a user's own memory and each turn one memory of it. Every
// question is searched for in every mode with a limit of 20, through the public
// API, in a store that exists for this alone.
func Retrieval(ctx context.Context, opts RetrievalOptions) (report *RetrievalReport, err error) {
	datasets, err := opts.prepare()
	if err != nil {
		return nil, err
	}
	report = &RetrievalReport{Version: 1, Resamples: max(0, opts.Resamples)}
	for _, d := range datasets {
		report.Datasets = append(report.Datasets, d.report())
	}
	tokens := newTokenCounter()
	var first []*result
	for _, system := range opts.Systems {
		for _, heading := range opts.Contexts {
			r := &run{System: system, Context: heading, Captions: opts.Captions, engine: opts.Engine}
			results, err := opts.measure(ctx, datasets, r, tokens)
			if err != nil {
				return nil, err
			}
			opts.progress("bootstrap")
			for i, result := range results {
				report.Runs = append(report.Runs, result.report(report.Resamples))
				if first != nil {
					report.Differences = append(report.Differences, across(first[i], result, report.Resamples)...)
				}
			}
			if first == nil {
				first = results
			}
		}
	}
	return report, nil
}

// prepare fills in defaults and reads the datasets.
func (o *RetrievalOptions) prepare() (datasets []*Dataset, err error) {
	if len(o.Contexts) == 0 {
		o.Contexts = []string{ContextNone}
	}
	if o.Resamples == 0 {
		o.Resamples = Resamples
	}
	switch {
	case len(o.Dirs) == 0:
		return nil, loci.Errorf(loci.Invalid, "no dataset is named: give at least one directory")
	case o.Tools && (o.Baseline || o.Typing):
		return nil, loci.Errorf(loci.Invalid, "by tools there is one search a question: leave out the baseline and the typing errors")
	case len(o.Systems) == 0:
		return nil, loci.Errorf(loci.Invalid, "no embedder is named: give at least one, or none")
	}
	for _, c := range o.Contexts {
		if !slices.Contains(Contexts, c) {
			return nil, loci.Errorf(loci.Invalid, "context is %q; it must be one of %v", c, Contexts)
		}
	}
	names := map[string]int{}
	for _, dir := range o.Dirs {
		d, err := ReadDataset(dir)
		if err != nil {
			return nil, err
		}
		if names[d.Name]++; names[d.Name] > 1 || d.Name == AllData {
			d.Name = fmt.Sprintf("%s#%d", d.Name, names[d.Name])
		}
		datasets = append(datasets, d)
	}
	return datasets, nil
}

func (o *RetrievalOptions) progress(format string, args ...any) {
	if o.Progress != nil {
		o.Progress(fmt.Sprintf(format, args...))
	}
}

// measure is one run over every dataset; of several also over all together.
func (o *RetrievalOptions) measure(
	ctx context.Context, datasets []*Dataset, r *run, tokens *tokenCounter,
) (results []*result, err error) {
	for _, d := range datasets {
		result, err := o.measureOne(ctx, d, r, tokens)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	if len(results) > 1 {
		results = append(results, pool(results))
	}
	return results, nil
}

// measureOne is one run over one dataset.
func (o *RetrievalOptions) measureOne(
	ctx context.Context, d *Dataset, r *run, tokens *tokenCounter,
) (out *result, err error) {
	if o.Tools {
		err = o.stored(ctx, d, r, func(s loci.Store, _ string) (err error) {
			out, err = o.throughTools(ctx, s, d, r, tokens)
			return err
		})
		return out, err
	}
	err = o.within(ctx, d, r, func(in *ingested, dir string) (err error) {
		finders, err := in.finders(d)
		if err != nil {
			return err
		}
		modes := []string{ModeKeyword, ModeHybrid}
		if r.Embedder != nil {
			modes = []string{ModeKeyword, ModeVector, ModeHybrid}
		}
		if o.Typing {
			modes, finders[ModeTyping] = append(modes, ModeTyping), mistyping(finders[ModeHybrid])
		}
		if o.Baseline {
			b, failed := openBaseline(ctx, dir, d, r)
			if failed != nil {
				return &loci.Error{Code: loci.Internal, Op: "bench baseline", Err: failed}
			}
			defer func() { err = errors.Join(err, b.db.Close()) }()
			modes, finders[ModeFTS5] = append(modes, ModeFTS5), b.find
		}
		o.progress("%s, embedder %s, context %s: asking %d questions", d.Name, r.Name, r.Context, len(d.Questions))
		samples, err := ask(ctx, d, modes, finders, tokens)
		out = &result{r, d.Name, len(in.turns), in.stored, in.embeds, modes, samples}
		return err
	})
	return out, err
}

// within stores a dataset in files that go again, and calls use with it.
func (o *RetrievalOptions) within(
	ctx context.Context, d *Dataset, r *run, use func(in *ingested, dir string) error,
) (err error) {
	return o.stored(ctx, d, r, func(s loci.Store, dir string) error {
		in, err := ingest(ctx, s, d, r)
		if err != nil {
			return err
		}
		return use(in, dir)
	})
}

// stored calls use with a store whose files go again.
func (o *RetrievalOptions) stored(
	ctx context.Context, d *Dataset, r *run, use func(s loci.Store, dir string) error,
) (err error) {
	dir, err := os.MkdirTemp(o.Dir, "loci-bench-")
	if err != nil {
		return &loci.Error{Code: loci.Unavailable, Op: "bench", Msg: "no directory can be made for the files: " + err.Error(), Err: err}
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	url := "sqlite:" + filepath.Join(dir, "loci.db")
	if o.InMemory {
		url = "memory:"
	}
	s, err := store.Open(ctx, url, &store.Options{Logger: o.Engine.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	o.progress("%s, embedder %s, context %s: storing %d memories", d.Name, r.Name, r.Context, len(d.Turns))
	return use(s, dir)
}
