package postgres_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store/postgres"
)

// TestRoundTrips: a transaction's statements go to the database together, however many they are. So
// a warm search is one round trip, also after a write of the server itself, and a search that another server
// wrote before is few. A save is one, too, by a server that made the tenant's last ones; else it is two: what is decided lies between them.
func TestRoundTrips(t *testing.T) {
	s, p, other := throughProxy(t)
	tn, id := locitest.Tenant(t, "trips"), loci.NewID()
	save := func(s loci.Store) {
		if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(shared map[any]any, id loci.ID) {
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		hits, err := s.Match(t.Context(), tn, loci.Probe{Text: wordOf(id), Shared: shared}, everywhere, 1)
		if err != nil || len(hits) != 1 {
			t.Fatalf("%v, %v", hits, err)
		}
	}
	search := func() { ask(nil, id) }
	var call map[any]any
	first := func() {
		call = map[any]any{}
		ask(call, id)
	}
	fail := func() {
		if err := postgres.FailCommit(s, tn); err != nil {
			t.Fatal(err)
		}
	}
	read := func() {
		if _, err := s.Links(t.Context(), tn, id); err != nil {
			t.Fatal(err)
		}
	}
	notes := locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "user", "ada")
	note := func() {
		if _, err := notes.StoreFact(t.Context(), loci.NewFact{Content: loci.NewID().String()}); err != nil {
			t.Fatal(err)
		}
	}
	block := func() {
		if _, err := notes.Context(t.Context(), loci.ContextQuery{Prompt: "walrus"}); err != nil {
			t.Fatal(err)
		}
	}
	page := func() {
		everywhere := loci.Filter{Within: []loci.Namespace{{}}}
		if _, _, err := s.Records(t.Context(), tn, everywhere, loci.Page{Limit: 5}); err != nil {
			t.Fatal(err)
		}
	}
	overtaken := false // the next read
	postgres.Observe(func(sql string, args []any) {
		if seen.LoadOrStore(sql, args); overtaken && strings.HasSuffix(sql, "READ ONLY") {
			overtaken = false
			save(s)
		}
	})
	defer postgres.Observe(watch)
	if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
		t.Fatal(err)
	}
	search()
	for _, one := range []struct {
		name   string
		before func()
		do     func()
		want   int64
	}{
		{"a warm search", search, search, 1},
		{"another question of a call", first, func() { ask(call, id) }, 0},
		{"another question of a call long after an own write", func() {
			for range 100 { // searches that look in turn, after a write
				search()
			}
			first()
		}, func() { ask(call, id) }, 0},
		{"another question of a call that another server's write overtakes", func() { first(); save(other) }, func() { ask(call, id) }, 0},
		{"another call's question behind another server's write", func() { first(); save(other) }, func() { first() }, 8},
		{"a search after an own write", func() { save(s) }, search, 1},
		{"a search after another server's write, the first in a while", func() { search(); search(); save(other) }, search, 8},
		{"a search after an own write behind another server's", func() { save(other); save(s) }, search, 6},

		{"a search after one that followed a commit which failed", func() { fail(); search() }, search, 1},
		{"a read", read, read, 1},
		{"a read after an own write, the first in a while", func() { read(); read(); save(s) }, read, 1},
		{"a read after an own write behind another server's", func() { read(); read(); save(other); save(s) }, read, 1},
		{"a read that an own write overtakes", func() { read(); read() }, func() { overtaken = true; read() }, 2},
		{"a read after another server's write, the first in a while", func() { read(); read(); save(other) }, read, 2},
		{"a read after one of many writes of another server", func() { save(other); read(); save(other) }, read, 1},
		{"a save", func() { save(s) }, func() { save(s) }, 1},
		{"a save after another server's", func() { save(other) }, func() { save(s) }, 2},
		{"a save of a note through the engine", func() { note() }, note, 2},
		{"a context through the engine", block, block, 1},
		{"a page of a small tenant", page, page, 1},
	} {
		least := int64(1 << 40) // a connection that had nothing to do for a second is asked whether it lives
		for try := 0; try < 5 && least > one.want; try++ {
			one.before()
			said := p.said.Load()
			one.do()
			least = min(least, p.said.Load()-said)
		}
		if least != one.want {
			t.Errorf("%s is %d round trips, not %d", one.name, least, one.want)
		}
	}
}

// TestLooksOfWritesFindRowsByTheirKeys: what a write reads, and what a search reads of what was written, is
// read by the index that has the column in question, by a plan for all arguments too, whatever the database has counted: nothing yet, or that
// tenants are small on average. Else a save to a large tenant would read all of it.
func TestLooksOfWritesFindRowsByTheirKeys(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s, tn := openAt(t, d.Server), locitest.Tenant(t, "large")
	judge := func(when string) {
		t.Helper()
		for _, look := range postgres.Looks {
			list := [][]byte{make([]byte, 32), bytes.Repeat([]byte{1}, 32)}
			args := map[string][]any{"generic": nil, "custom": {nil, list}}
			if !look.Many {
				args["custom"] = []any{nil, list[0]}
			}
			if look.Column == "seq" {
				args["custom"] = []any{nil, int64(7)}
			}
			for kind, args := range args {
				plan, err := postgres.Explain(t.Context(), s, tn, look.SQL, args)
				if err != nil {
					t.Fatal(err)
				}
				byKeys(t, when+", the "+kind+" plan", look.SQL, plan, look.Column)
			}
		}
		for kind, args := range map[string][]any{"generic": nil, "custom": {nil, int64(1), [][]byte{make([]byte, 16)}}} {
			plan, err := postgres.Explain(t.Context(), s, tn, postgres.OfIDs, args)
			if err != nil {
				t.Fatal(err)
			}
			byKeys(t, when+", the "+kind+" plan", postgres.OfIDs, plan, "id", `ROW\(record, space\)`)
		}
	}
	judge("empty")
	var c loci.Change
	for range 200 {
		one := creation(loci.NewID())
		c.Put, c.Events = append(c.Put, one.Put...), append(c.Events, one.Events...)
	}
	if err := s.Apply(t.Context(), tn, c); err != nil {
		t.Fatal(err)
	}
	judge("not counted")
	for _, sql := range []string{ // a thousand tenants of two records beside it
		`INSERT INTO loci.record SELECT substr(sha256(int8send(k)), 1, 16), r.id, r.namespace, 1, 1, 1, NULL, 0, NULL, NULL, NULL, NULL, 1,
			NULL, NULL, NULL, true, 'fact', slot_hash, slot_head, slot_tail, NULL, NULL, NULL, NULL, '', NULL, NULL, NULL, ''
			FROM generate_series(1, 1000) k, (SELECT * FROM loci.record LIMIT 2) r`,
		`INSERT INTO loci.namespace SELECT substr(sha256(int8send(k)), 1, 16), n, 1, int8send(n), int8send(n), '', ''
			FROM generate_series(1, 1000) k, generate_series(1, 2) n`,
		`INSERT INTO loci.reply SELECT substr(sha256(int8send(k)), 1, 16), sha256(int8send(n)), 1, 1, '', '', '', ''
			FROM generate_series(1, 1000) k, generate_series(1, 2) n`,
		`INSERT INTO loci.event SELECT substr(sha256(int8send(k)), 1, 16), n, '', 1, 1, '', '', int8send(n), '', '', '', '', '', ''
			FROM generate_series(1, 1000) k, generate_series(1, 2) n`,
		"ANALYZE loci.record, loci.namespace, loci.reply, loci.event",
	} {
		execute(t, d.Super, sql)
	}
	judge("counted")
}

// byKeys makes sure that a plan finds rows of a tenant as the next ones by some columns, in the order of an index.
func byKeys(t *testing.T, when, sql string, plan []byte, columns ...string) {
	t.Helper()
	for _, column := range columns {
		found := regexp.MustCompile(`"Index Cond": "\(\(tenant = .*\) AND \(` + column + ` >= `).Match(plan)
		if !found || bytes.Contains(plan, []byte(`"Sort"`)) {
			t.Errorf("%s reads more than the rows asked for by %s: %s\n%s", when, column, sql, plan)
		}
	}
}

// TestSavesThatShareACommitUseStatementsThatAreThere: writes that share a commit are of any number, and
// their rows go into statements of 1, 2, 4 … rows, which are read and planned once a connection. A
// large change is one statement, and so is every one behind a pooler that keeps none.
func TestSavesThatShareACommitUseStatementsThatAreThere(t *testing.T) {
	for _, c := range []struct {
		rows       int
		unprepared bool
		want       []int
	}{
		{1, false, []int{1}},
		{38, false, []int{32, 4, 2}},
		{64, false, []int{32, 32}},
		{255, false, []int{32, 32, 32, 32, 32, 32, 32, 16, 8, 4, 2, 1}},
		{256, false, []int{256}},
		{600, false, []int{500, 100}},
		{38, true, []int{38}},
	} {
		if got := postgres.Inserted(c.rows, c.unprepared); !slices.Equal(got, c.want) {
			t.Errorf("%d rows are sent as %v, not %v", c.rows, got, c.want)
		}
	}
}
