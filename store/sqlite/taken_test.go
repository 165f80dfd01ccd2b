package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// A panic of whoever takes rows is the caller's, and leaves nothing locked.
func TestPanicsOfTakers(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	change := note("a walrus")
	change.Put[0].Record.Slot = "a"
	if err := s.Apply(t.Context(), testTenant, change); err != nil {
		t.Fatal(err)
	}
	filter := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	page := loci.Page{Order: loci.SlotAscending, Brief: true, NoText: true, Limit: 5}
	page.Each = func(*loci.Record) { panic("mine") }
	for range 50 { // more than there are connections
		called := make(chan any, 1)
		go func() {
			defer func() { called <- recover() }()
			_, _, err := s.Records(t.Context(), testTenant, filter, page)
			t.Errorf("no panic, and %v", err)
		}()
		select {
		case p := <-called:
			if p != "mine" {
				t.Fatalf("the panic is %v", p)
			}
		case <-time.After(5 * time.Second):
			t.Fatal("it hangs")
		}
	}
	seen := 0
	page.Each = func(*loci.Record) { seen++ }
	for range 20 { // on every connection
		if _, _, err := s.Records(t.Context(), testTenant, filter, page); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Apply(t.Context(), testTenant, note("another one")); err != nil || seen != 20 {
		t.Errorf("afterwards %d records are seen: %v", seen, err)
	}
}

// What names no taker is an error: other programs' connections know the function, too.
func TestWhatNamesNoTaker(t *testing.T) {
	t.Parallel()
	db := giver(t)
	defer takers.leave(takers.enter(&briefRows{})) // so that there are some
	for _, arguments := range []string{"", "NULL", "'a'", "-1", "1000000", "1 << 62"} {
		if err := db.QueryRow("SELECT " + takeFunction + "(" + arguments + ")").Scan(new(any)); err == nil {
			t.Errorf("(%s) is no error", arguments)
		}
		if arguments == "" {
			continue
		}
		if err := db.QueryRow("SELECT " + placeFunction + "(" + arguments + ", 7)").Scan(new(any)); err == nil {
			t.Errorf("the place of (%s) is no error", arguments)
		}
	}
}

// A taker of one place is told its number. No other taker has a place, and no place has another number than a whole one.
func TestPlacesOfTakers(t *testing.T) {
	t.Parallel()
	db := giver(t)
	files, brief := &fileRows{}, &briefRows{}
	for _, c := range []struct {
		taker taker
		place string
		want  int64
	}{{files, "7", 7}, {files, "NULL", 0}, {files, "'a'", 0}, {brief, "7", 0}} {
		err := lendTo(c.taker, func(number int64) error {
			var place int64
			err := db.QueryRow("SELECT "+placeFunction+"(?, "+c.place+")", number).Scan(&place)
			if err == nil && (place != c.want || files.place != c.want) {
				t.Errorf("place %s is %d, and the taker has %d", c.place, place, files.place)
			}
			return err
		})
		if (err == nil) != (c.want != 0) {
			t.Errorf("%T, place %s: %v", c.taker, c.place, err)
		}
	}
}

// A query that has ended holds nothing.
func TestTakersLeave(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	mine := &wholeRows{yield: func(*loci.Record) bool { return true }}
	err := s.files[testTenant].taken(t.Context(), mine, func(number int64) (string, []any) {
		if g, _ := (*takers.at.Load())[number].(*guarded); g == nil || g.taker != mine {
			t.Error("the number is not that of the query's own")
		}
		return "SELECT " + takeFunction + "(?, " + recordColumns + ") FROM record r JOIN namespace s ON s.n = r.namespace", []any{number}
	})
	for number, other := range *takers.at.Load() {
		if g, _ := other.(*guarded); g != nil && g.taker == mine {
			t.Errorf("it is still taker %d: %v", number, err)
		}
	}
}
