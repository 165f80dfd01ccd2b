package mcpclient

import (
	"path/filepath"
	"strings"
	"testing"
)

// What a dry run shows names the lines where they are in the file, before and after: an entry may lie in
// several places of it.
func TestADryRunNamesTheLines(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, ".codex", "config.toml")
	write(t, path, "[mcp_servers.loci]\ncommand = '/bin/loci'\nargs = ['mcp']\n\n[a]\nx = 1\n\n[mcp_servers.loci.env]\nTOKEN = 'x'\n\n[b]\n"+
		strings.Repeat("# nothing\n", 9)+"\n[mcp_servers.loci.tools]\nsave = true\n\n[c]\nx = 1\n")
	sys := systemOf("linux", map[string]string{"HOME": home})
	to := Target{Command: "/bin/loci", Args: []string{"mcp"}, Chosen: true}
	setup := Setup{Remove: true, DryRun: true}
	r := setup.Connect(t.Context(), sys, named(t, "codex"), to)
	var at []string
	for line := range strings.Lines(r.Diff) {
		if strings.HasPrefix(line, "@@") {
			at = append(at, strings.TrimSpace(line))
		}
	}
	if got := strings.Join(at, " "); got != "@@ -1,12 +1,7 @@ @@ -19,8 +14,6 @@" {
		t.Errorf("%s: %v\n%s", got, r.Err, r.Diff)
	}
}
