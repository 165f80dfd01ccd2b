package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// A sample is some random mutants of a package, on their way through test suites.
type sample struct {
	g         *garden
	o         options
	skip      *regexp.Regexp
	begun     time.Time
	changes   []change // mutant n is change n-1
	functions []int    // that they are in
	suite     string   // whose tests are being tried

	mu     sync.Mutex
	left   map[int]string // mutants that no suite has killed yet, with the verdict so far
	killed int
}

// notTried is the verdict on what there was no time for.
const notTried = "not tried"

// runRandom tries random mutants of a package on the package's own tests, and those that
// these do not notice on the tests of others.
func runRandom(ctx context.Context, root, dir, pkg string, o options) error {
	s := &sample{
		g: newGarden(root, filepath.Join(dir, strings.ReplaceAll(pkg, "/", "_"))), o: o,
		begun: time.Now(), left: map[int]string{},
	}
	if err := s.choose(pkg); err != nil {
		return err
	}
	for _, dir := range append([]string{pkg}, strings.FieldsFunc(o.with, func(r rune) bool { return r == ',' })...) {
		if len(s.left) == 0 || s.over(ctx) {
			break
		}
		if err := s.tryOn(ctx, dir); err != nil {
			return err
		}
	}
	maps.DeleteFunc(s.left, func(_ int, verdict string) bool { return verdict == notTried })
	for _, n := range slices.Sorted(maps.Keys(s.left)) {
		fmt.Fprintln(os.Stderr, s.left[n], s.describe(n))
	}
	sum := s.killed + len(s.left)
	fmt.Fprintf(os.Stderr, "%s: of %d mutants %d killed: %.0f %%, in %s\n", pkg, sum, s.killed,
		100*float64(s.killed)/float64(max(sum, 1)), time.Since(s.begun).Round(time.Second))
	return ctx.Err()
}

// choose chooses mutants of a package and plants them.
func (s *sample) choose(pkg string) (err error) {
	if err := os.MkdirAll(s.g.dir, 0o700); err != nil {
		return err
	}
	if s.o.skip != "" {
		if s.skip, err = regexp.Compile(s.o.skip); err != nil {
			return err
		}
	}
	changes, err := s.g.changesOf(pkg)
	if err != nil {
		return err
	}
	if s.o.from != "" {
		from, err := regexp.Compile(s.o.from)
		if err != nil {
			return err
		}
		changes = slices.DeleteFunc(changes, func(c change) bool { return !from.MatchString(c.path) })
	}
	r := rand.New(rand.NewPCG(s.o.seed, 1))
	r.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
	s.changes = changes[:min(s.o.random, len(changes))]
	for i, c := range s.changes {
		fn, err := s.g.plant(i+1, c)
		if err != nil {
			return err
		}
		s.functions = append(s.functions, fn)
		s.left[i+1] = notTried
	}
	fmt.Fprintf(os.Stderr, "%s: %d of %d mutants\n", pkg, len(s.changes), len(changes))
	return nil
}

func (s *sample) over(ctx context.Context) bool {
	return ctx.Err() != nil || s.o.within > 0 && time.Since(s.begun) > s.o.within
}

// tryOn tries what is left on the tests of a package.
func (s *sample) tryOn(ctx context.Context, dir string) error {
	s.suite = dir
	b, refused, err := s.g.build(ctx, dir)
	if err != nil {
		return err
	}
	for _, n := range refused {
		delete(s.left, n)
	}
	tests, err := b.survey(ctx, s.skip, s.o.workers)
	if err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: %d tests, ready after %s; %d mutants do not compile\n",
		dir, len(tests), time.Since(s.begun).Round(time.Second), len(refused))
	var all sync.WaitGroup
	next := make(chan int)
	for range s.o.workers {
		all.Go(func() {
			for n := range next {
				verdict, by, err := b.kill(ctx, n, s.functions[n-1], tests)
				s.note(n, verdict, by, err)
			}
		})
	}
	for _, n := range slices.Sorted(maps.Keys(s.left)) {
		if s.over(ctx) {
			break
		}
		next <- n
	}
	close(next)
	all.Wait()
	return nil
}

// note takes down what became of a mutant.
func (s *sample) note(n int, verdict, by string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil && errors.Is(err, context.Canceled):
	case err != nil:
		s.left[n] = "error: " + err.Error()
	case verdict == "killed":
		delete(s.left, n)
		s.killed++
		if by == "no end" {
			fmt.Fprintln(os.Stderr, "killed, since it has no end:", s.describe(n))
		}
	case verdict == "survived", s.left[n] == notTried:
		s.left[n] = verdict
		fmt.Fprintf(os.Stderr, "%s the tests of %s: %s\n", verdict, s.suite, s.describe(n)) // there is work to do meanwhile
	}
}

// describe says where a mutant is and shows its line before and after.
func (s *sample) describe(n int) string {
	c := s.changes[n-1]
	data := s.g.files[c.path].data
	from := strings.LastIndexByte(string(data[:c.start]), '\n') + 1
	to := c.end + strings.IndexByte(string(data[c.end:]), '\n')
	line := strings.Count(string(data[:c.start]), "\n") + 1
	return fmt.Sprintf("%s:%d\n\t- %s\n\t+ %s", c.path, line, strings.TrimSpace(string(data[from:to])),
		strings.TrimSpace(string(data[from:c.start])+c.text+string(data[c.end:to])))
}
