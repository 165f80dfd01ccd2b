package loci_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// TestImportedMemoriesLiveOn: what a store filters by comes back with the body, so an imported
// memory fades, expires and is confirmed as the original would be.
func TestImportedMemoriesLiveOn(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		from, to := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{Now: c.Now}), "u"),
			locitest.Bind(t, e, "u")
		factID := locitest.StoreFact(t, from, loci.NewFact{
			Content:    "Berlin",
			Subject:    "Ann",
			Predicate:  "lives in",
			Scope:      "health",
			Permanence: loci.Volatile,
		}).ID
		ruleID := storeRule(t, from, "Ask about Berlin")
		episodeID := storeEpisode(t, from, "health", "Asked about Berlin")
		if _, err := from.MarkHelpful(t.Context(), ruleID); err != nil {
			t.Fatal(err)
		}
		if report, err := to.Import(t.Context(), strings.NewReader(locitest.Exported(t, from)), nil); err != nil ||
			report.Created != 3 {
			t.Fatalf("%+v, %v", report, err)
		}
		for _, days := range []int{0, 60, 140, 200} {
			c.Set(locitest.NewClock().Now().Add(time.Duration(days) * dayLong))
			for scope, kinds := range map[string][]loci.Kind{"health": {loci.KindFact, loci.KindEpisode}, "global": {loci.KindRule}} {
				for _, kind := range kinds {
					q := loci.Query{Text: "Berlin", Kinds: []loci.Kind{kind}, Scopes: []string{scope}, MinConfidence: 0.2}
					a, b := len(locitest.Search(t, from, q).Matches), len(locitest.Search(t, to, q).Matches)
					if a != b {
						t.Errorf("day %d: %d %s found in the original, %d in the copy", days, a, kind, b)
					}
				}
			}
			if a, b := locitest.Fact(t, from, factID), locitest.Fact(t, to, factID); !reflect.DeepEqual(a, b) {
				t.Errorf("day %d: %+v, copy %+v", days, a, b)
			}
			if a, b := rule(t, from, ruleID), rule(t, to, ruleID); !reflect.DeepEqual(a, b) {
				t.Errorf("day %d: %+v, copy %+v", days, a, b)
			}
		}
		if report, err := e.Sweep(t.Context()); err != nil ||
			report.Faded != 2 || report.Ended != 1 || report.Expired != 1 {
			t.Errorf("sweep of the copy: %+v, %v", report, err)
		}
		_, err := to.Episode(t.Context(), episodeID)
		locitest.WantCode(t, err, loci.NotFound)
	})
}

func TestImportRefusesImpossibleLives(t *testing.T) {
	for name, body := range map[string]string{
		"fact/confidence":    `{"validity":"active","confidence":0.01}`,
		"fact/importance":    `{"validity":"active","importance":11}`,
		"fact/permanence":    `{"validity":"active","permanence":"x"}`,
		"fact/validity":      `{"validity":"x"}`,
		"fact/subject":       `{"validity":"active","importance":5,"permanence":"standard","predicate":"p","scope":"global","subject":"` + strings.Repeat("s", 5000) + `"}`,
		"fact/predicate":     `{"validity":"active","importance":5,"permanence":"standard","subject":"s","scope":"global","predicate":"` + strings.Repeat("s", 5000) + `"}`,
		"fact/scope":         `{"validity":"active","importance":5,"permanence":"standard","subject":"s","predicate":"p","scope":"` + strings.Repeat("s", 5000) + `"}`,
		"rule/maturity":      `{"scope":"global","maturity":"x","confidence":0.5,"permanence":"standard"}`,
		"rule/confidence":    `{"scope":"global","maturity":"proven","confidence":2,"permanence":"standard"}`,
		"rule/permanence":    `{"scope":"global","maturity":"proven","confidence":0.5}`,
		"rule/scope":         `{"maturity":"proven","confidence":0.5,"permanence":"standard"}`,
		"rule/count":         `{"scope":"global","maturity":"proven","confidence":0.5,"permanence":"standard","success_count":-1}`,
		"episode/expires_at": `{"butler":"b","importance":5,"consolidation_status":"pending"}`,
		"episode/status":     `{"butler":"b","importance":5,"consolidation_status":"x"}`,
		"episode/butler":     `{"importance":5,"consolidation_status":"pending"}`,
		"plan/kind":          `{}`,
	} {
		m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
		kind, field, _ := strings.Cut(name, "/")
		expires := ""
		if field != "expires_at" {
			expires = `"expires_at":"2030-01-01T00:00:00Z",`
		}
		_, err := m.Import(t.Context(), strings.NewReader(`{"type":"header","format":"loci.export","version":1}
{"type":"record","id":"01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77","kind":"`+kind+`","version":1,"live":true,"created_at":"2026-01-01T00:00:00Z",`+expires+`"text":"x","body":`+body+`}
{"type":"end","records":1}`), nil)
		if err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestForgottenIsReadAsRetracted: older exports have that word for it.
func TestForgottenIsReadAsRetracted(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	_, err := m.Import(t.Context(), strings.NewReader(`{"type":"header","format":"loci.export","version":1}
{"type":"record","id":"01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77","kind":"fact","version":1,"live":true,"created_at":"2026-01-01T00:00:00Z","text":"x","body":{"validity":"forgotten"}}
{"type":"end","records":1}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	f := locitest.AllFacts(t, m)[0]
	if f.Validity != loci.Retracted || len(locitest.Search(t, m, loci.Query{Text: "x"}).Matches) > 0 {
		t.Errorf("%+v", f)
	}
}

// A noting store notes the kinds of what it is given, in order.
type noting struct {
	loci.Store
	kinds []loci.Kind
}

func (s *noting) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	for i := range c.Put {
		s.kinds = append(s.kinds, c.Put[i].Record.Kind)
	}
	return s.Store.Apply(ctx, t, c)
}

// TestOwnersAreImportedLast: wherever the line of a session is, its messages are stored first, so
// that an import that is stopped leaves no session without some of its messages.
func TestOwnersAreImportedLast(t *testing.T) {
	from := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	locitest.AppendTo(t, from, "s", locitest.Spoken(session.MessageHuman, "tea"), locitest.Spoken(session.MessageAI, "or not"))
	lines := strings.SplitAfter(locitest.Exported(t, from), "\n")
	owner := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, `"kind":"session"`) })
	for _, at := range []int{1, len(lines) - 3} { // behind the header, and before the end and what is behind that
		moved := slices.Insert(slices.Delete(slices.Clone(lines), owner, owner+1), at, lines[owner])
		s := &noting{Store: locitest.OpenMemory()}
		to := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		_, err := to.Import(t.Context(), strings.NewReader(strings.Join(moved, "")), nil)
		want := []loci.Kind{session.KindMessage, session.KindMessage, session.Kind}
		if err != nil || !slices.Equal(s.kinds, want) {
			t.Errorf("the session in line %d: stored %q, %v; want %q", at+1, s.kinds, err, want)
		}
	}
}

// TestImportShortensSources: what a program says of itself is kept as short as in a note that is
// saved, and without credentials.
func TestImportShortensSources(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), "u")
	long, key := strings.Repeat("k", 100_000), "sk-ant-api03-"+strings.Repeat("Ab1_", 24)
	_, err := m.Import(t.Context(), strings.NewReader(`{"type":"header","format":"loci.export","version":1}
{"type":"record","id":"01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77","kind":"fact","version":1,"live":true,"created_at":"2026-01-01T00:00:00Z","text":"x","body":{"validity":"active","importance":5,"permanence":"permanent","confidence":1,"source":{"kind":"`+long+`","client":"`+long+`","tool":"`+key+`"}}}
{"type":"end","records":1}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	id, err := loci.ParseID("01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77")
	if err != nil {
		t.Fatal(err)
	}
	got := locitest.Fact(t, m, id).Source
	if want := (loci.Source{Kind: long[:loci.MaxLabelBytes], Client: long[:loci.MaxLabelBytes], Tool: "[REDACTED]"}); got != want {
		t.Errorf("%d %d %q", len(got.Kind), len(got.Client), got.Tool)
	}
}

// A filling store is full after so many changes.
type filling struct {
	loci.Store
	left int
}

func (s *filling) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	if s.left--; s.left < 0 {
		return &loci.Error{Code: loci.Unavailable, Msg: "the disk is full; nothing was stored", Recovery: "Free some space."}
	}
	return s.Store.Apply(ctx, t, c)
}

// TestStoppedImports: an import that failed half way says how much of it is there, and not that it is nothing.
func TestStoppedImports(t *testing.T) {
	var lines strings.Builder
	for n := range 250 {
		fmt.Fprintf(&lines, `{"type":"entity","name":"E%d","entityType":"place","observations":["is number %d"]}`+"\n", n, n)
	}
	for left, want := range []string{"the disk is full; nothing was stored", "the import stopped behind 200 of its memories: the disk is full"} {
		s := &filling{locitest.OpenMemory(), left}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		report, err := m.Import(t.Context(), strings.NewReader(lines.String()), nil)
		if e := loci.AsError(err); e.Msg != want || e.Code != loci.Unavailable || report.Created != int64(200*left) {
			t.Errorf("after %d changes: %+v, %v; want %q", left, report, err, want)
		}
		advice := []string{"Free some space.", "Free some space. What is imported stays, and is left alone when you import it again."}[left]
		if got := loci.AsError(err).Advice(); got != advice {
			t.Errorf("after %d changes: advice %q; want %q", left, got, advice)
		}
	}
	m := locitest.Bind(t, locitest.NewEngine(t, &filling{locitest.OpenMemory(), 1}, loci.Options{}), "u")
	var told []int64
	tell := func(n int64) { told = append(told, n) }
	_, err := m.Import(t.Context(), strings.NewReader(lines.String()), tell)
	if err == nil || !slices.Equal(told, []int64{200}) {
		t.Errorf("%v, told %d; want the 200 that are stored", err, told)
	}
}
