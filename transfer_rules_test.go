package loci_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
	"github.com/loci-memory/loci/store/memory"
)

// Existing memories stay, and what they displace is named.
func TestImportConflicts(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		source := locitest.NewEngine(t, memory.Open(), loci.Options{})
		from := locitest.Bind(t, source, "u")
		city := locitest.StoreFact(t, from, loci.NewFact{Content: "Rome", Subject: "ann", Predicate: "lives_in"})
		same := locitest.StoreFact(t, from, loci.NewFact{Content: "Tea", Subject: "ann", Predicate: "drinks"})
		note := locitest.Save(t, from, "A note")
		locitest.PutItem(t, from, loci.Namespace{"u"}, "k", `{"a":1}`, nil)
		locitest.PutItem(t, from, loci.Namespace{"u"}, "l", `{"a":1}`, nil)
		file := locitest.Exported(t, from)

		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		there := locitest.StoreFact(t, m, loci.NewFact{Content: "Oslo", Subject: "ann", Predicate: "lives_in"})
		tea := locitest.StoreFact(t, m, loci.NewFact{Content: "tea", Subject: "ann", Predicate: "drinks", Tags: []string{"hot"}})
		locitest.Save(t, m, "a  note")
		locitest.PutItem(t, m, loci.Namespace{"u"}, "k", `{"a":2}`, nil)
		locitest.PutItem(t, m, loci.Namespace{"u"}, "l", `{"a":1}`, &item.PutOptions{Index: []string{}})
		before := lines(t, m)
		for range 2 {
			report := imports(t, m, file)
			wantReport(t, report, 0, 3, 2)
			if len(report.Skipped) != 2 {
				t.Fatalf("skipped %q", report.Skipped)
			}
			named := strings.Join(report.Skipped, "\n")
			if !strings.Contains(named, city.ID.String()+": its key is held by "+there.ID.String()) {
				t.Errorf("skipped %q", report.Skipped)
			}
			for _, content := range []string{"Rome", "Oslo", "ann", "lives_in"} {
				if strings.Contains(named, content) {
					t.Errorf("%q tells %s", report.Skipped, content)
				}
			}
			if after := lines(t, m); !slices.Equal(after, before) {
				t.Errorf("was\n%s\nis\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
			}
		}
		// The fact that says the same stands for the imported one.
		linked := func(from, to string) string {
			return strings.Replace(file, `{"type":"end","records":5`, fmt.Sprintf(
				`{"type":"link","link_type":"supports","from":"%s","to":"%s","created_at":"2026-01-02T03:04:05Z"}`+"\n"+`{"type":"end","records":5,"links":1`, from, to), 1)
		}
		imports(t, m, linked(same.ID.String(), note.String()))
		links, err := m.Links(t.Context(), tea.ID)
		if err != nil || len(links) != 1 || links[0].From != tea.ID {
			t.Errorf("links %+v, %v", links, err)
		}
		imports(t, m, linked(city.ID.String(), note.String())) // was not stored, so is no end
		wantLinks(t, m, there.ID)
	})
}

func TestImportOverRevised(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		id, kept := locitest.Save(t, m, "one"), locitest.Save(t, m, "two")
		file := locitest.Exported(t, m)
		if _, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("three")}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.ReviseFact(t.Context(), kept, loci.FactRevision{Tags: &[]string{"t"}}); err != nil {
			t.Fatal(err)
		}
		report := imports(t, m, file)
		wantReport(t, report, 0, 1, 1)
		want := id.String() + ": its id is held by " + id.String()
		if len(report.Skipped) != 1 || !strings.HasPrefix(report.Skipped[0], want) {
			t.Errorf("skipped %q", report.Skipped)
		}
		if got := locitest.Fact(t, m, id).Content; got != "three" {
			t.Errorf("content %q", got)
		}
	})
}

// Many conflicts are counted, and only a few are named.
func TestManyImportConflicts(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		from, m := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u"),
			locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for i := range 250 {
			locitest.PutItem(t, from, loci.Namespace{"u"}, fmt.Sprint(i), `{"a":1}`, nil)
			locitest.PutItem(t, m, loci.Namespace{"u"}, fmt.Sprint(i), `{"a":2}`, nil)
		}
		report := imports(t, m, locitest.Exported(t, from))
		wantReport(t, report, 0, 0, 250)
		if len(report.Skipped) != 20 {
			t.Errorf("%d are named", len(report.Skipped))
		}
	})
}

// An expired memory is in nobody's way, although the store may still keep it.
func TestImportOverExpired(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		from := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{Now: c.Now}), "u")
		locitest.PutItem(t, from, loci.Namespace{"u"}, "k", `{"a":1}`, nil)
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		locitest.PutItem(t, m, loci.Namespace{"u"}, "k", `{"a":2}`, &item.PutOptions{TTL: time.Minute})
		c.Advance(time.Hour)
		wantReport(t, imports(t, m, locitest.Exported(t, from)), 1, 0, 0)
		if it, err := item.Of(m).Get(t.Context(), loci.Namespace{"u"}, "k", false); err != nil || string(it.Value) != `{"a":1}` {
			t.Errorf("%s, %v", it.Value, err)
		}
		wantReport(t, imports(t, m, locitest.Exported(t, from)), 0, 1, 0)
	})
}

func TestImportRedactsKeys(t *testing.T) {
	const secret = "AKIA" + "IOSFODNN7EXAMPLE"
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		in := loci.NewFact{Content: "x", Subject: "key " + secret, Predicate: "is " + secret, Scope: "of " + secret}
		from := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{
			Content: loci.ContentOptions{KeepSecrets: true},
		}), "u")
		locitest.StoreFact(t, from, in)
		file := locitest.Exported(t, from)
		if !strings.Contains(file, secret) {
			t.Fatal("there is nothing to redact")
		}
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		imports(t, m, file)
		if got := locitest.Exported(t, m); strings.Contains(got, secret) {
			t.Errorf("a credential came in: %s", got)
		}
		in.Content = "y" // meets the imported fact under the redacted key
		if stored := locitest.StoreFact(t, m, in); stored.Outcome != loci.SupersededOld {
			t.Errorf("outcome %s", stored.Outcome)
		}
	})
}

// What a rule and an episode say beside their text is redacted when they come in, too.
func TestImportRedactsBodies(t *testing.T) {
	const secret = "AKIA" + "IOSFODNN7EXAMPLE"
	record := func(kind, rest string) string {
		return `{"type":"record","id":"` + loci.NewID().String() + `","kind":"` + kind + `","version":1,"live":true,` +
			`"created_at":"2026-01-01T00:00:00Z","text":"x",` + rest + "}\n"
	}
	file := `{"type":"header","format":"loci.export","version":1}` + "\n" +
		record("rule", `"body":{"scope":"of `+secret+`","original_content":"never `+secret+`","harmful_reasons":["because `+secret+`"],`+
			`"maturity":"proven","confidence":0.5,"permanence":"standard"}`) +
		record("episode", `"expires_at":"2030-01-01T00:00:00Z","body":{"butler":"b `+secret+`","session_id":"s `+secret+`",`+
			`"importance":5,"consolidation_status":"pending"}`) +
		`{"type":"end","records":2}`
	clock := locitest.NewClock()
	m := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{Now: clock.Now}), "u")
	wantReport(t, imports(t, m, file), 2, 0, 0)
	got := locitest.Exported(t, m)
	if strings.Contains(got, secret) {
		t.Errorf("a credential came in: %s", got)
	}
	for _, kept := range []string{`of [`, `never [`, `because [`, `b [`, `s [`} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is not what is left of the texts: %s", kept, got)
		}
	}
}

// The first and the last year that can be written come in; those beside them do not.
func TestImportedYears(t *testing.T) {
	for year, ok := range map[string]bool{"0000": false, "0001": true, "9999": true} {
		m := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u")
		_, err := m.Import(t.Context(), strings.NewReader(`{"type":"header","format":"loci.export","version":1}
{"type":"record","id":"01970c3e-0b5e-7c3a-9d54-2b8f4c1e6a77","kind":"fact","version":1,"live":true,"created_at":"`+year+`-06-01T00:00:00Z",`+
			`"text":"x","body":{"validity":"active"}}
{"type":"end","records":1}`), nil)
		if (err == nil) != ok {
			t.Errorf("year %s: %v", year, err)
		}
	}
}

// Whatever may be stored can be exported and read again, however long it and its
// history are: JSON writes six bytes for one of these.
func TestLongRecordsAreMoved(t *testing.T) {
	size := locitest.Unraced(17<<20/6, 1<<20/6)
	o := loci.Options{
		Content: loci.ContentOptions{MaxBytes: size, KeepSecrets: true}, Passages: loci.PassageOptions{Size: 8192},
	}
	long := "x" + strings.Repeat("\x01", size-1)
	from := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), o), "u")
	id := locitest.Save(t, from, long)
	if _, err := from.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("short")}); err != nil {
		t.Fatal(err)
	}
	file := locitest.Exported(t, from)
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, o), "u")
		wantReport(t, imports(t, m, file), 1, 0, 0)
		if locitest.Exported(t, m) != file {
			t.Error("comes back otherwise")
		}
		revisions, err := m.Revisions(t.Context(), id)
		if err != nil || len(revisions) != 1 || revisions[0].Text != long {
			t.Errorf("%d revisions, %v", len(revisions), err)
		}
	})
}

// A record line may hold its revisions itself.
func TestImportOfInlineRevisions(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		from := locitest.Bind(t, locitest.NewEngine(t, memory.Open(), loci.Options{}), "u")
		id := locitest.Save(t, from, "one")
		if _, err := from.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("two")}); err != nil {
			t.Fatal(err)
		}
		all := strings.Split(locitest.Exported(t, from), "\n")
		var v loci.Revision
		if err := json.Unmarshal([]byte(all[2]), &v); err != nil {
			t.Fatal(err)
		}
		inline := strings.TrimSuffix(all[1], "}") + `,"revisions":[` + string(must(json.Marshal(v))) + "]}"
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		imports(t, m, all[0]+"\n"+inline+"\n"+`{"type":"end","records":1}`)
		if got, want := locitest.Exported(t, m), strings.Join(all, "\n"); got != want {
			t.Errorf("comes back as\n%s\nwent out as\n%s", got, want)
		}
	})
}

// An attempt that is under way where an export is made is none where it comes in.
func TestImportedEpisodesAreNobodys(t *testing.T) {
	c := locitest.NewClock()
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(c))
	m := locitest.Bind(t, e, "u")
	locitest.Episode(t, m, "home", "something")
	file := ""
	answer := completerFunc(func(context.Context, loci.Prompt) (loci.Completion, error) {
		file = locitest.Exported(t, m)
		if here := locitest.Consolidate(t, e, loci.ConsolidateOptions{}); here.Waiting != 1 {
			t.Errorf("in the middle of an attempt: %+v", here)
		}
		return loci.Completion{Text: "{}"}, nil
	})
	locitest.Consolidate(t, e, loci.ConsolidateOptions{Completer: answer})
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, locitest.Quiet(c))
		wantReport(t, imports(t, locitest.Bind(t, e, "u"), file), 1, 0, 0)
		if there := locitest.Consolidate(t, e, loci.ConsolidateOptions{}); there.Waiting != 0 || there.Episodes != 1 {
			t.Errorf("where it came in: %+v", there)
		}
	})
}
