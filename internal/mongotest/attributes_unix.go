//go:build unix

package mongotest

import (
	"syscall"

	"github.com/loci-memory/loci/internal/child"
)

// attributes end the server with the test.
func attributes() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	child.EndWithParent(attr, syscall.SIGKILL)
	return attr
}
