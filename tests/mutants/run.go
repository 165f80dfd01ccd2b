package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A binary is the test program of a package, built with a garden's overlay.
type binary struct{ path, dir string }

var compileFault = regexp.MustCompile(`(?m)^(\S+\.go):(\d+):\d+: (.+)$`)

// build builds the tests of a package with all mutants in them. Those that the
// compiler refuses are taken out and returned.
func (g *garden) build(ctx context.Context, pkg string) (binary, []int, error) {
	var refused []int
	for {
		overlay, err := g.write()
		if err != nil {
			return binary{}, nil, err
		}
		b := binary{filepath.Join(g.dir, strings.ReplaceAll(pkg, "/", "_")+".test"), filepath.Join(g.root, pkg)}
		cmd := exec.CommandContext(
			ctx, "go", "test", "-c", "-vet=off", "-tags=system", "-overlay", overlay, "-gcflags=-e", "-o",
			b.path, ".",
		)
		cmd.Dir = b.dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return b, refused, nil
		}
		found := false
		for _, m := range compileFault.FindAllStringSubmatch(string(out), -1) {
			line, _ := strconv.Atoi(m[2])
			path := m[1]
			if !filepath.IsAbs(path) {
				path = filepath.Join(b.dir, path)
			}
			if n := g.mutantAt(path, line); n > 0 && !slices.Contains(refused, n) {
				refused, found = append(refused, n), true
				g.drop(n)
			}
		}
		if !found {
			return binary{}, nil, fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, out)
		}
	}
}

// An outcome is what a run of tests under a mutant came to.
type outcome int

const (
	passed outcome = iota
	failed
	stuck
)

var failure = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)|^panic: |^fatal error: `)

// run runs the tests of an expression, with a mutant or with 0, which is none.
func (b binary) run(
	ctx context.Context,
	mutant int,
	reached, tests string,
	limit time.Duration,
) (outcome, string, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.path, "-test.run", tests, "-test.failfast")
	cmd.Dir = b.dir
	cmd.WaitDelay = time.Second
	cmd.Env = append(os.Environ(), "LOCI_MUTANT="+strconv.Itoa(mutant), "LOCI_MUTANT_REACHED="+reached,
		"RAPID_NOFAILFILE=1") // what a mutant fails on must not be tried without it
	return outcomeOf(ctx, cmd)
}

// outcomeOf runs a program of tests. Only what kept it from running is an error.
func outcomeOf(ctx context.Context, cmd *exec.Cmd) (outcome, string, error) {
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return stuck, string(out), nil //nolint:nilerr // it ran for longer than it may
	case err == nil:
		return passed, string(out), nil
	case errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay):
		return failed, string(out), nil
	}
	return passed, "", err
}

// A timing is a test, how long it took and which functions it reached.
type timing struct {
	name  string
	took  time.Duration
	reach map[int]bool
}

// survey runs each test by itself, without a mutant.
func (b binary) survey(ctx context.Context, skip *regexp.Regexp, workers int) ([]timing, error) {
	cmd := exec.CommandContext(ctx, b.path, "-test.list", "^(Test|Example|Fuzz)")
	cmd.Dir = b.dir
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var all []timing
	var faults []error
	var work sync.WaitGroup
	turns := make(chan struct{}, workers)
	for name := range strings.FieldsSeq(string(out)) {
		if skip != nil && skip.MatchString(name) {
			continue
		}
		turns <- struct{}{}
		work.Go(func() {
			defer func() { <-turns }()
			t, text, err := b.time(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err != nil:
				faults = append(faults, err)
			case text != "":
				fmt.Fprintf(os.Stderr, "%s fails without any mutant and is left out:\n%.2000s\n", name, text)
			default:
				all = append(all, t)
			}
		})
	}
	work.Wait()
	slices.SortFunc(all, func(x, y timing) int {
		return cmp.Or(cmp.Compare(x.took, y.took), cmp.Compare(x.name, y.name))
	})
	return all, errors.Join(faults...)
}

// time runs one test without a mutant; text is what it said if it failed.
func (b binary) time(ctx context.Context, name string) (t timing, text string, err error) {
	seen := b.path + "." + name + ".reached"
	begun := time.Now()
	result, text, err := b.run(ctx, 0, seen, "^"+name+"$", 5*time.Minute)
	if err != nil || result != passed {
		return t, cmp.Or(text, "it has no end"), err
	}
	t = timing{name, time.Since(begun), map[int]bool{}}
	data, _ := os.ReadFile(seen) // missing: it reaches none
	for n := range bytes.FieldsSeq(data) {
		id, _ := strconv.Atoi(string(n))
		t.reach[id] = true
	}
	return t, "", nil
}

// kill runs the tests that reach a function, quick ones first, until one fails.
func (b binary) kill(ctx context.Context, mutant, fn int, tests []timing) (verdict, by string, err error) {
	var group []string
	var took time.Duration
	reached := 0
	try := func() error {
		if len(group) == 0 || verdict != "" {
			return nil
		}
		result, out, err := b.run(ctx, mutant, "", "^("+strings.Join(group, "|")+")$", 20*time.Second+4*took)
		switch {
		case err != nil:
			return err
		case result == stuck:
			verdict, by = "killed", "no end"
		case result == failed:
			verdict = "killed"
			if m := failure.FindStringSubmatch(out); m != nil {
				by = m[1]
			}
		}
		group, took = nil, 0
		return ctx.Err()
	}
	for _, t := range tests {
		if !t.reach[fn] {
			continue
		}
		reached++
		group, took = append(group, t.name), took+t.took
		if took > time.Second {
			if err := try(); err != nil || verdict != "" {
				return verdict, by, err
			}
		}
	}
	if err := try(); err != nil || verdict != "" {
		return verdict, by, err
	}
	if reached == 0 {
		return "unreached", "", nil
	}
	return "survived", "", nil
}
