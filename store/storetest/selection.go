package storetest

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/loci-memory/loci"
)

// Records that a search must not see, although they fit it better than all it
// may see: each breaks one condition of the search's filter.
var unseen = []struct {
	name  string
	spoil func(r *loci.Record)
}{
	{"of another namespace", func(r *loci.Record) { r.Namespace = loci.Namespace{"user", "bob"} }},
	{"of a namespace above", func(r *loci.Record) { r.Namespace = loci.Namespace{"user"} }},
	{"of a namespace whose label goes on", func(r *loci.Record) { r.Namespace = loci.Namespace{"user", "adaline"} }},
	{"of another kind", func(r *loci.Record) { r.Kind = "item" }},
	{"without the tag", func(r *loci.Record) { r.Tags = []string{"Zoo"} }},
	{"with other attributes", func(r *loci.Record) { r.Attributes = json.RawMessage(`{"category":"other"}`) }},
	{"that are expired", func(r *loci.Record) { r.ExpiresAt = at(4999) }},
	{"that are not live", func(r *loci.Record) { r.Live = false }},
	{"that have left the live set", func(r *loci.Record) { r.EndsAt = at(5000) }},
	{"of too little confidence", func(r *loci.Record) { r.Decay.Confidence = 0.49 }},
	{"of another scope", func(r *loci.Record) { r.Scope = "Health" }},
	{"of another sequence", func(r *loci.Record) { r.Sequence = "Talk" }},
	{"of no sequence", func(r *loci.Record) { r.Sequence = "" }},
	{"of another status", func(r *loci.Record) { r.Status = "proven" }},
}

// better is how many better records there are of one sort.
const better = 125

var selectionCases = func() []testCase {
	cases := []testCase{
		{"better records of another tenant make no difference", func(b *bench) {
			b.seen()
			f := selection(b)
			before := b.searches(f)
			mine := b.tenant
			b.tenant = tenant(b, "other")
			b.put(record(1, "walrus walrus"))
			b.unseen(func(*loci.Record) {})
			b.tenant = mine
			b.same("hits", b.searches(f), before)
		}},
		{"a filter on ids comes before the limit, too", func(b *bench) {
			b.seen()
			b.unseen(func(*loci.Record) {})
			f := loci.Filter{Within: everywhere, IDs: ids(3, 5, 7)}
			b.same("hits", hitIDs(b.match(both("walrus", spaceA), f, 3)), ids(7, 5, 3))
		}},
		{"a filter on the slot comes before the limit, too", func(b *bench) {
			b.put(holding(record(1, "walrus and more words"), "slot"))
			b.unseen(func(*loci.Record) {})
			b.same("hits", hitIDs(b.match(words("walrus"), loci.Filter{Slot: new("slot")}, 1)), ids(1))
		}},
	}
	for _, u := range unseen {
		cases = append(cases, testCase{"better records " + u.name + " are not seen", func(b *bench) { b.blind(u.spoil) }})
	}
	var all []func(r *loci.Record)
	for _, u := range unseen {
		all = append(all, u.spoil)
	}
	cases = append(cases, testCase{"a thousand better records are not seen", func(b *bench) { b.blind(all...) }})
	return cases
}()

// selection is the filter of the searches: every condition at once.
func selection(b *bench) loci.Filter {
	b.Helper()
	return loci.Filter{Within: []loci.Namespace{home}, Kinds: []loci.Kind{loci.KindFact}, Tags: []string{"zoo"},
		Where: where(b, map[string]any{"category": "animal"}), At: at(5000),
		Scopes: []string{"global", "health"}, Statuses: []string{"active"}, Sequences: []string{"talk", "\xff"}, MinConfidence: 0.5}
}

// likely is a record that the filter of the searches selects.
func likely(n int, text string) loci.Record {
	r := record(n, text)
	r.Tags = []string{"zoo"}
	r.Attributes = json.RawMessage(`{"category":"animal"}`)
	r.ExpiresAt = at(5001)
	r.Scope, r.Status, r.Sequence = "health", "active", "talk"
	r.Decay = loci.Decay{Confidence: 0.5, Rate: 0.1, From: at(5000)}
	r.EndsAt = at(5001)
	return r
}

// likelyIDs are those of the records that [bench.seen] puts.
var likelyIDs = ids(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)

// seen puts ten records that fit the searches more or less.
func (b *bench) seen() {
	b.Helper()
	for n := 1; n <= 10; n++ {
		text := "The walrus of the harbour"
		for range n {
			text += " and other words"
		}
		r := likely(n, text)
		if n%3 == 0 {
			r.Namespace = home.Child("deeper")
		}
		b.apply(changeOf(embedded(r, float64(n)/40)))
	}
}

// unseen puts many records that fit better than any of the ten, after spoiling them.
func (b *bench) unseen(spoil func(r *loci.Record)) {
	b.Helper()
	b.made++
	var puts []loci.Put
	for n := range better {
		r := likely(100+b.made*better+n, fmt.Sprintf("walrus walrus harbour %d", n))
		spoil(&r)
		puts = append(puts, embedded(r, 0.99))
	}
	b.apply(changeOf(puts...))
}

// blind requires that better records which a filter excludes take no place among
// the hits it selects; and where they are not live or lie outside of its
// namespaces and kinds, that they enter no statistic behind a score either.
func (b *bench) blind(spoils ...func(r *loci.Record)) {
	b.Helper()
	b.seen()
	f := selection(b)
	before := b.searches(f)
	byVector := b.match(direction(spaceA), f, 3)
	for _, spoil := range spoils {
		b.unseen(spoil)
	}
	b.same("hits by similarity", b.match(direction(spaceA), f, 3), byVector)
	for _, limit := range []int{1, 3, 10, 50} {
		hits := b.match(words("walrus"), f, limit)
		for _, h := range hits {
			if !slices.Contains(likelyIDs, h.ID) {
				b.Fatalf("limit %d: hit %v is none of those selected", limit, h.ID)
			}
		}
		if len(hits) != min(limit, 10) {
			b.Errorf("limit %d: %d hits: excluded records took places", limit, len(hits))
		}
	}
	for _, spoil := range spoils {
		if r := likely(1, ""); counted(&f, &r, spoil) {
			return
		}
	}
	b.same("with records the filter excludes in the statistics: hits", b.searches(f), before)
}

// counted reports whether a spoilt record may enter the statistics of a search.
func counted(f *loci.Filter, r *loci.Record, spoil func(r *loci.Record)) bool {
	spoil(r)
	return r.Live && f.Covers(r.Namespace) && slices.Contains(f.Kinds, r.Kind)
}

// searches are the hits of some probes with some limits.
func (b *bench) searches(f loci.Filter) (out [][]loci.Hit) {
	b.Helper()
	for _, limit := range []int{1, 3, 10, 50} {
		for _, p := range []loci.Probe{words("walrus"), words("harbour words walrus"), direction(spaceA), both("walrus words", spaceA)} {
			out = append(out, b.match(p, f, limit))
		}
	}
	return out
}
