package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loci-memory/loci/internal/pgtest"
)

// TestPostgres runs the scripts in testdata/postgres, each over an empty database.
func TestPostgres(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/postgres",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			d := pgtest.Shared(t).NewDatabase(t)
			env.Setenv("PG_OWNER", d.Owner)
			env.Setenv("PG_SERVER", d.Server)
			env.Setenv("PG_ROLE", d.Role)
			return os.Mkdir(home, 0o755)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": cmdJSON},
	})
}

// ended runs the tests and stops the database server that they may have started.
type ended struct{ *testing.M }

func (m ended) Run() int { return pgtest.Run(m.M) }
