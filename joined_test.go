package loci_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

// bindTo binds a handle whose memories belong to a sequence.
func bindTo(t *testing.T, e *loci.Engine, sequence string) *loci.Memory {
	t.Helper()
	return locitest.BindView(t, e, loci.View{
		Tenant: locitest.Tenant(t, "t"), Namespace: loci.Namespace{"u"}, Actor: "tester", Sequence: sequence,
	})
}

// TestWhatIsSavedStandsInItsConversation: a memory saved without a place comes last in the
// conversation that its attributes name, else in that of the handle, whatever its kind. It
// keeps its place when it is changed, and the place does not make a repeated memory a new one.
func TestWhatIsSavedStandsInItsConversation(t *testing.T) {
	ctx := t.Context()
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock() // it stands still: order comes from the engine
		m := bindTo(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "talk")
		fact := func(in loci.NewFact) loci.Fact { return locitest.Fact(t, m, locitest.StoreFact(t, m, in).ID) }
		one, two := fact(loci.NewFact{Content: "one"}), fact(loci.NewFact{Content: "two"})
		named := fact(loci.NewFact{Content: "three", Metadata: map[string]any{"session_id": "walk"}})
		said := fact(loci.NewFact{Content: "four", Sequence: "own", Position: 7})
		switch {
		case one.Sequence != "talk" || two.Sequence != "talk" || one.Position >= two.Position:
			t.Errorf("%q %d, %q %d", one.Sequence, one.Position, two.Sequence, two.Position)
		case named.Sequence != "walk" || said.Sequence != "own" || said.Position != 7:
			t.Errorf("%q, %q %d", named.Sequence, said.Sequence, said.Position)
		}
		if again := locitest.StoreFact(t, m, loci.NewFact{Content: "One"}); again.ID != one.ID {
			t.Errorf("said again it is %+v", again)
		}
		text := "one and a half"
		if _, err := m.ReviseFact(ctx, one.ID, loci.FactRevision{Content: &text}); err != nil {
			t.Fatal(err)
		}
		if again := locitest.StoreFact(t, m, loci.NewFact{Content: text}); again.ID != one.ID {
			t.Errorf("said again after a change it is %+v", again)
		}
		if f := locitest.Fact(t, m, one.ID); f.Sequence != "talk" || f.Position != one.Position {
			t.Errorf("after a change it stands at %q %d", f.Sequence, f.Position)
		}
		items := item.Of(m)
		put := func(value string) {
			if err := items.Put(ctx, loci.Namespace{"u", "x"}, "k", []byte(value), nil); err != nil {
				t.Fatal(err)
			}
		}
		put(`{"a":"five"}`)
		if _, err := m.StoreEpisode(ctx, loci.NewEpisode{Content: "six", Butler: "b", Session: "ride"}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.StoreRule(ctx, loci.NewRule{Content: "seven"}); err != nil {
			t.Fatal(err)
		}
		places := func() map[loci.Kind]loci.Record {
			out := map[loci.Kind]loci.Record{}
			for _, kind := range []loci.Kind{item.Kind, loci.KindEpisode, loci.KindRule} {
				f := loci.Filter{Within: []loci.Namespace{{"u"}}, Kinds: []loci.Kind{kind}, At: c.Now()}
				found, _, err := m.Records(ctx, f, loci.Page{})
				if err != nil || len(found) != 1 {
					t.Fatal(kind, found, err)
				}
				out[kind] = found[0]
			}
			return out
		}
		at := places()
		for kind, want := range map[loci.Kind]string{item.Kind: "talk", loci.KindEpisode: "ride", loci.KindRule: "talk"} {
			if r := at[kind]; r.Sequence != want || r.Position <= two.Position {
				t.Errorf("%s stands at %q %d", kind, r.Sequence, r.Position)
			}
		}
		put(`{"a":"five and a half"}`)
		if r := places()[item.Kind]; r.Sequence != "talk" || r.Position != at[item.Kind].Position || r.Version != 2 {
			t.Errorf("written over, the item stands at %q %d", r.Sequence, r.Position)
		}
		if f := locitest.Fact(t, bindTo(t, locitest.NewEngine(t, s, loci.Options{}), ""), said.ID); f.Position != 7 {
			t.Errorf("%+v", f)
		}
		alone := bindTo(t, locitest.NewEngine(t, s, loci.Options{}), "")
		other := locitest.StoreFact(t, alone, loci.NewFact{Content: "ten"})
		if f := locitest.Fact(t, m, other.ID); f.Sequence != "" || f.Position != 0 {
			t.Errorf("without a conversation it stands at %q %d", f.Sequence, f.Position)
		}
	})
}

// TestNotesSavedOneByOneAreFoundAsAConversation: an answer that shares no word with the
// question is found by what was saved before it, also in a file of an older build.
func TestNotesSavedOneByOneAreFoundAsAConversation(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now, Embedder: &locitest.WordEmbedder{Name: "w"}})
		saved := func(m *loci.Memory, metadata map[string]any) (id loci.ID) {
			for _, text := range []string{
				"Good morning!", "Which town did you travel to this summer?", "To Lisbon.", "Lovely!",
				"A summer of mine was rainy.", "The harbour is closed.",
			} {
				c.Advance(time.Second)
				stored := locitest.StoreFact(t, m, loci.NewFact{Content: text, Metadata: metadata})
				if text == "To Lisbon." {
					id = stored.ID
				}
			}
			return id
		}
		place := func(m *loci.Memory, id loci.ID) int {
			found, err := m.Search(t.Context(), loci.Query{Text: "summer town travel", Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			for i, match := range found.Matches {
				if match.Record.ID == id {
					return i + 1
				}
			}
			return 0
		}
		m := bindTo(t, e, "session 1")
		if at := place(m, saved(m, nil)); at != 2 && at != 3 {
			t.Errorf("the answer is at %d", at)
		}
		// A record as today's build stores it: the metadata alone name the conversation.
		old := locitest.Bind(t, e, "old")
		id := saved(old, map[string]any{"thread_id": "t1"})
		if at := place(old, id); at != 2 && at != 3 {
			t.Errorf("by its metadata the answer is at %d", at)
		}
	})
}

// TestTheTimeOfWhatWasSaidEarlier: created_at can be given, within sane years.
func TestTheTimeOfWhatWasSaidEarlier(t *testing.T) {
	ctx := t.Context()
	c := locitest.NewClock()
	m := bindTo(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: c.Now}), "talk")
	said := time.Date(2023, 5, 8, 13, 56, 0, 123456789, time.FixedZone("", 7200))
	f := locitest.Fact(t, m, locitest.StoreFact(t, m, loci.NewFact{Content: "earlier", CreatedAt: said}).ID)
	want := said.UTC().Truncate(time.Millisecond)
	present := c.Now().Truncate(time.Millisecond)
	if !f.CreatedAt.Equal(want) || !f.ValidFrom.Equal(want) ||
		!f.UpdatedAt.Equal(present) || !f.ConfirmedAt.Equal(present) {
		t.Errorf("%+v", f)
	}
	if f.Position != want.UnixMicro() {
		t.Errorf("it stands at %d, not where its time is", f.Position)
	}
	for _, bad := range []time.Time{time.Date(1899, 12, 31, 23, 0, 0, 0, time.UTC), c.Now().Add(25 * time.Hour)} {
		_, err := m.StoreFact(ctx, loci.NewFact{Content: "bad", CreatedAt: bad})
		if !errors.Is(err, loci.ErrInvalid) || !strings.Contains(err.Error(), "created_at is") {
			t.Errorf("%v: %v", bad, err)
		}
		opts := &item.PutOptions{CreatedAt: bad}
		err = item.Of(m).Put(ctx, loci.Namespace{"u", "x"}, "k", []byte(`{}`), opts)
		if !errors.Is(err, loci.ErrInvalid) {
			t.Errorf("an item of %v: %v", bad, err)
		}
	}
	opts := &item.PutOptions{CreatedAt: said}
	if err := item.Of(m).Put(ctx, loci.Namespace{"u", "x"}, "k", []byte(`{"a":1}`), opts); err != nil {
		t.Fatal(err)
	}
	got, err := item.Of(m).Get(ctx, loci.Namespace{"u", "x"}, "k", false)
	if err != nil || !got.CreatedAt.Equal(want) {
		t.Errorf("%+v, %v", got, err)
	}
	// A fact of a key that was said earlier was true from then on.
	home := loci.NewFact{Content: "Bergen", Subject: "user", Predicate: "home", CreatedAt: said}
	locitest.StoreFact(t, m, home)
	home.Content, home.CreatedAt = "Oslo", time.Time{}
	if next := locitest.StoreFact(t, m, home); next.Outcome != loci.SupersededOld {
		t.Errorf("%+v", next)
	}
}
