package loci_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
)

// What is there stays, and what it displaces is named.
func TestImportConflicts(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		source := newEngine(t, memory.Open(), loci.Options{})
		from := bind(t, source, "u")
		city := store(t, from, loci.NewFact{Content: "Rome", Subject: "ann", Predicate: "lives_in"})
		same := store(t, from, loci.NewFact{Content: "Tea", Subject: "ann", Predicate: "drinks"})
		note := save(t, from, "A note")
		put(t, from, loci.Namespace{"u"}, "k", `{"a":1}`, nil)
		put(t, from, loci.Namespace{"u"}, "l", `{"a":1}`, nil)
		file := exported(t, from)

		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		there := store(t, m, loci.NewFact{Content: "Oslo", Subject: "ann", Predicate: "lives_in"})
		tea := store(t, m, loci.NewFact{Content: "tea", Subject: "ann", Predicate: "drinks", Tags: []string{"hot"}})
		save(t, m, "a  note")
		put(t, m, loci.Namespace{"u"}, "k", `{"a":2}`, nil)
		put(t, m, loci.Namespace{"u"}, "l", `{"a":1}`, &loci.PutOptions{Index: []string{}})
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
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		id, kept := save(t, m, "one"), save(t, m, "two")
		file := exported(t, m)
		if _, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("three")}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.ReviseFact(t.Context(), kept, loci.FactRevision{Tags: &[]string{"t"}}); err != nil {
			t.Fatal(err)
		}
		report := imports(t, m, file)
		wantReport(t, report, 0, 1, 1)
		if want := id.String() + ": its id is held by " + id.String(); len(report.Skipped) != 1 || !strings.HasPrefix(report.Skipped[0], want) {
			t.Errorf("skipped %q", report.Skipped)
		}
		if got := fact(t, m, id).Content; got != "three" {
			t.Errorf("content %q", got)
		}
	})
}

// Many conflicts are counted, few are named.
func TestManyImportConflicts(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		from, m := bind(t, newEngine(t, memory.Open(), loci.Options{}), "u"), bind(t, newEngine(t, s, loci.Options{}), "u")
		for i := range 250 {
			put(t, from, loci.Namespace{"u"}, fmt.Sprint(i), `{"a":1}`, nil)
			put(t, m, loci.Namespace{"u"}, fmt.Sprint(i), `{"a":2}`, nil)
		}
		report := imports(t, m, exported(t, from))
		wantReport(t, report, 0, 0, 250)
		if len(report.Skipped) != 20 {
			t.Errorf("%d are named", len(report.Skipped))
		}
	})
}

// What has expired is in nobody's way, although the store may still keep it.
func TestImportOverExpired(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		c := newClock()
		from := bind(t, newEngine(t, memory.Open(), loci.Options{Now: c.now}), "u")
		put(t, from, loci.Namespace{"u"}, "k", `{"a":1}`, nil)
		m := bind(t, newEngine(t, s, loci.Options{Now: c.now}), "u")
		put(t, m, loci.Namespace{"u"}, "k", `{"a":2}`, &loci.PutOptions{TTL: time.Minute})
		c.advance(time.Hour)
		wantReport(t, imports(t, m, exported(t, from)), 1, 0, 0)
		if it, err := m.Items().Get(t.Context(), loci.Namespace{"u"}, "k", false); err != nil || string(it.Value) != `{"a":1}` {
			t.Errorf("%s, %v", it.Value, err)
		}
		wantReport(t, imports(t, m, exported(t, from)), 0, 1, 0)
	})
}

func TestImportRedactsKeys(t *testing.T) {
	const secret = "AKIA" + "IOSFODNN7EXAMPLE"
	eachStore(t, func(t *testing.T, s loci.Store) {
		in := loci.NewFact{Content: "x", Subject: "key " + secret, Predicate: "is " + secret, Scope: "of " + secret}
		from := bind(t, newEngine(t, memory.Open(), loci.Options{KeepSecrets: true}), "u")
		store(t, from, in)
		file := exported(t, from)
		if !strings.Contains(file, secret) {
			t.Fatal("there is nothing to redact")
		}
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		imports(t, m, file)
		if got := exported(t, m); strings.Contains(got, secret) {
			t.Errorf("a credential came in: %s", got)
		}
		in.Content = "y" // meets the imported fact under the redacted key
		if stored := store(t, m, in); stored.Outcome != loci.SupersededOld {
			t.Errorf("outcome %s", stored.Outcome)
		}
	})
}

// Whatever may be stored can be exported and read again, however long it and its
// history are: JSON writes six bytes for one of these.
func TestLongRecordsAreMoved(t *testing.T) {
	size := unraced(17<<20/6, 1<<20/6)
	o := loci.Options{MaxContent: size, ChunkSize: 8192, KeepSecrets: true}
	long := "x" + strings.Repeat("\x01", size-1)
	from := bind(t, newEngine(t, memory.Open(), o), "u")
	id := save(t, from, long)
	if _, err := from.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("short")}); err != nil {
		t.Fatal(err)
	}
	file := exported(t, from)
	eachStore(t, func(t *testing.T, s loci.Store) {
		m := bind(t, newEngine(t, s, o), "u")
		wantReport(t, imports(t, m, file), 1, 0, 0)
		if exported(t, m) != file {
			t.Error("comes back otherwise")
		}
		revisions, err := m.Revisions(t.Context(), id)
		if err != nil || len(revisions) != 1 || revisions[0].Text != long {
			t.Errorf("%d revisions, %v", len(revisions), err)
		}
	})
}

// What would come out in too long a line is not let in: JSON writes twice as many
// bytes for one of these.
func TestImportOfTooMuch(t *testing.T) {
	m := bind(t, newEngine(t, openMemory(), loci.Options{KeepSecrets: true}), "u") // it never comes to a store
	put(t, m, loci.Namespace{"u"}, "k", `{"a":"b"}`, &loci.PutOptions{Index: []string{}})
	long := strings.Replace(exported(t, m), `"a":"b"`, `"a":"`+strings.Repeat("\u2028", 10<<20/3)+`"`, 1)
	_, err := m.Import(t.Context(), strings.NewReader(long), nil)
	wantCode(t, err, loci.TooLarge)
	if err == nil || !strings.Contains(err.Error(), "too much for one memory") {
		t.Errorf("error %v", err)
	}
}

// A record line may hold its revisions itself.
func TestImportOfInlineRevisions(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		from := bind(t, newEngine(t, memory.Open(), loci.Options{}), "u")
		id := save(t, from, "one")
		if _, err := from.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("two")}); err != nil {
			t.Fatal(err)
		}
		all := strings.Split(exported(t, from), "\n")
		var v loci.Revision
		if err := json.Unmarshal([]byte(all[2]), &v); err != nil {
			t.Fatal(err)
		}
		inline := strings.TrimSuffix(all[1], "}") + `,"revisions":[` + string(must(json.Marshal(v))) + "]}"
		m := bind(t, newEngine(t, s, loci.Options{}), "u")
		imports(t, m, all[0]+"\n"+inline+"\n"+`{"type":"end","records":1}`)
		if got, want := exported(t, m), strings.Join(all, "\n"); got != want {
			t.Errorf("comes back as\n%s\nwent out as\n%s", got, want)
		}
	})
}
