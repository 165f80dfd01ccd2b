package cores

import "syscall"

const supported = true

// niceness has a thread get a tenth of the time of one that does not give way, when both want the same
// processor (sched(7): 110 parts to 1,024): so loads go on on a machine that is never idle.
const niceness = 10

// lower lowers the priority of the calling thread. It cannot fail: nobody needs a right to be nice.
func lower() { _ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, niceness) }

// lowered reports whether the calling thread has that priority or a lower one. The system call returns 20 less it.
func lowered() bool {
	p, err := syscall.Getpriority(syscall.PRIO_PROCESS, 0)
	return err == nil && 20-p >= niceness
}
