package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/gaps"
)

// largeFile makes a file that has more pages than are looked at in some milliseconds, and returns the ids of its notes.
// It was closed, and says what may have something to wipe.
func largeFile(t *testing.T, path string) (ids []loci.ID) {
	t.Helper()
	s := openFile(t, path)
	for n := range 300 {
		text := strings.Repeat(fmt.Sprint("a note of some length: ", n, " "), 1+n%7)
		if n%6 == 0 {
			text += strings.Repeat("filler ", 14_000)
		}
		ids = append(ids, save(t, s, text))
	}
	must(t, s.Close())
	if info, err := os.Stat(path); err != nil || info.Size() < 4100*smallFile {
		t.Fatalf("the file is not large: %v %v", info, err)
	}
	return ids
}

// says is what a file says of its pages.
func says(t *testing.T, s *Store) (m gaps.Mark, ok bool) {
	t.Helper()
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	var found []byte
	must(t, f.readRow(t.Context(), "SELECT coalesce((SELECT CAST(value AS BLOB) FROM meta WHERE key = 'follower'), x'')", nil, &found))
	return gaps.MarkOf(found)
}

// outside runs statements as another program does.
func outside(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := openDB(path, []string{"busy_timeout(5000)"})
	must(t, err)
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	must(t, db.Close())
}

// copyFiles copies a file and its log as they are: what a process leaves that is killed.
func copyFiles(t *testing.T, path string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "x.db")
	for _, end := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + end)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		must(t, err)
		must(t, os.WriteFile(to+end, data, 0o600))
	}
	return to
}

// A process that opens a large file knows which pages may have something to wipe. Its first erase looks at these, and
// so does that of the next process.
func TestTheFirstEraseOfAProcessDoesNotLookAtAll(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	ids := largeFile(t, path)
	for _, id := range ids[:4] {
		s := openFile(t, path)
		if m, ok := says(t, s); !ok || !m.Rest {
			t.Fatalf("the closed file has the mark %+v %v", m, ok)
		}
		if known, pages := suspects(t, s); !known || pages.Len() > mostNamed+10 {
			t.Errorf("the process that opened the file: known %v, %d pages", known, pages.Len())
		}
		eraseOne(t, s, id)
		f := s.files[testTenant]
		if asked := f.touched.asked; asked > 200 {
			t.Errorf("SQLite was asked for %d pages", asked)
		}
		if known, pages := suspects(t, s); !known || pages.Len() > mostNamed {
			t.Errorf("known: %v, %d pages", known, pages.Len())
		}
		if m, ok := says(t, s); !ok || m.Rest {
			t.Errorf("the file that is written has the mark %+v %v", m, ok)
		}
		must(t, s.Close())
	}
}

// Who reads alone leaves the file as it is.
func TestReadingWritesNoMark(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	before, err := os.ReadFile(path)
	must(t, err)
	s := openFile(t, path)
	if holds, err := s.Holds(t.Context(), testTenant); err != nil || !holds {
		t.Fatal(err)
	}
	must(t, s.Close())
	after, err := os.ReadFile(path)
	must(t, err)
	if string(before) != string(after) {
		t.Error("a process that only read has written")
	}
}

// A small file says nothing: to look at all of it takes less than to say what is not to be looked at.
func TestSmallFilesSayNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	for range 2 {
		s := openFile(t, path)
		save(t, s, "walrus")
		if known, pages := suspects(t, s); !known || pages.Len() == 0 {
			t.Errorf("known: %v, %d pages", known, pages.Len())
		}
		if m, ok := says(t, s); ok {
			t.Errorf("it says %+v", m)
		}
		must(t, s.Close())
	}
}

// Whatever others did to a file at rest, or to its mark, that can be seen: then all pages may have something to wipe.
func TestMarksThatAreNotBelieved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	const damage = "UPDATE meta SET value = CAST(substr(value, 1, 200) || x'%02x' || substr(value, 202) AS BLOB) WHERE key = 'follower'"
	for name, statements := range map[string][]string{
		"it is compacted":        {"VACUUM"},
		"it grew":                {"CREATE TABLE other (a)", "INSERT INTO other VALUES (zeroblob(100000))", "DROP TABLE other"},
		"a table came":           {"CREATE TABLE other (a)"},
		"pages are free":         {"DELETE FROM record WHERE n % 6 = 1"},
		"the mark is damaged":    {fmt.Sprintf(damage, 1)},
		"the mark is too short":  {"UPDATE meta SET value = substr(value, 1, 100) WHERE key = 'follower'"},
		"the mark is empty":      {"UPDATE meta SET value = x'' WHERE key = 'follower'"},
		"an older build has it":  {"UPDATE meta SET value = x'00112233445566778899aabbccddeeff' WHERE key = 'follower'"},
		"it is a text":           {"UPDATE meta SET value = 'wiped' WHERE key = 'follower'"},
		"the mark of other logs": {"UPDATE meta SET value = CAST(substr(value, 1, 12) || x'00' || substr(value, 14) AS BLOB) WHERE key = 'follower'"},
	} {
		path := copyFiles(t, path)
		outside(t, path, statements...)
		s := openFile(t, path)
		if known, _ := suspects(t, s); known {
			t.Errorf("%s: what the file says is believed", name)
		}
		if m, ok := says(t, s); ok {
			t.Errorf("%s: it still says %+v", name, m)
		}
		eraseOne(t, s, save(t, s, "walrus"))
		if known, pages := suspects(t, s); !known || pages.Len() > mostNamed {
			t.Errorf("%s: after a wiping: known %v, %d pages", name, known, pages.Len())
		}
		if m, ok := says(t, s); !ok || m.Rest {
			t.Errorf("%s: after a wiping it says %+v, %v", name, m, ok)
		}
		must(t, s.Close())
		s = openFile(t, path)
		if known, _ := suspects(t, s); !known {
			t.Errorf("%s: the next process does not know", name)
		}
	}
}

// Whenever a process is killed, the next one knows which pages may have something to wipe: the log that is left says
// what was written since the mark.
func TestKilledProcessesLeaveWhatIsKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	ids := largeFile(t, path)
	s := openFile(t, path)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	for n := range 12 {
		switch n {
		case 0, 2:
			save(t, s, strings.Repeat(fmt.Sprint("another note ", n, " "), 30))
		case 1, 6, 9:
			eraseOne(t, s, ids[n])
		case 3:
			must(t, f.truncateLog(t.Context()))
		case 7:
			db, err := f.cutter()
			must(t, err)
			_, _, err = checkpoint(db, "PASSIVE")
			must(t, err)
		default:
			save(t, s, strings.Repeat("filler ", 10*n))
		}
		left := openFile(t, copyFiles(t, path))
		if known, pages := suspects(t, left); n != 3 && n != 2 && !known {
			t.Errorf("killed after step %d: known %v, %d pages", n, known, pages.Len())
		}
		must(t, left.Close())
	}
	// A power cut, or a kill in the middle of a commit, takes frames from the end of the log.
	log, err := os.Stat(path + "-wal")
	must(t, err)
	for range 12 {
		cut := copyFiles(t, path)
		must(t, os.Truncate(cut+"-wal", rand.Int64N(log.Size())))
		left := openFile(t, cut)
		suspects(t, left)
		must(t, left.Close())
	}
}

// Several processes, some of which end or are killed, older builds and other programs write to one file. No page that
// has something to wipe is unknown to a process that believes to know them.
func TestWhoeverWritesToAFileIsFollowed(t *testing.T) {
	t.Parallel()
	base := filepath.Join(t.TempDir(), "x.db")
	ids := largeFile(t, base)
	looks, knew := 0, 0
	for seed := range seeds(markSeeds) {
		rng := rand.New(rand.NewPCG(seed, 2))
		path := copyFiles(t, base)
		stores := []*Store{openFile(t, path)}
		left := append([]loci.ID(nil), ids...)
		for range markSteps {
			at := rng.IntN(len(stores))
			s := stores[at]
			f, err := s.acquire(t.Context(), testTenant)
			must(t, err)
			switch step := rng.IntN(20); step {
			case 0:
				if len(stores) < 3 {
					stores = append(stores, openFile(t, path))
				}
			case 1, 2:
				s.release(f)
				must(t, s.Close())
				stores[at] = openFile(t, path)
				f, err = stores[at].acquire(t.Context(), testTenant)
				must(t, err)
			case 3:
				must(t, f.truncateLog(t.Context()))
			case 4:
				db, err := f.cutter()
				must(t, err)
				if _, _, err := checkpoint(db, "PASSIVE"); err != nil && !isBusy(err) {
					t.Fatal(err)
				}
			case 5: // another program
				outside(t, path, fmt.Sprintf("UPDATE record SET text = CAST(text || x'2020202020202020' AS BLOB) WHERE n %% 13 = %d", rng.IntN(13)))
			case 6: // an earlier build
				outside(t, path, "BEGIN IMMEDIATE; UPDATE meta SET value = x'' WHERE key = 'follower' AND value <> x''; "+
					fmt.Sprintf("UPDATE record SET heading = zeroblob(%d) WHERE n %% 7 = 3; COMMIT", rng.IntN(90)))
			case 7:
				outside(t, path, "PRAGMA wal_checkpoint(TRUNCATE)")
			case 8: // killed
				killed := openFile(t, copyFiles(t, path))
				suspects(t, killed)
				must(t, killed.Close())
			case 9, 10, 11:
				n := rng.IntN(len(left))
				must(t, f.erase(t.Context(), func(x *tx) error {
					return x.eraseAll([]loci.Erase{{ID: left[n], Version: 1}}, nil)
				}))
				left = append(left[:n], left[n+1:]...)
				if rng.IntN(2) == 0 {
					must(t, f.awaitScrub(t.Context(), true))
				}
			default:
				save(t, stores[at], strings.Repeat(fmt.Sprint("a note ", step, " "), 1+rng.IntN(60)))
			}
			stores[at].release(f)
			known, _ := suspects(t, stores[rng.IntN(len(stores))])
			if looks++; known {
				knew++
			}
		}
		for _, s := range stores {
			must(t, s.Close())
		}
	}
	if knew < looks/3 || knew == looks {
		t.Errorf("of %d looks %d knew the pages: the test shows little", looks, knew)
	}
}

// Commits of this process that come right before it cuts the log are seen.
func TestWhatIsCutIsSeenBefore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s := openFile(t, path)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	ctx, stop := context.WithCancel(t.Context())
	var cutting sync.WaitGroup
	cutting.Go(func() {
		for ctx.Err() == nil {
			_ = f.truncateLog(ctx)
		}
	})
	for n := range 150 {
		save(t, s, fmt.Sprint("beside cuts ", n))
		must(t, f.write(t.Context(), func(*tx) error {
			if !f.touched.known {
				t.Errorf("after %d commits it is not known what was written", n)
			}
			return nil
		}))
	}
	stop()
	cutting.Wait()
	suspects(t, s)
}

// Many frames have their pages in several regions of the index of the log.
func TestLongLogsAreFollowed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s := openFile(t, path)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	must(t, f.write(t.Context(), func(x *tx) error {
		for range 12 {
			if err := x.exec("UPDATE record SET text = zeroblob(100000 + n) WHERE n % 6 = 1"); err != nil {
				return err
			}
		}
		return x.exec("INSERT INTO meta VALUES ('much', zeroblob(40000000))")
	}))
	known, pages := suspects(t, s)
	if !known || pages.Len() < 2*regionFrames || len(f.touched.regions) < 2 {
		t.Errorf("known %v, %d pages, %d regions", known, pages.Len(), len(f.touched.regions))
	}
}

// A migration writes pages that no process has seen: what the file says goes first.
func TestMigrationsTakeTheMarkAway(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	withoutFileList(t, path)
	db, err := openDB(path, writerPragmas)
	must(t, err)
	conn, err := db.Conn(t.Context())
	must(t, err)
	_, err = prepare(t.Context(), conn, DefaultTenant)
	must(t, err)
	var left []byte
	must(t, conn.QueryRowContext(t.Context(), "SELECT value FROM meta WHERE key = 'follower'").Scan(&left))
	if len(left) > 0 {
		t.Errorf("after a migration the file says %d bytes", len(left))
	}
	must(t, errors.Join(conn.Close(), db.Close()))
}

// What a server wipes when nobody erases, the first erase finds wiped. A file at rest, and a small one, stay as they are.
func TestAServerWipesAhead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	ids := largeFile(t, path)
	s := openFile(t, path)
	must(t, s.WipeAhead(t.Context(), testTenant))
	if m, ok := says(t, s); !ok || !m.Rest {
		t.Errorf("the file at rest has the mark %+v, %v", m, ok)
	}
	must(t, s.Close())
	outside(t, path, "UPDATE meta SET value = x'' WHERE key = 'follower'")
	s = openFile(t, path)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	must(t, s.WipeAhead(t.Context(), testTenant))
	if m, ok := says(t, s); !ok || m.Rest || m.Unwiped.Len() > mostNamed {
		t.Errorf("it says %+v, %v", m, ok)
	}
	asked := f.touched.asked
	if asked == 0 {
		t.Error("nothing was wiped")
	}
	eraseOne(t, s, ids[0])
	if more := f.touched.asked - asked; more > 100 {
		t.Errorf("the erase asked SQLite for %d pages", more)
	}
	if known, pages := suspects(t, s); !known || pages.Len() > mostNamed {
		t.Errorf("known %v, %d pages", known, pages.Len())
	}
	for n := range 400 {
		save(t, s, strings.Repeat(fmt.Sprint("many more ", n, " "), 250))
	}
	if _, pages := suspects(t, s); pages.Len() <= mostNamed {
		t.Fatalf("%d pages were written", pages.Len())
	}
	must(t, s.WipeAhead(t.Context(), testTenant))
	if known, pages := suspects(t, s); !known || pages.Len() > mostNamed {
		t.Errorf("wiped ahead: known %v, %d pages", known, pages.Len())
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.WipeAhead(ctx, testTenant); !errors.Is(err, context.Canceled) {
		t.Errorf("of a caller who went: %v", err)
	}
	small := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	must(t, small.WipeAhead(t.Context(), testTenant))
	save(t, small, "walrus")
	must(t, small.WipeAhead(t.Context(), testTenant))
	if n := small.files[testTenant].touched.asked; n != 0 {
		t.Errorf("in a small file SQLite was asked for %d pages", n)
	}
}

// A mark names its log, or the log has it in its first commit. Beside any other log it says nothing, though nobody took
// it away: an earlier mark comes back where a program of another kind puts an old page in its place.
func TestAMarkOfAnotherLogIsNotBelieved(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s := openFile(t, path)
	save(t, s, "takes the mark of rest away")
	m, ok := says(t, s)
	if !ok || m.Rest || m.Frames > 0 {
		t.Fatalf("it says %+v, %v", m, ok)
	}
	old, _ := m.Bytes()
	must(t, s.Close())
	outside(t, path, fmt.Sprintf("UPDATE meta SET value = x'%x' WHERE key = 'follower'", old))
	killed := openFile(t, path)
	if known, _ := suspects(t, killed); known {
		t.Error("a mark of a log that is gone is believed")
	}
	must(t, killed.Close())
	outside(t, path, fmt.Sprintf("UPDATE meta SET value = x'%x' WHERE key = 'follower'", old))
	holds, err := openDB(path, readerPragmas) // else the log would go with who writes
	must(t, err)
	must(t, holds.PingContext(t.Context()))
	outside(t, path, "UPDATE record SET heading = zeroblob(50) WHERE n % 7 = 3") // begins a log
	s = openFile(t, path)
	if known, _ := suspects(t, s); known {
		t.Error("a mark is believed beside a log that another program began")
	}
	must(t, holds.Close())
}

// A file is closed with few pages to wipe: where many were written they are wiped before.
func TestAClosedFileNamesFewPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s := openFile(t, path)
	holds, err := s.Holds(t.Context(), testTenant)
	if m, ok := says(t, s); err != nil || !holds || !ok || !m.Rest || m.Unwiped.Len() > mostNamed {
		t.Errorf("it says %+v, %v", m, ok)
	}
}

// The transaction that leaves a mark of rest may write more than the mark: then another one leaves it.
func TestAMarkOfRestNamesWhatItsTransactionWrote(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	largeFile(t, path)
	s := openFile(t, path)
	save(t, s, "walrus")
	f := s.files[testTenant]
	must(t, f.wiping(t.Context(), func(x *tx) error {
		if many, err := x.rest(); many || err != nil {
			t.Errorf("many: %v, %v", many, err)
		}
		return x.exec("UPDATE record SET heading = zeroblob(40) WHERE n % 3 = 1") // pages that the mark does not name
	}))
	if !f.touched.restless.Load() {
		t.Error("the mark is left as it is")
	}
	must(t, f.rest(t.Context()))
	if m, ok := says(t, s); !ok || !m.Rest || f.touched.restless.Load() {
		t.Errorf("it says %+v, %v", m, ok)
	}
	must(t, s.Close())
	s = openFile(t, path)
	suspects(t, s)
}
