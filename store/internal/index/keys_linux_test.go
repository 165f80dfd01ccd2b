package index

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loci-memory/loci"
)

// Adding a key costs about the same however many there are, in any order.
func TestManyKeysInAnyOrder(t *testing.T) {
	const (
		users = 100_000
		most  = 7 // of ten; a large list leaves the processor's caches, which takes up to four
	)
	var keys Keys
	runtime.LockOSThread() // its own time is counted, which does not grow with what others do
	defer runtime.UnlockOSThread()
	took := func(users, times int) time.Duration {
		begun := ofThread(t)
		for range times {
			keys = Keys{}
			for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(users) {
				keys.Add(Key{Namespace: loci.Namespace{"user", fmt.Sprint(i)}.Key(), Kind: loci.KindFact})
			}
		}
		return ofThread(t) - begun
	}
	// If each key moved the others, one large list would take ten times as long as ten small
	// ones. The least of several runs is taken.
	small, large := time.Hour, time.Hour
	for range 5 {
		if small, large = min(small, took(users/10, 10)), min(large, took(users, 1)); large <= most*small {
			break
		}
	}
	if large > most*small {
		t.Errorf("ten lists of %d keys took %v, one of %d took %v", users/10, small, users, large)
	}
	if n := len(keys.Covered(&loci.Filter{Within: []loci.Namespace{{"user"}}})); n != users {
		t.Errorf("%d keys are covered; want %d", n, users)
	}
}

// ofThread is how long the thread has run so far, for the program and in the kernel.
func ofThread(t *testing.T) time.Duration {
	t.Helper()
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
