package backup

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// A room that another process takes for one that was left behind is no longer its maker's.
func TestRoomsAreClaimed(t *testing.T) {
	t.Parallel()
	made := func() *room {
		dir := filepath.Join(t.TempDir(), roomPrefix+"1")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return &room{dir: dir, lock: flock.New(dir + lockEnd)}
	}
	r := made()
	other := flock.New(r.lock.Path())
	if held, err := other.TryLock(); err != nil || !held {
		t.Fatal(held, err)
	}
	if r.claim() {
		t.Error("a room whose lock another one holds is claimed")
	}
	if err := (&room{r.dir, other}).close(); err != nil {
		t.Fatal(err)
	}
	if r.claim() {
		t.Error("a room that is gone is claimed")
	}
	if r := made(); !r.claim() {
		t.Error("a room of one's own is not claimed")
	} else if err := r.close(); err != nil {
		t.Error(err)
	}
}
