package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/philippgille/chromem-go"
	_ "modernc.org/sqlite"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/store"
)

// nearest are the best notes for each query by the cosine of their vectors, compared one by one.
func nearest(vectors, asked [][]float32) [][]int {
	out := make([][]int, len(asked))
	var wg sync.WaitGroup
	for worker := range runtime.NumCPU() {
		wg.Go(func() {
			for q := worker; q < len(asked); q += runtime.NumCPU() {
				scores, order := make([]float32, len(vectors)), make([]int, len(vectors))
				for i, v := range vectors {
					order[i] = i
					for d, x := range v {
						scores[i] += x * asked[q][d]
					}
				}
				slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(scores[b], scores[a]), a-b) })
				out[q] = order[:min(best, len(order))]
			}
		})
	}
	wg.Wait()
	return out
}

// measureLoci searches by words and vectors, by words alone and by vectors alone. Unlike the
// others it makes the vector of the question itself.
func measureLoci(ctx context.Context, s *set) (rows []row, err error) {
	kept, err := store.Open(ctx, "sqlite:"+filepath.Join(s.dir, "loci.db"), nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	e, err := loci.New(kept, &loci.Options{Embedder: embedding.NewLexical(),
		Content: loci.ContentOptions{KeepDuplicates: true}})
	if err != nil {
		return nil, err
	}
	tenant, err := loci.NewTenant("default")
	if err != nil {
		return nil, err
	}
	m, err := e.Memory(loci.View{Tenant: tenant, Namespace: loci.Namespace{"user", "u"}, Actor: "peers"})
	if err != nil {
		return nil, err
	}
	begin, numbers := processor(), map[loci.ID]int{}
	if err := fill(ctx, m, s.notes, numbers); err != nil {
		return nil, err
	}
	// What is done behind the writes is a part of them: the index that the next process finds.
	if err := store.KeepIndex(ctx, kept, tenant); err != nil {
		return nil, err
	}
	built := processor() - begin
	for _, mode := range []struct {
		does string
		mode loci.Mode
	}{{"both", loci.Hybrid}, {"words", loci.Keyword}, {"vectors", loci.Semantic}} {
		more, err := s.ask("Loci", mode.does, built, func(i int) (found []int, err error) {
			result, err := m.Search(ctx, loci.Query{Text: s.queries[i], Mode: mode.mode, Limit: best})
			for _, match := range result.Matches {
				found = append(found, numbers[match.Record.ID])
			}
			return found, err
		})
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// fill stores notes from 64 callers at once.
func fill(ctx context.Context, m *loci.Memory, notes []string, numbers map[loci.ID]int) error {
	const callers = 64
	var wg sync.WaitGroup
	var mu sync.Mutex
	failed := make(chan error, callers)
	for c := range callers {
		wg.Go(func() {
			for i := c; i < len(notes); i += callers {
				stored, err := m.StoreFact(ctx, loci.NewFact{Content: notes[i]})
				if err != nil {
					failed <- err
					return
				}
				mu.Lock()
				numbers[stored.ID] = i
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	close(failed)
	return <-failed
}

// measureFTS searches SQLite's FTS5 by words, as a careful program would by hand.
func measureFTS(ctx context.Context, s *set) (rows []row, err error) {
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(s.dir, "fts.db")))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	defer func() { err = errors.Join(err, db.Close()) }()
	begin := processor()
	if err := fillTexts(ctx, db, "VIRTUAL TABLE note USING fts5(text, tokenize='porter')", s.notes); err != nil {
		return nil, err
	}
	built := processor() - begin
	find, err := db.PrepareContext(ctx, "SELECT rowid - 1, text FROM note WHERE note MATCH ? ORDER BY bm25(note) LIMIT ?")
	if err != nil {
		return nil, err
	}
	return s.ask("SQLite FTS5 (modernc)", "words", built, func(i int) (found []int, err error) {
		words := `"` + strings.Join(strings.Fields(s.queries[i]), `" OR "`) + `"`
		return numbers(find.QueryContext(ctx, words, best))
	})
}

// fillTexts makes a table and puts the notes into it.
func fillTexts(ctx context.Context, db *sql.DB, table string, notes []string) error {
	if _, err := db.ExecContext(ctx, "CREATE "+table); err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for i, note := range notes {
		if _, err := tx.ExecContext(ctx, "INSERT INTO note (rowid, text) VALUES (?, ?)", i+1, note); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// numbers reads rows of numbers and texts, and returns the numbers.
func numbers(rows *sql.Rows, err error) (found []int, _ error) {
	if err != nil {
		return nil, err
	}
	for rows.Next() {
		var n int
		var text string
		if err := rows.Scan(&n, &text); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		found = append(found, n)
	}
	return found, errors.Join(rows.Err(), rows.Close())
}

// measureChromem searches chromem-go by vectors.
func measureChromem(ctx context.Context, s *set) ([]row, error) {
	none := func(context.Context, string) ([]float32, error) { return nil, fmt.Errorf("every text has its vector") }
	begin := processor()
	notes, err := chromem.NewDB().CreateCollection("notes", nil, none)
	if err != nil {
		return nil, err
	}
	documents := make([]chromem.Document, len(s.notes))
	for i, note := range s.notes {
		documents[i] = chromem.Document{ID: strconv.Itoa(i), Content: note, Embedding: s.vectors[i]}
	}
	if err := notes.AddDocuments(ctx, documents, runtime.NumCPU()); err != nil {
		return nil, err
	}
	return s.ask("chromem-go", "vectors", processor()-begin, func(i int) (found []int, err error) {
		results, err := notes.QueryEmbedding(ctx, s.asked[i], best, nil, nil)
		for _, r := range results {
			n, err := strconv.Atoi(r.ID)
			if err != nil {
				return nil, err
			}
			found = append(found, n)
		}
		return found, err
	})
}
