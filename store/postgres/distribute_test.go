package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

// stubs stand in the place of the extension, which the tests' servers do not have: they show
// which statements are sent, and nothing of what Citus makes of them.
const stubs = `CREATE TABLE pg_dist_partition (logicalrelid regclass PRIMARY KEY, key text, peer text);
CREATE FUNCTION create_distributed_table(regclass, text, colocate_with text DEFAULT 'default') RETURNS void LANGUAGE sql AS
	'INSERT INTO public.pg_dist_partition VALUES ($1, $2, $3)';
GRANT ALL ON pg_dist_partition TO PUBLIC`

// distributed is a database of its own with our tables.
func distributed(t *testing.T) pgtest.Database {
	t.Helper()
	d := pgtest.Shared(t).NewDatabase(t)
	if _, err := postgres.Distribute(t.Context(), d.Owner, true); loci.AsError(err) == nil ||
		!strings.Contains(err.Error(), "schema version 0") {
		t.Errorf("without tables: %v", err)
	}
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	return d
}

// Without the extension a dry run says what would be run, and anything else is refused with
// what to install.
func TestDistributeWithoutTheExtension(t *testing.T) {
	d := distributed(t)
	plan, err := postgres.Distribute(t.Context(), d.Owner, true)
	const first = "SELECT create_distributed_table('loci.tenant', 'tenant', colocate_with => 'none')"
	if err != nil || plan.Made || len(plan.Commands) != len(postgres.Tables)+1 || plan.Commands[0] != first ||
		!strings.HasPrefix(plan.Commands[len(plan.Commands)-1], `ALTER ROLE "`+d.Role+`" SET citus.`) {
		t.Errorf("%+v, %v", plan, err)
	}
	_, err = postgres.Distribute(t.Context(), d.Owner, false)
	if e := loci.AsError(err); err == nil || e.Code != loci.Unsupported ||
		!strings.Contains(e.Advice(), "CREATE EXTENSION citus") {
		t.Errorf("%v", err)
	}
}

// Each table goes by its tenant and lies with that of tenants, which comes first; again there is
// nothing to do, and what was left in the middle goes on.
func TestDistribute(t *testing.T) {
	d := distributed(t)
	execute(t, d.Super, stubs)
	plan, err := postgres.Distribute(t.Context(), d.Owner, true)
	if err != nil || plan.Made || len(plan.Commands) < 10 {
		t.Errorf("a dry run: %+v, %v", plan, err)
	}
	var found []string
	const list = "SELECT logicalrelid::text || ' ' || key || ' ' || peer FROM pg_dist_partition ORDER BY 1"
	query(t, d.Super, list, &found)
	if len(found) > 0 {
		t.Errorf("a dry run distributed %q", found)
	}
	done, err := postgres.Distribute(t.Context(), d.Owner, false)
	if err != nil || !done.Made {
		t.Fatalf("%+v, %v", done, err)
	}
	// The owner of the tests' tables may not change other roles.
	if len(done.Left) != 1 || !strings.Contains(done.Left[0], d.Role) {
		t.Errorf("left is %q", done.Left)
	}
	var want []string
	for _, table := range postgres.Tables {
		peer := "loci.tenant"
		if table == "tenant" {
			peer = "none"
		}
		want = append(want, "loci."+table+" tenant "+peer)
	}
	slices.Sort(want)
	query(t, d.Super, list, &found)
	if !slices.Equal(found, want) {
		t.Errorf("distributed are %q, want %q", found, want)
	}
	begin := openAt(t, d.Server) // servers go on
	if err := begin.Close(); err != nil {
		t.Error(err)
	}
	execute(t, d.Super, "DELETE FROM pg_dist_partition WHERE logicalrelid = 'loci.event'::regclass")
	again, err := postgres.Distribute(t.Context(), d.Owner, false)
	if err != nil || len(again.Commands) != 1 || !strings.Contains(again.Commands[0], "loci.event") {
		t.Errorf("again: %+v, %v", again, err)
	}
}
