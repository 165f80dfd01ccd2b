//go:build unix

package mcpclient

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A client's own command writes its file again. The file as it was is kept all the same, and
// is what it was when the entry is taken out again.
func TestOwnCommandsKeepTheFile(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	path := filepath.Join(home, ".claude.json")
	const before = `{"theme":  "dark" ,"mcpServers":{}}` + "\n"
	write(t, path, before)
	// It lays the file out as it likes, as the real one does.
	write(t, filepath.Join(bin, "claude"), `#!/bin/sh
case "$2" in
add) printf '{\n "theme": "dark",\n "mcpServers": {"loci": {"type": "stdio", "command": "/bin/loci", "args": ["mcp"], "env": {}}}\n}' ;;
remove) printf '{\n "theme": "%s",\n "mcpServers": {}\n}' "${THEME:-dark}" ;;
esac >"$HOME/.claude.json"
`)
	if err := os.Chmod(filepath.Join(bin, "claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": home, "PATH": bin + ":/usr/bin:/bin"}
	do := func(s Setup) Result {
		sys := systemOf("linux", env)
		for name, value := range env {
			sys.Environ = append(sys.Environ, name+"="+value)
		}
		return s.Connect(t.Context(), sys, named(t, "claude-code"), Target{Command: "/bin/loci", Args: []string{"mcp"}})
	}

	r := do(Setup{DryRun: true})
	if r.Outcome != Planned || !strings.Contains(r.Diff, "+") || !strings.Contains(r.Command, "mcp add") {
		t.Errorf("a dry run: %+v", r)
	}
	if read(t, path) != before {
		t.Fatalf("a dry run wrote %s", read(t, path))
	}
	if r := do(Setup{}); r.Outcome != Connected || read(t, path+".before-loci") != before {
		t.Fatalf("%+v, kept %q", r, read(t, path+".before-loci"))
	}
	if r := do(Setup{Remove: true}); r.Outcome != Removed || read(t, path) != before {
		t.Errorf("%+v leaves %s", r, read(t, path))
	}
	if _, err := os.Stat(path + ".before-loci"); err == nil {
		t.Error("the copy is still there")
	}

	// What has changed since stays changed.
	do(Setup{})
	write(t, path, strings.Replace(read(t, path), "dark", "light", 1))
	env["THEME"] = "light"
	if r := do(Setup{Remove: true}); r.Outcome != Removed || !strings.Contains(read(t, path), "light") {
		t.Errorf("%+v leaves %s", r, read(t, path))
	}
}

// A client's own command would only take our entry out. Where it has taken the place of
// another, setup edits the file itself.
func TestOwnCommandsDoNotPutBack(t *testing.T) {
	home, bin := t.TempDir(), t.TempDir()
	path := filepath.Join(home, ".claude.json")
	const before = `{"theme": "dark", "mcpServers": {"loci": {"command": "/opt/lang/server"}}}`
	write(t, path, before)
	write(t, filepath.Join(bin, "claude"), "#!/bin/sh\ntouch \"$HOME/called\"\necho '{}' >\"$HOME/.claude.json\"\n")
	if err := os.Chmod(filepath.Join(bin, "claude"), 0o700); err != nil {
		t.Fatal(err)
	}
	sys := systemOf("linux", map[string]string{"HOME": home, "PATH": bin + ":/usr/bin:/bin"})
	sys.Environ = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin"}
	do := func(s Setup) Result {
		return s.Connect(t.Context(), sys, named(t, "claude-code"), Target{Command: "/bin/loci", Args: []string{"mcp"}})
	}
	if r := do(Setup{Replace: true}); r.Outcome != Connected {
		t.Fatalf("%+v", r)
	}
	if r := do(Setup{Remove: true}); r.Outcome != Removed || !r.Restored || read(t, path) != before {
		t.Errorf("%+v leaves %s", r, read(t, path))
	}
	if _, err := os.Stat(filepath.Join(home, "called")); err == nil {
		t.Error("the client's command was called")
	}
}

// A setup that is interrupted while the client's own command is at work, before or after that
// has written, says so. The next one finishes, and the one that takes the entry out leaves the
// file as it was, without the copy.
func TestOwnCommandIsInterrupted(t *testing.T) {
	const before = `{"theme":  "dark" ,"mcpServers":{}}` + "\n"
	const add = `printf '{"theme": "dark", "mcpServers": {"loci": {"type": "stdio", "command": "/bin/loci", "args": ["mcp"]}}}'`
	const halt = `[ -e "$HOME/went on" ] || { : >"$HOME/went on"; exec sleep 600; }`
	for what, steps := range map[string]string{
		"before it wrote": halt + "\n" + add + ` >"$HOME/.claude.json"`,
		"after it wrote":  add + ` >"$HOME/.claude.json"` + "\n" + halt,
	} {
		t.Run(what, func(t *testing.T) {
			home, bin := t.TempDir(), t.TempDir()
			path := filepath.Join(home, ".claude.json")
			write(t, path, before)
			write(t, filepath.Join(bin, "claude"), "#!/bin/sh\nif [ \"$2\" = remove ]; then\n"+
				"printf '{\"theme\": \"dark\", \"mcpServers\": {}}' >\"$HOME/.claude.json\"; exit\nfi\n"+steps+"\n")
			if err := os.Chmod(filepath.Join(bin, "claude"), 0o700); err != nil {
				t.Fatal(err)
			}
			sys := systemOf("linux", map[string]string{"HOME": home, "PATH": bin + ":/usr/bin:/bin"})
			sys.Environ = []string{"HOME=" + home, "PATH=" + bin + ":/usr/bin:/bin"}
			do := func(ctx context.Context, s Setup) Result {
				return s.Connect(ctx, sys, named(t, "claude-code"), Target{Command: "/bin/loci", Args: []string{"mcp"}})
			}
			ctx, interrupt := context.WithCancel(t.Context())
			go func() {
				defer interrupt()
				for t.Context().Err() == nil {
					if _, err := os.Stat(filepath.Join(home, "went on")); err == nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			if r := do(ctx, Setup{}); r.Outcome != Failed || r.Err == nil || read(t, path+".before-loci") != before {
				t.Fatalf("interrupted: %+v", r)
			}
			if r := do(t.Context(), Setup{}); r.Err != nil || !strings.Contains(read(t, path), "/bin/loci") {
				t.Errorf("the next one: %+v leaves %s", r, read(t, path))
			}
			if r := do(t.Context(), Setup{Remove: true}); r.Outcome != Removed || read(t, path) != before {
				t.Errorf("taken out: %+v leaves %s", r, read(t, path))
			}
			if _, err := os.Stat(path + ".before-loci"); err == nil {
				t.Error("the copy is still there")
			}
		})
	}
}
