package tool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/item"
)

// TestTextQuerySearch: the reply to the letter, scores within their range, pages that join, and
// limits that say what is allowed.
func TestTextQuerySearch(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.FixedZone("", 3600))
	set := setOver(t, newEngine(t, loci.Options{Now: func() time.Time { return at }}),
		Config{Entries: []Instance{factsFamily}})
	u := user(t, "u-1")
	id := create(t, set, u, `{"content":"A preference for dark mode <at night>","metadata":{"category":"preference"}}`)
	create(t, set, u, `{"content":"Has two cats"}`)
	create(t, set, u, `{"content":"Works in Oslo"}`)

	reply := ok(t, set, "search_memory", u, `{"query":"preference for dark mode","limit":1}`)
	score := *search(t, set, u, `{"query":"preference for dark mode","limit":1}`)[0].Score
	want := `[{"namespace":["user","u-1"],"key":"` + id + `","value":{"category":"preference","content":"A preference for dark mode <at night>"},` +
		`"created_at":"2026-03-04T04:06:07.890Z","updated_at":"2026-03-04T04:06:07.890Z","score":` + fmt.Sprint(score) + `}]`
	if !(score > 0.5 && score < 1) {
		t.Errorf("the score of all words is %v", score)
	}
	if reply.Text != want || reply.Structured != nil {
		t.Fatalf("text:\n got %s\nwant %s\nstructured %s", reply.Text, want, reply.Structured)
	}
	for _, r := range search(t, set, u, `{"query":"cats in Oslo"}`) {
		if r.Score == nil || *r.Score < 0 || *r.Score > 1 {
			t.Errorf("score of %s: %v", r.Value, r.Score)
		}
	}
	for _, r := range search(t, set, u, `{"query":" "}`) {
		if r.Score != nil {
			t.Errorf("a list without a query has the score %v", *r.Score)
		}
	}
	first := contents(t, search(t, set, u, `{"query":"","limit":2}`))
	rest := contents(t, search(t, set, u, `{"query":"","limit":2,"offset":2}`))
	got := slices.Concat(first, rest)
	if len(first) != 2 || len(slices.Compact(slices.Sorted(slices.Values(got)))) != 3 {
		t.Errorf("pages %q and %q", first, rest)
	}
	if empty := ok(t, set, "search_memory", user(t, "nobody"), `{"query":"dark"}`); empty.Text != "[]" {
		t.Errorf("nothing found: %q", empty.Text)
	}
	for args, message := range map[string]string{
		`{"query":"x","limit":0}`:      "limit is 0; it must be 1 to 100",
		`{"query":"x","limit":101}`:    "limit is 101; it must be 1 to 100",
		`{"query":"x","offset":-1}`:    "offset is -1; it must be 0 to 10000",
		`{"query":"x","offset":10001}`: "offset is 10001; it must be 0 to 10000",
		`{"limit":5}`:                  "argument query is missing: pass a string",
	} {
		refused(t, set, "search_memory", u, args, loci.Invalid, message)
	}
	refused(t, set, "search_memory", u, object("query", strings.Repeat("x", loci.MaxQueryBytes+1)), loci.TooLarge,
		"query has 16385 characters; the limit is 16384: shorten it")
}

// put stores an item below the caller's place.
func put(t *testing.T, engine *loci.Engine, c Caller, place loci.Namespace, key, value string) {
	t.Helper()
	m, err := engine.Memory(loci.View{Tenant: c.Principal.Tenant(), Namespace: place, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if err := item.Of(m).Put(t.Context(), place, key, []byte(value), nil); err != nil {
		t.Fatal(err)
	}
}

func TestSearchFindsItems(t *testing.T) {
	engine := newEngine(t, loci.Options{})
	set, u := setOver(t, engine, Config{Entries: []Instance{{
		Family:         FamilyFacts,
		ResponseFormat: FormatContentAndArtifact,
	}}}), user(t, "u-1")
	place := loci.Namespace{"user", "u-1", "trips"}
	put(t, engine, u, place, "rome-2024", `{"title":"Rome in spring"}`)
	got := search(t, set, u, `{"query":"Rome"}`)
	if len(got) != 1 || got[0].Key != "rome-2024" || !got[0].Namespace.Equal(place) || string(got[0].Value) != `{"title":"Rome in spring"}` {
		t.Fatalf("found %+v", got)
	}
	var structured struct{ Memories []item.Item }
	decode(t, ok(t, set, "search_memory", u, `{"query":"Rome"}`).Structured, &structured)
	if len(structured.Memories) != 1 || structured.Memories[0].Key != "rome-2024" {
		t.Fatalf("structured %+v", structured)
	}
}

// TestAnItemWithoutTextIsListed: an item of which nothing is searched has no passage; one that is
// longer than a reply is listed all the same, by its key.
func TestAnItemWithoutTextIsListed(t *testing.T) {
	engine, u := newEngine(t, loci.Options{}), user(t, "u-1")
	place := loci.Namespace{"user", "u-1"}
	m, err := engine.Memory(loci.View{Tenant: u.Principal.Tenant(), Namespace: place, Actor: "test"})
	if err != nil {
		t.Fatal(err)
	}
	value := object("log", strings.Repeat("x", 2000))
	if err := item.Of(m).Put(t.Context(), place, "k", []byte(value), &item.PutOptions{Index: []string{}}); err != nil {
		t.Fatal(err)
	}
	set := setOver(t, engine, Config{ReplyCap: 1024, Entries: []Instance{factsFamily}})
	got := search(t, set, u, `{"query":""}`)
	if len(got) != 1 || got[0].Key != "k" || !got[0].Excerpt || string(got[0].Value) != `{"content":""}` {
		t.Errorf("listed %+v", got)
	}
}

func TestFilteredSearch(t *testing.T) {
	set, u := newSet(t, factsFamily), user(t, "u-1")
	create(t, set, u, `{"content":"Likes dark mode","metadata":{"category":"preference","year":2024}}`)
	create(t, set, u, `{"content":"Asked about dark matter","metadata":{"category":"history","year":9007199254740993}}`)
	for filter, want := range map[string][]string{
		`{"category":"preference"}`:              {"Likes dark mode"},
		`{"category":{"$ne":"preference"}}`:      {"Asked about dark matter"},
		`{"year":{"$lt":2025}}`:                  {"Likes dark mode"},
		`{"year":9007199254740993}`:              {"Asked about dark matter"},
		`{"year":9007199254740992}`:              nil,
		`{"category":"preference","year":1}`:     nil,
		`{"category') OR ('1'='1":"preference"}`: nil,
	} {
		same(t, filter, contents(t, search(t, set, u, `{"query":"dark","filter":`+filter+`}`)), want)
	}
	if all := search(t, set, u, `{"query":"dark","filter":{}}`); len(all) != 2 {
		t.Errorf("an empty filter finds %d", len(all))
	}
	refused(t, set, "search_memory", u, `{"query":"x","filter":{"year":{"$near":1}}}`, loci.Invalid,
		"Unsupported operator: $near. Must be one of $eq, $ne, $gt, $gte, $lt, $lte")
	refused(t, set, "manage_memory", u, `{"content":"x","metadata":{"content":"y"}}`, loci.Invalid,
		"metadata.content is reserved for the text itself: use another key")
}

func TestResponseFormat(t *testing.T) {
	engine, u := newEngine(t, loci.Options{}), user(t, "u-1")
	plain := setOver(t, engine, Config{Entries: []Instance{{Family: FamilyFacts}}})
	full := setOver(t, engine, Config{Entries: []Instance{{Tool: "search_memory", ResponseFormat: FormatContentAndArtifact}}})
	id := create(t, plain, u, `{"content":"Likes dark mode","metadata":{"category":"preference"}}`)
	create(t, plain, u, `{"content":{"likes":"dark tea"}}`)

	a, b := ok(t, plain, "search_memory", u, `{"query":"dark mode"}`), ok(t, full, "search_memory", u, `{"query":"dark mode"}`)
	if tool, _ := plain.Lookup("search_memory"); a.Structured != nil || tool.OutputSchema != nil {
		t.Errorf("content alone has the structured form %s, schema %s", a.Structured, tool.OutputSchema)
	}
	if a.Text != b.Text {
		t.Errorf("texts differ:\n%s\n%s", a.Text, b.Text)
	}
	var structured struct{ Memories []loci.Fact }
	decode(t, b.Structured, &structured)
	if len(structured.Memories) != 2 {
		t.Fatalf("structured %s", b.Structured)
	}
	f := structured.Memories[0]
	if f.ID.String() != id || f.Content != "Likes dark mode" || f.Metadata["category"] != "preference" || f.Validity != loci.Active || f.Version != 1 {
		t.Errorf("raw fact %+v", f)
	}
	if f.Source != (loci.Source{Kind: "agent", Tool: "manage_memory"}) {
		t.Errorf("source %+v", f.Source)
	}
}
