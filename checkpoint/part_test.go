package checkpoint_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/memory"
)

// writesOf are as many writes of a task.
func writesOf(task string, n int) (writes []checkpoint.Write) {
	for i := range n {
		writes = append(writes, locitest.Write(task, i, "ch", "v"))
	}
	return writes
}

// goOn makes the parts of a call until it has ended, and returns what each has done.
func goOn(t *testing.T, between func(), call func(cursor string) (checkpoint.Part, error)) (done []int) {
	t.Helper()
	for cursor := ""; ; {
		p, err := call(cursor)
		if err != nil {
			t.Fatalf("after %d parts: %v", len(done), err)
		}
		if done = append(done, p.Checkpoints); p.Next == "" {
			return done
		}
		if p.Next == cursor {
			t.Fatalf("part %d has the cursor of the one before", len(done))
		}
		if cursor = p.Next; between != nil {
			between()
		}
	}
}

func sum(done []int) (n int) {
	for _, d := range done {
		n += d
	}
	return n
}

// manyWrites gives a checkpoint writes, which cost a part as much as other records do.
func manyWrites(t *testing.T, m *loci.Memory, id string, n int) {
	t.Helper()
	for i := 0; i < n; i += 1000 {
		locitest.PutWrites(t, m, "t", id, writesOf(fmt.Sprint("many", i), min(1000, n-i))...)
	}
}

// parts are the calls that erase, in parts, with how many checkpoints of a thread stay.
var parts = map[string]struct {
	stay int
	call func(context.Context, *checkpoint.Handle, string) (checkpoint.Part, error)
}{
	"prune": {1, func(ctx context.Context, h *checkpoint.Handle, cursor string) (checkpoint.Part, error) {
		return h.PrunePart(ctx, []string{"t"}, checkpoint.KeepLatest, cursor)
	}},
	"prune all": {0, func(ctx context.Context, h *checkpoint.Handle, cursor string) (checkpoint.Part, error) {
		return h.PrunePart(ctx, []string{"a", "t", "z"}, checkpoint.DeleteAll, cursor)
	}},
	"runs": {0, func(ctx context.Context, h *checkpoint.Handle, cursor string) (checkpoint.Part, error) {
		return h.DeleteForRunsPart(ctx, []string{"r"}, cursor)
	}},
	"delete": {0, func(ctx context.Context, h *checkpoint.Handle, cursor string) (checkpoint.Part, error) {
		return h.DeleteThreadPart(ctx, "t", cursor)
	}},
}

// A call takes a part of a large thread, and the next one goes on: with its cursor, and without. Nothing is left of it.
func TestThreadsAreErasedInParts(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		const checkpoints, writes = 5, checkpoint.ErasePart + 1000
		for name, p := range parts {
			for _, keep := range []bool{true, false} {
				if _, files := s.(*memory.Store); !files && !keep {
					continue // one store says it of all
				}
				t.Run(fmt.Sprint(name, "/", keep), func(t *testing.T) {
					user := strings.ReplaceAll(name, " ", "") + fmt.Sprint(keep)
					m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), user)
					locitest.CheckpointHistory(t, m, "t", "", checkpoints, func(int) string { return `{"run_id":"r"}` })
					manyWrites(t, m, "c02", writes)
					h := checkpoint.Of(m)
					done := goOn(t, func() {
						for id, c := range everyOf(t, m, "t") {
							if len(c.Values) != 2 {
								t.Errorf("between parts %s has %v", id, values(c))
							}
						}
					}, func(cursor string) (checkpoint.Part, error) {
						if !keep && cursor != "" {
							cursor = "" // a call of someone who does not know of the one before
							defer func() { keep = true }()
						}
						return p.call(t.Context(), h, cursor)
					})
					if sum(done) != checkpoints-p.stay || len(done) < 2 {
						t.Errorf("the parts took %v", done)
					}
					left := stored(t, m, s)
					want := map[loci.Kind]int64{}
					if p.stay > 0 {
						want[checkpoint.Kind], want[checkpoint.KindValue] = 1, 2
						want[checkpoint.KindWrite], want[checkpoint.KindThread] = 1, 1
					}
					if !reflect.DeepEqual(left, want) {
						t.Errorf("left %v, want %v", left, want)
					}
					if _, err := h.DeleteThread(t.Context(), "t"); err != nil {
						t.Fatal(err)
					}
				})
			}
		}
	})
}

// Between the parts of a copy its target cannot be read, put to, pruned or found, and the copy goes on, whoever calls:
// what was put to the thread meanwhile is not in it. A target that is deleted meanwhile is a conflict.
func TestThreadIsCopiedInParts(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		clock := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: clock.Now, Features: locitest.Features()}), "u")
		h := checkpoint.Of(m)
		locitest.CheckpointHistory(t, m, "t", "", 12, func(i int) string { return fmt.Sprintf(`{"run_id":"r","step":%d}`, i) })
		locitest.CheckpointHistory(t, m, "t", "in:1", 3, locitest.PlainState)
		want := everyOf(t, m, "t")
		unfinished := `conflict thread "copy" is a copy of "t" that has not ended`
		for i := 0; ; i++ {
			clock.Advance(1e9)
			p, err := h.CopyThreadFrom(t.Context(), "t", "copy", 7)
			if err != nil {
				t.Fatal(err)
			}
			if p.Next == "" {
				if p.Checkpoints != 15 || i < 6 {
					t.Errorf("%d checkpoints in %d parts", p.Checkpoints, i)
				}
				break
			}
			clock.Advance(1e9)
			id := fmt.Sprintf("d%02d", i)
			late := locitest.GraphState{"x": id}
			locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", id, "c11", "{}", late, late))
			locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c05", "c04", `{"step":5,"run_id":"r"}`,
				locitest.GraphState{"same": "1", "step": "again"}, locitest.GraphState{"step": fmt.Sprint("put ", i)}))
			for _, get := range []string{"", "c03"} {
				_, err = h.Get(t.Context(), "copy", "", get)
				wantError(t, err, unfinished)
			}
			for _, graph := range []string{"", "in:1", "new:1"} {
				wantError(t, h.Put(t.Context(), locitest.Checkpoint("copy", graph, "c99", "", "{}", nil, nil)), unfinished)
			}
			_, err = h.Prune(t.Context(), []string{"copy"}, checkpoint.KeepLatest)
			wantError(t, err, unfinished)
			_, err = h.CopyThread(t.Context(), "copy", "third")
			wantError(t, err, unfinished)
			_, err = h.CopyThread(t.Context(), "other", "copy")
			wantError(t, err, unfinished)
			if got := ids(t, m, "copy"); len(got) > 0 {
				t.Errorf("part %d: listed are %v", i, got)
			}
			for _, c := range everyCheckpoint(t, m) {
				if c.Thread == "copy" {
					t.Errorf("part %d: a list of all has %s", i, c.ID)
				}
			}
			var export strings.Builder
			if _, err := m.Export(t.Context(), &export, nil); err != nil || strings.Contains(export.String(), `"thread":"copy"`) {
				t.Errorf("part %d: an export has a part of a copy, %v", i, err)
			}
			if i == 3 {
				locitest.PutWrites(t, m, "copy", "c11", locitest.Write("task", 0, "ch", "early"))
			}
		}
		got := everyOf(t, m, "copy")
		for id, c := range want {
			switch id {
			case "/c05": // it was put again all the time
				if x := got[id]; !strings.HasPrefix(values(x)["step"], "put ") || values(x)["same"] == "" {
					t.Errorf("%s has %v", id, values(x))
				}
				continue
			case "/c11":
				c.Writes = slices.Clone(c.Writes)
				c.Writes[0].Value.Data = []byte("early")
			}
			if !reflect.DeepEqual(got[id], c) {
				t.Errorf("%s differs:\n%v\n%v", id, got[id], c)
			}
		}
		if len(got) != len(want) {
			t.Errorf("copied %d checkpoints, want %d", len(got), len(want))
		}
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("copy", "in:1", "c99", "c02", "{}", locitest.GraphState{"same": "1"}, nil))
		wantValues(t, getCheckpoint(t, m, "copy", "in:1", ""), map[string]string{"same": "same of in:1"})

		p, err := h.CopyThreadFrom(t.Context(), "t", "gone", 7)
		if err != nil || p.Next == "" {
			t.Fatal(p, err)
		}
		if _, err := h.DeleteThread(t.Context(), "gone"); err != nil {
			t.Fatal(err)
		}
		_, err = h.CopyThreadPart(t.Context(), "t", "gone", p.Next)
		locitest.WantCode(t, err, loci.Conflict)
		if n, err := h.CopyThread(t.Context(), "t", "gone"); n == 0 || err != nil {
			t.Errorf("%d were copied, %v", n, err)
		}
		if faults, err := s.Check(t.Context(), locitest.Tenant(t, "t")); err != nil || len(faults) > 0 {
			t.Errorf("check: %q, %v", faults, err)
		}
	})
}

// Runs are not erased from a copy that has not ended, of which the rest would still come.
func TestRunsOfACopyThatHasNotEnded(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	h := checkpoint.Of(m)
	locitest.CheckpointHistory(t, m, "t", "", 9, func(int) string { return `{"run_id":"r"}` })
	for p := (checkpoint.Part{}); p.Checkpoints == 0; {
		var err error
		if p, err = h.CopyThreadFrom(t.Context(), "t", "copy", 7); err != nil || p.Next == "" && p.Checkpoints == 0 {
			t.Fatal(p, err)
		}
	}
	_, err := h.DeleteForRuns(t.Context(), []string{"r"})
	wantError(t, err, `conflict thread "copy" is a copy of "t" that has not ended`)
	if _, err := h.CopyThread(t.Context(), "t", "copy"); err != nil {
		t.Fatal(err)
	}
	if n, err := h.DeleteForRuns(t.Context(), []string{"r"}); n == 0 || err != nil || len(everyCheckpoint(t, m)) > 0 {
		t.Errorf("%d are erased, %v; left %v", n, err, everyCheckpoint(t, m))
	}
}

// everyOf are the checkpoints of a thread by graph and id, as they are the same in a copy.
func everyOf(t *testing.T, m *loci.Memory, thread string) map[string]checkpoint.Saved {
	t.Helper()
	out := map[string]checkpoint.Saved{}
	for q := (checkpoint.Query{Thread: thread, Limit: 1000}); ; {
		page, err := checkpoint.Of(m).List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Checkpoints {
			c.Thread, c.CreatedAt = "", time.Time{}
			out[c.Namespace+"/"+c.ID] = c
		}
		if q.Cursor = page.Next; page.Next == "" {
			return out
		}
	}
}

// A thread with more checkpoints than a prune looks at together leaves what a small one leaves: the latest, what it is
// read with, without a parent that went, and no value that nobody has.
func TestLongThreadsArePrunedInParts(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for name, metadata := range map[string]func(i, n int) string{
			"plain": func(int, int) string { return "{}" },
			"busy":  func(int, int) string { return "{}" }, // others put checkpoints between the parts
			"delta": func(i, n int) string {
				return map[bool]string{true: `{"counters_since_delta_snapshot":{"ch":1}}`, false: "{}"}[i == n-1]
			},
			"branch": func(i, n int) string {
				return map[bool]string{true: `{"counters_since_delta_snapshot":{"ch":1}}`, false: "{}"}[i == n-1]
			},
			"ring": func(i, n int) string { return `{"counters_since_delta_snapshot":{"none":1}}` },
		} {
			if _, quick := s.(*memory.Store); !quick && name != "busy" {
				continue // a thread that is long takes long to make
			}
			t.Run(name, func(t *testing.T) {
				m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), name)
				n := 1300
				if name == "ring" {
					n = 1005
				}
				for i := range n {
					id, state := fmt.Sprintf("c%05d", i), locitest.GraphState{"x": fmt.Sprint(i), "y": fmt.Sprint(i / 100)}
					snapshot := n - 5
					if name == "branch" {
						snapshot = 2
					}
					if i == snapshot {
						state["ch"] = "1"
					}
					parent := ""
					if i > 0 {
						parent = fmt.Sprintf("c%05d", i-1)
					} else if name == "ring" {
						parent = fmt.Sprintf("c%05d", n-1)
					}
					if name == "branch" && i == n-1 {
						parent = "c00002"
					}
					now := locitest.GraphState{"x": fmt.Sprint("x", i)}
					if i%100 == 0 {
						now["y"] = fmt.Sprint("y", i)
					}
					if i == snapshot {
						now["ch"] = "snapshot"
					}
					locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", id, parent, metadata(i, n), state, now))
				}
				before := everyOf(t, m, "t")
				late, latest := 0, fmt.Sprintf("c%05d", n-1)
				done := goOn(t, func() {
					for range 3 {
						if late++; name != "busy" || late > 9 {
							return
						}
						id := fmt.Sprintf("d%05d", late)
						state := locitest.GraphState{"x": id, "y": fmt.Sprint((n - 1) / 100)} // y is that of the latest
						in := locitest.Checkpoint("t", "", id, latest, "{}", state, locitest.GraphState{"x": "x of " + id})
						locitest.PutCheckpoint(t, m, in)
						latest = id
						before["/"+id] = savedWith(in, before["/"+fmt.Sprintf("c%05d", n-1)])
					}
				}, func(cursor string) (checkpoint.Part, error) {
					return checkpoint.Of(m).PruneFrom(t.Context(), []string{"t"}, cursor, 1500)
				})
				kept := map[string]int{"plain": 1, "busy": 1, "delta": 5, "branch": 2, "ring": n}[name]
				if sum(done) != len(before)-kept {
					t.Errorf("the parts took %v of %d", done, len(before))
				}
				after := everyOf(t, m, "t")
				if name == "busy" && (len(done) < 2 || len(before) == n) {
					t.Errorf("nobody put anything between %d parts", len(done))
				}
				for id, c := range after {
					want := before[id]
					if _, there := after["/"+want.Parent]; !there {
						want.Parent = ""
					}
					if !reflect.DeepEqual(c, want) {
						t.Errorf("%s differs:\n%v\n%v", id, c, want)
					}
				}
				left := stored(t, m, s)[checkpoint.KindValue]
				if want := valuesNamed(t, m); len(after) != kept || left != int64(want) {
					t.Errorf("%d checkpoints and %d values are left, which name %d", len(after), left, want)
				}
				if _, err := checkpoint.Of(m).DeleteThread(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
			})
		}
	})
}

// savedWith is how a checkpoint is read that has y of another one.
func savedWith(in checkpoint.Checkpoint, other checkpoint.Saved) checkpoint.Saved {
	in.Thread, in.Values = "", map[string]checkpoint.Typed{"x": in.Values["x"], "y": other.Values["y"]}
	return checkpoint.Saved{Checkpoint: in, Writes: []checkpoint.Write{}}
}

// valuesNamed is how many values the checkpoints of all threads have.
func valuesNamed(t *testing.T, m *loci.Memory) int {
	t.Helper()
	named := map[loci.ID]bool{}
	for q := (checkpoint.Query{Limit: 1000, WithoutValues: true}); ; {
		page, err := checkpoint.Of(m).List(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Checkpoints {
			one := checkpoint.Fetch{Thread: c.Thread, Namespace: c.Namespace, ID: c.ID}
			f, err := checkpoint.Of(m).Fetch(t.Context(), one)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range f.IDs {
				named[id] = true
			}
		}
		if q.Cursor = page.Next; page.Next == "" {
			return len(named)
		}
	}
}
