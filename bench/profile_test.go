package bench

import (
	"context"
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
)

// BenchmarkSearch is a search in a warm process, for profiles.
func BenchmarkSearch(b *testing.B) {
	for _, size := range []int{1_000, 100_000} {
		l, notes := filled(b, size)
		for _, mode := range []loci.Mode{loci.Keyword, loci.Hybrid} {
			b.Run(fmt.Sprintf("%s/%d", mode, size), func(b *testing.B) {
				queries := newCorpus(3)
				b.ReportAllocs()
				for b.Loop() {
					q := loci.Query{Text: queries.query(notes[queries.rng.IntN(size)]), Limit: 5, Mode: mode}
					if _, err := l.memory.Search(context.Background(), q); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func filled(b *testing.B, size int) (*loaded, []string) {
	b.Helper()
	l, err := openLoci(context.Background(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.store.Close() })
	c := newCorpus(2)
	notes := make([]string, size)
	for i := range notes {
		notes[i] = c.note()
	}
	for start := 0; start < size; start += 1000 {
		if err := l.save(context.Background(), 256, notes[start:min(start+1000, size)]); err != nil {
			b.Fatal(err)
		}
	}
	return l, notes
}

// BenchmarkSave is 256 callers who save at once, for profiles.
func BenchmarkSave(b *testing.B) {
	l, err := openLoci(context.Background(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.store.Close() })
	c := newCorpus(1)
	b.ReportAllocs()
	for b.Loop() {
		notes := make([]string, 256)
		for i := range notes {
			notes[i] = c.note()
		}
		if err := l.save(context.Background(), 256, notes); err != nil {
			b.Fatal(err)
		}
	}
}
