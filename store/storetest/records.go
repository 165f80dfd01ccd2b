package storetest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

var recordCases = []testCase{
	{"an empty store lists nothing", func(b *bench) {
		b.same("records", b.all(loci.Filter{Within: everywhere, NotLive: true}), nil)
	}},
	{"records come newest first, then by id", func(b *bench) {
		var want []loci.Record
		for n := 1; n <= 60; n++ {
			r := record(61-n, "") // ids fall as times rise
			r.CreatedAt = at(n / 7)
			b.put(r)
			want = append(want, r)
		}
		newestFirst(want)
		b.same("records", b.all(loci.Filter{Within: everywhere}), want)
	}},
	{"pages lose and double nothing", func(b *bench) {
		var want []loci.Record
		for n := 1; n <= 61; n++ {
			r := record(n, "")
			r.CreatedAt = at(n / 25) // pages end among equal times
			want = append(want, r)
		}
		b.apply(creation(want...))
		newestFirst(want)
		for _, size := range []int{1, 2, 7, 30, 60, 61, 62, 1000} {
			b.same(fmt.Sprint("records in pages of ", size),
				allRecords(b.Context(), b, b.store, b.tenant, loci.Filter{Within: everywhere}, size), want)
		}
	}},
	{"a list without texts has all the rest", func(b *bench) {
		full := holding(record(1, "walrus"), "slot")
		full.Kind, full.Attributes = loci.KindFact, json.RawMessage(`{"k":"v"}`)
		b.put(full)
		head := full
		head.Text = ""
		place := loci.Filter{Within: []loci.Namespace{full.Namespace}, Exact: true, Kinds: []loci.Kind{full.Kind}}
		byID := loci.Filter{Within: everywhere, IDs: []loci.ID{full.ID}}
		placed := place
		placed.IDs = byID.IDs
		for _, f := range []loci.Filter{{Within: everywhere}, place, byID, placed} {
			for _, f.Where = range []loci.Where{
				{}, where(b, map[string]any{"k": "v"}), where(b, map[string]any{"content": "walrus"}),
			} {
				for _, order := range []loci.Order{
					loci.NewestFirst, loci.OldestFirst, loci.SlotAscending, loci.SlotDescending,
				} {
					got, _ := b.page(f, loci.Page{Order: order, NoText: true})
					b.same("heads", got, []loci.Record{head})
					got, _ = b.page(f, loci.Page{Order: order})
					b.same("whole records", got, []loci.Record{full})
				}
			}
		}
		b.same("records", b.all(loci.Filter{Within: everywhere}), []loci.Record{full})
	}},
	{"ids are a condition like others", func(b *bench) {
		elsewhere, gone, rule := placed(record(2, "walrus"), "elsewhere"), record(3, "walrus"), record(4, "walrus")
		gone.Live, rule.Kind, rule.Scope, rule.Status = false, loci.KindRule, "own", "proven"
		fading := record(5, "walrus")
		fading.Decay = loci.Decay{Confidence: 0.1, From: at(5)}
		tagged := record(6, "walrus")
		tagged.Tags = []string{"t"}
		plain := record(1, "walrus")
		b.put(plain, elsewhere, gone, rule, fading, tagged)
		ids := []loci.ID{tagged.ID, plain.ID, id(99), plain.ID, rule.ID, elsewhere.ID, gone.ID, fading.ID, plain.ID}
		at7, there, rules := at(7), []loci.Namespace{home}, []loci.Kind{loci.KindRule}
		for what, c := range map[string]struct {
			f    loci.Filter
			want []loci.Record
		}{
			"all":          {loci.Filter{NotLive: true}, []loci.Record{tagged, fading, rule, gone, elsewhere, plain}},
			"live":         {loci.Filter{}, []loci.Record{tagged, fading, rule, elsewhere, plain}},
			"sure":         {loci.Filter{MinConfidence: 0.5, At: at7}, []loci.Record{tagged, rule, elsewhere, plain}},
			"a place":      {loci.Filter{Within: []loci.Namespace{elsewhere.Namespace}}, []loci.Record{elsewhere}},
			"that alone":   {loci.Filter{Within: there, Exact: true}, []loci.Record{tagged, fading, rule, plain}},
			"a kind there": {loci.Filter{Within: there, Exact: true, Kinds: rules}, []loci.Record{rule}},
			"a kind":       {loci.Filter{Kinds: rules}, []loci.Record{rule}},
			"a scope":      {loci.Filter{Scopes: []string{"own"}}, []loci.Record{rule}},
			"a status":     {loci.Filter{Statuses: []string{"proven"}}, []loci.Record{rule}},
			"a tag":        {loci.Filter{Tags: []string{"t"}}, []loci.Record{tagged}},
			"since":        {loci.Filter{Since: at(5)}, []loci.Record{tagged, fading}},
			"until":        {loci.Filter{Until: at(2)}, []loci.Record{plain}},
			"nowhere":      {loci.Filter{Within: []loci.Namespace{}}, nil},
		} {
			if c.f.Within == nil {
				c.f.Within = everywhere
			}
			c.f.IDs = ids
			got, next := b.page(c.f, loci.Page{Limit: len(ids)})
			b.same(what, got, c.want)
			b.same("the page after "+what, next, "")
			c.f.IDs = []loci.ID{id(98), id(99)}
			got, _ = b.page(c.f, loci.Page{Limit: 2})
			b.same("of others: "+what, got, nil)
		}
	}},
	{"a brief list has what tells records apart", func(b *bench) {
		for n, kind := range []loci.Kind{loci.KindFact, "file"} { // files have lists of their own in some stores
			briefly(b, kind, 1+2*n)
		}
	}},
	{"a list of cores has what a context looks at", func(b *bench) {
		full := holding(record(1, "walrus"), "slot")
		full.Kind, full.Status, full.Scope, full.Heading = loci.KindFact, "active", "global", "heading"
		full.Attributes, full.Body, full.Tags = json.RawMessage(`{"k":"v"}`), json.RawMessage(`{"b":1}`), []string{"t"}
		full.Sequence, full.Position, full.ExpiresAt = "s", 3, at(1000)
		full.Decay = loci.Decay{Confidence: 0.5, Rate: 0.25, From: at(1)}
		full.EndsAt, full.DueAt = at(1000), at(900)
		bare := record(2, "seal")
		b.put(full, bare)
		want := []loci.Record{full.Core(), bare.Core()}
		if c := want[0]; c.Slot != "" || c.Tags != nil || c.Text != full.Text || c.Status != full.Status {
			b.Errorf("the core is %+v", c)
		}
		slot := full.Slot
		for _, f := range []loci.Filter{
			{}, {IDs: ids(1, 2, 77)}, {IDs: ids(1, 2), At: at(2), MinConfidence: 0.1}, {IDs: ids(1), Tags: full.Tags},
			{IDs: ids(1), Scopes: []string{"global"}},
			{IDs: ids(1), Slot: &slot}, {IDs: ids(1), Slots: loci.SlotsBeginning("s")},
			{IDs: ids(1), Sequences: []string{"s"}}, {IDs: ids(1), Due: at(950)},
			{IDs: ids(1), Statuses: []string{"active"}},
			{IDs: ids(1), Where: where(b, map[string]any{"k": "v"})},
			{IDs: ids(1), Where: where(b, map[string]any{"content": "walrus"})},
		} {
			f.Within = everywhere
			wanted := want
			if len(f.IDs) == 1 {
				wanted = want[:1]
			}
			for _, page := range []loci.Page{{}, {Order: loci.OldestFirst}, {Limit: 2}} {
				page.Core = true
				got, _ := b.page(f, page)
				slices.SortFunc(got, func(x, y loci.Record) int { return int(x.ID[15]) - int(y.ID[15]) }) // in any order
				b.same("cores", got, wanted)
			}
		}
	}},
	{"records by their ids come in order, a whole page or a part of one", func(b *bench) {
		for n := 1; n <= 9; n++ {
			r := record(n, "")
			r.CreatedAt = at(n / 3) // three of each instant: then ids decide
			b.put(r)
		}
		f := loci.Filter{Within: everywhere, IDs: ids(5, 1, 8, 3, 4, 2, 77)}
		newest := allRecords(b.Context(), b, b.store, b.tenant, loci.Filter{Within: everywhere}, 100)
		newest = slices.DeleteFunc(newest, func(r loci.Record) bool { return !slices.Contains(f.IDs, r.ID) })
		oldest := slices.Clone(newest)
		slices.Reverse(oldest)
		for _, limit := range []int{100, 7, 6, 4} {
			got, _ := b.page(f, loci.Page{Limit: limit})
			b.same("newest first", got, newest[:min(limit, len(newest))])
			got, _ = b.page(f, loci.Page{Limit: limit, Order: loci.OldestFirst})
			b.same("oldest first", got, oldest[:min(limit, len(oldest))])
		}
	}},
	{"records by their ids have every field of those in a list", func(b *bench) {
		full := record(2, "die Straße nach Łódź")
		full.Slot, full.Sequence, full.Position = "slot\x00\xff 7 ", "séquence", 3
		full.Scope, full.Status, full.Heading, full.Tags = "größe", "ärger", "Überschrift", []string{"ü", "ß 1"}
		full.Attributes, full.Body = json.RawMessage(`{"k":"ö"}`), json.RawMessage(`{"b":"€"}`)
		full.Decay = loci.Decay{Confidence: math.Nextafter(0.3, 1), Rate: 1.0 / 3, From: at(4)}
		full.EndsAt, full.DueAt, full.ExpiresAt = at(500), at(400), at(600)
		bare := placed(record(1, ""), "elsewhere", "ö")
		bare.Tags = []string{`\`} // of JSON with a backslash no search for a text says what its tags are
		old := record(3, "before 1970")
		old.CreatedAt, old.UpdatedAt = time.UnixMilli(-1).UTC(), time.UnixMilli(-1).UTC()
		b.put(full, bare, old)
		b.touch(loci.Touch{ID: full.ID, At: at(9)})
		full.Uses, full.UsedAt = 1, at(9)
		want := []loci.Record{full, bare, old}
		b.same("in a list", b.all(loci.Filter{Within: everywhere}), want)
		got, _ := b.page(loci.Filter{Within: everywhere, IDs: ids(3, 2, 1)}, loci.Page{})
		b.same("by their ids", got, want)
		got, _ = b.page(loci.Filter{Within: everywhere, IDs: ids(3, 2, 1), Tags: []string{"ü"}}, loci.Page{})
		b.same("by their ids, with a tag", got, want[:1])
	}},
	{"a full page of a condition on attributes is full", func(b *bench) {
		for n := 1; n <= 90; n++ {
			r := record(n, "")
			r.Attributes = []byte(fmt.Sprintf(`{"third":%d}`, n%3))
			b.put(r)
		}
		f := loci.Filter{Within: everywhere, Where: where(b, map[string]any{"third": 1})}
		if got := allRecords(b.Context(), b, b.store, b.tenant, f, 4); len(got) != 30 {
			b.Errorf("%d records; want 30", len(got))
		}
	}},
	{"pages stand still while others write", func(b *bench) {
		for n := 1; n <= 20; n++ {
			b.put(record(n, ""))
		}
		f := loci.Filter{Within: everywhere}
		first, cursor := b.page(f, loci.Page{Limit: 10})
		b.same("first page", recordIDs(first), ids(20, 19, 18, 17, 16, 15, 14, 13, 12, 11))
		b.apply(erasure(first[9], first[0], record(10, ""))) // the last of the page, its first, and the next
		b.put(record(30, ""))                                // newer than all
		b.put(next(record(9, "revised")))
		second, end := b.page(f, loci.Page{Limit: 10, Cursor: cursor})
		b.same("second page", recordIDs(second), ids(9, 8, 7, 6, 5, 4, 3, 2, 1))
		b.same("next cursor", end, "")
	}},
	{"a page is of 1 to 1000, by default 100", func(b *bench) {
		var records []loci.Record
		for n := 1; n <= 101; n++ {
			records = append(records, record(n, ""))
		}
		b.apply(creation(records...))
		f := loci.Filter{Within: everywhere}
		if got, next := b.page(f, loci.Page{}); len(got) != 100 || next == "" {
			b.Errorf("the default page holds %d, next %q; want 100 and a cursor", len(got), next)
		}
		if got, next := b.page(f, loci.Page{Limit: 101}); len(got) != 101 || next != "" {
			b.Errorf("a page of all holds %d, next %q; want 101 and no cursor", len(got), next)
		}
		for _, limit := range []int{-1, -1000, 1001, 1 << 40} {
			_, _, err := b.store.Records(b.Context(), b.tenant, f, loci.Page{Limit: limit})
			b.refused(fmt.Sprint("Records with the limit ", limit), err, loci.Invalid)
			_, _, err = b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere},
				loci.Page{Limit: limit})
			b.refused(fmt.Sprint("Events with the limit ", limit), err, loci.Invalid)
		}
	}},
	{"a damaged cursor is refused", func(b *bench) {
		b.put(record(1, ""), record(2, ""), record(3, ""))
		f := loci.Filter{Within: everywhere}
		_, good := b.page(f, loci.Page{Limit: 1})
		_, goodEvents, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere},
			loci.Page{Limit: 1})
		b.must("Events", err)
		bad := []string{"x", "-1", "not a cursor", "\x00", "\xff\xfe", " ", "'", "1; DROP TABLE records", "9223372036854775808",
			"AAAA", "=", strings.Repeat("A", 10_000), strings.Repeat("9", 100), "日本"}
		for _, cursor := range append(bad, good[:len(good)-1], good+"A", " "+good) {
			_, _, err := b.store.Records(b.Context(), b.tenant, f, loci.Page{Cursor: cursor})
			b.refused(fmt.Sprintf("Records from the cursor %.40q", cursor), err, loci.Invalid)
		}
		for _, cursor := range append(bad, goodEvents+"-", " "+goodEvents) {
			_, _, err := b.store.Events(b.Context(), b.tenant, loci.EventFilter{Within: everywhere},
				loci.Page{Cursor: cursor})
			b.refused(fmt.Sprintf("Events from the cursor %.40q", cursor), err, loci.Invalid)
		}
	}},
	{"many ids, places and tags in one filter", func(b *bench) {
		var records []loci.Record
		f := loci.Filter{}
		for n := 1; n <= 1000; n++ {
			records = append(records, placed(record(n, ""), "place", fmt.Sprint(n%200)))
			f.IDs = append(f.IDs, id(2*n))
		}
		for n := range 200 {
			f.Within = append(f.Within, loci.Namespace{"place", fmt.Sprint(n)}, loci.Namespace{"place", fmt.Sprint(n), "deeper"})
		}
		for n := range 16 {
			f.Tags = append(f.Tags, fmt.Sprint("tag ", n))
		}
		records[99].Tags = f.Tags
		b.apply(creation(records...))
		b.same("records", recordIDs(b.all(f)), ids(100))
		f.Tags = nil
		if got := b.all(f); len(got) != 500 {
			b.Errorf("%d records; want 500", len(got))
		}
	}},
}

// newestFirst orders records as a store lists them.
func newestFirst(records []loci.Record) {
	slices.SortFunc(records, func(a, b loci.Record) int {
		if c := b.CreatedAt.Compare(a.CreatedAt); c != 0 {
			return c
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
}

// page reads one page.
func (b *bench) page(f loci.Filter, p loci.Page) ([]loci.Record, string) {
	b.Helper()
	records, next, err := b.store.Records(b.Context(), b.tenant, f, p)
	b.must("Records", err)
	var each []loci.Record
	p.Each = func(r *loci.Record) {
		one := *r
		one.Slot = strings.Clone(r.Slot)
		one.Attributes, one.Body = slices.Clone(r.Attributes), slices.Clone(r.Body)
		each = append(each, one)
	}
	listed, after, err := b.store.Records(b.Context(), b.tenant, f, p)
	b.must("Records", err)
	if each = append(each, listed...); after != next {
		b.Errorf("the page after is %q, and %q for one who takes each record", next, after)
	}
	b.same("records taken one by one", each, records)
	return records, next
}

// where parses a condition on attributes.
func where(t tester, filter map[string]any) loci.Where {
	t.Helper()
	w, err := loci.ParseWhere(filter)
	if err != nil {
		t.Fatalf("ParseWhere(%v): %v", filter, err)
	}
	return w
}

// briefly lists records of a kind, of which two are made.
func briefly(b *bench, kind loci.Kind, n int) {
	full := holding(record(n, "walrus"), "slot")
	full.Kind, full.Status, full.Scope, full.Heading = kind, "active", "global", "heading"
	full.Attributes, full.Body, full.Tags = json.RawMessage(`{"k":"v"}`), json.RawMessage(`{"b":1}`), []string{"t"}
	full.Sequence, full.Position = "s", 3
	b.put(full)
	brief := full.Brief()
	if brief.Text != "" || brief.Body != nil || brief.Slot != full.Slot || string(brief.Attributes) != `{"k":"v"}` {
		b.Errorf("the brief record is %+v", brief)
	}
	place := loci.Filter{Within: []loci.Namespace{full.Namespace}, Exact: true, Kinds: []loci.Kind{full.Kind}}
	tagged, text := place, place
	tagged.Tags = []string{"t"}
	if kind == loci.KindFact { // whose content is its text
		text.Where = where(b, map[string]any{"content": "walrus"})
	} else {
		text.Where = where(b, map[string]any{"k": "v"})
	}
	for _, f := range []loci.Filter{{Within: everywhere, Kinds: []loci.Kind{kind}}, place, tagged, text} {
		for _, order := range []loci.Order{
			loci.NewestFirst, loci.OldestFirst, loci.SlotAscending, loci.SlotDescending,
		} {
			got, _ := b.page(f, loci.Page{Order: order, Brief: true})
			b.same("brief records", got, []loci.Record{brief})
			bodied := brief
			bodied.Body = full.Body
			got, _ = b.page(f, loci.Page{Order: order, Brief: true, Bodies: true})
			b.same("brief records with bodies", got, []loci.Record{bodied})
		}
	}
	other := holding(record(n+1, "seal"), "slot2") // what the filters name is a part of what it has
	other.Kind, other.Tags, other.Attributes = kind, []string{"tt"}, json.RawMessage(`{"content":"walruses"}`)
	b.put(other)
	for _, f := range []loci.Filter{tagged, text} {
		got, _ := b.page(f, loci.Page{Order: loci.SlotAscending, Brief: true})
		b.same("brief records of a filter", got, []loci.Record{brief})
	}
}
