package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// newSchema is what all migrations make of an empty file, without what is a file's own. It
// is made from them (go test ./store/sqlite -run NewFile -update) and takes a quarter of
// their time, which a new tenant waits for.
//
//go:embed new.sql
var newSchema string

// applicationID marks a file as ours in its header: "Loci" in ASCII.
const applicationID = 0x4C6F6369

// minimumSQLite is the first version without the race in resetting the
// write-ahead log that could damage a file several processes write to.
const minimumSQLite = "3.51.3"

// migrations are the steps of the schema by number, from 1. Step n brings a file to
// user_version n; a released step never changes. A number without a file is a step that
// changes nothing.
var migrations = func() []string {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is constant
	}
	var steps []string
	for _, name := range names { // Glob sorts
		data, err := migrationFiles.ReadFile(name)
		if err != nil {
			panic(err) // embedded
		}
		n, err := strconv.Atoi(path.Base(name)[:4])
		if err != nil || n <= len(steps) {
			panic("the migration " + name + " has no number of its own")
		}
		steps = append(steps, make([]string, n-len(steps))...)
		steps[n-1] = string(data)
	}
	return steps
}()

// namesStep is the step that SQL alone cannot make; see [migrateNames].
const namesStep = 7

// prepare brings a freshly opened file to the present schema: write-ahead log,
// version checks, migrations. Several processes may do so at once: whichever step
// meets a lock, all of it is tried again, since each step is harmless twice.
// unwiped reports that what was erased may still have leftovers in the file.
func prepare(ctx context.Context, conn *sql.Conn, tenant string) (unwiped bool, err error) {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := prepareOnce(ctx, conn, tenant)
		if err == nil {
			err = conn.QueryRowContext(ctx, "SELECT value > 0 FROM meta WHERE key = 'scrub'").Scan(&unwiped)
		}
		if err == nil || !isBusy(err) || time.Now().After(deadline) {
			return unwiped, err
		}
		if err := patience.Sleep(ctx, time.Duration(1+rand.IntN(20))*time.Millisecond); err != nil {
			return false, err
		}
	}
}

func prepareOnce(ctx context.Context, conn *sql.Conn, tenant string) error {
	if err := checkVersion(ctx, conn, minimumSQLite); err != nil {
		return err
	}
	version, err := readVersion(ctx, conn) // before anything is written: the file may not be ours
	if err != nil {
		return err
	}
	if err := useWAL(ctx, conn); err != nil {
		return err
	}
	if version < len(migrations) {
		if err := migrate(ctx, conn, tenant); err != nil {
			return err
		}
	}
	var owner string
	if err := conn.QueryRowContext(ctx, "SELECT value FROM meta WHERE key = 'tenant'").Scan(&owner); err != nil {
		return err
	}
	if owner != tenant {
		return loci.Errorf(loci.Unsupported, "the file belongs to tenant %q: use a store path that is a directory for several tenants", owner)
	}
	return nil
}

// checkVersion refuses a SQLite older than the least version.
func checkVersion(ctx context.Context, conn *sql.Conn, least string) error {
	var have string
	if err := conn.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&have); err != nil {
		return err
	}
	if !atLeast(have, least) {
		return loci.Errorf(loci.Unsupported, "this build has SQLite %s; %s or newer is needed, older ones can damage files", have, least)
	}
	return nil
}

// atLeast compares dotted version numbers.
func atLeast(have, want string) bool {
	var h, w [3]int
	// A part that is no number counts as 0, which refuses it.
	_, _ = fmt.Sscanf(have, "%d.%d.%d", &h[0], &h[1], &h[2])
	_, _ = fmt.Sscanf(want, "%d.%d.%d", &w[0], &w[1], &w[2])
	for i := range h {
		if h[i] != w[i] {
			return h[i] > w[i]
		}
	}
	return true
}

// useWAL switches to the write-ahead log. The switch needs the file alone and,
// unlike other steps, does not wait for it by itself.
func useWAL(ctx context.Context, conn *sql.Conn) error {
	var mode string
	if err := conn.QueryRowContext(ctx, "PRAGMA journal_mode=WAL").Scan(&mode); err != nil {
		return err
	}
	if !strings.EqualFold(mode, "wal") {
		return loci.Errorf(loci.Unsupported, "the file system does not allow a write-ahead log (journal mode stays %s): use a local disk", mode)
	}
	return nil
}

// readVersion returns the schema version of a file, 0 for an empty one, and
// refuses what is not ours or newer than this build.
func readVersion(ctx context.Context, conn *sql.Conn) (int, error) {
	var version, application, tables int
	err := conn.QueryRowContext(ctx, "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)").
		Scan(&version, &application, &tables)
	switch {
	case err != nil:
		return 0, err
	case application != applicationID && tables > 0:
		return 0, loci.Errorf(loci.Unsupported, "the file is a SQLite database of another program: choose another path")
	case version > len(migrations):
		return 0, loci.Errorf(loci.Unsupported, "the file has schema version %d and this build knows up to %d: upgrade Loci", version, len(migrations))
	}
	return version, nil
}

// migrate brings a file to the present schema: a new one in one transaction, so that it costs
// one wait for the disk, and one with memories a step in each, since they may be long.
func migrate(ctx context.Context, conn *sql.Conn, tenant string) (err error) {
	for {
		done, err := migrateOnce(ctx, conn, tenant)
		if done || err != nil {
			return err
		}
	}
}

func migrateOnce(ctx context.Context, conn *sql.Conn, tenant string) (done bool, err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	defer func() {
		if err != nil || done {
			_, rollback := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
			if err == nil {
				err = rollback
			} else {
				err = errors.Join(err, rollback)
			}
		}
	}()
	// Read again under the lock: another process may have migrated meanwhile.
	version, err := readVersion(ctx, conn)
	if err != nil || version == len(migrations) {
		return err == nil, err
	}
	step := version + 1
	if version == 0 {
		step = len(migrations)
		err = fillNew(ctx, conn, tenant)
	} else {
		err = migrateStep(ctx, conn, step)
	}
	if err != nil {
		return false, fmt.Errorf("migration %d: %w", step, err)
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT", applicationID, step))
	return false, err
}

// fillNew gives an empty file the present schema, inside a transaction.
func fillNew(ctx context.Context, conn *sql.Conn, tenant string) error {
	if _, err := conn.ExecContext(ctx, newSchema); err != nil {
		return err
	}
	names := loci.NewNameKey()
	_, err := conn.ExecContext(ctx, "INSERT INTO meta (key, value) VALUES ('tenant', ?), ('name_key', ?)", tenant, names[:])
	return err
}

// migrateStep brings a file from the step before to this one, inside a transaction.
func migrateStep(ctx context.Context, conn *sql.Conn, step int) error {
	if _, err := conn.ExecContext(ctx, "UPDATE meta SET value = x'' WHERE key = 'follower'"); err != nil && step > 1 {
		return err // nobody has seen what a step writes; see [touched]
	}
	if _, err := conn.ExecContext(ctx, migrations[step-1]); err != nil {
		return err
	}
	if step == namesStep {
		return migrateNames(ctx, conn)
	}
	return nil
}
