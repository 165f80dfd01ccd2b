package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/store/internal/meter"
)

// maxBatch bounds how many writes share a commit; more only lengthens the wait of the first.
const maxBatch = 256

// A Job is one write waiting for its turn. Decide looks at what the transaction found and
// adds what is to be written; it changes nothing when it fails. It may run again.
type Job[T any] struct {
	Needs  Needs
	Decide func(T) error
	Time   time.Duration // on top of what every write may take, for what is large

	done chan error

	// taken decides between the writer, who starts the job, and its caller, who stops
	// waiting: whoever sets it first.
	taken atomic.Bool
}

// A Queue lets the writes of a tenant that wait together share a transaction.
type Queue[T any] struct {
	// desk is held by who decides jobs before it is their turn, or takes some out of the queue; first
	// this lock, then mu.
	desk  sync.Mutex
	draft *Draft[T] // of the first jobs that wait; nil: none is decided
	last  int       // jobs of the last batch
	crowd int       // how many write at the same time, about

	drafter Drafter[T] // of the draft

	mu      sync.Mutex
	waiting []*Job[T]
	running bool
	before  *Draft[T] // the batch that the draft is decided behind; nil: none is to be
}

// A Committer runs jobs in transactions.
type Committer[T any] struct {
	// Begin is called before a writer of its own is started; what it returns, when it ended.
	Begin func() (end func())

	// Once runs jobs in one transaction. A [DoubtError] comes with the outcomes that hold if
	// it was committed; any other error is everybody's, and nothing was committed.
	Once func(ctx context.Context, jobs []*Job[T], f *Flight[T]) (Outcomes[T], error)

	// Drafter, if set, decides jobs without a look at the database: then [Flight.Draft] is theirs,
	// unless that cannot be.
	Drafter Drafter[T]

	// Committed looks whether a transaction in doubt was committed.
	Committed func(*DoubtError) (bool, error)

	// Wait waits before the try after the nth, and reports whether there is to be one.
	Wait func(ctx context.Context, n int, err error) bool

	// Alone reports whether jobs that failed together may work each for itself.
	Alone func(err error) bool

	Patience time.Duration // bounds a write

	Meter *meter.Meter // counts commits
}

// Outcomes are those of jobs, each its own.
type Outcomes[T any] map[*Job[T]]error

// Do runs a job and returns when it is durable. A context that ends before the job has
// started takes it back; after that the outcome is awaited. Only who begins to write needs the committer.
func (q *Queue[T]) Do(ctx context.Context, j *Job[T], committer func() *Committer[T]) error {
	j.done = make(chan error, 1)
	q.mu.Lock()
	q.waiting = append(q.waiting, j)
	start, follows := !q.running, q.before != nil
	q.running = true
	q.mu.Unlock()
	if follows {
		q.ahead()
	}
	if start {
		c := committer()
		end := c.Begin()
		go func() {
			defer end()
			q.run(c)
		}()
	}
	return admission.Outcome(ctx, j.done, func() bool { return q.leave(j) })
}

// run commits what waits until nothing does.
func (q *Queue[T]) run(c *Committer[T]) {
	for {
		jobs, draft := q.claim(c.Drafter)
		if len(jobs) == 0 {
			return
		}
		c.commit(jobs, &Flight[T]{Draft: draft, queue: q, drafter: c.Drafter})
	}
}

// Together runs jobs in one transaction and returns the outcome of each.
func (c *Committer[T]) Together(jobs ...*Job[T]) []error {
	for _, j := range jobs {
		j.done = make(chan error, 1)
	}
	c.commit(jobs, &Flight[T]{})
	outcomes := make([]error, len(jobs))
	for i, j := range jobs {
		outcomes[i] = <-j.done
	}
	return outcomes
}

// commit runs jobs and tells their callers.
func (c *Committer[T]) commit(jobs []*Job[T], f *Flight[T]) {
	limit := c.Patience
	for _, j := range jobs {
		limit += j.Time
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	outcome, err := c.tries(ctx, jobs, f)
	if err == nil {
		c.Meter.Commit(len(jobs))
	}
	if err != nil && len(jobs) > 1 && c.Alone(err) && ctx.Err() == nil {
		// One of them does what nobody expected: each for itself, so that the others work.
		for _, j := range jobs {
			outcome, err := c.tries(ctx, []*Job[T]{j}, &Flight[T]{})
			tell([]*Job[T]{j}, outcome, err)
		}
		return
	}
	tell(jobs, outcome, err)
}

// tell tells every caller its outcome; err, when set, is everybody's.
func tell[T any](jobs []*Job[T], outcome Outcomes[T], err error) {
	for _, j := range jobs {
		if err != nil {
			j.done <- err
			continue
		}
		j.done <- outcome[j]
	}
}

// tries runs jobs in one transaction, again where nothing of it was committed and another
// try may work. The error is everybody's.
func (c *Committer[T]) tries(ctx context.Context, jobs []*Job[T], f *Flight[T]) (Outcomes[T], error) {
	for n := 1; ; n++ {
		if f.Draft == nil {
			f.Draft = guess(c.Drafter, jobs)
		}
		outcome, err := c.Once(ctx, jobs, f)
		if err != nil {
			f.Shut() // nothing may follow what may not have been committed
			f.Draft = nil
		}
		var doubt *DoubtError
		if errors.As(err, &doubt) {
			committed, look := c.Committed(doubt)
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
			err = doubt.Cause // nothing was committed
		}
		if err == nil || ctx.Err() != nil || !c.Wait(ctx, n, err) {
			return outcome, err
		}
	}
}

// A DoubtError says that a commit was asked for and its answer was lost.
type DoubtError struct {
	Mark  Mark
	Cause error
}

func (d *DoubtError) Error() string { return "the answer to a commit was lost: " + d.Cause.Error() }

// Decide lets jobs decide one after the other; worked: there is something to write. broken,
// asked after each, ends it.
func Decide[T any](jobs []*Job[T], x T, broken func() error) (outcome Outcomes[T], worked bool, err error) {
	outcome = make(Outcomes[T], len(jobs))
	for _, j := range jobs {
		if outcome[j] = guard(j.Decide, x); outcome[j] == nil {
			worked = true
		}
		if err := broken(); err != nil {
			return nil, false, err
		}
	}
	return outcome, worked, nil
}

// NeedsOfAll is what all jobs need.
func NeedsOfAll[T any](jobs []*Job[T]) (all Needs) {
	all.New, all.Whole = true, true
	for _, j := range jobs {
		all.Add(&j.Needs)
	}
	return all
}

// guard turns a panic into an error, so that one job cannot end the process.
func guard[T any](decide func(T) error, x T) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &loci.Error{Code: loci.Internal, Op: "write", Err: fmt.Errorf("panic: %v\n%s", p, debug.Stack())}
		}
	}()
	return decide(x)
}
