package postgres_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// unkept has no index kept behind what is written: that reads records, too, a moment later.
func unkept() *postgres.Options { return (&postgres.Options{}).Shelve(1<<30, 1<<30, false) }

// TestPagesReadWhatTheyShow: a page of a list over namespaces with many records each reads of each of them as
// far as the page goes, at the beginning and in the middle, in both orders, and is the right one.
func TestPagesReadWhatTheyShow(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openWith(t, d.Server, unkept()), locitest.Tenant(t, "pages")
	const each, spaces, limit = 500, 5, 10
	var ids []loci.ID // newest first
	at := time.UnixMilli(1_700_000_000_000).UTC()
	for n := range each {
		var c loci.Change
		for k := range spaces + 20 {
			if k > spaces && n > 0 {
				break // one of twenty small ones
			}
			id := loci.NewID()
			one := creation(id)
			r := &one.Put[0].Record
			r.Namespace = loci.Namespace{"user", fmt.Sprint("u", k)}
			r.CreatedAt = at.Add(time.Duration(n*100+k) * time.Millisecond)
			r.UpdatedAt, one.Events[0].Namespace = r.CreatedAt, r.Namespace
			c.Put, c.Events, ids = append(c.Put, one.Put...), append(c.Events, one.Events...), append(ids, id)
		}
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(ids)
	execute(t, d.Super, "VACUUM ANALYZE loci.record, loci.namespace")
	var sql string
	var args []any
	postgres.Observe(func(text string, values []any) {
		if watch(text, values); strings.Contains(text, "FROM loci.record r") {
			sql, args = text, values
		}
	})
	defer postgres.Observe(watch)
	for _, order := range []loci.Order{loci.NewestFirst, loci.OldestFirst} {
		want := slices.Clone(ids)
		if order == loci.OldestFirst {
			slices.Reverse(want)
		}
		for _, f := range []loci.Filter{
			{Within: []loci.Namespace{{}}, NotLive: true},
			{Within: []loci.Namespace{{"user"}}},
		} {
			cursor := ""
			for page := range 3 {
				p := loci.Page{Limit: limit, Cursor: cursor, Order: order}
				records, next, err := s.Records(t.Context(), tn, f, p)
				if err != nil || len(records) != limit {
					t.Fatalf("page %d: %d records, %v", page, len(records), err)
				}
				for i := range records {
					if records[i].ID != want[page*limit+i] {
						t.Fatalf("record %d of page %d is another one", i, page)
					}
				}
				cursor = next
				if read := rowsRead(t, d.Super, sql, args); page > 0 && read > 2*limit+2*spaces+20 {
					t.Errorf("order %v: page %d of %d records reads %d:\n%s", order, page, limit, read, sql)
				}
			}
		}
	}
}

// TestListsOfManyNamespacesAreWhole: beyond the namespaces that are merged a list has the records of all.
func TestListsOfManyNamespacesAreWhole(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openWith(t, d.Server, (&postgres.Options{}).Stream(1)), locitest.Tenant(t, "many")
	for n := range 66 {
		for range 1 + n%2 {
			c := creation(loci.NewID())
			c.Put[0].Record.Namespace = loci.Namespace{"user", fmt.Sprint("u", n)}
			c.Events[0].Namespace = c.Put[0].Record.Namespace
			if err := s.Apply(t.Context(), tn, c); err != nil {
				t.Fatal(err)
			}
		}
		found, _, err := s.Records(t.Context(), tn, loci.Filter{Within: []loci.Namespace{{"user"}}}, loci.Page{Limit: 100})
		if want := n + 1 + (n+1)/2; err != nil || len(found) != want {
			t.Fatalf("%d records in %d namespaces, not %d, %v", len(found), n+1, want, err)
		}
	}
}

// rowsRead is how many records a statement reads.
func rowsRead(t *testing.T, url, sql string, args []any) (n int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	args = slices.Clone(args)
	for i, arg := range args {
		switch arg := arg.(type) {
		case loci.ID:
			args[i] = arg[:]
		case string: // a column of texts is one of bytes
			args[i] = []byte(arg)
		}
	}
	type node struct {
		Relation string  `json:"Relation Name"`
		Type     string  `json:"Node Type"`
		Rows     float64 `json:"Actual Rows"`
		Removed  float64 `json:"Rows Removed by Filter"`
		Loops    float64 `json:"Actual Loops"`
		Plans    []node
	}
	var plan []byte
	if err := conn.QueryRow(t.Context(), "EXPLAIN (ANALYZE, FORMAT JSON) "+sql, args...).Scan(&plan); err != nil {
		t.Fatal(err)
	}
	var out []struct{ Plan node }
	if err := json.Unmarshal(plan, &out); err != nil {
		t.Fatal(err)
	}
	var add func(p *node)
	add = func(p *node) {
		if p.Relation == "record" {
			n += int((p.Rows + p.Removed) * p.Loops)
		}
		for i := range p.Plans {
			add(&p.Plans[i])
		}
	}
	add(&out[0].Plan)
	return n
}
