package postgres_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/storetest"
)

// realCluster is a coordinator with two workers that have Citus. CI has none.
func realCluster(t testing.TB) pgtest.Cluster {
	t.Helper()
	if os.Getenv(pgtest.ClusterVariable) == "" {
		t.Skipf("%s names no PostgreSQL with Citus: make test-citus", pgtest.ClusterVariable)
	}
	c, err := pgtest.StartCluster(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// spread is a database of a cluster with our tables, each tenant whole on one node.
func spread(t testing.TB, c pgtest.Cluster) pgtest.Database {
	t.Helper()
	d, err := c.Database(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: d.Role}); err != nil {
		t.Fatal(err)
	}
	done, err := postgres.Distribute(t.Context(), d.Owner, false)
	if err != nil || !done.Made {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, sql := range done.Left {
		execute(t, d.Super, sql)
	}
	return d
}

// The contract, on tables that lie on three nodes.
func TestStoreOnACluster(t *testing.T) {
	c := realCluster(t)
	var one sync.Mutex // roles, which are distributed too, are those of all databases
	databases := pool{make: func(t testing.TB) pgtest.Database {
		one.Lock()
		defer one.Unlock()
		return spread(t, c)
	}}
	storetest.Run(t, storetest.Target{
		Open: func(t *testing.T) loci.Store {
			d, giveBack := databases.take(t)
			t.Cleanup(giveBack)
			return openWith(t, d.Server, new(postgres.Options).Stream(2)) // lists are merged, which is another statement
		},
		Reopen: func(t *testing.T, s loci.Store) loci.Store {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return openAt(t, urlOf(t, s))
		},
		Shared: func(t *testing.T, s loci.Store) loci.Store { return openAt(t, urlOf(t, s)) },
	})
	t.Run("statements", func(t *testing.T) {
		d, giveBack := databases.take(t)
		t.Cleanup(giveBack)
		checkTasks(t, openAt(t, d.Server))
	})
}

// checkTasks requires that each statement the contract sent, but those that are about all
// tenants, is a task for one node.
func checkTasks(t *testing.T, s loci.Store) {
	tn := locitest.Tenant(t, "tasks")
	if err := s.Apply(t.Context(), tn, creation(loci.NewID())); err != nil {
		t.Fatal(err)
	}
	asked := 0
	seen.Range(func(key, value any) bool {
		sql, args := key.(string), value.([]any)
		if !strings.Contains(sql, "loci.") || slices.Contains(postgres.OfAll, sql) || strings.HasPrefix(sql, "SET ") ||
			strings.HasPrefix(sql, "EXPLAIN") {
			return true
		}
		asked++
		plan, err := postgres.Explain(t.Context(), s, tn, sql, args)
		if tasks := regexp.MustCompile(`"Task Count": (\d+)`).FindSubmatch(plan); err != nil || tasks == nil || string(tasks[1]) != "1" {
			t.Errorf("%s\nis no task for one node: %v\n%s", sql, err, plan)
		}
		return true
	})
	if asked < 50 {
		t.Errorf("%d statements were looked at; that is not all there are", asked)
	}
}

// Eight clients write to four tenants through two servers that go to the node of each, while the
// shard of one is moved, an index is built, and a worker and then the coordinator are killed: the
// first two refuse nobody, and no acknowledged write is lost.
func TestMovesAndKillsOnACluster(t *testing.T) {
	c := realCluster(t)
	d := spread(t, c)
	at := changed(t, c.All(d.Server), func(u *url.URL) { u.RawQuery += "&nodes=home" })
	nodes := []loci.Store{openAt(t, at), openAt(t, at)}
	w := &written{ids: map[string][]loci.ID{}}
	ctx, end := context.WithTimeout(t.Context(), 5*time.Minute)
	wait := w.write(ctx, nodes)
	defer func() { end(); wait() }()
	w.until(t, 200)
	w.find(t, nodes)

	// Servers go to the node themselves: its other connections are Citus' own.
	var of []int32
	shard := fmt.Sprintf(`get_shard_id_for_distribution_column('loci.tenant', '\x%x'::bytea)`, postgres.KeyOf(locitest.Tenant(t, "tenant 0")))
	port := "(SELECT nodeport FROM pg_dist_shard_placement WHERE shardid = " + shard + ")"
	query(t, d.Super, "SELECT "+port, &of)
	home := slices.IndexFunc(c, func(s *pgtest.Server) bool {
		return strings.HasSuffix(s.Address(), fmt.Sprint(":", of[0]))
	})
	theirs := changed(t, d.Super, func(u *url.URL) { u.Host = c[home].Address() })
	waitFor(t, theirs, "EXISTS (SELECT 1 FROM pg_stat_activity WHERE usename = '"+d.Role+"' AND application_name = 'loci')")

	for _, mode := range []string{"block_writes", "force_logical"} {
		cleanUp(t, d)
		query(t, d.Super, "SELECT "+port, &of)
		to := c[1]
		if strings.HasSuffix(to.Address(), fmt.Sprint(":", of[0])) {
			to = c[2]
		}
		host, toPort, err := net.SplitHostPort(to.Address())
		if err != nil {
			t.Fatal(err)
		}
		refused, begin := w.refusals(), time.Now()
		execute(t, d.Super, fmt.Sprintf("SELECT citus_move_shard_placement(%s, '127.0.0.1', %d, '%s', %s, '%s')", shard, of[0], host, toPort, mode))
		took := time.Since(begin)
		w.until(t, 200)
		w.find(t, nodes)
		t.Logf("a move by %s took %v", mode, took)
		if said := w.refusals()[len(refused):]; len(said) > 0 {
			t.Errorf("a move by %s refused %d writes: %s", mode, len(said), said[0])
		}
	}

	for _, sql := range strings.Split(beforeOrder, ";") {
		execute(t, d.Owner, sql)
	}
	refused := w.refusals()
	if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{}); err != nil {
		t.Error(err)
	}
	if said := w.refusals()[len(refused):]; len(said) > 0 {
		t.Errorf("an index that was built refused %d writes: %s", len(said), said[0])
	}

	for _, node := range []*pgtest.Server{c[1], c[0]} { // a worker, and the coordinator
		if err := node.Crash(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // some write nothing
		if err := node.Launch(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.until(t, 400)
	}
	end()
	wait()
	acked, lost := w.verify(t, nodes)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, acked)
	}
	for _, node := range c { // a transaction in two phases that nobody ends holds its locks for ever
		at := changed(t, d.Super, func(u *url.URL) { u.Host = node.Address() })
		waitFor(t, at, "NOT EXISTS (SELECT 1 FROM pg_prepared_xacts)")
	}
	t.Logf("%d writes, %d refused", acked, len(w.refusals()))
}

// Nodes are emptied, leave the cluster and come back, each in its turn, while eight clients write to
// four tenants through two servers: nobody is refused, and no acknowledged write is lost.
func TestNodesOfAClusterComeAndGo(t *testing.T) {
	c := realCluster(t)
	d := spread(t, c)
	at := changed(t, c.All(d.Server), func(u *url.URL) { u.RawQuery += "&nodes=home" })
	nodes := []loci.Store{openAt(t, at), openAt(t, at)}
	w := &written{ids: map[string][]loci.ID{}}
	ctx, end := context.WithTimeout(t.Context(), 8*time.Minute)
	wait := w.write(ctx, nodes)
	defer func() { end(); wait() }()
	w.until(t, 200)
	for i, mode := range []string{"force_logical", "block_writes"} {
		node := c[i+1].Place()
		on := fmt.Sprintf("SELECT count(*) FROM citus_shards WHERE (nodename, nodeport) = (%s)", node)
		for _, step := range []struct{ what, sql string }{
			{"empties", fmt.Sprintf("SELECT citus_drain_node(%s, '%s')", node, mode)},
			{"removes", fmt.Sprintf("SELECT citus_remove_node(%s)", node)},
			{"adds", fmt.Sprintf("SELECT citus_add_node(%s)", node)},
			{"fills", fmt.Sprintf("SELECT rebalance_table_shards(shard_transfer_mode => '%s')", mode)},
		} {
			cleanUp(t, d) // once a node is removed, nobody drops what is left on it
			begin := time.Now()
			execute(t, d.Super, step.sql)
			took := time.Since(begin)
			var shards []int64
			if query(t, d.Super, on, &shards); (shards[0] == 0) == (step.what == "fills") {
				t.Errorf("%s a node by %s: it has %d shards", step.what, mode, shards[0])
			}
			w.until(t, 200)
			w.find(t, nodes)
			t.Logf("%s a node by %s in %v; %d writes refused so far", step.what, mode, took, len(w.refusals()))
		}
	}
	if said := w.refusals(); len(said) > 0 { // before the end, which takes some back
		t.Errorf("%d writes were refused: %s", len(said), said[0])
	}
	end()
	wait()
	acked, lost := w.verify(t, nodes)
	if lost > 0 {
		t.Errorf("%d of %d acknowledged writes are lost", lost, acked)
	}
	t.Logf("%d writes", acked)
}

// cleanUp drops what moves have left over, which is in the way of the next ones; Citus drops it behind them.
func cleanUp(t *testing.T, d pgtest.Database) {
	t.Helper()
	execute(t, d.Super, "CALL citus_cleanup_orphaned_resources()")
	waitFor(t, d.Super, "NOT EXISTS (SELECT 1 FROM pg_dist_cleanup)")
}

// refusals are the writes that were not acknowledged so far.
func (w *written) refusals() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.refused)
}

// BenchmarkNodes compares a write and a search by way of a cluster's coordinator, of any node, and
// of the one that holds the tenant, which is a worker.
func BenchmarkNodes(b *testing.B) {
	c := realCluster(b)
	d := spread(b, c)
	var tn loci.Tenant
	for i := 0; ; i++ {
		tn = locitest.Tenant(b, fmt.Sprint("tenant ", i))
		var of []int32
		query(b, d.Super, fmt.Sprintf(`SELECT nodeport FROM pg_dist_shard_placement
			WHERE shardid = get_shard_id_for_distribution_column('loci.tenant', '\x%x'::bytea)`, postgres.KeyOf(tn)), &of)
		if !strings.HasSuffix(c[0].Address(), fmt.Sprint(":", of[0])) {
			break
		}
	}
	for _, nodes := range []string{"failover", "any", "home"} {
		b.Run(nodes, func(b *testing.B) {
			s := openAt(b, changed(b, c.All(d.Server), func(u *url.URL) { u.RawQuery += "&nodes=" + nodes }))
			for b.Loop() {
				id := loci.NewID()
				if err := s.Apply(b.Context(), tn, creation(id)); err != nil {
					b.Fatal(err)
				}
				if _, err := s.Match(b.Context(), tn, loci.Probe{Text: wordOf(id)}, anywhere, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
