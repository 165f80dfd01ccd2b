//go:build unix

package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// TestFileThatWasMoved: what is stored in a file that its path no longer leads to is lost with the process, so
// nothing is acknowledged. Once the file is back, it is used again.
func TestFileThatWasMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, away := filepath.Join(dir, "x.db"), filepath.Join(dir, "away.db")
	s := openFile(t, path)
	save(t, s, "kept before")
	refused := func(text string) {
		t.Helper()
		err := s.Apply(t.Context(), testTenant, note(text))
		wantCode(t, err, loci.Unavailable, path+" was moved", "nothing was stored")
		if advice := loci.AsError(err).Advice(); !strings.Contains(advice, "start it again") {
			t.Error(advice)
		}
	}
	must(t, os.Rename(path, away))
	refused("lost, as nothing is there")
	must(t, os.WriteFile(path, nil, 0o600))
	refused("lost, as another file is there")
	must(t, os.Rename(away, path))
	save(t, s, "kept after")
}
