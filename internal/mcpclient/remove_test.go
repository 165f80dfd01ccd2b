package mcpclient

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// What somebody else has named loci is neither taken out nor written over, unless it is said.
func TestEntriesOfOthersStay(t *testing.T) {
	for what, c := range map[string]struct {
		entry string
		ours  bool
	}{
		"another program":          {`{"command": "/opt/other/loci-lang-server", "env": {"TOKEN": "x"}}`, false},
		"another program's flag":   {`{"command": "mine", "args": ["--name", "not loci"]}`, false},
		"an address of others":     {`{"url": "https://loci.example/sse"}`, false},
		"nothing known":            {`{"disabled": true}`, false},
		"a program elsewhere":      {`{"command": "/usr/local/bin/loci", "args": ["mcp"]}`, true},
		"a program for Windows":    {`{"command": "C:\\Programs\\loci.exe", "args": ["mcp"]}`, true},
		"by npx":                   {`{"command": "npx", "args": ["-y", "@loci-memory/cli@1.2.3", "mcp"]}`, true},
		"by uvx":                   {`{"command": "uvx", "args": ["loci-memory-cli", "mcp"]}`, true},
		"in a container":           {`{"command": "docker", "args": ["run", "-i", "ghcr.io/x/loci:1.2.3", "mcp"]}`, true},
		"the program of this test": {`{"command": "/bin/memory", "args": ["mcp"]}`, true},
		"an address as we write":   {`{"url": "https://memory.example/mcp/agent"}`, true},
	} {
		t.Run(what, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, ".cursor", "mcp.json")
			text := `{"mcpServers": {"loci": ` + c.entry + `}}`
			write(t, path, text)
			sys := systemOf("linux", map[string]string{"HOME": home})
			to := Target{Command: "/bin/memory", Args: []string{"mcp"}}
			take := func(s Setup) Result { return s.Connect(t.Context(), sys, named(t, "cursor"), to) }
			r := take(Setup{Remove: true})
			if c.ours {
				if r.Outcome != Removed || strings.Contains(read(t, path), "loci") {
					t.Errorf("%+v leaves %s", r, read(t, path))
				}
				return
			}
			if r.Outcome != Failed || loci.AsError(r.Err).Code != loci.Conflict || read(t, path) != text {
				t.Errorf("%+v leaves %s", r, read(t, path))
			}
			r = take(Setup{Remove: true, Replace: true})
			if r.Outcome != Removed || strings.Contains(read(t, path), "loci") {
				t.Errorf("when it is said: %+v leaves %s", r, read(t, path))
			}
		})
	}
}

func named(t *testing.T, id string) Client {
	t.Helper()
	chosen, err := Named([]string{id})
	if err != nil {
		t.Fatal(err)
	}
	return chosen[0]
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// What --replace has written over comes back when our entry goes: to the byte where nothing
// else has changed, and beside what somebody has changed since.
func TestRemovePutsBackWhatWasReplaced(t *testing.T) {
	for id, c := range map[string]struct{ file, text, other, changed string }{
		"cursor": {".cursor/mcp.json", `{
	"theme": "dark",
	"mcpServers": { // mine
		"loci": {
			"command": "/opt/lang/server", // a language
			"env": {"TOKEN": "x", "RATE": 1.5, "NONE": null},
		},
		"after": {},
	},
}
`, "dark", "light"},
		"codex": {
			".codex/config.toml",
			"model = \"o\"\n\n[mcp_servers.loci] # a language\ncommand = '/opt/lang/server'\nsince = 1979-05-27\n\n" +
				"[mcp_servers.loci.env]\nTOKEN = 'x'\n\n[after]\na = 1\n", `"o"`, `"p"`,
		},
		"goose": {
			".config/goose/config.yaml",
			"model: o\nextensions:\n  loci:\n    cmd: /opt/lang/server # a language\n    envs: {TOKEN: x}\n    rate: 1.5\n  after:\n    enabled: true\n",
			"model: o", "model: p",
		},
	} {
		t.Run(id, func(t *testing.T) {
			home := t.TempDir()
			path := filepath.Join(home, filepath.FromSlash(c.file))
			sys := systemOf("linux", map[string]string{"HOME": home})
			take := func(s Setup, user string) Result {
				to := Target{Command: "/bin/loci", Args: []string{"mcp", "--user", user}, Chosen: true}
				return s.Connect(t.Context(), sys, named(t, id), to)
			}
			must := func(r Result, outcome string) {
				t.Helper()
				if r.Outcome != outcome || r.Restored != (outcome == Removed) {
					t.Fatalf("%+v", r)
				}
			}

			write(t, path, c.text)
			if r := take(Setup{}, "ada"); r.Outcome != Failed {
				t.Fatalf("%+v", r)
			}
			must(take(Setup{Replace: true}, "ada"), Connected)
			if r := take(Setup{Remove: true, DryRun: true}, "ada"); !strings.Contains(r.Diff, "/opt/lang/server") {
				t.Errorf("a dry run: %+v", r)
			}
			must(take(Setup{Remove: true}, "ada"), Removed)
			if got := read(t, path); got != c.text {
				t.Errorf("%q became %q", c.text, got)
			}
			if _, err := os.Stat(path + ".before-loci"); err == nil {
				t.Error("the copy is still there")
			}

			// Our entry is replaced by another of ours, before and after somebody changes the rest.
			must(take(Setup{Replace: true}, "ada"), Connected)
			must(take(Setup{Replace: true}, "bob"), Connected)
			write(t, path, strings.Replace(read(t, path), c.other, c.changed, 1))
			must(take(Setup{Replace: true}, "eve"), Connected)
			must(take(Setup{Remove: true}, "eve"), Removed)
			back := strings.Replace(read(t, path), c.changed, c.other, 1)
			lines := func(text string) []string {
				return slices.DeleteFunc(strings.Split(text, "\n"), func(s string) bool { return s == "" })
			}
			if !slices.Equal(lines(back), lines(c.text)) {
				t.Errorf("%q became %q", c.text, back)
			}
		})
	}
}

// An entry that cannot be put back as it was stays in the copy, and our own stays, too: a
// person is told where it is.
func TestRemoveSaysWhereTheReplacedEntryIs(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".config", "goose", "config.yaml")
	sys := systemOf("linux", map[string]string{"HOME": home})
	take := func(s Setup) Result {
		return s.Connect(t.Context(), sys, named(t, "goose"), Target{Command: "/bin/loci", Args: []string{"mcp"}})
	}
	const theirs = "extensions:\n    loci:\n        cmd: /opt/lang/server\n"
	write(t, path, theirs)
	if r := take(Setup{Replace: true}); r.Outcome != Connected {
		t.Fatalf("%+v", r)
	}
	now := strings.ReplaceAll(read(t, path), "\n    ", "\n  ") // somebody indents the file otherwise
	write(t, path, now)
	r := take(Setup{Remove: true})
	if r.Outcome != Failed || loci.AsError(r.Err).Code != loci.Unsupported ||
		!strings.Contains(loci.AsError(r.Err).Recovery, path+".before-loci") {
		t.Errorf("%+v", r)
	}
	if read(t, path) != now || read(t, path+".before-loci") != theirs {
		t.Errorf("left %q and %q", read(t, path), read(t, path+".before-loci"))
	}
}
