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

// Three namespaces hold these kinds; in all of them the first are many, and the last few.
var laneKinds = []loci.Kind{"fact", "rule", "episode"}

// TestListsOfKindsReadWhatTheyShow: beside many records of one kind a page, a count and the names of namespaces that are
// about others read no more than those, whether one namespace is asked for or all.
func TestListsOfKindsReadWhatTheyShow(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openAt(t, d.Server), locitest.Tenant(t, "lanes")
	const facts, spaces = 1200, 3
	at := time.UnixMilli(1_700_000_000_000).UTC()
	kept := map[loci.Kind][]loci.ID{} // newest first
	for n := range facts {
		var c loci.Change
		for k := range spaces {
			for i, kind := range laneKinds {
				if i == 1 && n%100 != 0 || i == 2 && (n > 0 || k > 0) {
					continue // twelve rules in each namespace, one episode
				}
				one := creation(loci.NewID())
				r := &one.Put[0].Record
				r.Namespace, r.Kind = loci.Namespace{"user", fmt.Sprint("u", k)}, kind
				r.CreatedAt = at.Add(time.Duration(n*100+k*10+i) * time.Millisecond)
				r.UpdatedAt, one.Events[0].Namespace, one.Events[0].Kind = r.CreatedAt, r.Namespace, kind
				c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
				kept[kind] = slices.Insert(kept[kind], 0, r.ID)
			}
		}
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, d.Super, "VACUUM ANALYZE loci.record, loci.namespace")
	read := reads(t, d.Super)
	others := slices.Concat(kept["episode"], kept["rule"])
	above := []loci.Namespace{{"user"}}
	for name, within := range map[string]loci.Filter{
		"above":    {Within: above},
		"one":      {Within: []loci.Namespace{{"user", "u0"}}, Exact: true},
		"one more": {Within: []loci.Namespace{{"user", "u0"}}},
	} {
		f := within
		f.Kinds, f.At = []loci.Kind{"rule", "episode"}, at.Add(time.Hour)
		want := len(others)
		if name != "above" {
			want = 13
		}
		var found []loci.Record
		rows := read(func() {
			var err error
			if found, _, err = s.Records(t.Context(), tn, f, loci.Page{Limit: 100}); err != nil {
				t.Fatal(err)
			}
		})
		if len(found) != want || rows > 4*want {
			t.Errorf("%s: a list of %d records, not %d, reads %d", name, len(found), want, rows)
		}
		f.Kinds = []loci.Kind{"rule"}
		rows = read(func() {
			n, err := s.Count(t.Context(), tn, f)
			if err != nil || n.Records != int64(want-1) {
				t.Errorf("%s: %+v rules counted, %v", name, n, err)
			}
		})
		if rows > 2*want {
			t.Errorf("%s: a count of %d rules reads %d records", name, want-1, rows)
		}
		f.Kinds = []loci.Kind{"episode"}
		rows = read(func() {
			if all, err := s.Namespaces(t.Context(), tn, f); err != nil || len(all) != 1 {
				t.Errorf("%s: namespaces with episodes: %v, %v", name, all, err)
			}
		})
		if rows > spaces {
			t.Errorf("%s: the namespaces of one episode read %d records", name, rows)
		}
		f.Kinds, f.Waning = laneKinds, true // none of them fades
		rows = read(func() {
			if found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: 100}); err != nil || len(found) != 0 {
				t.Errorf("%s: %d fade, %v", name, len(found), err)
			}
		})
		if rows > 0 {
			t.Errorf("%s: a list of what fades reads %d records", name, rows)
		}
	}
	checkLanes(t, s, tn, above, kept)
}

// checkLanes goes through lists of each choice of kinds by small pages, in both orders.
func checkLanes(t *testing.T, s loci.Store, tn loci.Tenant, within []loci.Namespace, kept map[loci.Kind][]loci.ID) {
	t.Helper()
	for _, kinds := range [][]loci.Kind{laneKinds[1:], {"episode"}, {"fact", "rule"}, laneKinds} {
		for _, order := range []loci.Order{loci.NewestFirst, loci.OldestFirst} {
			seen, cursor, last := map[loci.ID]bool{}, "", time.Time{}
			want := 0
			for _, kind := range kinds {
				want += len(kept[kind])
			}
			for {
				f := loci.Filter{Within: within, Kinds: kinds}
				found, next, err := s.Records(t.Context(), tn, f, loci.Page{Limit: 200, Cursor: cursor, Order: order})
				if err != nil {
					t.Fatal(err)
				}
				for i := range found {
					r := &found[i]
					behind := last.IsZero() || order == loci.NewestFirst && !r.CreatedAt.After(last) ||
						order == loci.OldestFirst && !r.CreatedAt.Before(last)
					if seen[r.ID] || !behind || !slices.Contains(kinds, r.Kind) {
						t.Fatalf("%v: a %s of %v comes twice, or behind %v", kinds, r.Kind, r.CreatedAt, last)
					}
					seen[r.ID], last = true, r.CreatedAt
				}
				if cursor = next; cursor == "" {
					break
				}
			}
			if len(seen) != want {
				t.Errorf("%v in order %v: %d records, not %d", kinds, order, len(seen), want)
			}
		}
	}
}

// reads returns what counts the records that the statements of a call read.
func reads(t *testing.T, url string) func(call func()) int {
	t.Helper()
	type sent struct {
		sql  string
		args []any
	}
	var all []sent
	postgres.Observe(func(sql string, args []any) {
		watch(sql, args)
		if strings.Contains(sql, "loci.record r") {
			all = append(all, sent{sql, slices.Clone(args)})
		}
	})
	t.Cleanup(func() { postgres.Observe(watch) })
	return func(call func()) (n int) {
		all = nil
		call()
		asked := all // explaining a statement is a statement of its own
		if len(asked) == 0 {
			t.Error("no statement is about records")
		}
		for _, q := range asked {
			n += rowsRead(t, url, q.sql, q.args)
		}
		return n
	}
}
