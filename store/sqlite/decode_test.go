package sqlite

import (
	"database/sql"
	"testing"
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
