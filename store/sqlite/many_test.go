package sqlite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// many puts so many records that differ in all that the kept counts tell apart, linked in a
// row, each with a reply that names it.
func many(t *testing.T, s *Store, n int) (ids []loci.ID) {
	t.Helper()
	at := time.UnixMilli(1_700_000_000_000).UTC()
	for i := range n {
		c := note(fmt.Sprint("walrus ", i))
		r := &c.Put[0].Record
		r.Namespace = loci.Namespace{[]string{"u", "v"}[i%2]}
		c.Events[0].Namespace = r.Namespace
		r.Kind = []loci.Kind{loci.KindFact, loci.KindRule, loci.KindFact}[i%3]
		r.Live = i%5 != 0
		r.Status = []string{"", "active", "superseded", ""}[i%4]
		r.Heading = []string{"", "user colour"}[i%2]
		r.Attributes, r.Body = json.RawMessage(`{"a":1}`), json.RawMessage(`{"b":22}`)
		if i%7 == 0 {
			r.Passages = nil
		} else {
			for _, model := range []string{"few", "most"}[i%2:] {
				c.Put[0].Vectors = append(c.Put[0].Vectors, loci.Vectors{
					Space: loci.Space{Model: model, Dims: 2}, Rows: [][]float32{{0, 1}},
				})
			}
		}
		if i > 0 {
			c.Links = []loci.Link{{From: r.ID, Type: loci.LinkSupports, To: ids[i-1], At: at}}
		}
		c.Reply = &loci.Reply{
			Key: fmt.Sprint("key ", i), Fingerprint: "f", Value: json.RawMessage("{}"), Record: r.ID,
			At: at, ExpiresAt: at.Add(time.Hour),
		}
		c.Events[0].Payload, c.Events[0].Nonce = []byte(`{"c":3}`), make([]byte, 16)
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
	}
	return ids
}

// gone is the erase of records in one change, told or not.
func gone(ids []loci.ID, told bool) (c loci.Change) {
	for _, id := range ids {
		c.Erase = append(c.Erase, loci.Erase{ID: id, Version: 1})
		if told {
			e := note("").Events[0]
			e.Type, e.Entity = loci.EventErased, id
			c.Events = append(c.Events, e)
		}
	}
	return c
}

// asks compares what a query counts in the file of a store.
func asks(t *testing.T, s *Store, query string, want int64) {
	t.Helper()
	var n int64
	if err := s.files[testTenant].readRow(t.Context(), query, nil, &n); err != nil || n != want {
		t.Errorf("%s says %d, %v; want %d", query, n, err, want)
	}
}

// checked fails the test where a check finds anything.
func checked(t *testing.T, s *Store) {
	t.Helper()
	if found, err := s.Check(t.Context(), testTenant); err != nil || len(found) > 0 {
		t.Errorf("a check finds %q, %v", found, err)
	}
}

// Many records that are erased at once are taken off all counts, and take with them what
// belongs to them.
func TestManyErasedAtOnce(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	ids := many(t, s, 400)
	checked(t, s)

	var untold *loci.UntoldError
	err := s.Apply(t.Context(), testTenant, gone(ids[:300], false))
	if !errors.As(err, &untold) || !slices.Equal(untold.IDs, ids[:300]) {
		t.Fatalf("an erase that nobody is told of: %v", err)
	}
	half := gone(ids[:300], true)
	half.Put = []loci.Put{{Record: loci.Record{
		ID: ids[350], Kind: loci.KindFact, Namespace: loci.Namespace{"u"}, Version: 5, Live: true,
		CreatedAt: time.Now(), UpdatedAt: time.Now(),
	}}}
	wantCode(t, s.Apply(t.Context(), testTenant, half), loci.Conflict)
	asks(t, s, "SELECT count(*) FROM record", 400)
	asks(t, s, "SELECT count(*) FROM erasing", 0)
	checked(t, s)

	if err := s.Apply(t.Context(), testTenant, gone(ids[:300], true)); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]int64{
		"SELECT count(*) FROM record":                                            100,
		"SELECT sum(records) FROM tally":                                         100,
		"SELECT count(*) FROM tally WHERE records = 0":                           0,
		"SELECT records FROM holding":                                            100,
		"SELECT count(*) FROM link":                                              99,
		"SELECT count(*) FROM reply":                                             100,
		"SELECT count(*) FROM erased":                                            300,
		"SELECT count(*) FROM erasing":                                           0,
		"SELECT count(*) FROM event WHERE nonce IS NOT NULL":                     100,
		"SELECT count(*) FROM vector WHERE record NOT IN (SELECT n FROM record)": 0,
	} {
		asks(t, s, query, want)
	}
	checked(t, s)

	// There may be links alone, replies alone, and neither.
	for i, c := range []struct{ before, after string }{
		{"DELETE FROM reply", "SELECT count(*) - 69 FROM link"},
		{"DELETE FROM link", "SELECT count(*) FROM reply"},
		{"DELETE FROM reply", "SELECT count(*) - 10 FROM record"},
	} {
		if err := s.files[testTenant].write(t.Context(), func(x *tx) error {
			if i == 1 {
				err := x.exec("INSERT INTO reply SELECT id, id, id, id, n, n FROM record WHERE n <= (SELECT min(n) + 29 FROM record)")
				if err != nil {
					return err
				}
			}
			return x.exec(c.before)
		}); err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), testTenant, gone(ids[300+30*i:330+30*i], true)); err != nil {
			t.Fatal(err)
		}
		asks(t, s, c.after, 0)
		checked(t, s)
	}
}

// What no index ever held is not listed for those who follow; what one may hold still is, though
// it has nothing to search any more.
func TestOnlyWhatWasSearchedIsListedAsErased(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	var searched, emptied, never []loci.ID
	for range 12 {
		c := note("walrus")
		r := c.Put[0].Record
		searched = append(searched, r.ID)
		other, blank := note("seal"), note("")
		emptied, never = append(emptied, other.Put[0].Record.ID), append(never, blank.Put[0].Record.ID)
		blank.Put[0].Record.Kind, blank.Put[0].Record.Passages = "plain", nil
		for _, change := range []loci.Change{c, other, blank} {
			if err := s.Apply(t.Context(), testTenant, change); err != nil {
				t.Fatal(err)
			}
		}
		other.Put[0].Record.Version, other.Put[0].Record.Text, other.Put[0].Record.Passages = 2, "", nil
		if err := s.Apply(t.Context(), testTenant, other); err != nil {
			t.Fatal(err)
		}
	}
	listed := int64(0)
	for _, part := range []struct{ from, to int }{{0, 10}, {10, 12}} { // many at once, and few
		from, to := part.from, part.to
		c := gone(slices.Concat(searched[from:to], emptied[from:to], never[from:to]), true)
		for i := range c.Erase {
			if slices.Contains(emptied, c.Erase[i].ID) {
				c.Erase[i].Version = 2
			}
		}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
		listed += 2 * int64(to-from)
		asks(t, s, "SELECT count(*) FROM erased", listed)
	}
	asks(t, s, "SELECT count(*) FROM record", 0)
	checked(t, s)
}

// Whoever erases a row without saying so first, as an older build that still has the file open,
// leaves the counts right.
func TestRowsErasedByOthersAreCounted(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	many(t, s, 40)
	db, err := openDB(path, []string{"foreign_keys(ON)", "busy_timeout(5000)"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for _, query := range []string{
		"DELETE FROM link", "DELETE FROM vector WHERE record = 2", "DELETE FROM record WHERE n IN (2, 3, 5, 7, 8, 11)",
	} {
		if _, err := db.ExecContext(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	asks(t, s, "SELECT sum(records) FROM tally", 34)
	checked(t, s)
}

// A tenant that is erased leaves no counts, and is counted again from then on.
func TestErasedTenantIsCountedAgain(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	many(t, s, 40)
	if err := s.EraseTenant(t.Context(), testTenant); err != nil {
		t.Fatal(err)
	}
	asks(t, s, "SELECT (SELECT count(*) FROM tally) + (SELECT count(*) FROM erasing) + (SELECT records + bytes FROM holding)", 0)
	ids := many(t, s, 4)
	if err := s.Apply(t.Context(), testTenant, gone(ids[:2], true)); err != nil {
		t.Fatal(err)
	}
	asks(t, s, "SELECT sum(records) FROM tally", 2)
	checked(t, s)
}

// What somebody is told of is on the disk before: every commit waits for it but those of the
// steps of a delete, and of wiping.
func TestOnlyWhatIsToldWaitsForTheDisk(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant] // whose writer has nothing to do meanwhile
	x := &tx{f: f, conn: f.writeConn, stmts: map[string]*statement{}}
	x.forget()
	defer x.closeStatements()
	const waits, merely = 2, 1 // FULL and NORMAL
	for _, c := range []struct {
		what  string
		batch []*job
		want  int64
	}{
		{"a step", []*job{{more: true}}, merely},
		{"a write", []*job{{}}, waits},
		{"wiping", []*job{{first: true, erases: true}}, merely},
		{"a step and a write", []*job{{more: true}, {}}, waits},
		{"wiping and a step", []*job{{first: true, erases: true}, {more: true}}, merely},
		{"wiping and a write", []*job{{first: true, erases: true}, {}}, waits},
		{"the last step", []*job{{erases: true}}, waits},
	} {
		for _, j := range c.batch {
			j.run = func(x *tx) error {
				var n int64
				err := x.row("SELECT synchronous FROM pragma_synchronous", nil, &n)
				if n != c.want {
					t.Errorf("%s: synchronous is %d; want %d", c.what, n, c.want)
				}
				return err
			}
		}
		outcome, err := f.commit(x, c.batch)
		for _, j := range c.batch {
			if err != nil || outcome[j] != nil || len(outcome) != len(c.batch) {
				t.Fatalf("%s: %v, %v", c.what, outcome, err)
			}
		}
	}
}

// Steps that follow one another put the wiping off, though not for ever.
func TestStepsPutTheWipingOff(t *testing.T) {
	t.Parallel()
	now := time.Now()
	waiting := &scrubber{pause: time.Second, latest: now.Add(time.Minute)}
	if !waiting.putsOff(now) || waiting.putsOff(now.Add(59*time.Second)) {
		t.Error("a step puts the wiping off for ever, or not at all")
	}

	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	f := s.files[testTenant]
	f.scrub.mu.Lock()
	f.scrub.pause = time.Hour
	f.scrub.mu.Unlock()
	f.scrubLater()
	f.scrub.mu.Lock()
	latest, begun := f.scrub.latest, make(chan struct{})
	f.scrub.later.Stop()
	f.scrub.later, f.scrub.pause = time.AfterFunc(time.Hour, func() { close(begun) }), time.Millisecond
	f.scrub.mu.Unlock()
	f.scrubLater() // begins the pause again
	select {
	case <-begun:
	case <-time.After(20 * time.Second):
		t.Error("a step did not begin the pause again")
	}
	f.scrub.mu.Lock()
	defer f.scrub.mu.Unlock()
	if f.scrub.latest != latest {
		t.Error("a step put off when the wiping begins at the latest")
	}
	f.scrub.later = nil
}

// Whoever tells that something is gone which others erased waits until it is wiped, though it is
// another process that erased it.
func TestWhoFindsNothingWaitsForTheWiping(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_700_000_000_000).UTC()
	reply := &loci.Reply{Key: "k", Fingerprint: "f", Value: json.RawMessage("{}"), At: at, ExpiresAt: at.Add(time.Hour)}
	for what, c := range map[string]struct {
		other  bool
		change loci.Change
	}{
		"of this process":               {change: loci.Change{Settled: true}},
		"of another one":                {other: true, change: loci.Change{Settled: true}},
		"of this process, with a reply": {change: loci.Change{Settled: true, Reply: reply}},
	} {
		dir := t.TempDir()
		s, _, text := stepsBegun(t, dir, time.Hour)
		if len(filesWith(t, dir, text[:1])) == 0 {
			t.Fatal("what the step erased is wiped: this test shows nothing")
		}
		if c.other {
			s = openFile(t, filepath.Join(dir, "x.db"))
		}
		if err := s.Apply(t.Context(), testTenant, c.change); err != nil {
			t.Fatal(err)
		}
		if found := filesWith(t, dir, text[:1]); len(found) > 0 {
			t.Errorf("after a change that waits for an erase %s there is %s", what, found)
		}
	}
}

// Where nothing was ever kept, who finds nothing makes no file.
func TestWhoFindsNothingMakesNoFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	if err := s.Apply(t.Context(), testTenant, loci.Change{Settled: true}); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is a file: %v", err)
	}
}

// What was erased is listed for an index that follows it, for so many changes; at every thousandth
// change the older ones go. The floor says how far back the list reaches.
func TestErasedAreListedForAWhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	for _, c := range []struct{ seq, listed, floor int64 }{
		{erasedKept, 3, 0},
		{2*erasedKept - 1, 3, 0},
		{2 * erasedKept, 1, erasedKept},
		{2*erasedKept + 1000, 1, erasedKept + 1000},
	} {
		id := save(t, s, "walrus")
		exec1(t, path, fmt.Sprintf(`UPDATE meta SET value = %d WHERE key = 'seq'; DELETE FROM erased;
			INSERT INTO erased (seq, id, namespace) VALUES (1, randomblob(16), 1), (%d, randomblob(16), 1), (%d, randomblob(16), 1)`,
			c.seq-1, max(2, c.seq-erasedKept), c.seq-erasedKept+1))
		if err := s.Apply(t.Context(), testTenant, gone([]loci.ID{id}, false)); err != nil {
			t.Fatal(err)
		}
		asks(t, s, "SELECT value FROM meta WHERE key = 'seq'", c.seq)
		asks(t, s, fmt.Sprint("SELECT count(*) FROM erased WHERE seq < ", c.seq), c.listed)
		asks(t, s, "SELECT value FROM meta WHERE key = 'erased_floor'", c.floor)
	}
}
