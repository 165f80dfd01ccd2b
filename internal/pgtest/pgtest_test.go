package pgtest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci/internal/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

// A database of a test has two roles: one owns it, the other is neither that nor a
// superuser.
func TestDatabaseHasTwoRoles(t *testing.T) {
	d := pgtest.Shared(t).NewDatabase(t)
	for url, owns := range map[string]bool{d.Owner: true, d.Server: false} {
		conn, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		var super, owner bool
		const query = `SELECT rolsuper, (SELECT datdba = r.oid FROM pg_database WHERE datname = current_database()) FROM pg_roles r WHERE rolname = current_user`
		if err := conn.QueryRow(t.Context(), query).Scan(&super, &owner); err != nil || super || owner != owns {
			t.Errorf("%s: superuser %v, owner %v, %v", url, super, owner, err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// A server that crashed still has, once it is started again, what was committed before.
func TestCrashedServerStartsAgain(t *testing.T) {
	s, err := pgtest.Start(t.Context(), pgtest.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	}()
	exec := func(sql string) {
		t.Helper()
		conn, err := pgx.Connect(t.Context(), s.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Error(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	exec("CREATE TABLE kept (n int)")
	if err := s.Crash(); err != nil {
		t.Fatal(err)
	}
	if _, err := pgx.Connect(t.Context(), s.URL); err == nil {
		t.Error("a crashed server answers")
	}
	if err := s.Launch(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec("INSERT INTO kept VALUES (1)")
}

// A server that cannot be started says why, and leaves nothing behind.
func TestServerThatDoesNotStart(t *testing.T) {
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	empty := t.TempDir()
	for name, c := range map[string]struct{ variable, tmp, says string }{
		"no programs": {empty, empty, "there is no initdb and postgres"},
		"closed":      {"", closed, "who may not enter"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "closed" && os.Geteuid() != 0 {
				return // the server is then of the same user as the test
			}
			t.Setenv(pgtest.Variable, c.variable)
			t.Setenv("TMPDIR", c.tmp)
			s, err := pgtest.Start(t.Context(), pgtest.Options{Own: true})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("Start: %v, %v; want an error with %q", s, err, c.says)
			}
			if left, err := os.ReadDir(c.tmp); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// A server that somebody else runs loses, at the end, the databases that the tests made on it.
func TestServerOfOthersIsLeftAsItWas(t *testing.T) {
	theirs := pgtest.Shared(t)
	t.Setenv(pgtest.Variable, theirs.URL)
	s, err := pgtest.Start(t.Context(), pgtest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := s.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), theirs.URL)
	if err != nil {
		t.Fatal(err)
	}
	var there bool
	const query = "SELECT EXISTS (SELECT 1 FROM pg_database WHERE datname = $1)"
	if err := conn.QueryRow(t.Context(), query, d.Name).Scan(&there); err != nil || there {
		t.Errorf("the database is still there: %v, %v", there, err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
