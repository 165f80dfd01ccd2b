package checkpoint_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
)

// The latest checkpoint costs the same however long the thread is, and so does the
// next put.
func BenchmarkCheckpoints(b *testing.B) {
	value := make([]byte, 4<<10)
	for name, open := range map[string]func(b *testing.B) loci.Store{
		"memory": func(*testing.B) loci.Store { return locitest.OpenMemory() },
		"sqlite": func(b *testing.B) loci.Store {
			s, err := sqlite.Open(filepath.Join(b.TempDir(), "x"), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { s.Close() })
			return s
		},
	} {
		for _, n := range []int{10, 1_000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				m := locitest.Bind(b, locitest.NewEngine(b, open(b), loci.Options{}), "u")
				last := ""
				put := func(i int) {
					id := fmt.Sprintf("c%08d", i)
					in := locitest.Checkpoint("t", "", id, last, `{"source":"loop"}`, locitest.GraphState{"same": "1", "step": id}, nil)
					if i == 0 {
						in.Values["same"] = checkpoint.Typed{Type: "b", Data: value}
					}
					in.Values["step"] = checkpoint.Typed{Type: "b", Data: value[:256]}
					locitest.PutCheckpoint(b, m, in)
					last = id
				}
				for i := range n {
					put(i)
				}
				b.Run("get", func(b *testing.B) {
					for b.Loop() {
						if c := getCheckpoint(b, m, "t", "", ""); len(c.Values) != 2 {
							b.Fatal(c.ID)
						}
					}
				})
				b.Run("list10", func(b *testing.B) {
					for b.Loop() {
						_, err := checkpoint.Of(m).List(b.Context(), checkpoint.Query{Thread: "t", Limit: 10})
						if err != nil {
							b.Fatal(err)
						}
					}
				})
				i := n
				b.Run("put", func(b *testing.B) {
					for b.Loop() {
						put(i)
						i++
					}
				})
			})
		}
	}
}
