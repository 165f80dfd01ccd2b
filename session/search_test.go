package session_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// An embedder that is down or slow does not hold up a conversation. Its messages are found by
// their words at once and by meaning later, and the embedder is left alone for a while.
func TestSessionAppendsWithoutAnEmbedder(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		embedder := &locitest.WordEmbedder{Name: "words-1", Down: true}
		e := locitest.NewEngine(t, s, loci.Options{Embedder: embedder})
		m := locitest.Bind(t, e, "u")
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "the window seat"))
		embedder.SetDown(false)
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "the aisle"))
		if embedder.Embedded > 0 || !e.Lagging(locitest.Tenant(t, "t")) {
			t.Errorf("asked for %d texts, lagging %v", embedder.Embedded, e.Lagging(locitest.Tenant(t, "t")))
		}
		found := func(mode loci.Mode) session.Hits {
			hits, err := session.Of(m).Search(t.Context(), session.Search{Text: "window", Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			return hits
		}
		if hits := found(loci.Hybrid); len(hits.Hits) == 0 || hits.Hits[0].Passage != "the window seat" {
			t.Errorf("found %+v", hits)
		}
		if n, err := e.Backfill(t.Context(), locitest.Tenant(t, "t"), nil); n != 2 || err != nil {
			t.Errorf("%d made later, %v", n, err)
		}
		if hits := found(loci.Semantic); len(hits.Hits) != 2 ||
			hits.Hits[0].Passage != "the window seat" || hits.Hits[0].Speaker != "user" || hits.Hits[0].Seq != 1 {
			t.Errorf("found %+v", hits)
		}
	})
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Embedder: &locitest.WordEmbedder{Name: "words-1"}})
	m := locitest.Bind(t, e, "u")
	locitest.AppendTo(t, m, "s", slicesOf(locitest.Spoken(session.MessageHuman, "the window seat"), 40)...)
	if hits, err := session.Of(m).Search(t.Context(), session.Search{
		Text:    "window",
		Mode:    loci.Semantic,
		Session: "s",
		Limit:   1000,
	}); err != nil || len(hits.Hits) != 40 {
		t.Errorf("%d of a batch have vectors at once, %v", len(hits.Hits), err)
	}
}

func slicesOf(m session.Message, n int) []session.Message {
	return slices.Repeat([]session.Message{m}, n)
}

// A search keeps to what it is asked for: one session, or all of the handle's. No memory finds
// its way into a conversation, and no message into the memories.
func TestSessionSearch(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		named, err := session.ParseMessage([]byte(`{"role":"user","name":"Ines","content":"Where is the harbour?"}`))
		if err != nil {
			t.Fatal(err)
		}
		locitest.AppendTo(t, m, "a", named, locitest.Spoken(session.MessageAI, "The harbour is south."))
		locitest.AppendTo(t, m, "b", locitest.Spoken(session.MessageHuman, "No harbour here."))
		locitest.AppendTo(t, locitest.Bind(t, e, "v"), "a", locitest.Spoken(session.MessageHuman, "Their harbour."))
		locitest.Save(t, m, "Works at the harbour.")
		for _, c := range []struct {
			q    session.Search
			want []string
		}{
			{session.Search{Text: "harbour"}, []string{"a 1", "a 2", "b 1"}},
			{session.Search{Text: "harbour", Session: "a"}, []string{"a 1", "a 2"}},
			{session.Search{Text: "Ines"}, []string{"a 1"}},
			{session.Search{Text: "harbour", Session: "c"}, nil},
		} {
			found, err := session.Of(m).Search(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, hit := range found.Hits {
				got = append(got, fmt.Sprint(hit.Session, " ", hit.Seq))
				if strings.HasPrefix(hit.Passage, hit.Speaker) ||
					hit.Score < 0 || hit.Score > 1 || hit.CreatedAt.IsZero() {
					t.Errorf("hit %+v", hit)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %q, want %q", c.q, got, c.want)
			}
		}
		if got := locitest.Texts(locitest.Search(t, m, loci.Query{Text: "harbour"})); !slices.Equal(got, []string{"Works at the harbour."}) {
			t.Errorf("memories %q", got)
		}
		if got := locitest.Texts(locitest.Search(t, m, loci.Query{})); !slices.Equal(got, []string{"Works at the harbour."}) {
			t.Errorf("memories %q", got)
		}
		all, err := session.Of(m).Search(t.Context(), session.Search{Text: "harbour"})
		if err != nil {
			t.Fatal(err)
		}
		best, err := session.Of(m).Search(t.Context(), session.Search{Text: "harbour", MinScore: all.Hits[0].Score})
		if err != nil || len(best.Hits) == 0 || len(best.Hits) == len(all.Hits) {
			t.Errorf("with the score of the best as the least %d of %d, %v", len(best.Hits), len(all.Hits), err)
		}
		none, err := session.Of(m).Search(t.Context(), session.Search{Text: "?!"})
		if err != nil || !none.NoWords || len(none.Hits) != 0 {
			t.Errorf("of no word %+v, %v", none, err)
		}
		_, err = session.Of(m).Search(t.Context(), session.Search{Text: " "})
		locitest.WantCode(t, err, loci.Invalid)
	})
}

// The log says in one line an act what happened to a conversation, and nothing of what was
// said.
func TestSessionEvents(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.AppendTo(t, m, "s", slicesOf(locitest.Spoken(session.MessageHuman, "secretword"), 5)...)
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "secretword"))
		if _, err := session.Of(m).Trim(t.Context(), "s", 2); err != nil {
			t.Fatal(err)
		}
		log := func() (types []string, all string) {
			events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
			if err != nil {
				t.Fatal(err)
			}
			slices.Reverse(events)
			for _, e := range events {
				types = append(types, string(e.Type)+" "+string(e.Payload))
			}
			return types, asJSON(t, events)
		}
		want := []string{`created {"from":1,"to":5}`, `appended {"from":6,"to":6}`, `trimmed {"messages":4,"to":4}`}
		if got, all := log(); !slices.Equal(got, want) || strings.Contains(all, "secretword") {
			t.Errorf("events %q", got)
		}
		if _, err := session.Of(m).Clear(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if got, _ := log(); !slices.Equal(got, []string{"created ", "appended ", "trimmed ", `erased {"messages":2}`}) {
			t.Errorf("events %q", got)
		}
	})
}

// What an import brings is embedded with it: a message is found by similarity at once.
func TestImportedMessagesHaveVectors(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		from := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
		locitest.AppendTo(t, from, "s", locitest.Spoken(session.MessageHuman, "we met at the harbour"),
			locitest.Spoken(session.MessageAI, "noted"))
		e := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "words-1"}})
		m := locitest.Bind(t, e, "v")
		report, err := m.Import(t.Context(), strings.NewReader(locitest.Exported(t, from)), nil)
		if err != nil || report.Created != 3 {
			t.Fatalf("report %+v, %v", report, err)
		}
		lacking, err := s.Unembedded(t.Context(), locitest.Tenant(t, "t"), e.Space(), loci.ID{}, 10)
		if err != nil || len(lacking) > 0 {
			t.Errorf("%d messages lack vectors, %v", len(lacking), err)
		}
		found, err := session.Of(m).Search(t.Context(), session.Search{Text: "harbour", Mode: loci.Semantic, Limit: 1})
		if err != nil || len(found.Hits) != 1 || !strings.Contains(found.Hits[0].Text, "harbour") {
			t.Errorf("found %+v, %v", found, err)
		}
	})
}
