package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/patience"
)

// What the hosts of a URL are to one another.
const (
	NodesFailover = "failover" // one database and its standbys: the first one that will do is used
	NodesAny      = "any"      // nodes of a cluster, each of which answers any tenant: all are used
	NodesHome     = "home"     // likewise, and a tenant's connections go to the node that holds it
)

// Nodes are the values of [Options.Nodes].
var Nodes = []string{NodesFailover, NodesAny, NodesHome}

const (
	// nodePatience is how long a call waits for one node while there are others.
	nodePatience = 2 * time.Second

	// A node that does not answer is asked again after pauses that grow from one to the other.
	leastNodePause = 50 * time.Millisecond
	mostNodePause  = 2 * time.Second
)

// A node is one of the URL's hosts, or all of them where they are one database.
type node struct {
	at    string // as the URL has it, host:port
	pool  *pgxpool.Pool
	sound atomic.Bool  // it was examined
	down  atomic.Bool  // it did not answer; somebody looks after it
	most  int32        // connections
	kept  atomic.Int32 // connections, by who does something else meanwhile; see keeps
}

// keeps reports whether a connection may be kept for as long as something takes in the process, and counts it in
// kept then: half of them may, so that others find one.
func (n *node) keeps() bool {
	if n.kept.Add(1) <= n.most/2 {
		return true
	}
	n.kept.Add(-1)
	return false
}

// nodes are all there are, each with connections of its own.
type nodes struct {
	all  []*node
	turn atomic.Uint32
	log  *slog.Logger

	homes   *homes // nil: nobody asks where a tenant is
	watches watches

	ctx   context.Context // ends with the store
	end   context.CancelFunc
	group sync.WaitGroup // looks after nodes that are down
}

// several reports whether each host has connections of its own.
func (ns *nodes) several() bool { return len(ns.all) > 1 || ns.homes != nil }

// openNodes makes the pools of what a URL names. Nothing is asked yet.
func openNodes(ctx context.Context, cfg *pgxpool.Config, kind string, log *slog.Logger) (*nodes, error) {
	ns := &nodes{log: log}
	configs := []*pgxpool.Config{cfg}
	switch kind {
	case NodesFailover:
	case NodesHome:
		ns.homes = &homes{}
		fallthrough
	case NodesAny:
		configs = apart(cfg)
	default:
		return nil, loci.Errorf(loci.Invalid, "nodes is %q: write %s", kind, strings.Join(Nodes, ", "))
	}
	ns.ctx, ns.end = context.WithCancel(context.WithoutCancel(ctx))
	ns.group.Go(func() { ns.watches.keep(ns.ctx) })
	for _, cfg := range configs {
		cfg.BeforeClose = ns.watches.forget
		pool, err := pgxpool.NewWithConfig(ns.ctx, cfg)
		if err != nil {
			ns.close()
			return nil, err
		}
		at := addressOf(cfg.ConnConfig.Host, cfg.ConnConfig.Port)
		ns.all = append(ns.all, &node{at: at, pool: pool, most: cfg.MaxConns})
	}
	return ns, nil
}

// addressOf is how a node is known: as the URL and the cluster name it.
func addressOf(host string, port uint16) string {
	return strings.ToLower(net.JoinHostPort(host, strconv.Itoa(int(port))))
}

// apart makes a configuration for each host of one, in the order of the URL.
func apart(cfg *pgxpool.Config) (out []*pgxpool.Config) {
	ways := append([]*pgconn.FallbackConfig{{
		Host: cfg.ConnConfig.Host, Port: cfg.ConnConfig.Port, TLSConfig: cfg.ConnConfig.TLSConfig,
	}}, cfg.ConnConfig.Fallbacks...)
	byAddress := map[string]*pgxpool.Config{}
	for _, way := range ways { // a host has several where TLS is preferred
		at := addressOf(way.Host, way.Port)
		if one := byAddress[at]; one != nil {
			one.ConnConfig.Fallbacks = append(one.ConnConfig.Fallbacks, way)
			continue
		}
		one := cfg.Copy()
		one.ConnConfig.Host, one.ConnConfig.Port, one.ConnConfig.TLSConfig = way.Host, way.Port, way.TLSConfig
		one.ConnConfig.Fallbacks = nil
		byAddress[at] = one
		out = append(out, one)
	}
	return out
}

// close ends all connections. A second time does nothing.
func (ns *nodes) close() {
	ns.end()
	ns.group.Wait()
	for _, n := range ns.all {
		n.pool.Close()
	}
}

// reset ends the connections that nobody uses, and the others after their use.
func (ns *nodes) reset() {
	for _, n := range ns.all {
		n.pool.Reset()
	}
}

// examine makes sure that each node which answers may be used. Those that do not answer are
// looked after, and examined before their first use, as long as one does.
func (ns *nodes) examine(ctx context.Context) error {
	if !ns.several() {
		return ns.all[0].examine(ctx)
	}
	faults := make([]error, len(ns.all))
	var group sync.WaitGroup
	for i, n := range ns.all {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, connectTimeout)
			defer cancel()
			if err := n.examine(ctx); err != nil {
				faults[i] = fmt.Errorf("node %s: %w", n.at, err)
			}
		})
	}
	group.Wait()
	answer := false
	for _, err := range faults {
		if err != nil && ctx.Err() == nil && !errors.Is(err, context.DeadlineExceeded) && !mayPass(err) {
			return err
		}
		answer = answer || err == nil
	}
	if !answer {
		return faults[0]
	}
	for i, err := range faults {
		if err != nil {
			ns.fail(ns.all[i], err)
		}
	}
	return nil
}

// examine makes sure that a node may be used.
func (n *node) examine(ctx context.Context) error {
	c, err := n.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer c.Release()
	return n.look(ctx, c)
}

// look examines a node, once, through a connection to it.
func (n *node) look(ctx context.Context, c *pgxpool.Conn) error {
	if n.sound.Load() {
		return nil
	}
	if err := examine(ctx, c.Conn()); err != nil {
		return err
	}
	n.sound.Store(true)
	return nil
}

// acquire takes a connection for a tenant's key, nil for anybody: to the node that holds it where
// that is known, else to one of those with the fewest in use. A node that fails is passed over.
func (ns *nodes) acquire(ctx context.Context, key []byte) (*pgxpool.Conn, *node, error) {
	if !ns.several() {
		c, err := ns.all[0].pool.Acquire(ctx)
		return c, ns.all[0], err
	}
	return ns.take(ctx, key, ns.homeOf(ctx, key))
}

// take takes a connection, to one node rather than to the others: the home of a tenant.
func (ns *nodes) take(ctx context.Context, key []byte, rather *node) (*pgxpool.Conn, *node, error) {
	var first error
	order := ns.order(rather)
	for i, n := range order {
		c, err := n.take(ctx, len(order)-i-1)
		if err == nil {
			return c, n, nil
		}
		if ctx.Err() != nil {
			return nil, nil, err
		}
		if !n.busy() {
			ns.fail(n, err)
			if n == rather {
				ns.homes.forget(key)
			}
		}
		if first == nil {
			first = fmt.Errorf("node %s: %w", n.at, err)
		}
	}
	return nil, nil, first
}

// take takes a connection to the node, and does not wait for it alone while there are others.
func (n *node) take(ctx context.Context, others int) (*pgxpool.Conn, error) {
	if others > 0 {
		wait := nodePatience
		if deadline, ok := ctx.Deadline(); ok {
			wait = min(wait, time.Until(deadline)/time.Duration(others+1))
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, wait)
		defer cancel()
	}
	c, err := n.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	if err := n.look(ctx, c); err != nil {
		c.Release()
		return nil, err
	}
	return c, nil
}

// busy reports whether all connections that the node may have are in use.
func (n *node) busy() bool {
	stat := n.pool.Stat()
	return stat.AcquiredConns() >= stat.MaxConns()
}

// order is the one in which nodes are asked: those that are down come last.
func (ns *nodes) order(rather *node) []*node {
	type place struct {
		n    *node
		last int
		used int32
	}
	start := int(ns.turn.Add(1))
	places := make([]place, len(ns.all))
	for i := range ns.all {
		n := ns.all[(start+i)%len(ns.all)]
		places[i] = place{n, 1, n.pool.Stat().AcquiredConns()}
		switch {
		case n.down.Load():
			places[i].last = 2
		case n == rather:
			places[i].last = 0
		}
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.last, b.last), cmp.Compare(a.used, b.used))
	})
	order := make([]*node, len(places))
	for i, p := range places {
		order[i] = p.n
	}
	return order
}

// fail passes a node over until it answers again. One that tells of another is well.
func (ns *nodes) fail(n *node, err error) {
	if isRelayed(err) || !n.down.CompareAndSwap(false, true) {
		return
	}
	n.pool.Reset() // its other connections are no better
	n.sound.Store(false)
	ns.log.Warn("a node of the database does not answer: the others are asked", "node", n.at, "error", err)
	ns.group.Go(func() { ns.mend(n) })
}

// mend asks a node until it answers and may be used.
func (ns *nodes) mend(n *node) {
	for pause := time.Duration(0); ; pause = min(max(2*pause, leastNodePause), mostNodePause) {
		if patience.Sleep(ns.ctx, pause) != nil {
			return
		}
		ctx, cancel := context.WithTimeout(ns.ctx, connectTimeout)
		err := n.examine(ctx)
		cancel()
		if err == nil {
			n.down.Store(false)
			ns.log.Info("the node of the database answers again", "node", n.at)
			return
		}
	}
}
