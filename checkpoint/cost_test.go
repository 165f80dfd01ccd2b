//go:build !race

// These tests count what calls read and change, and start no goroutine, as those of effort_test.go.

package checkpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

// everySecond is a thread in which two runs take turns.
func everySecond(t *testing.T, m *loci.Memory, checkpoints int) {
	t.Helper()
	parent := ""
	for i := range checkpoints {
		id, values := fmt.Sprintf("c%05d", i), locitest.GraphState{}
		for ch := range 3 {
			values[fmt.Sprint("ch", ch)] = id
		}
		run := fmt.Sprintf(`{"run_id":"r%d"}`, i%2)
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", id, parent, run, values, values))
		parent = id
	}
}

// Runs are erased in parts whose cost does not grow with the graph: four times as many checkpoints are four times as
// much to read, however many parts that takes.
func TestErasingRunsReadsAGraphOnce(t *testing.T) {
	read := func(checkpoints int) int {
		m, h, c := counted(t)
		everySecond(t, m, checkpoints)
		return c.during(t, func() error {
			done := goOn(t, nil, func(cursor string) (checkpoint.Part, error) {
				return h.DeleteForRunsFrom(t.Context(), []string{"r1"}, cursor, 1000)
			})
			if sum(done) != checkpoints/2 || len(done) < checkpoints/1000 {
				t.Errorf("the parts took %v", done)
			}
			return nil
		})
	}
	if few, many := read(1500), read(6000); many > 5*few {
		t.Errorf("%d records are read of 1,500 checkpoints, %d of 6,000", few, many)
	}
}

// A part of a deletion for runs puts a bounded number of checkpoints again that lose their parents: they count, too. In
// a graph of 25,600 three parts took more than a second of processor time.
func TestPartsOfErasingRunsPutLittle(t *testing.T) {
	m, _, meddles := meddled(t, locitest.OpenMemory())
	const checkpoints, bound = 3000, 1500
	everySecond(t, m, checkpoints)
	most, puts, cursor := 0, 0, ""
	meddles.after = func(c loci.Change) {
		for _, p := range c.Put {
			if p.Record.Kind == checkpoint.Kind {
				puts++
			}
		}
	}
	for more := true; more; more = cursor != "" {
		part, err := checkpoint.Of(m).DeleteForRunsFrom(t.Context(), []string{"r1"}, cursor, bound)
		if err != nil {
			t.Fatal(err)
		}
		cursor, most, puts = part.Next, max(most, puts), 0
	}
	if most == 0 || most > bound/2 {
		t.Errorf("a part puts %d checkpoints", most)
	}
}

// A put that replaces values looks at no more of a large graph than at one of a hundred checkpoints.
func TestReplacingReadsNoLargeGraph(t *testing.T) {
	m, _, c := counted(t)
	everySecond(t, m, 1500)
	read := c.during(t, func() error {
		state := locitest.GraphState{"ch0": "new"}
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c01400", "", "{}", state, state))
		return nil
	})
	if read > 250 {
		t.Errorf("%d records are read", read)
	}
}

// No step erases more than some megabytes of large values, whatever erases them, and in the end all are gone.
func TestStepsOfLargeValuesAreSmall(t *testing.T) {
	const checkpoints, size, most = 24, 2 << 20, 4
	large := strings.Repeat("x", size)
	for name, e := range erasures {
		for _, little := range []bool{false, true} {
			t.Run(fmt.Sprint(name, "/", little), func(t *testing.T) {
				if little {
					defer checkpoint.LookAtLittle()()
				}
				m, h, s := stepping(t)
				parent := ""
				for i := range checkpoints {
					id := fmt.Sprintf("c%02d", i)
					state := locitest.GraphState{"x": id}
					values := locitest.GraphState{"x": large}
					in := locitest.Checkpoint("t", "", id, parent, `{"run_id":"r"}`, state, values)
					in.State.Data = []byte(large)
					locitest.PutCheckpoint(t, m, in)
					locitest.PutWrites(t, m, "t", id, locitest.Write("task", 0, "x", large))
					parent = id
				}
				kinds := map[loci.ID]loci.Kind{}
				for _, kind := range []loci.Kind{checkpoint.Kind, checkpoint.KindValue, checkpoint.KindWrite} {
					f := loci.Filter{Within: []loci.Namespace{{"u"}}, Kinds: []loci.Kind{kind}, NotLive: true}
					page := loci.Page{Limit: 100, Brief: true}
					records, _, err := s.Store.Records(context.Background(), m.View().Tenant, f, page)
					if err != nil {
						t.Fatal(err)
					}
					for i := range records {
						kinds[records[i].ID] = kind
					}
				}
				s.changes = nil
				n, err := e.call(t.Context(), h)
				if err != nil || n != checkpoints-e.stay {
					t.Fatalf("%d checkpoints, %v", n, err)
				}
				for i, c := range s.changes {
					of := map[loci.Kind]int{}
					for _, erase := range c.Erase {
						of[kinds[erase.ID]]++
					}
					for kind, n := range of {
						if kind != "" && n > most {
							t.Errorf("change %d erases %d of %s", i, n, kind)
						}
					}
				}
				left := stored(t, m, s)
				if left[checkpoint.KindValue] != int64(e.stay) || left[checkpoint.KindCandidates] > 0 {
					t.Errorf("left %v", left)
				}
			})
		}
	}
}
