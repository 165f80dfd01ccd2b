package bench

import (
	"time"

	"golang.org/x/sys/windows"
)

// processorTime is the time of user code of this process.
func processorTime() (time.Duration, error) {
	var created, ended, kernel, user windows.Filetime
	err := windows.GetProcessTimes(windows.CurrentProcess(), &created, &ended, &kernel, &user)
	return time.Duration(int64(user.HighDateTime)<<32|int64(user.LowDateTime)) * 100, err
}
