package pgtest

import (
	"os"
	"syscall"
)

// quit ends a process at once.
var quit = os.Kill

func user() (uid, gid int) { return -1, -1 }

func unprivileged() *syscall.SysProcAttr { return nil }
