//go:build !race

// These tests count what calls change, and nearly all start no goroutine: the race detector has nothing to
// see, and `make test` runs them without it.

package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// mostInStep is how many records one change may touch: some 500, and the records of threads.
const mostInStep = 520

// A stepStore keeps the changes that erase, and refuses all once there were so many.
type stepStore struct {
	loci.Store
	changes []loci.Change
	most    int    // 0: any number
	then    func() // after each change that erases
	read    int    // checkpoints, with their bodies
	threads int    // records of threads that were read
}

var errStep = errors.New("it stops here")

func (s *stepStore) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if s.most > 0 && len(s.changes) >= s.most {
		return errStep
	}
	err := s.Store.Apply(ctx, t, c)
	if err == nil && (len(c.Erase) > 0 || c.More || c.Last) {
		s.changes = append(s.changes, c)
		if do := s.then; do != nil {
			do()
		}
	}
	return err
}

func (s *stepStore) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	records, next, err := s.Store.Records(ctx, t, f, p)
	if len(records) > 0 && records[0].Kind == checkpoint.Kind && !p.Brief {
		s.read += len(records)
	}
	if len(records) > 0 && records[0].Kind == checkpoint.KindThread {
		s.threads += len(records)
	}
	return records, next, err
}

func stepping(t *testing.T) (*loci.Memory, *checkpoint.Handle, *stepStore) {
	t.Helper()
	s := &stepStore{Store: memory.Open()}
	t.Cleanup(func() { s.Close() })
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
	return m, checkpoint.Of(m), s
}

// erasures are the calls that erase checkpoints, with how many of n stay.
var erasures = map[string]struct {
	stay int
	call func(context.Context, *checkpoint.Handle) (int, error)
}{
	"prune": {1, func(ctx context.Context, h *checkpoint.Handle) (int, error) {
		return h.Prune(ctx, []string{"t"}, checkpoint.KeepLatest)
	}},
	"prune all": {0, func(ctx context.Context, h *checkpoint.Handle) (int, error) {
		return h.Prune(ctx, []string{"t"}, checkpoint.DeleteAll)
	}},
	"runs": {0, func(ctx context.Context, h *checkpoint.Handle) (int, error) {
		return h.DeleteForRuns(ctx, []string{"r"})
	}},
	"delete": {0, func(ctx context.Context, h *checkpoint.Handle) (int, error) { return h.DeleteThread(ctx, "t") }},
}

// Whoever writes beside a call that erases much of a thread waits for a small part of it. All parts but
// the last say that more is to come, so that the call waits for the wiping once.
func TestErasuresGoInSmallSteps(t *testing.T) {
	for name, e := range erasures {
		t.Run(name, func(t *testing.T) {
			m, h, s := stepping(t)
			const checkpoints = 80
			longThread(t, m, checkpoints, 20)
			s.changes = nil
			if n, err := e.call(t.Context(), h); n != checkpoints-e.stay || err != nil {
				t.Fatalf("%d checkpoints, %v", n, err)
			}
			wantSteps(t, s.changes)
			if len(s.changes) < 3 {
				t.Errorf("%d changes", len(s.changes))
			}
		})
	}
}

// wantSteps fails unless changes are steps of one call: small ones, and one wait for all.
func wantSteps(t *testing.T, changes []loci.Change) {
	t.Helper()
	for i, c := range changes {
		if n := len(c.Erase) + len(c.Put); n > mostInStep {
			t.Fatalf("change %d of %d has %d records", i, len(changes), n)
		}
		last := i == len(changes)-1
		if c.More == last || c.Last != (last && i > 0) {
			t.Fatalf("change %d of %d says more: %v, last: %v", i, len(changes), c.More, c.Last)
		}
	}
}

// One change is enough for a thread of a few checkpoints.
func TestAFewCheckpointsAreErasedAtOnce(t *testing.T) {
	for name, e := range erasures {
		t.Run(name, func(t *testing.T) {
			m, h, s := stepping(t)
			longThread(t, m, 20, 20)
			s.changes = nil
			if _, err := e.call(t.Context(), h); err != nil {
				t.Fatal(err)
			}
			if n := len(s.changes); n != 1 && (n != 2 || name != "runs") { // runs may be in other threads, too
				t.Errorf("%d changes", n)
			}
			wantSteps(t, s.changes)
		})
	}
}

// What a client can put under one checkpoint or beside it makes no step larger: many writes, many
// checkpoints that name one as their parent, many graphs of one thread.
func TestStepsOfStrangeThreadsAreSmall(t *testing.T) {
	const many = 2000
	for name, fill := range map[string]func(*testing.T, *loci.Memory) int{
		"writes": func(t *testing.T, m *loci.Memory) int {
			locitest.CheckpointHistory(t, m, "t", "", 2, runR)
			for i := range many / 500 {
				locitest.PutWrites(t, m, "t", "c00", writesOf(fmt.Sprint("task", i), 500)...)
			}
			return 2
		},
		"children": func(t *testing.T, m *loci.Memory) int {
			locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c0000", "", `{"run_id":"r"}`, nil, nil))
			for i := range many {
				locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", fmt.Sprintf("c%04d", i+1), "c0000", `{"run_id":"r"}`, nil, nil))
			}
			return many + 1
		},
		"graphs": func(t *testing.T, m *loci.Memory) int {
			for i := range many {
				locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", fmt.Sprint("n:", i), "c", "", `{"run_id":"r"}`, nil, nil))
			}
			return many
		},
	} {
		for call, e := range erasures {
			t.Run(name+"/"+call, func(t *testing.T) {
				m, h, s := stepping(t)
				there := fill(t, m)
				s.changes, s.threads = nil, 0
				n, err := e.call(t.Context(), h)
				if s.threads > 4*there+20 {
					t.Errorf("%d records of threads were read", s.threads)
				}
				if err != nil || n == 0 && name != "graphs" {
					t.Fatalf("%d checkpoints, %v", n, err)
				}
				if len(s.changes) > 0 {
					wantSteps(t, s.changes)
				}
				if left := len(ids(t, m, "t")); left != there-n || call != "prune" && left != 0 {
					t.Errorf("%d of %d are left after %d were erased", left, there, n)
				}
			})
		}
	}
}

func runR(int) string { return `{"run_id":"r"}` }

// Of a run that goes, what other runs made stays, in small steps, too: it has no parent then.
func TestManyChildrenLoseTheirParent(t *testing.T) {
	m, h, s := stepping(t)
	const many = 1500
	locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c0000", "", `{"run_id":"r"}`, nil, nil))
	for i := range many {
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", fmt.Sprintf("c%04d", i+1), "c0000", `{"run_id":"other"}`, nil, nil))
	}
	s.changes = nil
	if n, err := h.DeleteForRuns(t.Context(), []string{"r"}); n != 1 || err != nil {
		t.Fatalf("%d checkpoints, %v", n, err)
	}
	wantSteps(t, s.changes)
	for i := range many {
		if c := getCheckpoint(t, m, "t", "", fmt.Sprintf("c%04d", i+1)); c.Parent != "" || string(c.State.Data) == "" {
			t.Fatalf("%s has the parent %q and the state %q", c.ID, c.Parent, c.State.Data)
		}
	}
}

// An erasure that stops between two changes leaves whole checkpoints, and the same call takes the rest.
func TestErasuresThatStopHalfWay(t *testing.T) {
	for name, e := range erasures {
		for most := 1; ; most++ {
			m, h, s := stepping(t)
			const checkpoints = 80
			longThread(t, m, checkpoints, 20)
			s.changes, s.most = nil, most
			first, err := e.call(t.Context(), h)
			if err == nil {
				break
			}
			s.most = 0
			page, listErr := h.List(t.Context(), checkpoint.Query{Thread: "t", Limit: 1000})
			if !errors.Is(err, errStep) || listErr != nil || len(page.Checkpoints) != checkpoints-first {
				t.Fatalf("%s, %d steps: %d erased, %v; %d are there, %v", name, most, first, err, len(page.Checkpoints), listErr)
			}
			for i, c := range page.Checkpoints {
				oldest := i == len(page.Checkpoints)-1
				if len(c.Values) != 20 || c.Parent == "" && !oldest && name != "prune" {
					t.Errorf("%s, %d steps: %s has %d values and the parent %q", name, most, c.ID, len(c.Values), c.Parent)
				}
			}
			again, err := e.call(t.Context(), h)
			if first+again != checkpoints-e.stay || err != nil {
				t.Errorf("%s, %d steps: %d and %d erased, %v", name, most, first, again, err)
			}
			left := stored(t, m, s)
			if name != "delete" && name != "prune all" { // what a stopped deletion leaves in no checkpoint, the next one finds
				delete(left, checkpoint.KindThread)
			}
			want := map[loci.Kind]int64{}
			if e.stay > 0 {
				want = map[loci.Kind]int64{checkpoint.Kind: 1, checkpoint.KindValue: 20, checkpoint.KindWrite: 2}
			}
			if fmt.Sprint(left) != fmt.Sprint(want) {
				t.Errorf("%s, %d steps: left %v, want %v", name, most, left, want)
			}
		}
	}
}

// Eight times as many checkpoints cost eight times as much, however many steps that takes.
func TestCostOfThreadsIsLinear(t *testing.T) {
	calls := map[string]func(context.Context, *checkpoint.Handle) (int, error){
		"copy": func(ctx context.Context, h *checkpoint.Handle) (int, error) { return h.CopyThread(ctx, "t", "copy") },
	}
	for name, e := range erasures {
		calls[name] = e.call
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			bytes := func(checkpoints int) uint64 {
				m, h, _ := stepping(t)
				longThread(t, m, checkpoints, 5)
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				if _, err := call(t.Context(), h); err != nil {
					t.Fatal(err)
				}
				runtime.ReadMemStats(&after)
				return after.TotalAlloc - before.TotalAlloc
			}
			if few, many := bytes(250), bytes(2000); many > 11*few {
				t.Errorf("%d bytes for 250 checkpoints, %d for 2,000", few, many)
			}
		})
	}
}

// Whoever prunes a thread to which others put checkpoints meanwhile reads each checkpoint once, not all
// of them again for each that is put.
func TestPruneOfAThreadInUseReadsItOnce(t *testing.T) {
	m, h, s := stepping(t)
	const checkpoints = 120
	longThread(t, m, checkpoints, 20)
	other := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u") // of another process
	puts := 0
	s.then = func() {
		if puts < 5 {
			puts++
			id := fmt.Sprintf("d%04d", puts)
			one := locitest.GraphState{"ch0": id}
			locitest.PutCheckpoint(t, other, locitest.Checkpoint("t", "", id, "", "{}", one, one))
		}
	}
	s.read = 0
	if n, err := h.Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); n < checkpoints || err != nil {
		t.Fatalf("%d were erased, %v", n, err)
	}
	if puts < 5 || s.read > 2*checkpoints {
		t.Errorf("%d checkpoints were read to erase %d while %d were put", s.read, checkpoints, puts)
	}
	if c := getCheckpoint(t, m, "t", "", ""); c.ID != "d0005" || len(c.Values) != 1 {
		t.Errorf("the latest is %s with %v", c.ID, c.Values)
	}
}

// Puts beside a prune in this process take turns with its steps, and none is refused.
func TestPutsBesideAPruneTakeTurns(t *testing.T) {
	m, h, s := stepping(t)
	longThread(t, m, 60, 20)
	waiting, entered := make(chan error, 1), make(chan struct{})
	s.then = func() {
		s.then = nil
		go func() {
			close(entered)
			waiting <- h.Put(t.Context(), locitest.Checkpoint("t", "", "d", "", "{}", nil, nil))
		}()
		<-entered
		select {
		case err := <-waiting:
			t.Errorf("a put went on beside a step: %v", err)
			waiting <- err
		case <-time.After(50 * time.Millisecond):
		}
	}
	if _, err := h.Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); err != nil {
		t.Fatal(err)
	}
	if err := <-waiting; err != nil {
		t.Error(err)
	}
}

// The first part of a deletion for runs has half as much as others: a store may have to wipe what was written before it.
func TestTheFirstPartOfRunsIsSmaller(t *testing.T) {
	m, h, s := stepping(t)
	const checkpoints = 3000 // each goes as a record with an event
	for i := range checkpoints {
		c := locitest.Checkpoint("t", "", fmt.Sprintf("c%04d", i), "", `{"run_id":"r"}`, nil, nil)
		locitest.PutCheckpoint(t, m, c)
	}
	var parts []int
	for cursor := ""; ; {
		before := len(s.changes)
		p, err := h.DeleteForRunsPart(t.Context(), []string{"r"}, cursor)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range s.changes[before:] {
			n += len(c.Erase) + 2*len(c.Events)
		}
		parts = append(parts, n)
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	if len(parts) < 2 || parts[0] > checkpoint.ErasePart*6/10 {
		t.Errorf("the parts erase %v", parts)
	}
}
