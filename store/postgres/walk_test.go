package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// planted makes one change of many creations: count of them, as plant makes the n-th one.
func planted(t *testing.T, s loci.Store, tn loci.Tenant, count int, plant func(n int, r *loci.Record)) (ids []loci.ID) {
	t.Helper()
	at := time.UnixMilli(1_700_000_000_000).UTC()
	for n := 0; n < count; {
		var c loci.Change
		for ; n < count && len(c.Put) < 500; n++ {
			one := creation(loci.NewID())
			r := &one.Put[0].Record
			r.CreatedAt = at.Add(time.Duration(n) * time.Millisecond)
			r.UpdatedAt = r.CreatedAt
			plant(n, r)
			one.Events[0].Namespace, one.Events[0].Kind = r.Namespace, r.Kind
			c.Put, c.Events, ids = append(c.Put, one.Put...), append(c.Events, one.Events...), append(ids, r.ID)
		}
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
	}
	return ids
}

// TestNamedRecordsAreLookedUp: a list and a count of records by their ids read those records, with whatever else they ask
// for, and also where the database has counted nothing, or has a plan for all arguments. A record that is named twice is
// there once.
func TestNamedRecordsAreLookedUp(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openWith(t, d.Server, unkept()), locitest.Tenant(t, "named")
	ids := planted(t, s, tn, 900, func(n int, r *loci.Record) {
		r.Namespace, r.Kind = loci.Namespace{"user", fmt.Sprint("u", n%90)}, laneKinds[n%2]
	})
	named := append(slices.Clone(ids[100:110]), ids[100], loci.NewID())
	for _, counted := range []bool{false, true} {
		if counted {
			execute(t, d.Super, "VACUUM ANALYZE loci.record, loci.namespace")
		}
		read := reads(t, d.Super)
		for name, f := range map[string]loci.Filter{
			"everywhere": {Within: []loci.Namespace{{}}},
			"above":      {Within: []loci.Namespace{{"user"}}, Kinds: laneKinds, At: time.Now()},
			"a kind":     {Within: []loci.Namespace{{"user"}}, Kinds: laneKinds[:1], NotLive: true},
			"one place":  {Within: []loci.Namespace{{"user", "u10"}}, Exact: true, Kinds: laneKinds},
		} {
			f.IDs = named
			want := map[string]int{"one place": 1, "a kind": 5}[name]
			if want == 0 {
				want = 10
			}
			rows := read(func() {
				found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: 100})
				n, failed := s.Count(t.Context(), tn, f)
				if err != nil || failed != nil || len(found) != want || n.Records != int64(want) {
					t.Errorf("%s: %d records, %+v counted, %v, %v", name, len(found), n, err, failed)
				}
			})
			if most := 2 * len(named); rows > most {
				t.Errorf("%s, counted %t: a list and a count of %d named records read %d", name, counted, len(named), rows)
			}
			var sql string
			postgres.Observe(func(text string, args []any) {
				if watch(text, args); strings.Contains(text, "FROM loci.record ") {
					sql = text
				}
			})
			if _, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: 100}); err != nil {
				t.Fatal(err)
			}
			plan, err := postgres.Explain(t.Context(), s, tn, sql, nil)
			if !strings.Contains(string(plan), "(id >= k.v)") || err != nil {
				t.Errorf("%s, counted %t: a plan for all arguments looks nothing up, %v: %s\n%s", name, counted, err, sql, plan)
			}
			read = reads(t, d.Super)
		}
	}
}

// TestPagesOverManyNamespacesReadWhatTheyShow: beyond the namespaces that are merged a page reads about as many records as
// it shows, where those that come next are in the list, and the list is whole. Where few of them are, it reads what the
// list reaches; and a list of what is no longer live reads that alone. A page of events looks at the namespaces of those.
func TestPagesOverManyNamespacesReadWhatTheyShow(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openWith(t, d.Server, unkept()), locitest.Tenant(t, "wide")
	const few, wide, other, spaces, limit = 80, 1500, 600, 100, 10
	kept := map[loci.Kind][]loci.ID{}
	planted(t, s, tn, few+wide+other, func(n int, r *loci.Record) {
		r.Namespace, r.Kind = loci.Namespace{"user", fmt.Sprint("u", n%spaces)}, laneKinds[n%2]
		r.Live = n >= wide || n%100 != 7
		switch {
		case n >= wide+few:
			r.Namespace = loci.Namespace{"other"}
		case n >= wide:
			r.Namespace[0] = "few"
		case r.Live:
			kept[r.Kind] = append(kept[r.Kind], r.ID)
		}
	})
	execute(t, d.Super, "VACUUM ANALYZE loci.record, loci.namespace")
	// Tables are small here: the database would rather read them whole.
	execute(t, d.Super, "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', current_database()); END $$")
	read := reads(t, d.Super)
	for name, c := range map[string]struct {
		within string
		f      loci.Filter
		o      loci.Order
		most   int
	}{
		"wide":      {"user", loci.Filter{Kinds: laneKinds}, loci.OldestFirst, 2*limit + 5},
		"a kind":    {"user", loci.Filter{Kinds: laneKinds[:1]}, loci.OldestFirst, limit + 5},
		"gone":      {"user", loci.Filter{Kinds: laneKinds[1:2], Gone: true, NotLive: true}, loci.NewestFirst, (wide + other) / 50},
		"gone, all": {"user", loci.Filter{Kinds: laneKinds, Gone: true, NotLive: true}, loci.OldestFirst, (wide + other) / 50},
	} {
		f := c.f
		f.Within, f.At = []loci.Namespace{{c.within}}, time.Now()
		rows := read(func() {
			found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: limit, Order: c.o})
			if err != nil || len(found) != limit {
				t.Errorf("%s: a list of %d records, %v", name, len(found), err)
			}
		})
		if rows > c.most {
			t.Errorf("%s: a list of %d records reads %d", name, limit, rows)
		}
	}
	checkLanes(t, s, tn, []loci.Namespace{{"user"}}, kept)
	looked, sorted := 0, 0
	postgres.Observe(func(sql string, args []any) {
		if watch(sql, args); strings.Contains(sql, "(r.namespace IN (SELECT") {
			sorted++
		}
		if strings.Contains(sql, "loci.event e") && strings.Contains(sql, "n = e.namespace") { // else the database chooses
			looked++
		}
	})
	f := loci.Filter{Within: []loci.Namespace{{"few"}}, Kinds: laneKinds}
	gone := loci.Filter{Within: []loci.Namespace{{"user"}}, Kinds: laneKinds, Gone: true, NotLive: true}
	for n, f := range []loci.Filter{f, gone} {
		found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: limit, Order: loci.Order(n)})
		if err != nil || len(found) != limit || sorted != n+1 {
			t.Errorf("a list of %d records that few of the next ones are among, %d lists sorted, %v", len(found), sorted, err)
		}
	}
	events := loci.EventFilter{Within: []loci.Namespace{{"other"}}}
	if found, _, err := s.Events(t.Context(), tn, events, loci.Page{Limit: limit}); err != nil || len(found) != limit ||
		looked != 1 {
		t.Errorf("a page of %d events, in %d statements that look at their namespaces, %v", len(found), looked, err)
	}
}

// TestPagesBySlotReadWhatTheyShow: a page by slot reads what it shows, of one namespace, in both orders, though the
// database was never told how many there are; and slots that begin alike, longer than what the index holds, are in order.
func TestPagesBySlotReadWhatTheyShow(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	// A sort that goes on from the order of the index is the planner's choice, which it does not always make.
	execute(t, d.Super, `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET enable_incremental_sort = off', current_database());
	END $$`)
	s, tn := openWith(t, d.Server, unkept()), locitest.Tenant(t, "slots")
	const all, long, limit = 600, 40, 10
	var slots []string
	planted(t, s, tn, all+long, func(n int, r *loci.Record) {
		r.Namespace, r.Slot = loci.Namespace{"user"}, fmt.Sprintf("s%03d", n)
		if n >= all {
			r.Slot = "t" + strings.Repeat("x", 1100) + fmt.Sprintf("%03d", n*7%1000)
		}
		slots = append(slots, r.Slot)
	})
	slices.Sort(slots)
	read := reads(t, d.Super)
	for _, order := range []loci.Order{loci.SlotAscending, loci.SlotDescending} {
		if order == loci.SlotDescending {
			slices.Reverse(slots)
		}
		f := loci.Filter{Within: []loci.Namespace{{"user"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
		for cursor, at := "", 0; at < len(slots); {
			var found []loci.Record
			p := loci.Page{Limit: limit, Order: order, Cursor: cursor}
			rows := read(func() {
				var err error
				if found, cursor, err = s.Records(t.Context(), tn, f, p); err != nil || len(found) != limit {
					t.Fatalf("%d records, %v", len(found), err)
				}
			})
			for i := range found {
				if found[i].Slot != slots[at+i] {
					t.Fatalf("slot %d in order %v is another one", at+i, order)
				}
			}
			most := limit + 3 // one behind the page, one that ends it, and where it begins
			if order == loci.SlotDescending {
				most += long
			}
			if at += limit; rows > most {
				t.Errorf("order %v: a page of %d slots reads %d", order, limit, rows)
			}
			if at == 5*limit { // the rest in one page
				f.Slots.From, f.Slots.To = "t", "u"
				cursor = ""
				found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: 100, Order: order})
				if err != nil || len(found) != long || !slices.IsSortedFunc(found, func(a, b loci.Record) int {
					if order == loci.SlotDescending {
						a, b = b, a
					}
					return strings.Compare(a.Slot, b.Slot)
				}) {
					t.Errorf("%d long slots, or not in order %v, %v", len(found), order, err)
				}
				break
			}
		}
	}
}

// TestUpkeepReadsNoRecords: where the kept counts say that each record has vectors, none is looked at to find one without.
func TestUpkeepReadsNoRecords(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openWith(t, d.Server, unkept()), locitest.Tenant(t, "upkeep")
	ids := planted(t, s, tn, 20, func(_ int, r *loci.Record) { r.Namespace = loci.Namespace{"user"} })
	space := loci.Space{Model: "model", Dims: 3}
	looked := 0
	postgres.Observe(func(sql string, args []any) {
		if watch(sql, args); strings.Contains(sql, "FROM loci.record") {
			looked++
		}
	})
	for n := len(ids); n >= 0; n -= 10 {
		looked = 0
		found, err := s.Unembedded(t.Context(), tn, space, loci.ID{}, 100)
		if err != nil || len(found) != n || n == 0 && looked > 0 {
			t.Errorf("%d records without vectors, not %d, %v; %d statements are about records", len(found), n, err, looked)
		}
		for i := range found[:min(n, 10)] {
			one := &found[i]
			vectors := loci.RecordVectors{ID: one.ID, Version: one.Version, Vectors: loci.Vectors{Space: space}}
			for range found[i].Passages {
				vectors.Vectors.Rows = append(vectors.Vectors.Rows, []float32{1, 0, 0})
			}
			if err := s.PutVectors(t.Context(), tn, []loci.RecordVectors{vectors}); err != nil {
				t.Fatal(err)
			}
		}
	}
	postgres.Observe(watch) // before the tenant is counted again behind the next call
	execute(t, d.Super, "UPDATE loci.tenant SET tally = NULL; DELETE FROM loci.vector WHERE record = (SELECT min(id::text)::bytea FROM loci.record)")
	if found, err := s.Unembedded(t.Context(), tn, space, loci.ID{}, 100); err != nil || len(found) != 1 {
		t.Errorf("%d records without vectors where no count is kept, %v", len(found), err)
	}
}
