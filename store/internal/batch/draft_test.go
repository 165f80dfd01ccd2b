package batch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci/store/internal/meter"
)

// patience bounds what these tests wait for.
const patience = 10 * time.Second

// A board is what jobs of these tests decide on.
type board struct {
	behind  *board
	decided []string
	closed  bool
}

// A fakeStore commits one batch after the other; each waits until the test lets it go.
type fakeStore struct {
	*testing.T
	queue   Queue[*board]
	began   chan *Flight[*board] // gets each batch that is on its way
	end     chan error           // lets it go on
	early   chan struct{}        // if set, lets it open itself to those who follow
	panics  bool                 // when a draft is closed
	refused string               // needs a look
	meter   meter.Meter
}

func newFake(t *testing.T) *fakeStore {
	t.Parallel()
	return &fakeStore{T: t, began: make(chan *Flight[*board], 100), end: make(chan error)}
}

func (s *fakeStore) Follow(before *Draft[*board]) *board {
	b := &board{}
	if before != nil {
		b.behind = before.X
	}
	return b
}

func (s *fakeStore) Join(_ *board, _ *Draft[*board], n *Needs) bool { return n.New }

func (s *fakeStore) Close(b *board) {
	if s.panics && b.behind != nil {
		panic("closed")
	}
	b.closed = true
}

func (s *fakeStore) committer() *Committer[*board] {
	return &Committer[*board]{
		Begin: func() func() { return func() {} },
		Once: func(_ context.Context, jobs []*Job[*board], f *Flight[*board]) (Outcomes[*board], error) {
			if s.early != nil {
				<-s.early
			}
			if f.Draft != nil {
				f.Open()
			}
			s.began <- f
			if err := <-s.end; err != nil {
				return nil, err
			}
			if f.Draft != nil {
				return f.Draft.Outcome, nil
			}
			return Outcomes[*board]{}, nil
		},
		Wait:     func(context.Context, int, error) bool { return false },
		Alone:    func(error) bool { return false },
		Patience: time.Minute,
		Meter:    &s.meter,
		Drafter:  s,
	}
}

// do begins a job and returns how it ends. decided gets a value each time it decides.
func (s *fakeStore) do(ctx context.Context, name string) (done, decided chan error) {
	done, decided = make(chan error, 1), make(chan error, 100)
	j := &Job[*board]{Needs: Needs{New: name != s.refused}, Decide: func(b *board) error {
		b.decided = append(b.decided, name)
		decided <- nil
		if name == "refused" {
			return errors.New("no")
		}
		return nil
	}}
	go func() { done <- s.queue.Do(ctx, j, s.committer) }()
	return done, decided
}

// first has a job on its way, and nothing behind it.
func (s *fakeStore) first() (done chan error, f *Flight[*board]) {
	done, _ = s.do(context.Background(), "first")
	return done, s.next()
}

func (s *fakeStore) next() *Flight[*board] {
	s.Helper()
	return receive(s.T, s.began, "no batch is on its way")
}

// ended requires how a job ends.
func (s *fakeStore) ended(done chan error, want error) {
	s.Helper()
	if err := receive(s.T, done, "a job does not end"); !errors.Is(err, want) && fmt.Sprint(err) != fmt.Sprint(want) {
		s.Errorf("a job ends with %v, not %v", err, want)
	}
}

// until waits for what is about to be so.
func until(t *testing.T, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to that")
		}
	}
}

func receive[T any](t *testing.T, c chan T, missing string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal(missing)
	}
	return v
}

// While a batch is committed those who come decide behind it. When it is committed their batch is sent as
// it is, and nobody decides twice.
func TestNextBatchIsDecidedMeanwhile(t *testing.T) {
	s := newFake(t)
	first, flight := s.first()
	var done []chan error
	var decided []chan error
	for _, name := range []string{"second", "refused", "third"} {
		d, x := s.do(t.Context(), name)
		receive(t, x, "a job waits for its turn to decide")
		done, decided = append(done, d), append(decided, x)
	}
	before := flight.Draft.X
	s.end <- nil
	s.ended(first, nil)
	f := s.next()
	if f.Draft == nil || f.Draft.X.behind != before || !f.Draft.X.closed ||
		!slices.Equal(f.Draft.X.decided, []string{"second", "refused", "third"}) {
		t.Errorf("behind the first batch %+v is sent", f.Draft)
	}
	s.end <- nil
	for i, want := range []error{nil, errors.New("no"), nil} {
		s.ended(done[i], want)
		if len(decided[i]) > 0 {
			t.Errorf("job %d decided twice", i)
		}
	}
}

// Those who came before a batch could be followed decide behind it, too, though nobody comes after them.
func TestWhoCameBeforeIsDecidedMeanwhile(t *testing.T) {
	s := newFake(t)
	s.early = make(chan struct{})
	first, _ := s.do(t.Context(), "first")
	until(t, func() bool { return s.waiting() == 0 && s.running() })
	second, decided := s.do(t.Context(), "second")
	until(t, func() bool { return s.waiting() > 0 })
	close(s.early)
	receive(t, decided, "it waits for its turn to decide")
	close(s.end)
	s.ended(first, nil)
	s.ended(second, nil)
}

// Nothing is sent that was decided behind a batch which failed, or which is committed in another way.
func TestNothingFollowsABatchThatFailed(t *testing.T) {
	for name, fail := range map[string]func(s *fakeStore, f *Flight[*board]) error{
		"an error":    func(*fakeStore, *Flight[*board]) error { return errors.New("lost") },
		"another way": func(_ *fakeStore, f *Flight[*board]) error { f.Shut(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newFake(t)
			first, flight := s.first()
			done, decided := s.do(t.Context(), "second")
			receive(t, decided, "it waits for its turn to decide")
			want := fail(s, flight)
			s.end <- want
			s.ended(first, want)
			if f := s.next(); f.Draft == nil || f.Draft.X.behind != nil {
				t.Errorf("it is sent as it was decided behind what was not committed: %+v", f.Draft)
			}
			s.end <- nil
			s.ended(done, nil)
			if len(decided) != 1 {
				t.Error("it does not decide again")
			}
		})
	}
}

// A caller may stop waiting for a job that has decided and is not on its way. Then the others decide again.
func TestCallersLeaveWhatIsDecided(t *testing.T) {
	s := newFake(t)
	first, _ := s.first()
	ctx, cancel := context.WithCancel(t.Context())
	left, decided := s.do(ctx, "left")
	receive(t, decided, "it waits for its turn to decide")
	stays, decided := s.do(t.Context(), "stays")
	receive(t, decided, "it waits for its turn to decide")
	cancel()
	s.ended(left, context.Canceled)
	s.end <- nil
	s.ended(first, nil)
	if f := s.next(); f.Draft == nil || !slices.Equal(f.Draft.X.decided, []string{"stays"}) {
		t.Errorf("sent is %+v", f.Draft)
	}
	s.end <- nil
	s.ended(stays, nil)

	ctx, cancel = context.WithCancel(t.Context())
	away, _ := s.do(ctx, "on its way")
	s.next()
	cancel()
	s.end <- nil
	s.ended(away, nil) // what is on its way is awaited
}

// Where one job needs a look at the database, all that share its transaction are decided by that.
func TestOneThatNeedsALookTakesAllWithIt(t *testing.T) {
	s := newFake(t)
	s.refused = "an erase"
	first, _ := s.first()
	second, decided := s.do(t.Context(), "second")
	receive(t, decided, "it waits for its turn to decide")
	erase, _ := s.do(t.Context(), "an erase")
	until(t, func() bool { return !s.drafting() })
	third, decided := s.do(t.Context(), "third")
	until(t, func() bool { return s.waiting() == 3 })
	if len(decided) > 0 {
		t.Error("the third job has decided behind a batch that needs a look")
	}
	s.end <- nil
	s.ended(first, nil)
	if f := s.next(); f.Draft != nil {
		t.Errorf("%+v is sent without a look", f.Draft)
	}
	s.end <- nil
	for _, done := range []chan error{second, erase, third} {
		s.ended(done, nil)
	}
}

func (s *fakeStore) drafting() bool {
	s.queue.desk.Lock()
	defer s.queue.desk.Unlock()
	return s.queue.draft != nil
}

// A panic while a batch is decided ahead is the caller's; the queue goes on without what was decided.
func TestPanicsWhileDeciding(t *testing.T) {
	s := newFake(t)
	first, _ := s.first()
	s.queue.desk.Lock()
	s.queue.crowd = 1 << 10 // so that no draft is full before the test has looked
	s.queue.desk.Unlock()
	done, decided := s.do(t.Context(), "second")
	receive(t, decided, "it waits for its turn to decide")
	func() {
		s.queue.desk.Lock()
		defer s.queue.desk.Unlock()
		s.panics = true
		s.queue.crowd = crowded
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		var more []*Job[*board]
		for range crowded {
			more = append(more, &Job[*board]{Needs: Needs{New: true}, Decide: func(*board) error { return nil }})
		}
		s.queue.take(s, s.queue.before, more)
	}()
	if s.drafting() {
		t.Error("what was not closed is left to be sent")
	}
	s.end <- nil
	s.ended(first, nil)
	s.next()
	s.end <- nil
	s.ended(done, nil)
}

// Where many write, half of them are decided while the other half is committed. Few are not divided.
func TestManyWritersAreDividedInTwo(t *testing.T) {
	for writers, want := range map[int]int{4: 3, 14: 13, 15: 8, 16: 8, 40: 16, 64: 32, 300: 128} {
		t.Run(fmt.Sprint(writers), func(t *testing.T) {
			s := newFake(t)
			first, _ := s.first() // of one
			var group sync.WaitGroup
			crowd := func(n int) {
				for range n {
					done, _ := s.do(t.Context(), "some")
					group.Go(func() { <-done })
				}
				until(t, func() bool { return s.waiting() >= n })
			}
			crowd(writers) // behind the first: nobody knew of them
			s.end <- nil
			s.ended(first, nil)
			all := s.next()
			if n := min(writers, maxBatch); len(all.Draft.jobs) != n {
				t.Errorf("the first batch has %d jobs, not %d", len(all.Draft.jobs), n)
			}
			crowd(writers - 1) // as who got an answer comes again
			s.end <- nil
			if f := s.next(); f.Draft == nil || len(f.Draft.jobs) != want {
				t.Errorf("behind a batch of %d there is one of %d, not %d", writers, len(f.Draft.jobs), want)
			}
			close(s.end)
			group.Wait()
		})
	}
}

func (s *fakeStore) running() bool {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.running
}

func (s *fakeStore) waiting() int {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return len(s.queue.waiting)
}
