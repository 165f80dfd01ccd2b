package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"runtime"
	"time"

	"github.com/loci-memory/loci"
)

// settled is how long a file must stay unchanged before it counts as not written to: the
// times of files are not exact.
const settled = 2 * time.Second

// A stamp is what a tenant's file looks like from outside, to see at little cost that
// nothing was written to it. It compares with ==.
type stamp struct{ size, at, logSize, logAt int64 }

// dealt is when a tenant whose upkeep was done has something to do again, unless its
// stamp has changed. Zero: never.
type dealt struct {
	stamp stamp
	next  time.Time
}

// seen is whether a tenant's file had anything in it when its stamp was this.
type seen struct {
	stamp stamp
	holds bool
}

// holdsStill is holdsData, without a look into a file that is as it was: to open one takes a hundred
// times as long, and lists of tenants look at all of them.
func (s *Store) holdsStill(ctx context.Context, t loci.Tenant) (bool, error) {
	now, sure, err := s.stamp(t)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	last, known := s.seen[t]
	s.mu.Unlock()
	if known && last.stamp == now {
		return last.holds, nil
	}
	holds, err := s.holdsData(ctx, t)
	if err != nil || !sure {
		return holds, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	remember(s.seen, t, seen{now, holds}, mostRemembered)
	return holds, nil
}

// stamp looks at a tenant's file and its log; false: it may be written to right now.
func (s *Store) stamp(t loci.Tenant) (now stamp, sure bool, err error) {
	var last time.Time
	look := func(path string) (size, at int64, err error) {
		info, err := lookAt(path)
		if errors.Is(err, fs.ErrNotExist) {
			return 0, 0, nil
		}
		if err != nil || info.Size() == 0 { // a log that is empty comes and goes with each process
			return 0, 0, err
		}
		if info.ModTime().After(last) {
			last = info.ModTime()
		}
		return info.Size(), info.ModTime().UnixNano(), nil
	}
	path := s.fileName(t)
	if now.size, now.at, err = look(path); err == nil {
		now.logSize, now.logAt, err = look(path + "-wal")
	}
	return now, time.Since(last) > settled, err
}

// lookAt says what a file looks like. Elsewhere than in Windows, which tells the time of what is open by its handle
// alone, it is not opened: to close it would take away the locks that SQLite has on it in this process.
func lookAt(path string) (info fs.FileInfo, err error) {
	if runtime.GOOS != "windows" {
		return os.Stat(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Stat()
}

// Due implements [loci.Store]. A tenant is passed over without a look into its file if
// that is as it was when an earlier loop was done with it, and nothing has run out since.
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[loci.Tenant, error] {
	return func(yield func(loci.Tenant, error) bool) {
		for t, err := range s.tenants(ctx, func(t loci.Tenant) (bool, error) { return s.mayBeDue(t, now) }) {
			if err != nil {
				yield(t, err)
				return
			}
			before, sure, err := s.stamp(t)
			if !yield(t, err) {
				return
			}
			if !sure {
				continue
			}
			if err := s.dealtWith(ctx, t, before); err != nil {
				yield(t, err)
				return
			}
		}
	}
}

func (s *Store) mayBeDue(t loci.Tenant, now time.Time) (bool, error) {
	s.mu.Lock()
	last, known := s.dealt[t]
	s.mu.Unlock()
	if !known {
		return true, nil
	}
	present, _, err := s.stamp(t)
	return present != last.stamp || !last.next.IsZero() && !now.Before(last.next), err
}

// dealtWith notes that the upkeep of a tenant is done, unless its file was written to.
func (s *Store) dealtWith(ctx context.Context, t loci.Tenant, before stamp) error {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	var next *int64
	const earliest = `SELECT min(at) FROM (SELECT min(expires_at) AS at FROM record WHERE expires_at IS NOT NULL
		UNION ALL SELECT min(due_at) FROM record WHERE due_at IS NOT NULL)`
	if err := f.readRow(ctx, earliest, nil, &next); err != nil {
		return f.translate("look for what is due", err)
	}
	after, _, err := s.stamp(t) // what was written since may be due earlier
	if err != nil || after != before {
		return err
	}
	d := dealt{stamp: before}
	if next != nil {
		d.next = milli(*next)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	remember(s.dealt, t, d, mostRemembered)
	return nil
}

// mostRemembered bounds what a store remembers of tenants whose files are not open: some 100 bytes of each.
const mostRemembered = 1 << 16

// remember puts a value into a map of at most so many: where there is no room, any other one gives way, which costs
// whoever asks for it a look into a file.
func remember[K comparable, V any](all map[K]V, key K, value V, most int) {
	if _, there := all[key]; !there && len(all) >= most {
		for other := range all {
			delete(all, other)
			break
		}
	}
	all[key] = value
}
