package postgres

import (
	"context"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/loci-memory/loci/internal/patience"
	"github.com/loci-memory/loci/store/internal/batch"
)

const (
	// doubtTime is for finding out whether a commit was made.
	doubtTime = 8 * time.Second

	// eraseTime is for the erase of a whole tenant.
	eraseTime = 30 * time.Minute
)

// writeTime bounds a write, and how long it waits for the tenant's row.
var writeTime = 20 * time.Second

// A job is one write waiting for its turn.
type job = batch.Job[*tx]

// A flight is some jobs on their way to the database.
type flight = batch.Flight[*tx]

// write runs a job and returns when it is durable. A context that ends before the job has
// started takes it back; after that the outcome is awaited.
func (s *Store) write(ctx context.Context, g *guest, j *job) error {
	return g.Of.queue.Do(ctx, j, func() *batch.Committer[*tx] { return s.committer(g) })
}

func (s *Store) committer(g *guest) *batch.Committer[*tx] {
	c := &batch.Committer[*tx]{
		Meter: &s.meter,
		Begin: func() (end func()) {
			s.lobby.Stay(g) // Close waits for the writer, too
			return func() { s.lobby.Leave(g) }
		},
		Once: func(ctx context.Context, jobs []*job, f *flight) (batch.Outcomes[*tx], error) {
			return s.commitOnce(ctx, g.Of, jobs, f)
		},
		Committed: func(d *batch.DoubtError) (bool, error) { return s.committed(g.Of, d) },
		Wait: func(ctx context.Context, n int, err error) bool {
			if n == attempts || !mayPass(err) {
				return false
			}
			if codeOf(err) == codeReadOnly {
				s.nodes.reset() // the primary is another one now
			}
			pause := firstPause << (2 * (n - 1))
			return patience.Sleep(ctx, pause/2+rand.N(pause)) == nil
		},
		Alone:    func(err error) bool { return !mayPass(err) },
		Patience: writeTime,
	}
	if guessing {
		c.Drafter = drafter{s, g.Of}
	}
	return c
}

// undoubt takes the tenant's lock and leaves the row different from what a guess expects. A guess takes
// the lock only when it writes, so one in doubt may be on its way to the database still: it must not be
// committed after it was looked for. What the tenant holds is measured again when a quota asks for it.
const undoubt = "UPDATE loci.tenant SET held_seq = held_seq - 1 WHERE tenant = $1"

// committed looks whether a transaction in doubt was committed, under the tenant's lock: it
// may be running still. If it was not, it never will be.
func (s *Store) committed(t *tenant, d *batch.DoubtError) (found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), doubtTime) // the write's own may be over
	defer cancel()
	query := "SELECT 1 FROM loci.change WHERE tenant = $1 AND seq = $2 AND id = $3"
	if d.Mark.Event {
		query = "SELECT 1 FROM loci.event WHERE tenant = $1 AND seq = $2 AND id = $3"
	}
	err = s.again(ctx, func() error {
		found = false
		c, err := s.connect(ctx, t.key)
		if err != nil {
			return err
		}
		defer c.release()
		return c.run(
			ctx,
			readWrite,
			behindWall(t.key),
			timeouts(doubtTime),
			stmt{sql: undoubt, args: []any{t.key}},
			stmt{
				sql:  query,
				args: []any{t.key, d.Mark.Seq, d.Mark.ID},
				done: func(n int64) { found = n > 0 },
			},
			commit,
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

// commitOnce runs jobs in one transaction. A [batch.DoubtError] comes with the outcomes that hold
// if it was committed.
func (s *Store) commitOnce(
	ctx context.Context, t *tenant, jobs []*job, f *flight,
) (_ batch.Outcomes[*tx], err error) {
	c, err := s.connect(ctx, t.key)
	if err != nil {
		return nil, err
	}
	defer c.release()
	x := newTx(s, t).on(ctx, c)
	defer func() {
		if x.begun && !c.pg.IsClosed() {
			// What did not commit is taken back before the connection is used again.
			_ = c.run(context.WithoutCancel(ctx), rollback) // or the pool closes it
		}
	}()
	needs := batch.NeedsOfAll(jobs)
	if f.Draft != nil {
		x = f.Draft.X.on(ctx, c)
		if done, err := x.guess(&needs, f); done {
			return f.Draft.Outcome, err
		}
		x = x.again()
	}
	if err := x.begin(&needs); err != nil {
		return nil, err
	}
	outcome, worked, err := batch.Decide(jobs, x, func() error { return x.broken })
	if err != nil || !worked {
		return outcome, err // and nothing is written
	}
	return outcome, x.settle(&needs, x.finish())
}

// settle takes in how the transaction ended, before the callers hear of it.
func (x *tx) settle(n *batch.Needs, err error) error {
	// Behind the handover, so that the next search finds that.
	defer func() { x.t.search.Wrote(x.State.Seq) }()
	if x.erased { // also when the answer to the commit is lost
		x.s.shelf.Tidy(x.t.name)
	}
	if err != nil {
		x.t.known.Forget()
		return err
	}
	x.t.known.Learn(&x.Batch, n)
	x.hand(n)
	return nil
}

// hand hands what was committed to the index of the process, if that can follow without a look at the
// database.
func (x *tx) hand(n *batch.Needs) {
	if !x.Mark.Event {
		return
	}
	if line, follows := x.t.names.Follow(&x.Found, &x.State); follows {
		if c := x.Handed(n, line); c != nil && x.t.search.Hand(c) {
			x.s.takeMuch(x.t)
		}
	}
}
