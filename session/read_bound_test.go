package session_test

import (
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// A page of messages ends at a number of bytes, too, and says that more follow. The newest ones come as many as asked.
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
		if err != nil || len(page.Messages) != 20 {
			t.Errorf("the last %d, %v", len(page.Messages), err)
		}
	})
}
