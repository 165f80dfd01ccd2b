package checkpoint_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

// A meddler lets another process change something between what a call reads and what it makes of it.
type meddler struct {
	loci.Store
	read  func(f loci.Filter) // after it was read
	apply func(c loci.Change) // before it is applied
	after func(c loci.Change) // it was applied
}

func (s *meddler) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	records, next, err := s.Store.Records(ctx, t, f, p)
	if do := s.read; do != nil {
		s.read = nil
		do(f)
		if s.read == nil {
			s.read = do
		}
	}
	return records, next, err
}

func (s *meddler) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if do := s.apply; do != nil {
		do(c)
	}
	err := s.Store.Apply(ctx, t, c)
	if do := s.after; do != nil && err == nil {
		do(c)
	}
	return err
}

// meddled is a memory of one process, and that of another one with the same store.
func meddled(t *testing.T, s loci.Store) (m, other *loci.Memory, meddles *meddler) {
	t.Helper()
	return meddledBy(t, s, "u")
}

func meddledBy(t *testing.T, s loci.Store, user string) (m, other *loci.Memory, meddles *meddler) {
	t.Helper()
	meddles = &meddler{Store: s}
	m = locitest.Bind(t, locitest.NewEngine(t, meddles, loci.Options{}), user)
	return m, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), user), meddles
}

// A checkpoint whose parent another process prunes while it is put has no value that is not there.
func TestPutBesideAPruneOfAnotherProcess(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m, other, meddles := meddled(t, s)
		locitest.CheckpointHistory(t, m, "t", "", 2, locitest.PlainState)
		looks := 0
		meddles.read = func(f loci.Filter) {
			if slices.Contains(f.Kinds, checkpoint.Kind) && f.Slot != nil {
				if looks++; looks == 2 { // the parent
					locitest.PutCheckpoint(t, other, locitest.Checkpoint("t", "", "c05", "c01", "{}", nil, nil))
					_, err := checkpoint.Of(other).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest)
					if err != nil {
						t.Error(err)
					}
				}
			}
		}
		state, fresh := locitest.GraphState{"same": "1", "new": "1"}, locitest.GraphState{"new": "n"}
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c09", "c01", "{}", state, fresh))
		meddles.read = nil
		wantValues(t, getCheckpoint(t, m, "t", "", "c09"), map[string]string{"new": "n"})
	})
}

// What a prune knows does not outlive a change that was refused: another process has put a checkpoint, which is then
// the latest and keeps what it names.
func TestPruneThatIsRefusedLooksAgain(t *testing.T) {
	for name, n := range map[string]int{"at once": 5, "in parts": 1100} {
		t.Run(name, func(t *testing.T) {
			s := locitest.OpenMemory()
			m, other, meddles := meddled(t, s)
			parent := ""
			for i := range n {
				id := fmt.Sprintf("c%04d", i)
				state, fresh := locitest.GraphState{"x": id}, locitest.GraphState{"x": "of " + id}
				locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", id, parent, "{}", state, fresh))
				parent = id
			}
			locitest.PutWrites(t, m, "t", "c0000", writesOf("many", 700)...) // more than one change
			changes, steps := 0, 0
			meddles.after = func(loci.Change) { steps++ }
			meddles.apply = func(c loci.Change) {
				if changes++; changes <= 2 || steps == 1 { // twice the first step is refused, and once the second one
					if steps == 1 {
						steps++
					}
					in := locitest.Checkpoint("t", "", fmt.Sprintf("d%02d", changes), "c0001", "{}", locitest.GraphState{"x": "c0001"}, nil)
					locitest.PutCheckpoint(t, other, in)
				}
			}
			done := goOn(t, nil, func(cursor string) (checkpoint.Part, error) {
				return checkpoint.Of(m).PrunePart(t.Context(), []string{"t"}, checkpoint.KeepLatest, cursor)
			})
			if sum(done) != n+2 {
				t.Errorf("the parts took %v of %d", done, n)
			}
			wantValues(t, getCheckpoint(t, m, "t", "", ""), map[string]string{"x": "of c0001"})
			if left := stored(t, m, s); left[checkpoint.Kind] != 1 || left[checkpoint.KindValue] != 1 {
				t.Errorf("left %v", left)
			}
		})
	}
}

// What another process puts after a prune has chosen and before it looks for values that nobody has keeps its own.
func TestSweepBesideAPutOfAnotherProcess(t *testing.T) {
	m, other, meddles := meddled(t, locitest.OpenMemory())
	locitest.CheckpointHistory(t, m, "t", "", 3, locitest.PlainState)
	erased, put := false, false
	meddles.after = func(c loci.Change) { erased = erased || len(c.Erase) > 0 }
	meddles.read = func(loci.Filter) {
		if erased && !put {
			put = true
			in := locitest.Checkpoint("t", "", "d", "c02", "{}", locitest.GraphState{"y": "1"}, locitest.GraphState{"y": "of d"})
			locitest.PutCheckpoint(t, other, in)
		}
	}
	if _, err := checkpoint.Of(m).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); err != nil {
		t.Fatal(err)
	}
	meddles.read = nil
	if got := getCheckpoint(t, m, "t", "", "c02"); len(got.Values) != 2 {
		t.Errorf("c02 has %v", values(got))
	}
	wantValues(t, getCheckpoint(t, m, "t", "", "d"), map[string]string{"y": "of d"})
}
