package storetest

import (
	"github.com/loci-memory/loci"
)

var measureCases = []testCase{
	{"counts measure what a filter selects", func(b *bench) {
		plain := record(1, "walrus") // 6 bytes, no vectors
		two := record(2, "")
		two.Text, two.Passages = cut("näïve ", "telescope") // 8 and 9 bytes
		ended := record(3, "ended")
		ended.Live = false
		silent := placed(record(4, ""), "elsewhere")
		silent.Text = "kept, not searched" // no passages
		b.apply(changeOf(loci.Put{Record: plain},
			loci.Put{Record: two, Vectors: vectors(spaceA, axis(spaceA), axis(spaceA))},
			loci.Put{Record: ended}, loci.Put{Record: silent}))
		for _, c := range []struct {
			name string
			f    loci.Filter
			want loci.Counts
		}{
			{
				"all", loci.Filter{Within: everywhere, NotLive: true, Space: spaceA},
				loci.Counts{Records: 4, Live: 3, Passages: 4, Unembedded: 1, Bytes: 46},
			},
			{
				"live", loci.Filter{Within: everywhere, Space: spaceA},
				loci.Counts{Records: 3, Live: 3, Passages: 3, Unembedded: 1, Bytes: 41},
			},
			{
				"what has ended", loci.Filter{Within: everywhere, NotLive: true, Gone: true, Space: spaceA},
				loci.Counts{Records: 1, Passages: 1, Bytes: 5},
			},
			{
				"another space", loci.Filter{Within: everywhere, Space: spaceB},
				loci.Counts{Records: 3, Live: 3, Passages: 3, Unembedded: 2, Bytes: 41},
			},
			{
				"fewer dimensions", loci.Filter{Within: everywhere, Space: spaceC},
				loci.Counts{Records: 3, Live: 3, Passages: 3, Unembedded: 2, Bytes: 41},
			},
			{"one place", loci.Filter{Within: []loci.Namespace{{"elsewhere"}}, Space: spaceA}, loci.Counts{Records: 1, Live: 1, Bytes: 18}},
			{
				"one record", loci.Filter{Within: everywhere, IDs: ids(2), Space: spaceB},
				loci.Counts{Records: 1, Live: 1, Passages: 2, Unembedded: 1, Bytes: 17},
			},
			{"none", loci.Filter{Within: []loci.Namespace{{"nowhere"}}, Space: spaceA}, loci.Counts{}},
		} {
			got, err := b.store.Count(b.Context(), b.tenant, c.f)
			b.must("Count", err)
			b.same("counts of "+c.name, got, c.want)
		}
	}},
	{"namespaces come in key order, each once", func(b *bench) {
		places := []loci.Namespace{{"b"}, {"a", "z"}, {"a"}, {"a "}, {}, {"a", "b", "c"}, {"a\x01"}, {"B"}, {"a", "z"}, {"ab"}, {"é"}, {"🦭"}, {"\uffff"}}
		for i, place := range places {
			b.put(placed(record(i+1, ""), place...))
		}
		got, err := b.store.Namespaces(b.Context(), b.tenant, loci.Filter{Within: everywhere})
		b.must("Namespaces", err)
		// Key order: bytes, each label ended by NUL.
		b.same("namespaces", got, []loci.Namespace{{}, {"B"}, {"a"}, {"a", "b", "c"}, {"a", "z"}, {"a\x01"}, {"a "}, {"ab"}, {"b"}, {"é"}, {"\uffff"}, {"🦭"}})
		got, err = b.store.Namespaces(b.Context(), b.tenant, loci.Filter{Within: []loci.Namespace{{"a", "z"}, {"a"}, {"a", "b"}}})
		b.must("Namespaces", err)
		b.same("namespaces within overlapping places", got, []loci.Namespace{{"a"}, {"a", "b", "c"}, {"a", "z"}})
	}},
	{"a namespace is there while it holds something", func(b *bench) {
		r := record(1, "")
		b.put(r)
		list := func(f loci.Filter) []loci.Namespace {
			f.Within = everywhere
			got, err := b.store.Namespaces(b.Context(), b.tenant, f)
			b.must("Namespaces", err)
			return got
		}
		b.same("namespaces", list(loci.Filter{}), []loci.Namespace{home})
		b.same("namespaces of items", list(loci.Filter{Kinds: []loci.Kind{"item"}}), nil)
		never := record(2, "") // searched for
		never.Kind = "item"
		b.put(never)
		b.same("namespaces of items without text", list(loci.Filter{Kinds: []loci.Kind{"item"}}), []loci.Namespace{home})
		b.apply(erasure(never))
		r = next(r)
		r.Live = false
		b.put(r)
		b.same("namespaces of the live", list(loci.Filter{}), nil)
		b.same("namespaces of all", list(loci.Filter{NotLive: true}), []loci.Namespace{home})
		b.apply(erasure(r))
		b.same("namespaces after the erase", list(loci.Filter{NotLive: true}), nil)
	}},
	{"a sound store has no damage to report", func(b *bench) {
		b.sound()
		c := changeOf(embedded(fullRecordOfOnePassage(1), 0.5), loci.Put{Record: fullRecord(2)})
		c.Put[1].Record.Slot = ""
		b.apply(c)
		b.sound()
		b.apply(erasure(c.Put[1].Record))
		b.sound()
	}},
}

func fullRecordOfOnePassage(n int) loci.Record {
	r := fullRecord(n)
	r.Passages = whole(r.Text)
	return r
}
