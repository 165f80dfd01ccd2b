//go:build unix

package mcpclient

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
