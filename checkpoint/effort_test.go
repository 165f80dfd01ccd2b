//go:build !race

// These tests count what calls read and start no goroutine: the race detector has nothing to
// see, and `make test` runs them without it.

package checkpoint_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// A readCounter counts the records that are read from a store, the questions, the records of a kind, and the most
// values at once. It keeps what is erased, change by change.
type readCounter struct {
	loci.Store
	read, asked int
	largest     int
	ofKind      map[loci.Kind]int
	erased      [][]loci.Erase
	then        func() // after the first change that erases something
}

func (c *readCounter) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	records, next, err := c.Store.Records(ctx, t, f, p)
	c.read, c.asked = c.read+len(records), c.asked+1
	for i := range records {
		c.ofKind[records[i].Kind]++
	}
	if len(records) > 0 && records[0].Kind == checkpoint.KindValue {
		c.largest = max(c.largest, len(records))
	}
	return records, next, err
}

func (c *readCounter) Apply(ctx context.Context, t loci.Tenant, change loci.Change) error {
	err := c.Store.Apply(ctx, t, change)
	if err != nil {
		return err
	}
	c.erased = append(c.erased, change.Erase)
	if do := c.then; do != nil && len(change.Erase) > 0 {
		c.then = nil
		do()
	}
	return nil
}

// during is how many records a call reads.
func (c *readCounter) during(t *testing.T, call func() error) int {
	t.Helper()
	before := c.read
	if err := call(); err != nil {
		t.Fatal(err)
	}
	return c.read - before
}

func counted(t *testing.T) (*loci.Memory, *checkpoint.Handle, *readCounter) {
	t.Helper()
	c := &readCounter{Store: memory.Open(), ofKind: map[loci.Kind]int{}}
	t.Cleanup(func() { c.Close() })
	m := locitest.Bind(t, locitest.NewEngine(t, c, loci.Options{}), "u")
	return m, checkpoint.Of(m), c
}

// A thread that takes several changes to delete is read once, not once in each.
func TestDeletingALargeThreadReadsItOnce(t *testing.T) {
	m, h, c := counted(t)
	const writes = 25_000 // in five changes, and the rest in one
	for i := range writes / 5000 {
		locitest.PutWrites(t, m, "t", "c", writesOf(fmt.Sprint("task", i), 5000)...)
	}
	locitest.CheckpointHistory(t, m, "t", "", 3, locitest.PlainState)
	read := c.during(t, func() error {
		n, err := h.DeleteThread(t.Context(), "t")
		if n != 3 {
			t.Errorf("%d checkpoints were deleted", n)
		}
		return err
	})
	if read > writes+1000 {
		t.Errorf("%d records were read to delete %d", read, writes)
	}
	if got := stored(t, m, c); len(got) != 0 {
		t.Errorf("left %v", got)
	}
}

// What a task writes costs the same however much other tasks wrote after the checkpoint.
func TestWritesOfOneTaskReadNoOthers(t *testing.T) {
	m, h, c := counted(t)
	put := func(task string) int {
		return c.during(t, func() error { return h.PutWrites(t.Context(), "t", "", "c", writesOf(task, 3)) })
	}
	for i := range 500 {
		locitest.PutWrites(t, m, "t", "c", writesOf(fmt.Sprint("task", i), 3)...)
	}
	if read := put("new"); read > 0 {
		t.Errorf("%d records are read for a new task", read)
	}
	if read := put("new"); read != 3 {
		t.Errorf("%d records are read for a task that is there", read)
	}
}

// A thread that is named again costs nothing more.
func TestPruneTakesEachThreadOnce(t *testing.T) {
	m, h, c := counted(t)
	locitest.CheckpointHistory(t, m, "t", "", 50, func(int) string {
		return `{"counters_since_delta_snapshot":{"ch":1}}` // the latest needs all before it
	})
	prune := func(n int) int {
		threads := make([]string, n)
		for i := range threads {
			threads[i] = "t"
		}
		return c.during(t, func() error {
			n, err := h.Prune(t.Context(), threads, checkpoint.KeepLatest)
			if n != 0 {
				t.Errorf("%d were erased", n)
			}
			return err
		})
	}
	if once, often := prune(1), prune(1000); often != once {
		t.Errorf("%d records are read for a thread, %d for one that is named 1000 times", once, often)
	}
}

// A thread from which checkpoints go in several changes is read once, not once in each.
func TestPruningALargeThreadReadsItOnce(t *testing.T) {
	for name, erase := range map[string]func(*testing.T, *checkpoint.Handle) (int, error){
		"prune": func(t *testing.T, h *checkpoint.Handle) (int, error) {
			return h.Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest)
		},
		"runs": func(t *testing.T, h *checkpoint.Handle) (int, error) {
			return h.DeleteForRuns(t.Context(), []string{"first"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			m, h, c := counted(t)
			const checkpoints = 90
			locitest.CheckpointHistory(t, m, "t", "", checkpoints, func(i int) string {
				return `{"run_id":"` + map[bool]string{true: "last", false: "first"}[i == checkpoints-1] + `"}`
			})
			for i := range 4 {
				locitest.PutWrites(t, m, "t", fmt.Sprintf("c%02d", i), writesOf("many", 5000)...)
			}
			clear(c.ofKind)
			n, err := erase(t, h)
			if n != checkpoints-1 || err != nil {
				t.Errorf("%d were erased, %v", n, err)
			}
			// Its checkpoints to choose and to erase, and their writes; the page at which a change ends is read again.
			if read := c.ofKind[checkpoint.Kind]; read > 3*checkpoints+5 {
				t.Errorf("%d checkpoints were read", read)
			}
			if read := c.ofKind[checkpoint.KindWrite]; read > 4*5000+4*1000 {
				t.Errorf("%d writes were read", read)
			}
		})
	}
}

// What others put while a large thread is pruned counts as in a small one: it is the latest
// then, and what it refers to stays.
func TestPruningALargeThreadSeesWhatOthersPut(t *testing.T) {
	m, _, s := counted(t)
	locitest.CheckpointHistory(t, m, "t", "", 5, locitest.PlainState)
	locitest.PutWrites(t, m, "t", "c00", writesOf("many", 5000)...)          // a change of their own
	other := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u") // of another process, without a turn
	s.then = func() {
		in := locitest.Checkpoint("t", "", "c90", "c03", "{}", locitest.GraphState{"same": "1", "step": "3"}, nil)
		locitest.PutCheckpoint(t, other, in)
	}
	if n, err := checkpoint.Of(m).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); n != 5 || err != nil {
		t.Errorf("%d were erased, %v", n, err)
	}
	wantValues(t, getCheckpoint(t, m, "t", "", ""), map[string]string{"same": "same of ", "step": "c03"})
}

// An export names no values again that it wrote: eight times as many checkpoints cost eight times
// as many bytes of memory.
func TestExportOfAThreadIsLinear(t *testing.T) {
	bytes := func(checkpoints int) int64 {
		m, _, _ := counted(t)
		locitest.CheckpointHistory(t, m, "t", "", checkpoints, locitest.PlainState)
		return testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				if _, err := m.Export(b.Context(), io.Discard, nil); err != nil {
					b.Fatal(err)
				}
			}
		}).AllocedBytesPerOp()
	}
	if few, many := bytes(200), bytes(1600); many > 12*few {
		t.Errorf("an export allocates %d bytes for 200 checkpoints, %d for 1600", few, many)
	}
}
