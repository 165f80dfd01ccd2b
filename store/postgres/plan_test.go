package postgres_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

// fill gives thirty tenants a thousand records each, with what belongs to them: too much to be
// worth reading whole.
const fill = `
INSERT INTO loci.tenant SELECT k, 2000, 0, 2000, 20, 1, 1, '\x00', '\x01', decode(md5(k::text), 'hex') FROM (%KEYS%) t (k);
INSERT INTO loci.namespace SELECT k, n, n, int8send(n), int8send(n), '', '' FROM (%KEYS%) t (k), generate_series(1, 200) n ORDER BY 1;
INSERT INTO loci.space SELECT k, 1, 8, 0, 'model' FROM (%KEYS%) t (k);
INSERT INTO loci.record (tenant, id, namespace, version, created_at, updated_at, expires_at, uses, due_at, passage_count, live, kind,
	slot_hash, slot_head, slot_tail, passages, text)
	SELECT k, substr(sha256(int8send(n)), 1, 16), n % 200 + 1, 1, n, n, CASE WHEN n % 50 = 0 THEN n END, 0, CASE WHEN n % 50 = 1 THEN n END, 1, n % 3 > 0, 'fact',
	sha256(int8send(n) || '\x01'), int8send(n), '', '', repeat('x', 200)::bytea FROM (%KEYS%) t (k), generate_series(1, 1000) n ORDER BY 1;
INSERT INTO loci.vector SELECT tenant, id, 1, repeat('x', 260)::bytea FROM loci.record ORDER BY 1, 2;
INSERT INTO loci.revision SELECT tenant, id, v, 1, 1, 'x' FROM loci.record, generate_series(1, 2) v ORDER BY 1, 2;
INSERT INTO loci.link SELECT tenant, id, 'supports', sha256(id), 1, 1 FROM loci.record ORDER BY 1, 2;
INSERT INTO loci.event SELECT tenant, row_number() OVER (PARTITION BY tenant ORDER BY id), id, namespace, 1, 'created', 'fact', id, '', '', '', '', '', '' FROM loci.record;
INSERT INTO loci.change SELECT tenant, row_number() OVER (PARTITION BY tenant ORDER BY id), id, namespace, false, 'fact' FROM loci.record;
INSERT INTO loci.reply SELECT tenant, sha256(id), 1, row_number() OVER (PARTITION BY tenant ORDER BY id), id, id, '', '' FROM loci.record;
INSERT INTO loci.lease SELECT decode(repeat('00', 16), 'hex'), int8send(n), 'x', 0 FROM generate_series(1, 5000) n;
ANALYZE loci.lease, loci.tenant, loci.namespace, loci.space, loci.record, loci.vector, loci.revision, loci.link, loci.event, loci.change, loci.reply;
`

// checkPlans asks the database how it would do each statement that the contract's tests
// sent, with their arguments and without, and requires that each part of it is looked for in
// an index behind its tenant.
//
// What a plan costs depends on the arguments, which are those of whichever test came first,
// and on what autovacuum has just counted. So reading whole tables is made as dear as it can be:
// a plan that still does so has no index to use, whatever the statistics say.
func checkPlans(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	tenants := 10
	if os.Getenv("LOCI_LONG") != "" {
		tenants = 1000 // a million records
	}
	listInStreams(t)
	tn := locitest.Tenant(t, "plans")
	keys := fmt.Sprintf(`SELECT CASE WHEN n = 1 THEN '\x%x'::bytea ELSE substr(sha256(int8send(n)), 1, 16) END
		FROM generate_series(1, %d) n`, postgres.KeyOf(tn), tenants)
	for _, sql := range strings.Split(strings.TrimSpace(strings.ReplaceAll(fill, "%KEYS%", keys)), ";\n") {
		execute(t, d.Super, sql)
	}
	s := openAt(t, d.Server)
	asked := 0
	seen.Range(func(key, value any) bool {
		sql, args := key.(string), value.([]any)
		values := strings.HasPrefix(sql, "INSERT") && strings.Contains(sql, "VALUES ")
		if !strings.Contains(sql, "loci.") || slices.Contains(postgres.OfAll, sql) || strings.HasPrefix(sql, "SET ") ||
			values || strings.HasPrefix(sql, "EXPLAIN") {
			return true
		}
		asked++
		for name, args := range map[string][]any{"custom": args, "generic": nil} {
			plan, err := postgres.Explain(t.Context(), s, tn, sql, args, "enable_seqscan = off")
			judge(t, name, sql, plan, err)
			if tenants >= 1000 { // there it is also the cheapest
				plan, err = postgres.Explain(t.Context(), s, tn, sql, args)
				judge(t, name+", chosen by cost,", sql, plan, err)
			}
		}
		return true
	})
	checkPlansOfParts(t, s, tn)
	checkPlansOfAll(t, d, s)
	if asked < 50 {
		t.Errorf("%d statements were looked at; that is not all there are", asked)
	}
	t.Logf("%d statements, %d records", asked, tenants*1000)
}

// listInStreams lists two namespaces with more records than are sorted, so that the statement is seen.
func listInStreams(t *testing.T) {
	t.Helper()
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	s := openWith(t, d.Server, (&postgres.Options{}).Stream(1))
	tn := locitest.Tenant(t, "streams")
	for n := range 6 {
		c := creation(loci.NewID())
		c.Put[0].Record.Namespace = loci.Namespace{"user", string(rune('a' + n%2))}
		c.Events[0].Namespace = c.Put[0].Record.Namespace
		if err := s.Apply(t.Context(), tn, c); err != nil {
			t.Fatal(err)
		}
	}
	merged := false
	postgres.Observe(func(sql string, args []any) {
		watch(sql, args)
		merged = merged || strings.Contains(sql, "UNION ALL (SELECT r.id")
	})
	defer postgres.Observe(watch)
	found, _, err := s.Records(t.Context(), tn, loci.Filter{Within: []loci.Namespace{{}}}, loci.Page{Limit: 6})
	if err != nil || len(found) != 6 || !merged {
		t.Fatalf("%d records, %v, merged %t", len(found), err, merged)
	}
}

// checkPlansOfAll requires that a page over all tenants costs no more than its rows: an index
// that begins with its condition has them in order.
func checkPlansOfAll(t *testing.T, d pgtest.Database, s loci.Store) {
	t.Helper()
	execute(t, d.Super, `INSERT INTO loci.tenant
		SELECT substr(sha256(int8send(n)), 1, 16), 1, 0, 1, 1, 1, 1, '\x00', '\x01', int8send(n), n % 1000
		FROM generate_series(1001, 20000) n`)
	execute(t, d.Super, "ANALYZE loci.tenant")
	for i, args := range [][]any{{"x", 1000}, {int64(7), "x", int64(900), 1000}} {
		plan, err := postgres.ExplainOfAll(t.Context(), s, postgres.OfAll[i], args)
		if err != nil {
			t.Error(err)
			continue
		}
		if text := string(plan); !strings.Contains(text, "Index") || strings.Contains(text, "Sort") {
			t.Errorf("the plan of %s reads more than a page:\n%s", postgres.OfAll[i], text)
		}
	}
}

// checkPlansOfParts requires that a part of a shard costs what is in it: an index has the shard's
// records in the order of their ids.
func checkPlansOfParts(t *testing.T, s loci.Store, tn loci.Tenant) {
	t.Helper()
	low, high := make([]byte, 16), bytes.Repeat([]byte{0x80}, 16)
	for i, args := range [][]any{
		{nil, int64(1), int64(7), "fact", 1000, low},
		{nil, int64(1), int64(7), "fact", low, high},
	} {
		for kind, args := range map[string][]any{"custom": args, "generic": nil} {
			plan, err := postgres.Explain(t.Context(), s, tn, postgres.OfShard[i], args, "enable_seqscan = off")
			judge(t, kind, postgres.OfShard[i], plan, err)
			found := regexp.MustCompile(`"Index Cond": .*namespace = .*kind = .*id [<>]`).Match(plan)
			if !found || bytes.Contains(plan, []byte(`"Sort"`)) {
				t.Errorf("the %s plan of %s reads more than a part of a shard:\n%s", kind, postgres.OfShard[i], plan)
			}
		}
	}
}

// A step of a plan, as PostgreSQL writes it.
type step struct {
	Node      string `json:"Node Type"`
	Relation  string `json:"Relation Name"`
	Condition string `json:"Index Cond"`
	Plans     []step
}

// beyond says which step of a plan reads more than one tenant; "" for none.
func (p *step) beyond() string {
	switch {
	case p.Node == "Seq Scan", strings.Contains(p.Node, "Index") && !strings.Contains(p.Condition, "tenant = "):
		return fmt.Sprintf("%s of %s by %q", p.Node, p.Relation, p.Condition)
	}
	for i := range p.Plans {
		if found := p.Plans[i].beyond(); found != "" {
			return found
		}
	}
	return ""
}

func judge(t *testing.T, kind, sql string, plan []byte, err error) {
	t.Helper()
	var out []struct{ Plan step }
	if err == nil {
		err = json.Unmarshal(plan, &out)
	}
	if err != nil || len(out) != 1 {
		t.Errorf("%s plan of %s: %v: %s", kind, sql, err, plan)
		return
	}
	small := strings.Contains(kind, "cost") // a table of one page is read whole
	if found := out[0].Plan.beyond(); found != "" && (!small || !regexp.MustCompile(`of (space|tenant) `).MatchString(found)) {
		t.Errorf("%s plan reads beyond its tenant, %s:\n%s\n%s", kind, found, sql, plan)
	}
}
