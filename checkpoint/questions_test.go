//go:build !race

// These tests count what calls ask a store, and start no goroutine, as those of effort_test.go.

package checkpoint_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

// longThread is a thread of many checkpoints, each with new values of its channels and two writes.
func longThread(t *testing.T, m *loci.Memory, checkpoints, channels int) {
	t.Helper()
	parent := ""
	for i := range checkpoints {
		id, state, values := fmt.Sprintf("c%04d", i), locitest.GraphState{}, locitest.GraphState{}
		for ch := range channels {
			channel := fmt.Sprint("ch", ch)
			state[channel], values[channel] = fmt.Sprint(i), fmt.Sprint("value ", i)
		}
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", id, parent, `{"run_id":"r"}`, state, values))
		locitest.PutWrites(t, m, "t", id, writesOf("task", 2)...)
		parent = id
	}
}

// Copies and erasures ask a store few questions: none for each value, and none for the writes of each
// checkpoint.
func TestLongThreadsAreReadInPages(t *testing.T) {
	const checkpoints = 200
	for name, c := range map[string]struct {
		most int
		call func(*testing.T, *checkpoint.Handle) (int, error)
	}{
		"copy": {checkpoints/16 + 30, func(t *testing.T, h *checkpoint.Handle) (int, error) {
			return h.CopyThread(t.Context(), "t", "copy")
		}},
		"prune": {checkpoints / 5, func(t *testing.T, h *checkpoint.Handle) (int, error) {
			n, err := h.Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest)
			return n + 1, err
		}},
		"delete": {checkpoints / 5, func(t *testing.T, h *checkpoint.Handle) (int, error) {
			return h.DeleteThread(t.Context(), "t")
		}},
		"runs": {checkpoints / 5, func(t *testing.T, h *checkpoint.Handle) (int, error) {
			return h.DeleteForRuns(t.Context(), []string{"r"})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			m, h, counter := counted(t)
			longThread(t, m, checkpoints, 5)
			before := counter.asked
			if n, err := c.call(t, h); n != checkpoints || err != nil {
				t.Fatalf("%d checkpoints, %v", n, err)
			}
			if asked := counter.asked - before; asked > c.most {
				t.Errorf("%d questions for %d checkpoints; want at most %d", asked, checkpoints, c.most)
			}
			switch name {
			case "copy":
				wantCopy(t, m, "t", "copy")
			case "prune":
				if left := getCheckpoint(t, m, "t", "", ""); len(left.Writes) != 2 || len(left.Values) != 5 {
					t.Errorf("left %v", left)
				}
			}
		})
	}
}

// Values go in the order in which they came, so that those that lie together go together: in the order
// of their channels every change would touch most pages of a store.
func TestValuesGoAsTheyCame(t *testing.T) {
	for name, erase := range map[string]func(*testing.T, *checkpoint.Handle) (int, error){
		"prune": func(t *testing.T, h *checkpoint.Handle) (int, error) {
			return h.Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest)
		},
		"delete": func(t *testing.T, h *checkpoint.Handle) (int, error) { return h.DeleteThread(t.Context(), "t") },
	} {
		t.Run(name, func(t *testing.T) {
			m, h, c := counted(t)
			longThread(t, m, 110, 50) // more values than go in one change
			values := valuesOf(t, m)
			if _, err := erase(t, h); err != nil {
				t.Fatal(err)
			}
			went := c.went(values)
			if !inOrder(went) || len(went) < len(values)-50 {
				t.Errorf("%d of %d values went, in order: %v", len(went), len(values), inOrder(went))
			}
		})
	}
}

// valuesOf are the ids of all values.
func valuesOf(t *testing.T, m *loci.Memory) map[loci.ID]bool {
	t.Helper()
	values := map[loci.ID]bool{}
	all := loci.Filter{
		Within: []loci.Namespace{m.Namespace()}, Kinds: []loci.Kind{checkpoint.KindValue}, NotLive: true,
	}
	for p := (loci.Page{Limit: 1000, Order: loci.SlotAscending}); ; {
		records, next, err := m.Records(t.Context(), all, p)
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			values[records[i].ID] = true
		}
		if p.Cursor = next; next == "" {
			return values
		}
	}
}

// went are those of some values that were erased, in the order in which they were.
func (c *readCounter) went(values map[loci.ID]bool) (ids []loci.ID) {
	for _, change := range c.erased {
		for _, e := range change {
			if values[e.ID] {
				ids = append(ids, e.ID)
			}
		}
	}
	return ids
}

func inOrder(ids []loci.ID) bool {
	return slices.IsSortedFunc(ids, func(a, b loci.ID) int { return bytes.Compare(a[:], b[:]) })
}

// A deletion that cannot remember all values of a thread finds the others by where they are.
func TestValuesThatAreNotRemembered(t *testing.T) {
	m, h, c := counted(t)
	longThread(t, m, 110, 50) // more values than go in one change
	values := valuesOf(t, m)
	if n, err := h.DeleteThreadKnowing(t.Context(), "t", 50); n != 110 || err != nil {
		t.Errorf("%d checkpoints, %v", n, err)
	}
	if went := c.went(values); len(went) != len(values) || inOrder(went) {
		t.Errorf("%d of %d values went, as if all were remembered: %v", len(went), len(values), inOrder(went))
	}
	if left := stored(t, m, c); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

// What is erased while a thread is copied in one change is not in the copy, and what is put again is as it is then.
func TestCopyOfAThreadThatChanges(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, *loci.Memory) error
		want   []string
	}{
		"checkpoints are erased": {func(t *testing.T, m *loci.Memory) error {
			_, err := checkpoint.Of(m).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest)
			return err
		}, []string{"/c02"}},
		"one gets another value": {func(t *testing.T, m *loci.Memory) error {
			in := locitest.Checkpoint("t", "", "c02", "c01", "{}", locitest.GraphState{"x": "9"}, locitest.GraphState{"x": "new"})
			return checkpoint.Of(m).Put(t.Context(), in)
		}, []string{"/c00", "/c01", "/c02"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &interruptedStore{Store: locitest.OpenMemory()}
			m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
			locitest.CheckpointHistory(t, m, "t", "", 3, locitest.PlainState)
			s.between = func() {
				if err := c.change(t, m); err != nil {
					t.Error(err)
				}
			}
			if _, err := checkpoint.Of(m).CopyThread(t.Context(), "t", "copy"); err != nil {
				t.Fatal(err)
			}
			if got := slices.Sorted(maps.Keys(everyOf(t, m, "copy"))); !slices.Equal(got, c.want) {
				t.Errorf("copied %v, want %v", got, c.want)
			}
			wantCopy(t, m, "t", "copy")
		})
	}
}

// Of checkpoints here and there the writes between them, which may be many, are not read.
func TestWritesBetweenAreNotRead(t *testing.T) {
	m, h, c := counted(t)
	const checkpoints = 40
	locitest.CheckpointHistory(t, m, "t", "", checkpoints, func(i int) string { return fmt.Sprintf(`{"run_id":"%d"}`, i%2) })
	for i := 0; i < checkpoints; i += 2 {
		locitest.PutWrites(t, m, "t", fmt.Sprintf("c%02d", i), writesOf("many", 300)...)
	}
	clear(c.ofKind)
	if n, err := h.DeleteForRuns(t.Context(), []string{"1"}); n != checkpoints/2 || err != nil {
		t.Errorf("%d were deleted, %v", n, err)
	}
	if read := c.ofKind[checkpoint.KindWrite]; read > 1500 {
		t.Errorf("%d writes were read to erase %d", read, checkpoints/2)
	}
	if left := stored(t, m, c)[checkpoint.KindWrite]; left != checkpoints/2*301 {
		t.Errorf("%d writes are left", left)
	}
}

// A deletion that meets another one erases what is left, whatever it remembers of the thread.
func TestDeletingAThreadTwiceAtOnce(t *testing.T) {
	m, h, c := counted(t)
	longThread(t, m, 110, 50)
	other := locitest.Bind(t, locitest.NewEngine(t, c, loci.Options{}), "u") // of another process, without a turn
	c.then = func() {
		if _, err := checkpoint.Of(other).DeleteThread(t.Context(), "t"); err != nil {
			t.Error(err)
		}
	}
	if _, err := h.DeleteThread(t.Context(), "t"); err != nil {
		t.Error(err)
	}
	if got := stored(t, m, c); len(got) != 0 {
		t.Errorf("left %v", got)
	}
}
