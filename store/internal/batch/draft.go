package batch

import "math/bits"

// While a batch is on its way to the database the next one is decided: by the callers whose jobs it is
// made of, as a guess from the state that the first one is to leave. When that is committed, the next
// one has only to be sent. So the process and the database work at the same time.

// crowded is from how many writers on a draft leaves half of them to the batch behind it. Fewer write
// less in two commits than in one.
const crowded = 16

// A Draft is a batch that was decided without a look at the database.
type Draft[T any] struct {
	X       T
	Outcome Outcomes[T]

	jobs   []*Job[T]
	closed bool // no job joins it any more
}

// A Drafter decides jobs from what the process expects the database to hold. Its methods are called by
// one goroutine at a time.
type Drafter[T any] interface {
	// Follow begins a draft behind one that is being committed, nil for behind the last commit.
	Follow(before *Draft[T]) T

	// Join makes sure that a draft knows what a job needs; false: that takes a look at the database.
	Join(x T, before *Draft[T], n *Needs) bool

	// Close makes a draft ready to be sent. It changes no more.
	Close(x T)
}

// guess decides jobs behind the last commit; nil: that takes a look at the database.
func guess[T any](d Drafter[T], jobs []*Job[T]) *Draft[T] {
	if d == nil {
		return nil
	}
	draft := newDraft(d, nil)
	if !draft.join(d, nil, jobs) {
		return nil
	}
	draft.close(d)
	return draft
}

func newDraft[T any](d Drafter[T], before *Draft[T]) *Draft[T] {
	return &Draft[T]{X: d.Follow(before), Outcome: Outcomes[T]{}}
}

// join decides jobs; false: not all of them could be.
func (f *Draft[T]) join(d Drafter[T], before *Draft[T], jobs []*Job[T]) bool {
	for _, j := range jobs {
		if !d.Join(f.X, before, &j.Needs) {
			return false
		}
		f.Outcome[j] = guard(j.Decide, f.X)
		f.jobs = append(f.jobs, j)
	}
	return true
}

func (f *Draft[T]) close(d Drafter[T]) {
	if !f.closed {
		d.Close(f.X)
		f.closed = true
	}
}

// A Flight is a batch on its way to the database.
type Flight[T any] struct {
	Draft *Draft[T] // nil: its jobs are to be decided by what the database holds

	queue   *Queue[T] // in which the next batch waits; nil: nobody follows
	drafter Drafter[T]
}

// Open lets the next batch be decided behind the draft, which is going to be sent as it is.
func (f *Flight[T]) Open() {
	if q := f.queue; q != nil {
		q.desk.Lock()
		q.drafter = f.drafter
		some := q.follow(f.Draft)
		q.desk.Unlock()
		if some { // who came before has nobody else to begin
			go q.ahead()
		}
	}
}

// Shut takes back what Open said: the draft is not what is committed.
func (f *Flight[T]) Shut() {
	if q := f.queue; q != nil {
		q.desk.Lock()
		q.drop()
		q.desk.Unlock()
	}
}

// follow says behind which batch the next one is decided; nil: none is. some: there are jobs for it.
// It needs the desk.
func (q *Queue[T]) follow(before *Draft[T]) (some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.before = before
	return len(q.waiting) > 0
}

// drop forgets the draft. None is begun until there is another batch to follow. It needs the desk.
func (q *Queue[T]) drop() {
	q.draft = nil
	q.follow(nil)
}

// share is how many jobs are decided ahead. Where many write, about half of them are decided while the
// others are committed; else all of them would wait for the same answer, and the database for them.
// It is a power of two, since stores insert so many rows at once, and so a third to two thirds of them. It
// needs the desk.
func (q *Queue[T]) share() int {
	if q.crowd < crowded {
		return maxBatch
	}
	return min(1<<(bits.Len(uint(q.crowd*2/3))-1), maxBatch)
}

// undecided are the jobs that are to be decided next, and the batch that they follow; nil: none. It
// needs the desk.
func (q *Queue[T]) undecided() (jobs []*Job[T], before *Draft[T]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	done := 0
	if q.draft != nil {
		done = len(q.draft.jobs)
	}
	if q.before == nil || q.draft != nil && q.draft.closed {
		return nil, nil
	}
	return q.waiting[done:max(done, min(len(q.waiting), q.share()))], q.before
}

// ahead decides what waits, unless somebody is about to, who then does it.
func (q *Queue[T]) ahead() {
	for q.desk.TryLock() {
		if !q.extend() {
			return
		}
		// And look again: who came meanwhile went away, as the desk was taken.
	}
}

// extend takes into the draft what waits and leaves the desk; false: there was nothing.
func (q *Queue[T]) extend() bool {
	defer q.desk.Unlock()
	jobs, before := q.undecided()
	if len(jobs) == 0 {
		return false
	}
	q.take(q.drafter, before, jobs)
	return true
}

// take takes jobs into the draft. It needs the desk.
func (q *Queue[T]) take(d Drafter[T], before *Draft[T], jobs []*Job[T]) {
	whole := false
	defer func() {
		if !whole { // one needs a look, and what shares a transaction goes one way; or a panic
			q.drop()
		}
	}()
	if q.draft == nil {
		q.draft = newDraft(d, before)
	}
	if !q.draft.join(d, before, jobs) {
		return
	}
	if len(q.draft.jobs) >= q.share() {
		q.draft.close(d)
	}
	whole = true
}

// leave takes back a job that is not begun, for its caller; false: it is.
func (q *Queue[T]) leave(j *Job[T]) bool {
	q.desk.Lock() // nobody decides about what is the caller's again
	defer q.desk.Unlock()
	if !j.taken.CompareAndSwap(false, true) {
		return false
	}
	if q.draft != nil {
		if _, decided := q.draft.Outcome[j]; decided {
			q.drop()
		}
	}
	return true
}

// claim takes out of the queue the jobs whose turn it is, with their draft if they are decided. No
// jobs: none wait, and the queue's writer is to end.
func (q *Queue[T]) claim(d Drafter[T]) (jobs []*Job[T], draft *Draft[T]) {
	q.desk.Lock()
	defer q.desk.Unlock()
	if more, before := q.undecided(); q.draft != nil && len(more) > 0 {
		q.take(d, before, more)
	}
	if draft = q.draft; draft != nil {
		draft.close(d)
	}
	q.drop()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.crowd = q.last + len(q.waiting) // who got an answer is likely to come again
	for len(q.waiting) > 0 && len(jobs) == 0 {
		batch := q.waiting[:min(len(q.waiting), maxBatch)]
		if draft != nil {
			batch = draft.jobs
		}
		q.waiting = q.waiting[len(batch):]
		for _, j := range batch {
			if j.taken.CompareAndSwap(false, true) { // else its caller stopped waiting
				jobs = append(jobs, j)
			}
		}
	}
	if q.last = len(jobs); len(jobs) == 0 {
		q.waiting, q.running = nil, false
	}
	return jobs, draft
}
