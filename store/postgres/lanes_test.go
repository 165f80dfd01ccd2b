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

// The kinds of the records below: facts are the newest, before them come rules, and one episode is the oldest.
var laneKinds = []loci.Kind{"fact", "rule", "episode"}

// TestListsOfKindsReadWhatTheyShow: a page, a count and the names of namespaces that are about some kinds read what they
// show, though there are many newer records of another kind, and though these kinds are frequent elsewhere, so that the
// database expects them here, too.
func TestListsOfKindsReadWhatTheyShow(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openWith(t, d.Server, unkept()), locitest.Tenant(t, "lanes")
	const facts, rules, spaces, elsewhere, limit = 1200, 300, 3, 1500, 10
	at := time.UnixMilli(1_700_000_000_000).UTC()
	kept, all := map[loci.Kind][]loci.ID{}, 0
	add := func(c *loci.Change, n loci.Namespace, kind loci.Kind) {
		one := creation(loci.NewID())
		r := &one.Put[0].Record
		all++
		r.Namespace, r.Kind, r.CreatedAt = n, kind, at.Add(time.Duration(all)*time.Millisecond)
		r.UpdatedAt, one.Events[0].Namespace, one.Events[0].Kind = r.CreatedAt, n, kind
		c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
		if n[0] == "user" {
			kept[kind] = append(kept[kind], r.ID)
		}
	}
	for n := range rules + facts + elsewhere {
		var c loci.Change
		for k := range spaces {
			u := loci.Namespace{"user", fmt.Sprint("u", k)}
			switch {
			case n == 0 && k == 0:
				add(&c, u, "episode")
			case n < rules:
				add(&c, u, "rule")
			case n < rules+facts:
				add(&c, u, "fact")
			default:
				add(&c, loci.Namespace{"other"}, laneKinds[1+k%2])
			}
		}
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, d.Super, "VACUUM ANALYZE loci.record, loci.namespace")
	read := reads(t, d.Super)
	above := []loci.Namespace{{"user"}}
	for name, within := range map[string]loci.Filter{
		"above": {Within: above},
		"one":   {Within: []loci.Namespace{{"user", "u0"}}, Exact: true},
		"below": {Within: []loci.Namespace{{"user", "u0"}}},
	} {
		f := within
		f.Kinds, f.At = []loci.Kind{"rule", "episode"}, at.Add(time.Hour)
		rows := read(func() {
			found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: limit})
			if err != nil || len(found) != limit {
				t.Errorf("%s: a list of %d records, %v", name, len(found), err)
			}
		})
		if rows > 2*spaces*2*(limit+1) {
			t.Errorf("%s: a list of %d records reads %d", name, limit, rows)
		}
		f.Kinds = []loci.Kind{"episode"}
		rows = read(func() {
			n, err := loci.Counts{Records: 1}, error(nil)
			if name != "above" { // there the database may join as it likes
				n, err = s.Count(t.Context(), tn, f)
			}
			if err != nil || n.Records != 1 {
				t.Errorf("%s: %+v episodes counted, %v", name, n, err)
			}
			if all, err := s.Namespaces(t.Context(), tn, f); err != nil || len(all) != 1 {
				t.Errorf("%s: namespaces with episodes: %v, %v", name, all, err)
			}
		})
		if rows > 2 {
			t.Errorf("%s: to count an episode and name its namespace %d records are read", name, rows)
		}
		f.Kinds, f.Waning = laneKinds, true // none of them fades
		rows = read(func() {
			if found, _, err := s.Records(t.Context(), tn, f, loci.Page{Limit: limit}); err != nil || len(found) != 0 {
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
	for _, kinds := range [][]loci.Kind{laneKinds[1:], {"episode"}, {"fact", "rule"}, {"rule", "fact", "rule"}, laneKinds} {
		for _, order := range []loci.Order{loci.NewestFirst, loci.OldestFirst} {
			seen, cursor, last := map[loci.ID]bool{}, "", time.Time{}
			want := 0
			for kind, ids := range kept {
				if slices.Contains(kinds, kind) {
					want += len(ids)
				}
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
		// How many records a namespace has is asked beforehand, up to 256 and one.
		if strings.Contains(sql, "FROM loci.record ") && !strings.HasPrefix(sql, "SELECT n, many") {
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
