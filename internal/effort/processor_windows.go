package effort

import (
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

// ProcessorTime is what this process has used of its processors.
func ProcessorTime(t testing.TB) time.Duration {
	t.Helper()
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user); err != nil {
		t.Fatal(err)
	}
	ticks := func(f windows.Filetime) int64 { return int64(f.HighDateTime)<<32 | int64(f.LowDateTime) } // of 100 ns
	return time.Duration(100 * (ticks(kernel) + ticks(user)))
}
