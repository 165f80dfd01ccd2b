package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// aFile is a change that puts a file.
func aFile(place loci.Namespace, slot string) loci.Change {
	c := note("a text")
	r := &c.Put[0].Record
	r.Kind, r.Namespace, r.Slot, r.Status, r.Attributes = listedKind, place, slot, "file", []byte(`{"n":1}`)
	c.Events[0].Kind, c.Events[0].Namespace = r.Kind, r.Namespace
	return c
}

// filesOf are what a list of files shows, page by page.
func filesOf(t *testing.T, s *Store, f loci.Filter, limit int) (out []loci.Record) {
	t.Helper()
	p := loci.Page{Order: loci.SlotAscending, Brief: true, Limit: limit}
	if !listsFiles(shownColumns(&p, &f, p.Order), &f, p.Order) {
		t.Fatalf("%+v is no list of files", f)
	}
	for range 1000 {
		part, next, err := s.Records(t.Context(), testTenant, f, p)
		must(t, err)
		out = append(out, part...)
		if p.Cursor = next; next == "" {
			return out
		}
	}
	t.Fatal("the list has no end")
	return nil
}

// filesInRecords are the same, from whole records.
func filesInRecords(t *testing.T, s *Store, f loci.Filter) (out []loci.Record) {
	t.Helper()
	for p := (loci.Page{Order: loci.SlotAscending}); ; {
		part, next, err := s.Records(t.Context(), testTenant, f, p)
		must(t, err)
		for i := range part {
			out = append(out, part[i].Brief())
		}
		if p.Cursor = next; next == "" {
			return out
		}
	}
}

// Whatever becomes of files, one by one, many at once and by several callers, a list shows them as their records are.
func TestFileListsAreAsTheRecords(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	places := []loci.Namespace{{"u"}, {"u", "inner"}, {"v"}}
	base := time.UnixMilli(1_700_000_000_000).UTC()
	var all []loci.Record
	slot := func() string {
		dir := []string{"", "/a", "/a/b", "\xff", "a\x00b"}[random.IntN(5)]
		return dir + "\x00" + fmt.Sprint(random.IntN(1e9)) + strings.Repeat("x", random.IntN(3)*200)
	}
	change := func(r *loci.Record) {
		r.Slot, r.UpdatedAt = slot(), base.Add(time.Duration(random.IntN(1e6))*time.Millisecond)
		r.Status = []string{"", "file", "dir", "é"}[random.IntN(4)]
		r.Live = random.IntN(10) > 0
		long := `{"k":"` + strings.Repeat("v", random.IntN(1000)) + `"}`
		r.Attributes = []json.RawMessage{nil, json.RawMessage(`{}`), json.RawMessage(long)}[random.IntN(3)]
		r.ExpiresAt, r.EndsAt, r.DueAt = time.Time{}, time.Time{}, time.Time{}
		if random.IntN(8) == 0 {
			r.ExpiresAt = base.Add(time.Duration(random.IntN(100)) * time.Second)
		}
		if random.IntN(8) == 0 {
			r.EndsAt = base.Add(time.Duration(random.IntN(100)) * time.Second)
			r.DueAt = r.EndsAt
		}
	}
	made := func() loci.Change {
		c := aFile(places[random.IntN(len(places))], "-")
		r := &c.Put[0].Record
		if change(r); random.IntN(5) == 0 {
			r.Kind = loci.KindFact // which is in no list of files
		}
		if r.CreatedAt = base.Add(-time.Duration(random.IntN(100)) * time.Hour); random.IntN(9) == 0 {
			r.CreatedAt = time.UnixMilli(-5).UTC()
		}
		return c
	}
	// taken is a change that may be refused, as a slot may be taken.
	taken := func(c loci.Change) bool {
		t.Helper()
		err := s.Apply(t.Context(), testTenant, c)
		if err != nil && !errors.Is(err, loci.ErrConflict) {
			t.Fatal(err)
		}
		return err == nil
	}
	compare := func(what string) {
		t.Helper()
		for _, place := range append(places, loci.Namespace{"none"}) {
			f := loci.Filter{Within: []loci.Namespace{place}, Exact: true, Kinds: []loci.Kind{listedKind}}
			f.NotLive = random.IntN(2) == 0
			if random.IntN(2) == 0 {
				f.At = base.Add(time.Duration(random.IntN(100)) * time.Second)
			}
			if random.IntN(2) == 0 {
				f.Slots = loci.SlotRange{From: []string{"", "/a\x00", "/a/"}[random.IntN(3)], To: []string{"", "/a\x01", "/b"}[random.IntN(3)]}
			}
			if random.IntN(3) == 0 {
				f.Statuses = []string{"file", ""}
			}
			got, want := filesOf(t, s, f, 1+random.IntN(60)), filesInRecords(t, s, f)
			if len(got) != len(want) {
				t.Fatalf("seed %d, after %s: a list of %+v has %d files; want %d", seed, what, f, len(got), len(want))
			}
			for i := range got {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Fatalf("seed %d, after %s: a list shows\n%+v; want\n%+v", seed, what, got[i], want[i])
				}
			}
		}
	}
	for range 60 {
		switch random.IntN(6) {
		case 0: // many in one change
			var c loci.Change
			for range 1 + random.IntN(80) {
				one := made()
				c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
			}
			if taken(c) {
				for i := range c.Put {
					all = append(all, c.Put[i].Record)
				}
			}
			compare("a large change")
		case 1: // of several callers
			var callers sync.WaitGroup
			var mu sync.Mutex
			for range 40 {
				c := made()
				callers.Go(func() {
					if err := s.Apply(t.Context(), testTenant, c); err == nil {
						mu.Lock()
						defer mu.Unlock()
						all = append(all, c.Put[0].Record)
					} else if !errors.Is(err, loci.ErrConflict) {
						t.Error(err)
					}
				})
			}
			callers.Wait()
			compare("many callers")
		case 2: // changes, some of them moves alone, and slots that pass from one to another
			moves := random.IntN(2) == 0
			var c loci.Change
			var changed []int
			for i := range all {
				r := all[i]
				movable := r.Kind == listedKind && r.Namespace.Equal(places[0])
				if moves && !movable || !moves && (random.IntN(3) > 0 || len(changed) > 60) {
					continue
				}
				if r.Version++; moves {
					r.Slot = slot()
				} else {
					change(&r)
				}
				if i := len(changed); i == 3 && random.IntN(2) == 0 {
					r.Slot = all[changed[0]].Slot
				}
				c.Put = append(c.Put, loci.Put{Record: r, SameText: true, Moves: moves, Revisions: -1})
				changed = append(changed, i)
			}
			if len(changed) > 0 && taken(c) {
				for at, i := range changed {
					all[i] = c.Put[at].Record
				}
			}
			compare("changes")
		case 3:
			for i := range all {
				if random.IntN(10) == 0 {
					all[i].ExpiresAt = base.Add(time.Duration(random.IntN(100)) * time.Second)
					touch := loci.Touch{ID: all[i].ID, At: base, ExpiresAt: all[i].ExpiresAt}
					must(t, s.Touch(t.Context(), testTenant, []loci.Touch{touch}))
				}
			}
			compare("touches")
		default: // erases, few and many
			n := min(len(all), []int{1, 3, 40}[random.IntN(3)])
			if n == 0 {
				continue
			}
			var c loci.Change
			for range n {
				i := random.IntN(len(all))
				c.Erase = append(c.Erase, loci.Erase{ID: all[i].ID, Version: all[i].Version})
				all = append(all[:i], all[i+1:]...)
			}
			must(t, s.Apply(t.Context(), testTenant, c))
			compare("erases")
		}
	}
	asks(t, s, wrongFiles, 0)
	must(t, s.EraseTenant(t.Context(), testTenant))
	asks(t, s, "SELECT count(*) FROM file_list", 0)
}

// Files that move or go together are listed where they are, whether they lie together or among others.
func TestFilesThatMoveTogether(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	place := loci.Namespace{"u"}
	var made loci.Change
	for i := range 300 {
		c := aFile(place, fmt.Sprintf("/d\x00%03d", i))
		made.Put, made.Events = append(made.Put, c.Put...), append(made.Events, c.Events...)
	}
	must(t, s.Apply(t.Context(), testTenant, made))
	f := loci.Filter{Within: []loci.Namespace{place}, Exact: true, Kinds: []loci.Kind{listedKind}}
	for _, every := range []int{1, 2, 7} { // of the files
		var moves, goes loci.Change
		for i := 0; i < len(made.Put); i += every {
			r := &made.Put[i].Record
			r.Version, r.Slot = r.Version+1, fmt.Sprintf("/to %d\x00%s", every, r.Slot)
			moves.Put = append(moves.Put, loci.Put{Record: *r, SameText: true, Moves: true, Revisions: -1})
			if every > 1 && i%5 == 0 && i > 0 {
				goes.Erase = append(goes.Erase, loci.Erase{ID: r.ID, Version: r.Version})
			}
		}
		made.Put = slices.DeleteFunc(made.Put, func(p loci.Put) bool {
			return slices.ContainsFunc(goes.Erase, func(e loci.Erase) bool { return e.ID == p.Record.ID })
		})
		for i, c := range []loci.Change{moves, goes} {
			must(t, s.Apply(t.Context(), testTenant, c))
			if got, want := filesOf(t, s, f, 1000), filesInRecords(t, s, f); !reflect.DeepEqual(got, want) {
				what := []string{"moved", "gone"}[i]
				t.Errorf("where one of %d files has %s, %d are listed; want %d", every, what, len(got), len(want))
			}
		}
	}
	asks(t, s, wrongFiles, 0)
}

// A list ends where its place does, though another place has files that would come next in it.
func TestFileListsEndWithTheirPlace(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	for _, place := range []string{"first", "second", "third"} {
		for _, slot := range []string{"/d\x00a", "/d\x00b", "/e\x00c"} {
			must(t, s.Apply(t.Context(), testTenant, aFile(loci.Namespace{place}, slot+" of "+place)))
		}
	}
	for _, c := range []struct {
		place    string
		from, to string
		want     int
	}{
		{"first", "", "", 3}, {"second", "", "", 3}, {"third", "", "", 3}, {"fourth", "", "", 0}, {"fourth", "/d", "", 0},
		{"first", "/d\x00", "/d\x01", 2}, {"first", "/d\x00", "", 3}, {"first", "/f", "", 0}, {"first", "/f", "/z", 0},
		{"second", "/e", "/z", 1}, {"third", "/z", "", 0}, {"first", "", "/d", 0},
	} {
		f := loci.Filter{Within: []loci.Namespace{{c.place}}, Exact: true, Kinds: []loci.Kind{listedKind},
			Slots: loci.SlotRange{From: c.from, To: c.to}}
		for _, limit := range []int{1, 2, 100} {
			got := filesOf(t, s, f, limit)
			if len(got) != c.want {
				t.Errorf("%+v shows %d files; want %d", c, len(got), c.want)
			}
			for _, r := range got {
				if !strings.HasSuffix(r.Slot, " of "+c.place) {
					t.Errorf("%+v shows %q", c, r.Slot)
				}
			}
		}
	}
}

// A list reads the table alone, and of records only those whose value is not there.
func TestFileListsReadTheirTableAlone(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	place := loci.Namespace{"u"}
	must(t, s.Apply(t.Context(), testTenant, aFile(place, "a")))
	large := aFile(place, "b")
	large.Put[0].Record.Attributes = []byte(`{"k":"` + strings.Repeat("v", 1000) + `"}`)
	must(t, s.Apply(t.Context(), testTenant, large))
	asks(t, s, "SELECT count(*) FROM file_list WHERE value IS NULL", 1)
	f := loci.Filter{Within: []loci.Namespace{place}, Exact: true, Kinds: []loci.Kind{listedKind}}
	query, args := filesQuery(&f, nil, 0)
	got := plan(t, s.files[testTenant].readDB, query, args...)
	if !strings.HasPrefix(got, "SEARCH file_list USING PRIMARY KEY (key>?)") || strings.Contains(got, "SCAN") || strings.Contains(got, "TEMP") {
		t.Errorf("the plan is\n%s", got)
	}
	outside(t, pathOfFile(s), "UPDATE file_list SET value = unhex(replace(hex(value), hex('\"n\":1'), hex('\"n\":2'))) WHERE value IS NOT NULL")
	if got := filesOf(t, s, f, 10); len(got) != 2 || string(got[0].Attributes) != `{"n":2}` || len(got[1].Attributes) < 1000 {
		t.Errorf("%+v", got)
	}
}

func pathOfFile(s *Store) string { return s.files[testTenant].path }

// What is not listed as it is, missing or too much is found by a check, and put right.
func TestWrongFileListsAreMadeAgain(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	place := loci.Namespace{"u"}
	for i := range 5 {
		must(t, s.Apply(t.Context(), testTenant, aFile(place, fmt.Sprint(i))))
	}
	f := loci.Filter{Within: []loci.Namespace{place}, Exact: true, Kinds: []loci.Kind{listedKind}}
	want := filesOf(t, s, f, 10)
	for _, damage := range []string{
		"DELETE FROM file_list WHERE n = (SELECT min(n) FROM file_list)",
		"UPDATE file_list SET value = x'00'", "UPDATE file_list SET value = NULL", "UPDATE file_list SET n = 77",
		"UPDATE file_list SET key = CAST(key || x'00' AS BLOB)", "INSERT INTO file_list VALUES (x'01', NULL, 77)", "DELETE FROM file_list",
	} {
		outside(t, pathOfFile(s), damage)
		found, err := s.Check(t.Context(), testTenant)
		if err != nil || len(found) != 1 || !strings.Contains(found[0], "the list of files") {
			t.Errorf("%s: a check finds %q, %v", damage, found, err)
		}
		checked(t, s)
		if got := filesOf(t, s, f, 10); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: behind a check the list is %+v", damage, got)
		}
	}
}

// Files of a file that an older build made are listed.
func TestOlderFilesGetAFileList(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	place := loci.Namespace{"u"}
	for i := range 5 {
		must(t, s.Apply(t.Context(), testTenant, aFile(place, fmt.Sprint(i))))
	}
	f := loci.Filter{Within: []loci.Namespace{place}, Exact: true, Kinds: []loci.Kind{listedKind}}
	want := filesOf(t, s, f, 10)
	must(t, s.Close())
	withoutFileList(t, path)
	s = openFile(t, path)
	if got := filesOf(t, s, f, 10); !reflect.DeepEqual(got, want) {
		t.Errorf("the list is %+v; want %+v", got, want)
	}
	checked(t, s)
}

// withoutFileList makes a file what it was before it had a list of files.
func withoutFileList(t *testing.T, path string) {
	t.Helper()
	outside(t, path, "PRAGMA user_version = 14", "DROP TRIGGER file_list_insert",
		"DROP TRIGGER file_list_update", "DROP TRIGGER file_list_delete", "DROP VIEW file_listed", "DROP TABLE file_list")
}

// A value that is not what it should be is an error, never a wrong file.
func TestFileRowsTakeWhatTheyShould(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	place := loci.Namespace{"u"}
	must(t, s.Apply(t.Context(), testTenant, aFile(place, "a")))
	var short, wide []byte
	read := s.files[testTenant].readDB
	must(t, read.QueryRow("SELECT value FROM file_list").Scan(&short))
	must(t, read.QueryRow("SELECT "+wideValue+" FROM record r").Scan(&wide))
	for what, value := range map[string][]byte{"a short value": short, "a wide value": wide} {
		taking := func() (*fileRows, *[]loci.Record) {
			got := &[]loci.Record{}
			take := func(r *loci.Record) bool { *got = append(*got, *r); return true }
			return &fileRows{place: number(short), briefRows: briefRows{yield: take}}, got
		}
		rows, got := taking()
		must(t, give(t, rows, []any{value}))
		if len(*got) != 1 || (*got)[0].Slot != "a" || string((*got)[0].Attributes) != `{"n":1}` {
			t.Fatalf("%s: %+v", what, *got)
		}
		for cut := range len(value) - len(`{"n":1}`) {
			rows, got := taking()
			if err := give(t, rows, []any{bytes.Clone(value[:cut])}); !errors.Is(err, errBrief) || len(*got) > 0 {
				t.Errorf("%d of %d bytes of %s give %+v, %v", cut, len(value), what, *got, err)
			}
		}
		for _, bad := range []any{nil, int64(5), 1.5} {
			if rows, _ := taking(); !errors.Is(give(t, rows, []any{bad}), errBrief) {
				t.Errorf("%v is taken for a file", bad)
			}
		}
	}
	rows := &fileRows{briefRows: briefRows{yield: func(*loci.Record) bool { t.Error("it is shown"); return true }}}
	if err := give(t, rows, []any{short}); !errors.Is(err, errFull) {
		t.Error(err)
	}
}
