package view_test

import (
	"bytes"
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

// TestPagesOfAListJoin: whatever the size of a page and what is left out between, pages
// joined are the whole list.
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

// verbs are those that take an id, with the kinds that each is for; the sentence that
// refuses another kind names what to do.
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

// TestEveryVerbTakesEveryID: it does what it says, or says what to do instead.
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

// TestADeletionCanBeRepeated: with its key, as after a reply that was lost.
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

// TestWhatWasForgottenComesBack, with its key, searched again; and what was superseded.
func TestWhatWasForgottenComesBack(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		h := furnish(t, s)
		for _, k := range []loci.Kind{"note", "fact", "rule", "episode"} {
			before, err := view.Get(t.Context(), h.m, h.ids[k])
			if err != nil {
				t.Fatal(err)
			}
			e, err := view.Forget(t.Context(), h.m, h.ids[k])
			if err != nil || e.State != view.Forgotten {
				t.Fatalf("forgotten %s: %+v, %v", k, e, err)
			}
			if e = h.only(t, view2{[]loci.Kind{k}, []view.State{view.Forgotten}}); e.ID != h.ids[k] {
				t.Errorf("the forgotten %s is not listed as such", k)
			}
			e, err = view.Restore(t.Context(), h.m, h.ids[k], 0)
			if err != nil || said(&e) != said(&before) {
				t.Errorf("restored: %s, %v; want %s", said(&e), err, said(&before))
			}
			if _, err = view.Restore(t.Context(), h.m, h.ids[k], 0); loci.AsError(err).Code != loci.Conflict {
				t.Errorf("restore a live %s: %v", k, err)
			}
		}
		found := locitest.Search(t, h.m, loci.Query{Text: "window seats", Kinds: []loci.Kind{loci.KindFact}})
		if len(found.Matches) != 1 {
			t.Errorf("the restored note is found %d times", len(found.Matches))
		}
		for _, k := range []loci.Kind{"note", "fact"} {
			first, _ := view.Get(t.Context(), h.m, h.ids[k])
			second, err := view.Supersede(t.Context(), h.m, first.ID, loci.NewFact{Content: "green"})
			if err != nil || second.Supersedes != first.ID || second.Subject != first.Subject {
				t.Fatalf("superseded %s: %+v, %v", k, second, err)
			}
			old := h.only(t, view2{[]loci.Kind{k}, []view.State{view.Superseded}})
			if old.ID != first.ID || old.SupersededBy != second.ID {
				t.Errorf("the old %s is %+v", k, old)
			}
			third, err := view.Restore(t.Context(), h.m, first.ID, 0)
			if err != nil || third.Content != first.Content || third.Supersedes != second.ID {
				t.Errorf("the old %s comes back as %+v, %v", k, third, err)
			}
			past, err := view.History(t.Context(), h.m, first.ID)
			if err != nil || len(past.Chain) != 3 {
				t.Errorf("history of the %s: %+v, %v", k, past, err)
			}
		}
		// A key that another fact took by now is not taken back without a word.
		if _, err := view.Forget(t.Context(), h.m, h.only(t, view2{kinds: []loci.Kind{"fact"}}).ID); err != nil {
			t.Fatal(err)
		}
		forgotten := h.only(t, view2{[]loci.Kind{"fact"}, []view.State{view.Forgotten}})
		locitest.StoreFact(t, h.m, loci.NewFact{Subject: "user", Predicate: "favorite_color", Content: "red"})
		if _, err := view.Restore(t.Context(), h.m, forgotten.ID, 0); loci.AsError(err).Code != loci.Conflict {
			t.Errorf("a key was taken back: %v", err)
		}
	})
}

// TestAnEarlierTextComesBack by its version.
func TestAnEarlierTextComesBack(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	text := "Prefers aisle seats."
	h.clock.Advance(time.Hour)
	if _, err := h.m.ReviseFact(t.Context(), h.ids["note"], loci.FactRevision{Content: &text}); err != nil {
		t.Fatal(err)
	}
	then := h.clock.Now().Add(-time.Minute)
	entries, _, err := view.List(t.Context(), h.m, view.Query{Kinds: []loci.Kind{"note"}, AsOf: then}, loci.Page{})
	if err != nil || len(entries) != 1 || entries[0].Content != "Prefers window seats." {
		t.Errorf("as of then: %+v, %v", entries, err)
	}
	e, err := view.Restore(t.Context(), h.m, h.ids["note"], 1)
	if err != nil || e.Content != "Prefers window seats." || e.Version != 3 {
		t.Errorf("restored: %+v, %v", e, err)
	}
	if _, err := view.Restore(t.Context(), h.m, h.ids["note"], 9); loci.AsError(err).Code != loci.NotFound {
		t.Errorf("version 9: %v", err)
	}
}

// TestStatesOfTime: what fades and what expires is listed as such.
func TestStatesOfTime(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	h.clock.Advance(210 * 24 * time.Hour) // of standard permanence: exp(-0.008 · 210) is 0.186
	e := h.only(t, view2{[]loci.Kind{"fact"}, []view.State{view.Fading}})
	due, _, err := view.Review(t.Context(), h.m, loci.Page{})
	if err != nil || len(due) != 2 || due[1].ID != e.ID || !strings.Contains(due[1].Reason, "confirm") {
		t.Errorf("to review: %+v, %v", due, err)
	}
	h.clock.Advance(400 * 24 * time.Hour)
	for _, k := range []loci.Kind{"fact", "rule"} {
		h.only(t, view2{[]loci.Kind{k}, []view.State{view.Expired}})
	}
}

// TestSearchNarrows by kind, state and the key of a fact.
func TestSearchNarrows(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	where, err := loci.ParseWhere(map[string]any{"subject": "user", "predicate": "favorite_color"})
	if err != nil {
		t.Fatal(err)
	}
	found, err := view.Search(t.Context(), h.m, loci.Query{Where: where}, nil, nil)
	if err != nil || len(found.Results) != 1 || found.Results[0].ID != h.ids["fact"] {
		t.Errorf("by key: %+v, %v", found, err)
	}
	found, err = view.Search(t.Context(), h.m, loci.Query{Text: "seats"}, []loci.Kind{"note"}, nil)
	if err != nil || len(found.Results) != 1 || found.Results[0].Kind != "note" {
		t.Errorf("notes: %+v, %v", found, err)
	}
	found, err = view.Search(t.Context(), h.m, loci.Query{Text: "seats"}, nil, []view.State{view.Waiting})
	if err != nil || len(found.Results) != 1 || found.Results[0].Kind != "episode" {
		t.Errorf("waiting: %+v, %v", found, err)
	}
	for _, bad := range []struct {
		kinds  []loci.Kind
		states []view.State
	}{{[]loci.Kind{"message"}, nil}, {[]loci.Kind{"notes"}, nil}, {nil, []view.State{"alive"}}, {nil, []view.State{view.Forgotten}}} {
		_, err := view.Search(t.Context(), h.m, loci.Query{Text: "seats"}, bad.kinds, bad.states)
		if loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// TestPlacesSayWhereMemoriesLie, each with its counts; files count, directories do not.
func TestPlacesSayWhereMemoriesLie(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		h := furnish(t, s)
		places, next, err := view.Places(t.Context(), h.m, loci.Page{})
		if err != nil || next != "" || len(places) != 2 {
			t.Fatalf("places: %+v, %v", places, err)
		}
		want := map[loci.Kind]int64{"fact": 2, "rule": 1, "episode": 1, "session": 1, "message": 1, "file": 1, "thread": 1}
		if fmt.Sprint(places[0].Counts) != fmt.Sprint(want) || places[0].Namespace.String() != "user/ann" {
			t.Errorf("first: %+v, want %v", places[0], want)
		}
		if places[1].Namespace.String() != "user/ann/docs" || places[1].Total != 1 {
			t.Errorf("second: %+v", places[1])
		}
		first, next, err := view.Places(t.Context(), h.m, loci.Page{Limit: 1})
		if err != nil || next == "" || len(first) != 1 {
			t.Fatalf("a page: %+v, %v, %v", first, next, err)
		}
		rest, next, err := view.Places(t.Context(), h.m, loci.Page{Limit: 1, Cursor: next})
		if err != nil || next != "" || len(rest) != 1 || !rest[0].Namespace.Equal(places[1].Namespace) {
			t.Errorf("the rest: %+v, %v, %v", rest, next, err)
		}
	})
}

// TestAGuestsKindIsShown: a kind of somebody else's needs nothing for it.
func TestAGuestsKindIsShown(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	if !slices.Contains(view.Kinds(h.m), reminder.Kind) {
		t.Fatalf("kinds: %v", view.Kinds(h.m))
	}
	done, err := reminder.Of(h.m).Put(t.Context(), "Call Marta.", h.clock.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if e := h.only(t, view2{kinds: []loci.Kind{reminder.Kind}}); said(&e) != "reminder live user/ann [||] Call Marta." {
		t.Errorf("shown: %s", said(&e))
	}
	if _, err := reminder.Of(h.m).Done(t.Context(), done.ID); err != nil {
		t.Fatal(err)
	}
	if len(h.list(t, view2{kinds: []loci.Kind{reminder.Kind}})) != 0 {
		t.Error("a reminder that is done is still listed")
	}
}

// TestAnExportOfAPart: by kind and state, whole in itself, so that it can be imported.
func TestAnExportOfAPart(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		h := furnish(t, s)
		if _, err := view.Forget(t.Context(), h.m, h.ids["note"]); err != nil {
			t.Fatal(err)
		}
		for _, part := range []struct {
			q    view.Query
			want string
		}{
			{view.Query{Kinds: []loci.Kind{"note"}}, "note"},
			{view.Query{Kinds: []loci.Kind{"fact", "rule"}}, "rule fact"},
			{view.Query{Kinds: []loci.Kind{"session"}}, "session message"},
			{view.Query{Kinds: []loci.Kind{"file"}}, "file"},
			{view.Query{States: []view.State{view.Forgotten}}, "note"},
			{view.Query{Kinds: []loci.Kind{"note"}, States: []view.State{view.Live}}, ""},
		} {
			var file bytes.Buffer
			n, err := view.Export(t.Context(), h.m, &file, part.q, nil)
			if err != nil {
				t.Fatalf("%+v: %v", part.q, err)
			}
			if part.want != "" && n == 0 || part.want == "" && n != 0 {
				t.Errorf("%+v exports %d records", part.q, n)
			}
			to := furnishless(t)
			if report, err := to.m.Import(t.Context(), &file, nil); err != nil || report.Created != n && part.want != "file" {
				t.Errorf("%+v imported as %+v, %v", part.q, report, err)
			}
			var got []string
			for _, e := range to.list(t, view2{kinds, view.States}) {
				got = append(got, string(e.Kind))
			}
			if strings.Join(got, " ") != part.want {
				t.Errorf("%+v brings %v, want %s", part.q, got, part.want)
			}
		}
	})
}

// furnishless is a house without anything.
func furnishless(t *testing.T) *house {
	clock := locitest.NewClock()
	clock.Advance(time.Hour)
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: clock.Now})
	return &house{engine: e, m: locitest.Bind(t, e, "user", "ann"), clock: clock}
}
