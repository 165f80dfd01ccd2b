package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
)

func TestOldSQLiteIsRefused(t *testing.T) {
	t.Parallel()
	db, err := openDB(filepath.Join(t.TempDir(), "x.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := checkVersion(t.Context(), conn, minimumSQLite); err != nil {
		t.Errorf("this build's own SQLite: %v", err)
	}
	wantCode(t, checkVersion(t.Context(), conn, "99.0.0"), loci.Unsupported, "99.0.0 or newer")
}

func TestVersionsCompareAsNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have, want string
		ok         bool
	}{
		{"3.51.3", "3.51.3", true}, {"3.51.2", "3.51.3", false}, {"3.54.1", "3.51.3", true}, {"3.9.10", "3.51.3", false},
		{"4.0.0", "3.51.3", true}, {"3.100.0", "3.51.3", true}, {"", "3.51.3", false}, {"x", "3.51.3", false},
	} {
		if got := atLeast(c.have, c.want); got != c.ok {
			t.Errorf("atLeast(%q, %q) is %v", c.have, c.want, got)
		}
	}
}
