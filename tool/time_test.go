package tool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/session"
)

// Every tool that searches takes since and until: since included, until excluded, a date or
// a time.
func TestSinceAndUntil(t *testing.T) {
	clock := locitest.NewClock()
	engine, place := newEngine(t, loci.Options{Now: clock.Now}), []string{"user", "u-1"}
	saving := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyNotes, Namespace: place}}})
	files := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyFiles,
		Commands: []string{commandRead, commandAppend, commandSearch}, Namespace: place}}})
	talks := session.Of(locitest.BindView(t, engine, loci.View{
		Tenant:    locitest.Tenant(t, "t1"),
		Namespace: place,
		Actor:     "u-1",
	}))
	for day, text := range []string{"a zebra crossing", "one zebra among many"} {
		clock.Set(time.Date(2026, 3, 10*(day+1), 12, 0, 0, 0, time.UTC))
		save(t, saving, general(t), text)
		ok(t, files, "memory", general(t), object("command", "append", "path", fmt.Sprintf("/%d", day), "content", text))
		if _, err := talks.Append(t.Context(), "talk", []session.Message{locitest.Spoken("human", text)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ family, tool, args string }{
		{FamilyFacts, "search_memory", `{"query":"zebra"%s}`},
		{FamilyNotes, "memory_search", `{"query":"zebra"%s}`},
		{FamilyMemory, "memory_search", `{"query":"zebra"%s}`},
		{FamilyMemory, "memory_recall", `{"topic":"zebra"%s}`},
		{FamilySessions, "memory_search_sessions", `{"query":"zebra"%s}`},
		{FamilyFiles, "memory", `{"command":"search","path":"/","query":"zebra"%s}`},
	} {
		set := files
		if x.family != FamilyFiles {
			set = setOver(t, engine, Config{Entries: []Instance{{Family: x.family, Namespace: place}}})
		}
		for more, want := range map[string]string{
			"": "crossing among", `,"since":"2026-03-11"`: "among", `,"until":"2026-03-11"`: "crossing",
			`,"since":"2026-03-10T12:00:00Z","until":"2026-03-20T13:00:00+01:00"`: "crossing",
			`,"since":"2026-03-20T12:00"`:                                         "among",
		} {
			reply := ok(t, set, x.tool, general(t), fmt.Sprintf(x.args, more)).Text
			for _, word := range []string{"crossing", "among"} {
				if strings.Contains(reply, word) != strings.Contains(want, word) {
					t.Errorf("%s of %s with %q: %s, want %q", x.tool, x.family, more, reply, want)
				}
			}
		}
		if x.family == FamilyFiles {
			continue // its errors are envelopes
		}
		refused(t, set, x.tool, general(t), fmt.Sprintf(x.args, `,"since":"last week"`), loci.Invalid,
			`since is "last week"; write a date such as 2026-01-31, or a time such as 2026-01-31T08:00:00Z`)
	}
}

// Structured replies say how a query was understood: words that no memory has, and times. They
// say nothing of it if the query was taken as it stands.
func TestRepliesSayWhatWasUnderstood(t *testing.T) {
	clock := locitest.NewClock()
	clock.Set(time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC))
	engine, place := newEngine(t, loci.Options{Now: clock.Now}), []string{"user", "u-1"}
	saving := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyNotes, Namespace: place}}})
	save(t, saving, general(t), "an allergy to walnuts")
	locitest.AppendTo(t, locitest.BindView(t, engine, loci.View{
		Tenant:    locitest.Tenant(t, "t1"),
		Namespace: place,
		Actor:     "u-1",
	}), "talk",
		locitest.Spoken("human", "an allergy to walnuts"))
	for _, x := range []struct {
		entry      Instance
		tool, name string
	}{
		{Instance{Family: FamilyFacts, ResponseFormat: FormatContentAndArtifact}, "search_memory", "query"},
		{Instance{Family: FamilyNotes}, "memory_search", "query"},
		{Instance{Family: FamilyMemory}, "memory_search", "query"},
		{Instance{Family: FamilyMemory}, "memory_recall", "topic"},
		{Instance{Family: FamilySessions}, "memory_search_sessions", "query"},
	} {
		x.entry.Namespace = place
		set := setOver(t, engine, Config{Entries: []Instance{x.entry}})
		var got struct {
			Corrections []loci.Correction
			Times       []loci.NamedTime
		}
		decode(t, ok(t, set, x.tool, general(t), object(x.name, "which alergy yesterday")).Structured, &got)
		if len(got.Corrections) != 1 || got.Corrections[0].Word != "alergy" || got.Corrections[0].SearchedFor[0] != "allergy" ||
			len(got.Times) != 1 || got.Times[0].Text != "yesterday" ||
			!got.Times[0].Since.Equal(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s of %s: understood %+v", x.tool, x.entry.Family, got)
		}
		if plain := ok(t, set, x.tool, general(t), object(x.name, "allergy")); strings.Contains(string(plain.Structured), "corrections") ||
			strings.Contains(string(plain.Structured), `"times"`) {
			t.Errorf("%s of %s: %s", x.tool, x.entry.Family, plain.Structured)
		}
	}
}
