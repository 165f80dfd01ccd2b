package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

var slotCases = []testCase{
	{"a slot is held once in a namespace and kind", func(b *bench) {
		held := holding(record(1, "walrus"), "slot")
		b.put(held)
		b.conflict("taking a held slot", creation(holding(record(2, "walrus"), "slot")))
		b.conflict("two takers in one change", creation(holding(record(2, ""), "other"), holding(record(3, ""), "other")))

		free := holding(record(2, ""), "other")
		b.put(free)
		b.conflict("moving into a held slot", creation(next(holding(free, "slot"))))
		b.put(next(held)) // keeps its own slot

		item := holding(record(3, ""), "slot")
		item.Kind = "item"
		b.put(item,
			placed(holding(record(4, ""), "slot"), "user"),
			placed(holding(record(5, ""), "slot"), "user", "ada", "deeper"),
			placed(holding(record(6, ""), "slot"), "user", "Ada"),
			placed(holding(record(7, ""), "slot")))
		deeper := holding(record(8, ""), "slot")
		deeper.Kind = "fac"
		b.put(deeper) // kinds are compared whole
	}},
	{"the empty slot competes with none", func(b *bench) {
		b.put(record(1, ""), record(2, ""))
		b.apply(creation(record(3, ""), record(4, "")))
	}},
	{"slots are opaque bytes", func(b *bench) {
		slots := []string{"a", "A", "á", "a\u0301", "a ", " a", "a\x00", "\x00a", "\x00", "\xff\xfe", "\xff", "%", "a%", "_", "'", "\"",
			"a\x00b", "a/b", "１", "1", "\u200b", strings.Repeat("x", 2048), strings.Repeat("x", 2047)}
		for i, slot := range slots {
			b.put(holding(record(i+1, ""), slot))
		}
		b.unchanged("taking held slots", func() {
			for i, slot := range slots {
				err := b.store.Apply(b.Context(), b.tenant, creation(holding(record(100+i, ""), slot)))
				b.refused("taking a held slot", err, loci.Conflict)
			}
		})
		for i, slot := range slots {
			got := b.all(loci.Filter{Within: everywhere, Slot: &slot})
			if len(got) != 1 || got[0].Slot != slot || got[0].ID != id(i+1) {
				b.Errorf("slot %q selects %v", slot, recordIDs(got))
			}
		}
	}},
	{"a slot is held by what is not live or expired, too", func(b *bench) {
		ended, expired := holding(record(1, ""), "ended"), holding(record(2, ""), "expired")
		ended.Live = false
		expired.ExpiresAt = at(3)
		b.put(ended, expired)
		b.conflict("taking the slot of a record that is not live", creation(holding(record(3, ""), "ended")))
		b.conflict("taking the slot of an expired record", creation(holding(record(1000, ""), "expired")))
	}},
	{"a slot is free after it was given up", func(b *bench) {
		r := holding(record(1, ""), "slot")
		b.put(r)
		r = next(holding(r, ""))
		r.Live = false
		b.put(r, holding(record(2, ""), "slot"))
		b.conflict("taking it back", creation(next(holding(r, "slot"))))
	}},
	{"a slot is free after an erase", func(b *bench) {
		r := holding(record(1, ""), "slot")
		b.put(r)
		b.apply(erasure(r))
		b.put(holding(record(2, ""), "slot"))
	}},
	{"one change may hand a slot over", func(b *bench) {
		old := holding(record(1, ""), "slot")
		b.put(old)
		ended := next(holding(old, ""))
		ended.Live = false
		heir := holding(record(2, ""), "slot")
		b.apply(creation(ended, heir)) // as the engine writes it
		ended = next(holding(heir, ""))
		b.apply(creation(holding(record(3, ""), "slot"), ended)) // and the other way round
		b.wantSlot("slot", 3)
	}},
	{"one change may exchange slots", func(b *bench) {
		one, two, three := holding(record(1, ""), "a"), holding(record(2, ""), "b"), holding(record(3, ""), "c")
		b.put(one, two, three)
		b.apply(creation(next(holding(one, "b")), next(holding(two, "c")), next(holding(three, "a"))))
		b.wantSlot("b", 1)
		b.wantSlot("c", 2)
		b.wantSlot("a", 3)
	}},
	{"two of many records in one change may exchange slots", func(b *bench) {
		var before, after []loci.Record
		for i := range 300 { // more than a store looks up at once
			r := holding(record(i+1, ""), fmt.Sprint("slot ", i))
			before, after = append(before, r), append(after, next(r))
		}
		b.apply(creation(before...))
		after[3].Slot, after[290].Slot = after[290].Slot, after[3].Slot
		b.apply(creation(after...))
		b.wantSlot("slot 290", 4)
		b.wantSlot("slot 3", 291)
		b.wantSlot("slot 4", 5)
		for i := range after {
			after[i] = next(after[i])
		}
		after[7].Slot, after[200].Slot = after[200].Slot, after[7].Slot
		b.apply(creation(after...))
		b.wantSlot("slot 7", 201)
		taken := holding(record(1000, ""), "slot 290")
		later := []loci.Record{taken}
		for _, r := range after[5:280] {
			later = append(later, next(r))
		}
		b.conflict("taking a held slot among many records", creation(later...))
	}},
	{"many records move, and stay as they are otherwise", func(b *bench) {
		row := leaning(spaceA, 0.5)
		var puts, moves []loci.Put
		for i := range 70 { // more than a store moves at once, twice, and some
			r := fullRecordInSlot(i+1, fmt.Sprint("old ", i))
			puts = append(puts, loci.Put{Record: r, Vectors: vectors(spaceA, row, row)})
			r.Version, r.Slot = 2, fmt.Sprint("new ", i)
			moves = append(moves, loci.Put{Record: r, SameText: true, Moves: true, Revisions: -1})
		}
		b.apply(changeOf(puts...))
		stale := slices.Clone(moves)
		stale[40].Record.Version = 3
		b.conflict("moving what is at another version", changeOf(stale...))
		absent := slices.Clone(moves)
		absent[40].Record.ID = id(1000)
		b.conflict("moving what is not there", changeOf(absent...))
		b.put(holding(record(2000, ""), "new 40"))
		b.conflict("moving into a held slot", changeOf(moves...))
		b.apply(erasure(holding(record(2000, ""), "new 40")))

		b.apply(changeOf(moves...))
		for i := range moves {
			r := moves[i].Record
			b.same("what moved to "+r.Slot, b.all(loci.Filter{Within: everywhere, Slot: &r.Slot}), []loci.Record{r})
		}
		old := loci.Filter{Within: everywhere, Slots: loci.SlotRange{From: "old ", To: "old!"}}
		b.same("what is left", recordIDs(b.all(old)), nil)
		n, err := b.store.Count(b.Context(), b.tenant, loci.Filter{Within: everywhere, Space: spaceA})
		if err != nil {
			b.Fatal(err)
		}
		b.same("what lacks vectors", n.Unembedded, int64(0))

		for i := range moves { // each to the slot of the one before
			moves[i].Record.Version = 3
			moves[i].Record.Slot = fmt.Sprint("new ", (i+69)%70)
		}
		changed := slices.Clone(moves)
		changed[10].Moves, changed[10].Record.Tags = false, []string{"changed"}
		b.apply(changeOf(changed...))
		b.same("what changed among them", b.all(loci.Filter{Within: everywhere, IDs: ids(11)}), []loci.Record{changed[10].Record})
		b.wantSlot("new 69", 1)
		b.wantSlot("new 0", 2)
		b.wantSlot("new 68", 70)
		for what, change := range map[string]func(*loci.Put){
			"text":            func(p *loci.Put) { p.SameText = false },
			"earlier states":  func(p *loci.Put) { p.Revisions = 0 },
			"its first state": func(p *loci.Put) { p.Record.Version = 1 },
			"a history":       func(p *loci.Put) { p.History = []loci.Revision{} },
		} {
			p := moves[0]
			p.Record.Version++
			change(&p)
			b.refused("a move with "+what, b.store.Apply(b.Context(), b.tenant, changeOf(p)), loci.Invalid)
		}
	}},
	{"one change may erase the holder and take its slot", func(b *bench) {
		old := holding(record(1, ""), "slot")
		b.put(old)
		c := creation(holding(record(2, ""), "slot"))
		gone := erasure(old)
		c.Erase, c.Events = gone.Erase, append(c.Events, gone.Events...)
		b.apply(c)
		b.wantSlot("slot", 2)
	}},
}

// wantSlot requires that a record alone holds a slot.
func (b *bench) wantSlot(slot string, n int) {
	b.Helper()
	got := b.all(loci.Filter{Within: everywhere, Slot: &slot, NotLive: true})
	b.same("holder of slot "+slot, recordIDs(got), ids(n))
}
