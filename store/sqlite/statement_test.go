package sqlite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"modernc.org/sqlite"
)

// within runs a job of the writer, alone in its transaction.
func within(t *testing.T, f *file, run func(*tx) error) {
	t.Helper()
	if err := f.do(context.Background(), &job{run: run, large: true, done: make(chan error, 1)}); err != nil {
		t.Fatal(err)
	}
}

// However many shapes statements have, a file that is open holds little for them.
func TestStatementsHoldLittle(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f, prepared, held := s.files[testTenant], 0, 0
	for n := range 3 * maxStatements {
		args := make([]any, n+1)
		for i := range args {
			args[i] = int64(i)
		}
		within(t, f, func(tx *tx) error {
			if err := tx.exec("DELETE FROM erased WHERE "+inList("seq", len(args)), args...); err != nil {
				return err
			}
			prepared = max(prepared, len(tx.stmts))
			return tx.conn.Raw(func(c any) error {
				bytes, _, err := c.(sqlite.DBStatus).Status(sqlite.DBStatusStmtUsed, false)
				held = max(held, bytes)
				return err
			})
		})
	}
	if most := maxStatements + 8; prepared < maxStatements || prepared > most || held > 2<<20 {
		t.Errorf("%d statements were prepared, with %d bytes; the limit is %d", prepared, held, most)
	}
	save(t, s, "otter")
}

// Changes of any number of records are made with few statements, so that those that are prepared
// serve them all.
func TestStatementsServeAllLengths(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	seen := map[string]bool{}
	const most = 32
	for n := 1; n <= most; n++ {
		var c loci.Change
		for i := range n {
			one := note("walrus")
			one.Put[0].Record.Slot = fmt.Sprint(n, " ", i)
			c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
		}
		within(t, s.files[testTenant], func(tx *tx) error {
			err := tx.apply(&c)
			c.Events = nil
			for i := range c.Put {
				c.Put[i].Record.Version = 2
			}
			err = errors.Join(err, tx.apply(&c)) // the slots of what is there already are looked for
			for _, p := range c.Put {
				c.Erase = append(c.Erase, loci.Erase{ID: p.Record.ID, Version: 2})
			}
			c.Put = nil
			err = errors.Join(err, tx.apply(&c))
			for query := range tx.stmts {
				seen[query] = true
			}
			return err
		})
	}
	if len(seen) > 80 {
		t.Errorf("%d statements for 1 to %d records", len(seen), most)
	}
}

// A statement keeps nothing of what it wrote or read: it would stay in memory after an erase.
func TestStatementsKeepNothing(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	within(t, s.files[testTenant], func(tx *tx) error {
		if err := tx.row("SELECT text FROM record", nil, new([]byte)); err != nil {
			t.Error(err)
		}
		for query, s := range tx.stmts {
			for _, v := range s.args[:cap(s.args)] {
				if v.Value != nil {
					t.Errorf("%s keeps the argument %v", query, v.Value)
				}
			}
			for _, v := range s.row[:cap(s.row)] {
				if v != nil {
					t.Errorf("%s keeps %v of a row", query, v)
				}
			}
		}
		return nil
	})
}

// Statements that are prepared go on when another program changes the schema, and when a
// table was away for a while.
func TestStatementsOutliveAChangeOfTheSchema(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	save(t, s, "walrus")
	exec1(t, path, "ALTER TABLE record ADD COLUMN later TEXT DEFAULT 'x'; CREATE INDEX record_later ON record (later)")
	save(t, s, "otter")
	exec1(t, path, "ALTER TABLE shard RENAME TO away")
	if err := s.Apply(t.Context(), testTenant, note("seal")); err != nil {
		t.Fatal(err) // the shard is known
	}
	exec1(t, path, "ALTER TABLE meta RENAME TO elsewhere")
	if err := s.Apply(t.Context(), testTenant, note("lost")); err == nil {
		t.Error("a change without a table was acknowledged")
	}
	exec1(t, path, "ALTER TABLE elsewhere RENAME TO meta; ALTER TABLE away RENAME TO shard")
	save(t, s, "eel")
	if n := count(t, s); n != 4 {
		t.Errorf("%d records are there; want 4", n)
	}
}

// A value of a type that no column of ours has is an error, and so is a damaged page. The
// statement that met it works again once the file is mended.
func TestStatementsOutliveDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	save(t, s, "walrus")
	exec1(t, path, "UPDATE meta SET value = 'walrus' WHERE key = 'names'")
	wantCode(t, s.Apply(t.Context(), testTenant, note("lost")), loci.Internal)
	exec1(t, path, "UPDATE meta SET value = 0 WHERE key = 'names'")
	save(t, s, "otter")

	exec1(t, path, "UPDATE meta SET value = 1 WHERE key = 'names'; PRAGMA wal_checkpoint(TRUNCATE)")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	first := int(whole[16])<<8 | int(whole[17]) // a page
	write := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(append(bytes.Clone(whole[:first]), bytes.Repeat([]byte{0xff}, len(whole)-first)...))
	if err := s.Apply(t.Context(), testTenant, note("lost")); err == nil {
		t.Error("a change in a damaged file was acknowledged")
	}
	write(whole)
	exec1(t, path, "UPDATE meta SET value = 0 WHERE key = 'names'") // so that nothing read is used again
	save(t, s, "eel")
	if n := count(t, s); n != 3 {
		t.Errorf("%d records are there; want 3", n)
	}
}

// A caller who gives up while statements run ends none of them: those who share the
// transaction would lose their work.
func TestStatementsOutliveTheirCaller(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant]
	ctx, cancel := context.WithCancel(t.Context())
	c, other := note("otter"), note("seal")
	leaving := &job{done: make(chan error, 1), run: func(tx *tx) error {
		cancel()
		return tx.apply(&c)
	}}
	staying := &job{done: make(chan error, 1), run: func(tx *tx) error { return tx.apply(&other) }}
	hold, held := make(chan struct{}), make(chan struct{})
	go func() {
		_ = f.do(context.Background(), &job{done: make(chan error, 1), run: func(*tx) error {
			close(held)
			<-hold
			return nil
		}})
	}()
	<-held
	outcomes := make(chan error, 2)
	go func() { outcomes <- f.do(ctx, leaving) }()
	go func() { outcomes <- f.do(t.Context(), staying) }()
	close(hold)
	for range 2 {
		if err := <-outcomes; err != nil {
			t.Error(err)
		}
	}
	if n := count(t, s); n != 3 {
		t.Errorf("%d records are there; want 3", n)
	}
}

// A parameter that is a limit by itself has SQLite compile the statement again at each run: it looks at the
// value, as if it were a number in the text. A sign before it keeps it from that.
func TestNoLimitIsABareParameter(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	bare := regexp.MustCompile(`LIMIT (\?\d*)`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if found := bare.FindString(string(text)); found != "" && !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s has %s: write LIMIT +?", file, found)
		}
	}
}

// A chain that begins again begins with nothing, whatever comes in the same transaction.
func TestChainsBeginWithNothing(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	within(t, s.files[testTenant], func(tx *tx) error {
		if err := tx.exec("DELETE FROM event"); err != nil {
			return err
		}
		if err := tx.restartChain(); err != nil {
			return err
		}
		first := note("first").Events[0]
		if err := tx.events([]*loci.Event{&first}); err != nil {
			return err
		}
		at, err := tx.place(first.Namespace, false)
		first.Mark = at.mark
		if first.Seal(loci.Hash{}); first.Hash != tx.head {
			t.Error("the first event of a new chain follows one of the old")
		}
		return err
	})
}

// What is remembered of a file is remembered from one write to the next, also after its tenant was erased once.
func TestPlacesAreRemembered(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	if err := s.EraseTenant(t.Context(), testTenant); err != nil {
		t.Fatal(err)
	}
	save(t, s, "another walrus")
	within(t, s.files[testTenant], func(tx *tx) error {
		if len(tx.places) != 1 {
			t.Errorf("%d places are remembered", len(tx.places))
		}
		return nil
	})
}

// A connection keeps as many statements as it may, and lets go of all where there is one more.
func TestStatementsAreKeptUpToALimit(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	within(t, s.files[testTenant], func(tx *tx) error {
		tx.closeStatements()
		for n := 0; len(tx.stmts) < maxStatements; n++ {
			if _, err := tx.stmt(fmt.Sprint("SELECT ", n)); err != nil {
				return err
			}
		}
		if tx.trim(); len(tx.stmts) != maxStatements {
			t.Errorf("%d statements are kept; want %d", len(tx.stmts), maxStatements)
		}
		if _, err := tx.stmt("SELECT 'one more'"); err != nil {
			return err
		}
		if tx.trim(); len(tx.stmts) != 0 {
			t.Errorf("%d statements are kept of one too many", len(tx.stmts))
		}
		return nil
	})
}
