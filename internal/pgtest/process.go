package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
	"time"
)

// A process is a running server.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // set when ended is closed
}

// startProcess starts a server. The thread that starts it stays: Linux ends the server
// when that thread is gone, not when the process is.
func startProcess(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
		close(p.ended)
	}()
	return p, <-started
}

// end sends a signal and waits; a process that does not end is killed.
func (p *process) end(signal os.Signal) error {
	err := p.cmd.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		err = nil
	}
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		err = errors.Join(err, p.cmd.Process.Kill())
		<-p.ended
	}
	return err
}
