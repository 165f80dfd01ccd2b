package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// revised gives every fourth record an earlier state.
func revised(t *testing.T, s *Store, ids []loci.ID) {
	t.Helper()
	records := noted(t, s, false, ids...)
	for i := range records {
		if r := &records[i]; r.ID[15]%4 == 0 {
			r.Version, r.UpdatedAt = 2, r.UpdatedAt.Add(time.Second)
			c := loci.Change{Put: []loci.Put{{Record: *r, SameText: true, Revisions: 3}}}
			must(t, s.Apply(t.Context(), testTenant, c))
		}
	}
}

// Many records go with all that belongs to them, and nothing else does, however they lie among others: in a row, so
// that ranges of numbers and ids say them; scattered, so that lists do; and both.
func TestManyAreErasedHoweverTheyLie(t *testing.T) {
	t.Parallel()
	for name, goes := range map[string]func(i int) bool{
		"in a row":      func(i int) bool { return i >= 50 && i < 250 },
		"all but one":   func(i int) bool { return i != 150 },
		"every second":  func(i int) bool { return i%2 == 0 },
		"every seventh": func(i int) bool { return i%7 == 0 },
		"the ends":      func(i int) bool { return i < 30 || i >= 270 },
		"rows and gaps": func(i int) bool { return i%60 < 40 || i%3 == 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
			ids := many(t, s, 300)
			revised(t, s, ids)
			var going, staying []loci.ID
			for i, id := range ids {
				if goes(i) {
					going = append(going, id)
				} else {
					staying = append(staying, id)
				}
			}
			stays, args := inList("", len(staying)), values(staying)
			counts := []string{ // of what stays, before and after
				"SELECT count(*) FROM record WHERE id" + stays,
				"SELECT count(*) FROM vector WHERE record IN (SELECT n FROM record WHERE id" + stays + ")",
				"SELECT count(*) FROM revision WHERE record IN (SELECT n FROM record WHERE id" + stays + ")",
				"SELECT count(*) FROM reply WHERE record" + stays,
				"SELECT count(*) FROM event WHERE nonce IS NOT NULL AND payload IS NOT NULL AND entity" + stays,
			}
			var before []int64
			f := s.files[testTenant]
			count := func(query string, args ...any) (n int64) {
				t.Helper()
				must(t, f.readRow(t.Context(), query, args, &n))
				return n
			}
			for _, query := range counts {
				before = append(before, count(query, args...))
			}
			c := gone(going, true)
			for i := range c.Erase {
				if id := &c.Erase[i].ID; id[15]%4 == 0 {
					c.Erase[i].Version = 2
				}
			}
			must(t, s.Apply(t.Context(), testTenant, c))
			for i, query := range counts {
				if after := count(query, args...); after != before[i] {
					t.Errorf("%d are there of %d, by %.60s", after, before[i], query)
				}
			}
			for what, query := range map[string]string{
				"records": "SELECT count(*) FROM record", "revisions": "SELECT count(*) FROM revision",
				"vectors": "SELECT count(*) FROM vector", "replies": "SELECT count(*) FROM reply",
				"events with details": "SELECT count(*) FROM event WHERE nonce IS NOT NULL OR payload IS NOT NULL",
			} {
				want := map[string]int64{"records": before[0], "vectors": before[1], "revisions": before[2],
					"replies": before[3], "events with details": before[4]}[what]
				if n := count(query); n != want {
					t.Errorf("%d %s are left; want %d", n, what, want)
				}
			}
			asks(t, s, "SELECT count(*) FROM erased", int64(len(going)))
			checked(t, s)
			save(t, s, "counted by the triggers again")
			checked(t, s)
		})
	}
}

// What lies together is asked for without a list of it, however much it is.
func TestWhatLiesTogetherIsErasedByRanges(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	ids := many(t, s, 200)
	must(t, s.files[testTenant].write(t.Context(), func(x *tx) error { return x.exec("DELETE FROM link") }))
	must(t, s.files[testTenant].write(t.Context(), func(x *tx) error { return x.exec("DELETE FROM reply") }))
	own := ownTx(s.files[testTenant])
	defer own.closeStatements()
	c := gone(ids[20:180], true)
	j := &job{run: func(tx *tx) error { return tx.apply(&c) }, erases: true, large: true, done: make(chan error, 1)}
	s.files[testTenant].commitBatch(own, []*job{j})
	must(t, <-j.done)
	for query := range own.stmts {
		if strings.Count(query, "?") > 2*longRun && !strings.Contains(query, " INTO event ") {
			t.Errorf("a list is asked for: %.80s", query)
		}
	}
	checked(t, s)
}

// Of ids that lie far from one another, no more rows are looked at than a list of them costs.
func TestARangeWithMuchElseIsLeft(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	ids := many(t, s, 120)
	var few []loci.ID
	for i := 0; i < len(ids); i += 10 {
		few = append(few, ids[i])
	}
	must(t, s.files[testTenant].write(t.Context(), func(x *tx) error {
		g := going{ids: few, wanted: map[loci.ID]int{}, found: make([]erasable, len(few))}
		rows := &erasableRows{g: &g, left: 18}
		query := "SELECT " + takeFunction + "(?, " + erasableColumns + ") FROM record WHERE id BETWEEN ? AND ?"
		err := x.taken(rows, query, around(few)...)
		if !errors.Is(err, errFull) {
			return fmt.Errorf("a page of 111 rows ends with %w", err)
		}
		if _, all, err := x.eventsOf(few); err != nil || all {
			return fmt.Errorf("events of %d among 111 are listed by a range: %w", len(few), err)
		}
		for i, id := range few {
			g.wanted[id] = i
		}
		if err := x.find(&g); err != nil || len(g.numbers) != len(few) || g.counts.held.Records != int64(len(few)) {
			return fmt.Errorf("%d of %d are found and %d counted: %w", len(g.numbers), len(few), g.counts.held.Records, err)
		}
		return nil
	}))
}

// Foreign keys and triggers rest for the statements of an erase alone.
func TestForeignKeysAreCheckedAfterAnErase(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	ids := many(t, s, 40)
	must(t, s.Apply(t.Context(), testTenant, gone(ids[:20], true)))
	err := s.files[testTenant].write(t.Context(), func(x *tx) error {
		return x.exec("INSERT INTO vector (record, space, data) VALUES (12345, 1, x'00')")
	})
	if err == nil || !strings.Contains(err.Error(), "FOREIGN KEY") {
		t.Errorf("a vector of no record: %v", err)
	}
	must(t, s.files[testTenant].write(t.Context(), func(x *tx) error { // takes its vectors along, and is counted
		return x.exec("DELETE FROM record WHERE id = ?", ids[25][:])
	}))
	asks(t, s, "SELECT sum(records) FROM tally", 19)
	checked(t, s)
}
