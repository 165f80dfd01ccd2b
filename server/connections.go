package server

import (
	"cmp"
	"container/list"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// connections are those that are open at the listeners for callers, or at those for operators.
// One that has shown no good credential is a stranger's. Where there are too many, one gives way
// that nobody works with, and not the newcomer: whoever comes in earnest has shown a credential
// within moments. No address counts for more than another, because all that come by a proxy, or
// from this machine, have the same.
type connections struct {
	alone  time.Duration // for which a stranger's may have nothing to do
	logger *slog.Logger

	mu        sync.Mutex
	most      int // that are open at once, and requests of strangers that are under way
	open      map[net.Conn]*connection
	strangers list.List // oldest first
	asked     int       // requests of strangers under way, their answers included
	displaced uint64    // connections that gave way
	told      time.Time // when the log said so
}

// A connection is one of them. Those of a handler without a server are nil, and do nothing.
type connection struct {
	of    *connections
	conn  net.Conn
	turn  chan struct{} // of a stranger's requests: full while one has it
	known chan struct{} // closed when it is no stranger's any more, or gone

	// All below are guarded by the lock of connections.
	stranger *list.Element // its place among them; nil: it has shown a credential, or is gone
	alone    *time.Timer   // ends it if it is a stranger's and has nothing to do
	tenant   string        // of the credential that it showed last
	requests int           // under way
	listens  int           // of these: they wait for events, for any time
	since    time.Time     // when a request came or went for the last time
	gone     bool
}

// strangersPart is the part of all connections that those without a credential have, while
// tenants want the others: enough for newcomers to become known.
const strangersPart = 8

func newConnections(most int, alone time.Duration, logger *slog.Logger) *connections {
	return &connections{alone: alone, logger: logger, most: most, open: map[net.Conn]*connection{}}
}

// add lets a connection in.
func (all *connections) add(conn net.Conn) *connection {
	all.mu.Lock()
	defer all.mu.Unlock()
	c := &connection{
		of: all, conn: conn, turn: make(chan struct{}, 1), known: make(chan struct{}), since: time.Now(),
	}
	all.open[conn] = c
	c.stranger = all.strangers.PushBack(c)
	c.alone = time.AfterFunc(all.alone, c.leaveAlone)
	for len(all.open) > all.most {
		last := all.weakestLocked()
		if last == nil {
			break // the limit has become less than those who work
		}
		all.displaceLocked(last)
	}
	return c
}

// weakestLocked is the connection that gives way: the oldest stranger's where they have more than
// their part, else, of those with nothing to do, one of the tenant with the most connections, which
// has had nothing to do for longest, else the oldest stranger's again, which may be the newcomer.
// nil: there is none.
func (all *connections) weakestLocked() (weakest *connection) {
	if all.strangers.Len() <= max(1, all.most/strangersPart) {
		shares := map[string]int{}
		for _, c := range all.open {
			shares[c.tenant]++
		}
		weaker := func(a, b *connection) bool {
			return cmp.Or(cmp.Compare(shares[b.tenant], shares[a.tenant]), a.since.Compare(b.since)) < 0
		}
		for _, c := range all.open {
			if c.stranger == nil && c.requests == c.listens && (weakest == nil || weaker(c, weakest)) {
				weakest = c
			}
		}
	}
	if oldest := all.strangers.Front(); weakest == nil && oldest != nil {
		weakest = oldest.Value.(*connection) //nolint:forcetypeassert // nothing else is in it
	}
	return weakest
}

// displaceLocked ends a connection that gives way to others.
func (all *connections) displaceLocked(c *connection) {
	all.displaced++
	if now := time.Now(); now.Sub(all.told) >= time.Minute {
		all.told = now
		all.logger.Warn("connections give way to newer ones, which is said once a minute",
			"limit", all.most, "open", len(all.open), "without_credential", all.strangers.Len(), "displaced", all.displaced)
	}
	all.endLocked(c)
}

// endLocked ends a connection at once: package tls would wait for one that takes nothing.
func (all *connections) endLocked(c *connection) {
	all.forgetLocked(c)
	if secure, ok := c.conn.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
		return
	}
	_ = c.conn.Close() // there is nobody to be told
}

// remove forgets a connection that has ended.
func (all *connections) remove(conn net.Conn) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if c := all.open[conn]; c != nil {
		all.forgetLocked(c)
	}
}

func (all *connections) forgetLocked(c *connection) {
	all.noStrangerLocked(c)
	c.gone = true
	delete(all.open, c.conn)
}

func (all *connections) noStrangerLocked(c *connection) {
	if c.stranger != nil {
		c.alone.Stop()
		all.strangers.Remove(c.stranger)
		all.asked -= c.requests
		c.stranger = nil
		close(c.known)
	}
}

// set changes how many may be open. Those that are too many give way to the next that comes.
func (all *connections) set(most int) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.most = most
}

// count adds what there is to a load.
func (all *connections) count(l *Load) {
	all.mu.Lock()
	defer all.mu.Unlock()
	l.Connections += len(all.open)
	l.Strangers += all.strangers.Len()
	l.Displaced += all.displaced
}

// begin says that a request comes in, and waits for its turn: those of a stranger's connection are
// answered one by one, so that the many streams of a few leave processors to newcomers. done says
// that what was sent for it has gone; nil: nobody waits for the answer any more.
func (c *connection) begin(ctx context.Context, listens bool) (done func()) {
	if c == nil {
		return func() {}
	}
	c.came(listens)
	select {
	case <-c.known:
		if !c.isGone() {
			return func() { c.went(listens) }
		}
	case c.turn <- struct{}{}:
		return func() {
			<-c.turn
			c.went(listens)
		}
	case <-ctx.Done():
	}
	c.went(listens)
	return nil
}

// came counts a request. Strangers have as many under way as there may be connections; of more,
// those of the connection with the most are given up.
func (c *connection) came(listens bool) {
	all := c.of
	all.mu.Lock()
	defer all.mu.Unlock()
	c.requests++
	if listens {
		c.listens++
	}
	c.since = time.Now()
	if c.stranger == nil {
		return
	}
	for all.asked++; all.asked > all.most; {
		busiest := c
		for at := all.strangers.Front(); at != nil; at = at.Next() {
			if other := at.Value.(*connection); other.requests > busiest.requests { //nolint:forcetypeassert // as above
				busiest = other
			}
		}
		all.displaceLocked(busiest)
	}
}

func (c *connection) went(listens bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.requests--
	if listens {
		c.listens--
	}
	c.since = time.Now()
	if c.stranger != nil {
		c.of.asked--
		c.alone.Reset(c.of.alone)
	}
}

// isStranger reports whether no good credential has come by the connection.
func (c *connection) isStranger() bool {
	if c == nil {
		return false
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.stranger != nil
}

// isGone reports whether the connection has ended, or is about to.
func (c *connection) isGone() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return c.gone
}

// know says that a good credential of a tenant came by the connection. One that a proxy shares
// among its clients is the tenant's that asked last.
func (c *connection) know(tenant string) {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.noStrangerLocked(c)
	c.tenant = tenant
}

// leaveAlone ends a stranger's connection that has had nothing to do for the time it has.
func (c *connection) leaveAlone() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.stranger != nil && c.requests == 0 {
		c.of.endLocked(c)
	}
}

// end ends a connection.
func (c *connection) end() {
	if c == nil {
		return
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.gone {
		c.of.endLocked(c)
	}
}

// connectionKey is under which the context of a connection has the [connection].
type connectionKey struct{}

func connectionOf(ctx context.Context) *connection {
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return c
}

// connect lets a connection in, before anything is read of it.
func (s *Server) connect(ctx context.Context, conn net.Conn) context.Context {
	all := s.connections
	if atOperators(ctx) {
		all = s.operators
	}
	return context.WithValue(ctx, connectionKey{}, all.add(conn))
}

// connectionState hears of the ends of connections.
func (s *Server) connectionState(conn net.Conn, state http.ConnState) {
	if state == http.StateClosed {
		s.connections.remove(conn)
		s.operators.remove(conn)
	}
}
