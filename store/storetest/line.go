package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

const (
	// longestCall is what any call may take, whatever happens to the line.
	longestCall = 30 * time.Second

	// longestRecovery is what the first call may take when the line is whole again.
	longestRecovery = 5 * time.Second
)

// Before is the moment of a fault that is there when the call begins.
const Before time.Duration = -1

// A Line is a store that reaches its database over something that can be broken. Nobody else
// uses the database.
type Line struct {
	Store    loci.Store // over the line
	Straight loci.Store // past it
	Break    func()     // from now on
	Mend     func()
}

// A Fault is a way in which lines break.
type Fault struct {
	Name    string
	Open    func(t *testing.T) Line
	Moments []time.Duration // after a call began, or [Before]; each call is made once for each
	InTurn  bool            // each call is made at one of the moments alone
	Lanes   int             // so many lines share the calls, where each call takes long
	Lasts   time.Duration   // it is over by itself then; 0: not before the call has ended
	Passes  bool            // every call works: all comes through in the end, or can be done again
}

// RunLines makes every call of a store while the line to its database breaks, and requires of each
// that it ends in time, that its answer is right or an error, and that the database then holds
// what it answered: what was acknowledged once, what was refused not at all, and what is in doubt
// once or not at all. The next call, over a line that is whole again, works at once.
func RunLines(t *testing.T, reference func() loci.Store, faults []Fault) {
	everyMethod(t)
	for _, f := range faults {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			var seen tally
			lanes := max(f.Lanes, 1)
			t.Run("lanes", func(t *testing.T) {
				for n := range lanes {
					t.Run(fmt.Sprint(n), func(t *testing.T) {
						t.Parallel()
						l := &lane{Line: f.Open(t), fault: f, reference: reference, seen: &seen}
						l.run(t, n, lanes)
					})
				}
			})
			t.Log(&seen)
		})
	}
}

// everyMethod fails the test if no call is one of some method of a store.
func everyMethod(t *testing.T) {
	t.Helper()
	for method := range reflect.TypeFor[loci.Store]().Methods() {
		name := method.Name
		if !slices.ContainsFunc(lineCalls, func(c lineCall) bool { return c.method() == name }) && name != "Close" {
			t.Errorf("nobody calls %s of a store", name)
		}
	}
}

// A tally counts how calls ended.
type tally struct {
	sync.Mutex
	worked, refused, doubted, before int // before: the fault came too late for it
	longest, recovery                time.Duration
	of                               string // the longest call
}

func (n *tally) String() string {
	calls := fmt.Sprintf("%d calls worked, %d were refused, %d are in doubt; %d ended before the fault",
		n.worked, n.refused, n.doubted, n.before)
	return fmt.Sprintf("%s; the longest took %v (%s), the first one afterwards %v",
		calls, n.longest.Round(time.Millisecond), n.of, n.recovery.Round(time.Millisecond))
}

// A lane is a line with the calls that are made over it, one after the other.
type lane struct {
	Line
	fault     Fault
	reference func() loci.Store
	seen      *tally
}

func (l *lane) run(t *testing.T, lane, lanes int) {
	n := 0
	for i := range lineCalls {
		for j, moment := range l.fault.Moments {
			if l.fault.InTurn && i%len(l.fault.Moments) != j {
				continue
			}
			if n++; n%lanes != lane {
				continue
			}
			when := "before"
			if moment != Before {
				when = moment.String()
			}
			t.Run(lineCalls[i].name+" "+when, func(t *testing.T) { l.call(t, &lineCalls[i], moment, n) })
		}
	}
	// Close waits for nobody whom the line keeps from ending.
	l.Break()
	began := time.Now()
	if err := l.Store.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if took := time.Since(began); took > longestCall {
		t.Errorf("Close took %v", took)
	}
	l.Mend()
}

// call makes one call while the line breaks.
func (l *lane) call(t *testing.T, c *lineCall, moment time.Duration, n int) {
	tn := tenant(t, fmt.Sprint(t.Name(), " ", n))
	without, with := l.reference(), l.reference()
	through := l.Straight
	if n%2 == 0 {
		through = l.Store // which then knows the tenant
	}
	b := &bench{T: t, store: alike{through, []loci.Store{without, with}}, tenant: tn}
	c.stock(b)
	do := c.make()
	var e ending
	ctx := context.WithoutCancel(t.Context())
	e.want, e.wanted = do(ctx, with, tn)
	l.strike(&e, moment, func() (any, error) { return do(ctx, l.Store, tn) })
	if e.took > longestCall {
		t.Errorf("took %v", e.took)
	}
	l.recover(t, tn, &e, without, with)
	l.note(c, &e)
	if codeOf(e.wanted) != codeOf(e.err) && (codeOf(e.err) != loci.Unavailable || l.fault.Passes) {
		t.Errorf("got %v (cause: %v); want %v", e.err, errors.Unwrap(e.err), e.wanted)
	}
	if diff := difference(e.want, e.answer); e.err == nil && diff != "" {
		t.Errorf("the answer is wrong (-want +got):\n%s", diff)
	}
	got := c.state(t, l.Straight, tn)
	e.check(t, difference(c.state(t, with, tn), got), difference(c.state(t, without, tn), got))
	l.sound(t, tn)
	for _, s := range []loci.Store{without, with} {
		b.must("Close", s.Close())
	}
}

// An ending is how a call ended.
type ending struct {
	want, answer   any
	wanted, err    error
	took, recovery time.Duration
	early          bool // before the fault
}

// doubt reports whether nobody knows if the call was made.
func (e *ending) doubt() bool {
	return e.err != nil && strings.Contains(e.err.Error(), "whether it was made cannot be seen")
}

// check requires that the database holds what the call answered: made and not say how it differs
// from one where the call was made, and was not.
func (e *ending) check(t *testing.T, made, not string) {
	t.Helper()
	switch {
	case made == "" && (e.err == nil || e.doubt() || codeOf(e.wanted) == codeOf(e.err)):
	case not == "" && e.err != nil:
	case not == "":
		t.Errorf("it was acknowledged and was not made")
	case made == "":
		t.Errorf("it was refused and was made: %v (cause: %v)", e.err, errors.Unwrap(e.err))
	default:
		t.Errorf("after %v the database holds something else (-want +got):\n%s", e.err, made)
	}
}

// strike makes a call, and breaks the line at a moment of it.
func (l *lane) strike(e *ending, moment time.Duration, do func() (any, error)) {
	broken, ended := make(chan struct{}), make(chan struct{})
	strike := func() {
		defer close(broken)
		l.Break()
		if l.fault.Lasts > 0 {
			time.Sleep(l.fault.Lasts)
			l.Mend()
		}
	}
	if moment == Before {
		strike()
	} else {
		time.AfterFunc(moment, strike)
	}
	go func() {
		defer close(ended)
		began := time.Now()
		e.answer, e.err = do()
		e.took = time.Since(began)
	}()
	select {
	case <-ended:
	case <-time.After(longestCall): // what it waits for ends with the fault
	}
	select {
	case <-broken:
	default:
		e.early = true
		<-broken
	}
	if l.fault.Lasts == 0 {
		l.Mend()
	}
	<-ended
}

// recover makes the next write of the tenant, which waits for one that is under way still.
func (l *lane) recover(t *testing.T, tn loci.Tenant, e *ending, references ...loci.Store) {
	t.Helper()
	ctx, after := context.WithoutCancel(t.Context()), creation(record(99, "afterwards"))
	mended := time.Now()
	if err := l.Store.Apply(ctx, tn, after); err != nil {
		t.Errorf("a write when the line is whole again: %v (cause: %v)", err, errors.Unwrap(err))
	}
	e.recovery = time.Since(mended)
	if plain := l.plain(t, tn); e.recovery > longestRecovery+10*plain {
		t.Errorf("the first write when the line is whole again took %v; one past the line takes %v", e.recovery, plain)
	}
	for _, s := range references {
		if err := s.Apply(ctx, tn, after); err != nil {
			t.Fatal(err)
		}
	}
}

// sound requires that nothing of a tenant is damaged, and that its log accuses nobody.
func (l *lane) sound(t *testing.T, tn loci.Tenant) {
	t.Helper()
	if found, err := l.Straight.Check(t.Context(), tn); err != nil || len(found) > 0 {
		t.Errorf("damage: %v, %v", found, err)
	}
	e, err := loci.New(l.Straight, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := e.VerifyEvents(t.Context(), tn, loci.Hash{}); err != nil || len(report.Problems) > 0 {
		t.Errorf("the log: %+v, %v", report, err)
	}
}

// plain is what a write takes past the line, as on a busy machine everything takes long.
func (l *lane) plain(t *testing.T, tn loci.Tenant) time.Duration {
	t.Helper()
	began := time.Now()
	if err := l.Straight.Touch(t.Context(), tn, []loci.Touch{{ID: id(98), At: at(1)}}); err != nil {
		t.Error(err)
	}
	return time.Since(began)
}

func (l *lane) note(c *lineCall, e *ending) {
	n := l.seen
	n.Lock()
	defer n.Unlock()
	switch {
	case e.doubt():
		n.doubted++
	case codeOf(e.err) == loci.Unavailable:
		n.refused++
	default:
		n.worked++
	}
	if e.early {
		n.before++
	}
	if e.took > n.longest {
		n.longest, n.of = e.took, c.name
	}
	n.recovery = max(n.recovery, e.recovery)
}

// alike is a store, and others that are given the same.
type alike struct {
	loci.Store
	others []loci.Store
}

func (a alike) each(do func(s loci.Store) error) error {
	err := do(a.Store)
	for _, s := range a.others {
		err = errors.Join(err, do(s))
	}
	return err
}

// Apply implements [loci.RecordChanger].
func (a alike) Apply(ctx context.Context, t loci.Tenant, c loci.Change) error {
	return a.each(func(s loci.Store) error { return s.Apply(ctx, t, c) })
}

// Touch implements [loci.RecordChanger].
func (a alike) Touch(ctx context.Context, t loci.Tenant, touches []loci.Touch) error {
	return a.each(func(s loci.Store) error { return s.Touch(ctx, t, touches) })
}

// PutVectors implements [loci.VectorStore].
func (a alike) PutVectors(ctx context.Context, t loci.Tenant, vectors []loci.RecordVectors) error {
	return a.each(func(s loci.Store) error { return s.PutVectors(ctx, t, vectors) })
}
