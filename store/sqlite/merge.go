package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"time"
)

// The write-ahead log is merged into the file by a goroutine of its own. SQLite would have the
// commit that makes the log long do it, and whoever waits for that commit: it writes all that the
// log holds, and waits for the disk twice.

const (
	mergeFrom = 1000                  // pages that are not in the file yet; as SQLite has it
	mergeLate = 4 * mergeFrom         // pages of the log, from which on a commit merges after all
	mergeRest = 20 * time.Millisecond // between two looks at the log
	pageSize  = 4096                  // bytes; files of ours have SQLite's own size
)

// mergeSoon says that something was committed.
func (f *file) mergeSoon() {
	select {
	case f.committed <- struct{}{}:
	default: // it is known
	}
}

// merger merges until the file closes.
func (f *file) merger() {
	defer close(f.mergerDone)
	for {
		select {
		case <-f.committed:
		case <-f.closing:
			return
		}
		if err := f.mergeLog(); err != nil && !isBusy(err) {
			f.log.Debug("merge the log", "file", f.path, "error", err) // a commit tries again, and says so
		}
		select {
		case <-time.After(mergeRest):
		case <-f.closing:
			return
		}
	}
}

// mergeLog merges the log if it is long. Nobody waits meanwhile, and it waits for nobody.
func (f *file) mergeLog() error {
	db, err := f.cutter()
	if err != nil {
		return err
	}
	log, moved, err := checkpoint(db, "NOOP")
	if err == nil && log-moved >= mergeFrom {
		_, _, err = checkpoint(db, "PASSIVE")
	}
	return err
}

// mergeReserve is how many bytes may wait in the log for the ballast alone: merging makes the
// file grow by as much, and deletes need room as well.
const mergeReserve = ballastSize / 2

// mergeForRoom merges the log where a full disk would leave no room for it: the merger may
// be late, or wait for the processor. It reports whether there is room now.
func (f *file) mergeForRoom() bool {
	free, known := f.ballast.free(filepath.Dir(f.ballast.path))
	if !known || free >= lowRoom {
		return true
	}
	db, err := f.cutter()
	for range 50 {
		if err != nil && !isBusy(err) {
			return false // the disk is full already
		}
		for _, mode := range []string{"NOOP", "PASSIVE"} {
			var log, moved int64
			log, moved, err = checkpoint(db, mode)
			if bytes := (log - moved) * pageSize; err == nil && bytes <= max(mergeReserve, free/2) {
				return true
			}
		}
		time.Sleep(mergeRest / 10) // the merger is at it, or somebody reads what is old
	}
	return false
}

// checkpoint returns how many pages the log has, and how many of them are in the file.
func checkpoint(db *sql.DB, mode string) (log, moved int64, err error) {
	var busy int64
	err = db.QueryRowContext(context.Background(), fmt.Sprintf("PRAGMA wal_checkpoint(%s)", mode)).
		Scan(&busy, &log, &moved)
	return log, moved, err
}
