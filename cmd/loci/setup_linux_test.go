package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci/internal/config"
)

// TestSetupAsks: on a terminal, setup connects what a person chooses, in each way to say so.
func TestSetupAsks(t *testing.T) {
	for typed, want := range map[string][]string{
		"\n": {"cursor", "windsurf"}, "1\n": {"cursor"}, "cursor\n": {"cursor"}, "1, 2\n": {"cursor", "windsurf"},
		"  windsurf \t\n": {"windsurf"}, "cursor\r\n": {"cursor"}, "none\n": nil, "n\n": nil,
		"y\n": {"cursor", "windsurf"}, "ALL\n": {"cursor", "windsurf"}, "no\n": nil,
		"7\ncursr\n2\n": {"windsurf"}, // asked again
		"\x04":          nil,          // the end of input is a no
	} {
		home := t.TempDir()
		files := map[string]string{
			"cursor":   filepath.Join(home, ".cursor", "mcp.json"),
			"windsurf": filepath.Join(home, ".codeium", "windsurf", "mcp_config.json"),
		}
		for _, file := range files {
			if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
				t.Fatal(err)
			}
		}
		shown, code := asProcess(t, config.Environ{"HOME=" + home, "NO_COLOR=1"}, typed, "setup")
		if code != 0 || !strings.Contains(shown, "Connect which?") {
			t.Errorf("%q: exit code %d, shows %q", typed, code, shown)
		}
		if strings.Contains(shown, "Nothing was changed.") != (want == nil) {
			t.Errorf("%q shows %q", typed, shown)
		}
		for name, file := range files {
			if connected := !missing(file); connected != slices.Contains(want, name) {
				t.Errorf("%q: %s is connected: %v; shows %q", typed, name, connected, shown)
			}
		}
	}
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".cursor"), 0o750); err != nil {
		t.Fatal(err)
	}
	const connected = `{"mcpServers": {"loci": {"url": "http://127.0.0.1:9/mcp"}}}`
	if err := os.WriteFile(filepath.Join(home, ".cursor", "mcp.json"), []byte(connected), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ flag, says, not string }{
		{"--dry-run", "With --dry-run nothing is changed", "All of them are connected"},
		{"--url=http://127.0.0.1:9/mcp", "All of them are connected", "Connect which?"},
		{"--remove", "Disconnect which?", "All of them are connected"},
	} {
		shown, code := asProcess(t, config.Environ{"HOME=" + home, "NO_COLOR=1"}, "none\n", "setup", c.flag)
		shown = strings.Join(strings.Fields(shown), " ")
		if code != 0 || !strings.Contains(shown, c.says) || strings.Contains(shown, c.not) ||
			strings.Index(shown, "CLIENT") > strings.Index(shown, c.says) { // a remark is about the list above it
			t.Errorf("setup %s: exit code %d, shows %q", c.flag, code, shown)
		}
	}
	for typed, says := range map[string]string{"7\n": "there is no number 7 in the list", "cursr\n": `"cursr" is not known`} {
		shown, code := asProcess(t, config.Environ{"HOME=" + home, "NO_COLOR=1"}, strings.Repeat(typed, 3), "setup")
		if code != exitInvalid || strings.Count(strings.Join(strings.Fields(shown), " "), says) != 3 {
			t.Errorf("%q: exit code %d, shows %q", typed, code, shown)
		}
	}
	if shown, code := asProcess(t, config.Environ{"HOME=" + home, "NO_COLOR=1"}, "none\n", "setup", "--remove"); code != 0 ||
		!strings.Contains(shown, "Disconnect which?") {
		t.Errorf("exit code %d, shows %q", code, shown)
	}
}
