package loci_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

// trace is what one user sees: texts, scores and their parts, counts and lists.
func trace(t *testing.T, e *loci.Engine, tn loci.Tenant, user string) string {
	t.Helper()
	m := locitest.BindView(t, e, loci.View{Tenant: tn, Namespace: loci.Namespace{"user", user}, Actor: "x"})
	var b strings.Builder
	for _, q := range []string{"zebra", "zebra tea stripe", "tea", "not there", ""} {
		for _, mode := range []loci.Mode{loci.Hybrid, loci.Keyword, loci.Semantic} {
			for _, match := range locitest.Search(t, m, loci.Query{Text: q, Mode: mode, Limit: 3}).Matches {
				explain, err := json.Marshal(match.Explain)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%s %s %q %v %s\n", q, mode, match.Record.Text, match.Score, explain)
			}
		}
	}
	stats, err := m.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	namespaces, err := item.Of(m).Namespaces(t.Context(), item.NamespaceQuery{})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(&b, "%+v %v", stats, namespaces)
	return b.String()
}

// TestCommitStaysInside: whatever a feature decides, its records lie where the handle
// writes, also where the handle may read elsewhere.
func TestCommitStaysInside(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, "t"), Namespace: loci.Namespace{"u", "a"},
			Also: []loci.Namespace{{"u", "shared"}}, Actor: "tester"})
		put := func(n loci.Namespace) error {
			_, err := loci.Commit(t.Context(), m, "put", nil, func(now time.Time) (d loci.Decision[bool], err error) {
				r := loci.Record{
					ID:        m.NewID(),
					Kind:      item.Kind,
					Namespace: n,
					Version:   1,
					Live:      true,
					CreatedAt: now,
					UpdatedAt: now,
				}
				d.Change = loci.Change{
					Put:    []loci.Put{{Record: r}},
					Events: []loci.Event{m.Event(loci.EventCreated, &r, now, nil)},
				}
				return d, nil
			})
			return err
		}
		for _, outside := range []loci.Namespace{nil, {"u"}, {"u", "b"}, {"u", "shared"}} {
			locitest.WantCode(t, put(outside), loci.Forbidden)
		}
		for _, inside := range []loci.Namespace{{"u", "a"}, {"u", "a", "b"}} {
			if err := put(inside); err != nil {
				t.Errorf("in %s: %v", inside, err)
			}
		}
	})
}

// What others store, with the same words and much more of it, changes nothing that a user sees:
// no score, no order, no count.
func TestOthersMoveNothing(t *testing.T) {
	twins := []string{"a:b", "a/b", "a%", "A", "a", "a_", "ab", "é", "e\u0301", "*", "a b", "{user_id}", "a%2Fb"}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Embedder: &locitest.WordEmbedder{Name: "w"}})
		home, away := locitest.Tenant(t, "home"), locitest.Tenant(t, "Home")
		own := func(tn loci.Tenant, user string, times int) {
			m := locitest.BindView(t, e, loci.View{Tenant: tn, Namespace: loci.Namespace{"user", user}, Actor: "x"})
			for i := range times {
				locitest.Save(t, m, fmt.Sprintf("zebra %s %d of tea", strings.Repeat("stripe ", i%4), i))
			}
		}
		own(home, "a", 6)
		alone := trace(t, e, home, "a")
		own(away, "a", 9)
		for i, user := range twins {
			if user != "a" {
				own(home, user, 2+i)
			}
		}
		if crowded := trace(t, e, home, "a"); crowded != alone {
			t.Errorf("others moved what a user sees:\n%s\n---\n%s", alone, crowded)
		}
		for i, user := range twins {
			m := locitest.BindView(t, e, loci.View{Tenant: home, Namespace: loci.Namespace{"user", user}, Actor: "x"})
			want := 2 + i
			if user == "a" {
				want = 6
			}
			if n := len(locitest.AllFacts(t, m)); n != want {
				t.Errorf("user %q has %d memories, want %d", user, n, want)
			}
		}
		_, err := e.Memory(loci.View{Tenant: home, Namespace: loci.Namespace{"user", "user\x00"}, Actor: "x"})
		locitest.WantCode(t, err, loci.Invalid)
		_, err = loci.NewTenant("home\x00")
		locitest.WantCode(t, err, loci.Invalid)
		_, err = e.Memory(loci.View{Namespace: loci.Namespace{"user", "a"}, Actor: "x"})
		locitest.WantCode(t, err, loci.Invalid)
	})
}
