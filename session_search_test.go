package loci_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// An embedder that is down, or slow, does not hold up a conversation: its messages are
// found by their words at once, by meaning later, and it is left alone for a while.
func TestSessionAppendsWithoutAnEmbedder(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		embedder := &wordEmbedder{model: "words-1", down: true}
		e := newEngine(t, s, loci.Options{Embedder: embedder})
		m := bind(t, e, "u")
		appendTo(t, m, "s", spoken(loci.MessageHuman, "the window seat"))
		embedder.setDown(false)
		appendTo(t, m, "s", spoken(loci.MessageHuman, "the aisle"))
		if embedder.texts > 0 || !e.Lagging(tenant(t, "t")) {
			t.Errorf("asked for %d texts, lagging %v", embedder.texts, e.Lagging(tenant(t, "t")))
		}
		found := func(mode loci.Mode) loci.SessionHits {
			hits, err := m.Sessions().Search(t.Context(), loci.SessionSearch{Text: "window", Mode: mode})
			if err != nil {
				t.Fatal(err)
			}
			return hits
		}
		if hits := found(loci.Hybrid); len(hits.Hits) == 0 || hits.Hits[0].Passage != "the window seat" {
			t.Errorf("found %+v", hits)
		}
		if n, err := e.Backfill(t.Context(), tenant(t, "t"), nil); n != 2 || err != nil {
			t.Errorf("%d made later, %v", n, err)
		}
		if hits := found(loci.Semantic); len(hits.Hits) != 2 || hits.Hits[0].Passage != "the window seat" || hits.Hits[0].Speaker != "user" || hits.Hits[0].Seq != 1 {
			t.Errorf("found %+v", hits)
		}
	})
	e := newEngine(t, openMemory(), loci.Options{Embedder: &wordEmbedder{model: "words-1"}})
	m := bind(t, e, "u")
	appendTo(t, m, "s", slicesOf(spoken(loci.MessageHuman, "the window seat"), 40)...)
	if hits, err := m.Sessions().Search(t.Context(), loci.SessionSearch{Text: "window", Mode: loci.Semantic, Session: "s", Limit: 1000}); err != nil || len(hits.Hits) != 40 {
		t.Errorf("%d of a batch have vectors at once, %v", len(hits.Hits), err)
	}
}

func slicesOf(m loci.Message, n int) []loci.Message { return slices.Repeat([]loci.Message{m}, n) }

// Search keeps to what it is asked for: one session, all of the handle's, and no memory
// finds its way into a conversation or back.
func TestSessionSearch(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		e := newEngine(t, s, loci.Options{})
		m := bind(t, e, "u")
		named, err := loci.ParseMessage([]byte(`{"role":"user","name":"Ines","content":"Where is the harbour?"}`))
		if err != nil {
			t.Fatal(err)
		}
		appendTo(t, m, "a", named, spoken(loci.MessageAI, "The harbour is south."))
		appendTo(t, m, "b", spoken(loci.MessageHuman, "No harbour here."))
		appendTo(t, bind(t, e, "v"), "a", spoken(loci.MessageHuman, "Their harbour."))
		save(t, m, "Works at the harbour.")
		for _, c := range []struct {
			q    loci.SessionSearch
			want []string
		}{
			{loci.SessionSearch{Text: "harbour"}, []string{"a 1", "a 2", "b 1"}},
			{loci.SessionSearch{Text: "harbour", Session: "a"}, []string{"a 1", "a 2"}},
			{loci.SessionSearch{Text: "Ines"}, []string{"a 1"}},
			{loci.SessionSearch{Text: "harbour", Session: "c"}, nil},
		} {
			found, err := m.Sessions().Search(t.Context(), c.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, hit := range found.Hits {
				got = append(got, fmt.Sprint(hit.Session, " ", hit.Seq))
				if strings.HasPrefix(hit.Passage, hit.Speaker) || hit.Score < 0 || hit.Score > 1 || hit.CreatedAt.IsZero() {
					t.Errorf("hit %+v", hit)
				}
			}
			if slices.Sort(got); !slices.Equal(got, c.want) {
				t.Errorf("%+v: %q, want %q", c.q, got, c.want)
			}
		}
		if got := texts(search(t, m, loci.Query{Text: "harbour"})); !slices.Equal(got, []string{"Works at the harbour."}) {
			t.Errorf("memories %q", got)
		}
		if got := texts(search(t, m, loci.Query{})); !slices.Equal(got, []string{"Works at the harbour."}) {
			t.Errorf("memories %q", got)
		}
		_, err = m.Sessions().Search(t.Context(), loci.SessionSearch{Text: " "})
		wantCode(t, err, loci.Invalid)
	})
}

// The log says what happened to a conversation in a line an act, and nothing of what was said.
func TestSessionEvents(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		appendTo(t, m, "s", slicesOf(spoken(loci.MessageHuman, "secretword"), 5)...)
		appendTo(t, m, "s", spoken(loci.MessageHuman, "secretword"))
		if _, err := m.Sessions().Trim(t.Context(), "s", 2); err != nil {
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
		if _, err := m.Sessions().Clear(t.Context(), "s"); err != nil {
			t.Fatal(err)
		}
		if got, _ := log(); !slices.Equal(got, []string{"created ", "appended ", "trimmed ", `erased {"messages":2}`}) {
			t.Errorf("events %q", got)
		}
	})
}
