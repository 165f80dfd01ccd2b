package mcpclient

import (
	"strings"
	"testing"
)

// A program that lies in the cache of what has fetched it is started by that again.
func TestFetchedPrograms(t *testing.T) {
	for path, want := range map[string]string{
		"/home/a/.npm/_npx/0b1c/node_modules/@loci-memory/cli-linux-x64/bin/loci":                           "npx -y @loci-memory/cli",
		`C:\Users\a\AppData\Local\npm-cache\_npx\0b1c\node_modules\@loci-memory\cli-win32-x64\bin\loci.exe`: "npx -y @loci-memory/cli",
		"/home/a/.cache/pnpm/dlx/6f0e/18c-2/node_modules/@loci-memory/cli-linux-x64/bin/loci":               "pnpm dlx @loci-memory/cli",
		"/Users/a/Library/Caches/pnpm/dlx/6f0e/pkg/node_modules/.pnpm/x/bin/loci":                           "pnpm dlx @loci-memory/cli",
		`C:\Users\a\AppData\Local\pnpm-cache\dlx\6f0e\pkg\bin\loci.exe`:                                     "pnpm dlx @loci-memory/cli",
		"/tmp/bunx-1000-@loci-memory/cli@latest/node_modules/@loci-memory/cli-linux-x64/bin/loci":           "bunx @loci-memory/cli",
		"/home/a/.cache/uv/archive-v0/Xy12/bin/loci":                                                        "uvx loci-memory-cli",
		"/data/elsewhere/archive-v0/Xy12/loci_memory_cli-1.data/scripts/loci":                               "uvx loci-memory-cli",
		`D:\cache\environments-v2\loci-1f\Scripts\loci.exe`:                                                 "uvx loci-memory-cli",
		"/usr/bin/loci": "", "/home/a/.local/share/uv/tools/loci-memory-cli/bin/loci": "",
		"/home/a/.local/share/pnpm/global/5/node_modules/@loci-memory/cli-linux-x64/bin/loci": "",
		"/home/a/archive/loci": "", "/home/a/go/bin/loci": "", "/home/a/npx/loci": "",
	} {
		command, args, ok := fetchedBy(path)
		if got := strings.TrimSpace(command + " " + strings.Join(args, " ")); got != want || ok != (want != "") {
			t.Errorf("%s: %q, not %q", path, got, want)
		}
	}
}
