// Package postgres is the store in a PostgreSQL database that many servers share: every
// tenant in the same tables, each statement about one of them.
//
// Search runs in an index held in the process, as with every store; see package index.
// Readers follow the tenant's change counter, so that a write of another server is found
// by the next search.
package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/loci-memory/loci"
)

// Options configure a store; nil and the zero value of each field mean the default.
type Options struct {
	MaxConns      int           // connections at once; default 16, or the URL's pool_max_conns
	PoolWait      time.Duration // how long a call waits for a connection; default 10 s
	IndexPassages int           // passages of search index held, about 500 bytes each; default 2,000,000
	Logger        *slog.Logger  // default slog.Default(); gets ids and sizes, never content

	// Unprepared sends every statement with its text, for a pooler that keeps no prepared
	// statements; also by default_query_exec_mode=exec in the URL.
	Unprepared bool
}

const (
	defaultConns    = 16
	defaultPoolWait = 10 * time.Second
	connectTimeout  = 10 * time.Second

	// maxTenants bounds the tenants that are remembered: their namespaces and index.
	maxTenants = 10_000
)

// A Store is a database.
type Store struct {
	pool *pgxpool.Pool
	opts Options
	log  *slog.Logger

	mu      sync.Mutex
	idle    *sync.Cond // signalled when a call ends
	calls   int        // under way
	tenants map[loci.Tenant]*tenant
	tick    int64
	closed  bool

	owner []byte      // who this process is to others that do upkeep
	swept atomic.Bool // every tenant was seen to since the store was opened
}

var _ loci.Store = (*Store)(nil)

// tenant is what the process remembers of one.
type tenant struct {
	name loci.Tenant
	key  []byte // first column of every table

	users int   // calls under way; guarded by the store
	used  int64 // when it was used last; guarded by the store

	names  names
	search searchIndex
	writer writer
}

// keyOf is the 16 bytes that stand for a tenant. That its name is the one beside them is
// checked at every look.
func keyOf(t loci.Tenant) []byte {
	sum := sha256.Sum256([]byte("loci tenant\x00" + t.String()))
	return sum[:16]
}

// Open connects to the database that a URL names and makes sure that it may be used: its
// version, encoding and schema, and that the role's wall between tenants stands.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s := &Store{tenants: map[loci.Tenant]*tenant{}, owner: make([]byte, 16)}
	_, _ = rand.Read(s.owner) // never fails
	s.idle = sync.NewCond(&s.mu)
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.PoolWait <= 0 {
		s.opts.PoolWait = defaultPoolWait
	}
	if s.opts.IndexPassages <= 0 {
		s.opts.IndexPassages = 2_000_000
	}
	if s.log = s.opts.Logger; s.log == nil {
		s.log = slog.Default()
	}
	cfg, err := configure(url)
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
	if s.pool, err = pgxpool.NewWithConfig(context.WithoutCancel(ctx), cfg); err != nil {
		return nil, translate("open", err)
	}
	if err := s.examine(ctx); err != nil {
		s.pool.Close()
		return nil, translate("open", err)
	}
	return s, nil
}

// configure reads a URL. What is wrong with it is said without its password.
func configure(url string) (*pgxpool.Config, error) {
	if !strings.HasPrefix(url, "postgres://") && !strings.HasPrefix(url, "postgresql://") {
		return nil, loci.Errorf(loci.Invalid, "the store's URL must begin with postgres:// or postgresql://")
	}
	cfg, err := pgxpool.ParseConfig(url)
	if err != nil { // its text may show what was written, a password too
		return nil, &loci.Error{
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
	return cfg, nil
}

// enter counts a call and finds what is remembered of its tenant.
func (s *Store) enter(ctx context.Context, name loci.Tenant) (*tenant, error) {
	if err := ctx.Err(); err != nil {
		return nil, loci.AsError(err)
	}
	if name.IsZero() {
		return nil, loci.Errorf(loci.Invalid, "a tenant is missing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed()
	}
	t := s.tenants[name]
	if t == nil {
		if len(s.tenants) >= maxTenants {
			s.forgetOldest()
		}
		t = &tenant{name: name, key: keyOf(name)}
		s.tenants[name] = t
	}
	s.calls++
	s.tick++
	t.users++
	t.used = s.tick
	return t, nil
}

// forgetOldest drops what is remembered of a tenant that was not asked for longest.
func (s *Store) forgetOldest() {
	var oldest *tenant
	for _, t := range s.tenants {
		if t.users == 0 && (oldest == nil || t.used < oldest.used) {
			oldest = t
		}
	}
	if oldest != nil {
		delete(s.tenants, oldest.name)
	}
}

func (s *Store) leave(t *tenant) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.users--
	if s.calls--; s.calls == 0 {
		s.idle.Broadcast()
	}
}

func errClosed() error { return loci.Errorf(loci.Unavailable, "the store is closed") }

// Close implements [loci.Store]: it waits for the calls under way.
func (s *Store) Close() error {
	s.mu.Lock()
	s.closed = true
	for s.calls > 0 {
		s.idle.Wait()
	}
	s.tenants = nil
	s.mu.Unlock()
	s.pool.Close() // a second time does nothing
	return nil
}
