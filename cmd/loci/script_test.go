package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(ended{m}, map[string]func(){"loci": main})
}

// TestScript runs the scripts in testdata/script: the program as a process of its
// own, over real files.
func TestScript(t *testing.T) {
	p := scripts
	p.Dir = "testdata/script"
	testscript.Run(t, p)
}

// scripts is what all scripts may use.
var scripts = testscript.Params{
	Setup: func(env *testscript.Env) error {
		home := filepath.Join(env.WorkDir, "home")
		env.Setenv("HOME", home)
		env.Setenv("USERPROFILE", home)
		model, err := filepath.Abs("../../embedding/transformer/testdata/tiny")
		if err != nil {
			return err
		}
		env.Setenv("MODEL", model)
		env.Setenv("CROSS", filepath.Join(filepath.Dir(model), "pair"))
		return os.Mkdir(home, 0o755)
	},
	Cmds: map[string]func(*testscript.TestScript, bool, []string){
		"code": cmdCode, "json": cmdJSON, "keep": cmdKeep, "mode": cmdMode,
	},
}

// cmdCode runs the program and checks its exit code: code N loci ARGUMENT...
func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [argument...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	got := 0
	if err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if want := args[0]; strconv.Itoa(got) != want {
		ts.Fatalf("exit code %d, not %s", got, want)
	}
}

// cmdJSON looks into JSON: json FILE PATH [VALUE]. FILE may be stdout or stderr.
// PATH goes through objects by name and lists by index; a last len is the length.
// Without a value, something must be there.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && len(args) != 3 {
		ts.Fatalf("usage: [!] json file path [value]")
	}
	var v any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("not JSON: %v", err)
	}
	got, found := look(v, strings.Split(args[1], "."))
	if len(args) == 3 {
		args[2] = strings.ReplaceAll(args[2], `\n`, "\n") // scripts have no quotes for it
	}
	switch {
	case len(args) == 2 && found == neg:
		ts.Fatalf("%s: found %v: %s", args[1], found, got)
	case len(args) == 3 && (found && got == args[2]) == neg:
		ts.Fatalf("%s is %q, found %v", args[1], got, found)
	}
}

func look(v any, path []string) (text string, found bool) {
	for _, name := range path {
		switch w := v.(type) {
		case map[string]any:
			if v, found = w[name]; !found {
				return "", false
			}
		case []any:
			if name == "len" {
				return strconv.Itoa(len(w)), true
			}
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(w) {
				return "", false
			}
			v = w[i]
		default:
			return "", false
		}
	}
	switch v.(type) {
	case map[string]any, []any:
		data, err := json.Marshal(v)
		return string(data), err == nil
	}
	return fmt.Sprint(v), true
}

// cmdKeep keeps what the last command printed in a variable: keep NAME [PATH of JSON].
func cmdKeep(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: keep name [path]")
	}
	text := strings.TrimSpace(ts.ReadFile("stdout"))
	if len(args) == 2 {
		var v any
		ts.Check(json.Unmarshal([]byte(text), &v))
		var ok bool
		if text, ok = look(v, strings.Split(args[1], ".")); !ok {
			ts.Fatalf("nothing at %s", args[1])
		}
	}
	ts.Setenv(args[0], text)
}

// cmdMode checks the permissions of a file: mode 0600 FILE.
func cmdMode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode 0600 file")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("mode is %s, not %s", got, args[0])
	}
}
