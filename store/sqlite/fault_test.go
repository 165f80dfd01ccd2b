package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// readOnlyEnv makes the test binary a child that tries to write to a store it may
// only read.
const readOnlyEnv = "LOCI_TEST_READ_ONLY_STORE"

func TestMain(m *testing.M) {
	if path := os.Getenv(quotaEnv); path != "" {
		fmt.Println(overQuota(path))
		return
	}
	if path := os.Getenv(readOnlyEnv); path != "" {
		s, err := Open(path, nil)
		if err == nil {
			err = s.Apply(context.Background(), testTenant, note("more"))
		}
		fmt.Println(loci.AsError(err).Code, loci.AsError(err).Error())
		return
	}
	os.Exit(m.Run())
}

// note is a change that stores a text.
func note(text string) loci.Change {
	at := time.UnixMilli(1_700_000_000_000).UTC()
	r := loci.Record{ID: loci.NewID(), Kind: loci.KindFact, Namespace: loci.Namespace{"u"}, Version: 1, Live: true,
		CreatedAt: at, UpdatedAt: at, Text: text, Passages: []loci.Span{{Start: 0, End: len(text)}}}
	return loci.Change{
		Put: []loci.Put{{Record: r}},
		Events: []loci.Event{{
			ID:        loci.NewID(),
			Type:      loci.EventCreated,
			Kind:      r.Kind,
			Entity:    r.ID,
			Namespace: r.Namespace,
			At:        at,
			Actor:     "a",
		}},
	}
}

func openFile(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path, &Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func save(t *testing.T, s *Store, text string) loci.ID {
	t.Helper()
	c := note(text)
	if err := s.Apply(context.Background(), testTenant, c); err != nil {
		t.Fatal(err)
	}
	return c.Put[0].Record.ID
}

func wantCode(t *testing.T, err error, code loci.Code, words ...string) {
	t.Helper()
	if e := loci.AsError(err); e == nil || e.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}

func exec1(t *testing.T, path, query string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func count(t *testing.T, s *Store) int64 {
	t.Helper()
	n, err := s.Count(context.Background(), testTenant, loci.Filter{Within: []loci.Namespace{{}}})
	if err != nil {
		t.Fatal(err)
	}
	return n.Records
}

// TestFilesThatAreNotOurs: a file that is damaged, newer, or of another program is refused with
// the reason and is not changed.
func TestFilesThatAreNotOurs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make  func(t *testing.T, path string)
		code  loci.Code
		words string
	}{
		"newer schema": {func(t *testing.T, path string) {
			s := openFile(t, path)
			save(t, s, "old")
			_ = s.Close()
			exec1(t, path, "PRAGMA user_version = 99")
		}, loci.Unsupported, "upgrade"},
		"another program's": {func(t *testing.T, path string) { exec1(t, path, "CREATE TABLE x (y)") }, loci.Unsupported, "another program"},
		"garbage": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, bytes.Repeat([]byte("garbage "), 1000), 0o600); err != nil {
				t.Fatal(err)
			}
		}, loci.Unsupported, "not a memory file"},
		"truncated": {func(t *testing.T, path string) {
			s := openFile(t, path)
			for i := range 50 {
				save(t, s, strings.Repeat(fmt.Sprint("word", i, " "), 200))
			}
			_ = s.Close()
			if err := os.Truncate(path, 20*4096); err != nil {
				t.Fatal(err)
			}
		}, loci.Internal, "damaged"},
		"a directory": {func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o700); err != nil {
				t.Fatal(err)
			}
		}, loci.Unavailable, "cannot be opened"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.db")
			c.make(t, path)
			s := openFile(t, path)
			err := s.Apply(context.Background(), testTenant, note("new"))
			for i := 0; err == nil && i < 50; i++ { // damage shows when its page is read
				_, err = s.Check(context.Background(), testTenant)
				if err == nil {
					_, _, err = s.Records(context.Background(), testTenant,
						loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 1000})
				}
			}
			wantCode(t, err, c.code, c.words)
		})
	}
}

func TestSingleFileRefusesOtherTenants(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	other, err := loci.NewTenant("other")
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Apply(context.Background(), other, note("x")), loci.Unsupported, "directory")
}

// TestAFileIsOfItsTenant: a file under the name of another tenant's, as somebody may copy or move one, is
// refused, and says whose it is. To open it again under its own name shows what it holds.
func TestAFileIsOfItsTenant(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	acme, globex := tenantOf(t, "acme"), tenantOf(t, "globex")
	s := openFile(t, dir)
	must(t, s.Apply(t.Context(), acme, note("a walrus")))
	must(t, s.Close())
	must(t, os.Rename(filepath.Join(dir, "t-acme.db"), filepath.Join(dir, "t-globex.db")))
	s = openFile(t, dir)
	everything := loci.Filter{Within: []loci.Namespace{{}}}
	for range 2 {
		_, _, err := s.Records(t.Context(), globex, everything, loci.Page{Limit: 10})
		wantCode(t, err, loci.Unsupported, `belongs to tenant "acme"`)
	}
	wantCode(t, s.Apply(t.Context(), globex, note("another")), loci.Unsupported, `belongs to tenant "acme"`)
	must(t, os.Rename(filepath.Join(dir, "t-globex.db"), filepath.Join(dir, "t-acme.db")))
	found, _, err := s.Records(t.Context(), acme, everything, loci.Page{Limit: 10})
	if err != nil || len(found) != 1 {
		t.Errorf("%d records, %v", len(found), err)
	}
}

// TestFullDisk: on a full disk nothing acknowledged is lost, erases still work with the room of
// the ballast, and saves work again once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := openFile(t, filepath.Join(dir, "x.db"))
	first := save(t, s, "the first")
	f := s.files[testTenant]
	var free int64 = 1 << 40
	s.ballast.free = func(string) (int64, bool) { return free, true }
	if _, err := os.Stat(filepath.Join(dir, ballastName)); err != nil {
		t.Fatalf("no ballast: %v", err)
	}
	limit := func(pages int) {
		t.Helper()
		err := f.write(context.Background(), func(tx *tx) error { return tx.exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)) })
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(60)
	free = ballastSize // once the ballast is gone
	stored := 1
	var err error
	for err == nil && stored < 1000 {
		if err = s.Apply(context.Background(), testTenant, note(strings.Repeat("filler ", 500))); err == nil {
			stored++
		}
	}
	wantCode(t, err, loci.Unavailable, "full", "x.db")
	if n := count(t, s); n != int64(stored) {
		t.Errorf("%d records are there, %d were acknowledged", n, stored)
	}
	if _, err := os.Stat(filepath.Join(dir, ballastName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the ballast was kept: %v", err)
	}
	if err := s.Apply(context.Background(), testTenant,
		loci.Change{Erase: []loci.Erase{{ID: first, Version: 1}}}); err != nil {
		t.Errorf("erase on a full disk: %v", err)
	}
	if err := s.Apply(context.Background(), testTenant, note(strings.Repeat("filler ", 5000))); err == nil {
		t.Error("a save took what the ballast gave back")
	}
	free = 1 << 40
	if err := f.erase(context.Background(), func(tx *tx) error { return tx.limitPages(maxPages) }); err != nil {
		t.Fatal(err)
	}
	save(t, s, "room again")
	if info, err := os.Stat(filepath.Join(dir, ballastName)); err != nil || info.Size() != ballastSize {
		t.Errorf("the ballast is not restored: %v", err)
	}
}

// A row that SQLite cannot hold is too large, and no fault of the file.
func TestTooLargeForTheFormat(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "first")
	f := s.files[testTenant]
	_, err := f.readDB.ExecContext(t.Context(), "SELECT zeroblob(3000000000)")
	wantCode(t, f.translate("write", err), loci.TooLarge, "a memory is larger than the file format allows")
}

func TestLockedFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	save(t, s, "first")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	wantCode(t, s.Apply(ctx, testTenant, note("waits")), loci.Unavailable)
	impatient, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = impatient.Close() }()
	_, err = impatient.Exec("BEGIN IMMEDIATE")
	wantCode(t, s.files[testTenant].translate("write", err), loci.Unavailable, path, "locked by another process")
	if n := count(t, s); n != 1 {
		t.Errorf("%d records while locked; reading goes on and nothing was added", n)
	}
	if _, err := db.Exec("ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	save(t, s, "after")
	if n := count(t, s); n != 2 {
		t.Errorf("%d records, want 2: the write that was given up must not come later", n)
	}
}

// A change that found no room leaves nothing behind in memory: when there is room again, its
// namespace is stored whole.
func TestNamespaceOfAFailedChange(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "the first")
	f := s.files[testTenant]
	limit := func(pages int64) {
		t.Helper()
		if err := f.erase(context.Background(), func(tx *tx) error { return tx.limitPages(pages) }); err != nil {
			t.Fatal(err)
		}
	}
	in := func(text string) loci.Change {
		c := note(text)
		c.Put[0].Record.Namespace, c.Events[0].Namespace = loci.Namespace{"fresh"}, loci.Namespace{"fresh"}
		return c
	}
	limit(1)
	wantCode(t, s.Apply(t.Context(), testTenant, in(strings.Repeat("filler ", 5000))), loci.Unavailable, "full")
	limit(maxPages)
	if err := s.Apply(t.Context(), testTenant, in("after")); err != nil {
		t.Fatal(err)
	}
	fresh := loci.Filter{Within: []loci.Namespace{{"fresh"}}}
	got, _, err := s.Records(t.Context(), testTenant, fresh, loci.Page{Limit: 10})
	if err != nil || len(got) != 1 || got[0].Text != "after" {
		t.Errorf("%d records, %v; want the one that was saved when there was room", len(got), err)
	}
	hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "after"}, fresh, 10)
	if err != nil || len(hits) != 1 {
		t.Errorf("%d hits, %v; want 1", len(hits), err)
	}
	if findings, err := s.Check(t.Context(), testTenant); err != nil || len(findings) > 0 {
		t.Errorf("check: %v, %v", findings, err)
	}
}

// A store without a fault logs nothing.
func TestNothingIsLoggedWithoutAFault(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s, err := Open(filepath.Join(t.TempDir(), "x.db"), &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	id := save(t, s, "walrus")
	if err := s.Apply(t.Context(), testTenant, loci.Change{Erase: []loci.Erase{{ID: id, Version: 1}}}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if log.Len() > 0 {
		t.Errorf("logged %s", &log)
	}
}

// Wiping that fails is told in the log.
func TestAWipingThatFailsIsLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(path, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	must(t, err)
	save(t, s, "walrus")
	exec1(t, path, "UPDATE meta SET value = 'walrus' WHERE key = 'scrub'")
	f := s.files[testTenant]
	f.startScrub()
	must(t, f.awaitScrub(t.Context(), true))
	must(t, s.Close())
	if !strings.Contains(log.String(), "wipe erased rows") {
		t.Errorf("logged %s", &log)
	}
}

// Writes that wait share a commit, up to a number.
func TestWaitingWritesAreGathered(t *testing.T) {
	t.Parallel()
	f := &file{queue: make(chan *job, 2*maxBatch)}
	for range maxBatch + 10 {
		f.queue <- &job{}
	}
	first := &job{}
	if batch := f.gather(first); len(batch) != maxBatch || batch[0] != first {
		t.Errorf("%d writes of %d share a commit", len(batch), maxBatch)
	}
	if batch := f.gather(first); len(batch) != 12 {
		t.Errorf("%d writes share a commit, want 12", len(batch))
	}
}

// A hastyContext is over once it has been asked.
type hastyContext struct {
	context.Context
	asked *atomic.Bool
}

func (c hastyContext) Err() error {
	if c.asked.Swap(true) {
		return context.Canceled
	}
	return nil
}

func (hastyContext) Done() <-chan struct{} {
	over := make(chan struct{})
	close(over)
	return over
}

// A caller that gives up while a file is opened leaves the file open to the others.
func TestOpeningOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	f, err := s.acquire(hastyContext{t.Context(), new(atomic.Bool)}, testTenant)
	if err != nil {
		t.Fatal(err)
	}
	s.release(f)
	save(t, s, "a note")
}
