package cores

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// What gives way has a thread of its own with a lower priority, and nothing else has.
func TestGiveWay(t *testing.T) {
	if own == nicest {
		t.Fatal("nothing can give way to what runs at a niceness of 19: start the test with a lower one")
	}
	defer Spare()()
	before := GaveWay()
	alone(func() {
		GiveWay()
		for range 100 { // a thread that it did not keep would change
			runtime.Gosched()
			if !lowered() {
				t.Error("it lost its priority")
				return
			}
		}
		alone(func() {
			if lowered() {
				t.Error("what it starts gives way, too")
			}
		})
		alone(Alike(func() {
			if !lowered() {
				t.Error("what it starts to be alike does not give way")
			}
		}))
	})
	alone(Alike(func() {
		if lowered() {
			t.Error("what is like one that does not give way does")
		}
	}))
	if n := GaveWay() - before; n != 2 {
		t.Errorf("%d goroutines gave way; want 2", n)
	}
}

// What gives way does two things at once, both of which give way.
func TestEachGivesWay(t *testing.T) {
	defer Spare()()
	alone(func() {
		GiveWay()
		var both sync.WaitGroup
		both.Add(2)
		Each(2, func(int) {
			both.Done()
			both.Wait()
			if !lowered() {
				t.Error("a part does not give way")
			}
		})
		var running atomic.Int64
		Each(100, func(int) {
			if running.Add(1) > extra {
				t.Error("more run at once than there are spare processors for")
			}
			runtime.Gosched()
			running.Add(-1)
		})
	})
}

// A process that was started with a lower priority than others has one below its own for what gives way,
// and does not take itself for that.
func TestGiveWayOfANiceProcess(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "nice", "-n", "3", os.Args[0], "-test.run", "^TestGiveWay$").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS") {
		t.Errorf("%v: %s", err, out)
	}
}

// The thread ends with the goroutine: nobody else gets it.
func TestThreadsThatGaveWayEnd(t *testing.T) {
	defer Spare()()
	thread := os.Getpid()
	for thread == os.Getpid() { // Go keeps the first thread of a process, and never uses it again
		alone(func() {
			GiveWay()
			thread = syscall.Gettid()
		})
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		// The system may give the number to a thread that is made meanwhile, with the priority of others.
		stat, err := os.ReadFile(filepath.Join("/proc/self/task", strconv.Itoa(thread), "stat"))
		if err != nil || strings.Fields(string(stat[bytes.LastIndexByte(stat, ')'):]))[17] == "0" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("thread %d is still there: %s", thread, stat)
		}
		time.Sleep(time.Millisecond)
	}
}
