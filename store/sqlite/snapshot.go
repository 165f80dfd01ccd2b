package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/loci-memory/loci"
)

// snapshotPragmas are those of the connection that copies a file.
var snapshotPragmas = []string{"busy_timeout(30000)", "temp_store(MEMORY)", "cache_size(-8000)", "mmap_size(0)"}

// Snapshot writes a tenant, as it is at one moment, into a directory that is a store of its
// own, and returns the name of the file. Others go on writing meanwhile. What is not in use
// in the file, such as the room of erased rows, is not copied. Conflict: the directory has the
// file already.
func (s *Store) Snapshot(ctx context.Context, t loci.Tenant, dir string) (name string, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return "", err
	}
	defer s.release(f)
	to := filepath.Join(dir, FileName(t))
	made, err := createPrivate(to) // SQLite would let others read it
	if err == nil && !made {
		err = loci.Errorf(loci.Conflict, "%s is there already: choose a directory without it", to)
	}
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = f.notCopied(dir, errors.Join(err, os.Remove(to)))
		}
	}()
	db, err := openDB(f.path, snapshotPragmas)
	if err != nil {
		return "", err
	}
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	return filepath.Base(to), errors.Join(err, db.Close())
}

// notCopied says why there is no copy in a directory. A disk that is full is the one of the copy: where
// the tenant is, nothing was written.
func (f *file) notCopied(dir string, err error) error {
	if !isFull(err) {
		return f.translate("copy the file", err)
	}
	return &loci.Error{Code: loci.Unavailable, Op: "copy the file", Err: err,
		Msg: "the disk that holds " + dir + " is full; nothing was copied", Recovery: "Free some space there, then try again."}
}

// FileName is the name of the file of a tenant in a directory that is a store.
func FileName(t loci.Tenant) string { return filepath.Base((&Store{}).fileName(t)) }
