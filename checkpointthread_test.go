package loci_test

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
	"github.com/loci-memory/loci/store/sqlite"
)

// history puts n checkpoints of a thread and namespace, each the parent of the next,
// with an unchanged channel and one that changes, and a write on each.
func history(t testing.TB, m *loci.Memory, thread, namespace string, n int, metadata func(i int) string) {
	t.Helper()
	parent := ""
	for i := range n {
		id := fmt.Sprintf("c%02d", i)
		in := checkpoint(thread, namespace, id, parent, metadata(i), graphState{"same": "1", "step": fmt.Sprint(i)}, map[string]string{"step": namespace + id})
		if i == 0 {
			in.Values["same"] = loci.Typed{Type: "text", Data: []byte("same of " + namespace)}
		}
		putCheckpoint(t, m, in)
		if err := m.Checkpoints().PutWrites(t.Context(), thread, namespace, id, []loci.CheckpointWrite{write("task", 0, "ch", "w"+id)}); err != nil {
			t.Fatal(err)
		}
		parent = id
	}
}

func plain(int) string { return "{}" }

// ids lists what there is of a thread.
func ids(t testing.TB, m *loci.Memory, thread string) []string {
	t.Helper()
	return listed(t, m, loci.CheckpointQuery{Thread: thread})
}

func TestDeleteThreadLeavesNothingOfIt(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		history(t, m, "kept", "", 2, plain)
		want, there := stored(t, m, s), ids(t, m, "kept")
		history(t, m, "t", "", 3, plain)
		history(t, m, "t", "in:1", 2, plain)
		putWrites(t, m, "t", "later", write("a", 0, "ch", "of a checkpoint that never came"))
		if n, err := m.Checkpoints().DeleteThread(t.Context(), "t"); n != 5 || err != nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		if n, err := m.Checkpoints().DeleteThread(t.Context(), "t"); n != 0 || err != nil {
			t.Errorf("deleted %d of nothing, %v", n, err)
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) || !slices.Equal(ids(t, m, "kept"), there) {
			t.Errorf("left %v, want %v", got, want)
		}
		putWrites(t, m, "t", "c1", write("a", 0, "ch", "alone"))
		if _, err := m.Checkpoints().DeleteThread(t.Context(), "t"); err != nil || !reflect.DeepEqual(stored(t, m, s), want) {
			t.Errorf("writes without a checkpoint stay: %v, %v", stored(t, m, s), err)
		}
		if faults, err := s.Check(t.Context(), tenant(t, "t")); err != nil || len(faults) > 0 {
			t.Errorf("check: %q, %v", faults, err)
		}
	})
}

func TestLargeThreads(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		history(t, m, "t", "", 3, plain)
		var writes []loci.CheckpointWrite
		for i := range unraced(5500, 700) { // more than one change holds
			writes = append(writes, write("many", i, "ch", "v"))
		}
		putWrites(t, m, "t", "c00", writes...)
		if n, err := m.Checkpoints().CopyThread(t.Context(), "t", "copy"); n != 3 || err != nil {
			t.Fatalf("copied %d, %v", n, err)
		}
		wantCopy(t, m, "t", "copy")
		if n, err := m.Checkpoints().DeleteThread(t.Context(), "t"); n != 3 || err != nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		if n, err := m.Checkpoints().Prune(t.Context(), []string{"copy"}, loci.KeepLatest); n != 2 || err != nil {
			t.Errorf("pruned %d, %v", n, err)
		}
		want := map[loci.Kind]int64{loci.KindCheckpoint: 1, loci.KindCheckpointValue: 2, loci.KindCheckpointWrite: 1, loci.KindCheckpointThread: 1}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
	})
}

// wantCopy fails unless a thread holds what another one does.
func wantCopy(t testing.TB, m *loci.Memory, from, to string) {
	t.Helper()
	page := func(thread string) (out []loci.SavedCheckpoint) {
		p, err := m.Checkpoints().List(t.Context(), loci.CheckpointQuery{Thread: thread})
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
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		history(t, m, "t", "", 4, func(i int) string { return fmt.Sprintf(`{"step":%d,"run_id":"r"}`, i) })
		history(t, m, "t", "in:1", 2, plain)
		before := stored(t, m, s)
		if n, err := m.Checkpoints().CopyThread(t.Context(), "t", "copy"); n != 6 || err != nil {
			t.Fatalf("copied %d, %v", n, err)
		}
		wantCopy(t, m, "t", "copy")
		after := stored(t, m, s)
		for kind, n := range before {
			if after[kind] != 2*n {
				t.Errorf("%d records of kind %s, want %d", after[kind], kind, 2*n)
			}
		}
		_, err := m.Checkpoints().CopyThread(t.Context(), "t", "copy")
		wantError(t, err, `conflict thread "copy" has checkpoints already`)
		_, err = m.Checkpoints().CopyThread(t.Context(), "none", "other")
		wantCode(t, err, loci.NotFound)
		for _, pair := range [][2]string{{"t", "t"}, {"", "x"}, {"t", ""}} {
			_, err = m.Checkpoints().CopyThread(t.Context(), pair[0], pair[1])
			wantCode(t, err, loci.Invalid)
		}
		if !reflect.DeepEqual(stored(t, m, s), after) {
			t.Error("a refused copy left something")
		}
		// The copy stands on its own, and goes by its run.
		if _, err := m.Checkpoints().DeleteThread(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		wantValues(t, getCheckpoint(t, m, "copy", "", ""), map[string]string{"same": "same of ", "step": "c03"})
		if n, err := m.Checkpoints().DeleteForRuns(t.Context(), []string{"r"}); n != 4 || err != nil {
			t.Errorf("deleted %d of the run, %v", n, err)
		}
	})
}

func TestDeleteForRuns(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		long := strings.Repeat("r", 300)
		run := func(i int) string {
			return fmt.Sprintf(`{"run_id":%q}`, []string{"one", "two", long}[i/2])
		}
		history(t, m, "t", "", 6, run)
		history(t, m, "t", "in:1", 3, run)
		history(t, m, "other", "", 2, run)
		history(t, m, "none", "", 1, func(int) string { return `{"run_id":1}` })
		if n, err := m.Checkpoints().DeleteForRuns(t.Context(), nil); n != 0 || err != nil {
			t.Errorf("no runs: %d, %v", n, err)
		}
		if n, err := m.Checkpoints().DeleteForRuns(t.Context(), []string{"One", "1"}); n != 0 || err != nil {
			t.Errorf("unknown runs: %d, %v", n, err)
		}
		if n, err := m.Checkpoints().DeleteForRuns(t.Context(), []string{"one", long}); n != 8 || err != nil {
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
		wantKinds := map[loci.Kind]int64{loci.KindCheckpoint: 4, loci.KindCheckpointValue: 7, loci.KindCheckpointWrite: 4, loci.KindCheckpointThread: 3}
		if got := stored(t, m, s); !reflect.DeepEqual(got, wantKinds) {
			t.Errorf("left %v, want %v", got, wantKinds)
		}
		_, err := m.Checkpoints().DeleteForRuns(t.Context(), []string{""})
		wantCode(t, err, loci.Invalid)
		_, err = m.Checkpoints().DeleteForRuns(t.Context(), slices.Repeat([]string{"x"}, 1001))
		wantCode(t, err, loci.TooLarge)
	})
}

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
			eachStore(t, func(t *testing.T, s loci.Store) {
				m := bind(t, newEngine(t, s, loci.Options{}), "u")
				for _, line := range c.put {
					f := strings.Split(line, " ")
					in := checkpoint("t", f[0], f[1], strings.Trim(f[2], "-"), f[3], graphState{}, map[string]string{})
					for _, pair := range f[4:] {
						channel, v, _ := strings.Cut(pair, "=")
						in.Versions[channel], in.Values[channel] = f[1], loci.Typed{Type: "text", Data: []byte(v)}
					}
					putCheckpoint(t, m, in)
				}
				putCheckpoint(t, m, checkpoint("other", "", "a1", "", "{}", nil, nil))
				putCheckpoint(t, m, checkpoint("other", "", "a2", "a1", "{}", nil, nil))
				n, err := m.Checkpoints().Prune(t.Context(), []string{"t", "none"}, loci.KeepLatest)
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

func TestPruneKeepsWhatTheLatestNeeds(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		history(t, m, "t", "", 5, plain)
		if _, err := m.Checkpoints().Prune(t.Context(), []string{"t"}, loci.KeepLatest); err != nil {
			t.Fatal(err)
		}
		c := getCheckpoint(t, m, "t", "", "")
		wantValues(t, c, map[string]string{"same": "same of ", "step": "c04"})
		if len(c.Writes) != 1 || c.Parent != "" {
			t.Errorf("%d writes, parent %q", len(c.Writes), c.Parent)
		}
		want := map[loci.Kind]int64{loci.KindCheckpoint: 1, loci.KindCheckpointValue: 2, loci.KindCheckpointWrite: 1, loci.KindCheckpointThread: 1}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
		// Older formats keep what was sent to tasks with the parent.
		for _, format := range []int{0, 3, 4} {
			thread := fmt.Sprint("f", format)
			putCheckpoint(t, m, checkpoint(thread, "", "c1", "", "{}", nil, nil))
			putWrites(t, m, thread, "c1", write("a", 0, "__pregel_tasks", "v"))
			in := checkpoint(thread, "", "c2", "c1", "{}", nil, nil)
			in.Format = format
			putCheckpoint(t, m, in)
			if _, err := m.Checkpoints().Prune(t.Context(), []string{thread}, loci.KeepLatest); err != nil {
				t.Fatal(err)
			}
			if got := len(ids(t, m, thread)); got != map[int]int{0: 1, 3: 2, 4: 1}[format] {
				t.Errorf("format %d: %d are left", format, got)
			}
		}
		if n, err := m.Checkpoints().Prune(t.Context(), []string{"t", "f0", "f3", "f4"}, loci.DeleteAll); n != 5 || err != nil || len(stored(t, m, s)) != 0 {
			t.Errorf("pruned all: %d, %v, left %v", n, err, stored(t, m, s))
		}
		_, err := m.Checkpoints().Prune(t.Context(), nil, "keep")
		wantCode(t, err, loci.Invalid)
		_, err = m.Checkpoints().Prune(t.Context(), []string{""}, loci.KeepLatest)
		wantCode(t, err, loci.Invalid)
	})
}

func TestCheckpointsStayWithTheirHandle(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s, loci.Options{})
		m := bind(t, e, "user", "ada")
		history(t, m, "t", "", 2, func(int) string { return `{"run_id":"r"}` })
		want := stored(t, m, s)
		for name, other := range map[string]*loci.Memory{"another user": bind(t, e, "user", "bob"), "above": bind(t, e, "user"), "below": bind(t, e, "user", "ada", "x"),
			"also":   bindView(t, e, loci.View{Tenant: tenant(t, "t"), Namespace: loci.Namespace{"x"}, Also: []loci.Namespace{{"user", "ada"}}, Actor: "a"}),
			"tenant": bindView(t, e, loci.View{Tenant: tenant(t, "other"), Namespace: loci.Namespace{"user", "ada"}, Actor: "a"})} {
			_, err := other.Checkpoints().Get(t.Context(), "t", "", "")
			wantCode(t, err, loci.NotFound)
			if got := append(ids(t, other, "t"), ids(t, other, "")...); len(got) != 0 {
				t.Errorf("%s sees %q", name, got)
			}
			n1, err1 := other.Checkpoints().DeleteThread(t.Context(), "t")
			n2, err2 := other.Checkpoints().DeleteForRuns(t.Context(), []string{"r"})
			n3, err3 := other.Checkpoints().Prune(t.Context(), []string{"t"}, loci.KeepLatest)
			if n1+n2+n3 != 0 || err1 != nil || err2 != nil || err3 != nil {
				t.Errorf("%s erased %d %d %d, %v %v %v", name, n1, n2, n3, err1, err2, err3)
			}
			_, err = other.Checkpoints().CopyThread(t.Context(), "t", "mine")
			wantCode(t, err, loci.NotFound)
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
	})
}

func TestCheckpointsAreNoMemories(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s, loci.Options{})
		m := bind(t, e, "u")
		history(t, m, "t", "", 2, func(int) string { return `{"source":"loop"}` })
		want := stored(t, m, s)
		for _, q := range []loci.Query{{}, {Text: "same c00"}} {
			if got := search(t, m, q); len(got.Matches) != 0 {
				t.Errorf("a search finds %v", texts(got))
			}
		}
		if strings.Contains(exported(t, m), "checkpoint") {
			t.Error("an export holds checkpoints")
		}
		where, _ := loci.ParseWhere(map[string]any{"source": "loop"})
		if n, err := m.CountErase(t.Context(), loci.EraseQuery{Where: where}); n != 0 || err != nil {
			t.Errorf("a selection of memories holds %d, %v", n, err)
		}
		_, err := m.CountErase(t.Context(), loci.EraseQuery{Kinds: []loci.Kind{loci.KindCheckpointValue}})
		wantCode(t, err, loci.Invalid)
		records, _, err := s.Records(t.Context(), m.View().Tenant, loci.Filter{Within: []loci.Namespace{{}}, NotLive: true}, loci.Page{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range records {
			wantCode(t, m.Erase(t.Context(), records[i].ID), loci.Unsupported)
		}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("left %v, want %v", got, want)
		}
		n, err := m.CountErase(t.Context(), loci.EraseQuery{All: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.EraseAll(t.Context(), loci.EraseQuery{All: true, Expect: n}, nil); err != nil || len(stored(t, m, s)) != 0 {
			t.Errorf("erasing everything left %v, %v", stored(t, m, s), err)
		}
	})
}

func TestCheckpointEventsAndRepeatedRequests(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s, loci.Options{})
		m := bind(t, e, "u")
		keyed := bindView(t, e, loci.View{Tenant: tenant(t, "t"), Namespace: loci.Namespace{"u"}, Actor: "tester", IdempotencyKey: "k"})
		in := checkpoint("t", "", "c1", "", "{}", graphState{"x": "1"}, map[string]string{"x": "v"})
		putCheckpoint(t, keyed, in)
		putCheckpoint(t, m, checkpoint("t", "", "c1", "", "{}", graphState{"x": "1"}, map[string]string{"x": "newer"}))
		putCheckpoint(t, keyed, in) // answered, not done
		wantValues(t, getCheckpoint(t, m, "t", "", "c1"), map[string]string{"x": "newer"})
		in.Parent = "c0"
		wantCode(t, keyed.Checkpoints().Put(t.Context(), in), loci.Conflict)
		putWrites(t, m, "t", "c1", write("a", 0, "ch", "v"), write("a", 1, "ch", "v"))
		if _, err := m.Checkpoints().DeleteThread(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		events, _, err := s.Events(t.Context(), tenant(t, "t"), loci.EventFilter{Within: []loci.Namespace{{}}}, loci.Page{})
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

// What was erased, and what a put replaced, is in no file any more.
func TestErasedCheckpointsLeaveNoBytes(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Open(filepath.Join(dir, "x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m := bind(t, newEngine(t, s, loci.Options{}), "u")
	marked := func(mark string) loci.Checkpoint {
		return checkpoint("t", "", "c1", "", `{"m":"meta`+mark+`"}`, graphState{"x": "1"}, map[string]string{"x": strings.Repeat("value"+mark, 2000)})
	}
	putCheckpoint(t, m, marked("replaced"))
	putCheckpoint(t, m, marked("pruned"))
	putWrites(t, m, "t", "c1", write("a", -1, "ch", "writereplaced"))
	putWrites(t, m, "t", "c1", write("a", -1, "ch", "writepruned"))
	next := checkpoint("t", "", "c2", "c1", `{"m":"metadeleted"}`, graphState{"x": "2"}, map[string]string{"x": "valuedeleted"})
	putCheckpoint(t, m, next)
	if found := inFiles(t, dir, "valuepruned") && inFiles(t, dir, "metapruned"); !found {
		t.Fatal("the scan does not see what is there")
	}
	if _, err := m.Checkpoints().Prune(t.Context(), []string{"t"}, loci.KeepLatest); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Checkpoints().DeleteThread(t.Context(), "t"); err != nil {
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
