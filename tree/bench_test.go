package tree_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/sqlite"
	"github.com/loci-memory/loci/tree"
)

// fillTree makes a tree of so many small files, a hundred in a directory.
func fillTree(b *testing.B, e *loci.Engine, files int) *tree.Tree {
	b.Helper()
	filed := newTree(b, e, "")
	const batch = 1000
	for n := 0; n < files; n += batch {
		var part []tree.FileContent
		for i := n; i < min(n+batch, files); i++ {
			part = append(part, tree.FileContent{Path: fmt.Sprintf("/d%d/f%d", i/100, i%100), Content: fmt.Sprintf("File number %d.\n", i)})
		}
		if _, err := filed.WriteAll(b.Context(), part, nil); err != nil {
			b.Fatal(err)
		}
	}
	return filed
}

func eachBenchStore(b *testing.B, run func(*testing.B, loci.Store)) {
	b.Run("memory", func(b *testing.B) { run(b, memory.Open()) })
	b.Run("sqlite", func(b *testing.B) {
		s, err := sqlite.Open(filepath.Join(b.TempDir(), "x"), nil)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		run(b, s)
	})
}

// BenchmarkTreeFiles measures calls on a tree of more and more files.
func BenchmarkTreeFiles(b *testing.B) {
	for _, files := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(files), func(b *testing.B) {
			eachBenchStore(b, func(b *testing.B, s loci.Store) {
				filed := fillTree(b, locitest.NewEngine(b, s, loci.Options{}), files)
				b.Run("read", func(b *testing.B) {
					for i := range b.N {
						if _, err := filed.Read(b.Context(), fmt.Sprintf("/d%d/f%d", i%files/100, i%files%100)); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run("list", func(b *testing.B) {
					for range b.N {
						if _, err := filed.List(b.Context(), "/d0"); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run("append", func(b *testing.B) {
					for i := range b.N {
						if _, err := filed.Append(b.Context(), fmt.Sprintf("/d%d/f%d", i%files/100, i%files%100), "one more line"); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run("create", func(b *testing.B) {
					for i := range b.N {
						if _, err := filed.Append(b.Context(), fmt.Sprintf("/new/%d-%d", b.N, i), "a new file"); err != nil {
							b.Fatal(err)
						}
					}
				})
			})
		})
	}
}

// BenchmarkTreeList measures the list of a directory of a thousand files.
func BenchmarkTreeList(b *testing.B) {
	eachBenchStore(b, func(b *testing.B, s loci.Store) {
		filed := newTree(b, locitest.NewEngine(b, s, loci.Options{}), "")
		files := make([]tree.FileContent, 1000)
		for i := range files {
			files[i] = tree.FileContent{Path: fmt.Sprintf("/many/f%d", i), Content: "a line\na line\n"}
		}
		if _, err := filed.WriteAll(b.Context(), files, nil); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if list, err := filed.List(b.Context(), "/many"); err != nil || len(list) != len(files) {
				b.Fatal(len(list), err)
			}
		}
	})
}

// BenchmarkTreeSizes measures calls on a file of more and more bytes.
func BenchmarkTreeSizes(b *testing.B) {
	for _, size := range []int{1 << 10, 32 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			eachBenchStore(b, func(b *testing.B, s loci.Store) {
				filed := newTree(b, locitest.NewEngine(b, s,
					loci.Options{Features: []loci.Feature{tree.Feature{MaxFileBytes: 64 << 20}}}), "")
				lines := strings.Repeat("A line of some forty characters or so.\n", size/78)
				writeFile(b, filed, "/f", lines+"mark 0.\n"+lines)
				b.Run("read", func(b *testing.B) {
					for range b.N {
						if _, err := filed.Read(b.Context(), "/f"); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run("lines", func(b *testing.B) {
					for range b.N {
						if _, err := filed.ReadLines(b.Context(), "/f", 10, 20); err != nil {
							b.Fatal(err)
						}
					}
				})
				b.Run("append", func(b *testing.B) {
					for range b.N {
						if _, err := filed.Append(b.Context(), "/f", "one more line"); err != nil {
							b.Fatal(err)
						}
					}
				})
				mark := 0
				b.Run("update", func(b *testing.B) {
					for range b.N {
						_, err := filed.Update(b.Context(), "/f", fmt.Sprintf("mark %d.", mark), fmt.Sprintf("mark %d.", mark+1))
						if err != nil {
							b.Fatal(err)
						}
						mark++
					}
				})
			})
		})
	}
}

const subtreeFiles = 100_000

// BenchmarkTreeSubtree measures changes of a whole tree of 100,000 files.
func BenchmarkTreeSubtree(b *testing.B) {
	eachBenchStore(b, func(b *testing.B, s loci.Store) {
		for range b.N {
			b.StopTimer()
			filed := fillTree(b, locitest.NewEngine(b, s, loci.Options{}), subtreeFiles)
			for i := range subtreeFiles / 100 {
				if err := filed.Rename(b.Context(), fmt.Sprintf("/d%d", i), fmt.Sprintf("/all/d%d", i)); err != nil {
					b.Fatal(err)
				}
			}
			b.StartTimer()
			start := b.Elapsed()
			if err := filed.Rename(b.Context(), "/all", "/moved"); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((b.Elapsed() - start).Seconds(), "s/rename")
			start = b.Elapsed()
			if _, err := filed.Delete(b.Context(), "/moved"); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric((b.Elapsed() - start).Seconds(), "s/delete")
		}
	})
}
