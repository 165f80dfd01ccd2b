package storetest

import (
	"strings"

	"github.com/loci-memory/loci"
)

var phraseCases = []testCase{
	{"a quoted phrase leaves only what holds it", func(b *bench) {
		b.put(record(1, "A red walrus cup."), record(2, "the walrus, red as a cup"), record(3, "Red Walruses; cups"), record(4, "red tea, walrus cup"), record(5, "東京都に住む"), record(6, "京都と東の都"))
		for query, want := range map[string][]loci.ID{
			`"red walrus"`:           ids(3, 1),
			`"red walrus cup"`:       ids(3, 1),
			`cup "red walrus"`:       ids(3, 1),
			`telescope "red walrus"`: ids(3, 1),
			`“walrus red as”`:        ids(2),
			`"as a cup"`:             ids(2),
			`"as the cup"`:           nil,
			`"the"`:                  ids(2),
			`"red walrus" "tea"`:     nil,
			`"walrus" "tea"`:         ids(4),
			`"walrus telescope"`:     nil,
			`"東京都"`:                  ids(5),
			`"walrus red`:            ids(4, 3, 2, 1),
			`""`:                     nil,
			`walrus" red"`:           ids(4, 3, 2, 1),
		} {
			b.same("hits of "+query, b.found(words(query)), want)
		}
	}},
	{"a phrase holds for similarity, too", func(b *bench) {
		b.apply(changeOf(embedded(record(1, "red walrus"), 0.1), embedded(record(2, "walrus red"), 0.9), embedded(record(3, "silent"), 0.5)))
		b.same("hits", b.found(both(`"red walrus"`, spaceA)), ids(1))
		b.same("hits of the words", b.found(both(`red walrus`, spaceA)), ids(3, 2, 1))
	}},
	{"a phrase is found where the text was cut in it", func(b *bench) {
		whole, parts := record(1, ""), record(2, "")
		whole.Text, whole.Passages = cut("It began with a red ", "walrus cup. ")
		parts.Text, parts.Passages = cut("It began with a walrus ", "red cup. ")
		b.put(whole, parts)
		b.same("hits", b.found(words(`"a red walrus"`)), ids(1))
		b.same("hits of another order", b.found(words(`"walrus a red"`)), nil)
	}},
	{"the passage with the phrase is the best one", func(b *bench) {
		r := record(1, "")
		r.Text, r.Passages = cut("walrus telescope walrus telescope. ", "a telescope walrus of some other harbour and of much else. ")
		b.put(r)
		if hits := b.match(words(`"telescope walrus of"`), loci.Filter{}, 10); len(hits) != 1 || hits[0].KeywordSpan != 1 {
			b.Errorf("hits %+v; want passage 1", hits)
		}
	}},
	{"a beginning with a star finds the words that go on", func(b *bench) {
		b.put(record(1, "walrus"), record(2, "Walruses"), record(3, "wall"), record(4, "the telescopes"), record(5, "getWalrusName"))
		for query, want := range map[string][]loci.ID{
			"walr*":        ids(5, 2, 1),
			"WAL*":         ids(5, 3, 2, 1),
			"walruse*":     ids(2),
			"telescope*":   ids(4),
			"walrusx*":     nil,
			"th*":          nil,
			"harbour wal*": ids(5, 3, 2, 1),
			"w*":           nil,
			"*walrus":      ids(5, 2, 1),
		} {
			b.same("hits of "+query, b.found(words(query)), want)
		}
	}},
	{"a query of stop words alone finds them", func(b *bench) {
		b.put(record(1, "to be or not"), record(2, "walrus"), record(3, "Born in the US."), record(4, "they told us"))
		b.same("hits of stop words", b.found(words("or to be")), ids(1))
		b.same("hits beside a word", b.found(words("the walrus to be")), ids(2))
		b.same("hits of a name", b.found(words("born US")), ids(3))
		if h := b.byID(words("us"), 10); h[id(3)].Keyword <= h[id(4)].Keyword {
			b.Errorf("hits %+v; want the name first", h)
		}
	}},
	{"a phrase and a beginning forget what is erased", func(b *bench) {
		r := record(1, "red walrus")
		b.put(r, record(2, "walrus red"))
		b.apply(erasure(r))
		b.same("hits of the phrase", b.found(words(`"red walrus"`)), nil)
		b.same("hits of the beginning", b.found(words("walr*")), ids(2))
		b.put(record(3, strings.Repeat("red walrus ", 50)))
		b.same("hits of what came after", b.found(words(`"red walrus"`)), ids(3))
	}},
}
