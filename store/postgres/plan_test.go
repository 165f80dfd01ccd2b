package postgres_test

import (
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

// wholeTable is a step of a plan that reads more than one tenant.
var wholeTable = regexp.MustCompile(`Seq Scan on (\w+)`)

// checkPlans asks the database how it would do each statement that the contract's tests
// sent, with their arguments and without, and requires that none reads beyond its tenant.
func checkPlans(t *testing.T) {
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	keys := `SELECT CASE WHEN n = 1 THEN '%OURS%'::bytea ELSE substr(sha256(int8send(n)), 1, 16) END FROM generate_series(1, 30) n`
	tn := locitest.Tenant(t, "plans")
	ours := strings.ReplaceAll(keys, "%OURS%", hexBytes(postgres.KeyOf(tn)))
	for _, sql := range strings.Split(strings.TrimSpace(strings.ReplaceAll(fill, "%KEYS%", ours)), ";\n") {
		execute(t, d.Super, sql)
	}
	s := openAt(t, d.Server)
	asked := 0
	seen.Range(func(key, value any) bool {
		sql, args := key.(string), value.([]any)
		if !strings.Contains(sql, "loci.") || slices.Contains(postgres.OfAll, sql) || strings.HasPrefix(sql, "SET ") ||
			strings.HasPrefix(sql, "INSERT") ||
			strings.HasPrefix(sql, "EXPLAIN") {
			return true
		}
		asked++
		plan, err := postgres.Explain(t.Context(), s, tn, sql, args, false)
		judge(t, "custom", sql, plan, err)
		plan, err = postgres.Explain(t.Context(), s, tn, sql, nil, true)
		judge(t, "generic", sql, plan, err)
		return true
	})
	checkPlansOfAll(t, d, s)
	if asked < 50 {
		t.Errorf("%d statements were looked at; that is not all there are", asked)
	}
}

// checkPlansOfAll requires that a page over all tenants costs no more than its rows.
func checkPlansOfAll(t *testing.T, d pgtest.Database, s loci.Store) {
	t.Helper()
	execute(t, d.Super, `INSERT INTO loci.tenant
		SELECT substr(sha256(int8send(n)), 1, 16), 1, 0, 1, 1, 1, 1, '\x00', '\x01', int8send(n), n % 1000 FROM generate_series(31, 20000) n`)
	execute(t, d.Super, "ANALYZE loci.tenant")
	for i, args := range [][]any{{"x", 1000}, {int64(7), "x", int64(900), 1000}} {
		plan, err := postgres.ExplainOfAll(t.Context(), s, postgres.OfAll[i], args)
		text := strings.Join(plan, "\n")
		if err != nil || !strings.Contains(text, "Index") || strings.Contains(text, "Sort") {
			t.Errorf("the plan of %s reads more than a page: %v\n%s", postgres.OfAll[i], err, text)
		}
	}
}

func judge(t *testing.T, kind, sql string, plan []string, err error) {
	t.Helper()
	text := strings.Join(plan, "\n")
	if err != nil {
		t.Errorf("%s plan of %s: %v", kind, sql, err)
		return
	}
	for _, found := range wholeTable.FindAllStringSubmatch(text, -1) {
		if found[1] != "space" && found[1] != "tenant" { // a page each
			t.Errorf("%s plan reads all of %s:\n%s\n%s", kind, found[1], sql, text)
		}
	}
	if !strings.Contains(text, "Index") && !strings.Contains(text, "One-Time Filter: false") &&
		!strings.Contains(text, "space") &&
		!strings.Contains(text, "tenant") {
		t.Errorf("%s plan without an index:\n%s\n%s", kind, sql, text)
	}
}

func hexBytes(b []byte) string {
	const digits = "0123456789abcdef"
	out := `\x`
	for _, c := range b {
		out += string(digits[c>>4]) + string(digits[c&15])
	}
	return out
}
