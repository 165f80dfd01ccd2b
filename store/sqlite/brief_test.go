package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// give gives a taker a row as SQLite does.
func give(t *testing.T, rows taker, row []any) error {
	t.Helper()
	number := takers.enter(rows)
	defer takers.leave(number)
	query := "SELECT " + takeFunction + "(?" + strings.Repeat(", ?", len(row)) + ")"
	err := giver(t).QueryRow(query, append([]any{number}, row...)...).Scan(new(any))
	if why := rows.why(); why != nil || err == nil {
		return why
	}
	t.Fatal(err)
	return nil
}

// giver is a database without tables.
var giver = func() func(*testing.T) *sql.DB {
	open := sync.OnceValues(func() (*sql.DB, error) {
		db, err := sql.Open("sqlite", ":memory:")
		return db, errors.Join(err, registerFunctions())
	})
	return func(t *testing.T) *sql.DB {
		t.Helper()
		db, err := open()
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
}()

// briefRow is what SQLite gives of a row with a body.
func briefRow(id byte, slot string) []any {
	name := make([]byte, len(loci.ID{}))
	name[0] = id
	return []any{name, int64(1), int64(1), int64(5), int64(6), []byte(slot), []byte("{}"), "dir", []byte("{1}")}
}

// A row that is not what it should be is an error, never a wrong record; NULL leaves nothing of the row before.
func TestBriefRowsTakeWhatTheyShould(t *testing.T) {
	t.Parallel()
	var got []loci.Record
	taking := func() *briefRows {
		return &briefRows{bodies: true, yield: func(r *loci.Record) bool { got = append(got, *r); return true }}
	}
	rows := taking()
	full, empty := briefRow(1, "a"), briefRow(2, "b")
	empty[6], empty[7], empty[8] = nil, nil, nil
	if err := errors.Join(give(t, rows, full), give(t, rows, empty)); err != nil || len(got) != 2 {
		t.Fatal(got, err)
	}
	if r := got[0]; string(r.Attributes) != "{}" || r.Status != "dir" || string(r.Body) != "{1}" || r.Slot != "a" ||
		r.CreatedAt != milli(5) || r.UpdatedAt != milli(6) {
		t.Errorf("%+v", r)
	}
	if r := got[1]; r.Attributes != nil || r.Status != "" || r.Body != nil || r.ID[0] != 2 {
		t.Errorf("NULL left %+v", r)
	}
	for column := range 6 {
		for _, bad := range []any{nil, "1", 1.5, []byte{1}} {
			row := briefRow(3, "c")
			if row[column] = bad; column == 5 && (fmt.Sprint(bad) == "[1]" || bad == "1") {
				continue
			}
			if err := give(t, taking(), row); !errors.Is(err, errBrief) {
				t.Errorf("column %d is %v: %v", column, bad, err)
			}
		}
	}
	for _, descending := range []bool{false, true} {
		rows, slots := taking(), []string{"b", "a"}
		if rows.descending = descending; descending {
			slots = []string{"a", "b"}
		}
		if err := give(t, rows, briefRow(1, slots[0])); err != nil {
			t.Fatal(err)
		}
		if err := give(t, rows, briefRow(2, slots[1])); !errors.Is(err, errBrief) {
			t.Errorf("%q came in the wrong order: %v", slots, err)
		}
	}
}

// What a record of a page has is the caller's: nothing that is done to it reaches another.
func TestBriefRecordsAreApart(t *testing.T) {
	t.Parallel()
	var got []loci.Record
	rows := &briefRows{bodies: true, yield: func(r *loci.Record) bool { got = append(got, *r); return true }}
	for i := range 300 { // more than a piece of memory holds
		row := briefRow(byte(i), fmt.Sprintf("slot %03d", i))
		row[6] = fmt.Appendf(nil, `{"n":%d,"s":"%s"}`, i, strings.Repeat("x", 5*i))
		if err := give(t, rows, row); err != nil { // then its memory is SQLite's again
			t.Fatal(err)
		}
	}
	for i := range got {
		_ = append(got[i].Attributes, "what a caller appends"...)
	}
	for i, r := range got {
		want := fmt.Sprintf(`{"n":%d,"s":"%s"}`, i, strings.Repeat("x", 5*i))
		if string(r.Attributes) != want || r.Slot != fmt.Sprintf("slot %03d", i) || string(r.Body) != "{1}" {
			t.Fatalf("%d: %s, %s, %s", i, r.Slot, r.Attributes, r.Body)
		}
	}
}

// A page of names is given over row by row as the index has them, without a copy of each, and the rows
// behind it are not read. Whoever reads leaves nothing behind.
func TestBriefPagesAreReadInPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	here := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	for i := range 10 {
		change := note("a text")
		change.Put[0].Record.Slot = fmt.Sprint(i)
		if err := s.Apply(t.Context(), testTenant, change); err != nil {
			t.Fatal(err)
		}
	}
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(f)
	for _, order := range []loci.Order{loci.SlotAscending, loci.SlotDescending} {
		taken := 0
		if err := f.briefs(t.Context(), bodyColumns, &here, nil, order, 5, false, func(*loci.Record) bool {
			taken++
			return taken < 3
		}); err != nil || taken != 3 {
			t.Errorf("order %d: %d rows were read, want 3: %v", order, taken, err)
		}
	}
	for _, after := range []*page.Record{nil, {Slot: "3"}} {
		query, args := briefQuery(briefColumns, &here, after, loci.SlotAscending, 5, 0)
		if got := plan(t, f.readDB, query, args...); !strings.HasPrefix(got, "SEARCH r USING INDEX record_slot") || strings.Contains(got, "CO-ROUTINE") {
			t.Errorf("the plan is\n%s", got)
		}
	}
	query, args := briefQuery(briefColumns, &here, nil, loci.SlotDescending, 5, 0)
	if got := plan(t, f.readDB, query, args...); strings.Contains(got, "TEMP B-TREE") || strings.Contains(query, "LIMIT ?") {
		t.Errorf("%s is sorted, or compiled at each run: the plan is\n%s", query, got)
	}
}

// A query names its taker by the least number that is free, so that there are no more numbers than queries
// at once.
func TestTakersHaveNumbers(t *testing.T) {
	t.Parallel()
	var open numbered[taker]
	first, second := &briefRows{}, &briefRows{}
	if a, b := open.enter(first), open.enter(second); a != 0 || b != 1 || (*open.at.Load())[1] != second {
		t.Errorf("takers have the numbers %d and %d", a, b)
	}
	open.leave(0)
	if again := open.enter(second); again != 0 || len(*open.at.Load()) != 2 || (*open.at.Load())[0] != second {
		t.Errorf("a third one has the number %d of %d", again, len(*open.at.Load()))
	}
}

// A page goes on where the one before ended, though the slots of its rows were lent.
func TestPagesOfLentNames(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	here := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	var want []string
	for i := range 10 {
		change := note("a text")
		change.Put[0].Record.Slot = fmt.Sprintf("slot %d%s", i, strings.Repeat("x", i%3))
		want = append(want, change.Put[0].Record.Slot)
		if err := s.Apply(t.Context(), testTenant, change); err != nil {
			t.Fatal(err)
		}
	}
	for _, order := range []loci.Order{loci.SlotAscending, loci.SlotDescending} {
		var got []string
		take := func(r *loci.Record) { got = append(got, strings.Clone(r.Slot)) }
		p := loci.Page{Limit: 3, Order: order, Brief: true, Each: take}
		for pages := 0; pages == 0 || p.Cursor != "" && pages < 5; pages++ {
			_, next, err := s.Records(t.Context(), testTenant, here, p)
			if err != nil {
				t.Fatal(err)
			}
			p.Cursor = next
		}
		if order == loci.SlotDescending {
			slices.Reverse(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("order %d: %q, want %q", order, got, want)
		}
	}
}
