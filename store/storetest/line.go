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
	methods := reflect.TypeFor[loci.Store]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
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
	ctx := context.WithoutCancel(t.Context())
	want, wanted := do(ctx, with, tn)

	broken := make(chan struct{})
	strike := func() {
		defer close(broken)
		l.Break()
		if l.fault.Lasts > 0 {
			time.Sleep(l.fault.Lasts)
			l.Mend()
		}
	}
	began := time.Now()
	if moment == Before {
		strike()
	} else {
		time.AfterFunc(moment, strike)
	}
	var answer any
	var err error
	var took time.Duration
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		answer, err = do(ctx, l.Store, tn)
		took = time.Since(began)
	}()
	select {
	case <-ended:
	case <-time.After(longestCall): // what is there to be waited for ends with the fault
	}
	early := false
	select {
	case <-broken:
	default:
		early = true
		<-broken
	}
	if l.fault.Lasts == 0 {
		l.Mend()
	}
	<-ended

	if took > longestCall {
		t.Errorf("took %v", took)
	}
	// The next write of the tenant waits for one that is under way still.
	after := creation(record(99, "afterwards"))
	mended := time.Now()
	if err := l.Store.Apply(ctx, tn, after); err != nil {
		t.Errorf("a write when the line is whole again: %v (cause: %v)", err, errors.Unwrap(err))
	}
	recovery := time.Since(mended)
	if plain := l.plain(t, tn); recovery > longestRecovery+10*plain {
		t.Errorf("the first write when the line is whole again took %v; one over another line takes %v", recovery, plain)
	}
	for _, s := range []loci.Store{without, with} {
		if err := s.Apply(ctx, tn, after); err != nil {
			t.Fatal(err)
		}
	}
	doubt := err != nil && strings.Contains(err.Error(), "whether it was made cannot be seen")
	l.note(c, err, doubt, early, took, recovery)
	if codeOf(wanted) != codeOf(err) && (codeOf(err) != loci.Unavailable || l.fault.Passes) {
		t.Errorf("got %v (cause: %v); want %v", err, errors.Unwrap(err), wanted)
	}
	if diff := difference(want, answer); err == nil && diff != "" {
		t.Errorf("the answer is wrong (-want +got):\n%s", diff)
	}
	got := c.state(t, l.Straight, tn)
	made, not := difference(c.state(t, with, tn), got), difference(c.state(t, without, tn), got)
	switch {
	case made == "" && (err == nil || doubt || codeOf(wanted) == codeOf(err)):
	case not == "" && err != nil:
	case not == "":
		t.Errorf("it was acknowledged and was not made")
	case made == "":
		t.Errorf("it was refused and was made: %v (cause: %v)", err, errors.Unwrap(err))
	default:
		t.Errorf("after %v the database holds something else (-want +got):\n%s", err, made)
	}
	if found, err := l.Straight.Check(ctx, tn); err != nil || len(found) > 0 {
		t.Errorf("damage: %v, %v", found, err)
	}
	e, err := loci.New(l.Straight, nil)
	if err != nil {
		t.Fatal(err)
	}
	if report, err := e.VerifyEvents(ctx, tn, loci.Hash{}); err != nil || len(report.Problems) > 0 {
		t.Errorf("the log: %+v, %v", report, err)
	}
	for _, s := range []loci.Store{without, with} {
		b.must("Close", s.Close())
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

func (l *lane) note(c *lineCall, err error, doubt, early bool, took, recovery time.Duration) {
	n := l.seen
	n.Lock()
	defer n.Unlock()
	switch {
	case doubt:
		n.doubted++
	case codeOf(err) == loci.Unavailable:
		n.refused++
	default:
		n.worked++
	}
	if early {
		n.before++
	}
	if took > n.longest {
		n.longest, n.of = took, c.name
	}
	n.recovery = max(n.recovery, recovery)
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
