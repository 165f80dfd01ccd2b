package postgres_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
)

var anywhere = loci.Filter{Within: []loci.Namespace{{}}}

// cluster is an empty database behind two proxies, which stand for nodes that each answer any
// tenant, and the URL that names both.
func cluster(t *testing.T, query string) (d pgtest.Database, both string, proxies []*proxy) {
	t.Helper()
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	var hosts []string
	for range 2 {
		p := newProxy(t, pgtest.Shared(t).Address())
		proxies = append(proxies, p)
		hosts = append(hosts, p.listener.Addr().String())
	}
	return d, changed(t, d.Server, func(u *url.URL) {
		u.Host, u.RawQuery = strings.Join(hosts, ","), query
	}), proxies
}

// Connections go to all nodes of a cluster, and only to the first host where others stand by. Each
// node is spoken to without TLS if it has none and that is allowed.
func TestConnectionsAreSpread(t *testing.T) {
	for query, spread := range map[string]bool{"nodes=any&sslmode=prefer": true, "sslmode=prefer": false} {
		_, both, proxies := cluster(t, query)
		s := openAt(t, both)
		tn := locitest.Tenant(t, "spread")
		before := proxies[1].said.Load()
		for range 10 {
			if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
				t.Fatal(err)
			}
		}
		if said := proxies[0].said.Load(); said < 10 {
			t.Errorf("%s: the first host was told %d things", query, said)
		}
		if said := proxies[1].said.Load() - before; (said >= 5) != spread {
			t.Errorf("%s: the second host was told %d things", query, said)
		}
	}
}

// calls are writes and reads of eight clients that go on until a context ends; each must work.
type calls struct {
	n      atomic.Int64
	failed atomic.Pointer[string]
}

func (c *calls) make(ctx context.Context, t *testing.T, s loci.Store) (wait func()) {
	var group sync.WaitGroup
	for i := range 8 {
		tn := locitest.Tenant(t, fmt.Sprint("tenant ", i%4))
		group.Go(func() {
			for ctx.Err() == nil {
				err := s.Apply(context.WithoutCancel(ctx), tn, creation(loci.NewID()))
				if err == nil {
					_, err = s.Count(context.WithoutCancel(ctx), tn, anywhere)
				}
				if err != nil {
					what := fmt.Sprint(err, loci.AsError(err).Err)
					c.failed.Store(&what)
				}
				c.n.Add(1)
			}
		})
	}
	return group.Wait
}

// until waits for something.
func (c *calls) until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("not within half a minute: %s", what)
		}
	}
}

func (c *calls) more(t *testing.T, n int64) {
	t.Helper()
	begin := c.n.Load()
	c.until(t, fmt.Sprint(n, " calls"), func() bool { return c.n.Load() >= begin+n })
}

// A node that stops in the middle fails no request, and is used again when it is there again.
func TestNodeThatStops(t *testing.T) {
	_, both, proxies := cluster(t, "nodes=any&sslmode=disable")
	s := openAt(t, both)
	var c calls
	ctx, end := context.WithCancel(t.Context())
	wait := c.make(ctx, t, s)
	defer func() { end(); wait() }()
	for _, p := range []*proxy{proxies[0], proxies[1], proxies[0]} {
		c.more(t, 100)
		p.set(down)
		c.more(t, 100)
		p.set(passes)
		before := p.said.Load()
		c.until(t, "the node is used again", func() bool { return p.said.Load() > before+50 })
	}
	end()
	wait()
	if why := c.failed.Load(); why != nil {
		t.Errorf("one of %d calls: %s", c.n.Load(), *why)
	}
}

// A node that tells of another one, which it did not reach, is well: it is not passed over.
func TestNodeThatTellsOfAnother(t *testing.T) {
	_, both, _ := cluster(t, "nodes=any&sslmode=disable")
	d := pgtest.Shared(t).NewDatabase(t)
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	both = changed(t, both, func(u *url.URL) { u.Path = changedPath(t, d.Server) })
	execute(t, d.Super, `CREATE FUNCTION unreached() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE EXCEPTION 'connection to the remote node failed' USING ERRCODE = '08006'; END $$;
		CREATE TRIGGER unreached BEFORE INSERT ON loci.record FOR EACH ROW EXECUTE FUNCTION unreached()`)
	var log journal
	s := openWith(t, both, &postgres.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	tn := locitest.Tenant(t, "of the other node")
	err := s.Apply(t.Context(), tn, creation(loci.NewID()))
	if err == nil || loci.AsError(err).Code != loci.Unavailable {
		t.Errorf("a write that no node could make: %v", err)
	}
	if strings.Contains(log.String(), "does not answer") {
		t.Errorf("a node that answered is passed over:\n%s", log.String())
	}
	execute(t, d.Super, "DROP TRIGGER unreached ON loci.record")
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Error(err)
	}
}

// A store opens, and answers, while a node takes connections and says nothing. Where no node
// answers it says so.
func TestNodeThatHangs(t *testing.T) {
	_, both, proxies := cluster(t, "nodes=any&sslmode=disable&connect_timeout=1")
	proxies[1].set(hangs)
	s := openAt(t, both)
	tn := locitest.Tenant(t, "hangs")
	for range 10 {
		if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
			t.Fatal(err)
		}
	}
	proxies[0].set(down)
	refused(t, both, loci.Unavailable, "does not answer")
	_, err := s.Count(t.Context(), tn, anywhere)
	if e := loci.AsError(err); e == nil || e.Code != loci.Unavailable {
		t.Errorf("without a node: %v", err)
	}
	proxies[0].set(passes)
	if n, err := s.Count(t.Context(), tn, anywhere); err != nil || n.Records != 10 {
		t.Errorf("with one again: %+v, %v", n, err)
	}
}

// whereabouts stand in the place of what Citus knows of its nodes: shard n is on node n.
const whereabouts = `CREATE TABLE pg_dist_node (groupid int, nodename text, nodeport int, noderole text DEFAULT 'primary');
CREATE TABLE pg_dist_placement (shardid bigint, groupid int, shardstate int DEFAULT 1);
CREATE TABLE of_tenant (tenant bytea, shard bigint);
CREATE FUNCTION get_shard_id_for_distribution_column(regclass, bytea) RETURNS bigint LANGUAGE sql AS
	'SELECT shard FROM of_tenant WHERE tenant = $2 AND $1 = ''loci.tenant''::regclass';
GRANT ALL ON pg_dist_node, pg_dist_placement, of_tenant TO PUBLIC;
INSERT INTO of_tenant VALUES ('\x00000000000000000000000000000000', 0);
INSERT INTO pg_dist_placement VALUES (0, 0), (1, 1), (2, 2);`

// A tenant's calls go to the node that holds it, as the database says; after an error it is
// asked again, and a wrong guess is only slower.
func TestTenantsGoHome(t *testing.T) {
	_, both, proxies := cluster(t, "nodes=home&sslmode=disable")
	refused(t, both, loci.Unsupported, "--distribute")

	d := pgtest.Shared(t).NewDatabase(t) // with what stands for Citus, which others do not want
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	both = changed(t, both, func(u *url.URL) { u.Path = changedPath(t, d.Server) })
	execute(t, d.Super, whereabouts)
	for i, p := range proxies {
		host, port, err := net.SplitHostPort(p.listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		execute(t, d.Super, fmt.Sprintf("INSERT INTO pg_dist_node VALUES (%d, '%s', %s)", i, host, port))
	}
	execute(t, d.Super, "INSERT INTO pg_dist_node VALUES (2, 'strange.example', 5432)")
	place := func(tn loci.Tenant, at int) {
		execute(t, d.Super, fmt.Sprintf(`DELETE FROM of_tenant WHERE tenant = '\x%x'`, postgres.KeyOf(tn)))
		execute(t, d.Super, fmt.Sprintf(`INSERT INTO of_tenant VALUES ('\x%x', %d)`, postgres.KeyOf(tn), at))
	}
	var log journal
	s := openWith(t, both, &postgres.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	use := func(tn loci.Tenant) {
		t.Helper()
		id := loci.NewID()
		if err := s.Apply(t.Context(), tn, creation(id)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Match(t.Context(), tn, loci.Probe{Text: wordOf(id)}, anywhere, 1); err != nil {
			t.Fatal(err)
		}
		if err := s.Touch(t.Context(), tn, []loci.Touch{{ID: id, At: time.Now()}}); err != nil {
			t.Fatal(err)
		}
	}
	// told is how often each node was told something by so many uses of a tenant.
	told := func(tn loci.Tenant) (said [2]int64) {
		t.Helper()
		for i, p := range proxies {
			said[i] = -p.said.Load()
		}
		for range 4 {
			use(tn)
		}
		for i, p := range proxies {
			said[i] += p.said.Load()
		}
		return said
	}
	for i := range proxies {
		tn := locitest.Tenant(t, fmt.Sprint("of node ", i))
		place(tn, i)
		use(tn) // asks, whichever node
		if said := told(tn); said[i] < 8 || said[1-i] > 0 {
			t.Errorf("a tenant of node %d: the nodes were told %v things", i, said)
		}
	}

	moved := locitest.Tenant(t, "of node 0")
	place(moved, 1)
	if said := told(moved); said[0] < 8 || said[1] > 0 {
		t.Errorf("a tenant that moved, before an error: the nodes were told %v things", said)
	}
	proxies[0].set(down)
	use(moved)
	proxies[0].set(passes)
	new(calls).until(t, "the node answers again", func() bool { return strings.Contains(log.String(), "answers again") })
	if said := told(moved); said[1] < 8 || said[0] > 0 {
		t.Errorf("a tenant that moved, after an error: the nodes were told %v things", said)
	}

	for range 2 {
		place(locitest.Tenant(t, "elsewhere"), 2)
		use(locitest.Tenant(t, "elsewhere"))
		place(locitest.Tenant(t, "elsewhere too"), 2)
		use(locitest.Tenant(t, "elsewhere too"))
	}
	if n := strings.Count(log.String(), "strange.example"); n != 1 {
		t.Errorf("of a node that the URL does not name the log tells %d times:\n%s", n, log.String())
	}
}

// A journal is a log that is read while it is written to.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(line []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(line)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// changedPath is the path of a URL: its database.
func changedPath(t *testing.T, text string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path
}

// What the hosts are to one another is one of three words, in the URL or as an option, which wins.
func TestNodesAreNamed(t *testing.T) {
	_, both, _ := cluster(t, "nodes=all&sslmode=disable")
	refused(t, both, loci.Invalid, `nodes is "all": write failover, any, home`)
	openWith(t, both, &postgres.Options{Nodes: postgres.NodesAny})
}
