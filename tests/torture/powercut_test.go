//go:build strace

package torture

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// These tests run a build of loci serve under strace, which reports every write, every fsync,
// every change of a name and every answer. From that they make a directory as a power cut might
// have left it, at any answer and any other moment.
//
// Debian and its like: apt-get install strace.

// traced are the system calls that change files, and those that carry requests. A call that
// changes a file but is unknown to parse is an error.
const traced = "read,write,pwrite64,pwritev,pwritev2,writev,fsync,fdatasync,sync_file_range,ftruncate,truncate,fallocate," +
	"rename,renameat,renameat2,unlink,unlinkat,open,openat,creat,link,linkat"

var states = flag.Int("states", 300, "how many states after a power cut are looked at")

// A recording is what a server did while workers wrote to it.
type recording struct {
	dir   string
	steps []step
	ops   []*op
}

// record runs loci serve of a binary in an empty directory for some writes, and ends it
// as an operator does.
func record(t *testing.T, binary string, writes int) *recording {
	t.Helper()
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal("strace is missing: apt-get install strace, or run tests/torture/run.sh")
	}
	home, dir := t.TempDir(), t.TempDir()
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	trace := filepath.Join(home, "trace")
	command := []string{
		"strace",
		"-f",
		"--seccomp-bpf",
		"-y",
		"-xx",
		"-s",
		"16777216",
		"-e",
		"signal=none",
		"-e",
		"trace=" + traced,
		"-o",
		trace,
		binary,
	}
	s := serve(t, home, append(command, serveArgs(filepath.Join(dir, "loci.db"))...)...)
	ended := false
	t.Cleanup(func() {
		if !ended {
			_ = s.cmd.Process.Kill() // strace; what it traces goes with it
		}
	})
	w := &writers{url: s.url, most: writes, begun: func(*op) {}, acked: func(*op) {}}
	for n := range 4 {
		w.workers = append(w.workers, newWorker(fmt.Sprintf("w%d", n), rand.Uint64()))
	}
	if err := w.write(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(tracee(t, trace), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Fatalf("loci serve ended with %v\n%s", err, s.cmd.Stderr)
	}
	ended = true
	return &recording{dir, parseFile(t, trace, dir), w.ops}
}

// tracee is the process that a trace begins with.
func tracee(t *testing.T, trace string) (pid int) {
	t.Helper()
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line, err := bufio.NewReader(f).ReadString(' ')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(line, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// replay goes through a recording and looks at the disk after about the given number of its
// steps, from the first answer on, in every way a cut can leave it. It stops at the first wrong
// state if the caller wants no more.
func (r *recording) replay(t *testing.T, want int, stopEarly bool) (looked int, wrong []string) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d, %d steps", seed, len(r.steps))
	rng := rand.New(rand.NewPCG(seed, 1))
	d, x, ended := newDisk(r.dir), expected{}, map[int]func(){}
	interesting := r.interesting()
	for i, s := range r.steps {
		if err := d.take(s, ended); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		switch s.call {
		case "request":
			x.begin(r.ops[s.match])
		case "reply":
			x.done(r.ops[s.match])
		}
		// Each moment is as likely as any other.
		if !interesting[i] || rng.IntN(len(interesting)) >= want {
			continue
		}
		for how := range cuts {
			looked++
			for _, line := range r.look(t, d, x, how, rng) {
				wrong = append(wrong, fmt.Sprintf("power cut %d after step %d (%s): %s", how, i, s.call, line))
			}
			if stopEarly && len(wrong) > 0 {
				return looked, wrong
			}
		}
	}
	return looked, wrong
}

// interesting are the steps after which something else must be there, or may be.
func (r *recording) interesting() map[int]bool {
	out, answered := map[int]bool{}, false
	for i, s := range r.steps {
		answered = answered || s.call == "reply"
		if answered && s.call != "request" && s.call != "sync" {
			out[i] = true
		}
	}
	return out
}

// take makes a step on the disk.
func (d *disk) take(s step, ended map[int]func()) (err error) {
	switch s.call {
	case "create":
		d.create(s.path)
	case "unlink":
		d.unlink(s.path)
	case "rename":
		d.rename(s.path, s.to)
	case "write":
		return d.write(s.path, s.off, s.data)
	case "truncate":
		return d.truncate(s.path, s.off)
	case "sync":
		ended[s.match], err = d.sync(s.path)
	case "synced":
		ended[s.match]()
		delete(ended, s.match)
	}
	return err
}

// look makes a state and opens it.
func (r *recording) look(t *testing.T, d *disk, x expected, how cut, rng *rand.Rand) []string {
	t.Helper()
	dir, err := os.MkdirTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := d.after(how, rng, dir); err != nil {
		t.Fatal(err)
	}
	wrong, err := x.check(filepath.Join(dir, "loci.db"))
	if err != nil {
		return append(wrong, "it cannot be read: "+err.Error())
	}
	return wrong
}

// TestPowerCutLosesNoAcknowledgedWrite: whatever a power cut leaves, the answered writes are
// there, the file is sound and the audit log accuses nobody.
func TestPowerCutLosesNoAcknowledgedWrite(t *testing.T) {
	const most = 400 // of one recording: a longer one makes each state larger
	binary := buildLoci(t, keptIndex)
	recordings := (*states + most - 1) / most
	for range recordings {
		r := record(t, binary, most)
		looked, wrong := r.replay(t, *states/recordings/int(cuts), false)
		for _, line := range wrong {
			t.Error(line)
		}
		t.Logf("%d states after %d writes", looked, len(r.ops))
		if looked < *states/recordings/2 {
			t.Errorf("of %d states only %d were looked at", *states/recordings, looked)
		}
	}
}

// TestPowerCutNoticesLostWrites runs the same on a build that does not wait for the disk:
// it must be caught.
func TestPowerCutNoticesLostWrites(t *testing.T) {
	binary := buildLoci(t, "-ldflags=-X github.com/loci-memory/loci/store/sqlite.synchronous=NORMAL")
	looked, wrong := record(t, binary, 60).replay(t, 200, true)
	if len(wrong) == 0 {
		t.Fatalf("a build with synchronous=NORMAL lost nothing in %d states", looked)
	}
	t.Logf("caught after %d states: %s", looked, wrong[0])
}

func parseFile(t *testing.T, path, dir string) []step {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	steps, err := parse(f, dir)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}
