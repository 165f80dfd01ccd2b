// Mutants changes the program in small ways and sees whether tests notice.
//
//	go run ./tests/mutants                        every mutant of table.txt
//	go run ./tests/mutants -for 2m -slice abc123  as many as fit into the time, from a place the text chooses
//	go run ./tests/mutants -random 200 tool       random ones of packages, killed by their own tests
//
// The tree is not touched: builds get an overlay.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// tableFile is from the root of the module.
const tableFile = "tests/mutants/table.txt"

type options struct {
	only, slice, skip string
	within            time.Duration
	random, workers   int
	verbose           bool
	seed              uint64
	from, with        string
	packages          []string
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "only mutants whose requirement or test matches this `expression`")
	flag.StringVar(&o.slice, "slice", "", "begin at a place that this `text` chooses, such as a commit")
	flag.DurationVar(&o.within, "for", 0, "end after this time, with as many mutants as fit into it")
	flag.BoolVar(&o.verbose, "v", false, "print every mutant and how long it took")
	flag.IntVar(&o.random, "random", 0, "this many random mutants of each package named")
	flag.StringVar(&o.skip, "skip", "", "tests that random mutants are not tried on, an `expression`")
	flag.StringVar(&o.from, "files", "", "random mutants only of files that match this `expression`")
	flag.StringVar(&o.with, "with", "", "packages whose tests are tried, too, on random mutants, with commas between them")
	flag.IntVar(&o.workers, "workers", 2, "how many tests run at once")
	flag.Uint64Var(&o.seed, "seed", 1, "of the choice of random mutants")
	flag.Parse()
	o.packages = flag.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return fmt.Errorf("finding the module: %w", err)
	}
	root := strings.TrimSpace(string(out))
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if o.random > 0 {
		for _, pkg := range o.packages {
			if err := runRandom(ctx, root, dir, pkg, o); err != nil {
				return err
			}
		}
		return nil
	}
	return runTable(ctx, root, dir, o)
}

// readMutants reads the table and finds every mutant in the tree.
func readMutants(root string) ([]*mutant, error) {
	all, err := readTable(filepath.Join(root, tableFile))
	if err != nil {
		return nil, err
	}
	t, err := readTree(root)
	if err != nil {
		return nil, err
	}
	var faults []error
	for _, m := range all {
		if err := t.locate(m); err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %s: %w", tableFile, m.line, m.requirement, err))
		}
	}
	return all, errors.Join(faults...)
}

func runTable(ctx context.Context, root, dir string, o options) error {
	begun := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all, err := readMutants(root)
	if err != nil {
		return err
	}
	if o.only != "" {
		only, err := regexp.Compile(o.only)
		if err != nil {
			return err
		}
		all = slices.DeleteFunc(all, func(m *mutant) bool { return !only.MatchString(m.requirement + " " + m.test) })
	}
	slices.SortStableFunc(all, func(x, y *mutant) int { return strings.Compare(x.dir, y.dir) }) // a package is built once
	if o.slice != "" && len(all) > 0 {
		h := fnv.New64a()
		h.Write([]byte(o.slice))
		n := int(h.Sum64() % uint64(len(all)))
		all = slices.Concat(all[n:], all[:n])
	}
	g := newGarden(root, dir)
	for i, m := range all {
		if m.whole {
			continue
		}
		if n, err := g.plant(i+1, m.change); err != nil {
			return err
		} else if n == 0 {
			m.whole = true
		}
	}
	var faults []error
	tried := 0
	t := &trial{g, map[string]binary{}, map[string]error{}}
	for i, m := range all {
		from := time.Now()
		err := t.try(ctx, i+1, m)
		if ctx.Err() != nil {
			break // whatever it says: it had no time
		}
		tried++
		if tried == 1 && o.within > 0 { // the first has the time that building its tests takes
			time.AfterFunc(o.within-time.Since(begun), func() { cancel(errTimeIsOver) })
		}
		if err != nil {
			err = fmt.Errorf("%s:%d: %s: %w", tableFile, m.line, m.requirement, err)
			fmt.Fprintln(os.Stderr, err)
			faults = append(faults, err)
		} else if o.verbose {
			fmt.Fprintf(os.Stderr, "%s:%d: %s: %s fails, as it must, after %s\n",
				tableFile, m.line, m.requirement, m.test, time.Since(from).Round(time.Millisecond))
		}
	}
	fmt.Fprintf(os.Stderr, "%d of %d mutants tried in %s, %d not noticed\n", tried, len(all), time.Since(begun).Round(time.Second), len(faults))
	if len(faults) > 0 {
		return fmt.Errorf("%d mutants were not noticed by their tests", len(faults))
	}
	if errors.Is(context.Cause(ctx), errTimeIsOver) {
		return nil // as many as fit
	}
	return ctx.Err()
}

// errTimeIsOver ends a run that was given a time.
var errTimeIsOver = errors.New("the time is over")

// patience is how long a test may take with a mutant in the program. A mutant must
// make its test fail, not hang.
const patience = 2 * time.Minute

// A trial is a run over mutants.
type trial struct {
	g        *garden
	binaries map[string]binary
	sound    map[string]error // tests that were run without a mutant: what is wrong with them
}

// try runs the test of a mutant; nil: it failed, as it must, and passes without one.
func (t *trial) try(ctx context.Context, n int, m *mutant) error {
	run := func(n int) (outcome, string, error) { return t.g.runWhole(ctx, n > 0, m) }
	if !m.whole {
		b, err := t.binary(ctx, m.dir)
		if err != nil {
			return err
		}
		if t.g.refused[n] {
			return errors.New("it does not compile")
		}
		run = func(n int) (outcome, string, error) { return b.run(ctx, n, "", runExpression(m.test), patience) }
	}
	result, out, err := run(n)
	if err == nil {
		err = judge(m, result, out)
	}
	if err != nil {
		return err
	}
	key := m.dir + " " + m.test
	if _, ok := t.sound[key]; !ok {
		result, out, err := run(0)
		if err == nil && result != passed {
			err = fmt.Errorf("%s fails without it, too:\n%.1000s", m.test, out)
		}
		t.sound[key] = err
	}
	return t.sound[key]
}

// binary builds the tests of a package once.
func (t *trial) binary(ctx context.Context, dir string) (binary, error) {
	if b, built := t.binaries[dir]; built {
		return b, nil
	}
	b, refused, err := t.g.build(ctx, dir)
	if err != nil {
		return b, err
	}
	t.binaries[dir] = b
	for _, n := range refused {
		t.g.refused[n] = true
	}
	return b, nil
}

func judge(m *mutant, result outcome, out string) error {
	name, _, _ := strings.Cut(m.test, "/")
	switch {
	case result == stuck:
		return fmt.Errorf("%s hangs instead of failing", m.test)
	case result == passed:
		return fmt.Errorf("%s passes all the same", m.test)
	case strings.Contains(out, "[build failed]"):
		return fmt.Errorf("it does not compile:\n%.1000s", out)
	case !strings.Contains(out, "--- FAIL: "+name) && !strings.Contains(out, "panic: ") &&
		!strings.Contains(out, "fatal error: "):
		return fmt.Errorf("%s did not run to its end:\n%.1000s", m.test, out)
	}
	return nil
}

// runWhole runs a test of a program that is built with this mutant alone, or with
// none; programs that the test builds have it, too.
func (g *garden) runWhole(ctx context.Context, changed bool, m *mutant) (outcome, string, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "-vet=off", "-tags=system", "-count=1", "-run", runExpression(m.test), ".")
	cmd.Dir = filepath.Join(g.root, m.dir)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.WaitDelay = time.Second
	switch {
	case changed && !strings.HasSuffix(m.change.path, ".go"):
		root, err := g.besides(m)
		if err != nil {
			return passed, "", err
		}
		defer os.RemoveAll(root)
		cmd.Dir = filepath.Join(root, m.dir)
	case changed:
		overlay, err := g.overlayOf(m.change)
		if err != nil {
			return passed, "", err
		}
		cmd.Env = append(cmd.Env, "GOFLAGS=-overlay="+overlay)
	}
	return outcomeOf(ctx, cmd)
}

// overlayOf writes the overlay of one change and returns its path.
func (g *garden) overlayOf(c change) (string, error) {
	data, err := os.ReadFile(filepath.Join(g.root, c.path))
	if err != nil {
		return "", err
	}
	file := filepath.Join(g.dir, "whole.go")
	if err := os.WriteFile(file, slices.Concat(data[:c.start], []byte(c.text), data[c.end:]), 0o600); err != nil {
		return "", err
	}
	return writeOverlay(filepath.Join(g.dir, "whole.json"), map[string]string{filepath.Join(g.root, c.path): file})
}
