package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/internal/storm"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/store/sqlite"
)

// TestMongoDB runs the scripts in testdata/mongodb, each over an empty database.
func TestMongoDB(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/mongodb",
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("USERPROFILE", home)
			env.Setenv("MONGODB", mongotest.Shared(t).Database())
			return os.Mkdir(home, 0o755)
		},
		Cmds: scripts.Cmds,
	})
}

// TestScenariosOnMongoDB runs scripts of testdata/script, each over an empty database in
// place of a file: a few, or all with LOCI_LONG=1.
func TestScenariosOnMongoDB(t *testing.T) {
	names := []string{"update_delete"}
	if os.Getenv("LOCI_LONG") != "" {
		names = scenarios
	}
	runScenarios(t, names, func() (string, error) {
		url := mongotest.Shared(t).Database()
		_, err := store.Migrate(t.Context(), url, store.Migration{})
		return url, err
	})
}

// TestMoveIsTakenUp: a move that is killed after its first tenant goes on, into MongoDB, from
// there into PostgreSQL and back into files; nothing is lost on the way.
func TestMoveIsTakenUp(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x")
	source, err := sqlite.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	const tenants = 3
	for i := range tenants {
		tn := locitest.Tenant(t, fmt.Sprint("tenant-", i))
		for range 20 {
			if err := source.Apply(t.Context(), tn, storm.Creation(loci.NewID())); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := source.Close(); err != nil {
		t.Fatal(err)
	}
	into := mongotest.Shared(t).Database()
	if _, err := store.Migrate(t.Context(), into, store.Migration{}); err != nil {
		t.Fatal(err)
	}
	killedMove(t, "sqlite:"+dir, into)
	for n, step := range [][2]string{{"sqlite:" + dir, into}, {into, "sqlite:" + filepath.Join(t.TempDir(), "back")}} {
		out, err := exec.CommandContext(t.Context(), "loci", "migrate", "--from", step[0], "--to", step[1]).CombinedOutput()
		if err != nil || strings.Count(string(out), "and verified: 20 records, 20 events") != tenants {
			t.Fatalf("step %d: %v: %s", n, err, out)
		}
		if n == 0 && !strings.Contains(string(out), "went on and verified") {
			t.Errorf("nothing went on: %s", out)
		}
	}
}

// killedMove moves until the first tenant is there, and is killed.
func killedMove(t *testing.T, from, to string) {
	t.Helper()
	cmd := exec.Command("loci", "migrate", "--from", from, "--to", to)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.Contains(lines.Text(), "copied and verified") {
		t.Errorf("the move says %q", lines.Text())
	}
	err = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}
