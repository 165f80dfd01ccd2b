package mcpclient

import (
	"os"
	"path/filepath"
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
