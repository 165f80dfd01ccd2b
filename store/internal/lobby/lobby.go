// Package lobby counts the calls of a store that are under way and keeps what the process
// remembers of tenants between them.
package lobby

import (
	"context"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// maxTenants bounds the tenants that are remembered: their namespaces and index.
const maxTenants = 10_000

// A Lobby is that of a store; T is what is remembered of a tenant. The zero value is ready,
// once Make is set.
type Lobby[T any] struct {
	Make func(loci.Tenant) T // what is remembered of a tenant at first

	mu     sync.Mutex
	idle   *sync.Cond // signalled when a call ends
	calls  int        // under way
	guests map[loci.Tenant]*Guest[T]
	closed bool
}

// A Guest is a tenant.
type Guest[T any] struct {
	Of T

	name  loci.Tenant
	users int       // calls under way; guarded by the lobby
	used  time.Time // when it was used last; guarded by the lobby
}

// Enter counts a call and finds what is remembered of its tenant. Leave ends it.
func (l *Lobby[T]) Enter(ctx context.Context, name loci.Tenant) (*Guest[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, loci.AsError(err)
	}
	if name.IsZero() {
		return nil, loci.Errorf(loci.Invalid, "a tenant is missing")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed()
	}
	g := l.guests[name]
	if g == nil {
		if len(l.guests) >= maxTenants {
			l.forgetOldest()
		}
		g = &Guest[T]{Of: l.Make(name), name: name}
		l.put(name, g)
	}
	g.used = time.Now()
	l.count(g)
	return g, nil
}

func (l *Lobby[T]) put(name loci.Tenant, g *Guest[T]) {
	if l.guests == nil {
		l.guests = map[loci.Tenant]*Guest[T]{}
	}
	l.guests[name] = g
}

func (l *Lobby[T]) count(g *Guest[T]) {
	l.calls++
	g.users++
}

// Stay counts what goes on for a guest when its call has ended. Leave ends it, too.
func (l *Lobby[T]) Stay(g *Guest[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.count(g)
}

// EnterAlone is Enter for a call that is about no tenant in particular.
func (l *Lobby[T]) EnterAlone(ctx context.Context) (*Guest[T], error) {
	if err := ctx.Err(); err != nil {
		return nil, loci.AsError(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errClosed()
	}
	g := &Guest[T]{}
	l.count(g)
	return g, nil
}

// Leave ends a call.
func (l *Lobby[T]) Leave(g *Guest[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g.users--
	if l.calls--; l.calls == 0 && l.idle != nil {
		l.idle.Broadcast()
	}
}

// Seat makes a value what is remembered of a tenant: for tests.
func (l *Lobby[T]) Seat(name loci.Tenant, of T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(name, &Guest[T]{Of: of, name: name})
}

// Each calls do for what is remembered of every tenant, with the time at which the tenant was
// asked for last.
func (l *Lobby[T]) Each(do func(of T, used time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.guests {
		do(g.Of, g.used)
	}
}

// forgetOldest drops what is remembered of a tenant that was not asked for longest.
func (l *Lobby[T]) forgetOldest() {
	var oldest *Guest[T]
	for _, g := range l.guests {
		if g.users == 0 && (oldest == nil || g.used.Before(oldest.used)) {
			oldest = g
		}
	}
	if oldest != nil {
		delete(l.guests, oldest.name)
	}
}

func errClosed() error { return loci.Errorf(loci.Unavailable, "the store is closed") }

// Close refuses further calls and waits for those under way.
func (l *Lobby[T]) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.idle == nil {
		l.idle = sync.NewCond(&l.mu)
	}
	for l.calls > 0 {
		l.idle.Wait()
	}
	l.guests = nil
}
