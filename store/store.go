// Package store opens stores by URL; it alone knows which there are.
package store

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
)

// The defaults of [Options].
const (
	DefaultMaxOpen     = sqlite.DefaultMaxOpen
	DefaultIndexMemory = sqlite.DefaultIndexMemory

	// DefaultIndexCacheSize is how many bytes [Options.IndexCache] may hold.
	DefaultIndexCacheSize = 8 << 30
)

// Options configure any store; nil and zero values mean the defaults.
type Options struct {
	MaxOpen     int          // files of tenants open at once; default DefaultMaxOpen
	IndexMemory int64        // bytes that the search indexes of all tenants may take; default DefaultIndexMemory
	Logger      *slog.Logger // default slog.Default(); gets paths, sizes and ids, never content

	// MaxStaleness is for how long a search of a store that servers share may answer from what
	// this process knew, without a look at what others wrote; its own writes it finds at once.
	// 0: it always looks.
	MaxStaleness time.Duration

	// Nodes says what the hosts of a PostgreSQL URL are to one another, one of [Nodes]; default
	// what the URL says as nodes=…, or failover.
	Nodes string

	// IndexCache is a directory for copies of search indexes that a database keeps; "" is one
	// in the user's cache directory, and none where that cannot be written to; [NoIndexCache]
	// holds them in memory. IndexCacheSize is how many bytes it may hold; default
	// DefaultIndexCacheSize. Stores in files need neither.
	IndexCache     string
	IndexCacheSize int64

	// NoReserve keeps no room for deleting on a full disk, which a store in files has else: for
	// copies that go when they were used.
	NoReserve bool
}

// Nodes are the values of [Options.Nodes].
var Nodes = postgres.Nodes

// NoIndexCache is the [Options.IndexCache] of those who want none.
const NoIndexCache = "off"

// Open opens the store a URL names:
//
//	memory:            in the process; ends with it
//	sqlite:PATH.db     one file, for the tenant "default" alone
//	sqlite:PATH        a directory with a file for every tenant
//	postgres://…       a PostgreSQL database that many servers share; postgresql:// too
//	mongodb://…        a MongoDB database that many servers share; mongodb+srv:// too
//
// Any other URL is Unsupported. The caller closes the store.
func Open(ctx context.Context, url string, opts *Options) (loci.Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := ctx.Err(); err != nil {
		return nil, loci.AsError(err)
	}
	if err := checkFiles(url); err != nil {
		return nil, err
	}
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case ok && scheme == "memory" && rest == "":
		return memory.Open(), nil
	case ok && scheme == "sqlite":
		s, err := sqlite.Open(rest, &sqlite.Options{
			MaxOpen: opts.MaxOpen, IndexMemory: opts.IndexMemory, Logger: opts.Logger, NoReserve: opts.NoReserve,
		})
		if err != nil {
			return nil, err // and not a nil *sqlite.Store, which is no nil Store
		}
		return s, nil
	case isPostgres(url):
		o := &postgres.Options{
			IndexMemory: opts.IndexMemory, Logger: opts.Logger, MaxStaleness: opts.MaxStaleness, Nodes: opts.Nodes,
		}
		opts.cache(&o.IndexCache, &o.IndexCacheSize, &o.IndexCacheOptional)
		s, err := postgres.Open(ctx, url, o)
		if err != nil {
			return nil, err
		}
		return s, nil
	case mongo.IsURL(url):
		o := &mongo.Options{
			IndexMemory: opts.IndexMemory, Logger: opts.Logger, MaxStaleness: opts.MaxStaleness,
		}
		opts.cache(&o.IndexCache, &o.IndexCacheSize, &o.IndexCacheOptional)
		s, err := mongo.Open(ctx, url, o)
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	return nil, &loci.Error{Code: loci.Unsupported,
		Msg:      fmt.Sprintf("store %.200q: write memory:, sqlite:PATH, postgres://… or mongodb://…", redactURL(url)),
		Recovery: "For a file, put sqlite: before its path."}
}

// cache says where copies of search indexes lie, and whether the store goes without.
func (o *Options) cache(dir *string, size *int64, optional *bool) {
	if *size = o.IndexCacheSize; *size <= 0 {
		*size = DefaultIndexCacheSize
	}
	switch o.IndexCache {
	case NoIndexCache:
	case "":
		if user, err := os.UserCacheDir(); err == nil { // else there is none
			*dir, *optional = filepath.Join(user, "loci", "index"), true
		}
	default:
		*dir = o.IndexCache
	}
}

func isPostgres(url string) bool {
	return strings.HasPrefix(url, "postgres://") || strings.HasPrefix(url, "postgresql://")
}

// A Migration says what to do with the schema of a database.
type Migration = postgres.Migration

// A MigrationReport says what was done with a schema, or would be.
type MigrationReport = postgres.MigrationReport

// Migrate brings the schema of a database to this build's version, as the role of the URL,
// which is to own it. Stores in files do that by themselves: for them it is Unsupported.
func Migrate(ctx context.Context, url string, m Migration) (MigrationReport, error) {
	if err := checkFiles(url); err != nil {
		return MigrationReport{}, err
	}
	if mongo.IsURL(url) {
		return migrateMongo(ctx, url, m)
	}
	if !isPostgres(url) {
		return MigrationReport{}, loci.Errorf(loci.Unsupported,
			"store %.200q has nothing to migrate: a memory file is brought up to date when it is opened; write postgres://… or mongodb://…",
			redactURL(url))
	}
	return postgres.Migrate(ctx, url, m)
}

// migrateMongo is Migrate for MongoDB, where one user owns and serves.
func migrateMongo(ctx context.Context, url string, m Migration) (MigrationReport, error) {
	if m.Role != "" {
		return MigrationReport{}, loci.Errorf(loci.Invalid,
			"role %q is for PostgreSQL: in MongoDB give the user of servers the role readWrite on the database, with db.grantRolesToUser", m.Role)
	}
	r, err := mongo.Migrate(ctx, url, m.DryRun)
	return MigrationReport{From: r.From, To: r.To, Steps: r.Steps}, err
}

// A Distribution says how a database is spread over several servers.
type Distribution = postgres.Distribution

// Distribute spreads the tables of a PostgreSQL database over the nodes of Citus, or the
// collections of a MongoDB database over the shards of a cluster, each tenant whole. With dryRun
// it only says how, and so it does for a MongoDB that is no sharded cluster; a PostgreSQL without
// the extension is refused. Nobody tried it on a real cluster yet.
func Distribute(ctx context.Context, url string, dryRun bool) (Distribution, error) {
	if err := checkFiles(url); err != nil {
		return Distribution{}, err
	}
	switch {
	case isPostgres(url):
		return postgres.Distribute(ctx, url, dryRun)
	case mongo.IsURL(url):
		d, err := mongo.Distribute(ctx, url, dryRun)
		return Distribution{Commands: d.Commands, Made: d.Made}, err
	}
	return Distribution{}, loci.Errorf(loci.Unsupported,
		"store %.200q is not distributed: write postgres://… or mongodb://…", redactURL(url))
}

// redactURL hides what may be a password.
func redactURL(url string) string {
	scheme, _, ok := strings.Cut(url, ":")
	if !ok {
		return url
	}
	return scheme + ":…"
}
