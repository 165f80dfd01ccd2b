package storetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

var filterCases = []testCase{
	{"a filter selects what its meaning says", population},
	{"a filter without a namespace selects nothing", func(b *bench) {
		b.put(record(1, "walrus"), placed(record(2, "walrus")))
		for _, f := range []loci.Filter{
			{}, {Within: []loci.Namespace{}}, {NotLive: true}, {IDs: ids(1, 2)}, {Exact: true},
		} {
			b.same("records", b.all(f), nil)
			counts, err := b.store.Count(b.Context(), b.tenant, f)
			b.must("Count", err)
			b.same("counts", counts, loci.Counts{})
			namespaces, err := b.store.Namespaces(b.Context(), b.tenant, f)
			b.must("Namespaces", err)
			b.same("namespaces", namespaces, nil)
			hits, err := b.store.Match(b.Context(), b.tenant, words("walrus"), f, 10)
			b.must("Match", err)
			b.same("hits", hits, nil)
			events, _, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{}, loci.Page{})
			b.must("Events", err)
			b.same("events", events, nil)
		}
	}},
	{"a namespace is matched by whole labels, byte for byte", labels},
	{"expiry is at the moment, not after it", func(b *bench) {
		r := record(1, "walrus")
		r.ExpiresAt = at(100)
		b.put(r)
		for _, c := range []struct {
			moment  time.Time
			expired bool
		}{{r.ExpiresAt.Add(-time.Millisecond), false}, {r.ExpiresAt, true}, {r.ExpiresAt.Add(time.Millisecond), true}} {
			for _, wanted := range []bool{false, true} {
				f := loci.Filter{Within: everywhere, At: c.moment, Expired: wanted}
				if got := len(b.all(f)) == 1; got != (c.expired == wanted) {
					b.Errorf("at %v, Expired %v: selected is %v", c.moment, wanted, got)
				}
				if got := len(b.match(words("walrus"), f, 10)) == 1; got != (c.expired == wanted) {
					b.Errorf("Match at %v, Expired %v: selected is %v", c.moment, wanted, got)
				}
			}
		}
	}},
	{"keys and values of a condition are data", func(b *bench) {
		hostile := []string{"'", `"`, `\`, "a'b", `a"b`, "a.b", "a[0]", "*", "%", "_", "a b", "'; DROP TABLE records; --", "{", "}", "日本", "á", "a\u0301", "🦭",
			"\u2028", "\u0001", strings.Repeat("k", 300)}
		for i, key := range hostile {
			r := record(i+1, "")
			r.Attributes, _ = json.Marshal(map[string]string{key: key, "other": "x"})
			b.put(r)
		}
		for i, key := range hostile {
			b.same(fmt.Sprintf("records with the key %q", key),
				recordIDs(b.all(loci.Filter{Within: everywhere, Where: where(b, map[string]any{key: key})})), ids(i+1))
			b.same(fmt.Sprintf("records with the key %q and another value", key),
				recordIDs(b.all(loci.Filter{Within: everywhere, Where: where(b, map[string]any{key: "x"})})), nil)
		}
	}},
	{"a bound is met by the values that meet it in Go", bounds},
	{"a member of the body is one at its top", func(b *bench) {
		var all []loci.Record
		for i, body := range []string{`{"harm":1}`, `{"x":{"harm":1}}`, `{"harm":null}`, `{"x":"harm"}`, `{"harms":1}`, `{}`, ``} {
			r := record(i+1, "walrus")
			if body != "" {
				r.Body = json.RawMessage(body)
			}
			all = append(all, r)
		}
		b.put(all...)
		f := loci.Filter{Within: everywhere, Where: loci.Where{Member: "harm"}}
		b.same("records", recordIDs(b.all(f)), ids(3, 1))
		b.same("hits", hitIDs(b.match(words("walrus"), f, 10)), ids(3, 1))
		counts, err := b.store.Count(b.Context(), b.tenant, f)
		b.must("Count", err)
		b.same("counted", counts.Records, int64(2))
	}},
}

// bounds holds each bound against each value: numbers that no machine has exactly, numbers in texts,
// texts in several scripts, values of no order, and values where a database could look for others.
func bounds(b *bench) {
	values := []string{`1`, `10`, `-1`, `0`, `-0.0`, `1e1`, `9.999999999999999`, `0.1`, `0.30000000000000004`, `1e300`, `1e400`, `9007199254740993`,
		`12345678901234567890123`, `"10"`, `"9"`, `"1e1"`, `""`, `"a"`, `"ä"`, `"é"`, `"\u0061b"`, `true`, `null`, `[1]`, `[]`, `{"p":1}`, `{}`}
	docs := []string{`{"n":1,"n":20}`, `{"n":20,"n":1}`, `{"n":1,"\u006e":20}`, `{"\u006e":20,"n":1}`, `{"n":null,"content":{"n":20}}`, `{"m":20}`, `{"\u006e":20}`, `{"N":20}`,
		`{"o":{"n":20}}`, `{"content":{"n":20,"n":1}}`, `{"content":"n"}`, `{"content":[{"n":20}]}`}
	for _, value := range values {
		docs = append(docs, `{"n":`+value+`}`, `{"x":1,"content":{"n":`+value+`}}`)
	}
	var all []loci.Record
	for i, doc := range docs {
		r := record(i+1, "walrus")
		r.Kind = []loci.Kind{loci.KindFact, "item"}[i/2%2]
		r.Attributes = json.RawMessage(doc)
		all = append(all, r)
	}
	b.put(all...)
	newestFirst(all)
	for _, bound := range []any{1, 10, 9.5, -1, 0, 0.1, 0.3, 1e300, json.Number("9007199254740992"), json.Number("9007199254740993"),
		json.Number("12345678901234567890123"), json.Number("1e400"), "10", "9", "1e1", "", "a", "é", true, nil} {
		for _, operator := range []string{"$gt", "$gte", "$lt", "$lte"} {
			f := loci.Filter{Within: everywhere, Where: where(b, map[string]any{"n": map[string]any{operator: bound}})}
			var want []loci.ID
			for i := range all {
				if f.Selects(&all[i]) {
					want = append(want, all[i].ID)
				}
			}
			b.same(fmt.Sprintf("records of n %s %#v", operator, bound), recordIDs(b.all(f)), want)
		}
	}
}

// population draws records and filters at random and holds every answer against
// [loci.Filter.Selects].
func population(b *bench) {
	r := random(1)
	var records []loci.Record
	for n := 1; n <= 200; n++ {
		records = append(records, randomRecord(r, n))
	}
	for part := range slices.Chunk(records, 50) {
		b.apply(creation(part...))
	}
	newestFirst(records)
	for round := range 300 {
		f := randomFilter(b, r, round)
		var want []loci.Record
		counts := loci.Counts{}
		namespaces := map[string]bool{}
		for i := range records {
			if record := &records[i]; f.Selects(record) {
				want = append(want, *record)
				namespaces[record.Namespace.Key()] = true
				counts.Records++
				counts.Passages += int64(len(record.Passages))
				counts.Bytes += int64(len(record.Text))
				if record.Live {
					counts.Live++
					counts.Unembedded += int64(min(len(record.Passages), 1))
				}
			}
		}
		what := fmt.Sprintf("filter %d %+v", round, f)
		got := allRecords(b.Context(), b, b.store, b.tenant, f, parted(1+r.IntN(100), len(want)))
		b.same("records of "+what, recordIDs(got), recordIDs(want))
		order := pick(r, orders)
		b.same(fmt.Sprintf("records in order %d of %s", order, what), recordIDs(b.inOrder(f, order, parted(1+r.IntN(100), len(want)))),
			recordIDs(ordered(want, order)))
		f.Space = spaceA
		gotCounts, err := b.store.Count(b.Context(), b.tenant, f)
		b.must("Count", err)
		b.same("counts of "+what, gotCounts, counts)
		gotNamespaces, err := b.store.Namespaces(b.Context(), b.tenant, f)
		b.must("Namespaces", err)
		b.same("namespaces of "+what, gotNamespaces, namespacesOf(namespaces))

		live := slices.DeleteFunc(slices.Clone(want), func(r loci.Record) bool {
			return !r.Live || r.Text == "" || !f.At.IsZero() && r.Ended(f.At)
		})
		b.same("hits of "+what, hitIDs(b.match(words("walrus"), f, 1000)), recordIDs(live))
		if b.Failed() {
			return
		}
	}
}

// parted is a size of pages of so many that a list of all of them takes few.
func parted(size, all int) int { return max(size, all/6) }

// namespacesOf turns a set of keys into namespaces in key order.
func namespacesOf(keys map[string]bool) (out []loci.Namespace) {
	var sorted []string
	for key := range keys {
		sorted = append(sorted, key)
	}
	slices.Sort(sorted)
	for _, key := range sorted {
		out = append(out, loci.NamespaceFromKey(key))
	}
	return out
}

var (
	somePlaces = []loci.Namespace{{}, {"a"}, {"ab"}, {"a", "b"}, {"a", "b", "c"}, {"A"}, {"a/b"}, {"b"}}
	someKinds  = []loci.Kind{loci.KindFact, "item", "Fact"}
	someTags   = []string{"t", "T", "tt", "t,t", `t"`, "t\u2028", `t\`}
	someScopes = []string{"", "global", "Global", "health", "it's"}
	someDocs   = []string{``, `{}`, `{"c":"x","n":1}`, `{"c":"X","n":10}`, `{"c":"y","n":2.0,"o":{"p":1,"q":2}}`, `{"n":"10","l":[1,2]}`,
		`{"c":null,"content":{"c":"x"}}`, `{"c":"x","n":-3,"o":{"p":1}}`,
		`{"\u0063":"\u0078","n":1e1}`, `{"c":"x\"","n":100E-1,"\"":1}`, `{"n":-0.0,"content":{"n":10.0}}`, `{"N":10}`}
)

// someSequences are names of sequences, and none.
var someSequences = []string{"", "talk", "Talk", "talk ", "talk\x00", "\xff\xfe"}

// someEnds are ends of ranges of slots.
var someEnds = []string{"", "slot 1", "slot 10", "slot 18", "slot 5", "slot ~"}

var someConfidences = []float64{0.05, 0.2, 0.5, 1}

func randomRecord(r *rand.Rand, n int) loci.Record {
	text := ""
	if r.IntN(4) > 0 {
		text = strings.Repeat("walrus ", 1+r.IntN(3))
	}
	out := record(n, text)
	out.ID = id(1 + (n*7919)%10007) // in no order
	out.Namespace, out.Kind = pick(r, somePlaces), pick(r, someKinds)
	out.CreatedAt = at(r.IntN(40))
	out.Live = r.IntN(5) > 0
	if r.IntN(2) == 0 {
		out.ExpiresAt = at(r.IntN(10))
	}
	if r.IntN(3) == 0 {
		out.Slot = fmt.Sprint("slot ", n)
	}
	for _, tag := range someTags {
		if r.IntN(3) == 0 {
			out.Tags = append(out.Tags, tag)
		}
	}
	if doc := pick(r, someDocs); doc != "" {
		out.Attributes = json.RawMessage(doc)
	}
	out.Sequence = pick(r, someSequences)
	out.Scope, out.Status = pick(r, someScopes), pick(r, someScopes)
	if r.IntN(2) == 0 {
		out.Decay = loci.Decay{
			Confidence: pick(r, someConfidences), Rate: pick(r, []float64{0, 0.008, 3000}), From: at(r.IntN(40)),
		}
		out.EndsAt = out.Decay.Below(loci.LiveConfidence)
	}
	switch r.IntN(4) {
	case 0, 1:
		out.DueAt = at(r.IntN(40))
	case 2:
		out.DueAt = out.EndsAt // nothing but the end is left
	}
	return out
}

var someWheres = []map[string]any{{"c": "x"}, {"c": "X"}, {"n": 1}, {"n": map[string]any{"$gte": 2}}, {"n": map[string]any{"$lt": "5"}},
	{"c": map[string]any{"$ne": "x"}}, {"o": map[string]any{"p": 1}}, {"l": []any{1, 2}}, {"c": nil}, {"content": "walrus "}, {"c": "x", "n": 1},
	{"n": 10}, {"n": map[string]any{"$eq": 10}}, {"n": map[string]any{"$eq": 10, "$gt": 2}}, {"n": 0}, {"n": -3}, {"n": "10"}, {"c": `x"`}, {`"`: 1}}

// conditions are what randomFilter sets, each by itself or beside others. They draw from
// the values that random records have: a filter that selects nothing tests little.
var conditions = []func(t tester, r *rand.Rand, f *loci.Filter){
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.Within = randomPlaces(r) },
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.Within, f.Exact = randomPlaces(r), true },
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		f.Kinds = []loci.Kind{pick(r, someKinds), pick(r, someKinds)}
	},
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		for range 1 + r.IntN(20) {
			f.IDs = append(f.IDs, id(1+(r.IntN(220)*7919)%10007))
		}
	},
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		f.Slot = new(pick(r, []string{"", fmt.Sprint("slot ", r.IntN(200))}))
	},
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		for range 1 + r.IntN(2) {
			f.Tags = append(f.Tags, pick(r, someTags))
		}
	},
	func(t tester, r *rand.Rand, f *loci.Filter) { f.Where = where(t, pick(r, someWheres)) },
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.At = at(r.IntN(11)) },
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.At, f.Expired = at(r.IntN(11)), true },
	func(_ tester, _ *rand.Rand, f *loci.Filter) { f.Expired = true },
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		f.Scopes = []string{pick(r, someScopes), pick(r, someScopes)}
	},
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.Statuses = []string{pick(r, someScopes)} },
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.MinConfidence = pick(r, someConfidences) },
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		f.MinConfidence, f.At = pick(r, someConfidences), at(r.IntN(40))
	},
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.Due = at(r.IntN(40)) },
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		f.Slots = loci.SlotRange{From: pick(r, someEnds), To: pick(r, someEnds)}
	},
	func(_ tester, r *rand.Rand, f *loci.Filter) {
		f.Sequences = []string{pick(r, someSequences), pick(r, someSequences)}
	},
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.Since = randomEdge(r) },
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.Until = randomEdge(r) },
	func(_ tester, r *rand.Rand, f *loci.Filter) { f.Since, f.Until = randomEdge(r), randomEdge(r) },
}

func randomPlaces(r *rand.Rand) (places []loci.Namespace) {
	for range 1 + r.IntN(3) {
		places = append(places, pick(r, somePlaces))
	}
	return places
}

// randomEdge is a time at which records were made, or a microsecond beside it.
func randomEdge(r *rand.Rand) time.Time {
	return at(r.IntN(40)).Add(time.Duration(r.IntN(3)-1) * time.Microsecond)
}

// randomFilter sets each condition alone in the first rounds, then any of them.
func randomFilter(t tester, r *rand.Rand, round int) loci.Filter {
	t.Helper()
	const times = 10 // that each condition is alone
	f := loci.Filter{Within: everywhere}
	alone := round < times*len(conditions)
	for i, condition := range conditions {
		if alone && round/times == i || !alone && r.IntN(5) == 0 {
			condition(t, r, &f)
		}
	}
	f.NotLive = alone && round%2 == 0 || !alone && r.IntN(2) == 0
	f.Gone, f.Waning, f.Ended = r.IntN(4) == 0, r.IntN(4) == 0, r.IntN(6) == 0
	return f
}

// labels tries labels that a prefix, a pattern, a collation or an encoding could
// take for one another.
func labels(b *bench) {
	odd := []string{"a", "ab", "A", "á", "a\u0301", "a/b", "a%", "a%2Fb", "%", "_", "a_", ":", "a:b", " ", "a ", " a", "\t", "\n", "'", `"`, `\`, "\\0", "*", "{a}",
		"\x01", "a\x01", "\x7f", "東京", "東", "🦭", "\U0010ffff", "a\U0010ffff", "\ufeffa", "ß", "ss", "İ", "i", "ｱ", "ア", "null", "..", ".", strings.Repeat("a", 256),
		strings.Repeat("a", 255), strings.Repeat("é", 128)}
	var records []loci.Record
	add := func(labels ...string) {
		records = append(records, placed(record(len(records)+1, "walrus"), labels...))
	}
	add()
	for _, label := range odd {
		add(label)
		add(label, "x")
		add("x", label)
	}
	long := slices.Repeat([]string{strings.Repeat("z", 256)}, 16)
	add(long...)
	add(long[:15]...)
	b.apply(creation(records...))
	newestFirst(records)
	for i := range records {
		for _, exact := range []bool{false, true} {
			f := loci.Filter{Within: []loci.Namespace{records[i].Namespace}, Exact: exact}
			var want []loci.ID
			keys := map[string]bool{}
			for j := range records {
				if f.Selects(&records[j]) {
					want = append(want, records[j].ID)
					keys[records[j].Namespace.Key()] = true
				}
			}
			what := fmt.Sprintf("%q, exact %v", f.Within, exact)
			b.same("records within "+what, recordIDs(b.all(f)), want)
			b.same("hits within "+what, hitIDs(b.match(words("walrus"), f, 1000)), want)
			namespaces, err := b.store.Namespaces(b.Context(), b.tenant, f)
			b.must("Namespaces", err)
			b.same("namespaces within "+what, namespaces, namespacesOf(keys))
			if exact { // events have no such filter
				continue
			}
			if events := b.events(loci.EventFilter{Within: f.Within}); len(events) != len(want) {
				b.Errorf("%d events within %s; want %d", len(events), what, len(want))
			}
		}
	}
}
