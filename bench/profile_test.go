package bench

import (
	"context"
	"testing"

	"github.com/loci-memory/loci"
)

func BenchmarkFirstSearch(b *testing.B) {
	ctx := context.Background()
	dir := b.TempDir()
	l, err := openLoci(ctx, dir)
	if err != nil {
		b.Fatal(err)
	}
	c := newCorpus(1)
	var notes []string
	for range 20000 {
		notes = append(notes, c.note())
	}
	if err := l.save(ctx, 256, notes); err != nil {
		b.Fatal(err)
	}
	l.store.Close()
	b.ResetTimer()
	for b.Loop() {
		l, _ := openLoci(ctx, dir)
		if _, err := l.memory.Search(ctx, loci.Query{Text: c.query(notes[0])}); err != nil {
			b.Fatal(err)
		}
		l.store.Close()
	}
}

func BenchmarkSaveMany(b *testing.B) {
	ctx := context.Background()
	l, err := openLoci(ctx, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	c := newCorpus(1)
	b.ReportAllocs()
	for b.Loop() {
		var notes []string
		for range 256 {
			notes = append(notes, c.note())
		}
		if err := l.save(ctx, 256, notes); err != nil {
			b.Fatal(err)
		}
	}
}
