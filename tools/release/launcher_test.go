package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The launcher of npm ends as its program ends. Where there is none that can run, it says so in
// a sentence with a remedy, also on a Node.js that lets the program take its process over: that
// one would end with a trace of its own.
func TestLauncher(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program of this test is a script, which is no program on Windows")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("this test needs Node.js 18 or newer: https://nodejs.org says how to get it")
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("..", "..", "packaging", "npm", "loci.js"))
	if err != nil {
		t.Fatal(err)
	}
	launcher := filepath.Join(dir, "loci.js")
	taken := filepath.Join(dir, "taken.js") // as Node.js 22.15 and newer, up to the moment itself
	own := filepath.Join(dir, "own.js")
	for path, text := range map[string]string{
		launcher: string(text),
		taken:    "process.execve = (path, args) => { console.log('taken over', ...args.slice(1)); process.exit(9); };",
		own:      "process.execve = undefined;",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "node_modules", platform{runtime.GOOS, runtime.GOARCH}.npmName(), "bin", "loci")
	if err := os.MkdirAll(filepath.Dir(program), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, kind string
		mode       os.FileMode // of the program; 0: there is none
		code       int
		says       []string
	}{
		{"there is none", taken, 0, 6, []string{"is missing", "--omit=optional", "npm install @loci-memory/cli-"}},
		{"it may not be executed", taken, 0o600, 6, []string{"cannot be started: EACCES", "noexec"}},
		{"it may not be executed, on an older Node.js", own, 0o600, 6, []string{"cannot be started: EACCES", "noexec"}},
		{"it takes over", taken, 0o700, 9, []string{"taken over a b c"}},
		{"it is started", own, 0o700, 7, []string{"started with a b c"}},
	} {
		if c.mode != 0 {
			const script = "#!/bin/sh\necho started with \"$@\"\nexit 7\n"
			if err := errors.Join(os.WriteFile(program, []byte(script), 0o600), os.Chmod(program, c.mode)); err != nil {
				t.Fatal(err)
			}
		}
		var said bytes.Buffer
		cmd := exec.CommandContext(t.Context(), node, "--require", c.kind, launcher, "a", "b c")
		cmd.Stdout, cmd.Stderr = &said, &said
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.ExitCode() != c.code {
			t.Errorf("%s: %v", c.name, err)
		}
		for _, want := range c.says {
			if !strings.Contains(said.String(), want) || strings.Contains(said.String(), "    at ") {
				t.Errorf("%s: %q", c.name, said.String())
			}
		}
	}
}
