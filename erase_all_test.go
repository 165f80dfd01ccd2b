package loci_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
)

// TestEraseAllGuards: an erase of many needs a selection and the right number: each of these
// mistakes would erase more than was meant.
func TestEraseAllGuards(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for i := range 5 {
			locitest.StoreFact(t, m, loci.NewFact{Content: fmt.Sprint("note ", i), Tags: []string{fmt.Sprint("t", i%2)}})
		}
		w, err := loci.ParseWhere(map[string]any{"content": "note 3"})
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			q    loci.EraseQuery
			code loci.Code
		}{
			"no condition":       {loci.EraseQuery{Expect: 5}, loci.Invalid},
			"all and a tag":      {loci.EraseQuery{All: true, Tags: []string{"t0"}, Expect: 3}, loci.Invalid},
			"a blank tag":        {loci.EraseQuery{Tags: []string{" "}, Expect: 5}, loci.Invalid},
			"too few expected":   {loci.EraseQuery{All: true, Expect: 4}, loci.Conflict},
			"too many expected":  {loci.EraseQuery{All: true, Expect: 6}, loci.Conflict},
			"none expected":      {loci.EraseQuery{All: true}, loci.Conflict},
			"a negative number":  {loci.EraseQuery{All: true, Expect: -1}, loci.Conflict},
			"another tag's":      {loci.EraseQuery{Tags: []string{"t1"}, Expect: 3}, loci.Conflict},
			"an unknown kind":    {loci.EraseQuery{Kinds: []loci.Kind{"%"}, Expect: 5}, loci.Conflict},
			"sessions of a tag":  {loci.EraseQuery{Kinds: []loci.Kind{session.Kind}, Tags: []string{"t0"}}, loci.Invalid},
			"sessions of a text": {loci.EraseQuery{Kinds: []loci.Kind{session.Kind}, Where: w}, loci.Invalid},
			"a condition's hits": {loci.EraseQuery{Where: w, Expect: 2}, loci.Conflict},
		} {
			n, err := m.EraseAll(t.Context(), c.q, nil)
			locitest.WantCode(t, err, c.code)
			if n != 0 || len(locitest.AllFacts(t, m)) != 5 {
				t.Fatalf("%s: erased %d", name, n)
			}
		}
		if n, err := m.EraseAll(t.Context(), loci.EraseQuery{Where: w, Expect: 1}, nil); n != 1 || err != nil {
			t.Errorf("by condition: %d, %v", n, err)
		}
		q := loci.EraseQuery{Tags: []string{"T0"}}
		if q.Expect, err = m.CountErase(t.Context(), q); q.Expect != 3 || err != nil {
			t.Errorf("count: %d, %v", q.Expect, err)
		}
		if n, err := m.EraseAll(t.Context(), q, nil); n != 3 || err != nil || len(locitest.AllFacts(t, m)) != 1 {
			t.Errorf("by tag: %d, %v", n, err)
		}
	})
}

// A caller who may erase and may operate on a whole tenant erases everything of it, and nothing
// of another tenant.
func TestEraseTenant(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		handles := map[string]*loci.Memory{}
		for _, name := range []string{"a", "b"} {
			handles[name] = locitest.BindView(t, e, loci.View{
				Tenant:    locitest.Tenant(t, name),
				Namespace: loci.Namespace{"u"},
				Actor:     "tester",
			})
			locitest.Save(t, handles[name], "kept in "+name)
		}
		left := func(name string) (facts, events int) {
			t.Helper()
			log, _, err := handles[name].Events(t.Context(), loci.EventFilter{}, loci.Page{})
			if err != nil {
				t.Fatal(err)
			}
			return len(locitest.AllFacts(t, handles[name])), len(log)
		}
		for _, scopes := range [][]loci.Scope{nil, {loci.ScopeDelete},
			{loci.ScopeAdmin}, {loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelegate}} {
			p, err := loci.NewPrincipal(locitest.Tenant(t, "a"), "tester", nil, scopes...)
			if err != nil {
				t.Fatal(err)
			}
			locitest.WantCode(t, e.EraseTenant(t.Context(), p), loci.Forbidden)
		}
		if facts, events := left("a"); facts != 1 || events != 1 {
			t.Fatalf("a caller that may not erase has erased: %d facts and %d events are left", facts, events)
		}
		p, err := loci.NewPrincipal(locitest.Tenant(t, "a"), "tester", nil, loci.ScopeDelete, loci.ScopeAdmin)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.EraseTenant(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if facts, events := left("a"); facts+events != 0 {
			t.Errorf("%d facts and %d events are left", facts, events)
		}
		if facts, events := left("b"); facts != 1 || events != 1 {
			t.Errorf("the other tenant has %d facts and %d events", facts, events)
		}
	})
}

// What others store while an EraseAll runs was not counted, so it stays; and what
// they erase is not counted twice.
func TestEraseAllSparesWhatComesLater(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}})
		m, elsewhere := locitest.Bind(t, e, "u"), locitest.Bind(t, e, "v")
		const count = 450
		locitest.SaveMany(t, m, count, func(i int) string { return fmt.Sprint("old ", i) })
		var ids []loci.ID
		for _, f := range slices.Backward(locitest.AllFacts(t, m)) {
			ids = append(ids, f.ID)
		}
		locitest.Save(t, elsewhere, "not mine")
		var later []loci.ID
		var steps []int64
		n, err := m.EraseAll(t.Context(), loci.EraseQuery{All: true, Expect: count}, func(done int64) {
			steps = append(steps, done)
			for range 3 {
				later = append(later, locitest.Save(t, m, fmt.Sprint("new ", len(later))))
			}
			for _, id := range ids { // another caller erases one that is still there
				if m.Erase(t.Context(), id) == nil {
					break
				}
			}
		})
		if err != nil || n >= count || n < count-3 {
			t.Errorf("erased %d of %d in steps %v, %v", n, count, steps, err)
		}
		left := locitest.AllFacts(t, m)
		if len(left) != len(later) {
			t.Errorf("%d memories are left, %d were stored meanwhile", len(left), len(later))
		}
		if len(locitest.AllFacts(t, elsewhere)) != 1 {
			t.Error("another namespace lost its memory")
		}
	})
}

func TestEraseAllStopsHalfWay(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t,
			locitest.NewEngine(t, s, loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}}), "u")
		locitest.SaveMany(t, m, 300, func(i int) string { return fmt.Sprint("old ", i) })
		ctx, cancel := context.WithCancel(t.Context())
		n, err := m.EraseAll(ctx, loci.EraseQuery{All: true, Expect: 300}, func(int64) { cancel() })
		locitest.WantCode(t, err, loci.Unavailable)
		if n != 200 || len(locitest.AllFacts(t, m)) != 100 {
			t.Errorf("erased %d", n)
		}
	})
}

// An erase of many waits once until all of it is wiped, and one of some ids takes no others.
func TestEraseAllOfSome(t *testing.T) {
	s := &eraseNoting{Store: locitest.OpenMemory()}
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}}), "u")
	locitest.SaveMany(t, m, 450, func(i int) string { return fmt.Sprint("old ", i) })
	var ids []loci.ID
	for _, f := range locitest.AllFacts(t, m) {
		ids = append(ids, f.ID)
	}
	for _, c := range []struct {
		erase  func() (int64, error)
		erased int64
		waits  string
	}{
		{func() (int64, error) { return m.EraseThese(t.Context(), loci.EraseQuery{All: true}, ids[:300], nil) }, 300, "200 more, 100 last settled"},
		{func() (int64, error) {
			return m.EraseThese(t.Context(), loci.EraseQuery{Tags: []string{"x"}}, ids[300:], nil)
		}, 0, ""},
		{func() (int64, error) { return m.EraseThese(t.Context(), loci.EraseQuery{}, ids[300:], nil) }, -1, ""},
		{func() (int64, error) { return m.EraseAll(t.Context(), loci.EraseQuery{All: true, Expect: 150}, nil) }, 150, "150"},
	} {
		s.changes = nil
		n, err := c.erase()
		if c.erased < 0 {
			locitest.WantCode(t, err, loci.Invalid)
			continue
		}
		if got := strings.Join(s.changes, ", "); n != c.erased || err != nil || got != c.waits {
			t.Errorf("erased %d, %v, in changes of %s; want %d in %s", n, err, got, c.erased, c.waits)
		}
	}
}

// An eraseNoting notes what the changes that erase say.
type eraseNoting struct {
	loci.Store
	changes []string
}

func (s *eraseNoting) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if len(c.Erase) > 0 {
		says := fmt.Sprint(len(c.Erase))
		for word, is := range map[string]bool{" more": c.More, " last settled": c.Last && c.Settled} {
			if is {
				says += word
			}
		}
		s.changes = append(s.changes, says)
	}
	return s.Store.Apply(ctx, t, c)
}

// A sweep reaches every tenant, and does what its plan says.
func TestSweepReachesEveryTenant(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c, words := locitest.NewClock(), &locitest.WordEmbedder{Name: "words"}
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now, Embedder: words})
		for _, tenant := range []string{"a", "b", "c"} {
			m := locitest.BindView(t, e, loci.View{
				Tenant: locitest.Tenant(t, tenant), Namespace: loci.Namespace{"u"}, Actor: "u",
			})
			locitest.PutItem(t, m, loci.Namespace{"u"}, "k", `{"a":"goes"}`, &item.PutOptions{TTL: time.Hour})
			words.SetDown(tenant == "c")
			locitest.Save(t, m, "stays") // that of the last tenant has no vectors yet
			words.SetDown(false)
		}
		c.Advance(2 * time.Hour)
		for tenant, lacking := range map[string]int64{"a": 0, "c": 1} {
			plan, err := e.PlanSweep(t.Context(), locitest.Tenant(t, tenant))
			if err != nil || plan.Expired != 1 || plan.Lacking != lacking {
				t.Errorf("plan for tenant %s: %+v, %v; want 1 expired, %d lacking", tenant, plan, err, lacking)
			}
		}
		done, err := e.Sweep(t.Context())
		if err != nil || done.Tenants != 3 || done.Expired != 3 || done.Embedded != 1 {
			t.Errorf("swept %+v, %v; want 3 tenants, 3 expired, 1 embedded", done, err)
		}
	})
}
