package effort

import (
	"strings"
	"testing"
	"time"
)

// A said is a test that keeps what it is told.
type said struct {
	testing.TB
	text strings.Builder
}

func (s *said) Helper() {}

func (s *said) Errorf(format string, _ ...any) { s.text.WriteString(format) }

// busy takes so much processor time.
func busy(t testing.TB, d time.Duration) {
	for start := ProcessorTime(t); ProcessorTime(t)-start < d; {
	}
}

// Work that takes more than it may is told, and work that only waits takes nothing.
func TestAtMost(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = time.Second
	for name, c := range map[string]struct {
		compared, work func()
		fails          bool
	}{
		"as much as allowed": {func() { busy(t, 5*time.Millisecond) }, func() { busy(t, 12*time.Millisecond) }, false},
		"more than allowed":  {func() { busy(t, 5*time.Millisecond) }, func() { busy(t, 40*time.Millisecond) }, true},
		"one that waits":     {func() { busy(t, 5*time.Millisecond) }, func() { time.Sleep(100 * time.Millisecond) }, false},
	} {
		s := &said{TB: t}
		if AtMost(s, name, 3, c.compared, c.work); (s.text.Len() > 0) != c.fails {
			t.Errorf("%s: failed with %q; want a failure: %v", name, s.text.String(), c.fails)
		}
	}
}
