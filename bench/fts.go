package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// baseline is full-text search as SQLite has it: FTS5 with the porter tokenizer,
// ranked by its bm25, English stop words taken out of the query. A conversation
// has a table of its own, since statistics are those of a table.
type baseline struct {
	db     *sql.DB
	tables map[string]string // by conversation
}

func openBaseline(ctx context.Context, dir string, d *Dataset, r *run) (b *baseline, err error) {
	b = &baseline{tables: map[string]string{}}
	if b.db, err = sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "baseline.db"))); err != nil {
		return nil, err
	}
	b.db.SetMaxOpenConns(1)
	if err := b.fill(ctx, d, r); err != nil {
		return nil, errors.Join(err, b.db.Close())
	}
	return b, nil
}

func (b *baseline) fill(ctx context.Context, d *Dataset, r *run) (err error) {
	tx, err := b.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	for conv, turns := range d.conversations() {
		table := fmt.Sprintf("turns_%d", len(b.tables))
		b.tables[conv] = table
		if _, err := tx.ExecContext(ctx, "CREATE VIRTUAL TABLE "+table+" USING fts5(id UNINDEXED, text, tokenize='porter')"); err != nil {
			return err
		}
		for _, t := range turns {
			text := t.content(r.Context, r.Captions)
			if text == "" {
				continue
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO "+table+" (id, text) VALUES (?, ?)", t.ID, text); err != nil {
				return err
			}
		}
	}
	return tx.Commit()
}

// find is a finder.
func (b *baseline) find(ctx context.Context, conv, query string) (hits []hit, err error) {
	words := queryWords(query)
	if len(words) == 0 {
		return nil, nil
	}
	table := b.tables[conv]
	rows, err := b.db.QueryContext(ctx, "SELECT id, text FROM "+table+" WHERE "+table+" MATCH ? ORDER BY rank, rowid LIMIT ?",
		`"`+strings.Join(words, `" OR "`)+`"`, depth)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var h hit
		if err := rows.Scan(&h.turn, &h.text); err != nil {
			return nil, err
		}
		hits = append(hits, h)
	}
	return hits, rows.Err()
}

// queryWords cuts a query where FTS5 cuts texts, and takes stop words out unless
// there is nothing else.
func queryWords(query string) []string {
	all := allWords(query)
	words := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return slices.Contains(stopWords, w) })
	if len(words) == 0 {
		return all
	}
	return words
}

// allWords cuts a text where FTS5 cuts it.
func allWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
}

// stopWords are the English function words a careful program would leave out.
var stopWords = strings.Fields(`a about after all also am an and any are as at be because been before being between both but by can could
did do does doing done for from get go got had has have he her hers him his how i if in into is it its just me more most my
no not of off on or our out over own she should so some such than that the their them then there these they this those
through to too under up us very was we were what when where which while who whom whose why will with would you your
s t d m ll re ve don didn doesn isn wasn aren weren couldn wouldn shouldn hasn haven hadn`)
