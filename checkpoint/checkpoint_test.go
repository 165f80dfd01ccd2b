package checkpoint_test

import (
	"bytes"
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

func getCheckpoint(t testing.TB, m *loci.Memory, thread, namespace, id string) checkpoint.Saved {
	t.Helper()
	c, err := checkpoint.Of(m).Get(t.Context(), thread, namespace, id)
	if err != nil {
		t.Fatalf("get %q %q %q: %v", thread, namespace, id, err)
	}
	return c
}

// listed goes through a list in pages and returns thread, namespace and id of each.
func listed(t testing.TB, m *loci.Memory, q checkpoint.Query) (out []string) {
	t.Helper()
	for {
		page, err := checkpoint.Of(m).List(t.Context(), q)
		if err != nil {
			t.Fatalf("list %+v: %v", q, err)
		}
		for _, c := range page.Checkpoints {
			out = append(out, c.Thread+" "+c.Namespace+" "+c.ID)
		}
		if len(page.Checkpoints) > q.Limit && q.Limit > 0 {
			t.Fatalf("a page of %d has %d checkpoints", q.Limit, len(page.Checkpoints))
		}
		if q.Cursor = page.Next; page.Next == "" {
			return out
		}
	}
}

// stored counts the records of checkpoints, by kind.
func stored(t testing.TB, m *loci.Memory, s loci.Store) map[loci.Kind]int64 {
	t.Helper()
	out := map[loci.Kind]int64{}
	for _, kind := range []loci.Kind{checkpoint.Kind, checkpoint.KindValue,
		checkpoint.KindWrite, checkpoint.KindThread, checkpoint.KindCandidates} {
		n, err := s.Count(t.Context(), m.View().Tenant, loci.Filter{
			Within:  []loci.Namespace{{}},
			Kinds:   []loci.Kind{kind},
			NotLive: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		if n.Records > 0 {
			out[kind] = n.Records
		}
	}
	return out
}

// values are the values of a checkpoint as texts.
func values(c checkpoint.Saved) map[string]string {
	out := map[string]string{}
	for channel, v := range c.Values {
		out[channel] = string(v.Data)
	}
	return out
}

func wantValues(t testing.TB, c checkpoint.Saved, want map[string]string) {
	t.Helper()
	if got := values(c); !reflect.DeepEqual(got, want) {
		t.Errorf("checkpoint %s has values %v, want %v", c.ID, got, want)
	}
}

// TestCheckpointComesBackWhole: all bytes come back as they were put, also bytes that are not
// text, numbers that no float64 holds, and what looks like a credential. A value of the type
// empty is no value.
func TestCheckpointComesBackWhole(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		odd := []byte("\x00\xff\xfe{\"a\"\r\n")
		in := checkpoint.Checkpoint{
			Thread:        "t",
			Namespace:     "node:1|inner:2",
			ID:            "c2",
			Parent:        "c1",
			Format:        4,
			State:         checkpoint.Typed{Type: "msgpack", Data: odd},
			Metadata:      []byte(`{"step":12345678901234567890,"source":"loop","key":"AKIAIOSFODNN7EXAMPLE"}`),
			TypedMetadata: checkpoint.Typed{Type: "msgpack", Data: odd},
			Versions:      map[string]string{"a": "1", "b": "00002.5", "gone": "3"},
			Values: map[string]checkpoint.Typed{
				"a":    {Type: "msgpack", Data: odd},
				"b":    {Type: "null", Data: []byte{}},
				"gone": {Type: checkpoint.EmptyType},
			},
		}
		locitest.PutCheckpoint(t, m, in)
		big := bytes.Repeat(odd, 1<<20)
		writes := []checkpoint.Write{{
			Task:     "t1",
			TaskPath: "p",
			Index:    0,
			Channel:  "a",
			Value:    checkpoint.Typed{Type: "bytes", Data: big},
		}}
		if err := checkpoint.Of(m).PutWrites(t.Context(), "t", in.Namespace, "c2", writes); err != nil {
			t.Fatal(err)
		}
		want := in
		want.Values = map[string]checkpoint.Typed{"a": in.Values["a"], "b": in.Values["b"]}
		for _, id := range []string{"c2", ""} {
			got := getCheckpoint(t, m, "t", in.Namespace, id)
			if !reflect.DeepEqual(got.Checkpoint, want) || !reflect.DeepEqual(got.Writes, writes) {
				t.Errorf("get %q: %+v", id, got.Checkpoint)
			}
		}
		for _, missing := range [][3]string{{"t", "", "c2"}, {"t", in.Namespace, "c1"}, {"T", in.Namespace, ""}, {"t", "node:1", ""}} {
			_, err := checkpoint.Of(m).Get(t.Context(), missing[0], missing[1], missing[2])
			locitest.WantCode(t, err, loci.NotFound)
		}
	})
}

// TestCheckpointNamesNeverMeet: names of threads and namespaces that a careless join would
// confuse lead to different checkpoints, in reads, lists and deletes.
func TestCheckpointNamesNeverMeet(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		names := [][2]string{{"a", "b"}, {"ab", ""}, {"a", ""}, {"a\x00", "b"}, {"a", "\x00\x01b"}, {"a\x00\x01b", ""}, {"a\x00\xc3\xbf", ""}, {"a:b", ""}, {"a", ":b"}, {"A", "b"}, {"a/", "b"}, {"á", ""}, {"a\u0301", ""}}
		for i, n := range names {
			locitest.PutCheckpoint(t, m,
				locitest.Checkpoint(n[0], n[1], "c", "", "{}", locitest.GraphState{"x": "1"}, map[string]string{"x": fmt.Sprint(i)}))
		}
		for i, n := range names {
			wantValues(t, getCheckpoint(t, m, n[0], n[1], ""), map[string]string{"x": fmt.Sprint(i)})
			if got := listed(t, m, checkpoint.Query{Thread: n[0], Namespace: &n[1]}); len(got) != 1 {
				t.Errorf("list of %q: %q", n, got)
			}
		}
		if n, err := checkpoint.Of(m).DeleteThread(t.Context(), "a"); n != 4 || err != nil {
			t.Errorf("deleted %d of the thread, %v; want 4", n, err)
		}
		if got := listed(t, m, checkpoint.Query{}); len(got) != len(names)-4 {
			t.Errorf("left: %q", got)
		}
	})
}

func TestUnchangedChannelIsStoredOnce(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		parent := ""
		for i := range 10 {
			id := fmt.Sprintf("c%02d", i)
			in := locitest.Checkpoint("t", "", id, parent, "{}",
				locitest.GraphState{"big": "1", "step": fmt.Sprint(i)}, map[string]string{"step": id})
			if i == 0 {
				in.Values["big"] = checkpoint.Typed{Type: "text", Data: []byte("large")}
			}
			locitest.PutCheckpoint(t, m, in)
			locitest.PutCheckpoint(t, m, in) // a repeated call stores nothing twice
			parent = id
		}
		for i := range 10 {
			id := fmt.Sprintf("c%02d", i)
			wantValues(t, getCheckpoint(t, m, "t", "", id), map[string]string{"big": "large", "step": id})
		}
		want := map[loci.Kind]int64{checkpoint.Kind: 10, checkpoint.KindValue: 11, checkpoint.KindThread: 1}
		if got := stored(t, m, s); !reflect.DeepEqual(got, want) {
			t.Errorf("stored %v, want %v", got, want)
		}
	})
}

func TestCheckpointValuesOfBranches(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		put := func(id, parent string, versions locitest.GraphState, values map[string]string) {
			locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", id, parent, "{}", versions, values))
		}
		put("c1", "", locitest.GraphState{"x": "1", "y": "1"}, map[string]string{"x": "one", "y": "same"})
		put("c2", "c1", locitest.GraphState{"x": "2", "y": "1"}, map[string]string{"x": "main"})
		put("c3", "c1", locitest.GraphState{"x": "2", "y": "1"}, map[string]string{"x": "branch"}) // counts versions as c2 does
		put("c4", "c2", locitest.GraphState{"x": "2", "y": "1"}, nil)
		put("c5", "c3", locitest.GraphState{"x": "2", "y": "1"}, nil)
		put("c2", "c1", locitest.GraphState{"x": "2", "y": "1"}, nil)         // again, without what it has already
		put("c6", "", locitest.GraphState{"x": "1", "y": "1", "z": "9"}, nil) // a copy of c1 without a parent
		for id, x := range map[string]string{"c1": "one", "c2": "main", "c3": "branch", "c4": "main", "c5": "branch", "c6": "one"} {
			wantValues(t, getCheckpoint(t, m, "t", "", id), map[string]string{"x": x, "y": "same"})
		}
		// A channel without a value at its version is empty.
		put("c7", "c6", locitest.GraphState{"x": "3"}, nil)
		wantValues(t, getCheckpoint(t, m, "t", "", "c7"), map[string]string{})
		// Other values come under the same id: the old ones go unless another checkpoint has
		// them.
		before := stored(t, m, s)[checkpoint.KindValue]
		put("c1", "", locitest.GraphState{"x": "1", "y": "1"}, map[string]string{"x": "other", "y": "same"})
		wantValues(t, getCheckpoint(t, m, "t", "", "c1"), map[string]string{"x": "other", "y": "same"})
		wantValues(t, getCheckpoint(t, m, "t", "", "c6"), map[string]string{"x": "one", "y": "same"})
		put("c1", "", locitest.GraphState{"x": "1", "y": "1"}, map[string]string{"x": "third", "y": "same"})
		if after := stored(t, m, s)[checkpoint.KindValue]; after != before+1 {
			t.Errorf("%d values; want %d: nobody has the second of c1", after, before+1)
		}
	})
}

func TestCheckpointWrites(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		late := locitest.Write("a", 0, "ch", "4")
		late.TaskPath = "~1"
		locitest.PutWrites(t, m, "t", "c1", locitest.Write("b", 0, "ch", "2"), locitest.Write("b", 1, "ch", "3"), locitest.Write("b", -3, "__interrupt__", "1"), late) // before the checkpoint
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c1", "", "{}", nil, nil))
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c11", "c1", "{}", nil, nil))
		locitest.PutWrites(t, m, "t", "c1", locitest.Write("b", 0, "ch", "again"), locitest.Write("b", -3, "__interrupt__", "lost"),
			locitest.Write("b", -3, "__interrupt__", "new"), locitest.Write("b", 2, "ch", "first"), locitest.Write("b", 2, "ch", "second"))
		locitest.PutWrites(t, m, "t", "c11")
		var got []string
		for _, w := range getCheckpoint(t, m, "t", "", "c1").Writes {
			got = append(got, fmt.Sprint(w.TaskPath, w.Task, w.Index, w.Channel, "=", string(w.Value.Data)))
		}
		want := []string{"b-3__interrupt__=new", "b0ch=2", "b1ch=3", "b2ch=first", "~1a0ch=4"}
		if !slices.Equal(got, want) {
			t.Errorf("writes are %q, want %q", got, want)
		}
		if w := getCheckpoint(t, m, "t", "", "c11").Writes; len(w) != 0 {
			t.Errorf("the next checkpoint has %d writes", len(w))
		}
	})
}

// TestCheckpointListAgainstReference: every filter and page of a list gives what a plain loop
// over all checkpoints gives.
func TestCheckpointListAgainstReference(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		type row struct{ thread, namespace, id, source string }
		var all []row
		for i := range 60 { // several threads and namespaces have the same ids, and ids do not come in order
			r := row{fmt.Sprint("t", i%2), []string{"", "in", "in:1"}[i%3], fmt.Sprintf("c%02d", i*7%25), []string{"input", "loop"}[i/2%2]}
			if slices.ContainsFunc(all, func(o row) bool {
				return o.thread == r.thread && o.namespace == r.namespace && o.id == r.id
			}) {
				continue
			}
			all = append(all, r)
			locitest.PutCheckpoint(t, m, locitest.Checkpoint(r.thread, r.namespace, r.id, "", `{"source":"`+r.source+`"}`, nil, nil))
		}
		slices.SortStableFunc(all, func(a, b row) int {
			return cmp.Or(strings.Compare(b.id, a.id), strings.Compare(a.namespace, b.namespace))
		})
		text, asked := func(s string) *string { return &s }, 0
		for _, thread := range []string{"", "t0", "t1", "t"} {
			for _, namespace := range []*string{nil, text(""), text("in"), text("in:1"), text("i")} {
				for _, before := range []string{"", "c07", "c12x", "c"} {
					for _, id := range []string{"", "c03"} {
						for _, source := range []string{"", "loop"} {
							for _, limit := range []int{1, 7, 100} {
								if asked++; locitest.Raced && asked%8 != 0 {
									continue
								}
								q := checkpoint.Query{
									Thread:    thread,
									Namespace: namespace,
									Before:    before,
									ID:        id,
									Limit:     limit,
								}
								if source != "" {
									q.Where, _ = loci.ParseWhere(map[string]any{"source": source})
								}
								var want []string
								for _, r := range all {
									if (thread == "" || r.thread == thread) &&
										(namespace == nil || r.namespace == *namespace) &&
										(before == "" || r.id < before) && (id == "" || r.id == id) &&
										(source == "" || r.source == source) {
										want = append(want, r.thread+" "+r.namespace+" "+r.id)
									}
								}
								got := listed(t, m, q)
								if thread == "" { // in order of time
									slices.Sort(got)
									slices.Sort(want)
								}
								if !slices.Equal(got, want) {
									t.Fatalf("%+v:\n got %q\nwant %q", q, got, want)
								}
							}
						}
					}
				}
			}
		}
	})
}

func TestCheckpointListHoldsValuesAndWrites(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.PutCheckpoint(t, m, locitest.Checkpoint("t", "", "c1", "", "{}", locitest.GraphState{"x": "1"}, map[string]string{"x": "v"}))
		locitest.PutWrites(t, m, "t", "c1", locitest.Write("a", 0, "ch", "w"))
		for _, q := range []checkpoint.Query{{}, {Thread: "t"}} {
			page, err := checkpoint.Of(m).List(t.Context(), q)
			if err != nil || len(page.Checkpoints) != 1 ||
				!reflect.DeepEqual(page.Checkpoints[0], getCheckpoint(t, m, "t", "", "c1")) {
				t.Errorf("list: %+v, %v", page, err)
			}
			q.WithoutValues = true
			page, err = checkpoint.Of(m).List(t.Context(), q)
			if err != nil || len(page.Checkpoints) != 1 ||
				len(page.Checkpoints[0].Values) != 0 || len(page.Checkpoints[0].Writes) != 1 {
				t.Errorf("list without values: %+v, %v", page, err)
			}
		}
	})
}

func TestPageOfLargeCheckpointsEndsEarly(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		large := strings.Repeat("x", 12<<20)
		for i := range 20 {
			in := locitest.Checkpoint("t", "", fmt.Sprintf("c%02d", i), "", "{}", locitest.GraphState{"x": "1"}, nil)
			if i == 0 {
				in.Values["x"] = checkpoint.Typed{Type: "text", Data: []byte(large)}
			}
			locitest.PutCheckpoint(t, m, in)
		}
		for _, q := range []checkpoint.Query{{Thread: "t"}, {}} {
			page, err := checkpoint.Of(m).List(t.Context(), q)
			if err != nil || len(page.Checkpoints) > 16 || page.Next == "" {
				t.Errorf("%d checkpoints of 12 MiB on a page, %v", len(page.Checkpoints), err)
			}
		}
	})
}

// TestCheckpointBadInput: each bad argument is refused with its field and leaves nothing
// stored.
func TestCheckpointBadInput(t *testing.T) {
	s := locitest.OpenMemory()
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
	good := locitest.Checkpoint("t", "", "c", "", "{}", locitest.GraphState{"x": "1"}, map[string]string{"x": "v"})
	long := func(n int) string { return strings.Repeat("x", n+1) }
	typed := func(n int) checkpoint.Typed { return checkpoint.Typed{Type: "b", Data: make([]byte, n)} }
	for want, spoil := range map[string]func(c *checkpoint.Checkpoint){
		"invalid thread_id must not be empty":     func(c *checkpoint.Checkpoint) { c.Thread = "" },
		"invalid thread_id has 1025 bytes":        func(c *checkpoint.Checkpoint) { c.Thread = long(checkpoint.MaxThreadBytes) },
		"invalid thread_id is not valid":          func(c *checkpoint.Checkpoint) { c.Thread = "\xff" },
		"invalid checkpoint_ns has 4097":          func(c *checkpoint.Checkpoint) { c.Namespace = long(checkpoint.MaxGraphBytes) },
		"invalid checkpoint_id must not":          func(c *checkpoint.Checkpoint) { c.ID = "" },
		"invalid checkpoint_id has 257":           func(c *checkpoint.Checkpoint) { c.ID = long(checkpoint.MaxID) },
		"invalid parent_checkpoint_id has":        func(c *checkpoint.Checkpoint) { c.Parent = long(checkpoint.MaxID) },
		"invalid checkpoint.type must not":        func(c *checkpoint.Checkpoint) { c.State.Type = "" },
		"too_large checkpoint has 16777217":       func(c *checkpoint.Checkpoint) { c.State = typed(checkpoint.MaxValue + 1) },
		"invalid metadata must be a JSON object":  func(c *checkpoint.Checkpoint) { c.Metadata = []byte("[]") },
		"invalid metadata must be a JSON  object": func(c *checkpoint.Checkpoint) { c.Metadata = []byte("{") },
		"too_large metadata has": func(c *checkpoint.Checkpoint) {
			c.Metadata = []byte(`{"a":"` + long(checkpoint.MaxMetadata) + `"}`)
		},
		"invalid metadata_typed.type must not":  func(c *checkpoint.Checkpoint) { c.TypedMetadata.Data = []byte("x") },
		"invalid channel_versions: a channel":   func(c *checkpoint.Checkpoint) { c.Versions = locitest.GraphState{"": "1"} },
		"invalid channel_versions: the version": func(c *checkpoint.Checkpoint) { c.Versions = locitest.GraphState{"x": ""} },
		"invalid channel_values has \"y\"":      func(c *checkpoint.Checkpoint) { c.Values = map[string]checkpoint.Typed{"y": typed(1)} },
		"too_large channel_values: a value has": func(c *checkpoint.Checkpoint) {
			c.Values = map[string]checkpoint.Typed{"x": typed(checkpoint.MaxValue + 1)}
		},
		"too_large channel_versions has 10001": func(c *checkpoint.Checkpoint) {
			c.Versions = locitest.GraphState{}
			for i := range 10001 {
				c.Versions[fmt.Sprint(i)] = "1"
			}
		},
		"too_large the names and versions in channel_versions have 2098000 bytes together; the limit is 2097152": func(c *checkpoint.Checkpoint) {
			c.Versions = locitest.GraphState{}
			for i := range 2098 {
				c.Versions[fmt.Sprintf("%0990d", i)] = fmt.Sprintf("%010d", i)
			}
		},
		"too_large the checkpoint and its values have": func(c *checkpoint.Checkpoint) {
			c.Versions, c.Values = locitest.GraphState{}, map[string]checkpoint.Typed{}
			for i := range 5 {
				c.Versions[fmt.Sprint(i)], c.Values[fmt.Sprint(i)] = "1", typed(checkpoint.MaxValue)
			}
		},
	} {
		in := good
		spoil(&in)
		wantError(t, checkpoint.Of(m).Put(t.Context(), in), strings.ReplaceAll(want, "  ", " "))
	}
	writes := func(spoil func(w *checkpoint.Write)) error {
		w := locitest.Write("a", 0, "ch", "v")
		spoil(&w)
		return checkpoint.Of(m).PutWrites(t.Context(), "t", "", "c", []checkpoint.Write{w})
	}
	wantError(t, writes(func(w *checkpoint.Write) { w.Task = "" }), "invalid task_id")
	wantError(t, writes(func(w *checkpoint.Write) { w.TaskPath = long(checkpoint.MaxTaskPathBytes) }), "invalid task_path")
	wantError(t, writes(func(w *checkpoint.Write) { w.Channel = "" }), "invalid channel")
	wantError(t, writes(func(w *checkpoint.Write) { w.Index = 1 << 40 }), "invalid idx")
	wantError(t, writes(func(w *checkpoint.Write) { w.Value.Type = "" }), "invalid value.type")
	wantError(t, writes(func(w *checkpoint.Write) { w.Value = typed(checkpoint.MaxValue + 1) }), "too_large value")
	wantError(t, checkpoint.Of(m).PutWrites(t.Context(), "t", "", "c", make([]checkpoint.Write, 10001)), "too_large writes has 10001")
	for _, id := range [][2]string{{"", "c"}, {"t", ""}} {
		locitest.WantCode(t, checkpoint.Of(m).PutWrites(t.Context(), id[0], "", id[1], nil), loci.Invalid)
	}
	for _, q := range []checkpoint.Query{{Limit: -1}, {Limit: 1001}, {Cursor: "x"}, {Thread: "t", Cursor: "x"}, {Thread: "\xff"}} {
		_, err := checkpoint.Of(m).List(t.Context(), q)
		locitest.WantCode(t, err, loci.Invalid)
	}
	if got := stored(t, m, s); len(got) != 0 {
		t.Errorf("refused calls left %v", got)
	}
}

// wantError fails unless an error has a code and its message begins with a text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	code, text, _ := strings.Cut(want, " ")
	locitest.WantCode(t, err, loci.Code(code))
	if err == nil || !strings.HasPrefix(loci.AsError(err).Msg, text) {
		t.Errorf("error is %v, want %s", err, want)
	}
}

// The writes of one call are bounded by what they take together: each of them and its value.
func TestWritesOfACallAreBounded(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	const beside, n = 512, 4
	value := bytes.Repeat([]byte("x"), checkpoint.MaxWrites/n-beside)
	writes := make([]checkpoint.Write, n)
	for i := range writes {
		writes[i] = locitest.Write("a", i, "ch", string(value))
	}
	put := func() error { return checkpoint.Of(m).PutWrites(t.Context(), "t", "", "c", writes) }
	if err := put(); err != nil {
		t.Errorf("as much as fits: %v", err)
	}
	writes[0].Value.Data = append(writes[0].Value.Data, 'x')
	locitest.WantCode(t, put(), loci.TooLarge)
	if want := "the writes have 17825793 bytes, of which each has its names beside its value, and 512 at least; the limit is 17825792: store them in several calls"; put().Error() != want {
		t.Errorf("one byte more: %v", put())
	}
	// Names that are longer than that count as they are: to store them costs as much as values.
	writes[0].Value.Data = writes[0].Value.Data[1:]
	writes[0].Channel = strings.Repeat("c", beside)
	locitest.WantCode(t, put(), loci.TooLarge)
}
