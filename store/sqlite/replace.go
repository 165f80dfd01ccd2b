package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
	"github.com/loci-memory/loci/store/internal/dump"
)

// layout is the store, to ask where its files are.
func (c *Target) layout() *Store {
	return &Store{path: c.path, single: strings.HasSuffix(c.path, ".db")}
}

// fileName is where the target has the file of a tenant.
func (c *Target) fileName(t loci.Tenant) string { return c.layout().fileName(t) }

// unsharedPragmas are those of the connection that keeps others away from a file: whoever has it
// open does not give it up for waiting.
var unsharedPragmas = []string{"busy_timeout(250)", "secure_delete(ON)"}

// An unshared file is a memory file that nobody has open but this connection, and nobody can
// read or write until it is released.
type unshared struct {
	db   *sql.DB
	conn *sql.Conn
	file *os.File // the same one, whatever its path leads to later; see [unshared.keep]
}

// holdAlone makes sure that nobody has a tenant's file open, and keeps it that way. It makes one
// that is missing. Without that, what another process keeps beside the file, its log, would be
// read as a part of whatever takes the file's place, and damage it.
func (c *Target) holdAlone(ctx context.Context, t loci.Tenant) (u *unshared, err error) {
	f := &file{path: c.fileName(t), ballast: c.ballast} // which is only to say what went wrong
	if _, err := createPrivate(f.path); err != nil {
		return nil, err
	}
	u = &unshared{}
	defer func() {
		if err != nil {
			err, u = f.translate("copy", errors.Join(err, u.release())), nil
		}
	}()
	if u.db, err = openDB(f.path, unsharedPragmas); err != nil {
		return u, err
	}
	if u.conn, err = u.db.Conn(ctx); err != nil {
		return u, err
	}
	var mode string
	// Only who is alone can go back to a file without a log: all of the log is in the file then.
	err = u.conn.QueryRowContext(ctx, "PRAGMA journal_mode=DELETE").Scan(&mode)
	if err == nil && mode == "delete" {
		_, err = u.conn.ExecContext(ctx, "BEGIN EXCLUSIVE")
	}
	if isBusy(err) || err == nil && mode != "delete" {
		return u, &loci.Error{
			Code: loci.Conflict, Err: err, Msg: "another program has the memory file " + f.path + " open; nothing was changed in it",
			Recovery: "Stop the servers of that store and whoever else uses it, then try again.",
		}
	}
	return u, err
}

// release lets others use the file again. It may be called twice.
func (u *unshared) release() (err error) {
	if u.conn != nil {
		err = errors.Join(u.conn.Close()) // which ends its transaction
		u.conn = nil
	}
	if u.db != nil {
		err = errors.Join(err, u.db.Close())
		u.db = nil
	}
	if u.file != nil {
		err = errors.Join(err, u.file.Close()) // last: it would take the locks of the connection with it
		u.file = nil
	}
	return err
}

// keep opens the file itself. That is for who is alone with it: to close a file takes away all locks that
// its process has on it.
func (u *unshared) keep(path string) (err error) {
	if u.file, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return oserror.Of("the memory file "+path+" cannot be opened", err)
	}
	return nil
}

// wipe overwrites what the file held, so that nothing of it is left on the disk.
func (u *unshared) wipe() error {
	size, err := u.file.Seek(0, io.SeekEnd)
	zeros := make([]byte, 64<<10)
	for at := int64(0); err == nil && at < size; at += int64(len(zeros)) {
		_, err = u.file.WriteAt(zeros[:min(int64(len(zeros)), size-at)], at)
	}
	if err == nil {
		err = u.file.Sync()
	}
	return err
}

// takePlace moves a file that is whole to where the store has a tenant's. One that is there
// gives way at that moment, and its bytes are overwritten.
func (c *Target) takePlace(ctx context.Context, from string, t loci.Tenant) (err error) {
	to := c.fileName(t)
	old, err := c.holdAlone(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, old.release()) }()
	if err := old.keep(to); err != nil {
		return err
	}
	windows := runtime.GOOS == "windows" // which moves nothing to where something is open
	if windows {
		if err := old.release(); err != nil {
			return err
		}
	}
	if err := os.Rename(from, to); err != nil {
		return oserror.Of("the copy of the tenant "+t.String()+" cannot be moved to "+to, err)
	}
	if windows {
		return nil
	}
	return errors.Join(syncFolder(filepath.Dir(to)), old.wipe())
}

// begun lists the files of copies into the store that were begun and are not whole.
func (s *Store) begun(ctx context.Context) (found []string) {
	if s.single {
		c := &Target{path: partsOf(s.path), opts: s.opts}
		c.opts.NoReserve = true
		if _, err := os.Lstat(c.path); err != nil {
			return nil
		}
		t, _ := loci.NewTenant(DefaultTenant) // never fails
		if at, _, err := c.place(ctx, c.path, t); err == nil && (at == (dump.Place{}) || at.Done) {
			return nil // a store of its own
		}
		return []string{c.path}
	}
	entries, _ := os.ReadDir(partsOf(s.path)) // mostly there is none
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".db") {
			found = append(found, filepath.Join(partsOf(s.path), e.Name()))
		}
	}
	return found
}

// dropCopy takes away the copy of a tenant that was begun and is not whole, which holds the tenant's memories
// too. What is no such copy is somebody's own, also where its name is that of one. Conflict: somebody is at work
// on it.
func (s *Store) dropCopy(ctx context.Context, t loci.Tenant) (err error) {
	if !s.takes(t) {
		return nil
	}
	c := &Target{path: partsOf(s.path), opts: s.opts, ballast: s.ballast}
	c.opts.NoReserve = true
	path := c.fileName(t)
	info, _ := os.Lstat(path) // nil where nothing is to be seen
	if info == nil || !info.Mode().IsRegular() || links(info) != 1 {
		return nil // the file is missing or not ours
	}
	at, _, err := c.place(ctx, c.path, t)
	if err != nil || at == (dump.Place{}) || at.Done {
		return err
	}
	u, err := c.holdAlone(ctx, t)
	if err != nil {
		return err
	}
	if err = u.keep(path); err == nil {
		err = u.wipe()
	}
	if err = errors.Join(err, u.release()); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return oserror.Of("the file "+path+" of an unfinished copy cannot be removed", err)
	}
	return (&Target{path: s.path}).Close()
}

// syncFolder makes the names in a folder outlive a power cut.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return oserror.Of("the directory "+dir+" cannot be read", err)
	}
	return errors.Join(d.Sync(), d.Close())
}
