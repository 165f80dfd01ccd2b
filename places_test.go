package loci_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/checkpoint"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tree"
)

// TestNoCallerNamesAnInnerPlace tries to get below the label that features keep their
// own records behind, by everything that takes a namespace.
func TestNoCallerNamesAnInnerPlace(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{})
	m := locitest.Bind(t, e, "org", "acme")
	locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "secret"))
	inner := loci.Namespace{"org", "acme", "", "sessions"}
	fact := `{"type":"header","format":"loci.export","version":1}
{"type":"record","id":"01900000-0000-7000-8000-000000000001","kind":"fact","namespace":["","sessions"],"version":1,"live":true,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","text":"x","body":{"validity":"active","valid_from":"2026-01-01T00:00:00Z","confirmed_at":"2026-01-01T00:00:00Z"}}
{"type":"end","records":1}`
	for name, call := range map[string]func() error{
		"a handle": func() error {
			_, err := e.Memory(loci.View{Tenant: locitest.Tenant(t, "t"), Namespace: inner, Actor: "a"})
			return err
		},
		"the label alone": func() error {
			_, err := e.Memory(loci.View{Tenant: locitest.Tenant(t, "t"), Namespace: loci.Namespace{""}, Actor: "a"})
			return err
		},
		"what is also read": func() error {
			_, err := e.Memory(loci.View{
				Tenant:    locitest.Tenant(t, "t"),
				Namespace: loci.Namespace{"a"},
				Also:      []loci.Namespace{inner},
				Actor:     "a",
			})
			return err
		},
		"the text":            func() error { _, err := loci.ParseNamespace("org/acme//sessions"); return err },
		"a template":          func() error { _, err := loci.ParseTemplate(inner); return err },
		"a template in code":  func() error { _, err := loci.Template{"org", "", "sessions"}.Resolve(nil); return err },
		"an item":             func() error { return item.Of(m).Put(t.Context(), inner, "k", json.RawMessage(`{}`), nil) },
		"an item that is got": func() error { _, err := item.Of(m).Get(t.Context(), inner, "k", false); return err },
		"items": func() error {
			_, err := item.Of(m).Search(t.Context(), item.Query{Prefix: inner})
			return err
		},
		"a tree's name": func() error { _, err := tree.Of(m, "a\x00b", ""); return err },
		"an import":     func() error { _, err := m.Import(t.Context(), strings.NewReader(fact), nil); return err },
		"an import of a fact where sessions are": func() error {
			_, err := m.Import(t.Context(), strings.NewReader(strings.Replace(fact, `"",`, `"","tree",`, 1)), nil)
			return err
		},
	} {
		if err := call(); loci.AsError(err) == nil || loci.AsError(err).Code != loci.Invalid {
			t.Errorf("%s: %v; want it refused", name, err)
		}
	}
	events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
	if err != nil || len(events) == 0 || !events[0].Namespace.Equal(inner) {
		t.Errorf("events %+v, %v; want one in %s", events, err, inner)
	}
}

// TestADeepNamespaceHoldsSessions has as many labels as there may be: what a feature
// adds for itself does not count.
func TestADeepNamespaceHoldsSessions(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), slices.Repeat([]string{"n"}, loci.MaxLabels)...)
		locitest.AppendTo(t, m, "s", locitest.Spoken(session.MessageHuman, "hi"))
		files, err := tree.Of(m, "a", "b")
		if err == nil {
			_, err = files.Write(t.Context(), "/x", "y", nil)
		}
		if got := locitest.Said(locitest.HistoryOf(t, m, "s", session.HistoryQuery{})); err != nil || len(got) != 1 {
			t.Errorf("history %q, %v", got, err)
		}
		if found, err := s.Check(t.Context(), locitest.Tenant(t, "t")); err != nil || len(found) > 0 {
			t.Errorf("check: %v, %v", found, err)
		}
	})
}

// TestExportsFromBeforeOwnPlaces imports an export of an older build, which kept sessions where
// callers could name them.
func TestExportsFromBeforeOwnPlaces(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("testdata", "transfer", "before_own_places.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "org", "new")
		for range 2 {
			report, err := m.Import(t.Context(), strings.NewReader(string(data)), nil)
			if err != nil || report.Conflicts > 0 {
				t.Fatalf("%+v, %v", report, err)
			}
		}
		again := locitest.Exported(t, m)
		other := locitest.Bind(t, e, "copy")
		if report, err := other.Import(t.Context(), strings.NewReader(again), nil); err != nil ||
			report.Conflicts > 0 || report.Created == 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		for _, m := range []*loci.Memory{m, other} {
			got := locitest.Said(locitest.HistoryOf(t, m, "board", session.HistoryQuery{}))
			if len(got) != 2 || !strings.Contains(got[0], "board") {
				t.Errorf("history %q", got)
			}
			agent := locitest.Bind(t, e, m.View().Namespace.Child("sessions")...)
			list, _, err := session.Of(agent).List(t.Context(), session.Query{}, loci.Page{})
			if err != nil || len(list) != 1 || list[0].ID != "own" {
				t.Errorf("the agent's sessions: %+v, %v", list, err)
			}
			facts, _, err := agent.Facts(t.Context(), loci.FactQuery{}, loci.Page{})
			if err != nil || len(facts) != 1 {
				t.Errorf("the agent's facts: %+v, %v", facts, err)
			}
			files, err := tree.Of(m, "notes", "thread 7")
			if err != nil {
				t.Fatal(err)
			}
			if text, err := files.Read(t.Context(), "/plan.md"); err != nil || text != "The plan of a thread, once more." {
				t.Errorf("the plan is %q, %v", text, err)
			}
		}
	})
}

// TestExportsTellTreesApart moves the trees whose places could be read in two ways once
// the label of their own is left out.
func TestExportsTellTreesApart(t *testing.T) {
	e := locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{})
	m, below := locitest.Bind(t, e, "a"), locitest.Bind(t, e, "a", "tree")
	trees := func(m, below *loci.Memory) (out []*tree.Tree) {
		for _, c := range []struct {
			m            *loci.Memory
			name, thread string
		}{{m, "tree", "global"}, {below, "thread", ""}, {m, "thread", ""}, {m, "global", "tree"}} {
			files, err := tree.Of(c.m, c.name, c.thread)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, files)
		}
		return out
	}
	for i, files := range trees(m, below) {
		if _, err := files.Write(t.Context(), "/x", fmt.Sprint("tree ", i), nil); err != nil {
			t.Fatal(err)
		}
	}
	other := locitest.Bind(t, e, "b")
	if _, err := other.Import(t.Context(), strings.NewReader(locitest.Exported(t, m)), nil); err != nil {
		t.Fatal(err)
	}
	for i, files := range trees(other, locitest.Bind(t, e, "b", "tree")) {
		if text, err := files.Read(t.Context(), "/x"); err != nil || text != fmt.Sprint("tree ", i) {
			t.Errorf("tree %d holds %q, %v", i, text, err)
		}
	}
}

// used lets a principal use every feature, and returns where its records are.
func used(t *testing.T, vars loci.Vars, talk, name string) (home loci.Namespace, places []loci.Namespace, ok bool) {
	p, err := loci.NewPrincipal(locitest.Tenant(t, "t"), "key", vars, loci.ScopeWrite)
	if err != nil {
		return nil, nil, false
	}
	if home, err = loci.Template(nil).Resolve(p.Vars()); err != nil {
		return nil, nil, false
	}
	s := locitest.OpenMemory()
	m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), home...)
	ctx := t.Context()
	if _, err := m.StoreFact(ctx, loci.NewFact{Content: "a fact"}); err != nil {
		t.Fatal(err)
	}
	if err := item.Of(m).Put(ctx, home, "k", json.RawMessage(`{"a":1}`), nil); err != nil &&
		loci.AsError(err).Code != loci.Invalid {
		t.Fatal(err)
	}
	if _, err := m.StoreEpisode(ctx, loci.NewEpisode{Content: "an episode", Butler: "b", Session: "s"}); err != nil {
		t.Fatal(err)
	}
	_, _ = session.Of(m).Append(ctx, talk, []session.Message{locitest.Spoken(session.MessageHuman, "hi")}) // an id may be refused
	for _, files := range [][2]string{{"", ""}, {name, ""}, {"", vars[loci.VarThread]}, {name, vars[loci.VarThread]}} {
		if files, err := tree.Of(m, files[0], files[1]); err == nil {
			if _, err := files.Write(ctx, "/x", "y", nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = checkpoint.Of(m).Put(ctx, checkpoint.Checkpoint{Thread: vars[loci.VarThread], Namespace: name, ID: "1",
		State: checkpoint.Typed{Type: "json", Data: []byte(`{}`)}, Metadata: json.RawMessage(`{}`)})
	places, err = s.Namespaces(ctx, locitest.Tenant(t, "t"), loci.Filter{Within: []loci.Namespace{{}}, NotLive: true})
	if err != nil {
		t.Fatal(err)
	}
	return home, places, true
}

// FuzzPlacesOfPrincipals draws the variables of two principals, and what they name. No place of
// one is in or above a place of the other, except where the documents say so: the memory of an
// organisation holds those of its agents.
func FuzzPlacesOfPrincipals(f *testing.F) {
	for _, odd := range []string{"sessions", "messages", "tree", "global", "thread", "memory", "checkpoints", "", "\x01", "a/b", "%2F", "acme\x00sessions", "{agent_id}", "日本"} {
		f.Add("", "acme", "", odd, odd, "", "acme", odd, "t", "s")
		f.Add("u", "", "", odd, odd, odd, "", "", odd, "s")
		f.Add("", odd, "tree", "thread", "global", "", odd, "sessions", "x", odd)
		f.Add("", "org", odd, "t", "tree", "org", odd, odd, odd, "global")
	}
	f.Fuzz(func(t *testing.T, user, org, agent, thread, name, user2, org2, agent2, thread2, name2 string) {
		a := loci.Vars{loci.VarUser: user, loci.VarOrg: org, loci.VarAgent: agent, loci.VarThread: thread}
		b := loci.Vars{loci.VarUser: user2, loci.VarOrg: org2, loci.VarAgent: agent2, loci.VarThread: thread2}
		home, places, ok := used(t, a, name, name)
		other, others, ok2 := used(t, b, name2, name2)
		if !ok || !ok2 {
			return
		}
		for _, x := range places {
			if !home.Contains(x) {
				t.Errorf("%q keeps something in %q", []string(home), []string(x))
			}
			if other.Contains(x) != other.Contains(home) {
				t.Errorf("%q of %q is in or above the memory of %q", []string(x), []string(home), []string(other))
			}
			for _, y := range others {
				if x.Contains(y) && !x.Equal(home) && (!home.Equal(other) || !x.Equal(y)) {
					t.Errorf("%q of %q contains %q of %q", []string(x), []string(home), []string(y), []string(other))
				}
			}
			for _, y := range places { // nor do features meet one another
				if x.Contains(y) && !x.Equal(home) && !x.Equal(y) {
					t.Errorf("%q contains %q", []string(x), []string(y))
				}
			}
		}
	})
}

// A handle gives out the features that its engine was made with, and no others.
func TestFeaturesOfAHandle(t *testing.T) {
	with := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	plain, err := loci.New(locitest.OpenMemory(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for m, want := range map[*loci.Memory]bool{with: true, locitest.Bind(t, plain, "u"): false} {
		if _, ok := loci.FeatureOf[item.Feature](m); ok != want {
			t.Errorf("there are items: %t, want %t", ok, want)
		}
	}
}
