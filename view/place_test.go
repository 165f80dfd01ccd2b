package view_test

import (
	"bytes"
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
	"github.com/loci-memory/loci/view"
)

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

// TestAGuestsKindIsShown: a kind from somebody else's package is shown without further work.
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

// TestAnExportOfAPart: an export by kind and state is whole in itself, so it can be imported.
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
			if report, err := to.m.Import(t.Context(), &file, nil); err != nil || report.Created != n {
				t.Errorf("%+v imported as %+v, %v", part.q, report, err)
			}
			var got []string
			for _, e := range to.list(t, view2{kinds, view.States}) {
				got = append(got, string(e.Kind))
				if e.Kind == "file" && e.Source.Client != "test" {
					t.Errorf("an import forgot who wrote a %s: %+v", e.Kind, e.Source)
				}
			}
			if strings.Join(got, " ") != part.want {
				t.Errorf("%+v brings %v, want %s", part.q, got, part.want)
			}
		}
	})
}

// A readStore counts what is read from a store.
type readStore struct {
	loci.Store
	read int
}

func (s *readStore) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	records, next, err := s.Store.Records(ctx, t, f, p)
	s.read += len(records)
	return records, next, err
}

// TestAnExportOfAKindReadsNoOthers, of those that stand for themselves and of the others.
func TestAnExportOfAKindReadsNoOthers(t *testing.T) {
	s := &readStore{Store: locitest.OpenMemory()}
	h := furnish(t, s)
	for i := range 200 {
		locitest.Save(t, h.m, fmt.Sprintf("Note %d.", i))
		locitest.AppendTo(t, h.m, "long", locitest.Spoken(session.MessageHuman, fmt.Sprintf("Message %d.", i)))
	}
	for _, kind := range []loci.Kind{"rule", "file", "thread"} {
		before := s.read
		var file bytes.Buffer
		n, err := view.Export(t.Context(), h.m, &file, view.Query{Kinds: []loci.Kind{kind}}, nil)
		if read := s.read - before; read > 50 || n == 0 || err != nil {
			t.Errorf("%d records of kind %s, %v: %d were read", n, kind, err, read)
		}
	}
	for _, q := range []view.Query{
		{Kinds: []loci.Kind{view.KindNote}, States: []view.State{view.Forgotten}},
		{Kinds: []loci.Kind{view.KindNote}, States: []view.State{view.Waiting}},
	} {
		before := s.read
		var file bytes.Buffer
		n, err := view.Export(t.Context(), h.m, &file, q, nil)
		if lines := strings.Count(file.String(), "\n"); n != 0 || lines != 2 || err != nil {
			t.Errorf("%d notes of %v in %d lines, %v", n, q.States, lines, err)
		}
		if read := s.read - before; read > 0 {
			t.Errorf("%d records were read of which none is exported", read)
		}
	}
}

// furnishless is a house without anything.
func furnishless(t *testing.T) *house {
	clock := locitest.NewClock()
	clock.Advance(time.Hour)
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: clock.Now})
	return &house{engine: e, m: locitest.Bind(t, e, "user", "ann"), clock: clock}
}
