package postgres_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSaveWork tells the processor time of a save apart: of this process and of the database's, with all that a
// commit leaves to others of its processes.
func BenchmarkSaveWork(b *testing.B) {
	_, s := durable(b)
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers: %d", callers), func(b *testing.B) {
			server, database := ownTime(b), childrenTime(b)
			saves(b, s, callers, 1)
			b.StopTimer()
			b.ReportMetric(float64((ownTime(b)-server).Nanoseconds())/float64(b.N), "server-ns/op")
			b.ReportMetric(float64((childrenTime(b)-database).Nanoseconds())/float64(b.N), "database-ns/op")
		})
	}
}

// ownTime is the processor time that this process has taken.
func ownTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// childrenTime is the processor time that the processes which this one has started have taken, and those that these have
// started and waited for.
func childrenTime(b *testing.B) (sum time.Duration) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.Fatal(err)
	}
	parents, times := map[int]int{}, map[int]time.Duration{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		parents[pid], _ = strconv.Atoi(fields[1])
		for _, field := range fields[11:15] {
			ticks, _ := strconv.Atoi(field)
			times[pid] += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	for pid := range times {
		for above := parents[pid]; above > 1; above = parents[above] {
			if above == os.Getpid() {
				sum += times[pid]
				break
			}
		}
	}
	return sum
}
