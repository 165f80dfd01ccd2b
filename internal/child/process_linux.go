package child

import "syscall"

// EndWithParent sends a signal to the program when the test is killed.
func EndWithParent(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }
