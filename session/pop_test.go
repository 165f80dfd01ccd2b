package session_test

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// said is the text of what a pop took; "" for nothing.
func said(t *testing.T, m *loci.Memory, id string) string {
	t.Helper()
	got, err := session.Of(m).Pop(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if got.Message == nil {
		return ""
	}
	return got.Message.Text()
}

func removal(id string) session.Message {
	return session.Message{Type: session.MessageRemove, Data: fmt.Appendf(nil, `{"id":%q,"content":""}`, id)}
}

func withID(text, id string) session.Message {
	return session.Message{Type: session.MessageHuman, Data: fmt.Appendf(nil, `{"content":%q,"id":%q}`, text, id)}
}

func TestPopTakesTheNewest(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		if _, err := session.Of(m).Pop(t.Context(), "none"); !errors.Is(err, loci.ErrNotFound) {
			t.Fatalf("no session: %v", err)
		}
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "a"), locitest.Spoken(session.MessageAI, "b"))
		got, err := session.Of(m).Pop(t.Context(), "s")
		if err != nil || got.Session != "s" || got.Message == nil || got.Message.Seq != 2 || got.Messages != 1 {
			t.Fatalf("got %+v, %v", got, err)
		}
		// Its number is not given again: whoever reads what comes after it misses nothing.
		if a := locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageAI, "c")); a.First != 3 || a.Messages != 2 {
			t.Errorf("appended %+v", a)
		}
		if got := seqs(locitest.HistoryOf(t, m, "s", session.HistoryQuery{})); !slices.Equal(got, []int64{1, 3}) {
			t.Errorf("left %v", got)
		}
		if a, b, c := said(t, m, "s"), said(t, m, "s"), said(t, m, "s"); a != "c" || b != "a" || c != "" {
			t.Errorf("took %q, %q, %q", a, b, c)
		}
		locitest.LogIsWhole(t, e, m.View().Tenant)
		if st, err := session.Of(m).Session(t.Context(), "s"); err != nil || st.Messages != 0 || st.LastSeq != 3 {
			t.Errorf("session %+v, %v", st, err)
		}
	})
}

// TestPopPassesOverWhatIsRemoved: clients of earlier releases popped by a message that
// names what it removes.
func TestPopPassesOverWhatIsRemoved(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.AppendTo(t, m, "s", withID("a", "1"), removal("__remove_all__"), withID("b", "2"), withID("c", "3"), removal("3"))
		for range 30 { // over the first page
			locitest.AppendTo(t, m, "s", withID("d", "4"), removal("4"))
		}
		locitest.AppendTo(t, m, "s", withID("e", "3")) // the same id, but later
		if a, b, c := said(t, m, "s"), said(t, m, "s"), said(t, m, "s"); a != "e" || b != "b" || c != "" {
			t.Errorf("took %q, %q, %q", a, b, c)
		}
	})
}

func TestPopIsRepeatable(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		view := m.View()
		view.IdempotencyKey = "k"
		keyed := locitest.BindView(t, e, view)
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "a"), locitest.Spoken(session.MessageHuman, "b"))
		if a, b := said(t, keyed, "s"), said(t, keyed, "s"); a != "b" || b != "b" {
			t.Errorf("took %q, then %q", a, b)
		}
		if _, err := session.Of(keyed).Pop(t.Context(), "other"); !errors.Is(err, loci.ErrConflict) {
			t.Errorf("the key of another request: %v", err)
		}
		if got := said(t, m, "s"); got != "a" {
			t.Errorf("then %q", got)
		}
	})
}

func TestPopTakesTheSummaryThatCoversIt(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Tokenizer: locitest.WordTokens{}}), "u")
		locitest.Talk(t, m, 30)
		done := locitest.Summarise(t, m, session.SummaryOptions{ContextTokens: 200})
		if !done.Done {
			t.Fatalf("no summary: %+v", done)
		}
		var before, after session.Session
		for n := 0; ; n++ {
			var err error
			if after, err = session.Of(m).Session(t.Context(), done.Session); err != nil {
				t.Fatal(err)
			}
			if after.Summary == nil || n > 100 {
				break
			}
			before = after
			said(t, m, done.Session)
		}
		if after.Summary != nil || after.Messages >= done.Summary.Through || before.Messages < done.Summary.Through {
			t.Errorf("the summary of messages up to %d went with %d of %d left", done.Summary.Through, after.Messages, before.Messages)
		}
	})
}

// TestPopsAtOnce: of ten callers that pop from ten messages each gets a different one, and
// nothing is left. They use engines that do not know of one another, as processes do.
func TestPopsAtOnce(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		engines := []*loci.Engine{locitest.NewEngine(t, s, loci.Options{}), locitest.NewEngine(t, s, loci.Options{})}
		for round := range locitest.Long(5, 100) {
			id := fmt.Sprint("s", round)
			m := locitest.Bind(t, engines[0], "u")
			for i := range 10 {
				locitest.AppendTo(t, m, id, locitest.Spoken(session.MessageHuman, fmt.Sprint(i)))
			}
			took := make([]string, 10)
			var all sync.WaitGroup
			for i := range took {
				own := locitest.Bind(t, engines[i%2], "u")
				all.Go(func() {
					got, err := session.Of(own).Pop(t.Context(), id)
					if err != nil || got.Message == nil {
						t.Errorf("pop %d: %+v, %v", i, got, err)
						return
					}
					took[i] = got.Message.Text()
				})
			}
			all.Wait()
			slices.Sort(took)
			if want := []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}; !slices.Equal(took, want) {
				t.Fatalf("round %d: took %v", round, took)
			}
			if left := locitest.HistoryOf(t, m, id, session.HistoryQuery{}); len(left) != 0 || said(t, m, id) != "" {
				t.Fatalf("round %d: left %v", round, left)
			}
		}
	})
}
