package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/loci-memory/loci/internal/config"
)

// TestPager: what is longer than the screen goes through the pager, what is shorter does
// not, nor does JSON.
func TestPager(t *testing.T) {
	dir := t.TempDir()
	pager, taken := filepath.Join(dir, "pager"), filepath.Join(dir, "taken")
	script := "#!/bin/sh\ncat > '" + taken + "'\nexit 1\n"
	if err := os.WriteFile(pager, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	env := config.Environ{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", "LOCI_STORE=sqlite:" + t.TempDir(), "PAGER=" + pager}
	save := func(n int) {
		for range n {
			if shown, code := onTerminal(t, env, "", "save", rand.Text()); code != 0 {
				t.Fatal(shown)
			}
		}
	}
	save(3)
	if shown, code := onTerminal(t, env, "", "list"); code != 0 || strings.Count(shown, " now ") != 3 {
		t.Errorf("a short list: exit code %d, shows %q", code, shown)
	}
	save(22)
	if shown, code := onTerminal(t, env, "", "list", "--json"); code != 0 || strings.Count(shown, `"id"`) != 25 {
		t.Errorf("JSON: exit code %d, shows %q", code, shown)
	}
	if shown, code := onTerminal(t, env, "", "list"); code != 0 || strings.Contains(shown, " now ") {
		t.Errorf("a long list: exit code %d, shows %q", code, shown)
	}
	if got, err := os.ReadFile(taken); err != nil || strings.Count(string(got), " now ") != 25 {
		t.Errorf("the pager got %q, %v", got, err)
	}
	// Help is a long text like others; one that fits is shown as it is.
	for _, c := range []struct {
		args  []string
		paged bool
	}{
		{[]string{"--help"}, true}, {[]string{"help"}, true}, {[]string{"search", "--help-all"}, true}, {[]string{"sweep", "-h"}, false},
	} {
		if err := os.WriteFile(taken, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		shown, code := onTerminal(t, env, "", c.args...)
		got, err := os.ReadFile(taken)
		const help = "Usage: loci"
		inPager, onScreen := strings.Contains(string(got), help), strings.Contains(shown, help)
		if code != 0 || err != nil || inPager != c.paged || onScreen == c.paged {
			t.Errorf("%q: exit code %d, shows %q, and the pager got %q", c.args, code, shown, got)
		}
	}
	env[len(env)-1] = "PAGER=" + filepath.Join(dir, "none")
	if shown, code := onTerminal(t, env, "", "list"); code != 0 || strings.Count(shown, " now ") != 25 {
		t.Errorf("without a pager: exit code %d, shows %q", code, shown)
	}
}

// TestPagingCommandsExist: a name that no command has would page nothing.
func TestPagingCommandsExist(t *testing.T) {
	var whole cli
	parser, err := newParser(&whole, &app{out: bufio.NewWriter(io.Discard), err: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	commands := map[string]bool{}
	for _, leaf := range parser.Model.Leaves(false) {
		commands[strings.TrimPrefix(leaf.Path(), "loci ")] = true
	}
	for _, name := range paging {
		if !commands[name] {
			t.Errorf("there is no command %q", name)
		}
	}
}

// TestInterruptInAPager: an interrupt while the pager shows a list goes to the pager.
func TestInterruptInAPager(t *testing.T) {
	dir := t.TempDir()
	pager, begun, taken := filepath.Join(dir, "pager"), filepath.Join(dir, "begun"), filepath.Join(dir, "taken")
	script := "#!/bin/sh\ntouch '" + begun + "'\nwhile [ ! -e '" + begun + ".go' ]; do sleep 0.01; done\ncat > '" + taken + "'\n"
	if err := os.WriteFile(pager, []byte(script), 0o700); err != nil { //nolint:gosec // it is to be run
		t.Fatal(err)
	}
	env := config.Environ{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "LOCI_STORE=sqlite:" + t.TempDir(), "PAGER=" + pager}
	if shown, code := onTerminal(t, env, "", "save", strings.Repeat("a long line of words ", 200)); code != 0 {
		t.Fatal(shown)
	}
	_, screen := pseudoTerminal(t)
	if err := unix.IoctlSetWinsize(int(screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 2, Col: 60}); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan int, 1)
	go func() { ended <- run(ctx, []string{"list"}, screen, screen, screen, env) }()
	for deadline := time.Now().Add(time.Minute); missing(begun); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the pager was not started")
		}
	}
	interrupt()
	if err := os.WriteFile(begun+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Fatal("the command does not end")
	}
	if got, err := os.ReadFile(taken); err != nil || !strings.Contains(string(got), "now") {
		t.Errorf("the pager got %q, %v", got, err)
	}
}
