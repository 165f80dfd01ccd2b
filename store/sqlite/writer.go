package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
)

// maxBatch bounds how many writes share a commit. Measured: 64 already save 95 %
// of the cost of a commit each; more only lengthens the wait of the first.
const maxBatch = 256

// A job is one write waiting for its turn.
type job struct {
	run    func(*tx) error
	erases bool // it makes room, and may use what the ballast gives back
	first  bool // it comes before the others of its transaction
	large  bool // it has a transaction of its own
	more   bool // another one follows that waits for the wiping of what both erase
	adds   bool // it only adds records, see [adds]
	done   chan error
	// taken decides between the writer, who starts the job, and its caller, who stops
	// waiting: the first to set it wins.
	taken atomic.Bool
	begun bool // by the writer, who alone looks at it
}

// told reports whether somebody is told that what the job did is done: then it must outlive
// a power cut. The steps of a delete are told with its last one, and wiping once the log is
// merged; what is written after them takes them along to the disk.
func (j *job) told() bool { return !j.more && !j.first }

// tx is a write transaction on the file's one writing connection.
type tx struct {
	f     *file
	conn  *sql.Conn
	stmts map[string]*statement
	seq   int64 // of this transaction; 0 until a write needs one

	// Namespaces by key, numbers of spaces, and shards that are known to be in the file,
	// valid for the floor below which another process has erased the tenant, and for
	// the count of names that went or came.
	places map[string]place
	shards map[shard]bool
	spaces map[loci.Space]int64
	floor  int64
	named  int64

	names loci.NameKey   // of the tenant
	left  map[int64]bool // namespaces that the job erased records of

	active int64 // number of the active space; 0 for none
	lazy   bool  // commits do not wait for the disk

	handed   []handed // what the index is to know of the transaction
	unhanded int      // changes that it is to read from the file

	// The end of the chain of events as this transaction has it.
	head                 loci.Hash
	headKnown, headMoved bool

	// erased is set when rows were erased, whose bytes must be wiped afterwards.
	erased bool

	counted *counting // what is added meanwhile; nil: the triggers count
	written int       // statements that may have changed something, except for the number of the transaction
	careful int       // transactions that are to have savepoints
}

// write runs a job in a transaction of its own outcome and returns when it is durable.
// Jobs that wait together share one commit. A context that ends before the job has
// started cancels it; later, write waits for the outcome.
func (f *file) write(ctx context.Context, run func(*tx) error) error {
	return f.do(ctx, &job{run: run, done: make(chan error, 1)})
}

// erase is write for what makes room.
func (f *file) erase(ctx context.Context, run func(*tx) error) error {
	return f.do(ctx, &job{run: run, erases: true, done: make(chan error, 1)})
}

func (f *file) do(ctx context.Context, j *job) error {
	select {
	case f.queue <- j:
	case <-ctx.Done():
		return ctx.Err()
	case <-f.closing:
		return errClosed()
	}
	return admission.Outcome(ctx, j.done, func() bool { return j.taken.CompareAndSwap(false, true) })
}

func errClosed() error { return loci.Errorf(loci.Unavailable, "the store is closed") }

// writer is the goroutine that owns the writing connection.
func (f *file) writer() {
	defer close(f.writerDone)
	t := &tx{f: f, conn: f.writeConn, stmts: map[string]*statement{}}
	t.forget()
	for {
		select {
		case j := <-f.queue:
			f.commitApart(t, f.gather(j))
		case <-f.closing:
			for { // what was queued before the end is still done
				select {
				case j := <-f.queue:
					f.commitApart(t, f.gather(j))
				default:
					t.closeStatements() // the connection closes next
					return
				}
			}
		}
	}
}

// commitApart runs large jobs each in a transaction of its own, and the others in one.
func (f *file) commitApart(t *tx, batch []*job) {
	var small []*job
	for _, j := range batch {
		if j.large {
			defer f.commitBatch(t, []*job{j})
		} else {
			small = append(small, j)
		}
	}
	if len(small) > 0 {
		f.commitBatch(t, small)
	}
}

// commitBatch runs jobs and tells their callers. What makes room goes on where the disk
// is full: it alone may use what the ballast gives back, until there is room again.
func (f *file) commitBatch(t *tx, batch []*job) {
	var erasing, others []*job
	for _, j := range batch {
		if j.erases {
			erasing = append(erasing, j)
		} else {
			others = append(others, j)
		}
	}
	merged := f.mergeForRoom() // for what erases, too
	if len(others) > 0 && (!merged || !f.ballast.ready()) {
		f.commitErasing(t, erasing)
		f.commitWithin(t, others)
		return
	}
	outcome, err := f.commit(t, batch)
	if !isFull(err) {
		finish(batch, outcome, err)
		return
	}
	f.ballast.release()
	finish(others, nil, err)
	f.commitErasing(t, erasing)
}

// commitErasing runs jobs that make room.
func (f *file) commitErasing(t *tx, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	outcome, err := f.commit(t, jobs)
	if isFull(err) { // nothing else wrote in between, so there was something to give back
		f.ballast.release()
		outcome, err = f.commit(t, jobs)
	}
	finish(jobs, outcome, err)
}

// commitWithin runs jobs while there is no reserve: in the room that deletes left
// in the file, which must not grow, and the log is cut afterwards.
func (f *file) commitWithin(t *tx, jobs []*job) {
	var pages, unused int64
	err := t.row(
		"SELECT (SELECT page_count FROM pragma_page_count), (SELECT freelist_count FROM pragma_freelist_count)",
		nil,
		&pages,
		&unused,
	)
	if err == nil && (unused == 0 || !f.ballast.spare()) {
		err = f.full(nil)
	}
	if err == nil {
		err = t.limitPages(pages)
	}
	if err != nil {
		finish(jobs, nil, err)
		return
	}
	outcome, err := f.commit(t, jobs)
	if limit := t.limitPages(maxPages); limit != nil {
		f.logError("lift the limit of pages", limit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := f.truncateLog(ctx); err != nil && ctx.Err() == nil {
		f.logError("cut the log", err)
	}
	finish(jobs, outcome, err)
}

// maxPages is SQLite's own limit.
const maxPages = 4294967294

func (t *tx) limitPages(n int64) error {
	_, err := t.conn.ExecContext(context.Background(), fmt.Sprint("PRAGMA max_page_count = ", n))
	return err
}

// commit runs jobs in one transaction. Each of several is inside a savepoint, so that one
// that fails takes back its own work alone. The error is everybody's.
//
// A job alone needs no savepoint, and a large one must do without: inside it SQLite keeps a
// copy of every page that the job changes in a list, and walks through that list at the end
// of most statements, so that the cost would grow with the square of the job. Jobs that only
// add records do without, too.
func (f *file) commit(t *tx, batch []*job) (map[*job]error, error) {
	outcome, err := f.commitOnce(t, batch)
	if errors.Is(err, errCarefully) {
		outcome, err = f.commitOnce(t, batch)
	}
	return outcome, err
}

func (f *file) commitOnce(t *tx, batch []*job) (map[*job]error, error) {
	defer f.restTriggers(false)
	t.seq, t.erased, t.headKnown, t.headMoved = 0, false, false, false
	t.handed, t.unhanded, t.counted = nil, 0, nil
	t.trim()
	err := t.syncing(slices.ContainsFunc(batch, (*job).told))
	if err == nil {
		err = f.begin(t, batch)
	}
	if err == nil {
		f.rows.Begin()
		if err = f.inPlace(); err == nil {
			err = t.look()
		}
		if err != nil {
			_ = t.exec("ROLLBACK") // nothing was written
		}
	}
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(batch, func(a, b *job) int {
		switch {
		case a.first == b.first:
			return 0
		case a.first:
			return -1
		}
		return 1
	})
	f.touched.alone = len(batch) == 1
	outcome, broken := t.runAll(batch, t.together(batch))
	if broken == nil && len(batch) == 1 && outcome[batch[0]] != nil {
		t.forget()
		return outcome, t.exec("ROLLBACK")
	}
	if broken == nil {
		broken = t.end()
	}
	if broken != nil {
		t.forget()
		if err := t.exec("ROLLBACK"); err != nil {
			f.log.Debug("rollback after a failed commit", "file", f.path, "error", err)
		}
		return nil, f.withCause(broken)
	}
	f.mergeSoon()
	f.meter.Commit(len(outcome))
	if t.seq != 0 {
		f.search.handover.add(handedBatch{t.seq, t.handed, t.unhanded == 0})
	}
	if t.erased {
		if slices.ContainsFunc(batch, func(j *job) bool { return !j.more }) {
			f.startScrub() // before anybody is told, so that who waits for the wiping finds it under way
			f.startTidy()
		} else {
			f.scrubLater() // and tidy then: a pass in the middle would be one too many
		}
	}
	return outcome, nil
}

// end writes what a transaction says of itself, and commits it.
func (t *tx) end() error {
	if t.erased {
		if err := t.exec("UPDATE meta SET value = ? WHERE key = 'scrub'", t.seq); err != nil {
			return err
		}
	}
	if err := t.endCounting(); err != nil {
		return err
	}
	if err := t.saveHead(); err != nil {
		return err
	}
	t.f.touched.cutting.Lock()
	defer t.f.touched.cutting.Unlock()
	t.f.rows.Committing()
	err := t.exec("COMMIT")
	if err == nil {
		t.f.touched.committed(t)
	}
	if now, alone := t.f.rows.Committed(); alone && err == nil {
		t.committedIn(now)
	}
	return err
}

// finish tells every caller its outcome; err, when set, is everybody's.
func finish(jobs []*job, outcome map[*job]error, err error) {
	for _, j := range jobs {
		if err != nil {
			j.done <- err
			continue
		}
		j.done <- outcome[j]
	}
}

// syncing says whether the next commit waits until the disk has it. Where it does not, a
// power cut takes whole transactions from the end of the log.
func (t *tx) syncing(wait bool) error {
	if t.lazy == !wait {
		return nil
	}
	level := synchronous
	if !wait {
		level = "NORMAL"
	}
	if _, err := t.conn.ExecContext(context.Background(), "PRAGMA synchronous = "+level); err != nil {
		return err
	}
	t.lazy = !wait
	return nil
}

// begin takes the write lock. It waits in short steps, so that a batch whose
// callers have all gone is given up.
func (f *file) begin(t *tx, batch []*job) error {
	deadline := time.Now().Add(busyTimeout)
	for {
		err := t.exec("BEGIN IMMEDIATE")
		if err == nil || !isBusy(err) || time.Now().After(deadline) || allTaken(batch) {
			return err
		}
	}
}

func allTaken(batch []*job) bool {
	for _, j := range batch {
		if j.begun || !j.taken.Load() {
			return false
		}
	}
	return true
}

// runAll runs the jobs whose callers still wait. together: those that only add come first.
func (t *tx) runAll(batch []*job, together bool) (outcome map[*job]error, broken error) {
	outcome = make(map[*job]error, len(batch))
	for _, j := range batch {
		if !j.begun && !j.taken.CompareAndSwap(false, true) {
			continue // its caller stopped waiting
		}
		j.begun = true
		switch {
		case broken != nil:
		case together && j.adds:
			outcome[j], broken = t.addTogether(j)
		default:
			if broken = t.endCounting(); broken == nil {
				outcome[j], broken = t.runJob(j, len(batch) == 1)
			}
		}
	}
	return outcome, broken
}

// runJob runs one job, in a savepoint unless it is alone in its transaction. err is the
// job's own outcome; broken means that the whole transaction cannot go on.
func (t *tx) runJob(j *job, alone bool) (err, broken error) {
	if alone {
		if err = t.f.withCause(t.run(j)); isFull(err) {
			return nil, err
		}
		return err, nil
	}
	if broken := t.exec("SAVEPOINT job"); broken != nil {
		return nil, broken
	}
	seq, erased, active, names := t.seq, t.erased, t.active, t.names
	head, headKnown, headMoved := t.head, t.headKnown, t.headMoved
	given, unhanded := len(t.handed), t.unhanded
	if err = t.run(j); err == nil {
		return nil, t.exec("RELEASE job")
	}
	if err = t.f.withCause(err); isFull(err) {
		return nil, err // the savepoint may be gone; nothing of the batch is sure
	}
	if broken := t.exec("ROLLBACK TO job"); broken != nil {
		return nil, broken
	}
	t.seq, t.erased, t.active, t.names = seq, erased, active, names
	t.handed, t.unhanded = t.handed[:given], unhanded
	t.head, t.headKnown, t.headMoved = head, headKnown, headMoved
	t.forget() // numbers given out by the job are gone with it
	return err, t.exec("RELEASE job")
}

// run does the work of a job.
func (t *tx) run(j *job) error {
	t.left = map[int64]bool{}
	if err := t.guard(j.run); err != nil {
		return err
	}
	return t.unname()
}

// forget empties what is remembered of the file.
func (t *tx) forget() {
	t.places, t.shards, t.spaces = map[string]place{}, map[shard]bool{}, map[loci.Space]int64{}
}

// look reads the active space, and forgets what is remembered of the file when the
// tenant was erased meanwhile, or the name of a namespace.
func (t *tx) look() error {
	var floor, named int64
	var follower []byte
	const query = `SELECT (SELECT value FROM meta WHERE key = 'erased_floor'), (SELECT value FROM meta WHERE key = 'active_space'),
		(SELECT value FROM meta WHERE key = 'names'), (SELECT value FROM meta WHERE key = 'name_key'),
		(SELECT CAST(value AS BLOB) FROM meta WHERE key = 'follower')`
	if err := t.row(query, nil, &floor, &t.active, &named, (*[]byte)(&t.names), &follower); err != nil {
		return err
	}
	if err := t.f.touched.begun(t, follower); err != nil {
		return err
	}
	if floor != t.floor || named != t.named || len(t.places) > 10_000 {
		t.floor, t.named = floor, named
		t.forget()
	}
	return nil
}

// guard turns a panic into an error, so that one job cannot end the process.
func (t *tx) guard(run func(*tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &loci.Error{Code: loci.Internal, Op: "write", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return run(t)
}

// nextSeq returns the change number of this transaction.
func (t *tx) nextSeq() (int64, error) {
	t.unhanded++
	if t.seq != 0 {
		return t.seq, nil
	}
	defer func(before int) { t.written = before }(t.written) // one that nobody uses does no harm
	err := t.row("UPDATE meta SET value = value + 1 WHERE key = 'seq' RETURNING value", nil, &t.seq)
	return t.seq, err
}
