// Package mongo is the store in a MongoDB database that many servers share: every tenant in
// the same collections, each query about one of them, each change one transaction.
//
// Search runs in an index held in the process, as with every store; see package index.
// Readers follow the tenant's change counter, so that a write of another server is found
// by the next search.
package mongo

import (
	"context"
	"crypto/rand"
	"iter"
	"log/slog"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/event"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/internal/lobby"
	"github.com/loci-memory/loci/store/internal/meter"
	"github.com/loci-memory/loci/store/internal/upkeep"
)

// Options configure a store; nil and the zero value of each field mean the default.
type Options struct {
	MaxConns    int          // connections to each server at once; default 64, or the URL's maxPoolSize
	IndexMemory int64        // bytes that the search indexes of all tenants may take; default 2 GiB
	Logger      *slog.Logger // default slog.Default(); gets ids and sizes, never content

	// MaxStaleness is for how long a search may answer from what this process knew, without a
	// look at what other servers wrote; its own writes it finds at once. 0: it always looks.
	MaxStaleness time.Duration

	// IndexCache is a directory for copies of the index that the database keeps; it holds up to
	// IndexCacheSize bytes. "" keeps them in memory.
	IndexCache         string
	IndexCacheSize     int64
	IndexCacheOptional bool // where IndexCache cannot be used, they are kept in memory

	keep  follow.Keep          // except what is above
	clock func() time.Duration // of [follow.Search]
}

const (
	defaultConns   = 64
	connectTimeout = 10 * time.Second

	// selectTimeout is how long an operation waits for a primary, while another one is elected.
	selectTimeout = 10 * time.Second

	// heartbeat bounds how long a server may seem to be gone. The driver's monitor waits for
	// changes for so long, and may miss that an operation lost its connection meanwhile.
	heartbeat = 2 * time.Second

	// DefaultDatabase is used where a URL names none.
	DefaultDatabase = "loci"

	// tenantBytes is the length of what stands for a tenant.
	tenantBytes = 16
)

// A Store is a database.
type Store struct {
	meter  meter.Meter
	client *mongo.Client
	db     *mongo.Database
	opts   Options
	log    *slog.Logger

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
	key  []byte // stands for it in every document

	names  batch.Names
	search follow.Index
	queue  batch.Queue[*tx]

	recount batch.Recount
}

// guest is a tenant while it is asked for.
type guest = lobby.Guest[*tenant]

func newTenant(name loci.Tenant) *tenant { return &tenant{name: name, key: batch.KeyOf(name)} }

// about begins a filter of documents of the tenant. An _id comes first: it tells more.
func (t *tenant) about(more ...bson.E) bson.D {
	mine := bson.E{Key: fTenant, Value: binaryOf(t.key)}
	if len(more) > 0 && more[0].Key == fID {
		return append(bson.D{more[0], mine}, more[1:]...)
	}
	return append(bson.D{mine}, more...)
}

// Open connects to the database that a URL names and makes sure that it may be used: that
// the server has transactions, its version, the schema, and what the user may do.
func Open(ctx context.Context, url string, opts *Options) (*Store, error) {
	s := &Store{owner: make([]byte, 16), crew: follow.NewCrew()}
	_, _ = rand.Read(s.owner) // never fails
	s.lobby.Make = newTenant
	s.upkeep = upkeep.Upkeep{Table: upkeepTable{s}, LeaseTime: func() time.Duration { return leaseTime }}
	if opts != nil {
		s.opts = *opts
	}
	if s.opts.IndexMemory <= 0 {
		s.opts.IndexMemory = 2 << 30
	}
	if s.log = s.opts.Logger; s.log == nil {
		s.log = slog.Default()
	}
	if err := s.connect(url); err != nil {
		return nil, err
	}
	if err := s.examine(ctx); err != nil {
		s.disconnect()
		return nil, translate("open", err)
	}
	if err := s.openShelf(); err != nil {
		s.disconnect()
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

// observe, when not nil, is shown every command: for the test that reads them.
var observe func(context.Context, *event.CommandStartedEvent)

// connect reads a URL and makes a client, which connects when it is first used. What is
// wrong with the URL is said without its password.
func (s *Store) connect(url string) error {
	database, err := databaseOf(url)
	if err != nil {
		return err
	}
	cfg := options.Client().ApplyURI(url).
		SetReadConcern(readconcern.Majority()).
		SetWriteConcern(writeconcern.Majority()).
		SetReadPreference(readpref.Primary()). // a secondary may not have yet what was stored
		SetMonitor(&event.CommandMonitor{Started: observe})
	if err := cfg.Validate(); err != nil { // its text may show what was written, a password too
		return &loci.Error{
			Code: loci.Invalid,
			Err:  err,
			Msg:  "the store's URL cannot be read: write mongodb://user:password@host:27017/database?replicaSet=rs0&tls=true, with what is no letter or digit in the password as %XX",
		}
	}
	if s.opts.MaxConns > 0 {
		cfg.SetMaxPoolSize(uint64(s.opts.MaxConns))
	} else if cfg.MaxPoolSize == nil {
		cfg.SetMaxPoolSize(defaultConns)
	}
	if cfg.ConnectTimeout == nil {
		cfg.SetConnectTimeout(connectTimeout)
	}
	if cfg.ServerSelectionTimeout == nil {
		cfg.SetServerSelectionTimeout(selectTimeout)
	}
	if cfg.HeartbeatInterval == nil {
		cfg.SetHeartbeatInterval(heartbeat)
	}
	if cfg.AppName == nil {
		cfg.SetAppName("loci")
	}
	if s.client, err = mongo.Connect(cfg); err != nil {
		return translate("open", err)
	}
	s.db = s.client.Database(database)
	return nil
}

// IsURL reports whether a URL names a database of this kind.
func IsURL(url string) bool {
	return strings.HasPrefix(url, "mongodb://") || strings.HasPrefix(url, "mongodb+srv://")
}

// databaseOf is the database that a URL names.
func databaseOf(url string) (string, error) {
	if !IsURL(url) {
		return "", loci.Errorf(loci.Invalid, "the store's URL must begin with mongodb:// or mongodb+srv://")
	}
	_, rest, _ := strings.Cut(url, "://")
	rest, _, _ = strings.Cut(rest, "?")
	_, name, _ := strings.Cut(rest[strings.LastIndexByte(rest, '@')+1:], "/")
	switch {
	case name == "":
		return DefaultDatabase, nil
	case len(name) > 63 || strings.ContainsAny(name, "/\\. \"$%*<>:|?"):
		return "", loci.Errorf(loci.Invalid,
			"the database in the store's URL must be a name of 1 to 63 letters, digits, - and _, such as mongodb://host/loci")
	}
	return name, nil
}

func (s *Store) disconnect() {
	ctx, cancel := context.WithTimeout(context.Background(), connectTimeout)
	defer cancel()
	if err := s.client.Disconnect(ctx); err != nil {
		s.log.Debug("the client of the database did not end in time", "error", err)
	}
}

// Close implements [loci.Store]: it waits for the calls under way.
func (s *Store) Close() error {
	s.lobby.Close()
	s.crew.Close()
	s.shelf.Close()
	s.disconnect() // a second time does nothing
	return nil
}

// Tenants implements [loci.Store].
func (s *Store) Tenants(ctx context.Context) iter.Seq2[loci.Tenant, error] {
	return s.upkeep.Tenants(ctx)
}

// Due implements [loci.Store].
func (s *Store) Due(ctx context.Context, now time.Time) iter.Seq2[loci.Tenant, error] {
	return s.shelf.Due(ctx, s.upkeep.Due(ctx, now))
}
