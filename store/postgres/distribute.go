package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
)

// A Distribution says how tables are spread over the nodes of a cluster.
type Distribution struct {
	Commands []string // statements, in order
	Left     []string // those that the role may not run; somebody else has to
	Made     bool     // they were run; else it was a dry run
}

// Distribute makes the tables distributed by their tenant, each tenant whole on one node, by the
// extension Citus. What is distributed already is left alone, so that it may be run again. A dry
// run only says how, with or without the extension.
func Distribute(ctx context.Context, url string, dryRun bool) (out Distribution, err error) {
	cfg, _, err := configure(url)
	if err != nil {
		return out, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return out, translate("distribute", err)
	}
	defer func() {
		err = errors.Join(translate("distribute", err), conn.Close(context.WithoutCancel(ctx)))
	}()
	if err := checkServer(ctx, conn); err != nil {
		return out, err
	}
	if version, err := readVersion(ctx, conn, toMigrate); err != nil || version < len(migrations) {
		return out, errors.Join(err, notMigrated(version))
	}
	var able bool
	const ask = "SELECT EXISTS (SELECT 1 FROM pg_proc WHERE proname = 'create_distributed_table')"
	if err := conn.QueryRow(ctx, ask).Scan(&able); err != nil {
		return out, err
	}
	if !able && !dryRun {
		return out, &loci.Error{
			Code:     loci.Unsupported,
			Msg:      "the database cannot distribute tables: it lacks the extension citus",
			Recovery: "Install Citus on every node, run CREATE EXTENSION citus in this database and add the nodes; --dry-run says what would be run then.",
		}
	}
	// On the coordinator, and not beside a migration.
	if err := lock(ctx, conn, lockConnection); err != nil {
		return out, err
	}
	if err := distributeTables(ctx, conn, able, dryRun, &out); err != nil {
		return out, err
	}
	return out, distributeRoles(ctx, conn, dryRun, &out)
}

// distributeTables begins with that of tenants: the others lie with it.
func distributeTables(ctx context.Context, conn *pgx.Conn, able, dryRun bool, out *Distribution) error {
	for _, table := range append([]string{"tenant", "lease", "setting"}, tenantTables...) {
		if able {
			var done bool
			const ask = "SELECT EXISTS (SELECT 1 FROM pg_dist_partition WHERE logicalrelid = $1::text::regclass)"
			if err := conn.QueryRow(ctx, ask, "loci."+table).Scan(&done); err != nil {
				return err
			}
			if done {
				continue
			}
		}
		with := ", colocate_with => 'loci.tenant'"
		if table == "tenant" {
			with = ", colocate_with => 'none'" // with nothing of somebody else's
		}
		sql := fmt.Sprintf("SELECT create_distributed_table('loci.%s', 'tenant'%s)", table, with)
		out.Commands = append(out.Commands, sql)
		if dryRun {
			continue
		}
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("distributing %s: %w", table, err)
		}
	}
	out.Made = !dryRun
	return nil
}

// distributeRoles lets what servers say of the tenant at hand reach the nodes: without it nobody
// gets through the wall there.
func distributeRoles(ctx context.Context, conn *pgx.Conn, dryRun bool, out *Distribution) error {
	const ask = `SELECT DISTINCT r.rolname::text FROM pg_class c, aclexplode(c.relacl) a, pg_roles r
		WHERE c.oid = 'loci.record'::regclass AND a.privilege_type = 'INSERT' AND r.oid = a.grantee AND a.grantee <> c.relowner
		ORDER BY 1`
	rows, err := conn.Query(ctx, ask)
	if err != nil {
		return err
	}
	roles, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, role := range roles {
		sql := "ALTER ROLE " + pgx.Identifier{role}.Sanitize() + " SET citus.propagate_set_commands = 'local'"
		if dryRun {
			out.Commands = append(out.Commands, sql)
			continue
		}
		_, err := conn.Exec(ctx, sql)
		switch {
		case codeOf(err) == codeNoPrivilege:
			out.Left = append(out.Left, sql)
		case err != nil:
			return err
		default:
			out.Commands = append(out.Commands, sql)
		}
	}
	return nil
}

// notMigrated refuses a schema of an older version.
func notMigrated(version int) error {
	if version == len(migrations) {
		return nil
	}
	return &loci.Error{
		Code:     loci.Unsupported,
		Msg:      fmt.Sprintf("the database has schema version %d and this build needs %d", version, len(migrations)),
		Recovery: "Run loci migrate with the same URL first, and --role with the name of the role that servers connect as.",
	}
}
