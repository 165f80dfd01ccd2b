package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/loci-memory/loci/internal/patience"
)

// SQLite's secure_delete zeroes a row where it lies, but not the copies that
// earlier rebalancing of a page left between its cell pointers and its cells:
// measured, about one erased row in 15,000 stays readable there. So after an
// erase every page's unused bytes are zeroed, through the page table SQLite
// offers, inside an ordinary transaction; then the log, which holds old pages, is
// merged and cut to nothing. VACUUM would do the same at six times the cost.

// scrubber runs that in the background, one pass for all erases that wait.
type scrubber struct {
	mu      sync.Mutex
	running bool
	again   bool          // an erase came while a pass was running
	done    chan struct{} // closed when nothing is left to do
	later   *time.Timer   // starts a pass for erases that did not
	pause   time.Duration // how long that takes after the last of them
	latest  time.Time     // when it begins though others follow
	alone   time.Duration // how long an erase that stands alone waits for its wiping
	cancel  context.CancelFunc
	ctx     context.Context
	stopped bool
}

// scrubPause is how long what was erased in one of many steps waits for its wiping, unless
// another step comes before. Each pass merges the log and waits for the disk, which takes
// longer than a step, and looks at pages that later steps free.
const scrubPause = time.Second

// maxPauses is for how many pauses steps that follow one another put the pass off.
const maxPauses = 10

func (s *scrubber) init() {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.done, s.pause, s.alone = make(chan struct{}), scrubPause, scrubPatience
	close(s.done)
}

// scrubLater asks for a pass soon.
func (f *file) scrubLater() {
	s := &f.scrub
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case s.stopped:
	case s.later == nil:
		s.latest = now.Add(maxPauses * s.pause)
		s.later = time.AfterFunc(s.pause, f.startScrub)
	case s.putsOff(now):
		s.later.Reset(s.pause)
	}
}

// putsOff reports whether a step puts off the pass that is to come.
func (s *scrubber) putsOff(now time.Time) bool { return now.Add(s.pause).Before(s.latest) }

// startScrub asks for a pass, and for a pass of the tidier if there were steps that have asked for none.
func (f *file) startScrub() {
	s := &f.scrub
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.later != nil {
		s.later.Stop()
		s.later = nil
		f.startTidy()
	}
	if s.running || s.stopped {
		s.again = true
		return
	}
	s.running, s.done = true, make(chan struct{})
	go f.runScrub()
}

func (f *file) runScrub() {
	s := &f.scrub
	for {
		err := f.scrubOnce(s.ctx)
		if err != nil && s.ctx.Err() == nil {
			f.logError("wipe erased rows", err)
		}
		s.mu.Lock()
		if !s.again || err != nil {
			s.running = false
			close(s.done)
			s.mu.Unlock()
			return
		}
		s.again = false
		s.mu.Unlock()
	}
}

// scrubPatience bounds how long an erase waits for the wiping: as long as a file of a few
// hundred megabytes takes. The wiping goes on after a call that gave up waiting.
const scrubPatience = 2 * time.Second

// stepsPatience is scrubPatience for the last of many steps, which waits for all of them.
const stepsPatience = 20 * time.Second

// awaitScrub waits until what was erased is wiped from the files, or as long as is
// reasonable after the last of many steps or after an erase that stands alone; the erase
// itself is durable already.
func (f *file) awaitScrub(ctx context.Context, last bool) error {
	f.scrub.mu.Lock()
	done, wait := f.scrub.done, f.scrub.alone
	f.scrub.mu.Unlock()
	if last {
		wait = stepsPatience
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	case <-ctx.Done():
	}
	return nil
}

// stopScrub ends the background work at its next step; what is left is done when the
// file is opened next.
func (f *file) stopScrub() {
	s := &f.scrub
	s.mu.Lock()
	waits := s.later != nil
	s.mu.Unlock()
	if waits {
		f.startScrub()
	}
	s.mu.Lock()
	s.stopped = true
	done := s.done
	s.mu.Unlock()
	t := time.NewTimer(scrubPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
	s.cancel()
	<-done
}

// scrubOnce wipes the unused bytes of the pages that may have some to wipe, and empties
// the log.
func (f *file) scrubOnce(ctx context.Context) error {
	var pending int64
	if err := f.readRow(ctx, "SELECT value FROM meta WHERE key = 'scrub'", nil, &pending); err != nil || pending == 0 {
		return err
	}
	if err := f.wipe(ctx); err != nil {
		return err
	}
	err := f.withCause(f.cutLog(ctx))
	if isFull(err) {
		f.ballast.release()
		err = f.cutLog(ctx)
	}
	if err != nil {
		return err
	}
	// Only now, and only if nothing was erased meanwhile: a process that ends
	// before this line starts over at the next open.
	return f.erase(ctx, func(t *tx) error {
		return t.exec("UPDATE meta SET value = 0 WHERE key = 'scrub' AND value = ?", pending)
	})
}

// Others wait for two milliseconds while a slice of so many pages is looked at. What is
// written meanwhile comes in again; after so many slices nobody may write in between.
const (
	wipeSome   = 256
	wipeSlices = 64
)

// wipe wipes every page that was written since it was last wiped, or all of them where it
// is not known which these are. In the end one transaction wipes what is left before it
// does anything else: then no gap holds anything that a page could take over from another
// one.
func (f *file) wipe(ctx context.Context) error {
	p := &f.touched
	var all int64 // pages of the file, where each is to be looked at
	if err := f.wiping(ctx, func(t *tx) error {
		if p.whole {
			return nil
		}
		if err := p.follow(t); err != nil {
			return err
		}
		return t.row("SELECT page_count FROM pragma_page_count", nil, &all)
	}); err != nil {
		return err
	}
	followed := true
	for next := int64(1); next <= all && followed; {
		if err := f.wiping(ctx, func(t *tx) (err error) {
			if followed = p.following; followed {
				next, err = t.wipeSlice(next, all+1)
			}
			return err
		}); err != nil {
			return err
		}
	}
	for slices, done := 0, false; followed && !done; slices++ {
		if err := f.wiping(ctx, func(t *tx) (err error) {
			if followed = p.following; followed {
				done, err = t.wipeTouched(slices)
			}
			return err
		}); err != nil {
			return err
		}
	}
	if followed {
		return nil
	}
	// Another process writes as well: nobody does while all is wiped at once.
	return f.wiping(ctx, func(t *tx) error { return t.wipePages() })
}

// wiping is erase for a job that comes before the others of its transaction.
func (f *file) wiping(ctx context.Context, run func(*tx) error) error {
	return f.do(ctx, &job{run: run, erases: true, first: true, done: make(chan error, 1)})
}

// wipeTouched wipes pages that were written since they were last wiped: a slice of them,
// or all and done.
func (t *tx) wipeTouched(slices int) (done bool, err error) {
	p := &t.f.touched
	done = len(p.pages) <= wipeSome || slices >= wipeSlices
	for n := range p.pages {
		if !done && len(p.wiped) == wipeSome {
			break
		}
		if err := t.wipePage(n); err != nil {
			return false, err
		}
		p.wiped = append(p.wiped, n)
	}
	p.whole = done
	return done, nil
}

// wipePages zeroes the unused bytes of every b-tree page.
func (t *tx) wipePages() error {
	var all int64
	if err := t.row("SELECT page_count FROM pragma_page_count", nil, &all); err != nil {
		return err
	}
	return t.wipeRange(1, all+1)
}

// wipeRange is wipePages from a page to before another one.
func (t *tx) wipeRange(from, to int64) error {
	for n := from; n < to; n++ {
		if err := t.wipePage(n); err != nil {
			return err
		}
	}
	return nil
}

// wipePage zeroes the unused bytes of a page, if it has any that are not.
func (t *tx) wipePage(number int64) error {
	t.f.touched.asked++
	var data []byte
	err := t.row("SELECT data FROM sqlite_dbpage WHERE pgno = ?", []any{number}, &data)
	if errors.Is(err, sql.ErrNoRows) || err == nil && !needsWipe(number, data) {
		return nil // the file has become shorter, or the page is clean
	}
	if err != nil {
		return err
	}
	wipeUnused(number, data)
	return t.exec("UPDATE sqlite_dbpage SET data = ? WHERE pgno = ?", data, number)
}

// unusedRanges calls yield for the ranges of a page that hold nothing: the gap
// between the cell pointers and the cells, and the inside of each free block. The
// layout is that of SQLite's file format, section "B-tree Pages". A page that is
// no b-tree page begins with a page number, whose first byte is 0 in any file of
// less than 64 GB with our page size, and is left alone: freed pages and overflow
// pages are zeroed by secure_delete itself.
func unusedRanges(number int64, page []byte, yield func(start, end int)) {
	h := 0 // of the page's header
	if number == 1 {
		h = 100 // the file's header comes first
	}
	header := 0
	switch page[h] {
	case 2, 5:
		header = 12
	case 10, 13:
		header = 8
	default:
		return
	}
	u16 := func(at int) int { return int(binary.BigEndian.Uint16(page[at:])) }
	cells, content := u16(h+3), u16(h+5)
	if content == 0 {
		content = 65536
	}
	start := h + header + 2*cells
	if start > content || content > len(page) {
		return // damaged: not ours to mend
	}
	yield(start, content)
	for at, last := u16(h+1), 0; at > last && at+4 <= len(page); {
		size := u16(at + 2)
		if size < 4 || at+size > len(page) {
			return
		}
		yield(at+4, at+size)
		last, at = at, u16(at)
	}
}

func needsWipe(number int64, page []byte) bool {
	dirty := false
	unusedRanges(number, page, func(start, end int) {
		dirty = dirty || !bytes.Equal(page[start:end], zeros[:end-start])
	})
	return dirty
}

// zeros are those of a page, which is no larger.
var zeros [65536]byte

func wipeUnused(number int64, page []byte) {
	unusedRanges(number, page, func(start, end int) { clear(page[start:end]) })
}

// cutLog is truncateLog for who follows pages: that data change meanwhile is this process's doing.
func (f *file) cutLog(ctx context.Context) error {
	f.touched.cut.Add(1)
	defer f.touched.cut.Add(1)
	return f.truncateLog(ctx)
}

// truncateLog merges the write-ahead log into the file and cuts it to nothing. A
// reader of another process can hold that up; it is tried again until ctx ends.
func (f *file) truncateLog(ctx context.Context) error {
	db, err := f.cutter()
	if err != nil {
		return err
	}
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		var busy, log, moved int
		err := f.rows.Cut(func() error {
			return db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved)
		})
		if err == nil && busy == 0 {
			return nil
		}
		if err != nil && !isBusy(err) {
			return err
		}
		if err := patience.Sleep(ctx, wait/2+rand.N(wait)); err != nil {
			return err
		}
	}
}

// cutter is a connection of its own that never waits: a checkpoint that waits keeps every
// writer waiting, too.
func (f *file) cutter() (*sql.DB, error) {
	f.cutting.Lock()
	defer f.cutting.Unlock()
	if f.cutDB != nil {
		return f.cutDB, nil
	}
	db, err := openDB(f.path, []string{"busy_timeout(0)", "synchronous(FULL)"})
	if err == nil {
		db.SetMaxOpenConns(1)
		f.cutDB = db
	}
	return db, err
}
