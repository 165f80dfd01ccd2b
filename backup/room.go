package backup

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// roomPrefix begins the names of rooms, and lockEnd is what the lock of one has behind its name.
const roomPrefix, lockEnd = ".loci-backup-", ".lock"

// A room is a directory for its owner alone in which there is work. A lock beside it says that its
// process lives: what others have left behind is as readable as the tenants were, and goes.
type room struct {
	dir  string
	lock *flock.Flock
}

// newRoom makes a room, and takes away those of processes that ended in the middle of their work.
func newRoom(place string) (r *room, err error) {
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, refused("the directory "+place+" cannot be made", err)
	}
	if place, err = filepath.Abs(place); err != nil {
		return nil, refused("the directory "+place+" cannot be used", err)
	}
	sweep(place)
	for {
		dir, err := os.MkdirTemp(place, roomPrefix+"*")
		if err != nil {
			return nil, refused("a directory in "+place+" cannot be made", err)
		}
		r = &room{dir: dir, lock: flock.New(dir+lockEnd, flock.SetPermissions(0o600))}
		if r.claim() {
			return r, nil
		}
	}
}

// claim locks the room. It fails if another process has found the lock before this one held it, and took the room
// for one that was left behind. Where there are no locks nobody takes a room away, and it stays when its process
// is killed.
func (r *room) claim() bool {
	if held, err := r.lock.TryLock(); err == nil && !held {
		return false
	}
	_, err := os.Lstat(r.dir) // the other one takes it away before he lets go of the lock
	return err == nil
}

// sweep takes rooms away whose lock nobody holds. What has no lock may be somebody else's.
func sweep(place string) {
	entries, _ := os.ReadDir(place) // where nothing can be listed nothing is swept
	for _, e := range entries {
		info, err := e.Info()
		if !strings.HasPrefix(e.Name(), roomPrefix) || !strings.HasSuffix(e.Name(), lockEnd) ||
			err != nil || !info.Mode().IsRegular() || info.Size() > 0 {
			continue
		}
		path := filepath.Join(place, e.Name())
		lock := flock.New(path)
		if held, err := lock.TryLock(); err == nil && held {
			_ = (&room{strings.TrimSuffix(path, lockEnd), lock}).close() // the next one tries again
		}
	}
}

// close takes the room away, and its lock last.
func (r *room) close() error {
	if err := os.RemoveAll(r.dir); err != nil {
		return errors.Join(err, r.lock.Close())
	}
	err := r.lock.Close()
	if gone := os.Remove(r.lock.Path()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	return err
}
