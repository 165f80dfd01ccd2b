package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
)

// orders are all there are.
var orders = []loci.Order{loci.NewestFirst, loci.OldestFirst, loci.SlotAscending, loci.SlotDescending}

var orderCases = []testCase{
	{"records come in order of slot, byte by byte", func(b *bench) {
		slots := []string{"\x00", "\x00a", "1", "10", "2", "A", "a", "a\x00", "a\x00b", "a ", "a/1", "a/10", "a/2", "ab", "á", "日本", "\xfe", "\xff", "\xff\x00", "\xff\xff", strings.Repeat("x", 2048)}
		slices.Sort(slots)
		for i, slot := range slots {
			b.put(holding(record(1+(i*8)%len(slots), ""), slot)) // ids in no order
		}
		item := holding(record(100, ""), "a")
		item.Kind = "item"
		facty := holding(record(101, ""), "a")
		facty.Kind = loci.KindFact + "\x01"
		b.put(item, facty, record(102, ""), placed(holding(record(103, ""), "a"), "user"),
			placed(holding(record(104, ""), "a"), "user", "ada", "deeper"))
		for _, size := range []int{1, 2, 20, 21, 22} {
			f := loci.Filter{Within: []loci.Namespace{home}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
			b.same("slots", slotsOf(b.inOrder(f, loci.SlotAscending, size)), slots)
			down := slotsOf(b.inOrder(f, loci.SlotDescending, size))
			slices.Reverse(down)
			b.same("slots, the last first", down, slots)
		}
	}},
	{"pages end at a number of bytes", func(b *bench) {
		f := loci.Filter{Within: []loci.Namespace{home}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
		var made []loci.Record
		for n := range 200 { // of sizes from 0 to 3 KB
			r := holding(record(1+(n*7)%200, strings.Repeat("x", n*n*37%2500)), fmt.Sprintf("slot %03d", n))
			r.Body = []byte(`{"n":"` + strings.Repeat("y", n*31%500) + `"}`)
			made = append(made, r)
		}
		for part := range slices.Chunk(made, 50) {
			b.apply(creation(part...))
		}
		size := func(records []loci.Record) (sum int) {
			for _, r := range records {
				sum += len(r.Text) + len(r.Attributes) + len(r.Body)
			}
			return sum
		}
		for _, order := range orders {
			want := b.inOrder(f, order, 1000)
			for _, from := range []struct {
				many int // come in a page before: the last pages are as the first
				loci.Page
			}{
				{160, loci.Page{MaxBytes: 1}}, {100, loci.Page{MaxBytes: 4000}},
				{0, loci.Page{MaxBytes: 4000, NoText: true}},
				{0, loci.Page{MaxBytes: 20_000, Limit: 7}}, {0, loci.Page{MaxBytes: 200_000, Limit: 1000}},
				{0, loci.Page{MaxBytes: 1 << 30, Limit: 150}},
			} {
				page := from.Page
				page.Order = order
				var all []loci.Record
				if from.many > 0 {
					all, page.Cursor = b.page(f, loci.Page{Limit: from.many, Order: order})
				}
				for {
					records, next, err := b.store.Records(b.Context(), b.tenant, f, page)
					b.must("Records", err)
					if len(records) == 0 || len(records) > 1 && size(records) > page.MaxBytes {
						b.Fatalf("order %d, %+v: a page of %d with %d bytes", order, page, len(records), size(records))
					}
					all = append(all, records...)
					if page.Cursor = next; next == "" {
						break
					}
					rest := want[len(all)]
					if page.NoText {
						rest.Text = ""
					}
					if len(records) < page.Limit && size(append(records, rest)) <= page.MaxBytes {
						b.Errorf("order %d, %+v: a page of %d had room for one more", order, page, len(records))
					}
				}
				b.same(fmt.Sprintf("records in order %d by %+v", order, page), recordIDs(all), recordIDs(want))
			}
			named := f
			named.IDs = recordIDs(want[:40])
			one := loci.Page{MaxBytes: 1, Order: order}
			records, next, err := b.store.Records(b.Context(), b.tenant, named, one)
			if len(records) != 1 || next == "" || records[0].ID != want[0].ID {
				b.Errorf("order %d, named by ids: %d records, next %q, %v", order, len(records), next, err)
			}
		}
	}},
	{"slots that several hold come by id", func(b *bench) {
		for n := 1; n <= 12; n++ {
			r := placed(holding(record(1+(n*5)%12, ""), fmt.Sprint("slot ", n%2)), "place", fmt.Sprint(n))
			b.put(r)
		}
		want := ids(1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10, 12) // 5n+1 is odd where n is even
		for _, size := range []int{1, 4, 5, 12, 100} {
			b.same("ids", recordIDs(b.inOrder(loci.Filter{Within: everywhere}, loci.SlotAscending, size)), want)
			down := recordIDs(b.inOrder(loci.Filter{Within: everywhere}, loci.SlotDescending, size))
			slices.Reverse(down)
			b.same("ids, the last first", down, want)
		}
	}},
	{"a range of slots is half open", func(b *bench) {
		slots := []string{"", "a", "a\x00", "a/", "a/1", "a/\xff\xff", "a0", "b", "\xff", "\xff\xff"}
		for i, slot := range slots {
			b.put(holding(record(i+1, "walrus"), slot))
		}
		for _, r := range []loci.SlotRange{
			{}, {From: "\x00"}, {From: "a"}, {To: "a"}, {To: "a\x00"}, {From: "a", To: "a"}, {From: "b", To: "a"},
			{From: "a/", To: "a0"}, loci.SlotsBeginning("a/"), loci.SlotsBeginning("a/\xff"),
			loci.SlotsBeginning("\xff"), loci.SlotsBeginning(""), {To: "\xff\xff\xff"},
		} {
			for _, f := range []loci.Filter{
				{Within: everywhere},
				{Within: []loci.Namespace{home}, Exact: true, Kinds: []loci.Kind{loci.KindFact}},
			} {
				f.Slots = r
				b.ranged(f, slots)
			}
		}
	}},
	{"pages by slot stand still while others write", func(b *bench) {
		for n := 1; n <= 20; n++ {
			b.put(holding(record(n, ""), fmt.Sprintf("%02d", n)))
		}
		f := loci.Filter{Within: []loci.Namespace{home}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
		first, cursor := b.page(f, loci.Page{Limit: 10, Order: loci.SlotDescending})
		b.same("first page", recordIDs(first), ids(20, 19, 18, 17, 16, 15, 14, 13, 12, 11))
		b.apply(erasure(first[9], record(10, "")))                                    // the last of the page and the next
		b.put(holding(record(21, ""), "99"), holding(record(22, ""), "11"))           // before the place, and at it
		b.put(next(holding(record(5, ""), "055")), holding(record(23, ""), "10\x00")) // moved, and just behind it
		second, end := b.page(f, loci.Page{Limit: 20, Order: loci.SlotDescending, Cursor: cursor})
		b.same("second page", recordIDs(second), ids(23, 9, 8, 7, 6, 5, 4, 3, 2, 1))
		b.same("next cursor", end, "")
	}},
	{"a slot that was given up, passed on or erased is not listed there", func(b *bench) {
		one, two, three := holding(record(1, ""), "a"), holding(record(2, ""), "b"), holding(record(3, ""), "c")
		b.put(one, two, three)
		b.apply(creation(next(holding(one, "b")), next(holding(two, ""))))
		b.apply(erasure(three))
		f := loci.Filter{Within: []loci.Namespace{home}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
		b.same("ids", recordIDs(b.inOrder(f, loci.SlotAscending, 10)), ids(1))
		f.Slots = loci.SlotRange{From: "a"}
		b.same("ids in a range", recordIDs(b.all(f)), ids(1))
	}},
	{"an unknown order and a cursor of another order are refused", func(b *bench) {
		for n := 1; n <= 3; n++ {
			b.put(holding(record(n, ""), strings.Repeat("x", n))) // 7 bytes of slot are as long as a time
		}
		f := loci.Filter{Within: everywhere}
		for _, order := range []loci.Order{-1, 4} {
			_, _, err := b.store.Records(b.Context(), b.tenant, f, loci.Page{Order: order})
			b.refused(fmt.Sprint("Records in the order ", order), err, loci.Invalid)
		}
		_, byTime := b.page(f, loci.Page{Limit: 1})
		_, bySlot := b.page(f, loci.Page{Limit: 1, Order: loci.SlotAscending})
		for cursor, order := range map[string]loci.Order{byTime: loci.SlotAscending, bySlot: loci.NewestFirst} {
			_, _, err := b.store.Records(b.Context(), b.tenant, f, loci.Page{Order: order, Cursor: cursor})
			b.refused("Records from a cursor of another order", err, loci.Invalid)
		}
		for _, cursor := range []string{bySlot[:len(bySlot)-1], bySlot + "A", bySlot + "AA", "cw", "cwA", "c_____________8", "cwAAAAAAAAAAAAAAAAAAAAAA"} {
			_, _, err := b.store.Records(b.Context(), b.tenant, f,
				loci.Page{Order: loci.SlotDescending, Cursor: cursor})
			b.refused(fmt.Sprintf("Records from the cursor %q", cursor), err, loci.Invalid)
		}
	}},
}

// ranged holds what a filter with a range of slots selects against its meaning, where
// record n+1 holds the n-th slot.
func (b *bench) ranged(f loci.Filter, slots []string) {
	b.Helper()
	var want []loci.ID
	held := 0
	for i, slot := range slots {
		if f.Slots.Contains(slot) {
			want = append(want, id(i+1))
			if slot != "" {
				held++
			}
		}
	}
	what := fmt.Sprintf("%q, exact %v", f.Slots, f.Exact)
	got := recordIDs(b.inOrder(f, loci.OldestFirst, 3))
	b.same("records in "+what, got, want)
	hits := hitIDs(b.match(words("walrus"), f, 100))
	slices.Reverse(hits)
	b.same("hits in "+what, hits, want)
	counts, err := b.store.Count(b.Context(), b.tenant, f)
	b.must("Count", err)
	b.same("number in "+what, counts.Records, int64(len(want)))
	for _, size := range []int{1, 2, 100} {
		up, down := slotsOf(b.inOrder(f, loci.SlotAscending, size)), slotsOf(b.inOrder(f, loci.SlotDescending, size))
		if slices.Reverse(down); !slices.IsSorted(up) || !slices.Equal(up, down) || len(up) != held {
			b.Errorf("%s in pages of %d: up %q, down %q; want %d", what, size, up, down, held)
		}
	}
}

// inOrder lists what a filter selects in an order, in pages of a size.
func (b *bench) inOrder(f loci.Filter, order loci.Order, size int) []loci.Record {
	b.Helper()
	return recordsInOrder(b.Context(), b, b.store, b.tenant, f, order, size)
}

func slotsOf(records []loci.Record) (slots []string) {
	for i := range records {
		slots = append(slots, records[i].Slot)
	}
	return slots
}

// ordered are the records that a list of an order has, in that order.
func ordered(records []loci.Record, order loci.Order) []loci.Record {
	records = slices.Clone(records)
	if !order.BySlot() {
		newestFirst(records)
	} else {
		records = slices.DeleteFunc(records, func(r loci.Record) bool { return r.Slot == "" })
		slices.SortFunc(records, func(a, b loci.Record) int {
			if a.Slot != b.Slot {
				return strings.Compare(a.Slot, b.Slot)
			}
			return slices.Compare(a.ID[:], b.ID[:])
		})
	}
	if order == loci.OldestFirst || order == loci.SlotDescending {
		slices.Reverse(records)
	}
	return records
}
