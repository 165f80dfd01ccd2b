package postgres_test

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci/store/postgres"
)

// seen are the statements that the tests of this package sent, each with some arguments.
var seen sync.Map // string → []any

// tables are mentions of our tables in a statement: after these words alone.
var (
	tables   = regexp.MustCompile(`(?:FROM|JOIN|UPDATE|INTO)\s+loci\.(\w+)`)
	named    = regexp.MustCompile(`\btenant = \$1\b`)
	inserted = regexp.MustCompile(`^INSERT INTO loci\.\w+ \(tenant, [^)]*\)\s+(VALUES \(\$1,|SELECT tenant, )`)
	rows     = regexp.MustCompile(`\), \(\$(\d+)`)
)

// fault says how a statement may reach another tenant; "" for a sound one.
func fault(sql string) string {
	mentions := len(tables.FindAllString(sql, -1))
	others := strings.Count(sql, "loci.namespace.n") + strings.Count(sql, "SET LOCAL loci.tenant")
	if mentions != strings.Count(sql, "loci.")-others {
		return "it mentions a table where this test does not look"
	}
	said := len(named.FindAllString(sql, -1))
	if inserted.MatchString(sql) {
		said++
		for _, row := range rows.FindAllStringSubmatch(sql, -1) {
			if row[1] != "1" {
				return "a row of it begins with another tenant"
			}
		}
	}
	if said < mentions {
		return "it does not name the tenant of each table"
	}
	return ""
}

// checkStatements requires that each statement seen so far is about one tenant, by its own
// words and not by the wall alone.
func checkStatements(t *testing.T) {
	n := 0
	seen.Range(func(key, _ any) bool {
		sql := strings.TrimPrefix(key.(string), "EXPLAIN (FORMAT JSON) ") // by which another test asked for its plan
		if n++; slices.Contains(postgres.OfAll, sql) {
			return true
		}
		if problem := fault(sql); problem != "" {
			t.Errorf("%s: %s", problem, sql)
		}
		return true
	})
	if n < 60 {
		t.Errorf("%d statements were seen; that is not all there are", n)
	}
}

// The check of statements notices a statement without its tenant.
func TestStatementsWithoutATenantAreNoticed(t *testing.T) {
	for _, sql := range []string{
		"SELECT 1 FROM loci.record WHERE id = $2",
		"SELECT 1 FROM loci.record r JOIN loci.vector v ON v.record = r.id WHERE r.tenant = $1",
		"SELECT 1 FROM loci.record r WHERE r.tenant = $1 AND EXISTS (SELECT 1 FROM loci.vector v WHERE v.tenant = r.tenant)",
		"UPDATE loci.record SET uses = 1 WHERE tenant = $2",
		"DELETE FROM loci.record USING loci.vector v WHERE loci.record.tenant = $1 AND v.tenant = $1",
		"INSERT INTO loci.link (tenant, from_id) VALUES ($1, $2), ($3, $4)",
		"INSERT INTO loci.link (from_id, tenant) VALUES ($1, $2)",
	} {
		if fault(sql) == "" {
			t.Errorf("not noticed: %s", sql)
		}
	}
}

// Every table is in the list that the wall goes by.
func TestEveryTableIsBehindTheWall(t *testing.T) {
	d, giveBack := database(t)
	defer giveBack()
	var found []string
	query(
		t,
		d.Super,
		"SELECT relname::text FROM pg_class WHERE relnamespace = 'loci'::regnamespace AND relkind = 'r' AND relrowsecurity ORDER BY 1",
		&found,
	)
	want := slices.Sorted(slices.Values(postgres.Tables))
	if !slices.Equal(found, want) {
		t.Errorf("row-level security is on for %v; the tables are %v", found, want)
	}
	var all []string
	query(
		t,
		d.Super,
		"SELECT relname::text FROM pg_class WHERE relnamespace = 'loci'::regnamespace AND relkind = 'r' ORDER BY 1",
		&all,
	)
	if !slices.Equal(all, want) {
		t.Errorf("there are the tables %v; known are %v", all, want)
	}
}
