package session_test

import (
	"errors"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// Clearing an extent takes no message that came or changed since, and a message that is gone
// already is no obstacle.
func TestClearExtent(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		talks := session.Of(m)
		look := func() session.Extent {
			t.Helper()
			x, err := talks.Extent(t.Context(), "trip")
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		if x := look(); x.Messages != 0 || x.Mark != "" {
			t.Errorf("a missing session: %+v", x)
		}
		if _, err := talks.ClearExtent(t.Context(), look()); !errors.Is(err, loci.ErrNotFound) {
			t.Errorf("a missing session: %v", err)
		}
		locitest.AppendTo(t, m, "trip",
			locitest.Spoken(session.MessageHuman, "one"), locitest.Spoken(session.MessageAI, "two"))
		first := look()
		if first.Messages != 2 || first.Mark == "" || look().Mark != first.Mark {
			t.Errorf("%+v", first)
		}
		locitest.AppendTo(t, m, "trip", locitest.Spoken(session.MessageHuman, "three"))
		if now := look(); now.Messages != 3 || now.Mark == first.Mark {
			t.Errorf("%+v after %+v", now, first)
		}
		done, err := talks.ClearExtent(t.Context(), first)
		if !errors.Is(err, loci.ErrConflict) || done != (session.Cleared{}) {
			t.Errorf("a message came: %+v, %v", done, err)
		}
		if found := ofRecord(t, m, "trip"); found.Messages != 3 {
			t.Errorf("%d messages are left", found.Messages)
		}
		last := look()
		if _, err := talks.Pop(t.Context(), "trip"); err != nil {
			t.Fatal(err)
		}
		done, err = talks.ClearExtent(t.Context(), last)
		if err != nil || done != (session.Cleared{Sessions: 1, Messages: 2}) {
			t.Errorf("%+v, %v", done, err)
		}
	})
}
