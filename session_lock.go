package loci

import (
	"context"
	"sync"
)

// keyedLock lets one caller in at a time for each key. It makes writers of one
// process take turns where each would make the others decide anew; that nothing is
// lost does not depend on it.
type keyedLock struct {
	mu   sync.Mutex
	turn map[string]*turn
}

type turn struct {
	free    chan struct{} // holds a token while nobody is in
	callers int           // in, or waiting
}

// lock waits for its turn, or for the end of ctx.
func (l *keyedLock) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	if l.turn == nil {
		l.turn = map[string]*turn{}
	}
	t := l.turn[key]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		l.turn[key] = t
	}
	t.callers++
	l.mu.Unlock()
	leave := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if t.callers--; t.callers == 0 {
			delete(l.turn, key)
		}
	}
	select {
	case <-t.free:
		return func() { t.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, AsError(ctx.Err())
	}
}
