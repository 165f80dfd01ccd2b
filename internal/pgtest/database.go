package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
)

// The roles of a database of a test: one owns what is in it, the other is what a server of
// ours connects as.
const (
	ownerRole  = "loci_test_owner"
	serverRole = "loci_test_server"
)

// A Database is one of a server's, with the two roles that an operator makes.
type Database struct {
	Name   string
	Super  string // URL of the superuser
	Owner  string // URL of the role that migrates
	Server string // URL of the role that serves
	Role   string // the name of the role that serves
}

var made atomic.Int64

// Database makes an empty database. drop removes it, whoever is connected.
func (s *Server) Database(ctx context.Context) (d Database, drop func() error, err error) {
	d.Name = fmt.Sprintf("loci_test_%d_%d", os.Getpid(), made.Add(1))
	d.Role = serverRole
	if err := s.makeDatabase(ctx, d.Name); err != nil {
		return d, nil, err
	}
	d.Super, d.Owner, d.Server = s.at("", d.Name), s.at(ownerRole, d.Name), s.at(serverRole, d.Name)
	drop = func() error {
		s.left.Delete(d.Name)
		return s.exec(context.Background(), "DROP DATABASE IF EXISTS "+d.Name+" WITH (FORCE)")
	}
	s.left.Store(d.Name, drop)
	return d, drop, nil
}

// makeDatabase makes a database and its roles.
func (s *Server) makeDatabase(ctx context.Context, name string) error {
	for _, role := range []string{ownerRole, serverRole} {
		// Another process may make it at the same time.
		err := s.exec(
			ctx,
			fmt.Sprintf(
				"DO $$ BEGIN CREATE ROLE %s LOGIN PASSWORD '%s'; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$",
				role,
				password,
			),
		)
		if err != nil {
			return err
		}
	}
	return s.exec(
		ctx,
		fmt.Sprintf("CREATE DATABASE %s OWNER %s TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'", name, ownerRole),
	)
}

// NewDatabase is [Server.Database] for a test, which drops it in the end.
func (s *Server) NewDatabase(t testing.TB) Database {
	t.Helper()
	d, drop, err := s.Database(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := drop(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// at is the server's URL for a role and a database; "" is the superuser.
func (s *Server) at(role, database string) string {
	u, err := url.Parse(s.URL)
	if err != nil {
		panic(err) // connected to before
	}
	u.Path = "/" + database
	if role != "" {
		u.User = url.UserPassword(role, password)
	}
	return u.String()
}

// exec runs a statement as the superuser.
func (s *Server) exec(ctx context.Context, statement string) error { return run(ctx, s.URL, statement) }

// run runs a statement at a URL.
func run(ctx context.Context, at, statement string) (err error) {
	conn, err := pgx.Connect(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, statement)
	return err
}
