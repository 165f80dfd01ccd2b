package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A wait is the context of a call that waits for a connection, for no longer than it may.
type wait struct {
	context.Context
	cancel context.CancelFunc
	until  time.Time
	over   atomic.Bool
}

// Deadline implements [context.Context].
func (w *wait) Deadline() (time.Time, bool) {
	if at, ok := w.Context.Deadline(); ok && at.Before(w.until) {
		return at, true
	}
	return w.until, true
}

// Err implements [context.Context].
func (w *wait) Err() error {
	err := w.Context.Err()
	if err != nil && w.over.Load() {
		return context.DeadlineExceeded
	}
	return err
}

// An alarm ends waits, one after the other. Its timer runs on when a wait has ended and is put off by the next one.
// A timer of its own, as [context.WithTimeout] begins, would wake a thread that waits for the network each time,
// and most calls find a connection at once.
type alarm struct {
	timer *time.Timer
	of    atomic.Pointer[wait]
}

var alarms sync.Pool

// waiting is a context that ends after a time; end gives it back.
func waiting(ctx context.Context, most time.Duration) (_ context.Context, end func()) {
	a, again := alarms.Get().(*alarm)
	if !again {
		a = &alarm{}
	}
	w := a.watch(ctx, most)
	return w, func() {
		a.of.Store(nil)
		alarms.Put(a)
		w.cancel()
	}
}

// watch begins a wait.
func (a *alarm) watch(ctx context.Context, most time.Duration) *wait {
	w := &wait{until: time.Now().Add(most)}
	w.Context, w.cancel = context.WithCancel(ctx)
	a.of.Store(w) // before its time begins
	if a.timer == nil {
		a.timer = time.AfterFunc(most, a.ring)
	} else {
		a.timer.Reset(most)
	}
	return w
}

// ring ends the wait at hand, unless it is for an earlier one: then it rings again.
func (a *alarm) ring() {
	if w := a.of.Load(); w != nil && !time.Now().Before(w.until) {
		w.over.Store(true)
		w.cancel()
	}
}
