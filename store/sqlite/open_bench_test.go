package sqlite

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/loci-memory/loci"
)

// BenchmarkOpen is what a short-lived command pays for the store: for a file that exists, and
// for one that must be made.
func BenchmarkOpen(b *testing.B) {
	run := func(b *testing.B, path string) {
		s, err := Open(path, nil)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Count(context.Background(), testTenant, loci.Filter{}); err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("existing", func(b *testing.B) {
		path := filepath.Join(b.TempDir(), "x.db")
		run(b, path)
		for b.Loop() {
			run(b, path)
		}
	})
	b.Run("new", func(b *testing.B) {
		dir := b.TempDir()
		n := 0
		for b.Loop() {
			n++
			run(b, filepath.Join(dir, strconv.Itoa(n)+".db"))
		}
	})
}
