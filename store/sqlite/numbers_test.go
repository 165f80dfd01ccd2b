package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/rowcache"
)

// numberOf is the number under which a store would look for a row; 0: it looks by the id.
func numberOf(s *Store, id loci.ID) uint32 {
	found := make([]uint32, 1)
	s.numbers.find([]rowcache.ID{rowcache.ID(id)}, []int{0}, found)
	return found[0]
}

// rowOf is the number that the row of a record has.
func rowOf(t *testing.T, s *Store, id loci.ID) (n int64) {
	t.Helper()
	f := s.files[testTenant]
	if err := f.readRow(t.Context(), "SELECT n FROM record WHERE id = ?", []any{id[:]}, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// unnumbered is how many of the records of some ids are not found by numbers.
func unnumbered(t *testing.T, s *Store, of []loci.ID) int {
	t.Helper()
	l := lackingRows{found: make([][]byte, len(of))}
	ids, places := make([]rowcache.ID, len(of)), make([]int, len(of))
	for i := range of {
		ids[i], places[i] = rowcache.ID(of[i]), i
	}
	left, err := s.files[testTenant].byNumbers(t.Context(), coreColumns, &l, ids, places)
	if err != nil {
		t.Fatal(err)
	}
	return len(left)
}

// foundBy are the ids that a search for words finds.
func foundBy(t *testing.T, s *Store, words string) (ids []loci.ID) {
	t.Helper()
	all := loci.Filter{Within: []loci.Namespace{{}}}
	hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: words}, all, 50)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		ids = append(ids, h.ID)
	}
	return ids
}

// A search notes the numbers of the rows that it finds, of those that its index read from the file, that this process
// stored since, and that a segment has; and these are read.
func TestSearchesNoteNumbers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openShelving(t, path, 20, 16)
	want := map[loci.ID]string{}
	store := func(text string) {
		t.Helper()
		c := note(text)
		id := loci.ID{1, 14: byte(len(want))} // no two share a place for numbers
		c.Put[0].Record.ID, c.Events[0].Entity = id, id
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
		want[id] = text
	}
	see := func(where string, segments bool) {
		t.Helper()
		s.numbers.kept = nil
		ids := foundBy(t, s, "apple")
		if len(ids) != len(want) {
			t.Fatalf("%s: %d of %d are found", where, len(ids), len(want))
		}
		x := s.files[testTenant].search.index
		if have := len(x.Segments(index.KeyOf(&note("x").Put[0].Record))) > 0; have != segments {
			t.Errorf("%s: there are segments: %v", where, have)
		}
		for _, id := range ids {
			if n := numberOf(s, id); n == 0 || int64(n) != rowOf(t, s, id) {
				t.Errorf("%s: the row %d is noted as %d", where, rowOf(t, s, id), n)
			}
		}
		if left := unnumbered(t, s, ids); left > 0 {
			t.Errorf("%s: %d of %d are not read by their numbers", where, left, len(ids))
		}
		records := noted(t, s, true, append(ids, ids[0])...)
		if len(records) != len(want) {
			t.Errorf("%s: %d records of %d are read", where, len(records), len(want))
		}
		for _, r := range records {
			if want[r.ID] != r.Text {
				t.Errorf("%s: %q, want %q", where, r.Text, want[r.ID])
			}
		}
	}
	for n := range 5 {
		store(fmt.Sprintf("apple %d", n))
	}
	see("read from the file", false)
	for n := range 35 {
		store(fmt.Sprintf("apple and pear %d", n))
	}
	see("stored since", false)
	for range 2 { // the first makes segments of what it reads
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openShelving(t, path, 20, 16)
		foundBy(t, s, "apple")
	}
	see("in a segment", true)
}

// What a number says is not trusted: a record whose row has another number by now, or none, is read by its id, and the
// row of another record is not taken for it. A record that is named twice comes once.
func TestNumbersAreNotTrusted(t *testing.T) {
	t.Parallel()
	s := uncached(t, filepath.Join(t.TempDir(), "x.db"))
	a, b, c := save(t, s, "the first"), save(t, s, "the second"), save(t, s, "the third")
	for name, numbers := range map[string]map[loci.ID]uint32{
		"right ones":        {a: uint32(rowOf(t, s, a)), b: uint32(rowOf(t, s, b)), c: uint32(rowOf(t, s, c))},
		"of another record": {a: uint32(rowOf(t, s, b)), b: uint32(rowOf(t, s, c)), c: uint32(rowOf(t, s, a))},
		"one for two":       {a: uint32(rowOf(t, s, b)), b: uint32(rowOf(t, s, b))},
		"of no row":         {a: 1 << 30, c: 1<<32 - 1},
		"some are known":    {b: uint32(rowOf(t, s, b))},
		"none":              {},
	} {
		t.Run(name, func(t *testing.T) {
			s.numbers.kept = nil
			for id, n := range numbers {
				s.numbers.note([]loci.Hit{{ID: id}}, func(int) uint32 { return n })
			}
			for _, core := range []bool{true, false} {
				texts := map[loci.ID]string{}
				for i, r := range noted(t, s, core, a, b, c, a, b) {
					if texts[r.ID] != "" {
						t.Errorf("record %d comes twice", i)
					}
					texts[r.ID] = r.Text
				}
				if texts[a] != "the first" || texts[b] != "the second" || texts[c] != "the third" || len(texts) != 3 {
					t.Errorf("%v", texts)
				}
			}
		})
	}
}
