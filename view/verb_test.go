package view_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
	"github.com/loci-memory/loci/view"
)

// TestWhatWasForgottenComesBack: a forgotten memory comes back with its key and is searched
// again, and so does a superseded one.
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
		// A key that another fact has taken by now is not taken back silently.
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

// TestStatesOfTime: fading and expired memories are listed as such.
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
		text   string
		kinds  []loci.Kind
		states []view.State
	}{
		{"seats", []loci.Kind{"session", "message"}, nil}, {"seats", []loci.Kind{"notes"}, nil},
		{"seats", nil, []view.State{"alive"}}, {"seats", nil, []view.State{view.Forgotten}},
		{" ", []loci.Kind{"note", "file"}, nil}, {"", []loci.Kind{"message"}, nil}, {"", []loci.Kind{"session"}, nil},
		{"", []loci.Kind{"thread"}, nil},
	} {
		_, err := view.Search(t.Context(), h.m, loci.Query{Text: bad.text}, bad.kinds, bad.states)
		if loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// A vault is a kind that lists show and no search finds.
type vault struct{}

func (vault) Check() error { return nil }
func (vault) Kinds() []loci.FeatureKind {
	return []loci.FeatureKind{{Kind: "vault", Shown: "vault"}}
}

func TestSearchRefusesAKindThatItCannotFind(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Features: []loci.Feature{vault{}}})
	m := locitest.Bind(t, e, "u")
	_, err := view.Search(t.Context(), m, loci.Query{Text: "seats"}, []loci.Kind{"vault"}, nil)
	if e := loci.AsError(err); e.Code != loci.Invalid || e.Recovery != "List them." {
		t.Error(err)
	}
}

// Files and messages are found when they are asked for, alone or among others. A search that
// names no kind leaves them out.
func TestSearchOfParts(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	files, err := tree.Of(h.m, "", "")
	if err == nil {
		_, err = files.Write(t.Context(), "/notes/long.txt", strings.Repeat("Marta lives in Bern.\n", 2000), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, kinds string
		want        []string // kind, key or content, passage
	}{
		{"call", "file", []string{"file /notes/today.txt Call Marta."}},
		{"sit", "message", []string{"message Where do I sit? Where do I sit?"}},
		{"sit seats call", "message note file", []string{
			"file /notes/today.txt Call Marta.", "message Where do I sit? Where do I sit?", "note Prefers window seats. Prefers window seats.",
		}},
		{"sit", "session note", []string{"session chat 1 user: Where do I sit?"}},
		{"sit call thread", "", nil},
		{"the thread", "thread", []string{"thread thread 1 thread 1"}},
	} {
		q := loci.Query{Text: c.text, Mode: loci.Keyword}
		found, err := view.Search(t.Context(), h.m, q, names(c.kinds), nil)
		var got []string
		for _, r := range found.Results {
			got = append(got, fmt.Sprint(r.Kind, " ", cmp.Or(r.Key, r.Content), " ", strings.TrimSpace(r.Passage)))
			if want := h.ids[r.Kind]; r.ID != want {
				t.Errorf("%s: id %s, want %s", c.text, r.ID, want)
			}
		}
		if slices.Sort(got); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s in %s: %q, %v; want %q", c.text, c.kinds, got, err, c.want)
		}
	}
	found, err := view.Search(t.Context(), h.m, loci.Query{Text: "Bern", Limit: 1000}, names("file"), nil)
	if err != nil || len(found.Results) < 2 || found.Results[1].Key != "/notes/long.txt" {
		t.Errorf("passages of one file: %+v, %v", found, err)
	}
	if err := view.Delete(t.Context(), h.m, h.ids["file"]); err != nil {
		t.Fatal(err)
	}
	if found, err := view.Search(t.Context(), h.m, loci.Query{Text: "call"}, names("file"), nil); err != nil ||
		slices.ContainsFunc(found.Results, func(f view.Found) bool { return f.Key == "/notes/today.txt" }) {
		t.Errorf("a file that is erased is found: %+v, %v", found, err)
	}
}

// A session is found once, however many of its messages fit, by the one that fits best; a page
// counts sessions, and one that is erased or expired is not found.
func TestSearchOfSessions(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	for i := range 4 {
		id := fmt.Sprint("trip ", i)
		for range i + 1 {
			locitest.AppendTo(t, h.m, id, locitest.Spoken(session.MessageHuman, "Is the ferry late?"))
		}
		locitest.AppendTo(t, h.m, id, locitest.Spoken(session.MessageHuman, strings.Repeat("The ferry ", 4-i)+"is on time."))
		h.clock.Advance(time.Second)
	}
	inner, err := h.m.At(loci.Namespace{"user", "ann", "agent"})
	if err != nil {
		t.Fatal(err)
	}
	locitest.AppendTo(t, inner, "trip 0", locitest.Spoken(session.MessageHuman, "Another ferry of the same name."))
	search := func(limit, offset int, states ...view.State) (keys []string) {
		t.Helper()
		q := loci.Query{Text: "ferry", Mode: loci.Keyword, Limit: limit, Offset: offset}
		found, err := view.Search(t.Context(), h.m, q, names("session"), states)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found.Results {
			if f.Kind != session.Kind || !strings.Contains(f.Passage, "ferry") {
				t.Errorf("%+v", f)
			}
			keys = append(keys, f.Namespace.String()+" "+f.Key)
		}
		return keys
	}
	all := search(10, 0)
	sorted := slices.Sorted(slices.Values(all))
	want := []string{"user/ann trip 0", "user/ann trip 1", "user/ann trip 2", "user/ann trip 3", "user/ann/agent trip 0"}
	if !slices.Equal(sorted, want) {
		t.Errorf("found %q", all)
	}
	if got := slices.Concat(search(2, 0), search(2, 2), search(2, 4), search(2, 6)); !slices.Equal(got, all) {
		t.Errorf("by pages %q, at once %q", got, all)
	}
	if got := search(10, 0, view.Waiting); len(got) > 0 {
		t.Errorf("waiting: %q", got)
	}
	if _, err := session.Of(inner).Clear(t.Context(), "trip 0"); err != nil {
		t.Fatal(err)
	}
	if got := search(10, 0); len(got) != 4 || slices.Contains(got, "user/ann/agent trip 0") {
		t.Errorf("after the end of one: %q", got)
	}
}

// names are kinds with spaces between them.
func names(text string) (kinds []loci.Kind) {
	for _, name := range strings.Fields(text) {
		kinds = append(kinds, loci.Kind(name))
	}
	return kinds
}

// TestAbbreviations: an id is found by how it begins or ends, whatever the memory's kind and state.
func TestAbbreviations(t *testing.T) {
	h := furnish(t, locitest.OpenMemory())
	if _, err := view.Forget(t.Context(), h.m, h.ids["fact"]); err != nil {
		t.Fatal(err)
	}
	for kind, id := range h.ids {
		text := id.String()
		for _, part := range []string{text[24:], text[20:], text[:34], strings.ToUpper(text[28:])} {
			if !view.IsAbbreviation(part) {
				t.Errorf("%s is no abbreviation", part)
			}
			found, err := view.Abbreviated(t.Context(), h.m, part, 5)
			if err != nil || len(found) != 1 || found[0].ID != id || found[0].Kind != kind {
				t.Errorf("%s of a %s: %+v, %v", part, kind, found, err)
			}
		}
	}
	var all []loci.ID // made at nearly the same time, of which their beginnings speak
	for range 5 {
		all = append(all, locitest.Save(t, h.m, "Another note."+loci.NewID().String()))
	}
	found, err := view.Abbreviated(t.Context(), h.m, all[0].String()[:4], 3)
	if err != nil || len(found) != 3 {
		t.Errorf("several: %+v, %v", found, err)
	}
	other := h.m.View()
	other.Namespace = loci.Namespace{"user", "bob"}
	stranger := locitest.BindView(t, h.engine, other)
	if found, err := view.Abbreviated(t.Context(), stranger, all[0].String()[24:], 3); err != nil || len(found) > 0 {
		t.Errorf("somebody else finds %+v, %v", found, err)
	}
	for _, text := range []string{"", "abc", "window", "2b8f4c1g", loci.NewID().String(), "----"} {
		if view.IsAbbreviation(text) {
			t.Errorf("%q is an abbreviation", text)
		}
	}
}
