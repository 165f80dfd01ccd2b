// Package postgres is the store in a PostgreSQL database that many servers share: every
// tenant in the same tables, each statement about one of them.
//
// Search runs in an index held in the process, as with every store; see package index.
// Readers follow the tenant's change counter, so that a write of another server is found
// by the next search.
package postgres

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/internal/lobby"
	"github.com/loci-memory/loci/store/internal/meter"
	"github.com/loci-memory/loci/store/internal/upkeep"
)

// Options configure a store; nil and the zero value of each field mean the default.
type Options struct {
	MaxConns    int           // connections at once, to each node; default 16, or the URL's pool_max_conns
	PoolWait    time.Duration // how long a call waits for a connection; default 10 s
	IndexMemory int64         // bytes that the search indexes of all tenants may take; default 2 GiB
	Logger      *slog.Logger  // default slog.Default(); gets ids and sizes, never content

	// Unprepared sends every statement with its text, for a pooler that keeps no prepared
	// statements; also by default_query_exec_mode=exec in the URL.
	Unprepared bool

	// Nodes says what the hosts of the URL are to one another, one of [Nodes]; default what the
	// URL says as nodes=…, or [NodesFailover].
	Nodes string

	// MaxStaleness is for how long a search may answer from what this process knew, without a
	// look at what other servers wrote; its own writes it finds at once. 0: it always looks.
	MaxStaleness time.Duration

	// IndexCache is a directory for copies of the index that the database keeps; it holds up to
	// IndexCacheSize bytes. "" keeps them in memory.
	IndexCache         string
	IndexCacheSize     int64
	IndexCacheOptional bool // where IndexCache cannot be used, they are kept in memory

	keep       follow.Keep          // except what is above
	clock      func() time.Duration // of [follow.Search]
	streamFrom int                  // 0: the constant of that name
}

const (
	defaultConns    = 16
	defaultPoolWait = 10 * time.Second
	connectTimeout  = 10 * time.Second
)

// A Store is a database.
type Store struct {
	meter meter.Meter
	nodes *nodes
	opts  Options
	log   *slog.Logger

	lobby  lobby.Lobby[*tenant]
	upkeep upkeep.Upkeep
	shelf  *follow.Shelf
	crew   *follow.Crew

	owner []byte // who this process is to others that do upkeep
}

var _ loci.Store = (*Store)(nil)

// tenant is what the process remembers of one.
type tenant struct {
	name loci.Tenant
	key  []byte // first column of every table

	names  batch.Names
	known  batch.Known
	search follow.Index
	queue  batch.Queue[*tx]

	recount batch.Recount
}

// guest is a tenant while it is asked for.
type guest = lobby.Guest[*tenant]

func newTenant(name loci.Tenant) *tenant { return &tenant{name: name, key: batch.KeyOf(name)} }

// Open connects to the database that a URL names and makes sure that it may be used: its
// version, encoding and schema, and that the role's wall between tenants stands.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s := &Store{owner: make([]byte, 16), crew: follow.NewCrew()}
	_, _ = rand.Read(s.owner) // never fails
	s.lobby.Make = newTenant
	s.upkeep = upkeep.Upkeep{Table: upkeepTable{s}, LeaseTime: func() time.Duration { return leaseTime }}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.PoolWait <= 0 {
		s.opts.PoolWait = defaultPoolWait
	}
	if s.opts.IndexMemory <= 0 {
		s.opts.IndexMemory = 2 << 30
	}
	if s.log = s.opts.Logger; s.log == nil {
		s.log = slog.Default()
	}
	cfg, kind, err := configure(url)
	if err != nil {
		return nil, err
	}
	switch {
	case s.opts.MaxConns > 0:
		cfg.MaxConns = int32(min(s.opts.MaxConns, 10_000))
	case !strings.Contains(url, "pool_max_conns"):
		cfg.MaxConns = defaultConns
	}
	if cfg.ConnConfig.DefaultQueryExecMode != pgx.QueryExecModeCacheStatement {
		s.opts.Unprepared = true
	}
	if s.nodes, err = openNodes(ctx, cfg, cmp.Or(s.opts.Nodes, kind), s.log); err != nil {
		return nil, translate("open", err)
	}
	if err = s.nodes.examine(ctx); err == nil {
		err = s.nodes.checkHomes(ctx)
	}
	if err != nil {
		s.nodes.close()
		return nil, translate("open", err)
	}
	if err := s.openShelf(); err != nil {
		s.nodes.close()
		return nil, err
	}
	return s, nil
}

// openShelf begins to keep the index in the database.
func (s *Store) openShelf() (err error) {
	keep := s.opts.keep
	keep.Cache, keep.CacheSize, keep.Optional = s.opts.IndexCache, s.opts.IndexCacheSize, s.opts.IndexCacheOptional
	s.shelf, err = follow.OpenShelf(imageTable{s}, keep, s.log)
	return err
}

// configure reads a URL, and what it says of its hosts, one of [Nodes]. What is wrong with it is
// said without its password.
func configure(url string) (_ *pgxpool.Config, nodes string, _ error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, "", loci.Errorf(loci.Invalid, "the store's URL must begin with postgres:// or postgresql://")
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil { // its text may show what was written, a password too
		if msg, recovery := faultOfFiles(err); msg != "" {
			return nil, "", &loci.Error{Code: loci.Invalid, Err: err, Msg: msg, Recovery: recovery}
		}
		if msg := faultOfOptions(err); msg != "" {
			return nil, "", &loci.Error{Code: loci.Invalid, Err: err, Msg: msg}
		}
		return nil, "", &loci.Error{
			Code: loci.Invalid,
			Err:  err,
			Msg:  "the store's URL cannot be read: write postgres://user:password@host:5432/database?sslmode=verify-full, with what is no letter or digit in the password as %XX",
		}
	}
	if cfg.ConnConfig.ConnectTimeout == 0 {
		cfg.ConnConfig.ConnectTimeout = connectTimeout
	}
	if _, ok := cfg.ConnConfig.RuntimeParams["application_name"]; !ok {
		cfg.ConnConfig.RuntimeParams["application_name"] = "loci"
	}
	nodes = cmp.Or(cfg.ConnConfig.RuntimeParams["nodes"], NodesFailover)
	delete(cfg.ConnConfig.RuntimeParams, "nodes") // ours, and not the server's
	return cfg, nodes, nil
}

// Close implements [loci.Store]: it waits for the calls under way.
func (s *Store) Close() error {
	s.lobby.Close()
	s.crew.Close()
	s.shelf.Close()
	s.nodes.close()
	return nil
}
