// Package patience waits for calls of others no longer than it should.
package patience

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// Most bounds the calls that go on after their time, since a callee may ignore its
// context. Each such call holds a goroutine and its arguments.
const Most = 16

// ErrTooMany says that [Most] calls go on after their time, and that no other call was
// made.
var ErrTooMany = errors.New("too many calls are under way that do not end")

// Calls are those of one callee.
type Calls struct{ abandoned atomic.Int32 }

// Call runs a function in its own goroutine. It returns when the function does or when
// the time is over, even if the function is still running. A panic in it is an error: it
// would end the process.
func Call[T any](
	ctx context.Context, c *Calls, timeout time.Duration, call func(context.Context) (T, error),
) (result T, err error) {
	if c.abandoned.Load() >= Most {
		return result, ErrTooMany
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	type outcome struct {
		result T
		err    error
	}
	var settled atomic.Bool // set by whichever ends first, the call or the wait
	done := make(chan outcome, 1)
	go func() {
		result, err := Guarded(ctx, call)
		done <- outcome{result, err}
		if !settled.CompareAndSwap(false, true) {
			c.abandoned.Add(-1)
		}
	}()
	select {
	case o := <-done:
		return o.result, o.err
	case <-ctx.Done():
		c.abandoned.Add(1)
		if !settled.CompareAndSwap(false, true) {
			c.abandoned.Add(-1) // it ended at this very moment
		}
		return result, ctx.Err()
	}
}

// Guarded runs a function here and now. A panic in it is an error, as in [Call].
func Guarded[T any](ctx context.Context, call func(context.Context) (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v\n%s", p, debug.Stack()) // for the log
		}
	}()
	return call(ctx)
}

// Aside runs a function in its own goroutine, for at most a time, and waits a moment for it. A caller that
// goes away does not stop it.
func Aside(ctx context.Context, most, moment time.Duration, do func(context.Context)) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
		defer cancel()
		do(ctx)
	}()
	t := time.NewTimer(moment)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// Sleep waits for a time, or until the context ends, which is the error.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// AsLong pauses for as long as a step of some work in the background took, 5 ms to 5 s, so that it takes half of what
// there is.
func AsLong(ctx context.Context, step time.Duration) error {
	return Sleep(ctx, min(max(step, 5*time.Millisecond), 5*time.Second))
}

// BetweenAttempts waits a little longer after each conflict, at random, so that writers that met once do not meet again.
// Before the first attempt, 0, there is none.
func BetweenAttempts(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return nil
	}
	return Sleep(ctx, time.Duration(rand.Int64N(int64(min(attempt, 10))*int64(time.Millisecond))))
}
