package checkpoint_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/sqlite"
)

// A put of the reference: what a checkpoint was put with.
type refPut struct {
	run, parent string
	values      map[string]string
}

// A graphModel puts and erases checkpoints of one thread at random, and knows what should be there.
type graphModel struct {
	t    *testing.T
	rng  *rand.Rand
	h    *checkpoint.Handle
	m    *loci.Memory // of another process
	want map[string]refPut
	n    int
	gone map[string]bool // runs of which a deletion has begun
}

// put puts a checkpoint: a new one with a parent that is there, or with none that is; or one that is there, again.
func (g *graphModel) put() {
	there := slices.DeleteFunc(slices.Sorted(maps.Keys(g.want)), func(id string) bool { return g.gone[g.want[id].run] })
	g.n++
	id := fmt.Sprintf("c%03d", g.rng.IntN(1000)) // before others or behind them
	if len(there) > 0 && g.rng.IntN(4) == 0 {
		id = there[g.rng.IntN(len(there))]
	}
	if g.gone[g.want[id].run] {
		return // it may be there or not
	}
	parent := ""
	if len(there) > 0 {
		parent = there[g.rng.IntN(len(there))]
	}
	run := fmt.Sprint("r", g.n%7)
	if g.gone[run] {
		run = "r-"
	}
	old, again := g.want[id]
	state, now, want := locitest.GraphState{}, map[string]string{}, map[string]string{}
	for _, ch := range []string{"a", "b", "c"} {
		from, has := g.want[parent].values[ch]
		switch {
		case again && g.rng.IntN(2) == 0 && old.values[ch] != "":
			state[ch], want[ch] = old.values[ch], old.values[ch] // it keeps its own
		case has && g.rng.IntN(3) > 0:
			state[ch], want[ch] = from, from
		default:
			v := fmt.Sprintf("%s%d", ch, g.n)
			state[ch], now[ch], want[ch] = v, v, v
		}
	}
	named := parent
	if g.rng.IntN(6) == 0 {
		named = "none" // it takes what it has over from no parent: the latest value of the version
	}
	in := locitest.Checkpoint("t", "", id, named, `{"run_id":"`+run+`"}`, state, now)
	if err := checkpoint.Of(g.m).Put(g.t.Context(), in); err != nil {
		g.t.Fatalf("put %s: %v", id, err)
	}
	g.want[id] = refPut{run: run, parent: named, values: want}
	if g.rng.IntN(3) == 0 {
		locitest.PutWrites(g.t, g.m, "t", id, writesOf(fmt.Sprint("task", g.n), 2)...)
	}
}

// check reads every checkpoint.
func (g *graphModel) check(step int, runs map[string]bool) {
	g.t.Helper()
	got := everyOf(g.t, g.m, "t")
	for id, c := range got {
		p, ok := g.want[id[1:]]
		if ok && !maps.Equal(values(c), p.values) {
			g.t.Fatalf("step %d: %s has %v, want %v", step, id, values(c), p.values)
		}
		if !ok {
			g.t.Fatalf("step %d: %s is there", step, id)
		}
	}
	for id, p := range g.want {
		if _, ok := got["/"+id]; ok {
			continue
		}
		if !runs[p.run] {
			g.t.Fatalf("step %d: %s is not there", step, id)
		}
		delete(g.want, id)
	}
}

// Whatever comes between the parts of a deletion of runs, of this process or of another one in the middle of a step,
// each checkpoint reads as it was put, and in the end nothing is left that none of them names. So it is if parts are
// never gone on with: another call takes what they left.
func TestRunsOfLargeGraphsAgainstReference(t *testing.T) {
	defer checkpoint.LookAtLittle()()
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for seed := range uint64(locitest.Unraced(5, 2)) {
			for _, pruned := range []bool{false, true} {
				user := fmt.Sprint("u", seed, pruned)
				m, other, meddles := meddledBy(t, s, user)
				g := &graphModel{t: t, rng: rand.New(rand.NewPCG(162, seed)), h: checkpoint.Of(m), m: other,
					want: map[string]refPut{}, gone: map[string]bool{}}
				meddles.apply = func(c loci.Change) {
					if g.rng.IntN(8) == 0 && len(c.Erase)+len(c.Put) > 0 {
						g.put()
					}
				}
				cursor, run := "", ""
				for step := range locitest.Unraced(120, 50) {
					runs := map[string]bool{}
					switch op := g.rng.IntN(12); {
					case op < 4:
						if run == "" || cursor == "" {
							run = fmt.Sprint("r", g.rng.IntN(7))
						}
						g.gone[run], runs[run] = true, true
						p, err := g.h.DeleteForRunsFrom(t.Context(), []string{run}, cursor, 1+g.rng.IntN(200))
						if err != nil {
							t.Fatalf("step %d: %v", step, err)
						}
						if cursor = p.Next; cursor == "" {
							delete(g.gone, run)
						} else if g.rng.IntN(6) == 0 {
							delete(g.gone, run) // nobody goes on
							cursor = ""
						}
					case op == 4 && g.rng.IntN(4) == 0:
						if _, err := g.h.CopyThread(t.Context(), "t", "copy"); err != nil && len(g.want) > 0 {
							t.Fatalf("step %d: %v", step, err)
						}
						if _, err := g.h.DeleteThread(t.Context(), "copy"); err != nil {
							t.Fatalf("step %d: %v", step, err)
						}
					case op == 5 && pruned && g.rng.IntN(3) == 0:
						meddle := meddles.apply
						meddles.apply = nil
						if _, err := g.h.PruneFrom(t.Context(), []string{"t"}, "", 1+g.rng.IntN(200)); err != nil {
							t.Fatalf("step %d: %v", step, err)
						}
						meddles.apply = meddle
						for id := range g.want { // all but the latest may be gone
							if id < slices.Max(slices.Collect(maps.Keys(g.want))) {
								runs[g.want[id].run] = true
							}
						}
					default:
						g.put()
					}
					g.check(step, runs)
				}
				meddles.apply = nil
				end := func() error {
					_, err := g.h.DeleteForRuns(t.Context(), []string{"none"})
					return err
				}
				if pruned {
					end = func() error {
						_, err := g.h.Prune(t.Context(), []string{"t"}, checkpoint.KeepLatest)
						return err
					}
				}
				if err := end(); err != nil {
					t.Fatal(err)
				}
				left := stored(t, m, s)
				named := int64(valuesNamed(t, m))
				if left[checkpoint.KindValue] != named || left[checkpoint.KindCandidates] > 0 {
					t.Fatalf("%s: %v is stored, %d values are named", user, left, named)
				}
				if !pruned {
					for id, c := range everyOf(t, m, "t") {
						if c.Parent != "" && c.Parent != "none" && g.want[c.Parent].run == "" {
							t.Errorf("%s: the parent of %s is %s, which is not there", user, id, c.Parent)
						}
					}
				}
				if _, err := g.h.DeleteThread(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
				if left := stored(t, m, s); len(left) > 0 {
					t.Errorf("left %v", left)
				}
			}
		}
		e := locitest.NewEngine(t, s, loci.Options{Features: locitest.Features()})
		locitest.LogIsWhole(t, e, locitest.Tenant(t, "t"))
	})
}

// A deletion of runs of a graph that a build before the lists made: its values are taken as if they had been put by
// this one.
func TestRunsOfAFileOfAnOlderBuild(t *testing.T) {
	for name, little := range map[string]bool{"at once": false, "in steps": true} {
		t.Run(name, func(t *testing.T) {
			if little {
				defer checkpoint.LookAtLittle()()
			}
			dir := t.TempDir()
			unpack(t, filepath.Join("testdata", "runs.db.gz"), filepath.Join(dir, "t-t.db"))
			s, err := sqlite.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			e := locitest.NewEngine(t, s, loci.Options{Features: locitest.Features()})
			m := locitest.Bind(t, e, "u")
			for at, run := range []string{"r1", "r0", "r2"} {
				before := everyOf(t, m, "t")
				done := goOn(t, nil, func(cursor string) (checkpoint.Part, error) {
					return checkpoint.Of(m).DeleteForRunsFrom(t.Context(), []string{run}, cursor, 100)
				})
				if want := []int{35, 30, 30}[at]; sum(done) != want {
					t.Errorf("of %s went %v, want %d", run, done, want)
				}
				after := everyOf(t, m, "t")
				for id, c := range after {
					orphan := c.Parent != "" && after["/"+c.Parent].ID == ""
					if !maps.Equal(values(c), values(before[id])) || len(c.Values) != 3 || orphan {
						t.Errorf("after %s: %s has %v and the parent %q", run, id, values(c), c.Parent)
					}
				}
				left := stored(t, m, s)
				named := int64(valuesNamed(t, m))
				if left[checkpoint.KindValue] != named || left[checkpoint.KindCandidates] > 0 {
					t.Errorf("after %s: %v is stored, %d values are named", run, left, named)
				}
			}
			if left := stored(t, m, s); len(left) > 0 {
				t.Errorf("left %v", left)
			}
			locitest.LogIsWhole(t, e, locitest.Tenant(t, "t"))
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if inFiles(t, dir, "tens of") || inFiles(t, dir, "x of c") {
				t.Error("a value is still in a file")
			}
		})
	}
}

func unpack(t *testing.T, from, to string) {
	t.Helper()
	packed, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a put replaces in a large graph goes with the next call that erases checkpoints of runs there, and what another
// checkpoint still has stays.
func TestReplacedValuesOfALargeGraph(t *testing.T) {
	defer checkpoint.LookAtLittle()()
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.CheckpointHistory(t, m, "t", "", 8, locitest.PlainState)
		again := locitest.GraphState{"same": "1", "step": "new"}
		in := locitest.Checkpoint("t", "", "c00", "", "{}", again, map[string]string{"same": "other", "step": "other"})
		locitest.PutCheckpoint(t, m, in)
		if left := stored(t, m, s); left[checkpoint.KindCandidates] == 0 {
			t.Errorf("nothing is written down: %v", left)
		}
		if _, err := checkpoint.Of(m).DeleteForRuns(t.Context(), []string{"none"}); err != nil {
			t.Fatal(err)
		}
		left := stored(t, m, s)
		if left[checkpoint.KindValue] != 10 || left[checkpoint.KindCandidates] > 0 {
			t.Errorf("left %v", left)
		}
		for id, c := range everyOf(t, m, "t") {
			if want := map[bool]string{true: "other", false: "same of "}[id == "/c00"]; values(c)["same"] != want {
				t.Errorf("%s has %v", id, values(c))
			}
		}
	})
}

// A put behind a look at a graph takes a value over from a checkpoint that the look has not come to, and which is then
// erased, or from none: it keeps the value, wherever the look was stopped.
func TestPutBehindALook(t *testing.T) {
	defer checkpoint.LookAtLittle()()
	s := locitest.OpenMemory()
	for _, parent := range []string{"c9", "none"} {
		for room := range 120 {
			m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), fmt.Sprint(parent, room))
			state := locitest.GraphState{"x": "1"}
			put := func(id, parent, run string, fresh locitest.GraphState) {
				in := locitest.Checkpoint("t", "", id, parent, `{"run_id":"`+run+`"}`, state, fresh)
				locitest.PutCheckpoint(t, m, in)
			}
			put("c1", "", "r", locitest.GraphState{"x": "of c1"})
			for i := range 7 {
				id := fmt.Sprint("c", i+2)
				put(id, "", "other", locitest.GraphState{"x": "of " + id})
			}
			put("c9", "c1", "z", nil)
			if parent == "none" { // c1 and c9 alone have the value that was stored last
				for _, id := range []string{"c2", "c3", "c4", "c5", "c6", "c7", "c8"} {
					in := locitest.Checkpoint("t", "", id, "", `{"run_id":"other"}`, locitest.GraphState{"x": "2"}, nil)
					in.Values["x"] = checkpoint.Typed{Type: "text", Data: []byte("again")}
					locitest.PutCheckpoint(t, m, in)
				}
				if _, err := checkpoint.Of(m).DeleteForRuns(t.Context(), []string{"none"}); err != nil {
					t.Fatal(err)
				}
			}
			_, err := checkpoint.Of(m).DeleteForRunsFrom(t.Context(), []string{"r"}, "", 1+room)
			if err == nil && parent == "none" {
				_, err = checkpoint.Of(m).DeleteForRunsFrom(t.Context(), []string{"z"}, "", 1+room)
			}
			if err != nil {
				t.Fatal(err)
			}
			put("c0", parent, "other", nil)
			want := values(getCheckpoint(t, m, "t", "", "c0"))
			if _, err := checkpoint.Of(m).DeleteForRuns(t.Context(), []string{"z"}); err != nil {
				t.Fatal(err)
			}
			got, err := checkpoint.Of(m).Get(t.Context(), "t", "", "c0")
			if err != nil || !maps.Equal(values(got), want) {
				t.Errorf("%s, %d: it has %v, want %v; %v", parent, room, values(got), want, err)
			}
			if left := stored(t, m, s)[checkpoint.KindCandidates]; left > 0 {
				t.Errorf("%s, %d: %d lists are left", parent, room, left)
			}
		}
	}
}
