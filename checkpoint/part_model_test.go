package checkpoint_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

// A cursor of another call, or none at all, is refused before anything is done.
func TestCursorsOfOthers(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	locitest.CheckpointHistory(t, m, "t", "", 3, locitest.PlainState)
	h := checkpoint.Of(m)
	for _, bad := range []string{"x", "e30", "eyJwYXJ0IjowfQ", "?"} {
		for name, p := range parts {
			_, err := p.call(t.Context(), h, bad)
			if locitest.WantCode(t, err, loci.Invalid); len(ids(t, m, "t")) != 3 {
				t.Errorf("%s with %q erased something", name, bad)
			}
		}
		_, err := h.CopyThreadPart(t.Context(), "t", "copy", bad)
		locitest.WantCode(t, err, loci.Invalid)
	}
	other := "eyJwYXJ0IjoxLCJ0aHJlYWQiOiJiM1JvWlhJPSJ9" // {"part":1,"thread":"b3RoZXI="}
	_, err := h.PrunePart(t.Context(), []string{"t"}, checkpoint.KeepLatest, other)
	locitest.WantCode(t, err, loci.Invalid)
	_, err = h.CopyThreadPart(t.Context(), "t", "copy", other)
	locitest.WantCode(t, err, loci.Invalid)
}

// A part that is asked for again under its idempotency key is answered as before, and done once.
func TestPartsAreRepeated(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{})
	m := locitest.Bind(t, e, "u")
	keyedBy := func(key string) *loci.Memory {
		view := loci.View{Tenant: locitest.Tenant(t, "t"), Namespace: loci.Namespace{"u"}, Actor: "tester"}
		view.IdempotencyKey = key
		return locitest.BindView(t, e, view)
	}
	locitest.CheckpointHistory(t, m, "t", "", 12, func(int) string { return `{"run_id":"r"}` })
	for name, p := range parts {
		keyed := keyedBy("key of " + name)
		first, err := p.call(t.Context(), checkpoint.Of(keyed), "")
		if err != nil {
			t.Fatal(err)
		}
		locitest.CheckpointHistory(t, m, "t", "", 12, func(int) string { return `{"run_id":"r"}` })
		again, err := p.call(t.Context(), checkpoint.Of(keyed), "")
		if again != first || err != nil || len(ids(t, m, "t")) != 12 {
			t.Errorf("%s: %v, then %v, %v", name, first, again, err)
		}
	}
	keyed := keyedBy("key of a copy")
	for range 2 {
		if p, err := checkpoint.Of(keyed).CopyThreadPart(t.Context(), "t", "copy", ""); p.Checkpoints != 12 || err != nil {
			t.Errorf("%v, %v", p, err)
		}
	}
}

// Whatever parts of calls follow one another, with puts between them, each checkpoint that can be read is whole and as
// it was put, a finished copy is one, and the log holds.
func TestPartsAgainstReference(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		rng := rand.New(rand.NewPCG(10, 157))
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		h := checkpoint.Of(m)
		threads := []string{"a", "b"}
		put := map[string]map[string]string{"a": {}, "b": {}} // by thread and id: the value of x
		at, copying := 0, ""
		for step := range locitest.Unraced(250, 60) {
			thread := threads[rng.IntN(2)]
			var err error
			switch rng.IntN(8) {
			case 0:
				_, err = h.PrunePart(t.Context(), threads, checkpoint.KeepLatest, "")
				for _, one := range threads {
					if latest := slices.Max(append(slices.Collect(maps.Keys(put[one])), "")); latest != "" {
						put[one] = map[string]string{latest: put[one][latest]}
					}
				}
			case 1:
				if rng.IntN(3) == 0 {
					_, err = h.DeleteThreadPart(t.Context(), thread, "")
					clear(put[thread])
				}
			case 2:
				if copying != "" {
					break // a conflict, once it has such checkpoints
				}
				_, err = h.DeleteForRunsPart(t.Context(), []string{"r0"}, "")
				for _, one := range threads {
					maps.DeleteFunc(put[one], func(id, _ string) bool { return strings.HasSuffix(id, "0") })
				}
			case 3, 4:
				if copying == "" {
					copying = thread
				}
				if len(put[copying]) == 0 {
					_, err = h.DeleteThread(t.Context(), "copy")
					copying = ""
					break
				}
				var p checkpoint.Part
				if p, err = h.CopyThreadFrom(t.Context(), copying, "copy", 5); err == nil && p.Next == "" {
					for id, c := range everyOf(t, m, "copy") {
						if want, there := put[copying][id[1:]]; there && values(c)["x"] != want {
							t.Fatalf("step %d: the copy of %s has %s, want %s", step, id, values(c)["x"], want)
						}
					}
					_, err = h.DeleteThread(t.Context(), "copy")
					copying = ""
				}
			default:
				at++
				id := fmt.Sprintf("c%04d%d", at, rng.IntN(3))
				parent := slices.Max(append(slices.Collect(maps.Keys(put[thread])), ""))
				now, version := locitest.GraphState{"x": "value " + id}, id
				if x, there := put[thread][parent]; there && rng.IntN(2) == 0 {
					version, now = strings.TrimPrefix(x, "value "), nil // it has that of its parent
				}
				run := `{"run_id":"r` + id[5:] + `"}`
				in := locitest.Checkpoint(thread, "", id, parent, run, locitest.GraphState{"x": version}, now)
				locitest.PutCheckpoint(t, m, in)
				put[thread][id] = "value " + version
			}
			if err != nil {
				t.Fatalf("step %d: %v", step, err)
			}
			for _, one := range threads {
				got := map[string]string{}
				for id, c := range everyOf(t, m, one) {
					got[id[1:]] = values(c)["x"]
				}
				if !maps.Equal(got, put[one]) {
					t.Fatalf("step %d: thread %s has %v, want %v", step, one, got, put[one])
				}
			}
			if copying == "" && int64(valuesNamed(t, m)) != stored(t, m, s)[checkpoint.KindValue] {
				t.Fatalf("step %d: %d values are stored, %d named", step, stored(t, m, s)[checkpoint.KindValue], valuesNamed(t, m))
			}
		}
	})
}
