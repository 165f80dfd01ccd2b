package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// A Growth is what one call costs in a store of a size. Unlike a time, instructions do not
// depend on who else uses the machine.
type Growth struct {
	Name         string        `json:"name"`
	Size         int           `json:"size"`         // notes in the store
	Instructions float64       `json:"instructions"` // of user code; 0: this machine does not let a program count its own
	CPU          time.Duration `json:"cpu_ns"`
	Allocs       float64       `json:"allocs"`
	Bytes        float64       `json:"bytes"` // allocated
	Goal         float64       `json:"goal"`  // the most instructions a call should take; 0: none is set
}

// A GrowthOptions say what to measure.
type GrowthOptions struct {
	Sizes  []int         // notes in the store; default 1,000, 10,000 and 100,000
	Time   time.Duration // how long each call is repeated; default 1 s
	Parts  int           // Time is measured in so many parts and the cheapest counts; default 1, which is the mean of all
	Only   []string      // names of rows, or parts of them; default all
	Binary string        // the loci binary whose start is measured; "" leaves it out
	Dir    string        // where the files go; default a temporary directory

	Tokenizer loci.Tokenizer // of contexts; default that of an engine
}

// RunGrowth measures what each kind of call costs in stores of growing size, and calls row
// with each figure as it comes.
func RunGrowth(ctx context.Context, opts GrowthOptions, row func(Growth)) (err error) {
	if len(opts.Sizes) == 0 {
		opts.Sizes = []int{1_000, 10_000, 100_000}
	}
	if opts.Dir == "" {
		if opts.Dir, err = os.MkdirTemp("", "loci-growth-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(opts.Dir)) }()
	}
	if opts.Time <= 0 {
		opts.Time = time.Second
	}
	opts.Parts = max(opts.Parts, 1)
	meter, err := newMeter()
	if err != nil {
		return err
	}
	for _, size := range opts.Sizes {
		g := grown{ctx: ctx, opts: opts, size: size, meter: meter, row: row}
		if err := g.run(); err != nil {
			return err
		}
	}
	if opts.Binary == "" || !opts.wants("loci version") {
		return nil
	}
	g := grown{ctx: ctx, opts: opts, meter: meter, row: row}
	return g.measure("loci version", 60e6, func() error {
		return exec.CommandContext(ctx, opts.Binary, "version").Run()
	})
}

// wants reports whether a row is asked for.
func (o *GrowthOptions) wants(name string) bool {
	return len(o.Only) == 0 ||
		slices.ContainsFunc(o.Only, func(part string) bool { return strings.Contains(name, part) })
}

// grown is a store of a size while its calls are measured.
type grown struct {
	*loaded
	ctx   context.Context
	opts  GrowthOptions
	size  int
	dir   string
	meter *meter
	row   func(Growth)
	notes texts
	ids   []loci.ID
}

// texts are many texts as one: of a million strings the collector would look at each, and the meter would count that.
type texts struct {
	all  []byte
	ends []int
}

func (t *texts) add(text string) {
	t.all = append(t.all, text...)
	t.ends = append(t.ends, len(t.all))
}

func (t *texts) at(i int) string {
	begin := 0
	if i > 0 {
		begin = t.ends[i-1]
	}
	return string(t.all[begin:t.ends[i]])
}

// rareTag is on one note in a thousand.
const rareTag = "rare"

func (g *grown) run() (err error) {
	dir := filepath.Join(g.opts.Dir, fmt.Sprintf("growth-%d", g.size))
	if err := g.fill(dir); err != nil {
		return err
	}
	if err := g.open(dir); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.store.Close()) }()
	for _, step := range []func() error{g.lists, g.searches, g.writes, g.bounded, g.sessions, g.files, g.erases} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (g *grown) open(dir string) (err error) {
	g.dir = dir
	features := []loci.Feature{session.Feature{}, tree.Feature{}}
	g.loaded, err = openLociWith(g.ctx, dir, loci.Options{Features: features, Tokenizer: g.opts.Tokenizer})
	return err
}

// reopen begins again, as another process.
func (g *grown) reopen() error {
	if err := g.store.Close(); err != nil {
		return err
	}
	return g.open(g.dir)
}

// fill stores notes, and a tenth as many episodes and rules.
func (g *grown) fill(dir string) (err error) {
	l, err := openLociWith(g.ctx, dir, loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.store.Close()) }()
	source := newCorpus(4)
	for range g.size {
		g.notes.add(source.note())
	}
	g.ids = make([]loci.ID, g.size)
	return each(256, g.size, func(i int) error {
		var tags []string
		if i%1000 == 0 {
			tags = []string{rareTag}
		}
		stored, err := l.memory.StoreFact(g.ctx, loci.NewFact{Content: g.notes.at(i), Tags: tags})
		if g.ids[i] = stored.ID; err != nil || i%10 != 0 {
			return err
		}
		if _, err = l.memory.StoreEpisode(g.ctx, loci.NewEpisode{Content: g.notes.at(i), Butler: "bench"}); err != nil {
			return err
		}
		_, err = l.memory.StoreRule(g.ctx, loci.NewRule{Content: g.notes.at(i)})
		return err
	})
}

// each runs an operation n times, by so many callers at once.
func each(callers, n int, run func(i int) error) error {
	var wg sync.WaitGroup
	failed := make(chan error, callers)
	for c := range callers {
		wg.Go(func() {
			for i := c; i < n; i += callers {
				if err := run(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

// measure runs an operation until its cost is sure.
func (g *grown) measure(name string, goal float64, run func() error) error {
	return g.measureMany(name, goal, 1, func(int) error { return run() })
}

// measureMany is measure for operations that many callers make at once.
func (g *grown) measureMany(name string, goal float64, callers int, run func(i int) error) error {
	if !g.opts.wants(name) {
		return nil
	}
	if err := run(0); err != nil { // what is made once does not count as part of the call
		return fmt.Errorf("%s: %w", name, err)
	}
	runtime.GC()
	var least Growth
	for part, done := 0, 1; part < g.opts.Parts; part++ {
		if err := g.meter.start(); err != nil {
			return err
		}
		begin, first := time.Now(), done
		var failed error
		for failed == nil && (done < first+3 || time.Since(begin) < g.opts.Time/time.Duration(g.opts.Parts)) &&
			done < first+5000/g.opts.Parts {
			failed = each(callers, callers, func(i int) error { return run(done + i) })
			done += callers
		}
		used, err := g.meter.stop()
		if err = errors.Join(failed, err); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		n := float64(done - first)
		cost := Growth{Name: name, Size: g.size, Goal: goal, Instructions: used.instructions / n,
			CPU: time.Duration(float64(used.cpu) / n), Allocs: used.allocs / n, Bytes: used.bytes / n}
		if part == 0 || cost.Allocs < least.Allocs {
			least = cost
		}
	}
	g.row(least)
	return nil
}

// once measures an operation that is made once.
func (g *grown) once(name string, goal float64, run func() error) error {
	if !g.opts.wants(name) {
		return run()
	}
	runtime.GC()
	if err := g.meter.start(); err != nil {
		return err
	}
	failed := run()
	used, err := g.meter.stop()
	if err = errors.Join(failed, err); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	g.row(Growth{Name: name, Size: g.size, Goal: goal,
		Instructions: used.instructions, CPU: used.cpu, Allocs: used.allocs, Bytes: used.bytes})
	return nil
}

// PrintGrowth runs and writes a table.
func PrintGrowth(ctx context.Context, opts GrowthOptions, w io.Writer) error {
	p := &printer{w: w}
	p.line("%s/%s, %d cores%s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), runtime.Version())
	p.line("%-36s %9s %12s %10s %10s %10s %8s", "a call", "notes", "instructions", "CPU", "allocs", "KiB", "goal")
	err := RunGrowth(ctx, opts, func(g Growth) {
		p.line("%-36s %9d %12s %10s %10.0f %10.1f %8s",
			g.Name, g.Size, millions(g.Instructions), round(g.CPU), g.Allocs, g.Bytes/1024, millions(g.Goal))
	})
	return errors.Join(err, p.err)
}

// millions shows a number of instructions; 0 is none.
func millions(n float64) string {
	if n == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f M", n/1e6)
}
