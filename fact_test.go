package loci_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

// token looks like a credential without this file holding one.
var token = "AKIA" + "QYLPMN5HFIQR7XYA"

// TestDuplicatesAreConfirmed: a note said again confirms the first one and adds its tags;
// different metadata, or another namespace, make another note.
func TestDuplicatesAreConfirmed(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "user", "u")
		first := locitest.StoreFact(t, m, loci.NewFact{Content: "Likes  Tea", Tags: []string{"Food", " food "}})
		if first.Outcome != loci.Created {
			t.Fatalf("first: %+v", first)
		}
		before := locitest.Fact(t, m, first.ID)
		c.Advance(time.Hour)
		again := locitest.StoreFact(t, m, loci.NewFact{Content: "likes tea\n", Tags: []string{"drink", "food"}})
		if again.Outcome != loci.DuplicateOf || again.ID != first.ID {
			t.Fatalf("again: %+v", again)
		}
		after := locitest.Fact(t, m, first.ID)
		if after.Content != "Likes  Tea" || !slices.Equal(after.Tags, []string{"food", "drink"}) || after.Version != 2 {
			t.Errorf("confirmed: %+v", after)
		}
		if !after.ConfirmedAt.Equal(before.ConfirmedAt.Add(time.Hour)) || !after.CreatedAt.Equal(before.CreatedAt) {
			t.Errorf("times: %+v", after)
		}
		for name, other := range map[string]loci.NewFact{
			"other metadata":  {Content: "likes tea", Metadata: map[string]any{"k": 1}},
			"other words":     {Content: "likes teas"},
			"a keyed fact":    {Content: "likes tea", Subject: "u", Predicate: "likes"},
			"an object of it": {Value: json.RawMessage(`{"x":"likes tea"}`)},
		} {
			if got := locitest.StoreFact(t, m, other); got.Outcome != loci.Created {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got := locitest.StoreFact(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "user", "v"),
			loci.NewFact{Content: "likes tea"}); got.Outcome != loci.Created {
			t.Errorf("another namespace: %+v", got)
		}
		kept := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{
			Now: c.Now, Content: loci.ContentOptions{KeepDuplicates: true},
		}), "user", "k")
		if a, b := locitest.Save(t, kept, "same"), locitest.Save(t, kept, "same"); a == b {
			t.Error("KeepDuplicates does not keep")
		}
	})
}

func TestConfirmStopsAtTheTagLimit(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		var tags []string
		for i := range loci.MaxTags {
			tags = append(tags, strings.Repeat("t", i+1))
		}
		id := locitest.StoreFact(t, m, loci.NewFact{Content: "x", Tags: tags}).ID
		locitest.StoreFact(t, m, loci.NewFact{Content: "x", Tags: []string{"one more"}})
		if got := locitest.Fact(t, m, id).Tags; !slices.Equal(got, tags) {
			t.Errorf("tags: %v", got)
		}
	})
}

// TestKeyedFactsSupersede: one fact of a key holds at a time. The old one stays as history, is
// linked, and both have an event.
func TestKeyedFactsSupersede(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		old := locitest.StoreFact(t, m, loci.NewFact{Content: "Berlin", Subject: "Ann", Predicate: "lives in"})
		c.Advance(time.Minute)
		other := locitest.StoreFact(t, m, loci.NewFact{Content: "Rome", Subject: "Ann", Predicate: "lives in", Scope: "dreams"})
		next := locitest.StoreFact(t, m, loci.NewFact{Content: "Berlin", Subject: "Ann", Predicate: "lives in"})
		if next.Outcome != loci.SupersededOld || next.Superseded != old.ID || other.Outcome != loci.Created {
			t.Fatalf("next %+v, other scope %+v", next, other)
		}
		was, is := locitest.Fact(t, m, old.ID), locitest.Fact(t, m, next.ID)
		if was.Validity != loci.Superseded || was.SupersededBy != next.ID ||
			!was.ValidUntil.Equal(is.ValidFrom) || was.Content != "Berlin" {
			t.Errorf("old: %+v", was)
		}
		if is.Validity != loci.Active || is.Supersedes != old.ID ||
			!is.ValidUntil.IsZero() || is.Scope != loci.GlobalScope {
			t.Errorf("new: %+v", is)
		}
		links, err := m.Links(t.Context(), old.ID)
		if err != nil || len(links) != 1 || links[0].From != next.ID ||
			links[0].To != old.ID || links[0].Type != loci.LinkSupersedes {
			t.Errorf("links: %v, %v", links, err)
		}
		events, _, err := m.Events(t.Context(), loci.EventFilter{}, loci.Page{})
		var types []loci.EventType
		for _, e := range events {
			types = append(types, e.Type)
		}
		if want := []loci.EventType{"created", "superseded", "created", "created"}; err != nil || !slices.Equal(types, want) {
			t.Errorf("events: %v, %v", types, err)
		}
		live, _, err := m.Facts(t.Context(), loci.FactQuery{}, loci.Page{})
		if err != nil || len(live) != 2 {
			t.Errorf("live: %v, %v", live, err)
		}
		_, err = m.ReviseFact(t.Context(), old.ID, loci.FactRevision{Tags: &[]string{"x"}})
		locitest.WantCode(t, err, loci.NotFound) // no longer live
		// Parts of a key are not joined: another split is another key.
		a := locitest.StoreFact(t, m, loci.NewFact{Content: "1", Subject: "a b", Predicate: "c"})
		b := locitest.StoreFact(t, m, loci.NewFact{Content: "2", Subject: "a", Predicate: "b c"})
		if a.Outcome != loci.Created || b.Outcome != loci.Created {
			t.Errorf("keys collide: %+v, %+v", a, b)
		}
	})
}

// TestRevise: a revision changes what it names and nothing else, keeps the earlier states, and
// is refused whole.
func TestRevise(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{
			Now: c.Now, Retention: loci.RetentionOptions{Revisions: 2},
		}), "u")
		id := locitest.StoreFact(t, m, loci.NewFact{Content: "v1", Tags: []string{"a"}, Metadata: map[string]any{"n": 1}}).ID
		text, tags, meta := "v2", []string{"b"}, map[string]any{"big": json.Number("9007199254740993")}
		for i, in := range []loci.FactRevision{
			{Content: &text}, {Tags: &tags}, {Metadata: &meta}, {Value: json.RawMessage(`{"html":"<b> & co","line":"one\ntwo"}`), IfVersion: 4},
		} {
			c.Advance(time.Second)
			before := locitest.Fact(t, m, id)
			got, err := m.ReviseFact(t.Context(), id, in)
			if err != nil {
				t.Fatal(err)
			}
			if stored := locitest.Fact(t, m, id); !reflect.DeepEqual(got, stored) {
				t.Errorf("step %d returns %+v, stored is %+v", i, got, stored)
			}
			if got.Version != int64(i)+2 || !got.UpdatedAt.Equal(before.UpdatedAt.Add(time.Second)) ||
				!got.CreatedAt.Equal(before.CreatedAt) {
				t.Errorf("step %d: %+v", i, got)
			}
		}
		got := locitest.Fact(t, m, id)
		if got.Content != `{"html":"<b> & co","line":"one\ntwo"}` || string(got.Value) != got.Content ||
			!slices.Equal(got.Tags, tags) || !reflect.DeepEqual(got.Metadata, meta) {
			t.Errorf("in the end: %+v", got)
		}
		revisions, err := m.Revisions(t.Context(), id)
		if err != nil || len(revisions) != 2 || revisions[0].Version != 4 ||
			revisions[1].Version != 3 || revisions[0].Text != "v2" ||
			!slices.Equal(revisions[1].Tags, tags) || !revisions[0].ReplacedAt.Equal(got.UpdatedAt) {
			t.Errorf("revisions: %+v, %v", revisions, err)
		}
		_, err = m.ReviseFact(t.Context(), id, loci.FactRevision{IfVersion: 5})
		locitest.WantCode(t, err, loci.Invalid) // nothing to change
		_, err = m.ReviseFact(t.Context(), id, loci.FactRevision{Content: &text, IfVersion: 4})
		locitest.WantCode(t, err, loci.Conflict)
		_, err = m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new(" \n")})
		locitest.WantCode(t, err, loci.Invalid)
		_, err = m.ReviseFact(t.Context(), id, loci.FactRevision{Content: &text, Value: json.RawMessage(`{"a":1}`)})
		locitest.WantCode(t, err, loci.Invalid)
		_, err = m.ReviseFact(t.Context(), loci.NewID(), loci.FactRevision{Content: &text})
		locitest.WantCode(t, err, loci.NotFound)
		if got := locitest.Fact(t, m, id); got.Version != 5 {
			t.Errorf("a refused revision changed something: %+v", got)
		}
	})
}

// A note corrected into the words of another keeps its id; the words have one
// holder, and both stay reachable.
func TestReviseIntoATwin(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		a, b := locitest.Save(t, m, "tea"), locitest.Save(t, m, "coffee")
		if _, err := m.ReviseFact(t.Context(), b, loci.FactRevision{Content: new("Tea")}); err != nil {
			t.Fatal(err)
		}
		if got := locitest.StoreFact(t, m, loci.NewFact{Content: "TEA"}); got.ID != a || got.Outcome != loci.DuplicateOf {
			t.Errorf("said again: %+v", got)
		}
		if got := locitest.StoreFact(t, m, loci.NewFact{Content: "coffee"}); got.Outcome != loci.Created {
			t.Errorf("the old words are still taken: %+v", got)
		}
	})
}

func TestStructuredContent(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		id := locitest.StoreFact(t, m, loci.NewFact{Value: json.RawMessage(`{"note":"R&D budget\nzebra\ttiger","b":[1,"lion"]}`), Metadata: map[string]any{"k": "v"}}).ID
		for _, word := range []string{"R&D", "budget", "zebra", "tiger", "lion"} {
			if r := locitest.Search(t, m, loci.Query{Text: word}); len(r.Matches) != 1 || r.Matches[0].Record.ID != id {
				t.Errorf("%q is not found", word)
			}
		}
		got := locitest.Fact(t, m, id)
		if want := `{"b":[1,"lion"],"note":"R&D budget\nzebra\ttiger"}`; string(got.Value) != want || got.Content != want || got.Metadata["k"] != "v" {
			t.Errorf("got %+v", got)
		}
		for _, bad := range []string{`[]`, `{}`, `1`, `"x"`, `null`, `{`, `{"a":1} {"b":2}`, `{"a":1}]`} {
			_, err := m.StoreFact(t.Context(), loci.NewFact{Value: json.RawMessage(bad)})
			locitest.WantCode(t, err, loci.Invalid)
		}
	})
}

// TestFactLimits: each part of a fact has a limit that the error names, and a refused fact
// leaves nothing stored.
func TestFactLimits(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenSQLite(t), loci.Options{
		Content: loci.ContentOptions{MaxBytes: 1000},
	}), "u")
	long := strings.Repeat("x", 70_000)
	tags := func(n int) (out []string) {
		for i := range n {
			out = append(out, strings.Repeat("t", i+1))
		}
		return out
	}
	for name, c := range map[string]struct {
		in   loci.NewFact
		code loci.Code
		text string
	}{
		"empty":           {loci.NewFact{}, loci.Invalid, "content must not be empty"},
		"blank":           {loci.NewFact{Content: " \n\t"}, loci.Invalid, "content must not be empty"},
		"long":            {loci.NewFact{Content: long[:1001]}, loci.TooLarge, "content has 1001 bytes; the limit is 1000: split it into several memories"},
		"long object":     {loci.NewFact{Value: json.RawMessage(`{"a":"` + long[:1000] + `"}`)}, loci.TooLarge, "content has 1008 bytes; the limit is 1000: split it into several memories"},
		"no UTF-8":        {loci.NewFact{Content: "a\xff"}, loci.Invalid, "content is not valid UTF-8"},
		"twice":           {loci.NewFact{Content: "a", Value: json.RawMessage(`{"a":1}`)}, loci.Invalid, "content is given twice, as text and as an object: give one"},
		"half a key":      {loci.NewFact{Content: "a", Subject: "s"}, loci.Invalid, "subject and predicate go together: set both or neither"},
		"invisible":       {loci.NewFact{Content: "\u200b\ufeff \u2800\u3164\ufe0f\U000e0041\u00ad\x07"}, loci.Invalid, "content must not be empty"},
		"blank subject":   {loci.NewFact{Content: "a", Subject: " \t", Predicate: "p"}, loci.Invalid, "subject must not be empty"},
		"blank predicate": {loci.NewFact{Content: "a", Subject: "s", Predicate: "\u00a0"}, loci.Invalid, "predicate must not be empty"},
		"blank scope":     {loci.NewFact{Content: "a", Subject: "s", Predicate: "p", Scope: " "}, loci.Invalid, "scope must not be empty"},
		"long subject":    {loci.NewFact{Content: "a", Subject: long[:257], Predicate: "p"}, loci.Invalid, "subject is 257 bytes long; the limit is 256: shorten it"},
		"bad scope":       {loci.NewFact{Content: "a", Subject: "s", Predicate: "p", Scope: "a\x00"}, loci.Invalid, "scope must not contain a NUL character"},
		"reserved":        {loci.NewFact{Content: "a", Metadata: map[string]any{"content": 1}}, loci.Invalid, "metadata.content is reserved for the text itself: use another key"},
		"big metadata":    {loci.NewFact{Content: "a", Metadata: map[string]any{"k": long}}, loci.TooLarge, "metadata has 70008 bytes; the limit is 65536: shorten it"},
		"big beside one":  {loci.NewFact{Value: json.RawMessage(`{"a":1}`), Metadata: map[string]any{"k": long}}, loci.TooLarge, "metadata has 70008 bytes; the limit is 65536: shorten it"},
		"no JSON":         {loci.NewFact{Content: "a", Metadata: map[string]any{"k": func() {}}}, loci.Invalid, "metadata is not JSON: it holds something that JSON has no form for, such as a function or an infinite number"},
		"long sequence":   {loci.NewFact{Content: "a", Sequence: long[:257]}, loci.Invalid, "sequence is 257 bytes long; the limit is 256: shorten it"},
		"bad sequence":    {loci.NewFact{Content: "a", Sequence: "a\x00"}, loci.Invalid, "sequence must not contain a NUL character"},
		"no sequence":     {loci.NewFact{Content: "a", Position: 3}, loci.Invalid, "position 3 needs a sequence: name it"},
		"bad position":    {loci.NewFact{Content: "a", Sequence: "s", Position: -1}, loci.Invalid, "position is -1; it must be at least 0: count the places of a sequence from 0 or 1"},
		"17 tags":         {loci.NewFact{Content: "a", Tags: tags(17)}, loci.Invalid, "tags has 17 entries; the limit is 16: leave some out"},
		"blank tag":       {loci.NewFact{Content: "a", Tags: []string{"x", " "}}, loci.Invalid, "tags[1] must not be empty"},
		"long tag":        {loci.NewFact{Content: "a", Tags: []string{strings.Repeat("é", 65)}}, loci.Invalid, "tags[0] has 65 characters; the limit is 64: shorten it"},
		"bad tag":         {loci.NewFact{Content: "a", Tags: []string{"a\xff"}}, loci.Invalid, "tags[0] is not valid text"},
	} {
		_, err := m.StoreFact(t.Context(), c.in)
		locitest.WantCode(t, err, c.code)
		if err == nil || err.Error() != c.text {
			t.Errorf("%s: error %v, want %s", name, err, c.text)
		}
	}
	if facts := locitest.AllFacts(t, m); len(facts) > 0 {
		t.Errorf("refused facts are stored: %v", facts)
	}
	locitest.StoreFact(t, m, loci.NewFact{Content: long[:1000], Tags: append(tags(16), "T", " tt ")})
}

// TestRedactionOnEveryWritePath: no way to write a fact stores a credential: one path that
// forgets it would keep it for good.
func TestRedactionOnEveryWritePath(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m := locitest.Bind(t, e, "u")
		id := locitest.StoreFact(t, m, loci.NewFact{
			Content:  "key " + token,
			Tags:     []string{token},
			Metadata: map[string]any{"a": []any{map[string]any{token: "x", "y": "is " + token}}},
		}).ID
		locitest.StoreFact(t, m, loci.NewFact{Content: "a fact " + token, Subject: token, Predicate: "p " + token, Scope: token})
		locitest.StoreFact(t, m, loci.NewFact{Value: json.RawMessage(`{"k ` + token + `":{"n":["` + token + `"]}}`)})
		meta, tags := map[string]any{token: token}, []string{token}
		_, err := m.ReviseFact(t.Context(), id, loci.FactRevision{Content: new("now " + token), Metadata: &meta, Tags: &tags})
		if err != nil {
			t.Fatal(err)
		}
		locitest.PutItem(t, m, loci.Namespace{"u", "n"}, "k", `{"deep":[{"`+token+`":"`+token+`"}]}`, nil)
		if got := locitest.Fact(t, m, id).Content; got != "now [REDACTED]" {
			t.Errorf("content is %q", got)
		}
		if out := locitest.Exported(t, m); strings.Contains(strings.ToLower(out), strings.ToLower(token)) {
			t.Errorf("a credential is stored: %s", out)
		}
		kept := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{
			Content: loci.ContentOptions{KeepSecrets: true},
		}), "k")
		locitest.Save(t, kept, "key "+token)
		out := locitest.Exported(t, kept)
		if !strings.Contains(out, token) {
			t.Error("KeepSecrets does not keep")
		}
		into := locitest.Bind(t, e, "imported")
		if _, err := into.Import(t.Context(), strings.NewReader(out), nil); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(locitest.Exported(t, into), token) {
			t.Error("an import brings a credential in")
		}
		if got := locitest.StoreFact(t, into, loci.NewFact{Content: "key " + token}); got.Outcome != loci.DuplicateOf {
			t.Errorf("what was redacted on import is not met again: %+v", got)
		}
	})
}

func TestErase(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		e := locitest.NewEngine(t, s, loci.Options{})
		m, other := locitest.Bind(t, e, "u"), locitest.Bind(t, e, "v")
		old := locitest.StoreFact(t, m, loci.NewFact{Content: "one", Subject: "s", Predicate: "p"})
		next := locitest.StoreFact(t, m, loci.NewFact{Content: "two", Subject: "s", Predicate: "p"})
		locitest.WantCode(t, other.Erase(t.Context(), old.ID), loci.NotFound)
		if err := m.EraseFact(t.Context(), old.ID); err != nil {
			t.Fatal(err)
		}
		_, err := m.Fact(t.Context(), old.ID)
		locitest.WantCode(t, err, loci.NotFound)
		_, err = m.Revisions(t.Context(), old.ID)
		locitest.WantCode(t, err, loci.NotFound)
		locitest.WantCode(t, m.Erase(t.Context(), old.ID), loci.NotFound)
		if links, err := m.Links(t.Context(), next.ID); err != nil || len(links) > 0 {
			t.Errorf("links: %v, %v", links, err)
		}
		locitest.PutItem(t, m, loci.Namespace{"u", "n"}, "k", `{"a":1}`, nil)
		items, err := item.Of(m).Search(t.Context(), item.Query{Prefix: loci.Namespace{"u", "n"}})
		if err != nil || len(items) != 1 {
			t.Fatalf("items: %v, %v", items, err)
		}
		filter := loci.EventFilter{Types: []loci.EventType{loci.EventErased}}
		events, _, err := m.Events(t.Context(), filter, loci.Page{})
		if err != nil || len(events) != 1 || events[0].Entity != old.ID ||
			strings.Contains(string(events[0].Payload), "one") {
			t.Errorf("events: %v, %v", events, err)
		}
	})
}

// A superseded note comes back as a new one, in the place of the last that followed it if
// that one still holds; what another note says by now does not come back.
func TestSupersededNotesComeBack(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		supersede := func(id loci.ID, text string) loci.ID {
			stored, err := m.Supersede(t.Context(), id, loci.NewFact{Content: text})
			if err != nil {
				t.Fatal(err)
			}
			return stored.ID
		}
		back := func(id loci.ID, text string, inPlaceOf loci.ID) {
			t.Helper()
			id, err := m.Restore(t.Context(), loci.KindFact, id)
			if err != nil {
				t.Fatal(err)
			}
			f := locitest.Fact(t, m, id)
			if f.Content != text || f.Supersedes != inPlaceOf || f.Validity != loci.Active {
				t.Errorf("%q comes back as %+v, want it in place of %s", text, f, inPlaceOf)
			}
		}
		tea := locitest.Save(t, m, "Likes tea.")
		water := supersede(supersede(tea, "Likes coffee."), "Likes water.")
		_, err := m.Restore(t.Context(), loci.KindFact, water)
		locitest.WantCode(t, err, loci.Conflict)
		back(tea, "Likes tea.", water)
		if f := locitest.Fact(t, m, water); f.Validity != loci.Superseded {
			t.Errorf("the last one is %s", f.Validity)
		}
		_, err = m.Restore(t.Context(), loci.KindFact, tea)
		locitest.WantCode(t, err, loci.Conflict)
		cat := locitest.Save(t, m, "Has a cat.")
		if _, err := m.Forget(t.Context(), loci.KindFact, supersede(cat, "Has a dog.")); err != nil {
			t.Fatal(err)
		}
		back(cat, "Has a cat.", loci.ID{})
	})
}

// Bytes that are no UTF-8 are refused in metadata as everywhere: in their place another text, or two
// names as one, would be stored.
func TestMetadataIsUTF8(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(locitest.NewClock())), "u")
	id := locitest.Save(t, m, "x")
	for _, metadata := range []map[string]any{
		{"a": "\xff"}, {"\xfe": 1, "\xff": 2}, {"a": []any{map[string]any{"b": "c\xc3"}}}, {"a": "\\\\\xff"},
	} {
		_, err := m.StoreFact(t.Context(), loci.NewFact{Content: "y", Metadata: metadata})
		locitest.WantCode(t, err, loci.Invalid)
		_, err = m.ReviseFact(t.Context(), id, loci.FactRevision{Metadata: &metadata})
		locitest.WantCode(t, err, loci.Invalid)
	}
	whole := map[string]any{"a": "\ufffd \\ufffd \\\\ufffd \" é", "\ufffd": "x"}
	stored := locitest.StoreFact(t, m, loci.NewFact{Content: "z", Metadata: whole})
	if f, err := m.Fact(t.Context(), stored.ID); err != nil || !reflect.DeepEqual(f.Metadata, whole) {
		t.Errorf("%+v %v; want %v", f.Metadata, err, whole)
	}
}
