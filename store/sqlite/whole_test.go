package sqlite

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/loci-memory/loci"
)

// Records by their ids, which a context reads by the hundred, are taken where SQLite has them: a row takes a
// piece of memory for its texts, one for its JSON, one for its passages, and none for each column.
func TestRecordsByTheirIDsTakeLittleMemory(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	const records = 256
	var change loci.Change
	var asked loci.Filter
	for range records {
		one := note("a walrus")
		one.Put[0].Record.Slot, one.Put[0].Record.Status = one.Put[0].Record.ID.String(), "active"
		one.Put[0].Record.Body = []byte(`{"importance":5}`)
		change.Put, change.Events = append(change.Put, one.Put...), append(change.Events, one.Events...)
		asked.IDs = append(asked.IDs, one.Put[0].Record.ID)
	}
	if err := s.Apply(t.Context(), testTenant, change); err != nil {
		t.Fatal(err)
	}
	asked.Within = []loci.Namespace{{"u"}}
	n := testing.AllocsPerRun(5, func() {
		found, _, err := s.Records(t.Context(), testTenant, asked, loci.Page{Limit: records})
		if err != nil || len(found) != records || string(found[0].Body) != `{"importance":5}` {
			t.Errorf("%d found, %v", len(found), err)
		}
	})
	if n > 4.5*records {
		t.Errorf("%d records take %.0f pieces of memory", records, n)
	}
}

// So is a page of a list, of one place or of all.
func TestAPageTakesLittleMemory(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	const records = 64
	for range records + 1 {
		one := note("a walrus")
		one.Put[0].Record.Slot = one.Put[0].Record.ID.String()
		if err := s.Apply(t.Context(), testTenant, one); err != nil {
			t.Fatal(err)
		}
	}
	place := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	for name, f := range map[string]loci.Filter{"all": {Within: []loci.Namespace{{}}}, "one place": place} {
		for _, order := range []loci.Order{loci.NewestFirst, loci.OldestFirst, loci.SlotAscending} {
			n := testing.AllocsPerRun(5, func() {
				page := loci.Page{Limit: records, Order: order}
				found, next, err := s.Records(t.Context(), testTenant, f, page)
				if err != nil || len(found) != records || next == "" {
					t.Errorf("%s: %d found, %q, %v", name, len(found), next, err)
				}
			})
			if n > 5*records { // a value of each column would be 20
				t.Errorf("%s, order %v: %d records take %.0f pieces of memory", name, order, records, n)
			}
		}
	}
}

// A column that holds what it should not is an error, never a wrong value; NULL leaves nothing of the row before.
func TestWholeRowsTakeWhatTheyShould(t *testing.T) {
	t.Parallel()
	whole := func(id byte) []any {
		return []any{append(make([]byte, 15), id), "fact", []byte("u\x00"), []byte("slot"), 2, 1, 5, 6, 7, 3, 8, []byte("a text"), []byte{0, 6},
			`["t"]`, []byte("{}"), []byte(`{"b":1}`), "global", "active", 0.5, 1, 9, 10, 11, []byte("session"), 4, []byte("heading")}
	}
	var got []loci.Record
	taking := func() *wholeRows {
		return &wholeRows{yield: func(r *loci.Record) bool { got = append(got, *r); return len(got) != 2 }}
	}
	rows, bare := taking(), whole(2)
	for column := 3; column < len(bare); column++ {
		bare[column] = nil
	}
	if err := give(t, rows, whole(1)); err != nil {
		t.Fatal(err)
	}
	if err := give(t, rows, bare); !errors.Is(err, errFull) || len(got) != 2 {
		t.Fatal(got, err)
	}
	texts := func(r loci.Record) string { return r.Slot + r.Text + r.Sequence + r.Heading }
	if r := got[0]; texts(r) != "slota textsessionheading" || r.Decay.Rate != 1 || r.Position != 4 {
		t.Errorf("%+v", r)
	}
	want := loci.Record{ID: got[0].ID, Kind: loci.KindFact, Namespace: loci.Namespace{"u"}}
	want.CreatedAt, want.UpdatedAt = milli(0), milli(0)
	want.ID[15] = 2
	if !reflect.DeepEqual(got[1], want) {
		t.Errorf("NULL left %+v", got[1])
	}
	placed := taking() // rows of one place say nothing of it
	placed.at(true, &loci.Filter{Within: []loci.Namespace{{"u"}}, Kinds: []loci.Kind{loci.KindFact}})
	want.ID[15] = 1
	if row := whole(1); give(t, placed, append(row[:1:1], bare[3:]...)) != nil || !reflect.DeepEqual(got[2], want) {
		t.Errorf("a row of one place is %+v", got)
	}
	for column := range bare {
		bad := []any{1, 1.5}
		switch bare = whole(3); bare[column].(type) {
		case int, float64:
			bad = []any{"1", []byte{1}}
		}
		for _, value := range bad {
			bare[column] = value
			if err := give(t, taking(), bare); !errors.Is(err, errWhole) {
				t.Errorf("column %d is %v: %v", column, value, err)
			}
		}
	}
}
