package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// plan is how SQLite carries out a query.
func plan(t *testing.T, db *sql.DB, query string, args ...any) (out string) {
	t.Helper()
	rows, err := db.Query("EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var a, b, c int
		var detail string
		if err := rows.Scan(&a, &b, &c, &detail); err != nil {
			t.Fatal(err)
		}
		out += detail + "\n"
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Pages by slot, and lookups of a slot or of ids, use the index that finds them at once, in its
// order, whatever statistics SQLite has of the file.
func TestListingsUseTheirIndex(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	if _, err := openFile(t, path).Count(t.Context(), testTenant, loci.Filter{}); err != nil { // makes the schema
		t.Fatal(err)
	}
	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	here := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	slot := here
	slot.Slot = new(string)
	*slot.Slot = "s"
	const bySlot, byID = "INDEX record_slot (namespace=? AND kind=?", "INDEX sqlite_autoindex_record_1 (id=?)"
	type row struct {
		name  string
		f     loci.Filter
		after *page.Record
		order loci.Order
		want  string
	}
	table := []row{{"slot", slot, nil, loci.NewestFirst, bySlot + " AND slot=?)"}}
	for _, order := range []loci.Order{loci.SlotAscending, loci.SlotDescending} {
		bound := " AND slot>?)"
		if order == loci.SlotDescending {
			bound = " AND slot>? AND slot<?)" // the first is that there is one
		}
		ranged := here
		ranged.Slots = loci.SlotRange{From: "a", To: "b"}
		table = append(table, row{"from the start", here, nil, order, bySlot}, row{"from a place on", here, &page.Record{Slot: "x"}, order, bySlot + bound},
			row{"in a range", ranged, nil, order, bySlot + " AND slot>? AND slot<?)"}, row{"from a place in a range", ranged, &page.Record{Slot: "aa"}, order, bySlot + " AND slot>? AND slot<?)"})
	}
	for _, n := range []int{1, 2, 50, 1000} {
		f := here
		for i := range n {
			f.IDs = append(f.IDs, loci.ID{byte(i), byte(i >> 8)})
		}
		table = append(table, row{fmt.Sprint(n, " ids"), f, nil, loci.NewestFirst, byID},
			row{fmt.Sprint(n, " ids by slot"), f, nil, loci.SlotAscending, byID})
	}
	for _, learnt := range []string{"nothing", "few records", "many records"} {
		statistics := map[string]string{"few records": "2 2 1 1", "many records": "100000 50000 20000 1"}[learnt]
		if statistics != "" {
			if _, err := db.Exec("ANALYZE; DELETE FROM sqlite_stat1; INSERT INTO sqlite_stat1 VALUES ('record', 'record_slot', ?1), ('record', 'record_list', ?1); ANALYZE sqlite_schema", statistics); err != nil {
				t.Fatal(err)
			}
		}
		for _, row := range table {
			query, args, _ := listing(recordColumns, &row.f, row.after, row.order)
			got := plan(t, db, query, args...)
			sorts := strings.Contains(got, "TEMP B-TREE")
			if !strings.Contains(got, row.want) || sorts && row.order.BySlot() && len(row.f.IDs) == 0 {
				t.Errorf("%s, order %d, %s learnt: the plan is\n%swant %s, unsorted", row.name, row.order, learnt, got, row.want)
			}
		}
	}
	ranged := here
	ranged.Slots = loci.SlotsBeginning("a")
	c, _ := where(&ranged)
	if got := plan(t, db, "SELECT count(*) FROM record r WHERE "+c.String(), c.args...); !strings.Contains(got, bySlot+" AND slot>? AND slot<?)") {
		t.Errorf("a count in a range: the plan is\n%s", got)
	}
}

// Rows are taken one by one, as the listing within has them: a page that ends early has read no more.
func TestRowsAreTakenOneByOne(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	db := s.files[testTenant].readDB
	here := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: []loci.Kind{loci.KindFact}}
	placed := strings.Replace(recordColumns, placeColumns, "", 1)
	streams := []stream{{1, "fact"}, {1, "rule"}, {2, "fact"}}
	check := func(order loci.Order, query, taken string, args []any, scanned string, steps int) {
		t.Helper()
		within := plan(t, db, query, args...)
		got := plan(t, db, taken, append([]any{1}, args...)...)
		within = strings.TrimPrefix(within, "COMPOUND QUERY\n")
		first, rest, _ := strings.Cut(got, "\n")
		more := strings.Count(rest, "\n") - strings.Count(within, "\n")
		if !strings.HasPrefix(first, "CO-ROUTINE") || strings.Count(rest, scanned) != 1 || more != steps {
			t.Errorf("order %d: the plan is\n%swant that of the listing, one row after the other:\n%s", order, got, within)
		}
	}
	for _, order := range []loci.Order{loci.SlotAscending, loci.SlotDescending, loci.NewestFirst, loci.OldestFirst} {
		query, args, _ := listing(recordColumns, &here, nil, order)
		check(order, query, takenInOrder(placed, query), args, "SCAN (", 1)
		if order.BySlot() {
			query, args, _ := listing(recordColumns, &loci.Filter{}, nil, order)
			check(order, query, takenInOrder(recordColumns, query), args, "SCAN (", 1)
			continue
		}
		query, args, _ = merged(&here, streams, nil, order)
		taken := takenMerged(recordColumns, query)
		check(order, query, taken, args, "SCAN v", 3)
		const read = "SCAN v\nSEARCH r USING INTEGER PRIMARY KEY (rowid=?)\nSEARCH s USING INTEGER PRIMARY KEY (rowid=?)"
		if got := plan(t, db, taken, append([]any{1}, args...)...); !strings.HasSuffix(strings.TrimSpace(got), "\n"+read) {
			t.Errorf("order %d: the plan is\n%swant rows read by their numbers behind the merge", order, got)
		}
	}
}

// A place that is not in a range neither widens nor closes it: the list goes on with what is in the range, or ends.
func TestPlacesOutsideOfARange(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	for _, slot := range []string{"a", "b", "c", "d"} {
		c := note("walrus " + slot)
		c.Put[0].Record.Slot = slot
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		order loci.Order
		after string
		want  string
	}{
		{loci.SlotDescending, "z", "cb"}, {loci.SlotDescending, "d", "cb"}, {loci.SlotDescending, "c", "b"},
		{loci.SlotDescending, "a", ""}, {loci.SlotAscending, "a", "bc"}, {loci.SlotAscending, "b", "c"}, {loci.SlotAscending, "z", ""},
	} {
		for _, kinds := range [][]loci.Kind{{loci.KindFact}, {loci.KindFact, loci.KindRule}} { // one place, and two
			f := loci.Filter{Within: []loci.Namespace{{"u"}}, Exact: true, Kinds: kinds}
			f.Slots = loci.SlotRange{From: "b", To: "d"}
			at := page.RecordCursor(&loci.Record{ID: loci.ID{0xff}, Slot: c.after}, c.order)
			if c.order == loci.SlotDescending {
				at = page.RecordCursor(&loci.Record{Slot: c.after}, c.order)
			}
			records, _, err := s.Records(t.Context(), testTenant, f, loci.Page{Order: c.order, Cursor: at})
			got := ""
			for i := range records {
				got += records[i].Slot
			}
			if got != c.want || err != nil {
				t.Errorf("order %d after %s: %q, %v; want %q", c.order, c.after, got, err, c.want)
			}
		}
	}
}

// A list by time is read in the order of its index, one stream for each kind in each namespace,
// whatever else the filter says. Nothing is sorted, so a page costs only its rows and those it
// passes over.
func TestListsByTimeAreMerged(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	for range 3 {
		save(t, s, "walrus")
	}
	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	now := time.UnixMilli(1_700_000_000_000)
	f := loci.Filter{Within: []loci.Namespace{{"u"}}, At: now, Scopes: []string{"a", ""}}
	f.MinConfidence, f.Tags = 0.2, []string{"x"}
	for _, order := range []loci.Order{loci.NewestFirst, loci.OldestFirst, loci.SlotAscending, loci.SlotDescending} {
		if mergeable(&f, order) == order.BySlot() {
			t.Errorf("order %d: merged %v", order, order.BySlot())
		}
	}
	for name, few := range map[string]loci.Filter{ // what finds them sooner
		"ids": {IDs: []loci.ID{{1}}}, "a slot": {Slot: new(string)}, "slots": {Slots: loci.SlotsBeginning("a")},
		"what expired": {Expired: true}, "what is due": {Due: now},
	} {
		if mergeable(&few, loci.NewestFirst) {
			t.Errorf("a list by %s is merged", name)
		}
	}
	streams := []stream{{1, "fact"}, {1, "rule"}, {2, "fact"}}
	for _, order := range []loci.Order{loci.NewestFirst, loci.OldestFirst} {
		for _, notLive := range []bool{false, true} {
			for _, after := range []*page.Record{nil, {CreatedAt: now, ID: loci.ID{1}}} {
				f.NotLive = notLive
				query, args, exact := merged(&f, streams, after, order)
				got := plan(t, db, query, args...)
				const index = "INDEX record_list (namespace=? AND kind=? AND live=?"
				if exact || strings.Contains(got, "TEMP B-TREE") || !strings.Contains(got, index) {
					t.Errorf("order %d, not live %v, after %v: the plan is\n%s", order, notLive, after, got)
				}
			}
		}
	}
	// Waning records are read the same way; only those that upkeep has not written down yet are
	// sorted.
	for _, ended := range []bool{false, true} {
		f := loci.Filter{Within: []loci.Namespace{{"u"}}, At: now, Waning: true, NotLive: ended, Ended: ended}
		query, args, _ := waning(recordColumns, &f, streams, nil, loci.NewestFirst)
		got := plan(t, db, query, args...)
		const index, due = "INDEX record_waning (namespace=? AND kind=?", "INDEX record_due (due_at<?)"
		if strings.Count(got, index) != 3 || strings.Count(got, due) != 1 || strings.Count(got, "TEMP B-TREE") != 1 {
			t.Errorf("what wanes, ended %v: the plan is\n%s", ended, got)
		}
	}
	all := loci.Filter{Within: []loci.Namespace{{}}, NotLive: true, At: now, Space: loci.Space{Model: "m", Dims: 2}}
	query, args := keptCount(&all)
	got := plan(t, db, query, args...)
	if !page.Kept(&all) || strings.Contains(got, "SCAN r") || !strings.Contains(got, "record_expiry (expires_at<?)") {
		t.Errorf("a count: the plan is\n%s", got)
	}
}

// Kept counts that are wrong are found by a check, and counted again.
func TestCheckCountsAgain(t *testing.T) {
	t.Parallel()
	for _, damage := range []string{
		"UPDATE tally SET records = records + 1", "DELETE FROM tally", "INSERT INTO tally VALUES (7, 'fact', 1, '', 1, 1, 1, 1)",
		"INSERT INTO tally_vector VALUES (1, 'fact', 1, 5)", "INSERT INTO erasing VALUES (1)",
	} {
		s := damaged(t, damage)
		for _, want := range []int{1, 0} {
			found, err := s.Check(t.Context(), testTenant)
			if err != nil || len(found) != want || want > 0 && !strings.Contains(found[0], "counted again") {
				t.Errorf("after %s: %q, %v", damage, found, err)
			}
		}
		n, err := s.Count(t.Context(), testTenant, loci.Filter{Within: []loci.Namespace{{}}, NotLive: true})
		if err != nil || n.Records != 1 || n.Live != 1 {
			t.Errorf("after %s: %+v, %v", damage, n, err)
		}
	}
}

// Whether any memory lacks vectors is told by the kept counts: nothing else is read where none does.
func TestLackingVectorsAreCounted(t *testing.T) {
	t.Parallel()
	s := damaged(t, "UPDATE tally SET searched = 0")
	for _, want := range []int{0, 1} { // before they are counted again, and after
		lacking, err := s.Unembedded(t.Context(), testTenant, shelfSpace, loci.ID{}, 10)
		if err != nil || len(lacking) != want {
			t.Errorf("%d memories lack vectors, %v; want %d", len(lacking), err, want)
		}
		if _, err := s.Check(t.Context(), testTenant); err != nil {
			t.Fatal(err)
		}
	}
}

// Past records are found by their time, and counting does not read vectors.
func TestCountsReadLittle(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	save(t, openFile(t, path), "walrus")
	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	now := time.UnixMilli(1_700_000_000_000)
	within := []loci.Namespace{{"u"}}
	for index, f := range map[string]loci.Filter{
		"record_due":    {Within: within, Kinds: []loci.Kind{"fact"}, Statuses: []string{"active"}, At: now, Due: now, NotLive: true},
		"record_expiry": {Within: within, Kinds: []loci.Kind{"fact"}, Statuses: []string{"active"}, At: now, Expired: true},
	} {
		c, _ := where(&f)
		query := "SELECT count(*) FROM record r WHERE " + c.String()
		if got := plan(t, db, query, c.args...); !strings.Contains(got, "USING INDEX "+index) {
			t.Errorf("%s is counted by\n%s", index, got)
		}
	}
	if got := plan(t, db, countedSpaces); strings.Contains(got, "SCAN v") || strings.Contains(got, "SCAN r") {
		t.Errorf("spaces are counted by\n%s", got)
	}
}

func meets(t *testing.T, filter map[string]any) loci.Where {
	t.Helper()
	w, err := loci.ParseWhere(filter)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// What cannot meet a condition on tags or attributes does not come out of SQLite.
func TestWhatCannotMeetAFilterIsLeftInTheFile(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	const records = 2000
	for part := range slices.Chunk(make([]struct{}, records), 500) {
		var c loci.Change
		for i := range part {
			one := note("walrus")
			one.Put[0].Record.Tags = []string{"t"}
			one.Put[0].Record.Attributes = fmt.Appendf(nil, `{"k":%d,"c":"v"}`, i+1000)
			c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
		}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	for name, filter := range map[string]loci.Filter{
		"tag":    {Tags: []string{"x"}},
		"key":    {Where: meets(t, map[string]any{"x": 1})},
		"value":  {Where: meets(t, map[string]any{"c": "x"})},
		"number": {Where: meets(t, map[string]any{"k": 999})},
		"least":  {Where: meets(t, map[string]any{"k": map[string]any{"$gte": 5000}})},
		"most":   {Where: meets(t, map[string]any{"k": map[string]any{"$lt": 1000}})},
		"later":  {Where: meets(t, map[string]any{"c": map[string]any{"$gt": "w"}})},
		"sooner": {Where: meets(t, map[string]any{"c": map[string]any{"$lte": "u"}})},
		"member": {Where: loci.Where{Member: "harmful_count"}},
	} {
		filter.Within = []loci.Namespace{{"u"}}
		n := testing.AllocsPerRun(2, func() {
			found, _, err := s.Records(t.Context(), testTenant, filter, loci.Page{})
			counts, countErr := s.Count(t.Context(), testTenant, filter)
			if err := errors.Join(err, countErr); err != nil || len(found) > 0 || counts.Records > 0 {
				t.Errorf("by %s: %d found, %d counted, %v", name, len(found), counts.Records, err)
			}
		})
		if n > records/2 {
			t.Errorf("by %s: %.0f allocations for %d records that cannot meet it", name, n, records)
		}
	}
}

// Nor do events that a filter leaves out.
func TestEventsThatAreLeftOutStayInTheFile(t *testing.T) {
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	const events = 2000
	for range 2 {
		c := note("walrus")
		for range events / 2 {
			e := c.Events[0]
			e.ID = loci.NewID()
			c.Events = append(c.Events, e)
		}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	at := time.UnixMilli(1_700_000_000_000)
	for name, filter := range map[string]loci.EventFilter{
		"type":  {Types: []loci.EventType{loci.EventErased, loci.EventRetracted}},
		"since": {Since: at.Add(time.Microsecond)},
		"until": {Until: at},
	} {
		filter.Within = []loci.Namespace{{"u"}}
		n := testing.AllocsPerRun(2, func() {
			found, next, err := s.Events(t.Context(), testTenant, filter, loci.Page{})
			if err != nil || len(found) > 0 || next != "" {
				t.Errorf("by %s: %d found, then %q, %v", name, len(found), next, err)
			}
		})
		if n > events/2 {
			t.Errorf("by %s: %.0f allocations for %d events that are left out", name, n, events)
		}
	}
}
