package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci/internal/vector"
)

// scan is what is left of a search when everything is left out that a memory needs: lists of the notes that have a
// word, in memory, and all vectors, compared one by one with Loci's own kernel. The texts of the ten it reads from
// SQLite.
type scan struct {
	texts   *sql.Stmt
	lists   map[string][]posting
	lengths []float32
	mean    float32
	matrix  *vector.Matrix
	scores  []float32 // by note; zero between questions
}

type posting struct {
	note  int32
	times float32
}

// measureScan searches by BM25 and by comparing all vectors, and merges the best hundred of both.
func measureScan(ctx context.Context, s *set) (rows []row, err error) {
	begin := processor()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(s.dir, "scan.db")))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := fillTexts(ctx, db, "TABLE note (text TEXT)", s.notes); err != nil {
		return nil, err
	}
	x := &scan{lists: map[string][]posting{}, scores: make([]float32, len(s.notes))}
	x.matrix = vector.New(len(s.vectors[0]))
	for i, note := range s.notes {
		words := strings.Fields(note)
		times := map[string]float32{}
		for _, w := range words {
			times[w]++
		}
		for w, n := range times {
			x.lists[w] = append(x.lists[w], posting{int32(i), n}) //nolint:gosec // there are fewer notes
		}
		x.lengths = append(x.lengths, float32(len(words)))
		x.mean += float32(len(words)) / float32(len(s.notes))
		x.matrix.Append(s.vectors[i])
	}
	const all = "SELECT rowid - 1, text FROM note WHERE rowid IN (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	if x.texts, err = db.PrepareContext(ctx, all); err != nil {
		return nil, err
	}
	return s.ask("a scan by hand", "both", processor()-begin, func(i int) ([]int, error) {
		near, err := x.near(s.asked[i])
		if err != nil {
			return nil, err
		}
		return x.read(ctx, merge(x.bm25(s.queries[i]), near))
	})
}

// read reads notes, and returns their numbers.
func (x *scan) read(ctx context.Context, notes []int) ([]int, error) {
	args := make([]any, best)
	for i, n := range notes {
		args[i] = n + 1
	}
	return numbers(x.texts.QueryContext(ctx, args...))
}

// found is a note and its score.
type found struct {
	note  int
	score float32
}

// keep adds a note to the best, which are kept in order, and returns the least score that still counts.
func keep(best *[]found, f found) float32 {
	at, _ := slices.BinarySearchFunc(*best, f, func(a, b found) int { return cmp.Compare(b.score, a.score) })
	if *best = slices.Insert(*best, at, f); len(*best) < hundred {
		return 0
	}
	*best = (*best)[:hundred]
	return (*best)[hundred-1].score
}

const hundred = 100

// bm25 has the parameters of everybody, 1.2 and 0.75.
func (x *scan) bm25(query string) (best []found) {
	const k1, b = 1.2, 0.75
	var touched []int32
	for _, w := range strings.Fields(query) {
		list := x.lists[w]
		n := float64(len(list))
		idf := float32(math.Log(1 + (float64(len(x.lengths))-n+0.5)/(n+0.5)))
		for _, p := range list {
			if x.scores[p.note] == 0 {
				touched = append(touched, p.note)
			}
			x.scores[p.note] += idf * p.times * (k1 + 1) / (p.times + k1*(1-b+b*x.lengths[p.note]/x.mean))
		}
	}
	least := float32(0)
	for _, n := range touched {
		if x.scores[n] > least {
			least = keep(&best, found{int(n), x.scores[n]})
		}
		x.scores[n] = 0
	}
	return best
}

// near are the notes whose vectors are nearest.
func (x *scan) near(asked []float32) (best []found, err error) {
	q := vector.NewQuery(asked)
	defer q.Release()
	least := math.Inf(-1)
	err = x.matrix.Above(q, &least, func(n int, score float32) error {
		if l := keep(&best, found{n, score}); len(best) == hundred {
			least = float64(l)
		}
		return nil
	})
	return best, err
}

// merge is reciprocal rank fusion with 60.
func merge(lists ...[]found) (notes []int) {
	sum := map[int]float64{}
	for _, list := range lists {
		for i, f := range list {
			sum[f.note] += 1 / float64(60+i+1)
		}
	}
	for n := range sum {
		notes = append(notes, n)
	}
	slices.SortFunc(notes, func(a, b int) int { return cmp.Or(cmp.Compare(sum[b], sum[a]), a-b) })
	return notes[:min(best, len(notes))]
}
