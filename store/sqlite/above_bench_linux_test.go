package sqlite

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// BenchmarkAbove searches above namespaces of one note each, and one namespace that has all
// of these: how much processor time the first search after the file was opened takes, and a
// warm one.
func BenchmarkAbove(b *testing.B) {
	const notes = 100_000
	wide, above := loci.Space{Model: "m", Dims: 256}, loci.Namespace{"u"}
	for _, spread := range []int{1, notes} {
		b.Run(fmt.Sprintf("%d namespaces", spread), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 2))
			word := func() string { return fmt.Sprintf("word%d", int(5000*random.Float64()*random.Float64())) }
			fill := func() []float32 {
				v := make([]float32, wide.Dims)
				for i := range v {
					v[i] = float32(random.NormFloat64()) / 16
				}
				return v
			}
			path := filepath.Join(b.TempDir(), "x.db")
			s, err := Open(path, nil)
			if err != nil {
				b.Fatal(err)
			}
			for from := 0; from < notes; from += 500 {
				var all loci.Change
				for i := from; i < from+500; i++ {
					var words []string
					for range 20 {
						words = append(words, word())
					}
					c := note(strings.Join(words, " "))
					c.Put[0].Record.Namespace = above.Child(fmt.Sprint("n", i%spread))
					c.Put[0].Vectors = []loci.Vectors{{Space: wide, Rows: [][]float32{fill()}}}
					c.Events[0].Namespace = c.Put[0].Record.Namespace
					all.Put, all.Events = append(all.Put, c.Put...), append(all.Events, c.Events...)
				}
				if err := s.Apply(b.Context(), testTenant, all); err != nil {
					b.Fatal(err)
				}
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			if s, err = Open(path, nil); err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			p := loci.Probe{Text: word() + " " + word() + " " + word(), Vector: fill(), Space: wide}
			search := func() {
				within := loci.Filter{Within: []loci.Namespace{above}}
				if _, err := s.Match(b.Context(), testTenant, p, within, 40); err != nil {
					b.Fatal(err)
				}
			}
			before := used()
			search()
			first := used() - before
			for range 8 { // until all are gathered
				search()
			}
			before = used()
			b.ReportAllocs()
			b.ResetTimer()
			for b.Loop() {
				search()
			}
			b.ReportMetric(float64(first.Milliseconds()), "cpu-ms/first")
			b.ReportMetric(float64((used()-before).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}

// used is the processor time of the process.
func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
