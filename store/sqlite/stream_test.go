package sqlite

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// The places and kinds that a list merges are those of which records were ever there, each once.
func TestStreams(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	save(t, s, "walrus")
	f := s.files[testTenant]
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("DELETE FROM tally")
	places := []loci.Namespace{{"user", "a"}, {"user", "a", "x"}, {"user", "b"}, {"org", "o"}}
	for i, place := range places {
		exec("INSERT INTO namespace (n, key) VALUES (?, ?)", 100+i, []byte(place.Key()))
		for _, kind := range []loci.Kind{loci.KindFact, loci.KindRule} {
			for _, state := range []string{"active", "superseded"} {
				exec("INSERT INTO tally VALUES (?, ?, ?, ?, 1, 1, 1, 1)", 100+i, string(kind), state == "active", state)
			}
		}
	}
	ask := func(filter loci.Filter) (got []string, few bool) {
		t.Helper()
		streams, few, err := f.streams(t.Context(), &filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range streams {
			got = append(got, fmt.Sprint(s.namespace, " ", s.kind))
		}
		slices.Sort(got)
		return got, few
	}
	facts, both := []loci.Kind{loci.KindFact}, []loci.Kind{loci.KindFact, loci.KindEpisode}
	for _, c := range []struct {
		filter loci.Filter
		want   string
	}{
		{loci.Filter{Within: []loci.Namespace{{"user", "a"}}}, "100 fact 100 rule 101 fact 101 rule"},
		{loci.Filter{Within: []loci.Namespace{{"user", "a"}}, Exact: true}, "100 fact 100 rule"},
		{loci.Filter{Within: []loci.Namespace{{"user", "a"}}, Exact: true, Kinds: facts}, "100 fact"},
		{loci.Filter{Within: []loci.Namespace{{"user", "a"}}, Kinds: both}, "100 fact 101 fact"},
		{loci.Filter{Within: []loci.Namespace{{"user", "a"}, {"org", "o"}}, Kinds: both}, "100 fact 101 fact 103 fact"},
		{loci.Filter{Within: []loci.Namespace{{"user", "b"}, {"user", "a"}}, Exact: true, Kinds: facts}, "100 fact 102 fact"},
		{loci.Filter{Within: []loci.Namespace{{}}, Kinds: facts}, "100 fact 101 fact 102 fact 103 fact"},
		{loci.Filter{Within: []loci.Namespace{{"user", "nobody"}}}, ""},
		{loci.Filter{}, ""},
	} {
		if got, few := ask(c.filter); !few || strings.Join(got, " ") != c.want {
			t.Errorf("%v of %v, exact %v: %v; want %s", c.filter.Within, c.filter.Kinds, c.filter.Exact, got, c.want)
		}
	}
	for i := range maxStreams - len(places) {
		exec("INSERT INTO namespace (n, key) VALUES (?, ?)", 200+i, []byte(loci.Namespace{"user", fmt.Sprint("n", i)}.Key()))
		exec("INSERT INTO tally VALUES (?, 'fact', 1, 'active', 1, 1, 1, 1)", 200+i)
	}
	all := loci.Filter{Within: []loci.Namespace{{}}, Kinds: both}
	if got, few := ask(all); !few || len(got) != maxStreams {
		t.Errorf("%d places are few %v; want %d, which are", len(got), few, maxStreams)
	}
	for i := range 10 {
		exec("INSERT INTO tally VALUES (?, 'episode', 1, 'done', 1, 1, 1, 1)", 200+i)
	}
	if got, few := ask(all); few || len(got) != maxStreams+1 {
		t.Errorf("%d places are read, and few %v; want one more than are few", len(got), few)
	}
}
