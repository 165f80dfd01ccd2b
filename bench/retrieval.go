package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
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
	Dirs      []string     // of datasets, see [ReadDataset]
	Official  []Official   // published datasets; they are measured by Tools. One at least, of both
	Units     string       // UnitTurns, the default, or UnitSessions
	Questions int          // ask so many of each dataset, evenly spread; 0: all
	Beside    []Neighbour  // other memories that are asked the same
	Each      io.Writer    // gets a line of JSON for each question and mode; may be nil
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

// What is one memory.
const (
	UnitTurns    = "turns"
	UnitSessions = "sessions" // all that was said in one, with the speakers' names
)

// Units lists the units.
var Units = []string{UnitTurns, UnitSessions}

// An Official is a published dataset; see [ReadOfficial].
type Official struct{ Name, Path string }

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

	Files      []DataFile `json:"files,omitempty"`      // of a published dataset
	Unresolved int        `json:"unresolved,omitempty"` // evidence that no turn has
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
	about
}

// about says what answered in a mode.
type about struct {
	System string        `json:"system,omitempty"`   // of a neighbour
	Stored time.Duration `json:"store_ns,omitempty"` // it took to store all memories; of Loci see [RunReport]
	Kept   string        `json:"kept"`               // where what was saved is when the save is answered
}

// Where memories are when a save is answered.
const (
	keptOnDisk      = "on disk"
	keptInMemory    = "in memory"
	keptTransaction = "on disk, all at once"
)

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
	about    map[string]about    // by mode
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
	o := &opts
	tokens := newTokenCounter()
	var first []*result
	for _, system := range opts.Systems {
		for _, heading := range opts.Contexts {
			r := &run{System: system, Context: heading, Captions: opts.Captions, engine: opts.Engine}
			results, err := opts.measure(ctx, datasets, r, tokens)
			if err != nil {
				return nil, err
			}
			if err := o.writeEach(results[:len(datasets)]); err != nil {
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
	o.Units = cmp.Or(o.Units, UnitTurns)
	o.Tools = o.Tools || len(o.Official) > 0
	switch {
	case len(o.Dirs)+len(o.Official) == 0:
		return nil, loci.Errorf(loci.Invalid, "no dataset is named: give at least one directory or a published dataset")
	case o.Tools && o.Typing:
		return nil, loci.Errorf(loci.Invalid, "by tools there is one search a question: leave out the typing errors")
	case !slices.Contains(Units, o.Units):
		return nil, loci.Errorf(loci.Invalid, "units is %q; it must be one of %v", o.Units, Units)
	case o.Questions < 0:
		return nil, loci.Errorf(loci.Invalid, "questions is %d; it must not be negative", o.Questions)
	case len(o.Systems) == 0:
		return nil, loci.Errorf(loci.Invalid, "no embedder is named: give at least one, or none")
	}
	for _, c := range o.Contexts {
		if !slices.Contains(Contexts, c) {
			return nil, loci.Errorf(loci.Invalid, "context is %q; it must be one of %v", c, Contexts)
		}
	}
	names := map[string]int{}
	for i := range len(o.Dirs) + len(o.Official) {
		var d *Dataset
		if i < len(o.Dirs) {
			d, err = ReadDataset(o.Dirs[i])
		} else {
			published := o.Official[i-len(o.Dirs)]
			o.progress("reading %s", published.Path)
			d, err = ReadOfficial(published.Name, published.Path)
		}
		if err != nil {
			return nil, err
		}
		if d.some(o.Questions); o.Units == UnitSessions {
			d = d.bySession()
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
	kept := keptOnDisk
	if o.InMemory {
		kept = keptInMemory
	}
	ended := func(dir string) (err error) {
		out.about = map[string]about{}
		for _, mode := range out.modes {
			out.about[mode] = about{Kept: kept}
		}
		return o.others(ctx, dir, d, out, tokens)
	}
	if o.Tools {
		err = o.stored(ctx, d, r, func(s loci.Store, dir string) (err error) {
			if out, err = o.throughTools(ctx, s, d, r, tokens); err != nil {
				return err
			}
			return ended(dir)
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
		o.progress("%s, embedder %s, context %s: asking %d questions", d.Name, r.Name, r.Context, len(d.Questions))
		samples, err := ask(ctx, d, modes, finders, tokens)
		if err != nil {
			return err
		}
		out = &result{run: r, data: d.Name, memories: len(in.turns), stored: in.stored, embeds: in.embeds,
			modes: modes, samples: samples}
		return ended(dir)
	})
	return out, err
}

// others asks what is no mode of Loci the same questions.
func (o *RetrievalOptions) others(
	ctx context.Context, dir string, d *Dataset, out *result, tokens *tokenCounter,
) error {
	measured := func(mode string, find finder, a about) error {
		o.progress("%s, %s: asking %d questions", d.Name, mode, len(d.Questions))
		samples, err := ask(ctx, d, []string{mode}, map[string]finder{mode: find}, tokens)
		out.modes, out.about[mode], out.samples[mode] = append(out.modes, mode), a, samples[mode]
		return err
	}
	if o.Baseline {
		start := time.Now()
		b, err := openBaseline(ctx, dir, d, out.run)
		if err != nil {
			return &loci.Error{Code: loci.Internal, Op: "bench baseline", Err: err}
		}
		err = measured(ModeFTS5, b.find, about{Stored: time.Since(start), Kept: keptTransaction})
		if err := errors.Join(err, b.db.Close()); err != nil {
			return err
		}
	}
	for _, n := range o.Beside {
		own, err := os.MkdirTemp(dir, "beside-")
		if err != nil {
			return &loci.Error{Code: loci.Unavailable, Op: "bench", Err: err}
		}
		o.progress("%s, %s: storing %d memories", d.Name, n.Name, len(d.Turns))
		b, err := openBeside(ctx, n, own, d, out.run)
		if err != nil {
			return err
		}
		a := about{System: b.system, Stored: b.stored, Kept: keptInMemory}
		if b.durable {
			a.Kept = keptOnDisk
		}
		err = measured(n.Name, b.find, a)
		if err := errors.Join(err, b.close()); err != nil {
			return err
		}
	}
	return nil
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
