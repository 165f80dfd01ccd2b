// Package turn lets those who change one thing do so one after the other.
package turn

import (
	"context"
	"sync"
)

// Queues let the writers of one thing in this process take turns, first come, first
// served. Conflicts in the store are enough to keep changes apart, but then many writers
// of one tree would make one another start over.
type Queues struct {
	mu   sync.Mutex
	open map[string]*queue
}

// A queue holds one token.
type queue struct {
	token chan struct{}
	users int // who holds the token or waits for it
}

// Enter waits for its turn and returns what ends it.
func (q *Queues) Enter(ctx context.Context, key string) (leave func(), err error) {
	q.mu.Lock()
	if q.open == nil {
		q.open = map[string]*queue{}
	}
	one := q.open[key]
	if one == nil {
		one = &queue{token: make(chan struct{}, 1)}
		q.open[key] = one
	}
	one.users++
	q.mu.Unlock()
	depart := func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(q.open, key)
		}
	}
	select {
	case one.token <- struct{}{}:
		return func() { <-one.token; depart() }, nil
	case <-ctx.Done():
		depart()
		return nil, ctx.Err()
	}
}
