package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/loci-memory/loci"
)

// What is known of a key, also that there is none, is believed for [MaxStale]: a key that
// one node revokes ends on all others after that. The bounds keep strangers from filling
// the memory, and from keeping the store busy.
const (
	MaxStale = 4 * time.Second

	mostKnown    = 10_000           // keys in the memory
	mostUnknown  = 10_000           // ids of which there is no key
	lookups      = 16               // of keys that were there a moment ago, at once
	strangers    = 4                // of others
	lookupTime   = 5 * time.Second  // for one look into the store
	secondLook   = time.Second      // the age from which a wrong secret is a reason to look again: it may be new
	touchEvery   = time.Minute      // how often the last use is written
	mostTouching = 64               // writes of it at once
	touchTime    = 10 * time.Second // for one
)

// A cache holds what was read of keys.
type cache struct {
	mu      sync.Mutex
	known   map[loci.ID]*entry
	unknown map[loci.ID]time.Time // when there was none
	tenants map[loci.Tenant]standing

	flight   singleflight.Group
	turns    chan struct{} // of known keys
	turnsNew chan struct{} // of others

	touches  chan struct{}
	touching sync.WaitGroup
}

// An entry is a key as it was read. Only usedAt changes, under the cache's lock.
type entry struct {
	id        loci.ID
	principal loci.Principal
	until     time.Time // when it may act in other tenants no more
	body      keyBody
	hashes    [][32]byte // of the body's secrets
	readAt    time.Time
	usedAt    time.Time
}

func (c *cache) init() {
	c.known, c.unknown, c.tenants = map[loci.ID]*entry{}, map[loci.ID]time.Time{}, map[loci.Tenant]standing{}
	c.turns, c.turnsNew = make(chan struct{}, lookups), make(chan struct{}, strangers)
	c.touches = make(chan struct{}, mostTouching)
}

// drop forgets a key, which has changed.
func (c *cache) drop(id loci.ID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, id)
	delete(c.unknown, id)
}

// find returns what is known of an id. found: that is fresh enough to be believed. e is nil
// if there is no such key. A stale entry comes with found false.
func (c *cache) find(id loci.ID, now time.Time, age time.Duration) (e *entry, found bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e = c.known[id]; e != nil {
		return e, fresh(e.readAt, now, age)
	}
	at, there := c.unknown[id]
	return nil, there && fresh(at, now, age)
}

// fresh also holds no more after a clock was set back.
func fresh(at, now time.Time, age time.Duration) bool {
	passed := now.Sub(at)
	return passed >= 0 && passed < age
}

// put keeps what was read; e is nil if there is no such key.
func (c *cache) put(id loci.ID, e *entry, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e == nil {
		delete(c.known, id)
		if len(c.unknown) >= mostUnknown {
			clear(c.unknown) // nobody asks for one of them twice in earnest
		}
		c.unknown[id] = at
		return
	}
	delete(c.unknown, id)
	if old := c.known[id]; old != nil && old.usedAt.After(e.usedAt) {
		e.usedAt = old.usedAt
	} else if old == nil && len(c.known) >= mostKnown {
		for other := range c.known { // any: the order of a map is random enough
			delete(c.known, other)
			break
		}
	}
	c.known[id] = e
}

// Claims implements [Verifier].
func (k *Keys) Claims(token string) bool { return strings.HasPrefix(token, tokenPrefix) }

// Advice implements [Verifier].
func (k *Keys) Advice() string { return advice }

// Verify implements [Verifier]. It asks the store at most every few seconds.
func (k *Keys) Verify(ctx context.Context, token string) (Caller, error) {
	id, hash, ok := parseToken(token)
	if !ok {
		return Caller{}, noGood()
	}
	now := k.opts.Now()
	e, found := k.cache.find(id, now, MaxStale)
	var err error
	if !found {
		if e, err = k.lookup(ctx, id, e != nil); err != nil {
			return Caller{}, err
		}
	}
	at := match(e, hash)
	if at < 0 && found && e != nil && !fresh(e.readAt, now, secondLook) {
		if e, err = k.lookup(ctx, id, true); err != nil {
			return Caller{}, err
		}
		at = match(e, hash)
	}
	if at < 0 {
		return Caller{}, noGood()
	}
	if err := e.refuse(at, now); err != nil {
		return Caller{Principal: e.principal}, err
	}
	k.used(e, now)
	return Caller{Principal: e.principal, Limits: e.body.Limits, ElevatedUntil: e.until}, nil
}

// match returns which of a key's secrets has a hash, or -1. It compares with as many as a
// key can have, also for a key that is not there: the time it takes says nothing.
func match(e *entry, hash [32]byte) int {
	at := -1
	for i := range 2 {
		var kept [32]byte
		there := e != nil && i < len(e.hashes)
		if there {
			kept = e.hashes[i]
		}
		if subtle.ConstantTimeCompare(kept[:], hash[:]) == 1 && there {
			at = i
		}
	}
	return at
}

// refuse says why a key with the right secret is no longer good: whoever has the secret
// may know.
func (e *entry) refuse(at int, now time.Time) error {
	switch state := (&Key{ExpiresAt: e.body.ExpiresAt, RevokedAt: e.body.RevokedAt}).State(now); {
	case state == "revoked":
		return noMore("the key was revoked")
	case state == "expired":
		return noMore("the key has expired")
	case at > 0 && !now.Before(e.body.Secrets[at].Until):
		return noMore("the key was rotated, and the time of the old secret is over")
	}
	return nil
}

func noMore(msg string) error {
	return &Refusal{"invalid_token", &loci.Error{Code: loci.Unauthenticated, Msg: msg, Recovery: "Ask the operator for a new key."}}
}

// lookup asks the store for a key, once for all who ask at a time. known: there was one a
// moment ago, and strangers who guess ids must not delay it.
func (k *Keys) lookup(ctx context.Context, id loci.ID, known bool) (*entry, error) {
	done := k.cache.flight.DoChan(string(id[:]), func() (any, error) {
		// Detached from the caller: one who gives up must not leave the others without an
		// answer.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
		defer cancel()
		turns := k.cache.turnsNew
		if known {
			turns = k.cache.turns
		}
		select {
		case turns <- struct{}{}:
			defer func() { <-turns }()
		case <-ctx.Done():
			return nil, loci.AsError(ctx.Err())
		}
		at := k.opts.Now() // before the read: what changes during it counts as changed after
		e, err := k.load(ctx, id, at)
		if err == nil {
			k.cache.put(id, e, at)
		}
		return e, err
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return nil, unknowable(r.Err)
		}
		return r.Val.(*entry), nil
	case <-ctx.Done():
		return nil, unknowable(ctx.Err())
	}
}

// unknowable is for a key of which nobody can tell whether it is good.
func unknowable(err error) error {
	return &loci.Error{Code: loci.Unavailable, Op: "look up a key", Msg: "the credential cannot be checked right now", Err: err}
}

// load reads a key; nil: there is none.
func (k *Keys) load(ctx context.Context, id loci.ID, at time.Time) (*entry, error) {
	_, r, b, err := k.read(ctx, By{}, loci.Tenant{}, id)
	if errors.Is(err, loci.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	e := &entry{id: id, body: b, readAt: at, usedAt: r.UsedAt}
	for _, s := range b.Secrets {
		e.hashes = append(e.hashes, hashOf(s))
	}
	key := k.shown(&r, &b)
	tenant, err := loci.NewTenant(key.Tenant)
	if err != nil {
		return nil, err
	}
	scopes := b.Scopes
	for _, family := range b.Tools {
		scopes = append(scopes, loci.ScopeTools+loci.Scope(family))
	}
	e.principal, err = loci.NewPrincipal(tenant, subjectOf(id), b.Vars, scopes...)
	e.until = key.ElevatedUntil
	return e, err
}

// used writes down that a key was used, beside the request and at most once a minute.
func (k *Keys) used(e *entry, now time.Time) {
	k.cache.mu.Lock()
	due := now.Sub(e.usedAt) >= touchEvery || now.Before(e.usedAt)
	if due {
		e.usedAt = now
	}
	k.cache.mu.Unlock()
	if !due {
		return
	}
	select {
	case k.cache.touches <- struct{}{}:
	default:
		return // it is no more than a note
	}
	k.cache.touching.Go(func() {
		defer func() { <-k.cache.touches }()
		ctx, cancel := context.WithTimeout(context.Background(), touchTime)
		defer cancel()
		if m, err := k.memory(By{}, keysPlace); err == nil {
			m.Touch(ctx, []loci.Touch{{ID: e.id, At: now.UTC().Truncate(time.Millisecond)}})
		}
	})
}
