package postgres

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/loci-memory/loci"
)

// whereHome asks Citus for the node that holds the rows of a tenant.
const whereHome = `SELECT n.nodename::text, n.nodeport::int FROM pg_dist_placement p JOIN pg_dist_node n ON n.groupid = p.groupid
	WHERE p.shardid = get_shard_id_for_distribution_column($1::text::regclass, $2::bytea) AND p.shardstate = 1 AND n.noderole = 'primary'
	LIMIT 1`

const (
	// homeAge is for how long a node is taken for a tenant's home: a shard that is moved makes
	// no error, and the node that held it passes on what it is asked.
	homeAge = 5 * time.Minute

	// doubtAge is likewise where nothing good is known: the question failed, or the node is down.
	doubtAge = 5 * time.Second

	// homesKept bounds the tenants whose homes are remembered. Then all are asked for again.
	homesKept = 100_000
)

// homes are the nodes that hold tenants, as far as they were asked for. A wrong one is only
// slower: it passes on what it is asked.
type homes struct {
	mu      sync.Mutex
	of      map[string]*home // by the tenant's key
	strange sync.Map         // addresses of homes that the URL does not name
}

// A home is where a tenant is.
type home struct {
	node   *node // nil: it is not known
	asked  time.Time
	asking bool // somebody is
}

// homeOf is the node that holds a tenant, nil where that is not known. Who comes while another
// one asks does not wait.
func (ns *nodes) homeOf(ctx context.Context, key []byte) *node {
	if ns.homes == nil || key == nil {
		return nil
	}
	h := ns.homes.enter(string(key))
	if h == nil {
		return ns.homes.known(string(key))
	}
	n, err := ns.askHome(ctx, key)
	if err != nil {
		ns.log.Debug("the database does not say which node holds a tenant", "error", err)
	}
	ns.homes.mu.Lock()
	defer ns.homes.mu.Unlock()
	h.node, h.asked, h.asking = n, time.Now(), false
	return n
}

// enter returns the home of a tenant that the caller is to ask for, nil for one that is known or
// asked for.
func (hs *homes) enter(key string) *home {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	h := hs.of[key]
	if h == nil {
		if hs.of == nil || len(hs.of) >= homesKept {
			hs.of = map[string]*home{}
		}
		h = &home{}
		hs.of[key] = h
	}
	age := homeAge
	if h.node == nil || h.node.down.Load() {
		age = doubtAge
	}
	if h.asking || !h.asked.IsZero() && time.Since(h.asked) < age {
		return nil
	}
	h.asking = true
	return h
}

// known is what is known of a tenant's home.
func (hs *homes) known(key string) *node {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	if h := hs.of[key]; h != nil {
		return h.node
	}
	return nil
}

// forget makes a tenant's home be asked for again.
func (hs *homes) forget(key []byte) {
	if hs == nil || key == nil {
		return
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	delete(hs.of, string(key))
}

// askHome asks any node which one holds a tenant. Only what the URL names is gone to: the
// password is for nobody else.
func (ns *nodes) askHome(ctx context.Context, key []byte) (*node, error) {
	c, _, err := ns.take(ctx, nil, nil)
	if err != nil {
		return nil, err
	}
	defer c.Release()
	var host string
	var port int32
	if err := c.Conn().QueryRow(ctx, whereHome, "loci.tenant", key).Scan(&host, &port); err != nil {
		return nil, err
	}
	at := addressOf(host, uint16(port))
	for _, n := range ns.all {
		if n.at == at {
			return n, nil
		}
	}
	if _, told := ns.homes.strange.LoadOrStore(at, true); !told {
		ns.log.Warn("a node that holds tenants is not among the hosts of the store's URL: any of these is asked for them",
			"node", at)
	}
	return nil, nil
}

// checkHomes refuses a database that cannot say where a tenant is.
func (ns *nodes) checkHomes(ctx context.Context) error {
	if ns.homes == nil {
		return nil
	}
	_, err := ns.askHome(ctx, system)
	var refused *pgconn.PgError
	if err == nil || isLost(err) || !errors.As(err, &refused) {
		return err
	}
	return &loci.Error{
		Code:     loci.Unsupported,
		Msg:      "the database does not say which node holds a tenant, as nodes=home needs: its tables are not distributed",
		Recovery: "Run loci migrate --distribute on the coordinator, with the URL of the tables' owner, or set store.nodes to any or failover.",
		Err:      err,
	}
}
