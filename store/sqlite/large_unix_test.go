//go:build unix

package sqlite

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// processorTime is what this process has used.
func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// changeOf puts n records in a version.
func changeOf(ids []loci.ID, version int64) (c loci.Change) {
	for i, id := range ids {
		c.Put = append(c.Put, loci.Put{Record: loci.Record{ID: id, Version: version, Kind: loci.KindFact, Live: true,
			Namespace: loci.Namespace{"a"}, Text: fmt.Sprintf("memory %d as of version %d", i, version),
			CreatedAt: time.UnixMilli(1), UpdatedAt: time.UnixMilli(version)}})
	}
	return c
}

// TestLargeChangeCostsWhatItWrites changes existing records, alone and while another caller
// waits to write: the cost grows with their number and no faster. Inside a savepoint each of
// 4,000 records would cost three times as much as each of 500.
func TestLargeChangeCostsWhatItWrites(t *testing.T) {
	for name, beside := range map[string]bool{"alone": false, "beside another": true} {
		t.Run(name, func(t *testing.T) {
			each := map[int]time.Duration{}
			for _, n := range []int{500, manyRecords} {
				ids := make([]loci.ID, n)
				for i := range ids {
					ids[i] = loci.NewID()
				}
				s := openFile(t, filepath.Join(t.TempDir(), "a.db"))
				if err := s.Apply(t.Context(), testTenant, changeOf(ids, 1)); err != nil {
					t.Fatal(err)
				}
				for version := int64(2); version < 4; version++ {
					took := changeAll(t, s, changeOf(ids, version), beside) / time.Duration(n)
					if before, again := each[n]; !again || took < before {
						each[n] = took
					}
				}
			}
			if each[manyRecords] > 2*each[500] {
				t.Errorf("a record costs %v in a change of %d and %v in one of 500", each[manyRecords], manyRecords, each[500])
			}
		})
	}
}

// changeAll applies a change and returns what it cost. With beside the writer is busy, so that
// the change and a small one wait together.
func changeAll(t *testing.T, s *Store, c loci.Change, beside bool) time.Duration {
	t.Helper()
	wait, done := make(chan struct{}), make(chan error, 3)
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(f)
	jobs := []func() error{func() error { return s.Apply(t.Context(), testTenant, c) }}
	if beside {
		jobs = append(jobs, func() error {
			return s.Apply(t.Context(), testTenant, changeOf([]loci.ID{loci.NewID()}, 1))
		})
		running := make(chan struct{})
		go func() {
			done <- f.write(t.Context(), func(*tx) error { close(running); <-wait; return nil })
		}()
		<-running
	}
	begin := processorTime(t)
	for _, run := range jobs {
		go func() { done <- run() }()
	}
	if beside {
		time.Sleep(50 * time.Millisecond) // until both wait; if they do not, the test proves less
	}
	close(wait)
	for range len(jobs) + map[bool]int{true: 1}[beside] {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	return processorTime(t) - begin
}
