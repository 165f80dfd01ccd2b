package loci_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

// withKey binds a handle whose one write may be repeated.
func withKey(t testing.TB, e *loci.Engine, actor, key string, labels ...string) *loci.Memory {
	t.Helper()
	return locitest.BindView(t, e, loci.View{
		Tenant:         locitest.Tenant(t, "t"),
		Namespace:      labels,
		Actor:          actor,
		IdempotencyKey: key,
	})
}

// TestRepeatedRequests: a repeated request gets the stored reply, whatever happened since. The
// key is of one caller, place and request, and ends with its time.
func TestRepeatedRequests(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now, Content: loci.ContentOptions{KeepDuplicates: true}})
		in := loci.NewFact{Content: "x", Metadata: map[string]any{"big": json.Number("9007199254740993")}}
		first := locitest.StoreFact(t, withKey(t, e, "a", "k", "u"), in)
		locitest.Save(t, locitest.Bind(t, e, "u"), "something else")
		c.Advance(23 * time.Hour)
		if again := locitest.StoreFact(t, withKey(t, e, "a", "k", "u"), in); again != first {
			t.Errorf("repeated: %+v, first %+v", again, first)
		}
		_, err := withKey(t, e, "a", "k", "u").StoreFact(t.Context(), loci.NewFact{Content: "y"})
		locitest.WantCode(t, err, loci.Conflict)
		locitest.WantCode(t, withKey(t, e, "a", "k", "u").Erase(t.Context(), first.ID), loci.Conflict) // another operation
		if other := locitest.StoreFact(t, withKey(t, e, "a", "k", "v"), in); other.ID == first.ID {
			t.Error("another user's key is not his own")
		}
		if other := locitest.StoreFact(t, withKey(t, e, "b", "k", "u"), in); other.ID == first.ID {
			t.Error("another actor's key is not his own")
		}
		revise := loci.FactRevision{Content: new("z")}
		one, err := withKey(t, e, "a", "r", "u").ReviseFact(t.Context(), first.ID, revise)
		if err != nil {
			t.Fatal(err)
		}
		c.Advance(time.Minute)
		if _, err := locitest.Bind(t, e, "u").ReviseFact(t.Context(),
			first.ID, loci.FactRevision{Content: new("later")}); err != nil {
			t.Fatal(err)
		}
		two, err := withKey(t, e, "a", "r", "u").ReviseFact(t.Context(), first.ID, revise)
		if err != nil || !reflect.DeepEqual(one, two) {
			t.Errorf("repeated revision: %+v, first %+v, %v", two, one, err)
		}
		c.Advance(time.Hour)
		if late := locitest.StoreFact(t, withKey(t, e, "a", "k", "u"), in); late.ID == first.ID {
			t.Error("a reply outlives its time")
		}
	})
}

func TestRepliesGoWithTheirRecord(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		first := locitest.StoreFact(t, withKey(t, e, "a", "k", "u"), loci.NewFact{Content: "x"})
		erase := withKey(t, e, "a", "e", "u")
		if err := erase.Erase(t.Context(), first.ID); err != nil {
			t.Fatal(err)
		}
		if err := erase.Erase(t.Context(), first.ID); err != nil {
			t.Errorf("a repeated erase: %v", err)
		}
		if again := locitest.StoreFact(t, withKey(t, e, "a", "k", "u"), loci.NewFact{Content: "x"}); again.ID == first.ID {
			t.Error("the reply outlives the record")
		}
	})
}

// A delete of nothing changes nothing, even with a key that is used again a day later.
func TestRepeatedNothing(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		for range 3 {
			m := withKey(t, e, "a", "k", "u")
			for range 2 {
				if err := item.Of(m).Delete(t.Context(), loci.Namespace{"u", "n"}, "none"); err != nil {
					t.Fatal(err)
				}
			}
			c.Advance(25 * time.Hour)
		}
	})
}

func TestRefusedRequestsLeaveNoReply(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := withKey(t, e, "a", "k", "u")
		id := loci.NewID()
		locitest.WantCode(t, m.Erase(t.Context(), id), loci.NotFound)
		if _, err := m.StoreFact(t.Context(), loci.NewFact{Content: "x"}); err != nil {
			t.Errorf("a refused request used up its key: %v", err)
		}
	})
}

func TestOneKeyAtTheSameTime(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{Content: loci.ContentOptions{KeepDuplicates: true}})
		var mu sync.Mutex
		ids := map[loci.ID]bool{}
		var wg sync.WaitGroup
		for range 16 {
			m := withKey(t, e, "a", "k", "u")
			wg.Go(func() {
				stored, err := m.StoreFact(t.Context(), loci.NewFact{Content: "x"})
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				ids[stored.ID] = true
			})
		}
		wg.Wait()
		if n := len(locitest.AllFacts(t, locitest.Bind(t, e, "u"))); n != 1 || len(ids) != 1 {
			t.Errorf("%d records, %d replies", n, len(ids))
		}
	})
}

func TestManySaveTheSameNote(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		for _, keyed := range []bool{false, true} {
			in := loci.NewFact{Content: "the same"}
			if keyed {
				in.Subject, in.Predicate = "s", "p"
			}
			m := locitest.Bind(t, e, "u", in.Subject+"x")
			var wg sync.WaitGroup
			for range 16 {
				wg.Go(func() {
					if _, err := m.StoreFact(t.Context(), in); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			live, _, err := m.Facts(t.Context(), loci.FactQuery{}, loci.Page{})
			if err != nil || len(live) != 1 {
				t.Errorf("keyed %v: %d live facts, %v", keyed, len(live), err)
			}
			if all := locitest.AllFacts(t, m); keyed && len(all) != 16 {
				t.Errorf("history has %d facts", len(all))
			}
		}
	})
}

// Every increment that was acknowledged is in the end state.
func TestNoLostUpdate(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		id := locitest.StoreFact(t, m, loci.NewFact{Content: "counter", Metadata: map[string]any{"n": 0}}).ID
		const writers, each = 8, 10
		var wg sync.WaitGroup
		for range writers {
			wg.Go(func() {
				for done := 0; done < each; {
					f, err := m.Fact(t.Context(), id)
					if err != nil {
						t.Error(err)
						return
					}
					n, _ := f.Metadata["n"].(json.Number).Int64()
					next := map[string]any{"n": n + 1}
					if _, err := m.ReviseFact(t.Context(), id,
						loci.FactRevision{Metadata: &next, IfVersion: f.Version}); err == nil {
						done++
					}
				}
			})
		}
		wg.Wait()
		if f := locitest.Fact(t, m, id); f.Metadata["n"] != json.Number("80") || f.Version != 81 {
			t.Errorf("in the end %v at version %d", f.Metadata, f.Version)
		}
	})
}

// TestLifecycleWritesRepeat: the same request twice does its work once.
func TestLifecycleWritesRepeat(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		factID, ruleID, episodeID := locitest.StoreFact(t, m, keyed("Berlin")).ID, storeRule(t, m, "x"), storeEpisode(t, m, "b", "x")
		wrongID := locitest.Save(t, m, "to forget")
		for name, write := range map[string]func(m *loci.Memory) (any, error){
			"episode": func(m *loci.Memory) (any, error) {
				return m.StoreEpisode(t.Context(), loci.NewEpisode{Content: "e", Butler: "b"})
			},
			"rule":    func(m *loci.Memory) (any, error) { return m.StoreRule(t.Context(), loci.NewRule{Content: "r"}) },
			"helpful": func(m *loci.Memory) (any, error) { return m.MarkHelpful(t.Context(), ruleID) },
			"harmful": func(m *loci.Memory) (any, error) { return m.MarkHarmful(t.Context(), ruleID, "why") },
			"confirm": func(m *loci.Memory) (any, error) { return nil, m.Confirm(t.Context(), loci.KindFact, factID) },
			"link": func(m *loci.Memory) (any, error) {
				return nil, m.Link(t.Context(), factID, loci.LinkSupports, ruleID)
			},
			"conclude": func(m *loci.Memory) (any, error) { return m.ConcludeEpisode(t.Context(), episodeID, loci.Failed) },
			"forget":   func(m *loci.Memory) (any, error) { return m.Forget(t.Context(), loci.KindFact, wrongID) },
		} {
			first, err := write(withKey(t, e, "a", name, "u"))
			if err != nil {
				t.Fatal(name, err)
			}
			events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{Limit: 1000})
			if err != nil {
				t.Fatal(err)
			}
			again, err := write(withKey(t, e, "a", name, "u"))
			after, _, listErr := m.Events(t.Context(), loci.EventFilter{}, loci.Page{Limit: 1000})
			if err != nil || listErr != nil || !reflect.DeepEqual(first, again) || len(after) != len(events) {
				t.Errorf("%s: %v, then %v, %v; %d events, then %d", name, first, again, err, len(events), len(after))
			}
		}
	})
}

// A value that is no JSON is the caller's fault, with a key as without one.
func TestRequestsThatAreNoJSON(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock()))
	id := locitest.Save(t, locitest.Bind(t, e, "u"), "x")
	for _, key := range []string{"", "k"} {
		for _, value := range []string{"{} {}", `{"a":`, "NaN"} {
			m := withKey(t, e, "a", key, "u")
			_, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Value: json.RawMessage(value)})
			locitest.WantCode(t, err, loci.Invalid)
			_, err = m.StoreFact(t.Context(), loci.NewFact{Value: json.RawMessage(value)})
			locitest.WantCode(t, err, loci.Invalid)
			err = item.Of(m).Put(t.Context(), loci.Namespace{"u"}, "a", json.RawMessage(value), nil)
			locitest.WantCode(t, err, loci.Invalid)
		}
	}
}

// Lists of facts, rules and episodes show all of them, however brief a page of records may be.
func TestPagesOfMemoriesAreWhole(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock()))
	m := locitest.Bind(t, e, "u")
	locitest.Save(t, m, "a note")
	_, err := m.StoreRule(t.Context(), loci.NewRule{Content: "a rule"})
	_, err2 := m.StoreEpisode(t.Context(), loci.NewEpisode{Content: "an episode", Butler: "b"})
	page := loci.Page{Brief: true}
	facts, _, err3 := m.Facts(t.Context(), loci.FactQuery{}, page)
	rules, _, err4 := m.Rules(t.Context(), loci.RuleQuery{}, page)
	episodes, _, err5 := m.Episodes(t.Context(), loci.EpisodeQuery{}, page)
	if err := errors.Join(err, err2, err3, err4, err5); err != nil {
		t.Fatal(err)
	}
	if facts[0].Content != "a note" || facts[0].Confidence != 1 || rules[0].Content != "a rule" || episodes[0].Butler != "b" {
		t.Errorf("%+v %+v %+v", facts, rules, episodes)
	}
}
