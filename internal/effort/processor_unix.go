//go:build unix

package effort

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessorTime is what this process has used of its processors. Unlike the time on the clock
// it does not depend on who else uses them.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
