package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
)

// ClusterVariable names the environment variable with the directory of the programs of a
// PostgreSQL that has the extension Citus. No package of ours brings one.
const ClusterVariable = "LOCI_TEST_CITUS"

// A Cluster is a coordinator, which comes first, and its workers.
type Cluster []*Server

// StartCluster starts three servers with Citus, of which none knows another yet: that is said
// in each database ([Cluster.Database]). They are the test's own.
func StartCluster(ctx context.Context) (c Cluster, err error) {
	bin := os.Getenv(ClusterVariable)
	if !has(bin) {
		return nil, fmt.Errorf(
			"%s is %q; it must be the directory of initdb and postgres where the extension Citus is installed",
			ClusterVariable, bin,
		)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Stop())
		}
	}()
	for range 3 {
		s := &Server{programs: programs{bin: bin}}
		if s.dir, err = os.MkdirTemp("", "loci-pg-"); err != nil {
			return c, err
		}
		c = append(c, s)
		if err := s.initialise(ctx); err != nil {
			return c, err
		}
		// Nodes log in on one another as whoever asks.
		if err := s.Write("pg_hba.conf", []byte("host all all 127.0.0.1/32 trust\n")); err != nil {
			return c, err
		}
		s.args = []string{
			"listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=300", "shared_buffers=64MB",
			"shared_preload_libraries=citus", "wal_level=logical", "max_prepared_transactions=300", "fsync=off",
			"max_worker_processes=32", "citus.node_conninfo=sslmode=disable", "citus.shard_count=6",
		}
		if err := s.serve(ctx); err != nil {
			return c, err
		}
	}
	return c, nil
}

// Stop ends all servers and removes their files.
func (c Cluster) Stop() (err error) {
	for _, s := range c {
		err = errors.Join(err, s.Stop())
	}
	return err
}

// Database makes an empty database on all nodes, and makes them nodes of one cluster there. Its
// URLs are those of the coordinator.
func (c Cluster) Database(ctx context.Context) (d Database, err error) {
	for i, s := range c {
		if i == 0 {
			d, _, err = s.Database(ctx)
		} else {
			err = s.makeDatabase(ctx, d.Name)
		}
		if err != nil {
			return d, err
		}
	}
	for _, s := range c {
		if err := run(ctx, s.at("", d.Name), "CREATE EXTENSION citus"); err != nil {
			return d, err
		}
	}
	statements := []string{fmt.Sprintf("SELECT citus_set_coordinator_host('127.0.0.1', %d)", c[0].port)}
	for _, s := range c[1:] {
		statements = append(statements, fmt.Sprintf("SELECT citus_add_node('127.0.0.1', %d)", s.port))
	}
	return d, run(ctx, d.Super, strings.Join(statements, "; "))
}

// All is the URL of a coordinator's with the hosts of all nodes in it.
func (c Cluster) All(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		panic(err) // connected to before
	}
	var hosts []string
	for _, s := range c {
		hosts = append(hosts, s.Address())
	}
	u.Host = strings.Join(hosts, ",")
	return u.String()
}

// Place is what Citus calls a node by: its host and port, as two values of SQL.
func (s *Server) Place() string { return fmt.Sprintf("'127.0.0.1', %d", s.port) }
