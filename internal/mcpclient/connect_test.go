package mcpclient

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
)

// Where each client keeps its servers, as its documentation says.
func TestClientFiles(t *testing.T) {
	env := map[string]map[string]string{
		"linux": {"HOME": "/h"}, "darwin": {"HOME": "/h"},
		"windows": {"USERPROFILE": "/h", "APPDATA": "/h/AppData/Roaming"},
	}
	for id, want := range map[string]map[string]string{
		"claude-code": {"linux": "/h/.claude.json", "darwin": "/h/.claude.json", "windows": "/h/.claude.json"},
		"claude-desktop": {
			"linux": "/h/.config/Claude/claude_desktop_config.json", "darwin": "/h/Library/Application Support/Claude/claude_desktop_config.json",
			"windows": "/h/AppData/Roaming/Claude/claude_desktop_config.json",
		},
		"codex":    {"linux": "/h/.codex/config.toml", "darwin": "/h/.codex/config.toml", "windows": "/h/.codex/config.toml"},
		"gemini":   {"linux": "/h/.gemini/settings.json", "windows": "/h/.gemini/settings.json"},
		"cursor":   {"linux": "/h/.cursor/mcp.json", "windows": "/h/.cursor/mcp.json"},
		"vscode":   {"linux": "/h/.config/Code/User/mcp.json", "darwin": "/h/Library/Application Support/Code/User/mcp.json", "windows": "/h/AppData/Roaming/Code/User/mcp.json"},
		"windsurf": {"linux": "/h/.codeium/windsurf/mcp_config.json", "darwin": "/h/.codeium/windsurf/mcp_config.json"},
		"cline":    {"linux": "/h/.config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
		"zed":      {"linux": "/h/.config/zed/settings.json", "darwin": "/h/.config/zed/settings.json", "windows": "/h/AppData/Roaming/Zed/settings.json"},
		"opencode": {"linux": "/h/.config/opencode/opencode.json", "darwin": "/h/.config/opencode/opencode.json"},
		"copilot":  {"linux": "/h/.copilot/mcp-config.json", "windows": "/h/.copilot/mcp-config.json"},
		"goose":    {"linux": "/h/.config/goose/config.yaml", "darwin": "/h/.config/goose/config.yaml", "windows": "/h/AppData/Roaming/Block/goose/config/config.yaml"},
	} {
		chosen, err := Named([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		for os, path := range want {
			if got := filepath.ToSlash(chosen[0].file(systemOf(os, env[os]))); got != path {
				t.Errorf("%s on %s: %s, not %s", id, os, got, path)
			}
		}
	}
	moved := systemOf("linux", map[string]string{
		"HOME": "/h", "XDG_CONFIG_HOME": "/x", "CODEX_HOME": "/c", "CLAUDE_CONFIG_DIR": "/d", "COPILOT_HOME": "/p",
	})
	for id, want := range map[string]string{"codex": "/c/config.toml", "claude-code": "/d/.claude.json", "zed": "/x/zed/settings.json", "copilot": "/p/mcp-config.json"} {
		if chosen, _ := Named([]string{id}); filepath.ToSlash(chosen[0].file(moved)) != want {
			t.Errorf("%s: %s", id, chosen[0].file(moved))
		}
	}
}

// Where a client keeps its file elsewhere in the home on another system, that is said as a person
// there would write it.
func TestElsewhere(t *testing.T) {
	for id, want := range map[string]map[string][]string{
		"cursor": {"linux": nil, "darwin": nil, "windows": nil},
		"goose": {
			"linux":   {`%APPDATA%\Block\goose\config\config.yaml on Windows`},
			"windows": {"~/.config/goose/config.yaml on Linux", "~/.config/goose/config.yaml on macOS"},
		},
		"opencode": {"linux": nil, "windows": nil},
		"claude-desktop": {
			"linux": {
				"~/Library/Application Support/Claude/claude_desktop_config.json on macOS",
				`%APPDATA%\Claude\claude_desktop_config.json on Windows`,
			},
			"darwin": {
				"~/.config/Claude/claude_desktop_config.json on Linux",
				`%APPDATA%\Claude\claude_desktop_config.json on Windows`,
			},
		},
	} {
		chosen, err := Named([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		for os, places := range want {
			env := map[string]string{"HOME": "/h", "CODEX_HOME": "/c", "XDG_CONFIG_HOME": "/x"}
			if got := chosen[0].Elsewhere(systemOf(os, env)); !slices.Equal(got, places) {
				t.Errorf("%s, seen from %s: %q, not %q", id, os, got, places)
			}
		}
	}
}

// systemOf is a system with some variables in its environment.
func systemOf(os string, env map[string]string) System {
	return System{OS: os, Get: func(name string) string { return env[name] }}
}

// connectCursor enters Loci in one file, as setup does after it has tried the server.
func connectCursor(t *testing.T, home string, s Setup) Result {
	t.Helper()
	chosen, err := Named([]string{"cursor"})
	if err != nil {
		t.Fatal(err)
	}
	sys := systemOf("linux", map[string]string{"HOME": home})
	return s.Connect(t.Context(), sys, chosen[0], Target{Command: "/bin/loci", Args: []string{"mcp"}})
}

// A file that setup cannot change safely stays as it is, and the error says why.
func TestSetupLeavesAlone(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string) error
		want string
		code loci.Code
	}{
		"a link that leads nowhere": {func(p string) error { return os.Symlink("/nowhere/at/all", p) }, "a link that leads nowhere", loci.Invalid},
		"a link to itself":          {func(p string) error { return os.Symlink(filepath.Base(p), p) }, "its links lead round in a circle", loci.Invalid},
		"a directory":               {func(p string) error { return os.Mkdir(p, 0o755) }, "is a directory; the client", loci.Invalid},
		"a file that is read-only":  {func(p string) error { return os.WriteFile(p, []byte("{}"), 0o444) }, "is read-only", loci.Forbidden},
		"no JSON":                   {func(p string) error { return os.WriteFile(p, []byte("{\n  \"mcpServers\": {,}\n}"), 0o644) }, "line 2, column 18", ""},
		"another server of the name": {func(p string) error {
			return os.WriteFile(p, []byte(`{"mcpServers": {"loci": {"command": "other"}}}`), 0o644)
		}, "says something else", loci.Conflict},
		"too large": {func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o644), os.Truncate(p, maxFile+1))
		}, "setup changes files of up to", loci.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, ".cursor", "mcp.json")
			if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), c.make(path)); err != nil {
				t.Fatal(err)
			}
			before := contents(t, home)
			r := connectCursor(t, home, Setup{})
			var told *loci.Error
			if r.Err == nil || !strings.Contains(r.Error, c.want) ||
				c.code != "" && (!errors.As(r.Err, &told) || told.Code != c.code) {
				t.Errorf("got %q (%v)", r.Error, r.Outcome)
			}
			if strings.Count(r.Error, path) != 1 {
				t.Errorf("%q does not name the file once", r.Error)
			}
			if c.code != loci.Conflict && !strings.Contains(r.Error, "; nothing was changed") {
				t.Errorf("%q does not say that the file is as it was", r.Error)
			}
			if !errors.As(r.Err, &told) || told.Msg != r.Error || told.Recovery == "" {
				t.Errorf("%q: what a person is told lacks something, or a remedy: %+v", r.Error, told)
			}
			if after := contents(t, home); after != before {
				t.Errorf("changed from\n%s\nto\n%s", before, after)
			}
		})
	}
}

// contents lists what lies below a directory, with the beginning of each file.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		text := ""
		if err == nil && info.Mode().IsRegular() && info.Size() < 1<<20 {
			data, bad := os.ReadFile(path)
			text, err = string(data), bad
		}
		out.WriteString(path + " " + info.Mode().String() + " " + text + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A link stays a link, what it leads to keeps its permissions, and both come back.
func TestSetupFollowsLinks(t *testing.T) {
	home, text := t.TempDir(), "{\r\n\t// dotfiles\r\n\t\"theme\": 1\r\n}"
	path, dotfile := filepath.Join(home, ".cursor", "mcp.json"), filepath.Join(home, "dotfiles ü.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755), os.WriteFile(dotfile, []byte(text), 0o640),
		os.Symlink(dotfile, path)); err != nil {
		t.Fatal(err)
	}
	if r := connectCursor(t, home, Setup{}); r.Outcome != Connected {
		t.Fatalf("%+v", r)
	}
	info, err := os.Stat(dotfile)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if to, err := os.Readlink(path); err != nil || to != dotfile {
		t.Errorf("the link leads to %q: %v", to, err)
	}
	if data, err := os.ReadFile(dotfile); err != nil ||
		!strings.Contains(string(data), "// dotfiles\r\n\t\"theme\": 1,\r\n") {
		t.Errorf("%q %v", data, err)
	}
	if r := connectCursor(t, home, Setup{Remove: true}); r.Outcome != Removed {
		t.Fatalf("%+v", r)
	}
	if data, err := os.ReadFile(dotfile); err != nil || string(data) != text {
		t.Errorf("%q %v", data, err)
	}
}

// What a person changed after setup stays when the entry goes.
func TestSetupRemoveKeepsLaterChanges(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".cursor", "mcp.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(path), 0o755),
		os.WriteFile(path, []byte("{\n  \"a\": 1\n}\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	connectCursor(t, home, Setup{})
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), "\"a\": 1", "\"a\": 2", 1)
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := connectCursor(t, home, Setup{Remove: true}); r.Outcome != Removed {
		t.Fatalf("%+v", r)
	}
	want := "{\n  \"a\": 2,\n  \"mcpServers\": {}\n}\n"
	if data, err := os.ReadFile(path); err != nil || string(data) != want {
		t.Errorf("%q %v", data, err)
	}
	if _, err := os.Stat(path + ".before-loci"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the backup is still there: %v", err)
	}
}

// Many setups at once: each is done or told to come again, and the file stays whole.
func TestSetupsMeet(t *testing.T) {
	home := t.TempDir()
	var group sync.WaitGroup
	results := make([]Result, 16)
	for i := range results {
		group.Go(func() { results[i] = connectCursor(t, home, Setup{}) })
	}
	group.Wait()
	for _, r := range results {
		var told *loci.Error
		if r.Outcome != Connected && r.Outcome != Unchanged &&
			(!errors.As(r.Err, &told) || told.Code != loci.Conflict) {
			t.Errorf("%+v", r)
		}
	}
	if r := connectCursor(t, home, Setup{}); r.Outcome != Unchanged {
		t.Errorf("afterwards %+v", r)
	}
	entries, err := os.ReadDir(filepath.Join(home, ".cursor"))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}
