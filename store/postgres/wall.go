package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
)

// examine makes sure, before a server of the database is used, that it may be.
func examine(ctx context.Context, conn *pgx.Conn) error {
	if err := checkServer(ctx, conn); err != nil {
		return err
	}
	if err := checkSchema(ctx, conn); err != nil {
		return err
	}
	if err := checkPowers(ctx, conn); err != nil {
		return err
	}
	return tryWall(ctx, conn)
}

// checkSchema refuses a schema that this build cannot serve.
func checkSchema(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, behindWall(system).sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		version, err := readVersion(ctx, tx, toServe)
		if err != nil {
			return err
		}
		if version < len(migrations) {
			return &loci.Error{
				Code: loci.Unsupported,
				Msg: fmt.Sprintf(
					"the database has schema version %d and this build needs %d",
					version,
					len(migrations),
				),
				Recovery: "Run loci migrate with the URL of the role that owns the tables, and --role with the name of this one.",
			}
		}
		return nil
	})
}

// checkPowers refuses a role that could turn the wall off, and tables without one.
func checkPowers(ctx context.Context, conn *pgx.Conn) error {
	var role string
	var super, owner bool
	var open []string
	const query = `SELECT current_user::text, (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user),
		coalesce(bool_or(pg_has_role(current_user, relowner, 'USAGE')), false),
		coalesce(array_agg(relname::text ORDER BY relname) FILTER (WHERE NOT relrowsecurity), '{}')
		FROM pg_class WHERE relnamespace = to_regnamespace('loci') AND relkind IN ('r', 'p')`
	if err := conn.QueryRow(ctx, query).Scan(&role, &super, &owner, &open); err != nil {
		return err
	}
	const remedy = "Make a role of its own for servers: CREATE ROLE … LOGIN PASSWORD '…'; then loci migrate with the owner's URL and --role with its name."
	switch {
	case super:
		return &loci.Error{
			Code: loci.Unsupported,
			Msg: fmt.Sprintf(
				"the role %q is a superuser or may bypass row-level security: nothing would keep tenants apart but our own statements",
				role,
			),
			Recovery: remedy,
		}
	case owner:
		return &loci.Error{
			Code:     loci.Unsupported,
			Msg:      fmt.Sprintf("the role %q owns the tables and could turn the wall between tenants off", role),
			Recovery: remedy,
		}
	case len(open) > 0:
		return &loci.Error{
			Code:     loci.Unsupported,
			Msg:      fmt.Sprintf("row-level security is off for the tables %v", open),
			Recovery: "Run loci migrate with the URL of the role that owns the tables.",
		}
	}
	return nil
}

// errUndo ends a transaction that is not to be committed.
var errUndo = errors.New("undo")

// tryWall writes a row of a tenant nobody has, looks for it as another one, and takes it
// back.
func tryWall(ctx context.Context, conn *pgx.Conn) error {
	mine, other := make([]byte, 16), make([]byte, 16)
	_, _ = rand.Read(mine) // never fails
	_, _ = rand.Read(other)
	become := func(tx pgx.Tx, tenant []byte) error {
		_, err := tx.Exec(ctx, behindWall(tenant).sql, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	breach := &loci.Error{
		Code:     loci.Unsupported,
		Msg:      "the wall between tenants does not stand: a tenant's rows are seen or written as another one",
		Recovery: "Run loci migrate with the URL of the role that owns the tables; on a distributed database, ALTER ROLE … SET citus.propagate_set_commands = 'local' for this role.",
	}
	const insert = "INSERT INTO loci.setting (tenant, name, value) VALUES ($1, $2, $2)"
	err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := become(tx, mine); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, insert, mine, []byte("wall")); err != nil {
			return err
		}
		const count = "SELECT count(*) FROM loci.setting WHERE tenant = $1"
		for _, tenant := range [][]byte{mine, other} {
			if err := become(tx, tenant); err != nil {
				return err
			}
			var n int
			if err := tx.QueryRow(ctx, count, mine).Scan(&n); err != nil {
				return err
			}
			if seen := n > 0; seen != (string(tenant) == string(mine)) {
				return breach
			}
		}
		err := pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error { // a savepoint: it must fail
			_, err := tx.Exec(ctx, insert, mine, []byte("over"))
			return err
		})
		switch {
		case err == nil:
			return breach
		case codeOf(err) != codeNoPrivilege:
			return err
		}
		return errUndo
	})
	if errors.Is(err, errUndo) {
		return nil
	}
	return err
}
