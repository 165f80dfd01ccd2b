package checkpoint_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
)

// ids lists the checkpoints of a thread.
func ids(t testing.TB, m *loci.Memory, thread string) []string {
	t.Helper()
	return listed(t, m, checkpoint.Query{Thread: thread})
}

func TestDeleteThreadLeavesNothingOfIt(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.CheckpointHistory(t, m, "kept", "", 2, locitest.PlainState)
		want, there := stored(t, m, s), ids(t, m, "kept")
		locitest.CheckpointHistory(t, m, "t", "", 3, locitest.PlainState)
		locitest.CheckpointHistory(t, m, "t", "in:1", 2, locitest.PlainState)
		locitest.PutWrites(t, m, "t", "later", locitest.Write("a", 0, "ch", "of a checkpoint that never came"))
		if n, err := checkpoint.Of(m).DeleteThread(t.Context(), "t"); n != 5 || err != nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		if n, err := checkpoint.Of(m).DeleteThread(t.Context(), "t"); n != 0 || err != nil {
			t.Errorf("deleted %d of nothing, %v", n, err)
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) || !slices.Equal(ids(t, m, "kept"), there) {
			t.Errorf("left %v, want %v", got, want)
		}
		locitest.PutWrites(t, m, "t", "c1", locitest.Write("a", 0, "ch", "alone"))
		_, err := checkpoint.Of(m).DeleteThread(t.Context(), "t")
		if err != nil || !reflect.DeepEqual(stored(t, m, s), want) {
			t.Errorf("writes without a checkpoint stay: %v, %v", stored(t, m, s), err)
		}
		if faults, err := s.Check(t.Context(), locitest.Tenant(t, "t")); err != nil || len(faults) > 0 {
			t.Errorf("check: %q, %v", faults, err)
		}
	})
}

func TestLargeThreads(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.CheckpointHistory(t, m, "t", "", 3, locitest.PlainState)
		var writes []checkpoint.Write
		for i := range locitest.Unraced(5500, 700) { // more than one change holds
			writes = append(writes, locitest.Write("many", i, "ch", "v"))
		}
		locitest.PutWrites(t, m, "t", "c00", writes...)
		if n, err := checkpoint.Of(m).CopyThread(t.Context(), "t", "copy"); n != 3 || err != nil {
			t.Fatalf("copied %d, %v", n, err)
		}
		wantCopy(t, m, "t", "copy")
		if n, err := checkpoint.Of(m).DeleteThread(t.Context(), "t"); n != 3 || err != nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		if n, err := checkpoint.Of(m).Prune(t.Context(), []string{"copy"}, checkpoint.KeepLatest); n != 2 || err != nil {
			t.Errorf("pruned %d, %v", n, err)
		}
		want := map[loci.Kind]int64{
			checkpoint.Kind:       1,
			checkpoint.KindValue:  2,
			checkpoint.KindWrite:  1,
			checkpoint.KindThread: 1,
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
	})
}

// wantCopy fails unless a thread holds what another one does.
func wantCopy(t testing.TB, m *loci.Memory, from, to string) {
	t.Helper()
	page := func(thread string) (out []checkpoint.Saved) {
		p, err := checkpoint.Of(m).List(t.Context(), checkpoint.Query{Thread: thread})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Checkpoints {
			c.Thread, c.CreatedAt = "", c.CreatedAt.AddDate(0, 0, 0)
			out = append(out, c)
		}
		return out
	}
	if a, b := page(from), page(to); len(a) == 0 || !reflect.DeepEqual(a, b) {
		t.Errorf("the copy differs:\n%v\n%v", a, b)
	}
}

func TestCopyThread(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.CheckpointHistory(t, m, "t", "", 4, func(i int) string { return fmt.Sprintf(`{"step":%d,"run_id":"r"}`, i) })
		locitest.CheckpointHistory(t, m, "t", "in:1", 2, locitest.PlainState)
		before := stored(t, m, s)
		if n, err := checkpoint.Of(m).CopyThread(t.Context(), "t", "copy"); n != 6 || err != nil {
			t.Fatalf("copied %d, %v", n, err)
		}
		wantCopy(t, m, "t", "copy")
		after := stored(t, m, s)
		for kind, n := range before {
			if after[kind] != 2*n {
				t.Errorf("%d records of kind %s, want %d", after[kind], kind, 2*n)
			}
		}
		_, err := checkpoint.Of(m).CopyThread(t.Context(), "t", "copy")
		wantError(t, err, `conflict thread "copy" has checkpoints already`)
		_, err = checkpoint.Of(m).CopyThread(t.Context(), "none", "other")
		locitest.WantCode(t, err, loci.NotFound)
		for _, pair := range [][2]string{{"t", "t"}, {"", "x"}, {"t", ""}} {
			_, err = checkpoint.Of(m).CopyThread(t.Context(), pair[0], pair[1])
			locitest.WantCode(t, err, loci.Invalid)
		}
		if !reflect.DeepEqual(stored(t, m, s), after) {
			t.Error("a refused copy left something")
		}
		// The copy stands on its own, and can be deleted by its run.
		if _, err := checkpoint.Of(m).DeleteThread(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		wantValues(t, getCheckpoint(t, m, "copy", "", ""), map[string]string{"same": "same of ", "step": "c03"})
		if n, err := checkpoint.Of(m).DeleteForRuns(t.Context(), []string{"r"}); n != 4 || err != nil {
			t.Errorf("deleted %d of the run, %v", n, err)
		}
	})
}

// TestDeleteForRuns: a run goes with its checkpoints, but a value that another checkpoint has
// stays. A checkpoint whose parent went has none.
func TestDeleteForRuns(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		long := strings.Repeat("r", 300)
		run := func(i int) string {
			return fmt.Sprintf(`{"run_id":%q}`, []string{"one", "two", long}[i/2])
		}
		locitest.CheckpointHistory(t, m, "t", "", 6, run)
		locitest.CheckpointHistory(t, m, "t", "in:1", 3, run)
		locitest.CheckpointHistory(t, m, "other", "", 2, run)
		locitest.CheckpointHistory(t, m, "none", "", 1, func(int) string { return `{"run_id":1}` })
		if n, err := checkpoint.Of(m).DeleteForRuns(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("no runs: %d, %v", n, err)
		}
		if n, err := checkpoint.Of(m).DeleteForRuns(t.Context(), []string{"One", "1"}); n != 0 || err != nil {
			t.Errorf("unknown runs: %d, %v", n, err)
		}
		if n, err := checkpoint.Of(m).DeleteForRuns(t.Context(), []string{"one", long}); n != 8 || err != nil {
			t.Errorf("deleted %d, %v; want 8", n, err)
		}
		want := []string{"t  c03", "t  c02", "t in:1 c02"}
		if got := ids(t, m, "t"); !slices.Equal(got, want) {
			t.Errorf("left %q, want %q", got, want)
		}
		if got := ids(t, m, "other"); len(got) != 0 {
			t.Errorf("left %q", got)
		}
		c := getCheckpoint(t, m, "t", "", "c02")
		wantValues(t, c, map[string]string{"same": "same of ", "step": "c02"}) // the first run wrote "same"
		if c.Parent != "" || getCheckpoint(t, m, "t", "", "c03").Parent != "c02" {
			t.Error("what stays has a parent that is gone, or lost one that is not")
		}
		if string(c.State.Data) != `{"id":"c02"}` {
			t.Errorf("state is %s", c.State.Data)
		}
		wantKinds := map[loci.Kind]int64{
			checkpoint.Kind:       4,
			checkpoint.KindValue:  7,
			checkpoint.KindWrite:  4,
			checkpoint.KindThread: 3,
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, wantKinds) {
			t.Errorf("left %v, want %v", got, wantKinds)
		}
		_, err := checkpoint.Of(m).DeleteForRuns(t.Context(), []string{""})
		locitest.WantCode(t, err, loci.Invalid)
		_, err = checkpoint.Of(m).DeleteForRuns(t.Context(), slices.Repeat([]string{"x"}, 1001))
		locitest.WantCode(t, err, loci.TooLarge)
	})
}

// TestPrune: which checkpoints a prune keeps, for shapes of threads that LangGraph makes.
func TestPrune(t *testing.T) {
	// A thread is a list of checkpoints "namespace id parent metadata channel=value …".
	for name, c := range map[string]struct {
		put  []string
		want []string
	}{
		"the latest of each namespace": {
			[]string{" a1 - {}", " a2 a1 {} x=v", "in a1 - {}", "in a2 a1 {}", "in:1 a9 - {}"},
			[]string{"t in:1 a9", "t  a2", "t in a2"}},
		"a channel of changes keeps its ancestors up to the snapshot": {
			[]string{" a1 - {} d=old", " a2 a1 {} d=snapshot", " a3 a2 {}", " a2x a2 {}", ` a4 a3 {"counters_since_delta_snapshot":{"d":[2,2]}}`},
			[]string{"t  a4", "t  a3", "t  a2"}},
		"of several such channels the oldest snapshot counts": {
			[]string{" a0 - {}", " a1 a0 {} d=s", " a2 a1 {} e=s", ` a3 a2 {"counters_since_delta_snapshot":{"d":[1,2],"e":[1,1]}}`},
			[]string{"t  a3", "t  a2", "t  a1"}},
		"without a snapshot all of the path is needed": {
			[]string{" a1 - {}", " a2 a1 {}", " a1x a1 {}", ` a3 a2 {"counters_since_delta_snapshot":{"d":[1,2]}}`},
			[]string{"t  a3", "t  a2", "t  a1"}},
		"a snapshot at the head needs none": {
			[]string{" a1 - {}", ` a2 a1 {"counters_since_delta_snapshot":{"d":[1,2]}} d=s`},
			[]string{"t  a2"}},
		"parents in a ring end": {
			[]string{" a1 a2 {}", ` a2 a1 {"counters_since_delta_snapshot":{"d":[1,2]}}`},
			[]string{"t  a2", "t  a1"}},
		"what a subgraph left goes with the checkpoint that called it": {
			[]string{" a1 - {}", " a5 a1 {}", `n:1 a2 - {"parents":{"":"a1"}}`, `n:2 a6 - {"parents":{"":"a5"}}`, `n:3 a3 - {"parents":{"":"a4"}}`, `own a3 - {"parents":{"":"a1"}}`},
			[]string{"t n:2 a6", "t  a5", "t n:3 a3", "t own a3"}},
	} {
		t.Run(name, func(t *testing.T) {
			locitest.EachStore(t, func(t *testing.T, s loci.Store) {
				m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
				for _, line := range c.put {
					f := strings.Split(line, " ")
					in := locitest.Checkpoint("t", f[0], f[1], strings.Trim(f[2], "-"),
						f[3], locitest.GraphState{}, map[string]string{})
					for _, pair := range f[4:] {
						channel, v, _ := strings.Cut(pair, "=")
						in.Versions[channel], in.Values[channel] = f[1], checkpoint.Typed{Type: "text", Data: []byte(v)}
					}
					locitest.PutCheckpoint(t, m, in)
				}
				locitest.PutCheckpoint(t, m, locitest.Checkpoint("other", "", "a1", "", "{}", nil, nil))
				locitest.PutCheckpoint(t, m, locitest.Checkpoint("other", "", "a2", "a1", "{}", nil, nil))
				n, err := checkpoint.Of(m).Prune(t.Context(), []string{"t", "none"}, checkpoint.KeepLatest)
				if got := ids(t, m, "t"); err != nil || !slices.Equal(got, c.want) || n != len(c.put)-len(c.want) {
					t.Errorf("pruned %d, %v; left %q, want %q", n, err, got, c.want)
				}
				if got := ids(t, m, "other"); len(got) != 2 {
					t.Errorf("of the other thread %q are left", got)
				}
			})
		})
	}
}

// TestPruneKeepsWhatTheLatestNeeds: the latest checkpoint can be read whole after a prune, in
// each format, and no record is left that it does not need.
func TestPruneKeepsWhatTheLatestNeeds(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.CheckpointHistory(t, m, "t", "", 5, locitest.PlainState)
		if _, err := checkpoint.Of(m).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); err != nil {
			t.Fatal(err)
		}
		c := getCheckpoint(t, m, "t", "", "")
		wantValues(t, c, map[string]string{"same": "same of ", "step": "c04"})
		if len(c.Writes) != 1 || c.Parent != "" {
			t.Errorf("%d writes, parent %q", len(c.Writes), c.Parent)
		}
		want := map[loci.Kind]int64{
			checkpoint.Kind:       1,
			checkpoint.KindValue:  2,
			checkpoint.KindWrite:  1,
			checkpoint.KindThread: 1,
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
		// Older formats keep what was sent to tasks with the parent.
		for _, format := range []int{0, 3, 4} {
			thread := fmt.Sprint("f", format)
			locitest.PutCheckpoint(t, m, locitest.Checkpoint(thread, "", "c1", "", "{}", nil, nil))
			locitest.PutWrites(t, m, thread, "c1", locitest.Write("a", 0, "__pregel_tasks", "v"))
			in := locitest.Checkpoint(thread, "", "c2", "c1", "{}", nil, nil)
			in.Format = format
			locitest.PutCheckpoint(t, m, in)
			if _, err := checkpoint.Of(m).Prune(t.Context(), []string{thread}, checkpoint.KeepLatest); err != nil {
				t.Fatal(err)
			}
			if got := len(ids(t, m, thread)); got != map[int]int{0: 1, 3: 2, 4: 1}[format] {
				t.Errorf("format %d: %d are left", format, got)
			}
		}
		if n, err := checkpoint.Of(m).Prune(t.Context(), []string{"t", "f0", "f3", "f4"}, checkpoint.DeleteAll); n != 5 ||
			err != nil || len(stored(t, m, s)) != 0 {
			t.Errorf("pruned all: %d, %v, left %v", n, err, stored(t, m, s))
		}
		_, err := checkpoint.Of(m).Prune(t.Context(), nil, "keep")
		locitest.WantCode(t, err, loci.Invalid)
		_, err = checkpoint.Of(m).Prune(t.Context(), []string{""}, checkpoint.KeepLatest)
		locitest.WantCode(t, err, loci.Invalid)
	})
}

func TestCheckpointsStayWithTheirHandle(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "user", "ada")
		locitest.CheckpointHistory(t, m, "t", "", 2, func(int) string { return `{"run_id":"r"}` })
		want := stored(t, m, s)
		for name, other := range map[string]*loci.Memory{
			"another user": locitest.Bind(t, e, "user", "bob"),
			"above":        locitest.Bind(t, e, "user"),
			"below":        locitest.Bind(t, e, "user", "ada", "x"),
			"also": locitest.BindView(t, e, loci.View{
				Tenant:    locitest.Tenant(t, "t"),
				Namespace: loci.Namespace{"x"},
				Also:      []loci.Namespace{{"user", "ada"}},
				Actor:     "a",
			}),
			"tenant": locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, "other"), Namespace: loci.Namespace{"user", "ada"}, Actor: "a"}),
		} {
			_, err := checkpoint.Of(other).Get(t.Context(), "t", "", "")
			locitest.WantCode(t, err, loci.NotFound)
			if got := append(ids(t, other, "t"), ids(t, other, "")...); len(got) != 0 {
				t.Errorf("%s sees %q", name, got)
			}
			n1, err1 := checkpoint.Of(other).DeleteThread(t.Context(), "t")
			n2, err2 := checkpoint.Of(other).DeleteForRuns(t.Context(), []string{"r"})
			n3, err3 := checkpoint.Of(other).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest)
			if n1+n2+n3 != 0 || err1 != nil || err2 != nil || err3 != nil {
				t.Errorf("%s erased %d %d %d, %v %v %v", name, n1, n2, n3, err1, err2, err3)
			}
			_, err = checkpoint.Of(other).CopyThread(t.Context(), "t", "mine")
			locitest.WantCode(t, err, loci.NotFound)
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
	})
}

func TestCheckpointsAreNoMemories(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		locitest.CheckpointHistory(t, m, "t", "", 2, func(int) string { return `{"source":"loop"}` })
		want := stored(t, m, s)
		for _, q := range []loci.Query{{}, {Text: "same c00"}} {
			if got := locitest.Search(t, m, q); len(got.Matches) != 0 {
				t.Errorf("a search finds %v", locitest.Texts(got))
			}
		}
		where, _ := loci.ParseWhere(map[string]any{"source": "loop"})
		if n, err := m.CountErase(t.Context(), loci.EraseQuery{Where: where}); n != 0 || err != nil {
			t.Errorf("a selection of memories holds %d, %v", n, err)
		}
		_, err := m.CountErase(t.Context(), loci.EraseQuery{Kinds: []loci.Kind{checkpoint.KindValue}})
		locitest.WantCode(t, err, loci.Invalid)
		records, _, err := s.Records(t.Context(), m.View().Tenant,
			loci.Filter{Within: []loci.Namespace{{}}, NotLive: true}, loci.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			locitest.WantCode(t, m.Erase(t.Context(), records[i].ID), loci.Unsupported)
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
		n, err := m.CountErase(t.Context(), loci.EraseQuery{All: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.EraseAll(t.Context(), loci.EraseQuery{All: true, Expect: n}, nil); err != nil ||
			len(stored(t, m, s)) != 0 {
			t.Errorf("erasing everything left %v, %v", stored(t, m, s), err)
		}
	})
}

func TestCheckpointEventsAndRepeatedRequests(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		keyed := locitest.BindView(t, e, loci.View{
			Tenant:         locitest.Tenant(t, "t"),
			Namespace:      loci.Namespace{"u"},
			Actor:          "tester",
			IdempotencyKey: "k",
		})
		in := locitest.Checkpoint("t", "", "c1", "", "{}", locitest.GraphState{"x": "1"}, map[string]string{"x": "v"})
		locitest.PutCheckpoint(t, keyed, in)
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c1", "", "{}", locitest.GraphState{"x": "1"}, map[string]string{"x": "newer"}))
		locitest.PutCheckpoint(t, keyed, in) // answered, not done
		wantValues(t, getCheckpoint(t, m, "t", "", "c1"), map[string]string{"x": "newer"})
		in.Parent = "c0"
		locitest.WantCode(t, checkpoint.Of(keyed).Put(t.Context(), in), loci.Conflict)
		locitest.PutWrites(t, m, "t", "c1", locitest.Write("a", 0, "ch", "v"), locitest.Write("a", 1, "ch", "v"))
		if _, err := checkpoint.Of(m).DeleteThread(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		events, _, err := s.Events(t.Context(), locitest.Tenant(t, "t"),
			loci.EventFilter{Within: []loci.Namespace{{}}}, loci.Page{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range events {
			got = append(got, string(e.Type)+" "+string(e.Kind))
		}
		want := []string{"erased checkpoint_write", "erased checkpoint", "created checkpoint_write", "updated checkpoint", "created checkpoint"}
		if !slices.Equal(got, want) {
			t.Errorf("events are %q, want %q", got, want)
		}
	})
}

// What was erased, and what a put replaced, is no longer in any file.
func TestErasedCheckpointsLeaveNoBytes(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Open(filepath.Join(dir, "x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
	marked := func(mark string) checkpoint.Checkpoint {
		return locitest.Checkpoint("t", "", "c1", "", `{"m":"meta`+mark+`"}`, locitest.GraphState{"x": "1"},
			map[string]string{"x": strings.Repeat("value"+mark, 2000)})
	}
	locitest.PutCheckpoint(t, m, marked("replaced"))
	locitest.PutCheckpoint(t, m, marked("pruned"))
	locitest.PutWrites(t, m, "t", "c1", locitest.Write("a", -1, "ch", "writereplaced"))
	locitest.PutWrites(t, m, "t", "c1", locitest.Write("a", -1, "ch", "writepruned"))
	next := locitest.Checkpoint("t", "", "c2", "c1", `{"m":"metadeleted"}`, locitest.GraphState{"x": "2"}, map[string]string{"x": "valuedeleted"})
	locitest.PutCheckpoint(t, m, next)
	if found := inFiles(t, dir, "valuepruned") && inFiles(t, dir, "metapruned"); !found {
		t.Fatal("the scan does not see what is there")
	}
	if _, err := checkpoint.Of(m).Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest); err != nil {
		t.Fatal(err)
	}
	if _, err := checkpoint.Of(m).DeleteThread(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, mark := range []string{"replaced", "pruned", "deleted"} {
		for _, part := range []string{"value", "meta", "write"} {
			if inFiles(t, dir, part+mark) {
				t.Errorf("%s%s is still in a file", part, mark)
			}
		}
	}
}

// inFiles reports whether any file below a directory holds a text.
func inFiles(t testing.TB, dir, text string) (found bool) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
