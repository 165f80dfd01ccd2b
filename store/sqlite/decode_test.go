package sqlite

import (
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// A column that holds what it should not is an error, never a wrong value; NULL leaves
// nothing of the row before.
func TestColumnsTakeWhatTheyShould(t *testing.T) {
	t.Parallel()
	bytes, text, whole, part := bytesColumn("before"), textColumn("before"), intColumn{7, true}, floatColumn(0.7)
	for _, column := range []struct {
		dest sql.Scanner
		bad  any
	}{{&bytes, 1.5}, {&bytes, int64(1)}, {&text, int64(1)}, {&whole, "1"}, {&whole, 1.5}, {&part, "1"}} {
		if err := column.dest.Scan(column.bad); err == nil {
			t.Errorf("%T took %v", column.dest, column.bad)
		}
	}
	for _, dest := range []sql.Scanner{&bytes, &text, &whole, &part} {
		if err := dest.Scan(nil); err != nil {
			t.Error(err)
		}
	}
	if bytes != nil || text != "" || whole != (intColumn{}) || part != 0 || !whole.milli().IsZero() {
		t.Errorf("NULL left %v, %v, %v, %v", bytes, text, whole, part)
	}
}

func takePacked(row string, r *loci.Record) error {
	s := newPackedScan()
	s.text = textColumn(row)
	return s.unpack(r)
}

// A row that is one text and ends too early is damage, wherever it is cut.
func TestPackedRowsAreCutAnywhere(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("i", 16)
	for _, c := range []struct {
		take func(string, *loci.Record) error
		row  string
		rest int // bytes at the end that have no length: the text
	}{
		{takePacked, id + "1 1 5 6  0      4 2 4 0 2 2 3 1 1 0 0 factnsslot[]{}{1}ss" + "the text", 8},
	} {
		for cut := range c.row {
			var r loci.Record
			if err := c.take(c.row[:cut], &r); errors.Is(err, errPacked) != (cut < len(c.row)-c.rest) {
				t.Errorf("%q of %q: %v", c.row[:cut], c.row, err)
			}
		}
		var r loci.Record
		for _, number := range []string{"-1", "x", "99999999999999999999", "9223372036854775807"} {
			if err := c.take(strings.Replace(c.row, " 4 2 ", " 4 "+number+" ", 1), &r); !errors.Is(err, errPacked) {
				t.Errorf("%s as a length: %v", number, err)
			}
		}
		if err := c.take(c.row, &r); err != nil || r.Slot != "slot" || string(r.Body) != "{1}" || len(r.Attributes) != 2 {
			t.Errorf("%q: %+v, %v", c.row, r, err)
		}
	}
}
