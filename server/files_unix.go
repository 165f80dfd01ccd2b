//go:build unix

package server

import (
	"math"
	"syscall"
)

// mayOpen is how many files the process may have open: Go has raised the limit as far as it goes.
func mayOpen() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return math.MaxInt // nobody knows of a limit
	}
	return int(min(uint64(l.Cur), math.MaxInt32)) //nolint:unconvert // it has a sign on some systems
}
