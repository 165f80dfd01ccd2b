package view_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/view"
)

// listNoting counts what is asked of a store.
type listNoting struct {
	loci.Store
	records, counts int
}

func (s *listNoting) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) (records []loci.Record, next string, err error) {
	records, next, err = s.Store.Records(ctx, t, f, p)
	s.records += len(records)
	return records, next, err
}

func (s *listNoting) Count(ctx context.Context, t loci.Tenant, f loci.Filter) (loci.Counts, error) {
	s.counts++
	return s.Store.Count(ctx, t, f)
}

// TestEraseManyInParts: each call reads what it erases and no more, a session goes before
// its messages, what others store meanwhile stays, and what others erase is no hindrance.
func TestEraseManyInParts(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		store, clock := &listNoting{Store: s}, locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, store, loci.Options{
			Content: loci.ContentOptions{KeepDuplicates: true}, Features: locitest.Features(), Now: clock.Now,
		}), "u")
		const notes, most = 4_600, 4_000
		locitest.SaveMany(t, m, notes, func(i int) string { return fmt.Sprint("old ", i) })
		clock.Set(time.Now().Add(time.Hour))
		locitest.AppendTo(t, m, "talk", locitest.Spoken(session.MessageHuman, "Hello."), locitest.Spoken(session.MessageAI, "Good day."))
		q := loci.EraseQuery{All: true, Expect: notes + 3}
		_, err := view.EraseMany(t.Context(), m, loci.EraseQuery{All: true, Expect: notes + 2}, "", nil)
		locitest.WantCode(t, err, loci.Conflict)

		cursor, kept := "", 0
		for call, want := range []view.Erased{
			{Selected: notes + 3, Erased: most, Left: notes + 3 - most},
			{Selected: notes + 3 - most, Erased: notes + 3 - most - 5},
		} {
			store.records, store.counts = 0, 0
			got, err := view.EraseMany(t.Context(), m, q, cursor, nil)
			if (got.Next == "") != (want.Left == 0) {
				t.Errorf("call %d: next cursor %q with %d left", call, got.Next, got.Left)
			}
			cursor, got.Next = got.Next, ""
			if err != nil || got != want {
				t.Fatalf("call %d: %+v, %v; want %+v", call, got, err, want)
			}
			// It lists them, and reads them again when they go; at first the newest and the session are read, too.
			if store.records > 2*most+2 || (store.counts > 0) != (call == 0) {
				t.Errorf("call %d: %d records were read, and counted %d times", call, store.records, store.counts)
			}
			n, err := m.CountErase(t.Context(), loci.EraseQuery{Kinds: []loci.Kind{session.Kind}})
			if q.Expect = got.Left; err != nil || n != []int64{2, 0}[call] {
				t.Errorf("call %d left %d of a session and its two messages, %v", call, n, err)
			}
			clock.Advance(time.Second)
			if call == 0 {
				for _, f := range locitest.AllFacts(t, m)[:5] { // another caller
					if err := m.Erase(t.Context(), f.ID); err != nil {
						t.Fatal(err)
					}
				}
				locitest.Save(t, m, "new")
				kept++
			}
		}
		if left := locitest.AllFacts(t, m); len(left) != kept {
			t.Errorf("%d memories are left, %d came meanwhile", len(left), kept)
		}

		for _, bad := range []string{"x", "{}", `{"until":"2026-01-01T00:00:00Z","page":"?"}`} {
			cursor := base64.RawURLEncoding.EncodeToString([]byte(bad))
			for _, c := range []string{cursor, "?" + cursor} {
				_, err := view.EraseMany(t.Context(), m, loci.EraseQuery{All: true, Expect: 1}, c, nil)
				locitest.WantCode(t, err, loci.Invalid)
			}
		}
		if n := len(locitest.AllFacts(t, m)); n != kept {
			t.Errorf("a bad cursor left %d of %d", n, kept)
		}
	})
}
