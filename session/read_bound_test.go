package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// A page of messages ends at a number of bytes, too, and says that more follow. If the newest ones are
// less than asked for, it says so, too.
func TestPagesOfMessagesEndAtANumberOfBytes(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for range 20 {
			locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, strings.Repeat("word ", 100)))
		}
		session.BoundRead(t, 2000)
		for _, down := range []bool{false, true} {
			seen := 0
			for q := (session.HistoryQuery{Limit: 1000, NewestFirst: down}); ; {
				page, err := session.Of(m).History(t.Context(), "s", q)
				if err != nil || len(page.Messages) == 0 || len(page.Messages) > 3 {
					t.Fatalf("a page of %d, %v", len(page.Messages), err)
				}
				seen += len(page.Messages)
				if !page.More {
					break
				}
				if last := page.Messages[len(page.Messages)-1].Seq; down {
					q.Before = last
				} else {
					q.After = last
				}
			}
			if seen != 20 {
				t.Errorf("%d messages", seen)
			}
		}
		page, err := session.Of(m).History(t.Context(), "s", session.HistoryQuery{Last: 20})
		if n := len(page.Messages); err != nil || n == 0 || n > 3 || !page.More || page.Messages[n-1].Seq != 20 {
			t.Errorf("the last %d, more: %v, %v", n, page.More, err)
		}
		page, err = session.Of(m).History(t.Context(), "s", session.HistoryQuery{Last: 2})
		if err != nil || len(page.Messages) != 2 || page.More {
			t.Errorf("the last %d, more: %v, %v", len(page.Messages), page.More, err)
		}
	})
}

// A page of sessions ends at a number of bytes, and a search whose messages hold more is refused: fewer can be asked for.
func TestSessionsAndSearchesEndAtANumberOfBytes(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Features: locitest.Features()}), "u")
		h := session.Of(m)
		for i := range 12 {
			name := fmt.Sprint("s", i)
			metadata := json.RawMessage(`{"about":"` + strings.Repeat("x", 1500) + `"}`)
			if _, err := h.Create(t.Context(), session.New{ID: name, Metadata: metadata}); err != nil {
				t.Fatal(err)
			}
			locitest.AppendTo(t, m, name, locitest.Spoken(session.MessageHuman, fmt.Sprint("walrus ", i, strings.Repeat(" word", 100))))
		}
		session.BoundRead(t, 5000)
		seen, pages := 0, 0
		for page := (loci.Page{Limit: 100}); ; pages++ {
			some, next, err := h.List(t.Context(), session.Query{}, page)
			if err != nil || len(some) == 0 || len(some) > 9 {
				t.Fatalf("a page of %d, %v", len(some), err)
			}
			if seen, page.Cursor = seen+len(some), next; next == "" {
				break
			}
		}
		if seen != 12 || pages < 2 {
			t.Errorf("%d sessions in %d pages", seen, pages)
		}
		_, err := h.Search(t.Context(), session.Search{Text: "walrus", Limit: 12})
		if !errors.Is(err, loci.ErrTooMuch) {
			t.Errorf("all at once: %v", err)
		}
		for offset := range 4 {
			found, err := h.Search(t.Context(), session.Search{Text: "walrus", Limit: 3, Offset: 3 * offset})
			if err != nil || len(found.Hits) != 3 {
				t.Errorf("%d from %d, %v", len(found.Hits), 3*offset, err)
			}
		}
	})
}
