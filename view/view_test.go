package view_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	reminder "github.com/loci-memory/loci/examples/kind"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

// A house has a memory of every kind, made in the order of kinds.
type house struct {
	engine *loci.Engine
	m      *loci.Memory
	clock  *locitest.Clock
	ids    map[loci.Kind]loci.ID
}

// kinds are all there are, in the order in which furnish makes them.
var kinds = []loci.Kind{"note", "fact", "rule", "episode", "item", "session", "message", "file", "thread"}

func furnish(t *testing.T, s loci.Store) *house {
	t.Helper()
	h := &house{clock: locitest.NewClock(), ids: map[loci.Kind]loci.ID{}}
	e := locitest.NewEngine(t, s, loci.Options{Now: h.clock.Now, Features: []loci.Feature{reminder.Feature{}}})
	view := loci.View{Tenant: locitest.Tenant(t, "t"), Namespace: loci.Namespace{"user", "ann"}, Actor: "tester",
		Source: loci.Source{Kind: "user", Client: "test"}}
	h.engine, h.m = e, locitest.BindView(t, e, view)
	tick := func() { h.clock.Advance(time.Second) }
	h.ids["note"] = locitest.Save(t, h.m, "Prefers window seats.")
	tick()
	h.ids["fact"] = locitest.StoreFact(t, h.m, loci.NewFact{Subject: "user", Predicate: "favorite_color", Content: "blue", Tags: []string{"taste"},
		Metadata: map[string]any{"year": 2026}}).ID
	tick()
	rule, err := h.m.StoreRule(t.Context(), loci.NewRule{Content: "Ask before booking."})
	if err != nil {
		t.Fatal(err)
	}
	h.ids["rule"] = rule
	tick()
	h.ids["episode"] = locitest.Episode(t, h.m, "travel", "Asked about seats.")
	tick()
	locitest.PutItem(t, h.m, loci.Namespace{"user", "ann", "docs"}, "k1", `{"title":"Trip"}`, nil)
	tick()
	locitest.AppendTo(t, h.m, "chat 1", locitest.Spoken(session.MessageHuman, "Where do I sit?"))
	tick()
	files, err := tree.Of(h.m, "", "")
	if err == nil {
		_, err = files.Write(t.Context(), "/notes/today.txt", "Call Marta.\n", nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	tick()
	locitest.PutCheckpoint(t, h.m, locitest.Checkpoint("thread 1", "", "c1", "", "{}", nil, nil))
	for _, k := range kinds {
		if k != "note" && k != "fact" && k != "rule" && k != "episode" {
			h.ids[k] = h.only(t, view2{kinds: []loci.Kind{k}}).ID
		}
	}
	return h
}

// view2 is a query in few words.
type view2 struct {
	kinds  []loci.Kind
	states []view.State
}

func (h *house) list(t *testing.T, q view2) []view.Entry {
	t.Helper()
	entries, next, err := view.List(t.Context(), h.m, view.Query{Kinds: q.kinds, States: q.states}, loci.Page{})
	if err != nil || next != "" {
		t.Fatalf("list %v: %q, %v", q, next, err)
	}
	return entries
}

func (h *house) only(t *testing.T, q view2) view.Entry {
	t.Helper()
	entries := h.list(t, q)
	if len(entries) != 1 {
		t.Fatalf("list %v has %d entries: %+v", q, len(entries), entries)
	}
	return entries[0]
}

// said is what a person sees of an entry.
func said(e *view.Entry) string {
	return fmt.Sprintf("%s %s %s [%s|%s|%s] %s%s", e.Kind, e.State, e.Namespace, e.Subject, e.Predicate, e.Key, e.Content, e.Value)
}

// TestEveryKindIsListed: each memory is there with its kind, state, place and key, the
// newest first; messages when asked for.
func TestEveryKindIsListed(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		h := furnish(t, s)
		want := []string{
			"thread live user/ann [||thread 1] ",
			"file live user/ann [||/notes/today.txt] ",
			"session live user/ann [||chat 1] ",
			`item live user/ann/docs [||k1] {"title":"Trip"}`,
			"episode waiting user/ann [||] Asked about seats.",
			"rule live user/ann [||] Ask before booking.",
			"fact live user/ann [user|favorite_color|] blue",
			"note live user/ann [||] Prefers window seats.",
		}
		var got []string
		for _, e := range h.list(t, view2{}) {
			got = append(got, said(&e))
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		message := h.only(t, view2{kinds: []loci.Kind{"message"}})
		if said(&message) != "message live user/ann [||] Where do I sit?" || message.Details["session_id"] != "chat 1" {
			t.Errorf("the message is %s, %v", said(&message), message.Details)
		}
		file, err := view.Get(t.Context(), h.m, h.ids["file"])
		if err != nil || file.Content != "Call Marta.\n" || file.Details["memory"] != "memory" {
			t.Errorf("the file is %+v, %v", file, err)
		}
		note, err := view.Get(t.Context(), h.m, h.ids["note"])
		if err != nil || note.Source.Client != "test" || note.CreatedAt.IsZero() {
			t.Errorf("the note is %+v, %v", note, err)
		}
	})
}

// TestPagesOfAListJoin: whatever the size of a page, and whatever is left out in between, the
// joined pages are the whole list.
func TestPagesOfAListJoin(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		h := furnish(t, s)
		for i := range 30 {
			h.clock.Advance(time.Second)
			id := locitest.Save(t, h.m, fmt.Sprintf("Number %d.", i))
			if i%3 > 0 {
				if _, err := view.Forget(t.Context(), h.m, id); err != nil {
					t.Fatal(err)
				}
			}
		}
		for _, q := range []view.Query{
			{}, {Kinds: []loci.Kind{"note"}}, {States: []view.State{view.Forgotten}}, {States: view.States},
		} {
			all, _, err := view.List(t.Context(), h.m, q, loci.Page{Limit: 1000})
			if err != nil || len(all) < 10 {
				t.Fatalf("%+v lists %d, %v", q, len(all), err)
			}
			for _, size := range []int{1, 2, 7, len(all)} {
				var joined []view.Entry
				for cursor := ""; ; {
					page, next, err := view.List(t.Context(), h.m, q, loci.Page{Limit: size, Cursor: cursor})
					if err != nil || len(page) > size {
						t.Fatalf("a page of %d has %d, %v", size, len(page), err)
					}
					joined = append(joined, page...)
					if cursor = next; cursor == "" {
						break
					}
				}
				same := slices.EqualFunc(all, joined, func(a, b view.Entry) bool { return a.ID == b.ID })
				if !same {
					t.Errorf("%+v in pages of %d: %d of %d", q, size, len(joined), len(all))
				}
			}
		}
	})
}

// verbs take an id, and each is for some kinds. The sentence that refuses another kind says
// what to do instead.
var verbs = []struct {
	name string
	do   func(t *testing.T, m *loci.Memory, id loci.ID) error
	to   []loci.Kind
}{
	{"confirm", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Confirm(t.Context(), m, id)
		return err
	}, []loci.Kind{"note", "fact", "rule"}},
	{"supersede", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Supersede(t.Context(), m, id, loci.NewFact{Content: "Something else."})
		return err
	}, []loci.Kind{"note", "fact"}},
	{"helpful", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Helpful(t.Context(), m, id)
		return err
	}, []loci.Kind{"rule"}},
	{"harmful", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Harmful(t.Context(), m, id, "It annoyed.")
		return err
	}, []loci.Kind{"rule"}},
	{"forget", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Forget(t.Context(), m, id)
		return err
	}, []loci.Kind{"note", "fact", "rule", "episode"}},
	{"restore", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Restore(t.Context(), m, id, 0)
		return err
	}, []loci.Kind{"note", "fact", "rule", "episode"}},
	{"history", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.History(t.Context(), m, id)
		return err
	}, []loci.Kind{"note", "fact", "rule", "episode", "item"}},
	{"links", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Links(t.Context(), m, id)
		return err
	}, kinds},
	{"provenance", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Provenance(t.Context(), m, id)
		return err
	}, kinds},
	{"get", func(t *testing.T, m *loci.Memory, id loci.ID) error {
		_, err := view.Get(t.Context(), m, id)
		return err
	}, kinds},
	{"delete", func(t *testing.T, m *loci.Memory, id loci.ID) error { return view.Delete(t.Context(), m, id) }, kinds},
}

// TestEveryVerbTakesEveryID: a verb does what it says, or says what to do instead.
func TestEveryVerbTakesEveryID(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		for _, verb := range verbs {
			for _, k := range kinds {
				h := furnish(t, locitest.OpenMemory())
				id := h.ids[k]
				if verb.name == "restore" && slices.Contains(verb.to, k) {
					if _, err := view.Forget(t.Context(), h.m, id); err != nil {
						t.Fatal(err)
					}
				}
				err := verb.do(t, h.m, id)
				if slices.Contains(verb.to, k) {
					if err != nil {
						t.Errorf("%s a %s: %v", verb.name, k, err)
					}
					continue
				}
				e := loci.AsError(err)
				if err == nil || e.Code != loci.Invalid || !strings.Contains(e.Msg, "of kind "+string(k)) || e.Recovery == "" {
					t.Errorf("%s a %s is answered with %+v", verb.name, k, err)
				}
			}
		}
		h := furnish(t, s)
		for _, k := range kinds[:len(kinds)-3] { // with its session goes its message
			if err := view.Delete(t.Context(), h.m, h.ids[k]); err != nil {
				t.Fatal(err)
			}
			if _, err := view.Get(t.Context(), h.m, h.ids[k]); loci.AsError(err).Code != loci.NotFound {
				t.Errorf("a deleted %s: %v", k, err)
			}
		}
		for _, k := range []loci.Kind{"file", "thread"} {
			if err := view.Delete(t.Context(), h.m, h.ids[k]); err != nil {
				t.Fatal(err)
			}
		}
		left, err := view.Totals(t.Context(), h.m)
		if err != nil || left.Total != 0 {
			t.Errorf("left over: %+v, %v", left, err)
		}
	})
}

// TestADeletionCanBeRepeated: with its idempotency key a delete may be repeated after its reply
// was lost.
func TestADeletionCanBeRepeated(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	for i, k := range kinds {
		if k == "message" {
			continue // gone with its session
		}
		v := h.m.View()
		v.IdempotencyKey = fmt.Sprint("key", i)
		m := locitest.BindView(t, h.engine, v)
		for range 2 {
			if err := view.Delete(t.Context(), m, h.ids[k]); err != nil {
				t.Errorf("delete the %s: %v", k, err)
			}
		}
	}
}

// counting is a store that counts the records that lists read.
type counting struct {
	loci.Store
	read int

	after func(ids []loci.ID) // is called behind each list, unless nil
}

func (c *counting) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, page loci.Page,
) (records []loci.Record, next string, err error) {
	records, next, err = c.Store.Records(ctx, t, f, page)
	c.read += len(records)
	if c.after != nil {
		c.after(f.IDs)
	}
	return records, next, err
}

// TestListsByStateReadWhatTheyShow: ended and waiting memories are found without reading past
// those that hold, however many those are.
func TestListsByStateReadWhatTheyShow(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store := &counting{Store: s}
		h := furnish(t, store)
		if _, err := view.Supersede(t.Context(), h.m, h.ids["fact"], loci.NewFact{Content: "green"}); err != nil {
			t.Fatal(err)
		}
		if _, err := view.Forget(t.Context(), h.m, h.ids["note"]); err != nil {
			t.Fatal(err)
		}
		for n := range 100 {
			locitest.Save(t, h.m, fmt.Sprintf("Thing %d holds.", n))
		}
		for _, c := range []struct {
			q    view2
			want []loci.Kind
			most int
		}{
			{view2{states: []view.State{view.Superseded}}, []loci.Kind{"fact"}, 1},
			{view2{states: []view.State{view.Forgotten}}, []loci.Kind{"note"}, 2},
			{view2{states: []view.State{view.Forgotten, view.Superseded}}, []loci.Kind{"fact", "note"}, 2},
			{view2{states: []view.State{view.Waiting}}, []loci.Kind{"episode"}, 1},
			{view2{kinds: []loci.Kind{"file", "rule"}, states: []view.State{view.Superseded, view.Waiting}}, nil, 0},
			{view2{kinds: []loci.Kind{"rule"}, states: []view.State{view.Fading}}, nil, 1},
		} {
			store.read = 0
			var got []loci.Kind
			for _, e := range h.list(t, c.q) {
				got = append(got, e.Kind)
			}
			if !slices.Equal(got, c.want) || store.read > c.most {
				t.Errorf("%v: %v after reading %d records; want %v after %d", c.q, got, store.read, c.want, c.most)
			}
		}
	})
}
