//go:build unix

package bench

import (
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is the time of user code, of this process and of those it awaited.
func processorTime() (sum time.Duration, err error) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		if err := unix.Getrusage(who, &u); err != nil {
			return 0, err
		}
		sum += time.Duration(u.Utime.Nano())
	}
	return sum, nil
}
