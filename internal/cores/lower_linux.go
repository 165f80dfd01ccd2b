package cores

import "syscall"

const supported = true

// niceness, added to that of the process, has a thread get a tenth of the time of one that does not give way,
// when both want the same processor (sched(7): 110 parts to 1,024): so loads go on on a machine that is
// never idle.
const (
	niceness = 10
	nicest   = 19
)

var own = nice() // of the process, at its start

// nice is the niceness of the calling thread, -20 to 19. The system call returns 20 less it, and cannot fail
// for a thread that asks about itself.
func nice() int {
	p, _ := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	return 20 - p
}

// lower lowers the priority of the calling thread, as far as there is a lower one. It cannot fail: nobody needs
// a right to be nice.
func lower() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, min(own+niceness, nicest)) }

// lowered reports whether the calling thread has a lower priority than the process began with.
func lowered() bool { return nice() > own }
