// Package child runs a program beside a test and ends it with the test.
package child

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A Process is a running program.
type Process struct {
	Ended chan struct{} // closed when it has ended
	Err   error         // set before

	cmd *exec.Cmd
}

// Start starts a program. The thread that starts it stays: Linux ends what [EndWithParent]
// says when that thread is gone, not when the process is.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{cmd: cmd, Ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.Err = cmd.Wait()
		}
		close(p.Ended)
	}()
	return p, <-started
}

// End sends a signal and waits; a process that does not end is killed.
func (p *Process) End(signal os.Signal) error {
	err := p.cmd.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	select {
	case <-p.Ended:
	case <-time.After(20 * time.Second):
		err = errors.Join(err, p.cmd.Process.Kill())
		<-p.Ended
	}
	return err
}
