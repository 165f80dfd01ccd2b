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
// nothing is acknowledged; and what it says may be what others have erased since, so nothing is read from it. Once
// the file is back, it is used again.
func TestFileThatWasMoved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, away := filepath.Join(dir, "x.db"), filepath.Join(dir, "away.db")
	s := openFile(t, path)
	save(t, s, "kept before")
	refused := func(text string) {
		t.Helper()
		err := s.Apply(t.Context(), testTenant, note(text))
		wantCode(t, err, loci.Unavailable, path+" was moved", "nothing was read or stored")
		all := loci.Filter{Within: []loci.Namespace{{}}}
		_, _, listErr := s.Records(t.Context(), testTenant, all, loci.Page{})
		_, matchErr := s.Match(t.Context(), testTenant, loci.Probe{Text: "kept"}, all, 10)
		_, spaceErr := s.ActiveSpace(t.Context(), testTenant)
		for _, err := range []error{listErr, matchErr, spaceErr} {
			wantCode(t, err, loci.Unavailable, path+" was moved")
		}
		if advice := loci.AsError(err).Advice(); !strings.Contains(advice, "start it again") {
			t.Error(advice)
		}
	}
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	must(t, os.Rename(path, away))
	late := f.do(t.Context(), &job{run: func(*tx) error { return nil }, done: make(chan error, 1)})
	s.release(f)
	wantCode(t, late, loci.Unavailable, path+" was moved")
	refused("lost, as nothing is there")
	must(t, os.WriteFile(path, nil, 0o600))
	refused("lost, as another file is there")
	must(t, os.Rename(away, path))
	save(t, s, "kept after")
}
