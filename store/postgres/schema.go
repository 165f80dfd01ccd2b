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
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

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

// These settings hold the schema's version, and the oldest one whose builds may serve it.
const (
	versionName = "schema"
	servedName  = "schema_served_from"
)

// servedFrom is the oldest version whose builds may serve the schema of this one, so that servers
// can be replaced one after the other. A step that takes away what they use raises it, and comes a
// version after the one that stops using it.
const servedFrom = 3

// migrationLock is the advisory lock of those who migrate: "loci" in ASCII.
const migrationLock = 0x6C6F6369

// lockPause is how long somebody waits before another look whether the lock is free.
const lockPause = 100 * time.Millisecond

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
	cfg, _, err := configure(url)
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
		version, err := readVersion(ctx, conn, toMigrate)
		if err != nil {
			return report, err
		}
		step := migrateStep
		if version < len(migrations) && migrations[version].beside() && !m.DryRun {
			step = migrateBeside
		}
		version, done, err := step(ctx, conn, m)
		if first {
			report.From = version
			for _, step := range migrations[min(version, len(migrations)):] {
				report.Steps = append(report.Steps, step.name)
			}
		}
		if err == nil && done && !m.DryRun {
			err = countTenants(ctx, conn)
		}
		if err != nil || done {
			return report, err
		}
	}
}

// beside says whether a step builds or drops indexes while servers write, which PostgreSQL does
// only outside of a transaction.
func (m migration) beside() bool { return strings.Contains(m.sql, " INDEX CONCURRENTLY ") }

// These ask for the lock of those who migrate.
const (
	lockTransaction = "SELECT pg_try_advisory_xact_lock($1)"
	lockConnection  = "SELECT pg_try_advisory_lock($1)"
)

// lock keeps others from migrating, by one of the statements above. It asks again and again:
// whoever waits inside a statement keeps a snapshot, for which an index that is built beside
// servers waits in turn. So does who asked through a portal: hence the simple protocol.
func lock(ctx context.Context, q querier, ask string) error {
	for {
		var mine bool
		err := q.QueryRow(ctx, ask, pgx.QueryExecModeSimpleProtocol, int64(migrationLock)).Scan(&mine)
		if err != nil || mine {
			return err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// migrateStep makes one step, or gives the rights when there is none left.
func migrateStep(ctx context.Context, conn *pgx.Conn, m Migration) (version int, done bool, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := lock(ctx, tx, lockTransaction); err != nil {
			return err
		}
		if version, err = readVersion(ctx, tx, toMigrate); err != nil {
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
		if step.beside() { // somebody else came so far, just now
			return nil
		}
		if _, err := tx.Exec(ctx, step.sql); err != nil {
			return fmt.Errorf("migration %s: %w", step.name, err)
		}
		if err := wall(ctx, tx); err != nil {
			return err
		}
		return setVersion(ctx, tx, version+1)
	})
	return version, done, err
}

// migrateBeside makes one step while servers write: each statement by itself, on a connection
// that has no transaction, under the lock of one that has. What ended halfway is taken up again,
// as every statement leaves alone what is done; an index that was left invalid is dropped first.
func migrateBeside(ctx context.Context, conn *pgx.Conn, _ Migration) (version int, done bool, err error) {
	second, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		return 0, false, err
	}
	defer func() { err = errors.Join(err, second.Close(context.WithoutCancel(ctx))) }()
	level := pgx.TxOptions{IsoLevel: pgx.ReadCommitted} // another one keeps a snapshot
	err = pgx.BeginTxFunc(ctx, second, level, func(tx pgx.Tx) error {
		// It does nothing for as long as the largest index takes.
		if _, err := tx.Exec(ctx, "SET LOCAL idle_in_transaction_session_timeout = 0"); err != nil {
			return err
		}
		if err := lock(ctx, tx, lockTransaction); err != nil {
			return err
		}
		if version, err = readVersion(ctx, conn, toMigrate); err != nil {
			return err
		}
		if version == len(migrations) || !migrations[version].beside() { // somebody else made it
			return nil
		}
		step := migrations[version]
		broken, err := dropInvalid(ctx, conn, step)
		if err != nil {
			return err
		}
		for _, sql := range append(broken, strings.Split(strings.TrimSpace(step.sql), ";\n")...) {
			if _, err := conn.Exec(ctx, sql); err != nil {
				return fmt.Errorf("migration %s: %w", step.name, err)
			}
		}
		return setVersion(ctx, conn, version+1)
	})
	return version, false, err
}

// dropInvalid returns the statements that drop those indexes of a step which were not built to
// their end: they are kept up to date and serve no query, and IF NOT EXISTS takes them for done.
func dropInvalid(ctx context.Context, conn *pgx.Conn, m migration) (statements []string, err error) {
	const ask = `SELECT c.relname::text FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
		WHERE NOT i.indisvalid AND c.relnamespace = 'loci'::regnamespace`
	rows, err := conn.Query(ctx, ask)
	if err != nil {
		return nil, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	for _, name := range names {
		if strings.Contains(m.sql, " IF NOT EXISTS "+name+" ") {
			statements = append(statements, "DROP INDEX CONCURRENTLY IF EXISTS loci."+pgx.Identifier{name}.Sanitize())
		}
	}
	return statements, err
}

// setVersion says how far the schema has come, and whom it serves.
func setVersion(ctx context.Context, to execer, version int) error {
	_, err := to.Exec(
		ctx,
		`INSERT INTO loci.setting (tenant, name, value) VALUES ($1, $2, $3), ($1, $4, $5)
		ON CONFLICT (tenant, name) DO UPDATE SET value = excluded.value`,
		system, []byte(versionName), []byte(strconv.Itoa(version)),
		[]byte(servedName), []byte(strconv.Itoa(min(version, servedFrom))),
	)
	return err
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

// execer is one, too.
type execer interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
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

// What a schema's version is read for.
const (
	toServe   = true // a newer one will do if it says so
	toMigrate = false
)

// readVersion returns the schema's version, 0 for none, and refuses what is not ours or
// newer than this build can do with.
func readVersion(ctx context.Context, q querier, serve bool) (version int, err error) {
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
	var text, from []byte
	const ask = `SELECT (SELECT value FROM loci.setting WHERE tenant = $1 AND name = $2),
		(SELECT value FROM loci.setting WHERE tenant = $1 AND name = $3)`
	err = q.QueryRow(ctx, ask, system, []byte(versionName), []byte(servedName)).Scan(&text, &from)
	if err != nil {
		return 0, err
	}
	version, err = strconv.Atoi(string(text))
	least, unknown := strconv.Atoi(string(from))
	served := serve && unknown == nil && least <= len(migrations)
	switch {
	case err != nil || version < 1:
		return 0, loci.Errorf(
			loci.Unsupported,
			"the database does not say which schema it has: restore it from a backup",
		)
	case len(migrations) < version && !served:
		return 0, loci.Errorf(
			loci.Unsupported,
			"the database has schema version %d and this build knows up to %d: upgrade Loci",
			version,
			len(migrations),
		)
	}
	return version, nil
}
