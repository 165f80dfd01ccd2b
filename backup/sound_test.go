package backup_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
)

// TestDamagedStoresAreNotBackedUp: what a check finds in the store, or a log that somebody
// changed, is no backup.
func TestDamagedStoresAreNotBackedUp(t *testing.T) {
	for _, fault := range []string{
		"UPDATE record SET text = x'77' WHERE n = 1",
		"UPDATE event SET actor = 'nobody' WHERE seq = 2",
		"DELETE FROM event WHERE seq = (SELECT max(seq) FROM event)",
	} {
		path := filepath.Join(t.TempDir(), "one.db")
		with(t, "sqlite:"+path, func(_ loci.Store, e *loci.Engine) { fill(t, e, "default") })
		db, err := sql.Open("sqlite", path)
		must(t, err)
		_, err = db.Exec(fault)
		must(t, err)
		must(t, db.Close())
		dir := filepath.Join(t.TempDir(), "backup")
		_, err = backup.Create(t.Context(), "sqlite:"+path, dir, nil, options())
		wantCode(t, fault, err, loci.Internal, "loci doctor")
		if left := leftovers(t, filepath.Dir(dir)); len(left) > 0 {
			t.Errorf("%s: %s is left", fault, strings.Join(left, ", "))
		}
	}
}
