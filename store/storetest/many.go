package storetest

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/loci-memory/loci"
)

// twins are records that are in many places, two in each, and once more in a single one.
type twins struct{ many, one loci.Record }

// twinsOf are those of a number. In each of the many places they are a conversation of the same
// name; in the one place its name says which.
func twinsOf(n int) (t twins) {
	text := strings.Repeat("walrus ", 1+n%3) + []string{"harbour", "harbours telescope", "cloud"}[n%5%3]
	t.many, t.one = placed(record(n, text), "many", fmt.Sprint(n/2)), placed(record(n+1000, text), "one")
	for _, r := range []*loci.Record{&t.many, &t.one} {
		r.CreatedAt, r.UpdatedAt, r.Position = at(n), at(n), int64(n)
	}
	t.many.Sequence, t.one.Sequence = "talk", fmt.Sprint("talk ", n/2)
	return t
}

func (t twins) puts() []loci.Put {
	similarity := float64(t.many.Position%7) / 7
	return []loci.Put{embedded(t.many, similarity), embedded(t.one, similarity)}
}

// manyPlaces proves that a search above many places, which a store may answer in another way than
// one of few, finds what a search of one place with the same records does, score for score,
// whatever changes in between.
func manyPlaces(b *bench) {
	all := map[int]twins{}
	var puts []loci.Put
	for n := 2; n < 142; n++ { // no record has the id zero
		all[n] = twinsOf(n)
		puts = append(puts, all[n].puts()...)
	}
	b.apply(changeOf(puts...))
	compareTwins(b)

	changed := all[7]
	changed.many, changed.one = next(changed.many), next(changed.one)
	changed.many.Text, changed.many.Passages = cut("a harbour of telescopes")
	changed.one.Text, changed.one.Passages = cut("a harbour of telescopes")
	b.apply(changeOf(changed.puts()...))
	compareTwins(b)
	b.apply(erasure(all[8].many, all[8].one, all[10].many, all[10].one, all[11].many, all[11].one))
	compareTwins(b)
	b.apply(changeOf(append(twinsOf(10).puts(), twinsOf(150).puts()...)...)) // to a place that was empty, and a new one
	compareTwins(b)
}

func compareTwins(b *bench) {
	b.Helper()
	for _, text := range []string{"walrus harbour", "walruss telescop", `"harbour telescope" cloud`, "harb* cloud"} {
		p := both(text, spaceA)
		p.Sequences = true
		var found [2][]loci.Hit
		for i, place := range []string{"many", "one"} {
			hits := b.match(p, loci.Filter{Within: []loci.Namespace{{place}}}, 10)
			for j := range hits {
				h := &hits[j]
				n := numberOf(h.ID) - i*1000
				r := []loci.Record{twinsOf(n).many, twinsOf(n).one}[i]
				b.same("place of "+text, h.Namespace, r.Namespace)
				b.same("conversation of "+text, h.Sequence, r.Sequence)
				h.ID, h.Namespace, h.Sequence = id(n), nil, ""
				for k, beside := range h.Neighbours {
					if beside != (loci.ID{}) {
						h.Neighbours[k] = id(numberOf(beside) - i*1000)
					}
				}
			}
			found[i] = hits
		}
		b.same("hits of "+text, found[0], found[1])
		b.same("there are hits of "+text, len(found[0]) > 0, true)
	}
}

// numberOf is the number that id made an id of.
func numberOf(id loci.ID) int { return int(binary.BigEndian.Uint64(id[8:])) }
