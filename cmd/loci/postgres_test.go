package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store"
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
		Cmds: scripts.Cmds,
	})
}

// scenarios are the scripts written for SQLite that do not speak of files: a database must
// print the same, word for word.
var scenarios = []string{
	"call", "consolidate", "erase", "graph", "many", "mcp", "memory", "save", "search_list", "session", "transfer",
	"update_delete", "view",
}

// TestScenariosOnPostgres runs scripts of testdata/script, each over an empty database in
// place of a file.
func TestScenariosOnPostgres(t *testing.T) {
	dir := t.TempDir()
	var files []string
	choice := regexp.MustCompile(`(?m)^env LOCI_STORE=sqlite:\S+\n`)
	for _, name := range scenarios {
		script, err := os.ReadFile(filepath.Join("testdata", "script", name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		if len(choice.FindAllIndex(script, -1)) != 1 {
			t.Fatalf("%s does not choose one store", name)
		}
		files = append(files, filepath.Join(dir, name+".txtar"))
		if err := os.WriteFile(files[len(files)-1], choice.ReplaceAll(script, nil), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := scripts
	p.Files = files
	p.Setup = func(env *testscript.Env) error {
		d := pgtest.Shared(t).NewDatabase(t)
		_, err := store.Migrate(t.Context(), d.Owner, store.Migration{Role: d.Role})
		env.Setenv("LOCI_STORE", d.Server)
		return errors.Join(err, scripts.Setup(env))
	}
	testscript.Run(t, p)
}

// ended runs the tests and stops the database server that they may have started.
type ended struct{ *testing.M }

func (m ended) Run() int { return pgtest.Run(m.M) }
