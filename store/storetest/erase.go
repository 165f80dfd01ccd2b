package storetest

import (
	"fmt"

	"github.com/loci-memory/loci"
)

var eraseCases = []testCase{
	{"an erase takes all but the events", func(b *bench) {
		r, other := record(1, "walrus telescope"), record(2, "walrus harbour")
		c := changeOf(embedded(r, 0.9), embedded(other, 0.1))
		c.Links = []loci.Link{
			{From: id(1), Type: loci.LinkSupports, To: id(2), At: at(1)},
			{From: id(2), Type: loci.LinkSupports, To: id(1), At: at(2)},
			{From: id(2), Type: loci.LinkRelatedTo, To: id(2), At: at(3)},
		}
		c.Reply = reply("key 1", at(2))
		c.Reply.Record = r.ID
		b.apply(c)
		kept := changeOf(loci.Put{Record: next(r), SameText: true, Revisions: 5})
		kept.Reply = reply("key 2", at(2))
		kept.Reply.Record = other.ID
		b.apply(kept)
		third := changeOf(loci.Put{Record: next(next(r)), SameText: true, Revisions: 5})
		third.Reply = reply("key 3", at(2))
		third.Reply.Record = r.ID
		b.apply(third)

		b.apply(erasure(next(next(r))))
		s := b.state()
		b.same("records", recordIDs(s.Records), ids(2))
		b.same("revisions", s.Revisions[r.ID], nil)
		b.same("links of the erased", s.Links[r.ID], nil)
		b.same("links of the other", s.Links[other.ID], c.Links[2:])
		b.same("spaces", s.Spaces, map[loci.Space]int64{spaceA: 1})
		if s.Replies["key 1"] != nil || s.Replies["key 3"] != nil || s.Replies["key 2"] == nil {
			b.Errorf("replies %v; want those that name the erased record gone, and the other one there", s.Replies)
		}
		b.same("hits by keyword", b.found(words("telescope")), nil)
		b.same("hits by similarity", b.found(direction(spaceA)), ids(2))
		b.same("hits by both", b.found(both("walrus", spaceA)), ids(2))
		var types []loci.EventType
		for _, e := range s.Events {
			if e.Entity == r.ID {
				types = append(types, e.Type)
			}
		}
		b.same("events about the erased", types,
			[]loci.EventType{loci.EventErased, loci.EventUpdated, loci.EventUpdated, loci.EventCreated})
	}},
	{"many records are erased in one change, all or none", func(b *bench) {
		var all []loci.Record
		for i := range 300 { // more than a store erases at once
			text := "" // to index them all costs most of the time, where segments are small
			if i%10 == 0 {
				text = "walrus"
			}
			all = append(all, placed(record(i+1, text), "user", fmt.Sprint(i%3)))
		}
		b.apply(creation(all...))
		stay := record(1001, "walrus")
		b.put(stay)
		b.unchanged("what conflicts", func() {
			for what, spoil := range map[string]func(*loci.Erase){
				"one at another version": func(e *loci.Erase) { e.Version++ },
				"one that is not there":  func(e *loci.Erase) { e.ID = id(2000) },
				"one of them twice":      func(e *loci.Erase) { e.ID = all[10].ID },
			} {
				for _, n := range []int{5, 299} {
					c := erasure(all...)
					spoil(&c.Erase[n])
					b.refused(fmt.Sprint(what, ", the ", n), b.store.Apply(b.Context(), b.tenant, c), loci.Conflict)
				}
			}
		})
		b.same("hits before", len(b.match(words("walrus"), loci.Filter{Within: everywhere}, 1000)), 31)
		b.apply(erasure(all...))
		b.same("records", recordIDs(b.state().Records), ids(1001))
		b.same("hits", b.found(words("walrus")), ids(1001))
	}},
	{"the key of an erased reply is free", func(b *bench) {
		r := record(1, "")
		c := creation(r)
		c.Reply = reply("key 1", at(1))
		c.Reply.Record = r.ID
		b.apply(c)
		b.apply(erasure(r))
		again := creation(record(2, ""))
		again.Reply = reply("key 1", at(2))
		b.apply(again)
		b.same("reply", b.state().Replies["key 1"], again.Reply)
	}},
	{"a reply that names no record outlives every erase", func(b *bench) {
		r := record(1, "")
		c := creation(r)
		c.Reply = reply("key 1", at(1))
		b.apply(c)
		gone := erasure(r)
		gone.Reply = reply("key 2", at(2))
		b.apply(gone)
		s := b.state()
		if s.Replies["key 1"] == nil || s.Replies["key 2"] == nil {
			b.Errorf("replies %v; want both", s.Replies)
		}
	}},
	{"after an erase, scores are as if the record had never been", func(b *bench) {
		b.put(record(1, "walrus telescope"), record(2, "walrus walrus harbour"), record(3, "harbour"))
		without := b.match(words("walrus harbour"), loci.Filter{}, 10)
		for n := 4; n < 40; n++ {
			b.put(record(n, "walrus walrus walrus seven more words of some other length"))
		}
		for n := 4; n < 40; n++ {
			b.apply(erasure(record(n, "")))
		}
		b.same("hits", b.match(words("walrus harbour"), loci.Filter{}, 10), without)
	}},
	{"an erase of one of a change's records spares the others", func(b *bench) {
		b.apply(creation(record(1, "walrus"), record(2, "walrus"), record(3, "walrus")))
		b.apply(erasure(record(1, ""), record(3, "")))
		b.same("records", recordIDs(b.all(loci.Filter{Within: everywhere})), ids(2))
		b.same("hits", b.found(words("walrus")), ids(2))
	}},
}
