package server

import (
	"slices"
	"sync"
	"time"
)

// transfers bounds the bodies that come in, and the answers that wait for their readers: how
// many, and how many bytes of them are kept. Where there is no room the tenant gives way that has
// the most of it, with the transfer that has taken longest, and not the newcomer: one that
// somebody sends or reads in earnest is over within moments. There is no bound for each address,
// because every client of the loopback, and every one behind a proxy, has the same.
type transfers struct {
	most      int   // that are under way at once
	mostBytes int64 // of those of all requests, beyond smallBody of each

	mu     sync.Mutex
	coming []*transfer      // oldest first
	shares map[string]share // of each tenant in them
	held   int64            // bytes, as mostBytes counts them
	gaveUp uint64           // transfers that had to give way
}

// A share is what a tenant has of the transfers under way.
type share struct{ transfers, held int64 }

// A transfer is a body that comes in, or an answer that waits for its reader.
type transfer struct {
	tenant string
	held   int64
	gone   bool // it had to give way

	mu       sync.Mutex      // never held with the lock of the transfers
	deadline func(time.Time) // of the Read or Write that waits, and of those after it
	final    bool            // the deadline stays as it is: it has passed, or the request is over
}

// extend sets the time of the next Read, unless the transfer had to give way.
func (b *transfer) extend(to time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.final {
		b.deadline(to)
	}
}

// giveUp makes a Read or Write that waits return.
func (b *transfer) giveUp() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.final {
		b.final = true
		b.deadline(time.Unix(1, 0)) // where it does not work, nobody waits either
	}
}

// enter lets a transfer begin.
func (i *transfers) enter(b *transfer) {
	i.mu.Lock()
	i.coming = append(i.coming, b)
	i.addLocked(b.tenant, share{transfers: 1})
	var evicted []*transfer
	for len(i.coming) > i.most {
		evicted = append(evicted, i.evictLocked(
			func(tenant string) int64 { return i.shares[tenant].transfers }, func(*transfer) bool { return true }))
	}
	i.mu.Unlock()
	giveUp(evicted)
}

// grow makes room for all bytes that are held for a transfer. It returns false if there is no
// room, or if the transfer had to give way.
func (i *transfers) grow(b *transfer, size int64) bool {
	i.mu.Lock()
	more := max(0, size-smallBody) - b.held
	var evicted []*transfer
	for !b.gone && i.held+more > i.mostBytes {
		evicted = append(evicted, i.evictLocked(func(tenant string) int64 {
			if tenant == b.tenant {
				return i.shares[tenant].held + more
			}
			return i.shares[tenant].held
		}, func(other *transfer) bool { return other == b || other.held > 0 }))
	}
	fits := !b.gone
	if fits {
		b.held += more
		i.held += more
		i.addLocked(b.tenant, share{held: more})
	}
	i.mu.Unlock()
	giveUp(evicted)
	return fits
}

// giveUp tells those that had to give way. No lock is held: over HTTP/2 it waits for the
// goroutine of a connection, to which a thousand others may have something to say.
func giveUp(evicted []*transfer) {
	for _, b := range evicted {
		b.giveUp()
	}
}

// evictLocked makes a transfer give way: of the tenant that has the most, the oldest that makes
// room. There is one: whoever asks has come in, or wants to grow.
func (i *transfers) evictLocked(has func(tenant string) int64, makesRoom func(*transfer) bool) *transfer {
	var most int64
	for tenant := range i.shares {
		most = max(most, has(tenant))
	}
	at := slices.IndexFunc(i.coming, func(b *transfer) bool { return has(b.tenant) == most && makesRoom(b) })
	b := i.coming[at]
	i.removeLocked(b)
	i.held -= b.held
	b.held, b.gone = 0, true
	i.gaveUp++
	return b
}

func (i *transfers) addLocked(tenant string, more share) {
	if i.shares == nil {
		i.shares = map[string]share{}
	}
	now := i.shares[tenant]
	now.transfers += more.transfers
	now.held += more.held
	if i.shares[tenant] = now; now.transfers == 0 {
		delete(i.shares, tenant)
	}
}

// arrived says that a body is whole; false: it had to give way before.
func (i *transfers) arrived(b *transfer) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.removeLocked(b)
	return !b.gone
}

// leave gives back what a transfer holds, when its request, or the wait for its reader, is over. Nobody sets a deadline from
// then on.
func (i *transfers) leave(b *transfer) {
	i.mu.Lock()
	i.removeLocked(b)
	i.held -= b.held
	b.held = 0
	i.mu.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.final = true
}

// removeLocked takes a transfer out of those that are under way. It keeps what it holds.
func (i *transfers) removeLocked(b *transfer) {
	if at := slices.Index(i.coming, b); at >= 0 {
		i.coming = slices.Delete(i.coming, at, at+1)
		i.addLocked(b.tenant, share{-1, -b.held})
	}
}

// count says how many are under way, and how many had to give way.
func (i *transfers) count() (waiting int, gaveUp uint64) {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.coming), i.gaveUp
}
