//go:build unix && !linux

package pgtest

import "syscall"

// endWithParent does nothing here: a test that is killed leaves its server behind.
func endWithParent(*syscall.SysProcAttr) {}
