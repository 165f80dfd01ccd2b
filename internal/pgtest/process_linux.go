package pgtest

import "syscall"

// endWithParent ends the server when the test is killed.
func endWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }
