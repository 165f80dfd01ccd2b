package checkpoint_test

import (
	"slices"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
)

// A thread is found by its name, once, without the credentials in it, and no more when it is
// deleted. Nothing is found by what its graph keeps.
func TestThreadIsFoundByItsName(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		const key = "sk-proj-abcdefghijklmnopqrstuvwx1234567890abcdefghij"
		find := func(text string) (found []string) {
			t.Helper()
			q := loci.Query{Text: text, Mode: loci.Keyword, Kinds: []loci.Kind{checkpoint.KindThread}}
			r, err := m.Search(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range r.Matches {
				found = append(found, match.Record.Text)
			}
			return found
		}
		locitest.CheckpointHistory(t, m, "refund-ticket_42", "", 3, locitest.PlainState)
		locitest.CheckpointHistory(t, m, "refund-ticket_42", "walrus:1", 2, locitest.PlainState)
		locitest.CheckpointHistory(t, m, "login "+key, "", 1, locitest.PlainState)
		for text, want := range map[string][]string{
			"a refund": {"refund-ticket_42"}, "login": {"login [REDACTED]"}, key: nil, "walrus": nil, "same of": nil,
		} {
			if got := find(text); !slices.Equal(got, want) {
				t.Errorf("%s: found %q, want %q", text, got, want)
			}
		}
		if _, err := checkpoint.Of(m).DeleteThread(t.Context(), "refund-ticket_42"); err != nil {
			t.Fatal(err)
		}
		if got := find("refund"); len(got) > 0 {
			t.Errorf("found %q, which is deleted", got)
		}
	})
}

// A thread from before threads were found by their names is found once it goes on.
func TestOldThreadGetsAName(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		locitest.CheckpointHistory(t, m, "refund", "", 1, locitest.PlainState)
		threads := []loci.Kind{checkpoint.KindThread}
		f := loci.Filter{Within: []loci.Namespace{m.Namespace()}, Kinds: threads, NotLive: true}
		old, _, err := m.Records(t.Context(), f, loci.Page{Limit: 1})
		if err != nil || len(old) != 1 {
			t.Fatalf("%v, %v", old, err)
		}
		r := old[0]
		r.Live, r.Text, r.Passages, r.Version = false, "", nil, r.Version+1
		older := loci.Change{Put: []loci.Put{{Record: r}}}
		if err := s.Apply(t.Context(), locitest.Tenant(t, "t"), older); err != nil {
			t.Fatal(err)
		}
		q := loci.Query{Text: "refund", Kinds: threads}
		for _, want := range []int{0, 1, 1} {
			found, err := m.Search(t.Context(), q)
			if err != nil || len(found.Matches) != want {
				t.Errorf("found %d, %v; want %d", len(found.Matches), err, want)
			}
			locitest.CheckpointHistory(t, m, "refund", "", 1, locitest.PlainState)
		}
	})
}
