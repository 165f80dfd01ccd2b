package checkpoint_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

// everyCheckpoint lists all checkpoints of a handle, with their values and writes.
func everyCheckpoint(t *testing.T, m *loci.Memory) []checkpoint.Saved {
	t.Helper()
	page, err := checkpoint.Of(m).List(t.Context(), checkpoint.Query{Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return page.Checkpoints
}

// branchy makes threads with shared values, a branch, a subgraph, bytes that are no text,
// writes and a channel that holds nothing.
func branchy(t *testing.T, m *loci.Memory) {
	t.Helper()
	large := checkpoint.Typed{Type: "msgpack", Data: []byte("\x00\xff\xfe large " + strings.Repeat("x", 3000))}
	put := func(thread, ns, id, parent string, versions map[string]string, values map[string]checkpoint.Typed) {
		t.Helper()
		in := checkpoint.Checkpoint{Thread: thread, Namespace: ns, ID: id, Parent: parent, Format: 2,
			State:    checkpoint.Typed{Type: "json", Data: []byte("{\xff}")},
			Metadata: json.RawMessage(`{"run_id":"r","step":1}`), TypedMetadata: checkpoint.Typed{Type: "m",
				Data: []byte{0, 1}}, Versions: versions, Values: values}
		locitest.PutCheckpoint(t, m, in)
	}
	put(
		"t",
		"",
		"1",
		"",
		map[string]string{"big": "1", "x": "1"},
		map[string]checkpoint.Typed{"big": large, "x": {Type: "b", Data: []byte{1}}},
	)
	put(
		"t",
		"",
		"2",
		"1",
		map[string]string{"big": "1", "x": "2"},
		map[string]checkpoint.Typed{"x": {Type: "b", Data: []byte{2}}},
	)
	put("t", "", "3", "1", map[string]string{"big": "2", "x": "2"},
		map[string]checkpoint.Typed{"x": {Type: "b", Data: []byte{3}}, "big": {Type: checkpoint.EmptyType}})
	put(
		"t",
		"sub:1",
		"1",
		"",
		map[string]string{"x": "1"},
		map[string]checkpoint.Typed{"x": {Type: "b", Data: []byte{4}}},
	)
	put("u", "", "1", "", nil, nil)
	locitest.PutWrites(t, m, "t", "2", locitest.Write("a", 0, "ch", "v\x00"), locitest.Write("a", -1, "err", "e"))
}

// TestCheckpointsAreInExports: an export holds checkpoints. An import restores them in another
// store with their times, and shared values stay shared. A second import changes nothing.
func TestCheckpointsAreInExports(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "user", "ada")
		branchy(t, m)
		want := everyCheckpoint(t, m)
		text := locitest.Exported(t, m)
		records := func(text string) string { _, rest, _ := strings.Cut(text, "\n"); return rest } // the header has the time
		if again := locitest.Exported(t, m); records(again) != records(text) {
			t.Errorf("an export of the same differs:\n%s\n%s", again, text)
		}
		if n := strings.Count(text, `"kind":"checkpoint_value"`); n != 5 {
			t.Errorf("%d values in the export, want 5: each once", n)
		}
		locitest.EachStore(t, func(t *testing.T, other loci.Store) {
			later := func() time.Time { return time.Now().Add(time.Hour).UTC().Truncate(time.Millisecond) }
			to := locitest.Bind(t, locitest.NewEngine(t, other, loci.Options{Now: later}), "user", "bob")
			report, err := to.Import(t.Context(), strings.NewReader(text), nil)
			if err != nil || report.Created != 5 || report.Conflicts != 0 {
				t.Fatalf("%+v, %v", report, err)
			}
			sameCheckpoints(t, everyCheckpoint(t, to), want)
			for range 2 {
				report, err = to.Import(t.Context(), strings.NewReader(text), nil)
				if err != nil || report.Created != 0 || report.Existing != 5 {
					t.Fatalf("again: %+v, %v", report, err)
				}
			}
			sameCheckpoints(t, everyCheckpoint(t, to), want)
			// Exported again from there, each value comes once.
			if n := strings.Count(locitest.Exported(t, to), `"kind":"checkpoint_value"`); n != 5 {
				t.Errorf("%d values after the import, want 5", n)
			}
		})
	})
}

// sameCheckpoints compares by place, because a list of all threads comes in the order of
// storing.
func sameCheckpoints(t *testing.T, got, want []checkpoint.Saved) {
	t.Helper()
	byPlace := func(list []checkpoint.Saved) map[string]checkpoint.Saved {
		m := map[string]checkpoint.Saved{}
		for _, c := range list {
			var compact bytes.Buffer
			if err := json.Compact(&compact, c.Metadata); err != nil {
				t.Fatal(err)
			}
			c.Metadata = compact.Bytes()
			m[c.Thread+"/"+c.Namespace+"/"+c.ID] = c
		}
		return m
	}
	g, w := byPlace(got), byPlace(want)
	for place := range w {
		if !reflect.DeepEqual(g[place], w[place]) {
			t.Errorf("%s:\n got %+v\nwant %+v", place, g[place], w[place])
		}
	}
	if len(g) != len(w) {
		t.Errorf("%d checkpoints, want %d", len(g), len(w))
	}
}

// TestImportOfCheckpointsGoesOn: an import that stopped half way may be repeated. Checkpoints
// that were there before stay as they are.
func TestImportOfCheckpointsGoesOn(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		// Both are of one tenant: the ids are taken.
		from, to := locitest.Bind(t, e, "user", "ada"), locitest.Bind(t, e, "user", "bob")
		branchy(t, from)
		want := everyCheckpoint(t, from)
		locitest.PutCheckpoint(t, to, checkpoint.Checkpoint{Thread: "u", ID: "1",
			State: checkpoint.Typed{Type: "json", Data: []byte("other")}})
		half := checkpoint.Checkpoint{Thread: "t", ID: "1", Format: 2, State: want[0].State,
			Versions: map[string]string{"big": "1", "x": "1"}}
		for _, c := range want {
			if c.Thread == "t" && c.Namespace == "" && c.ID == "1" {
				half.State, half.Values, half.Metadata, half.TypedMetadata = c.State, c.Values, c.Metadata,
					c.TypedMetadata
			}
		}
		locitest.PutCheckpoint(t, to, half)
		var out strings.Builder
		if n, err := from.Export(t.Context(), &out, nil); err != nil || n != 3+1+1 {
			t.Errorf("the export counts %d, %v", n, err)
		}
		report, err := to.Import(t.Context(), strings.NewReader(out.String()), nil)
		if err != nil || report.Created != 3 || report.Existing != 1 || report.Conflicts != 1 ||
			len(report.Skipped) != 1 {
			t.Fatalf("%+v, %v", report, err)
		}
		if got, err := checkpoint.Of(to).Get(t.Context(), "u", "", "1"); err != nil ||
			string(got.State.Data) != "other" {
			t.Errorf("what was there: %+v, %v", got, err)
		}
		got, err := checkpoint.Of(to).Get(t.Context(), "t", "", "2")
		if err != nil || len(got.Writes) != 2 || len(got.Values["big"].Data) < 3000 {
			t.Errorf("%+v, %v", got, err)
		}
		sameCheckpoints(t, everyCheckpoint(t, from), want)
	})
}

// TestImportRefusesWhatNoExportSays: the refusal names the line or the checkpoint.
func TestImportRefusesWhatNoExportSays(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "user", "ada")
	branchy(t, m)
	text := locitest.Exported(t, m)
	for name, c := range map[string]struct{ from, to, says string }{
		"a kind":     {`"kind":"checkpoint_write"`, `"kind":"checkpoint_thread"`, "kind checkpoint_thread is not in an export"},
		"a value":    {`"values":{"big":"`, `"values":{"big":"0`, "body is not one that an export writes"},
		"a write of": {`"body":{"id":"2","task"`, `"body":{"id":"9","task"`, `the write is of the checkpoint "9", which is not before it`},
		"a version":  {`"versions":{"big":"1","x":"1"}`, `"versions":{"x":"1"}`, `checkpoint "1": channel_values has "big"`},
	} {
		broken := strings.Replace(text, c.from, c.to, 1)
		if broken == text {
			t.Errorf("%s: the export has no %s", name, c.from)
		}
		to := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
		if _, err := to.Import(t.Context(), strings.NewReader(broken), nil); err == nil ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if left := everyCheckpoint(t, to); len(left) != 0 {
			t.Errorf("%s: stored %v", name, left)
		}
	}
}

// TestLargestValueInAnExport: what can be put can be exported, and the export imported.
func TestLargestValueInAnExport(t *testing.T) {
	from := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	large := checkpoint.Typed{Type: "b", Data: bytes.Repeat([]byte{0xff}, checkpoint.MaxValue)}
	locitest.PutCheckpoint(t, from, checkpoint.Checkpoint{Thread: "t", ID: "1",
		State:    checkpoint.Typed{Type: "json", Data: []byte("{}")},
		Versions: map[string]string{"x": "1"}, Values: map[string]checkpoint.Typed{"x": large}})
	to := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	if report, err := to.Import(t.Context(), strings.NewReader(locitest.Exported(t, from)),
		nil); err != nil || report.Created != 1 {
		t.Fatalf("%+v, %v", report, err)
	}
}

// TestExportOfCheckpointsWhereNobodyKeepsThem: a build that keeps no checkpoints, or does not import
// them, refuses the whole file in words.
func TestExportOfCheckpointsWhereNobodyKeepsThem(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	branchy(t, m)
	e, err := loci.New(locitest.OpenMemory(), &loci.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = locitest.Bind(t, e, "u").Import(t.Context(), strings.NewReader(locitest.Exported(t, m)), nil)
	if e := loci.AsError(err); e == nil || e.Code != loci.Unsupported ||
		e.Error() != `line 2: kind "checkpoint_value" is not known to this build` {
		t.Errorf("%v", err)
	}
}

// A checkpoint may have the writes of many calls, more than one call takes: its export is imported.
func TestWritesOfManyCallsComeBack(t *testing.T) {
	from := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	locitest.PutCheckpoint(t, from, locitest.Checkpoint("t", "", "1", "", "{}", nil, nil))
	const calls, each = 11, 1000
	for call := range calls {
		writes := make([]checkpoint.Write, each)
		for i := range writes {
			writes[i] = locitest.Write(fmt.Sprint("task", call), i, "ch", "v")
		}
		locitest.PutWrites(t, from, "t", "1", writes...)
	}
	to := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	if _, err := to.Import(t.Context(), strings.NewReader(locitest.Exported(t, from)), nil); err != nil {
		t.Fatal(err)
	}
	if all := everyCheckpoint(t, to); len(all) != 1 || len(all[0].Writes) != calls*each {
		t.Errorf("%d checkpoints came back, the first with %d writes", len(all), len(all[0].Writes))
	}
}
