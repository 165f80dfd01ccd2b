package bench

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the same driver Loci uses
)

// raw is SQLite as a careful program would use it by hand: write-ahead log, full
// synchronisation, prepared statements, an FTS5 table beside the notes.
type raw struct {
	db      *sql.DB
	conn    *sql.Conn
	note    *sql.Stmt
	words   *sql.Stmt
	search  *sql.Stmt
	withFTS bool
	n       int64
}

func openRaw(ctx context.Context, dir string, withFTS bool) (r *raw, err error) {
	r = &raw{withFTS: withFTS}
	r.db, err = sql.Open("sqlite", "file:"+filepath.Join(dir, "raw.db")+"?_pragma=busy_timeout(30000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-8000)")
	if err != nil {
		return nil, err
	}
	if r.conn, err = r.db.Conn(ctx); err != nil {
		return nil, err
	}
	_, err = r.conn.ExecContext(ctx, `CREATE TABLE note (n INTEGER PRIMARY KEY, user TEXT NOT NULL, text TEXT NOT NULL, created_at INTEGER NOT NULL);
		CREATE VIRTUAL TABLE note_fts USING fts5(text, content='note', content_rowid='n', tokenize='porter');`)
	if err != nil {
		return nil, err
	}
	for stmt, query := range map[**sql.Stmt]string{
		&r.note:   "INSERT INTO note (n, user, text, created_at) VALUES (?, 'u', ?, 0)",
		&r.words:  "INSERT INTO note_fts (rowid, text) VALUES (?, ?)",
		&r.search: "SELECT note.n, note.text, bm25(note_fts) FROM note_fts JOIN note ON note.n = note_fts.rowid WHERE note_fts MATCH ? AND user = 'u' ORDER BY bm25(note_fts) LIMIT 5",
	} {
		if *stmt, err = r.conn.PrepareContext(ctx, query); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// save stores notes in one transaction.
func (r *raw) save(ctx context.Context, notes ...string) error {
	if _, err := r.conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, note := range notes {
		r.n++
		if _, err := r.note.ExecContext(ctx, r.n, note); err != nil {
			return err
		}
		if !r.withFTS {
			continue
		}
		if _, err := r.words.ExecContext(ctx, r.n, note); err != nil {
			return err
		}
	}
	_, err := r.conn.ExecContext(ctx, "COMMIT")
	return err
}

// find runs a query the way FTS5 is safely asked: every word quoted, any may match.
func (r *raw) find(ctx context.Context, query string) (n int, err error) {
	words := strings.Fields(strings.Map(func(c rune) rune {
		if c == '"' || c == '?' {
			return ' '
		}
		return c
	}, query))
	rows, err := r.search.QueryContext(ctx, `"`+strings.Join(words, `" OR "`)+`"`)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id int64
		var text string
		var score float64
		if err := rows.Scan(&id, &text, &score); err != nil {
			return n, err
		}
		n++
	}
	return n, rows.Err()
}

func (r *raw) close() error { return errors.Join(r.conn.Close(), r.db.Close()) }
