package postgres

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/internal/patience"
)

const (
	// maxBatch bounds how many writes share a commit; more only lengthens the wait of the first.
	maxBatch = 256

	// doubtTime is for finding out whether a commit was made.
	doubtTime = 8 * time.Second

	// eraseTime is for the erase of a whole tenant.
	eraseTime = 30 * time.Minute
)

// writeTime bounds a write, and how long it waits for the tenant's row.
var writeTime = 20 * time.Second

// A job is one write waiting for its turn. decide looks at what the transaction found and
// adds what is to be written; it changes nothing when it fails. It may run again.
type job struct {
	needs  needs
	decide func(*tx) error
	time   time.Duration // on top of writeTime, for what is large
	done   chan error

	// taken decides between the writer, who starts the job, and its caller, who stops
	// waiting: whoever sets it first.
	taken atomic.Bool
	begun bool // by the writer, who alone looks at it
}

// writer lets the writes of a tenant that wait together share a transaction.
type writer struct {
	mu      sync.Mutex
	waiting []*job
	running bool
}

// write runs a job and returns when it is durable. A context that ends before the job has
// started takes it back; after that the outcome is awaited.
func (s *Store) write(ctx context.Context, t *tenant, j *job) error {
	j.done = make(chan error, 1)
	w := &t.writer
	w.mu.Lock()
	w.waiting = append(w.waiting, j)
	start := !w.running
	w.running = true
	w.mu.Unlock()
	if start {
		s.mu.Lock()
		s.calls++ // Close waits for the writer, too
		t.users++
		s.mu.Unlock()
		go s.runWriter(t)
	}
	return admission.Outcome(ctx, j.done, func() bool { return j.taken.CompareAndSwap(false, true) })
}

// runWriter commits what waits until nothing does.
func (s *Store) runWriter(t *tenant) {
	defer s.leave(t)
	w := &t.writer
	for {
		w.mu.Lock()
		batch := w.waiting[:min(len(w.waiting), maxBatch)]
		w.waiting = w.waiting[len(batch):]
		if len(batch) == 0 {
			w.waiting, w.running = nil, false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		s.commitBatch(t, batch)
	}
}

// commitBatch runs jobs and tells their callers.
func (s *Store) commitBatch(t *tenant, batch []*job) {
	var jobs []*job
	limit := writeTime
	for _, j := range batch {
		if j.taken.CompareAndSwap(false, true) { // else its caller stopped waiting
			jobs, limit = append(jobs, j), limit+j.time
		}
	}
	if len(jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	outcome, err := s.commit(ctx, t, jobs)
	if err != nil && len(jobs) > 1 && !mayPass(err) && ctx.Err() == nil {
		// One of them does what nobody expected: each for itself, so that the others work.
		for _, j := range jobs {
			outcome, err := s.commit(ctx, t, []*job{j})
			finish([]*job{j}, outcome, err)
		}
		return
	}
	finish(jobs, outcome, err)
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

// commit runs jobs in one transaction, again where nothing of it was committed and another
// try may work. The error is everybody's.
func (s *Store) commit(ctx context.Context, t *tenant, jobs []*job) (map[*job]error, error) {
	pause := 5 * time.Millisecond
	for n := 1; ; n++ {
		outcome, err := s.commitOnce(ctx, t, jobs)
		var doubt *doubtError
		if errors.As(err, &doubt) {
			committed, look := s.committed(t, doubt)
			switch {
			case look != nil:
				return nil, &loci.Error{
					Code: loci.Unavailable, Err: errors.Join(err, look),
					Msg:      "the connection was lost during the commit, and whether it was made cannot be seen",
					Recovery: "Look whether it was stored, or try again with an idempotency key.",
				}
			case committed:
				return outcome, nil
			}
			err = doubt.cause // nothing was committed
		}
		if err == nil || n == attempts || ctx.Err() != nil || !mayPass(err) {
			return outcome, err
		}
		if codeOf(err) == codeReadOnly {
			s.pool.Reset() // the primary is another one now
		}
		if patience.Sleep(ctx, pause/2+rand.N(pause)) != nil {
			return nil, err
		}
		pause *= 4
	}
}

// A doubtError says that a commit was asked for and its answer was lost.
type doubtError struct {
	mark  mark
	cause error
}

func (d *doubtError) Error() string { return "the answer to a commit was lost: " + d.cause.Error() }

// A mark is what tells a transaction that was committed: a row it wrote.
type mark struct {
	seq   int64
	id    loci.ID
	event bool // of the log; else of the list of changes
}

// committed looks whether a transaction in doubt was committed, under the tenant's lock: it
// may be running still.
func (s *Store) committed(t *tenant, d *doubtError) (found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), doubtTime) // the write's own may be over
	defer cancel()
	query := "SELECT 1 FROM loci.change WHERE tenant = $1 AND seq = $2 AND id = $3"
	if d.mark.event {
		query = "SELECT 1 FROM loci.event WHERE tenant = $1 AND seq = $2 AND id = $3"
	}
	err = s.again(ctx, func() error {
		found = false
		c, err := s.connect(ctx)
		if err != nil {
			return err
		}
		defer c.release()
		return c.run(
			ctx,
			readWrite,
			behindWall(t.key),
			timeouts(doubtTime),
			stmt{sql: "UPDATE loci.tenant SET seq = seq WHERE tenant = $1", args: []any{t.key}},
			stmt{
				sql:  query,
				args: []any{t.key, d.mark.seq, d.mark.id},
				done: func(n int64) { found = n > 0 },
			},
			rollback,
		)
	})
	return found, err
}

// timeouts is the statement that ends a write which hangs, on the server, too: a client
// that is gone must not hold the tenant's row.
func timeouts(limit time.Duration) stmt {
	ms := func(d time.Duration) name { return name(strconv.FormatInt(d.Milliseconds(), 10)) }
	return stmt{
		sql: `SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
		set_config('idle_in_transaction_session_timeout', $2, true)`, args: []any{ms(limit), ms(min(limit, writeTime))},
	}
}

// lockTenant is the first statement of every write: it orders the writes of a tenant. No
// SELECT FOR UPDATE: a distributed database may move the row to another node after that.
// It is a variable for the test of that, which must notice a build without the lock.
var lockTenant = "UPDATE loci.tenant SET seq = seq + 1 WHERE tenant = $1 RETURNING " + stateColumns

// commitOnce runs jobs in one transaction. A [doubtError] comes with the outcomes that hold
// if it was committed.
func (s *Store) commitOnce(ctx context.Context, t *tenant, jobs []*job) (outcome map[*job]error, err error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	defer c.release()
	x := newTx(s, t, c, ctx)
	defer func() {
		if x.begun && !c.pg.IsClosed() {
			// What did not commit is taken back before the connection is used again.
			_ = c.run(context.WithoutCancel(ctx), rollback) // or the pool closes it
		}
	}()
	var all needs
	for _, j := range jobs {
		all.add(&j.needs)
	}
	if err := x.begin(&all); err != nil {
		return nil, err
	}
	outcome = make(map[*job]error, len(jobs))
	worked := 0
	for _, j := range jobs {
		if outcome[j] = x.guard(j.decide); outcome[j] == nil {
			worked++
		}
		if x.broken != nil {
			return nil, x.broken
		}
	}
	if worked == 0 {
		return outcome, nil // and nothing is written
	}
	return outcome, x.finish()
}

// guard turns a panic into an error, so that one job cannot end the process.
func (x *tx) guard(decide func(*tx) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &loci.Error{Code: loci.Internal, Op: "write", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return decide(x)
}
