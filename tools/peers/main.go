// Command peers asks Loci and other programs the same questions about the same memories, and
// prints what each question costs, all in one run: read the ratios, not the times.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loci-memory/loci/embedding"
	"golang.org/x/sys/unix"
)

// best is how many memories a question is answered with.
const best = 10

// A set is what every program gets.
type set struct {
	dir     string
	notes   []string
	queries []string
	vectors [][]float32 // of notes, of unit length
	asked   [][]float32 // of queries
	exact   [][]int     // the notes nearest to each query, computed as they are
}

// A row is what a program takes for a question.
type row struct {
	Name  string  `json:"name"`
	Does  string  `json:"does"`  // words, vectors or both
	Build float64 `json:"build"` // seconds of processor time to take all notes in
	CPU   float64 `json:"cpu"`   // seconds of processor time a question
	Wall  float64 `json:"wall"`  // seconds a question
	Found float64 `json:"found"` // share of the exact ten nearest that are found; -1: it is not asked by vector alone
}

func main() {
	notes := flag.Int("notes", 10_000, "how many memories")
	queries := flag.Int("queries", 200, "how many questions")
	python := flag.String("python", "", "a Python with what requirements.txt names; empty: only what is in Go")
	flag.Parse()
	if err := run(context.Background(), *notes, *queries, *python); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, notes, queries int, python string) (err error) {
	dir, err := os.MkdirTemp("", "loci-peers-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := newSet(ctx, dir, notes, queries)
	if err != nil {
		return err
	}
	var rows []row
	for _, measure := range []func(context.Context, *set) ([]row, error){
		measureLoci, measureScan, measureFTS, measureChromem,
		func(ctx context.Context, s *set) ([]row, error) { return measurePython(ctx, s, python) },
	} {
		more, err := measure(ctx, s)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	fmt.Printf("%d memories, %d questions, the best %d of each\n", notes, queries, best)
	fmt.Printf("%-28s %-8s %10s %12s %12s %8s %8s\n", "program", "by", "build CPU", "CPU", "time", "ratio", "found")
	for _, r := range rows {
		fmt.Printf("%-28s %-8s %9.2fs %10.0fµs %10.0fµs %8.2f %8s\n",
			r.Name, r.Does, r.Build, r.CPU*1e6, r.Wall*1e6, r.CPU/rows[0].CPU, share(r.Found))
	}
	return nil
}

func share(found float64) string {
	if found < 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*found)
}

// newSet makes notes with the frequencies of natural language, questions of four words of
// one note each, and their vectors, and writes them where other programs read them.
func newSet(ctx context.Context, dir string, notes, queries int) (*set, error) {
	rng := rand.New(rand.NewPCG(4, 7)) //nolint:gosec // the same notes in each run
	zipf := rand.NewZipf(rng, 1.1, 3, 30_000)
	s := &set{dir: dir}
	for range notes {
		words := make([]string, 8+rng.IntN(23))
		for i := range words {
			words[i] = fmt.Sprintf("w%x", zipf.Uint64()*2654435761%1_000_003)
		}
		s.notes = append(s.notes, strings.Join(words, " "))
	}
	for range queries {
		words := strings.Fields(s.notes[rng.IntN(notes)])
		rng.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		s.queries = append(s.queries, strings.Join(words[:4], " "))
	}
	embedder := embedding.NewLexical()
	var err error
	if s.vectors, err = embedAll(ctx, embedder, s.notes); err != nil {
		return nil, err
	}
	if s.asked, err = embedAll(ctx, embedder, s.queries); err != nil {
		return nil, err
	}
	s.exact = nearest(s.vectors, s.asked)
	return s, errors.Join(s.write("notes", s.notes, s.vectors), s.write("queries", s.queries, s.asked))
}

func embedAll(ctx context.Context, e *embedding.Lexical, texts []string) (out [][]float32, err error) {
	for from := 0; from < len(texts); from += 500 {
		part, err := e.Embed(ctx, texts[from:min(from+500, len(texts))])
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	return out, nil
}

// write leaves texts as JSON and vectors as little-endian floats.
func (s *set) write(name string, texts []string, vectors [][]float32) error {
	data, err := json.Marshal(texts)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, name+".json"), data, 0o600)
	}
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(s.dir, name+".f32"))
	if err != nil {
		return err
	}
	for _, v := range vectors {
		if err := binary.Write(f, binary.LittleEndian, v); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// ask measures a question by a program that took so long to take the notes in. answer
// returns the notes that it finds.
func (s *set) ask(name, does string, built time.Duration, answer func(i int) ([]int, error)) ([]row, error) {
	for i := range min(20, len(s.queries)) { // what is loaded once
		if _, err := answer(i); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	cpu, begin, hits, answered := processor(), time.Now(), 0, 0
	for i := range s.queries {
		found, err := answer(i)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		answered += len(found)
		for _, n := range found {
			for _, want := range s.exact[i] {
				if n == want {
					hits++
				}
			}
		}
	}
	n := float64(len(s.queries))
	r := row{Name: name, Does: does, Build: built.Seconds(), Found: -1,
		CPU: (processor() - cpu).Seconds() / n, Wall: time.Since(begin).Seconds() / n}
	if answered == 0 {
		return nil, fmt.Errorf("%s found nothing", name)
	}
	if does == "vectors" {
		r.Found = float64(hits) / (n * best)
	}
	return []row{r}, nil
}

// processor is the time of user code that this process has used.
func processor() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		panic(err) // there is always this process
	}
	return time.Duration(u.Utime.Nano())
}
