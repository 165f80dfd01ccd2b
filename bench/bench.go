// Package bench measures Loci against raw SQLite on the machine it runs on. Every
// figure of a row comes from one run, so the ratios hold where the times do not.
package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Options say what to measure.
type Options struct {
	Sizes  []int         // notes in the store when searching; default 1,000, 10,000 and 100,000
	Time   time.Duration // how long each figure is measured; default 2 s
	Binary string        // the loci binary whose start-up is measured; "" leaves it out
	Dir    string        // where the files go; default a temporary directory
}

// A Row is one figure with its baseline.
type Row struct {
	Name     string        `json:"name"`
	Loci     time.Duration `json:"loci_ns"` // per operation, the median of the run
	Baseline time.Duration `json:"baseline_ns"`
	Ratio    float64       `json:"ratio"` // Loci / baseline; below 1 Loci is quicker
	Against  string        `json:"against"`
	Allocs   float64       `json:"allocs"`    // per operation, of Loci
	Bytes    float64       `json:"bytes"`     // allocated per operation, of Loci
	HeapMiB  float64       `json:"heap_mib"`  // that Loci holds for it; 0: not measured
	BaseHeap float64       `json:"base_heap"` // that the baseline holds, in MiB
}

// Run measures and calls row with each figure as it comes.
func Run(ctx context.Context, opts Options, row func(Row)) (err error) {
	if len(opts.Sizes) == 0 {
		opts.Sizes = []int{1_000, 10_000, 100_000}
	}
	if opts.Time <= 0 {
		opts.Time = 2 * time.Second
	}
	if opts.Dir == "" {
		if opts.Dir, err = os.MkdirTemp("", "loci-bench-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(opts.Dir) }()
	}
	if err := saves(ctx, opts, row); err != nil {
		return err
	}
	for _, size := range opts.Sizes {
		if err := searches(ctx, opts, size, row); err != nil {
			return err
		}
	}
	if opts.Binary == "" {
		return nil
	}
	return startups(ctx, opts, row)
}

// PrintMarkdown runs and writes a table for a document, below a line that says what was
// measured and where: figures without these tell nobody anything.
func PrintMarkdown(ctx context.Context, opts Options, commit string, w io.Writer) error {
	p := &printer{w: w}
	p.line(
		"Measured %s on commit %s with `loci bench --markdown`: %s/%s, %d cores%s, %s.\n",
		time.Now().UTC().Format(time.DateOnly), commit, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		processor(), runtime.Version(),
	)
	p.line(
		"| figure | Loci | baseline | ratio | against | allocations | KiB allocated | MiB held |\n|---|---|---|---|---|---|---|---|",
	)
	err := Run(ctx, opts, func(r Row) {
		p.line(
			"| %s | %s | %s | %.2f | %s | %.0f | %.1f | %.0f |", r.Name, round(r.Loci), round(r.Baseline),
			r.Ratio, r.Against, r.Allocs, r.Bytes/1024, r.HeapMiB,
		)
	})
	return errors.Join(err, p.err)
}

// processor names the processor, if the system says which it is.
func processor() string {
	data, _ := os.ReadFile("/proc/cpuinfo") // not there: the name is left out
	for line := range strings.SplitSeq(string(data), "\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return " of " + strings.TrimSpace(value)
		}
	}
	return ""
}

// Print runs and writes a table.
func Print(ctx context.Context, opts Options, w io.Writer) error {
	fmt.Fprintf(w, "%s/%s, %d cores, %s\n\n", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "figure\tLoci\tbaseline\tratio\tallocs/op\tKiB/op\theap MiB\tagainst\t")
	err := Run(ctx, opts, func(r Row) {
		heap := ""
		if r.HeapMiB > 0 {
			heap = fmt.Sprintf("%.0f", r.HeapMiB)
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%.2f\t%.0f\t%.1f\t%s\t%s\t\n", r.Name, round(r.Loci), round(r.Baseline), r.Ratio, r.Allocs, r.Bytes/1024, heap, r.Against)
		_ = t.Flush() // shown as it comes; a closed output ends the command elsewhere
	})
	return err
}

func round(d time.Duration) time.Duration {
	switch {
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	case d > 100*time.Microsecond:
		return d.Round(time.Microsecond)
	}
	return d.Round(10 * time.Nanosecond)
}

// cost is what an operation took.
type cost struct {
	median        time.Duration
	allocs, bytes float64
}

// pair measures two operations turn about, so that what else the machine does
// falls on both. per is how many units one call of each does.
func pair(limit time.Duration, per int, ours, base func() error) (o, b cost, err error) {
	var ourTimes, baseTimes []time.Duration
	var before, after runtime.MemStats
	end := time.Now().Add(2 * limit)
	for i := 0; i < 3 || time.Now().Before(end); i++ {
		runtime.ReadMemStats(&before)
		start := time.Now()
		if err := ours(); err != nil {
			return o, b, err
		}
		ourTimes = append(ourTimes, time.Since(start))
		runtime.ReadMemStats(&after)
		o.allocs += float64(after.Mallocs - before.Mallocs)
		o.bytes += float64(after.TotalAlloc - before.TotalAlloc)
		start = time.Now()
		if err := base(); err != nil {
			return o, b, err
		}
		baseTimes = append(baseTimes, time.Since(start))
	}
	n := float64(len(ourTimes) * per)
	o.allocs, o.bytes = o.allocs/n, o.bytes/n
	o.median, b.median = median(ourTimes)/time.Duration(per), median(baseTimes)/time.Duration(per)
	return o, b, nil
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

func figure(name, against string, o, b cost) Row {
	return Row{
		Name:     name,
		Against:  against,
		Loci:     o.median,
		Baseline: b.median,
		Ratio:    float64(o.median) / float64(b.median),
		Allocs:   o.allocs,
		Bytes:    o.bytes,
	}
}

// heap is what is reachable now, in MiB.
func heap() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// corpus makes notes of 8 to 30 words whose frequencies fall as in natural
// language (Zipf), with some function words among them. The same seed makes the
// same notes.
type corpus struct {
	rng  *rand.Rand
	zipf *rand.Zipf
}

func newCorpus(seed uint64) *corpus {
	rng := rand.New(rand.NewPCG(seed, 7))
	return &corpus{rng, rand.NewZipf(rng, 1.1, 3, 30_000)}
}

var functionWords = strings.Fields("the a of to and in that is was for on with as at by")

func (c *corpus) note() string {
	var b strings.Builder
	for n := 8 + c.rng.IntN(23); n > 0; n-- {
		if n > 1 && c.rng.IntN(3) == 0 {
			b.WriteString(functionWords[c.rng.IntN(len(functionWords))])
		} else {
			b.WriteString(word(c.zipf.Uint64()))
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// word spells a number in syllables, so that words look like words.
func word(n uint64) string {
	const consonants, vowels = "bdfgklmnprstvz", "aeiou"
	n += 200
	var b []byte
	for n > 0 {
		b = append(b, consonants[n%14], vowels[n/14%5])
		n /= 70
	}
	return string(b)
}

// query asks for a note by four of its words, as a person would who remembers some.
func (c *corpus) query(note string) string {
	words := slices.DeleteFunc(strings.Fields(note), func(w string) bool { return slices.Contains(functionWords, w) })
	var picked []string
	for range min(4, len(words)) {
		picked = append(picked, words[c.rng.IntN(len(words))])
	}
	return "what about " + strings.Join(picked, " ") + "?"
}
