package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// oldestServer is the first version of PostgreSQL that is tested, as the server writes it.
const oldestServer = 150000

// A migration is a step of the schema. A released one never changes.
type migration struct{ name, sql string }

// migrations are the steps of the schema, oldest first; step n brings it to version n.
var migrations = func() (steps []migration) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, name := range names { // Glob sorts
		data, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		steps = append(
			steps,
			migration{strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"), ".sql"), string(data)},
		)
	}
	return steps
}()

// tables are all there are; the wall is around each.
var tables = append([]string{"lease", "setting", "tenant"}, tenantTables...)

// system is the tenant of what is true for all of them.
var system = make([]byte, 16)

// versionName is the setting that holds the schema's version.
const versionName = "schema"

// migrationLock is the advisory lock of those who migrate: "loci" in ASCII.
const migrationLock = 0x6C6F6369

// A Migration says what to do with a schema.
type Migration struct {
	Role   string // the role that servers connect as, which gets the rights they need
	DryRun bool   // say what would be done, and do nothing
}

// A MigrationReport says what was done, or would be.
type MigrationReport struct {
	From  int      `json:"from"` // the schema's version before; 0: there was none
	To    int      `json:"to"`
	Steps []string `json:"steps"` // in order
	Role  string   `json:"role,omitempty"`
}

// roleName is a role's name that needs no quotes to be read.
var roleName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.@-]{0,62}$`)

// Migrate brings the schema of a database to this build's version, as the role that is to
// own it, and gives a server's role its rights. Whoever migrates at the same time waits.
func Migrate(ctx context.Context, url string, m Migration) (report MigrationReport, err error) {
	if m.Role != "" && !roleName.MatchString(m.Role) {
		return report, loci.Errorf(loci.Invalid, "role %q must be 1 to 63 letters, digits and _ . @ -", m.Role)
	}
	cfg, err := configure(url)
	if err != nil {
		return report, err
	}
	conn, err := pgx.ConnectConfig(ctx, cfg.ConnConfig)
	if err != nil {
		return report, translate("migrate", err)
	}
	defer func() { err = errors.Join(err, translate("migrate", conn.Close(context.WithoutCancel(ctx)))) }()
	report, err = migrate(ctx, conn, m)
	return report, translate("migrate", err)
}

func migrate(ctx context.Context, conn *pgx.Conn, m Migration) (report MigrationReport, err error) {
	if err := checkServer(ctx, conn); err != nil {
		return report, err
	}
	report = MigrationReport{To: len(migrations), Steps: []string{}, Role: m.Role}
	if m.Role != "" {
		if err := checkRole(ctx, conn, m.Role); err != nil {
			return report, err
		}
	}
	for first := true; ; first = false {
		version, done, err := migrateStep(ctx, conn, m)
		if first {
			report.From = version
			for _, step := range migrations[min(version, len(migrations)):] {
				report.Steps = append(report.Steps, step.name)
			}
		}
		if err != nil || done {
			return report, err
		}
	}
}

// migrateStep makes one step, or gives the rights when there is none left.
func migrateStep(ctx context.Context, conn *pgx.Conn, m Migration) (version int, done bool, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(migrationLock)); err != nil {
			return err
		}
		if version, err = readVersion(ctx, tx); err != nil {
			return err
		}
		switch {
		case m.DryRun:
			done = true
			return nil
		case version == len(migrations):
			done = true
			return grant(ctx, tx, m.Role)
		case version == 0:
			if _, err := tx.Exec(ctx, "CREATE SCHEMA IF NOT EXISTS loci"); err != nil {
				return err
			}
		}
		step := migrations[version]
		if _, err := tx.Exec(ctx, step.sql); err != nil {
			return fmt.Errorf("migration %s: %w", step.name, err)
		}
		if err := wall(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO loci.setting (tenant, name, value) VALUES ($1, $2, $3)
			ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value`, system, []byte(versionName), []byte(strconv.Itoa(version+1)))
		return err
	})
	return version, done, err
}

// wall puts row-level security around every table. Not FORCE: a server's role owns nothing.
func wall(ctx context.Context, tx pgx.Tx) error {
	const here = "decode(current_setting('loci.tenant', true), 'hex')"
	for _, table := range tables {
		var there bool
		if err := tx.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL", "loci."+table).Scan(&there); err != nil {
			return err
		}
		if !there { // a later step makes it
			continue
		}
		using := "tenant = " + here
		if table == "tenant" { // upkeep may read who there is
			using += " OR " + here + fmt.Sprintf(` = '\x%x'::bytea`, everyone)
		}
		policy := "CREATE POLICY wall ON loci." + table + " USING (" + using + ") WITH CHECK (tenant = " + here + ")"
		for _, sql := range []string{
			"ALTER TABLE loci." + table + " ENABLE ROW LEVEL SECURITY", "DROP POLICY IF EXISTS wall ON loci." + table, policy,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
	}
	return nil
}

// grant gives a server's role what it needs: to read and write rows.
func grant(ctx context.Context, tx pgx.Tx, role string) error {
	if role == "" {
		return nil
	}
	quoted := pgx.Identifier{role}.Sanitize()
	for _, sql := range []string{
		"GRANT USAGE ON SCHEMA loci TO " + quoted,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA loci TO " + quoted,
	} {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// checkServer refuses a server or a database that cannot hold memories.
func checkServer(ctx context.Context, q querier) error {
	var version int
	var shown, encoding string
	const query = `SELECT current_setting('server_version_num')::int, current_setting('server_version'), pg_encoding_to_char(encoding)
		FROM pg_database WHERE datname = current_database()`
	if err := q.QueryRow(ctx, query).Scan(&version, &shown, &encoding); err != nil {
		return err
	}
	switch {
	case version < oldestServer:
		return loci.Errorf(
			loci.Unsupported,
			"the database server is PostgreSQL %s; %d or newer is needed: upgrade it",
			shown,
			oldestServer/10000,
		)
	case encoding != "UTF8":
		return loci.Errorf(
			loci.Unsupported,
			"the database has the encoding %s; it must be UTF8: make another one with createdb --encoding UTF8 --template template0",
			encoding,
		)
	}
	return nil
}

// checkRole refuses rights for a role that could turn the wall off.
func checkRole(ctx context.Context, q querier, role string) error {
	var strong bool
	err := q.QueryRow(ctx, "SELECT rolsuper OR rolbypassrls OR rolname = current_user FROM pg_roles WHERE rolname = $1", role).
		Scan(&strong)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return loci.Errorf(
			loci.Invalid,
			"role %q does not exist: make it with CREATE ROLE %s LOGIN PASSWORD '…'",
			role,
			pgx.Identifier{role}.Sanitize(),
		)
	case err != nil:
		return err
	case strong:
		return loci.Errorf(
			loci.Invalid,
			"role %q is a superuser, may bypass row-level security or owns the tables: servers need a role of their own that is none of it",
			role,
		)
	}
	return nil
}

// readVersion returns the schema's version, 0 for none, and refuses what is not ours or
// newer than this build.
func readVersion(ctx context.Context, q querier) (version int, err error) {
	var there, ours bool
	const query = "SELECT to_regnamespace('loci') IS NOT NULL AND EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = to_regnamespace('loci')), to_regclass('loci.setting') IS NOT NULL"
	if err := q.QueryRow(ctx, query).Scan(&there, &ours); err != nil || !there {
		return 0, err
	}
	if !ours {
		return 0, loci.Errorf(
			loci.Unsupported,
			"the database has a schema loci that is another program's: use a database of its own",
		)
	}
	var text []byte
	err = q.QueryRow(ctx, "SELECT value FROM loci.setting WHERE tenant = $1 AND name = $2", system, []byte(versionName)).
		Scan(&text)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, err
	}
	version, err = strconv.Atoi(string(text))
	switch {
	case err != nil || version < 1:
		return 0, loci.Errorf(
			loci.Unsupported,
			"the database does not say which schema it has: restore it from a backup",
		)
	case len(migrations) < version:
		return 0, loci.Errorf(
			loci.Unsupported,
			"the database has schema version %d and this build knows up to %d: upgrade Loci",
			version,
			len(migrations),
		)
	}
	return version, nil
}
