package sqlite

import (
	"database/sql"
	"testing"
	"time"
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

// A bound of time that lies between two milliseconds leaves out the one before it.
func TestBoundsBetweenMilliseconds(t *testing.T) {
	t.Parallel()
	for beyond, want := range map[time.Duration]int64{0: 5, 1: 6, time.Millisecond - 1: 6, time.Millisecond: 6} {
		if got := firstMilli(time.UnixMilli(5).Add(beyond)); got != want {
			t.Errorf("%d nanoseconds beyond 5: %d, want %d", beyond, got, want)
		}
	}
}
