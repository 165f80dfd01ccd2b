package mongotest

import "syscall"

func attributes() *syscall.SysProcAttr { return nil }
