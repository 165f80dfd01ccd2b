package view_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/view"
)

// A page of a list ends at a number of bytes, too, and its cursor goes on: the whole list is the same.
func TestListsEndAtANumberOfBytes(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	for i := range 40 {
		text := fmt.Sprint(i, " ", strings.Repeat(fmt.Sprint("word", i, " "), 60))
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: text}); err != nil {
			t.Fatal(err)
		}
	}
	for _, q := range []view.Query{{}, {States: []view.State{view.Fading, view.Waiting, view.Live}}} {
		whole, next, err := view.List(t.Context(), m, q, loci.Page{Limit: 1000})
		if err != nil || next != "" || len(whole) != 40 {
			t.Fatalf("%d, %q, %v", len(whole), next, err)
		}
		view.BoundLists(t, 3000)
		var ids []loci.ID
		pages := 0
		for page := (loci.Page{Limit: 1000}); ; pages++ {
			some, next, err := view.List(t.Context(), m, q, page)
			if err != nil || len(some) == 0 || len(some) > 10 {
				t.Fatalf("a page of %d, %v", len(some), err)
			}
			for _, e := range some {
				ids = append(ids, e.ID)
			}
			if page.Cursor = next; next == "" {
				break
			}
		}
		if !slices.EqualFunc(ids, whole, func(id loci.ID, e view.Entry) bool { return id == e.ID }) || pages < 4 {
			t.Errorf("%d memories in %d pages", len(ids), pages)
		}
		view.BoundLists(t, 32<<20)
	}
}

// A search whose results hold more than a number of bytes is refused. Where some of what it reads is left out, it reads no
// more than so much, and what it was asked for is found all the same.
func TestSearchesEndAtANumberOfBytes(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Features: locitest.Features()}), "u")
	long := strings.Repeat(" word", 100)
	for i := range 20 {
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: fmt.Sprint("walrus ", i, long)}); err != nil {
			t.Fatal(err)
		}
		locitest.AppendTo(t, m, fmt.Sprint("s", i/5), locitest.Spoken(session.MessageHuman, fmt.Sprint("walrus ", i, long)))
	}
	view.BoundLists(t, 4500)
	for name, c := range map[string]struct {
		kinds  []loci.Kind
		states []view.State
		limit  int
		offset int
		found  int // 0: refused
	}{
		"all":                       {nil, nil, 20, 0, 0},
		"some":                      {nil, nil, 5, 0, 5},
		"those behind them":         {nil, nil, 5, 15, 5},
		"facts in a state":          {nil, []view.State{view.Live}, 5, 0, 5},
		"many in a state":           {nil, []view.State{view.Live}, 12, 0, 0},
		"a session of its messages": {[]loci.Kind{session.Kind}, nil, 1, 0, 1},
		"more than are seen":        {[]loci.Kind{session.Kind}, nil, 20, 0, 0},
		"more than a look found":    {[]loci.Kind{session.Kind}, nil, 4, 0, 0},
		"messages":                  {[]loci.Kind{session.KindMessage}, nil, 20, 0, 0},
	} {
		q := loci.Query{Text: "walrus", Limit: c.limit, Offset: c.offset}
		found, err := view.Search(t.Context(), m, q, c.kinds, c.states)
		if c.found == 0 {
			if !errors.Is(err, loci.ErrTooMuch) || loci.AsError(err).Code != loci.TooLarge {
				t.Errorf("%s: %d, %v", name, len(found.Results), err)
			}
		} else if err != nil || len(found.Results) != c.found {
			t.Errorf("%s: %d, %v", name, len(found.Results), err)
		}
	}
	view.BoundLists(t, 32<<20)
	found, err := view.Search(t.Context(), m, loci.Query{Text: "walrus", Limit: 20}, []loci.Kind{session.Kind}, nil)
	if err != nil || len(found.Results) != 4 {
		t.Errorf("with room: %d, %v", len(found.Results), err)
	}
}
