//go:build unix

package pgtest

import (
	"os"
	"syscall"

	"github.com/loci-memory/loci/internal/child"
)

// quit ends PostgreSQL without a checkpoint.
const quit = syscall.SIGQUIT

// nobody is the user without rights that a server runs as when the tests run as root,
// which PostgreSQL refuses to.
const nobody = 65534

func user() (uid, gid int) {
	if os.Geteuid() == 0 {
		return nobody, nobody
	}
	return os.Geteuid(), os.Getegid()
}

func unprivileged() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{}
	if os.Geteuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	child.EndWithParent(attr, quit)
	return attr
}
