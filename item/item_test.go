package item_test

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

func TestItems(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		it, n := item.Of(m), loci.Namespace{"u", "docs"}
		_, err := it.Get(t.Context(), n, "k", true)
		locitest.WantCode(t, err, loci.NotFound)
		locitest.PutItem(t, m, n, "k", `{"b":"<x>","a":9007199254740993}`, nil)
		made, err := it.Get(t.Context(), n, "k", true)
		if err != nil || string(made.Value) != `{"a":9007199254740993,"b":"<x>"}` || made.Key != "k" || !made.Namespace.Equal(n) || made.Score != nil {
			t.Fatalf("got %+v, %v", made, err)
		}
		c.Advance(time.Minute)
		locitest.PutItem(t, m, n, "k", `{"c":1}`, nil)
		over, err := it.Get(t.Context(), n, "k", true)
		if err != nil || string(over.Value) != `{"c":1}` || !over.CreatedAt.Equal(made.CreatedAt) ||
			!over.UpdatedAt.Equal(made.UpdatedAt.Add(time.Minute)) {
			t.Errorf("overwritten: %+v, %v", over, err)
		}
		locitest.PutItem(t, m, n, "K", `{}`, nil)
		locitest.PutItem(t, m, n.Child("x"), "k", `{}`, nil)
		for range 2 {
			if err := it.Delete(t.Context(), n, "k"); err != nil {
				t.Fatal(err)
			}
		}
		_, err = it.Get(t.Context(), n, "k", true)
		locitest.WantCode(t, err, loci.NotFound)
		for _, key := range []string{"a/b", "a:b", "%", "*", " ", "é", "e\u0301", "{x}", strings.Repeat("k", 1024)} {
			locitest.PutItem(t, m, n, key, `{"k":1}`, nil)
			if got, err := it.Get(t.Context(), n, key, false); err != nil || got.Key != key {
				t.Errorf("key %.20q: %+v, %v", key, got, err)
			}
		}
	})
}

// TestItemRules: each namespace, key, value and index path that is not allowed is refused with
// its reason.
func TestItemRules(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Content: loci.ContentOptions{MaxBytes: 1000}}), "u")
		all := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}))
		n := loci.Namespace{"u", "n"}
		many := make([]string, 65)
		for i := range many {
			many[i] = "$"
		}
		for name, c := range map[string]struct {
			m          *loci.Memory
			n          loci.Namespace
			key, value string
			opts       *item.PutOptions
			code       loci.Code
			text       string
		}{
			"no namespace":    {all, nil, "k", `{}`, nil, loci.Invalid, "namespace must not be empty"},
			"an empty label":  {m, loci.Namespace{"u", ""}, "k", `{}`, nil, loci.Invalid, "namespace label 2 must not be empty"},
			"a period":        {m, loci.Namespace{"u", "a.b"}, "k", `{}`, nil, loci.Invalid, `namespace label "a.b" must not contain a period`},
			"reserved":        {all, loci.Namespace{"langgraph"}, "k", `{}`, nil, loci.Invalid, `the first namespace label must not be "langgraph"`},
			"a NUL":           {m, loci.Namespace{"u", "a\x00"}, "k", `{}`, nil, loci.Invalid, "namespace label 2 must not contain a NUL character"},
			"outside":         {m, loci.Namespace{"v"}, "k", `{}`, nil, loci.Forbidden, "namespace v is outside of what this credential may use"},
			"above":           {m, loci.Namespace{"U"}, "k", `{}`, nil, loci.Forbidden, "namespace U is outside of what this credential may use"},
			"no key":          {m, n, "", `{}`, nil, loci.Invalid, "key must not be empty"},
			"a long key":      {m, n, strings.Repeat("k", 1025), `{}`, nil, loci.Invalid, "key has 1025 bytes; the limit is 1024: shorten it"},
			"a key with NUL":  {m, n, "a\x00", `{}`, nil, loci.Invalid, "key is not valid text"},
			"a list":          {m, n, "k", `[]`, nil, loci.Invalid, "value must be a JSON object"},
			"nothing":         {m, n, "k", ``, nil, loci.Invalid, "value must be a JSON object"},
			"null":            {m, n, "k", `null`, nil, loci.Invalid, "value must be a JSON object"},
			"two values":      {m, n, "k", `{"a":1}{"b":2}`, nil, loci.Invalid, "value must be a JSON object"},
			"a big value":     {m, n, "k", `{"a":"` + strings.Repeat("x", 1000) + `"}`, nil, loci.TooLarge, "value has 1008 bytes; the limit is 1000: store less in one item"},
			"a negative TTL":  {m, n, "k", `{}`, &item.PutOptions{TTL: -1}, loci.Invalid, "ttl must not be negative"},
			"too many paths":  {m, n, "k", `{}`, &item.PutOptions{Index: many}, loci.TooLarge, "index has 65 paths; the limit is 64: leave some out"},
			"the same often":  {m, n, "k", `{"a":"` + strings.Repeat("x", 400) + `"}`, &item.PutOptions{Index: []string{"a", "a", "a"}}, loci.TooLarge, "index picks more than 1000 bytes of the value: pick less"},
			"a bad path":      {m, n, "k", `{}`, &item.PutOptions{Index: []string{"a..b"}}, loci.Invalid, `index path "a..b": write names joined by periods, [0], [*], * or {a,b}`},
			"an open bracket": {m, n, "k", `{}`, &item.PutOptions{Index: []string{"a[0"}}, loci.Invalid, `index path "a[0": write names joined by periods, [0], [*], * or {a,b}`},
			"a word in them":  {m, n, "k", `{}`, &item.PutOptions{Index: []string{"a[x]"}}, loci.Invalid, `index path "a[x]": write names joined by periods, [0], [*], * or {a,b}`},
			"an empty path":   {m, n, "k", `{}`, &item.PutOptions{Index: []string{""}}, loci.Invalid, `index path "": write names joined by periods, [0], [*], * or {a,b}`},
		} {
			err := item.Of(c.m).Put(t.Context(), c.n, c.key, json.RawMessage(c.value), c.opts)
			locitest.WantCode(t, err, c.code)
			if err == nil || err.Error() != c.text {
				t.Errorf("%s: error %v, want %s", name, err, c.text)
			}
		}
		_, err := item.Of(m).Search(t.Context(), item.Query{Prefix: nil})
		locitest.WantCode(t, err, loci.Forbidden)
		_, err = item.Of(m).Search(t.Context(), item.Query{Prefix: loci.Namespace{"u", "a\x00b"}})
		locitest.WantCode(t, err, loci.Invalid)
	})
}

// TestItemTTL: an item expires on time, and only the reads that refresh move its expiry.
func TestItemTTL(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		it, n := item.Of(m), loci.Namespace{"u"}
		locitest.PutItem(t, m, n, "k", `{"word":"zebra"}`, &item.PutOptions{TTL: time.Minute / 3})
		there := func(refresh bool) bool {
			_, err := it.Get(t.Context(), n, "k", refresh)
			return err == nil
		}
		c.Advance(15 * time.Second)
		if !there(true) { // until 35 s
			t.Fatal("gone too early")
		}
		c.Advance(15 * time.Second)
		if !there(false) {
			t.Fatal("a read does not move the expiry")
		}
		found, err := it.Search(t.Context(), item.Query{Prefix: n, Text: "zebra"})
		if err != nil || len(found) != 1 {
			t.Fatalf("search: %v, %v", found, err)
		}
		c.Advance(5 * time.Second)
		if there(true) {
			t.Error("a read without refresh, or a search without it, moved the expiry")
		}
		for _, text := range []string{"", "zebra"} {
			if found, err := it.Search(t.Context(), item.Query{Prefix: n, Text: text}); err != nil || len(found) > 0 {
				t.Errorf("search %q finds what expired: %v, %v", text, found, err)
			}
		}
		if all, err := it.Namespaces(t.Context(), item.NamespaceQuery{}); err != nil || len(all) > 0 {
			t.Errorf("namespaces of what expired: %v, %v", all, err)
		}
		locitest.PutItem(t, m, n, "k", `{"word":"lion"}`, &item.PutOptions{TTL: time.Minute})
		r := locitest.Search(t, m, loci.Query{Text: "lion"})
		if len(r.Matches) != 1 || !r.Matches[0].Record.CreatedAt.Equal(c.Now().UTC().Truncate(time.Millisecond)) {
			t.Fatalf("put again: %+v", r)
		}
		revisions, err := m.Revisions(t.Context(), r.Matches[0].Record.ID)
		if err != nil || len(revisions) > 0 {
			t.Errorf("what expired is kept as a revision: %v, %v", revisions, err)
		}
		c.Advance(59 * time.Second)
		if found, err := it.Search(t.Context(), item.Query{Prefix: n, Text: "lion", Refresh: true}); err != nil ||
			len(found) != 1 {
			t.Fatalf("search: %v, %v", found, err)
		}
		c.Advance(59 * time.Second)
		if !there(true) {
			t.Error("a refreshing search does not move the expiry")
		}
		locitest.PutItem(t, m, n, "k", `{}`, nil)
		c.Advance(1000 * time.Hour)
		if !there(true) {
			t.Error("an overwrite without TTL still expires")
		}
	})
}

func TestSweepErasesWhatExpired(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: c.Now})
		m := locitest.Bind(t, e, "u")
		for _, key := range []string{"a", "b", "c"} {
			locitest.PutItem(t, m, loci.Namespace{"u"}, key, `{"k":"`+key+`"}`, &item.PutOptions{TTL: time.Minute})
		}
		locitest.PutItem(t, m, loci.Namespace{"u"}, "stays", `{}`, nil)
		for _, want := range []int64{0, 3, 0} {
			report, err := e.Sweep(t.Context())
			if err != nil || report.Expired != want {
				t.Errorf("sweep: %+v, %v; want %d expired", report, err, want)
			}
			c.Advance(2 * time.Minute)
		}
		if out := locitest.Exported(t, m); strings.Count(out, `"type":"record"`) != 1 {
			t.Errorf("left: %s", out)
		}
	})
}

// TestItemIndexPaths: an item is found by the values at its index paths and by no others, in
// LangGraph's language of paths.
func TestItemIndexPaths(t *testing.T) {
	const value = `{"title":"alpha","meta":{"b":"bravo","c":"charlie","d":"delta"},"notes":[{"text":"echo"},{"text":"foxtrot"},{"text":"golf"}],"n":42}`
	words := []string{"alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "42"}
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		for name, c := range map[string]struct {
			index []string
			found string
		}{
			"default":    {nil, "alpha bravo charlie delta echo foxtrot golf 42"},
			"none":       {[]string{}, ""},
			"root":       {[]string{"$"}, "alpha bravo charlie delta echo foxtrot golf 42"},
			"one":        {[]string{"title"}, "alpha"},
			"from root":  {[]string{"$.title"}, "alpha"},
			"nested":     {[]string{"meta.b"}, "bravo"},
			"several":    {[]string{"meta.{b, d}"}, "bravo delta"},
			"same twice": {[]string{"meta.{b,b}"}, "bravo"},
			"values":     {[]string{"meta.*"}, "bravo charlie delta"},
			"elements":   {[]string{"notes[*].text"}, "echo foxtrot golf"},
			"first":      {[]string{"notes[0].text"}, "echo"},
			"last":       {[]string{"notes[-1].text"}, "golf"},
			"outside":    {[]string{"notes[7].text", "notes[-7]", "title.x", "none"}, ""},
			"two":        {[]string{"title", "n"}, "alpha 42"},
		} {
			place := loci.Namespace{"u", name}
			locitest.PutItem(t, m, place, "k", value, &item.PutOptions{Index: c.index})
			var found []string
			for _, word := range words {
				items, err := item.Of(m).Search(t.Context(), item.Query{Prefix: place, Text: word})
				if err != nil {
					t.Fatal(err)
				}
				if len(items) == 1 {
					found = append(found, word)
				}
			}
			if strings.Join(found, " ") != c.found {
				t.Errorf("%s: finds %v, want %s", name, found, c.found)
			}
			if items, err := item.Of(m).Search(t.Context(), item.Query{Prefix: place}); err != nil || len(items) != 1 {
				t.Errorf("%s: not listed: %v", name, err)
			}
		}
	})
}

// A path that names a thing twice at every level must not double the work each time.
func TestPathWorkIsBounded(t *testing.T) {
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenSQLite(t), loci.Options{}), "u")
	value := strings.Repeat(`{"a":`, 60) + `"deep"` + strings.Repeat("}", 60)
	locitest.PutItem(t, m, loci.Namespace{"u"}, "k", value,
		&item.PutOptions{Index: []string{strings.TrimSuffix(strings.Repeat("{a,a}.", 60), ".")}})
	if r := locitest.Search(t, m, loci.Query{Text: "deep"}); len(r.Matches) != 1 || r.Matches[0].Record.Text != "deep" {
		t.Errorf("got %v", locitest.Texts(r))
	}
}

// TestNamespacesOfItems: lists of namespaces by prefix, suffix and depth are those of
// LangGraph's stores.
func TestNamespacesOfItems(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}))
		for _, text := range []string{"a/b/c", "a/b/d/e", "a/b/d/i", "a/b/f", "a/c/f", "b/a/f", "users/123", "users/456/settings", "a", "a%2Fb/c"} {
			n, err := loci.ParseNamespace(text)
			if err != nil {
				t.Fatal(err)
			}
			locitest.PutItem(t, m, n, "k", `{}`, nil)
			locitest.PutItem(t, m, n, "k2", `{}`, nil)
		}
		locitest.Save(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "facts", "too"), "x")
		for name, c := range map[string]struct {
			q    item.NamespaceQuery
			want string
		}{
			"all":            {item.NamespaceQuery{}, "a a/b/c a/b/d/e a/b/d/i a/b/f a/c/f a%2Fb/c b/a/f facts/too users/123 users/456/settings"},
			"prefix":         {item.NamespaceQuery{Prefix: []string{"a", "b"}}, "a/b/c a/b/d/e a/b/d/i a/b/f"},
			"suffix":         {item.NamespaceQuery{Suffix: []string{"f"}}, "a/b/f a/c/f b/a/f"},
			"both":           {item.NamespaceQuery{Prefix: []string{"a"}, Suffix: []string{"f"}}, "a/b/f a/c/f"},
			"depth":          {item.NamespaceQuery{Prefix: []string{"a"}, MaxDepth: 2}, "a a/b a/c"},
			"depth 1":        {item.NamespaceQuery{MaxDepth: 1}, "a a%2Fb b facts users"},
			"wildcard":       {item.NamespaceQuery{Prefix: []string{"a", "*", "f"}}, "a/b/f a/c/f"},
			"suffix with it": {item.NamespaceQuery{Suffix: []string{"*", "settings"}}, "users/456/settings"},
			"no SQL":         {item.NamespaceQuery{Prefix: []string{"%"}}, ""},
			"limit":          {item.NamespaceQuery{Limit: 2}, "a a/b/c"},
			"offset":         {item.NamespaceQuery{Limit: 2, Offset: 1}, "a/b/c a/b/d/e"},
			"far offset":     {item.NamespaceQuery{Offset: math.MaxInt}, ""},
		} {
			got, err := item.Of(m).Namespaces(t.Context(), c.q)
			var names []string
			for _, n := range got {
				names = append(names, n.String())
			}
			if err != nil || strings.Join(names, " ") != c.want {
				t.Errorf("%s: %v, %v; want %s", name, names, err, c.want)
			}
		}
		for _, q := range []item.NamespaceQuery{{Limit: -1}, {Limit: 10_001}, {Offset: -1}, {MaxDepth: -1}} {
			_, err := item.Of(m).Namespaces(t.Context(), q)
			locitest.WantCode(t, err, loci.Invalid)
		}
	})
}

// TestFactsAreItems: a fact can be read, found, changed and erased as an item under its id,
// with the rules of a fact.
func TestFactsAreItems(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		it, n := item.Of(m), loci.Namespace{"u"}
		id := locitest.StoreFact(t, m, loci.NewFact{Content: "likes <tea>", Metadata: map[string]any{"category": "drink"}}).ID
		locitest.PutItem(t, m, n, "item", `{"content":"tea cup"}`, nil)
		got, err := it.Get(t.Context(), n, id.String(), true)
		if err != nil || string(got.Value) != `{"category":"drink","content":"likes <tea>"}` {
			t.Fatalf("fact as an item: %+v, %v", got, err)
		}
		found, err := it.Search(t.Context(), item.Query{Prefix: n, Text: "tea"})
		if err != nil || len(found) != 2 || found[0].Score == nil {
			t.Errorf("search: %v, %v", found, err)
		}
		locitest.PutItem(t, m, n, id.String(), `{"content":"likes coffee","k":1}`, nil)
		f := locitest.Fact(t, m, id)
		if f.Content != "likes coffee" || len(f.Metadata) != 1 || f.Version != 2 {
			t.Errorf("put under the id: %+v", f)
		}
		locitest.PutItem(t, m, n, id.String(), `{"content":{"likes":"juice"}}`, nil)
		if f = locitest.Fact(t, m, id); string(f.Value) != `{"likes":"juice"}` || f.Metadata != nil {
			t.Errorf("put of an object: %+v", f)
		}
		for _, bad := range []string{`{"content":1}`, `{"content":""}`, `{"content":null}`, `{"content":[]}`} {
			locitest.WantCode(t, it.Put(t.Context(), n, id.String(), json.RawMessage(bad), nil), loci.Invalid)
		}
		locitest.PutItem(t, m, n, strings.ToUpper(id.String()), `{"other":1}`, nil) // another letter case is another key
		if f = locitest.Fact(t, m, id); f.Version != 3 {
			t.Errorf("an item's put changed a fact: %+v", f)
		}
		kinds := func(k ...loci.Kind) (out []loci.Kind) {
			for _, match := range locitest.Search(t, m, loci.Query{Kinds: k}).Matches {
				out = append(out, match.Record.Kind)
			}
			return out
		}
		if got := kinds(loci.KindFact); !slices.Equal(got, []loci.Kind{loci.KindFact}) {
			t.Errorf("facts: %v", got)
		}
		if got := kinds(); len(got) != 3 {
			t.Errorf("all kinds: %v", got)
		}
		if err := it.Delete(t.Context(), n, id.String()); err != nil {
			t.Fatal(err)
		}
		_, err = m.Fact(t.Context(), id)
		locitest.WantCode(t, err, loci.NotFound)
	})
}

// TestKeyedFactsAreItemsWithTheirKey: what is read can be put back, the key stays, and an
// item cannot become a fact of another key.
func TestKeyedFactsAreItemsWithTheirKey(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u")
		it, n := item.Of(m), loci.Namespace{"u"}
		id := locitest.StoreFact(t, m, loci.NewFact{Content: "blue", Subject: "user", Predicate: "favorite_color",
			Metadata: map[string]any{"sure": true}}).ID
		const value = `{"content":"blue","predicate":"favorite_color","subject":"user","sure":true}`
		got, err := it.Get(t.Context(), n, id.String(), true)
		if err != nil || string(got.Value) != value {
			t.Fatalf("fact as an item: %s, %v", got.Value, err)
		}
		where, err := loci.ParseWhere(map[string]any{"subject": "user", "predicate": "favorite_color"})
		if err != nil {
			t.Fatal(err)
		}
		found, err := it.Search(t.Context(), item.Query{Prefix: n, Where: where})
		if err != nil || len(found) != 1 || string(found[0].Value) != value {
			t.Errorf("search by the key: %v, %v", found, err)
		}
		locitest.PutItem(t, m, n, id.String(), strings.Replace(value, "blue", "green", 1), nil)
		f := locitest.Fact(t, m, id)
		if f.Content != "green" || f.Subject != "user" || f.Predicate != "favorite_color" || len(f.Metadata) != 1 {
			t.Errorf("put back: %+v", f)
		}
		locitest.PutItem(t, m, n, id.String(), `{"content":"grey"}`, nil)
		if f = locitest.Fact(t, m, id); f.Content != "grey" || f.Subject != "user" || f.Metadata != nil {
			t.Errorf("put without the key: %+v", f)
		}
		for _, other := range []string{`{"content":"x","subject":"bob"}`, `{"content":"x","predicate":1}`, `{"content":"x","subject":null}`} {
			err := it.Put(t.Context(), n, id.String(), json.RawMessage(other), nil)
			locitest.WantCode(t, err, loci.Invalid)
		}
	})
}

// TestItemsBelowTheHandle: the rules for labels, and what a list of namespaces is
// about, concern the labels after the handle's own, which may be an address.
func TestItemsBelowTheHandle(t *testing.T) {
	own := loci.Namespace{"user", "a.b@example.org"}
	m := locitest.Bind(t, locitest.NewEngine(t, locitest.OpenMemory(), loci.Options{}), own...)
	for _, rest := range [][]string{{"docs"}, {"docs", "x"}, {"user"}, {"prefs"}} {
		locitest.PutItem(t, m, own.Child(rest...), "k", `{"a":1}`, nil)
	}
	locitest.PutItem(t, m, own, "k", `{"a":1}`, nil)
	for _, rest := range [][]string{{"a.b"}, {"docs", "a.b"}, {"langgraph"}} {
		locitest.WantCode(t, item.Of(m).Put(t.Context(), own.Child(rest...), "k", json.RawMessage(`{}`), nil), loci.Invalid)
	}
	reserved := own.Child("langgraph", "x") // as a batch of LangGraph's own store puts, and anybody reads
	locitest.PutItem(t, m, reserved, "k", `{"a":1}`, &item.PutOptions{Reserved: true})
	if _, err := item.Of(m).Get(t.Context(), reserved, "k", true); err != nil {
		t.Error(err)
	}
	if err := item.Of(m).Delete(t.Context(), reserved, "k"); err != nil {
		t.Error(err)
	}
	for name, c := range map[string]struct {
		q    item.NamespaceQuery
		want string
	}{
		"all":        {item.NamespaceQuery{}, "docs docs/x prefs user"},
		"prefix":     {item.NamespaceQuery{Prefix: []string{"docs"}}, "docs docs/x"},
		"own prefix": {item.NamespaceQuery{Prefix: []string{"user"}}, "user"},
		"any":        {item.NamespaceQuery{Prefix: []string{"*", "*"}}, "docs/x"},
		"suffix":     {item.NamespaceQuery{Suffix: []string{"x"}}, "docs/x"},
		"own suffix": {item.NamespaceQuery{Suffix: []string{"a.b@example.org", "docs"}}, ""},
		"depth":      {item.NamespaceQuery{MaxDepth: 1}, "docs prefs user"},
		"page":       {item.NamespaceQuery{Limit: 1, Offset: 1}, "docs/x"},
	} {
		c.q.Below = own
		found, err := item.Of(m).Namespaces(t.Context(), c.q)
		var got []string
		for _, n := range found {
			got = append(got, n[len(own):].String())
		}
		if err != nil || strings.Join(got, " ") != c.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	outside, err := item.Of(m).Namespaces(t.Context(), item.NamespaceQuery{Below: loci.Namespace{"user", "somebody"}})
	if err != nil || len(outside) > 0 {
		t.Errorf("outside: %v, %v", outside, err)
	}
}

// TestItemsByTimeAndScore: a search may ask for items made in a span of time, and leave out
// those that fit too little, with and without a query.
func TestItemsByTimeAndScore(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		c := locitest.NewClock()
		m := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{Now: c.Now}), "u")
		place := m.Namespace().Child("trips")
		var made []time.Time
		for _, key := range []string{"rome", "oslo", "bonn"} {
			c.Advance(time.Hour)
			made = append(made, c.Now().Truncate(time.Millisecond))
			locitest.PutItem(t, m, place, key, `{"title":"The trip to `+key+`"}`, nil)
		}
		for _, one := range []struct {
			q    item.Query
			want []string
		}{
			{item.Query{}, []string{"bonn", "oslo", "rome"}},
			{item.Query{Since: made[1]}, []string{"bonn", "oslo"}},
			{item.Query{Until: made[1]}, []string{"rome"}},
			{item.Query{Since: made[1], Until: made[2]}, []string{"oslo"}},
			{item.Query{Text: "trip", Since: made[1], Until: made[2]}, []string{"oslo"}},
			{item.Query{Text: "rome", MinScore: 0.2}, []string{"rome"}},
			{item.Query{Text: "rome", MinScore: 0.2, Since: made[1]}, nil},
		} {
			one.q.Prefix = place
			found, err := item.Of(m).Search(t.Context(), one.q)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for i := range found {
				got = append(got, found[i].Key)
			}
			if !slices.Equal(got, one.want) {
				t.Errorf("%+v: %v; want %v", one.q, got, one.want)
			}
		}
		if _, err := item.Of(m).Search(t.Context(), item.Query{Prefix: place, MinScore: 2, Text: "x"}); err == nil {
			t.Error("a least score of 2 is taken")
		}
	})
}
