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

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
	"github.com/loci-memory/loci/store/internal/gaps"
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
	err := f.withCause(f.truncateLog(ctx))
	if isFull(err) {
		f.ballast.release()
		err = f.truncateLog(ctx)
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

// Others wait for two milliseconds while a slice of so many pages is wiped. What is written meanwhile comes in again;
// after so many slices more than all pages take nobody may write in between.
const (
	wipeSome   = 256
	wipeSlices = 64
)

// maxLost is how often a wiping begins again because another process wrote what was not seen.
const maxLost = 2

// wipe wipes every page that may have something to wipe. In the end one transaction wipes what is left before it does
// anything else: then no gap holds anything that a page could take over from another one.
func (f *file) wipe(ctx context.Context) error {
	return f.wipeInSlices(ctx, lookSlice, func() error { return nil })
}

// wipeInSlices is wipe that looks at so many pages in a slice, and calls rest after each.
func (f *file) wipeInSlices(ctx context.Context, most int, rest func() error) error {
	p := &f.touched
	for lost, slices, done := -1, 0, false; ; {
		if err := f.wiping(ctx, func(t *tx) (err error) {
			if lost < 0 || !p.known {
				lost++
				if !p.known && !p.learnAll(t) {
					done = true
					return t.wipePages()
				}
				slices = wipeSlices + p.pages.Len()/wipeSome + p.pages.Len()/most
			}
			slices--
			done, err = t.wipeSlice(slices < 0 || lost > maxLost, most)
			return err
		}); err != nil || done {
			return err
		}
		if err := rest(); err != nil {
			return err
		}
	}
}

// What is wiped though nobody erases goes in smaller slices, of about a millisecond, with longer pauses in between.
const (
	aheadSlice  = 512
	aheadPause  = 20 * time.Millisecond
	aheadOthers = 200 * time.Millisecond
)

// WipeAhead wipes the file of a tenant where it is large and it is not known which pages may have something to wipe, or
// where these are many, so that the next erase finds that done. It gives way to writes.
func (s *Store) WipeAhead(ctx context.Context, t loci.Tenant) error {
	if exists, err := s.exists(t); err != nil || !exists {
		return err
	}
	f, err := s.acquire(ctx, t)
	if err != nil {
		return err
	}
	defer s.release(f)
	return f.translate("wipe ahead", f.wipeAhead(ctx))
}

func (f *file) wipeAhead(ctx context.Context) error {
	due, err := f.wipeDue(ctx)
	if err != nil || !due {
		return err
	}
	before := f.meter.Work().Writes
	if err := f.wipeInSlices(ctx, aheadSlice, func() error {
		pause, now := aheadPause, f.meter.Work().Writes
		if now > before+1 {
			pause = aheadOthers
		}
		before = now
		return patience.Sleep(ctx, pause)
	}); err != nil {
		return err
	}
	return f.wiping(ctx, func(t *tx) error { // which has the file say so
		if f.touched.known {
			return f.touched.name(t, nil)
		}
		return nil
	})
}

// wipeDue reports whether there is much to wipe. A file at rest stays as it is.
func (f *file) wipeDue(ctx context.Context) (due bool, err error) {
	var found []byte
	var pages int64
	const query = "SELECT (SELECT CAST(value AS BLOB) FROM meta WHERE key = 'follower'), (SELECT page_count FROM pragma_page_count)"
	if err := f.readRow(ctx, query, nil, &found, &pages); err != nil || pages <= smallFile {
		return false, err
	}
	if m, ok := gaps.MarkOf(found); ok && m.Rest {
		return false, nil
	}
	err = f.wiping(ctx, func(*tx) error {
		due = !f.touched.known || f.touched.pages.Len() > mostNamed
		return nil
	})
	return due, err
}

// leaveAtRest is rest within the time that a file takes to be closed. A file that does not say what may have something
// to wipe is wiped as a whole by who erases next.
func (f *file) leaveAtRest() {
	ctx, cancel := context.WithTimeout(context.Background(), scrubPatience)
	defer cancel()
	if err := f.rest(ctx); err != nil {
		f.log.Debug("what may have something to wipe is not said", "file", f.path, "error", err)
	}
}

// rest has a large file say what may have something to wipe, as long as nobody writes to it: it is about to be closed.
func (f *file) rest(ctx context.Context) error {
	p := &f.touched
	for range 3 { // the first mark may move others of the file
		if !p.restless.Load() {
			return nil
		}
		many := false
		err := f.wiping(ctx, func(t *tx) (err error) {
			many, err = t.rest()
			return err
		})
		if err == nil && many {
			err = f.wipe(ctx)
		}
		if err != nil {
			return err
		}
	}
	return f.wiping(ctx, func(*tx) error { return nil }) // which takes away what is not sure
}

// rest leaves a mark of rest. many: there are more pages to wipe than a mark is to name.
func (t *tx) rest() (many bool, err error) {
	p := &t.f.touched
	if !p.known || p.size <= smallFile {
		p.restless.Store(false)
		return false, nil
	}
	m := gaps.NewMark()
	m.Rest, m.Unwiped = true, p.pages.Copy()
	if p.resting, err = t.pagesOf("meta"); err != nil { // the mark itself goes there
		return false, err
	}
	for page := p.resting.Next(1); page != 0; page = p.resting.Next(page + 1) {
		m.Unwiped.Add(page)
	}
	if m.Shape, err = t.shape(); err != nil {
		return false, err
	}
	b, fits := m.Bytes()
	if !fits || m.Unwiped.Len() > mostNamed {
		p.resting = nil
		return true, nil
	}
	err = p.say(t, b, b)
	p.mark = "" // whoever writes next takes it away
	return false, err
}

// pagesOf are the pages of a small table that is an index.
func (t *tx) pagesOf(table string) (*gaps.Set, error) {
	var root int64
	if err := t.row("SELECT rootpage FROM sqlite_schema WHERE name = ?", []any{table}, &root); err != nil {
		return nil, err
	}
	found := &gaps.Set{}
	for left := []int64{root}; len(left) > 0; left = left[1:] {
		var page []byte
		if err := t.row("SELECT data FROM sqlite_dbpage WHERE pgno = ?", []any{left[0]}, &page); err != nil {
			return nil, err
		}
		found.Add(uint32(left[0]))
		left = append(left, gaps.Below(page)...)
	}
	return found, nil
}

// wiping is erase for a job that comes before the others of its transaction.
func (f *file) wiping(ctx context.Context, run func(*tx) error) error {
	return f.do(ctx, &job{run: run, erases: true, first: true, done: make(chan error, 1)})
}

// wipePages zeroes the unused bytes of every b-tree page.
func (t *tx) wipePages() error {
	var all int64
	if err := t.row("SELECT page_count FROM pragma_page_count", nil, &all); err != nil {
		return err
	}
	for n := int64(1); n <= all; n++ {
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

// truncateLog merges the write-ahead log into the file and cuts it to nothing. A
// reader of another process can hold that up; it is tried again until ctx ends.
func (f *file) truncateLog(ctx context.Context) error {
	db, err := f.cutter()
	if err != nil {
		return err
	}
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, 200*time.Millisecond) {
		var busy, log, moved int
		_, _, err := checkpoint(db, "PASSIVE") // takes long, and nobody waits for it
		if err == nil {
			err = f.rows.Cut(func() error {
				f.touched.cutting.Lock()
				defer f.touched.cutting.Unlock()
				return db.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved)
			})
		}
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
