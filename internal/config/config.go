// Package config reads what can be configured: flags, environment and one file, laid over
// the defaults. Its table of settings is the only place that knows them all.
package config

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/graph"
	"github.com/loci-memory/loci/internal/plainfile"
	"github.com/loci-memory/loci/internal/spelling"
	"github.com/loci-memory/loci/llm"
	"github.com/loci-memory/loci/observe"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/store"
	"github.com/loci-memory/loci/tree"
)

// MaxBytes bounds a configuration file; real ones have a few lines.
const MaxBytes = 1 << 20

// A Config is everything that can be configured, after flags, environment and
// file have been laid over the defaults.
type Config struct {
	File string // that was read; empty: none

	Store        string // its URL
	StoreOptions store.Options
	Tenant       loci.Tenant
	Vars         loci.Vars // whose memory it is
	Scopes       []loci.Scope

	Embedding    embedding.Config // with the key of its service
	RerankModel  string           // one of [embedding.RerankerSpecs]
	MaxContent   int              // bytes of one memory's text
	Files        tree.Feature     // the limits of trees
	ReadTimeout  time.Duration    // of a tool that reads
	WriteTimeout time.Duration    // of a tool that writes

	Consolidation    loci.ConsolidateOptions // without what [Config.Completer] makes
	ConsolidateEvery time.Duration

	Backup backup.Keys // of backups that are encrypted

	Listen  string // the first address of loci serve
	HTTP    HTTP
	Auth    Auth
	Agents  []string     // that have an address
	Confirm string       // one of [tool.Confirms]
	Graph   *graph.Graph // nil: none

	Traces   observe.TraceOptions // without an endpoint there are none
	Metrics  observe.PushOptions  // without an endpoint they are not sent
	LogLevel slog.Level

	// What the methods make options of.
	tools          []toolEntry
	replyBytes     int
	engine         loci.Options // its numbers, as written: zero is zero
	keywordWeight  float64      // follows from that of vectors, or the other way round
	dedupe, redact bool
	sessions       session.Feature
	llm            llm.Config

	// What only reading needs.
	named          loci.Vars // by the layer that is read; choose makes Vars of them
	defaultUser    bool
	eventual       bool // searches may be as stale as the next one says
	staleness      time.Duration
	graphFile      string // empty: the graph is in the configuration file, or there is none
	embeddingKey   keySource
	llmKey         keySource
	traceHeaders   string            // the file
	metricsHeaders string            // likewise
	faulty         map[string]bool   // by key of a setting: what a layer says of it is a fault, which was told
	origin         map[string]string // by key of a setting: where its value was written; no entry: the default
	written        map[string]string // by key of a setting: its value as it was written
}

// AuthNone and the others are the ways in which loci serve asks who sends a request.
const (
	AuthToken = "token"
	AuthNone  = "none"
	AuthKeys  = "keys"
	AuthJWT   = "jwt"
	AuthBoth  = "keys+jwt"
)

// Auth is what is configured about who may ask loci serve.
type Auth struct {
	Mode string // one of those above

	TokenFile string // with AuthToken, where the token is; "" without a home

	// TenantsOnFirstSight: whoever names a tenant in a new key or a request makes it.
	TenantsOnFirstSight bool

	// Elevation is how long a credential may act in other tenants after it was made.
	Elevation time.Duration

	Issuers []auth.Issuer // whose tokens are good
}

// Keys reports whether API keys are good.
func (a *Auth) Keys() bool { return a.Mode == AuthKeys || a.Mode == AuthBoth }

// Callers reports whether each request brings who it comes from. Otherwise all come from the
// one whom the settings name.
func (a *Auth) Callers() bool { return a.Keys() || a.Tokens() }

// Tokens reports whether tokens of issuers are good.
func (a *Auth) Tokens() bool { return a.Mode == AuthJWT || a.Mode == AuthBoth }

// HTTP is what is configured about loci serve, beside its address.
type HTTP struct {
	Binding server.Binding // where it listens
	Admin   []string       // where it listens for operators; none: at the addresses of Binding

	Hosts, Origins []string // by and from which it may be called, besides its own
	PublicURL      string   // by which clients call it, without a slash at the end; "": nobody said so

	// Bytes of a request; of one that brings a value; of one that brings a checkpoint or a document.
	MaxBody, MaxValueBody, MaxBlobBody int

	Limits   server.Limits
	Tokens   int64         // of language models for a tenant on a day; 0: no limit
	Timeout  time.Duration // of a request
	Shutdown time.Duration // for running requests at the end
	Delay    time.Duration // before that, while it is not ready any more
}

// Names are those by which it may be called, besides its own: that of its public address too.
func (h *HTTP) Names() []string {
	u, err := url.Parse(h.PublicURL)
	if err != nil || u.Host == "" {
		return h.Hosts
	}
	return append(slices.Clone(h.Hosts), u.Hostname())
}

// Operators is where it listens for operators, if that is a place of its own; without an
// address it is not.
func (h *HTTP) Operators() server.Binding {
	b := h.Binding
	b.Addresses, b.Sockets = h.Admin, nil
	return b
}

// apart refuses an address for operators at which the server listens already.
func (h *HTTP) apart() error {
	for _, admin := range h.Admin {
		for _, address := range h.Binding.Addresses {
			if server.SameAddress(admin, address) {
				return loci.Errorf(loci.Invalid, "the server listens at %s already, as listen says: "+
					"give operators an address of their own, or leave http.admin out", address)
			}
		}
	}
	return nil
}

// faults collects what is wrong with a configuration, so that all of it is told at once.
type faults []string

func (f *faults) add(where string, err error) {
	said := err.Error()
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		said = strings.Replace(said, path.Op+" "+path.Path, path.Path, 1) // what was called is not the reader's business
	}
	if own := (*loci.Error)(nil); errors.As(err, &own) && own.Recovery != "" { // that of err() fits any fault
		said += ": " + strings.ToLower(own.Recovery[:1]) + strings.TrimSuffix(own.Recovery[1:], ".")
	}
	*f = append(*f, where+": "+strings.ReplaceAll(said, "\n", " "))
}

// maxFaults is how many faults are told: a file may hold a hundred thousand.
const maxFaults = 50

// err is nil when nothing is wrong.
func (f faults) err() error {
	if len(f) == 0 {
		return nil
	}
	shown := f
	if len(f) > maxFaults {
		shown = append(slices.Clone(f[:maxFaults]), fmt.Sprintf("and %d more", len(f)-maxFaults))
	}
	return &loci.Error{Code: loci.Invalid, Msg: "the configuration is not valid:\n  " + strings.Join(shown, "\n  "),
		Recovery: "Correct what the message names and try again."}
}

// Load lays the file, the environment and the flags over the defaults, in this order.
// flags holds the flags that were given, by key of their setting. Every fault of every
// layer is reported, even in values that another layer overrides.
func Load(env Environ, file *string, flags map[string]string) (*Config, error) {
	c := defaults()
	var bad faults
	c.readFile(env, file, &bad)
	c.choose()
	c.readEnv(env, &bad)
	c.choose()
	for i := range settings {
		s := &settings[i]
		if value, ok := flags[s.Key]; ok {
			c.put(s, value, "--"+s.Flag, &bad)
		}
	}
	c.choose()
	c.complete(env, &bad)
	if err := bad.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// defaults is the configuration without any file, variable or flag. The values
// come from the table, so that the reference cannot say anything else; settings
// whose default depends on the machine or on others are completed later.
func defaults() *Config {
	c := &Config{Vars: loci.Vars{}, named: loci.Vars{}, faulty: map[string]bool{},
		origin: map[string]string{}, written: map[string]string{}}
	for i := range settings {
		s := &settings[i]
		later := []string{"store", "user", "index.cache", "llm.base_url", "llm.key_env"}
		if s.Default == "" || slices.Contains(later, s.Key) {
			continue
		}
		if err := c.write(s, s.Default); err != nil {
			panic(fmt.Sprintf("default of %s: %v", s.Key, err))
		}
	}
	return c
}

// choose lays the identity that a layer names over that of the layers before. As with a
// request ([loci.Principal.With]), a name drops the narrower names that another layer
// added: an organisation drops user and agent, and each of these drops the conversation.
// An agent keeps the user here, though: whoever configures both says who acts for whom.
func (c *Config) choose() {
	narrower := []string{}
	switch {
	case c.named[loci.VarOrg] != "":
		narrower = []string{loci.VarUser, loci.VarAgent, loci.VarThread, loci.VarSession}
	case c.named[loci.VarUser] != "":
		narrower = []string{loci.VarThread, loci.VarSession}
	}
	for _, name := range narrower {
		delete(c.Vars, name)
	}
	maps.Copy(c.Vars, c.named)
	clear(c.named)
}

// write sets a value and remembers how it was written.
func (c *Config) write(s *Setting, value string) error {
	c.written[s.Key] = value
	return s.set(c, value)
}

// put sets a value and remembers where it was written.
func (c *Config) put(s *Setting, value, where string, bad *faults) {
	if err := c.write(s, value); err != nil {
		c.faulty[s.Key] = true
		bad.add(where, err)
		return
	}
	c.origin[s.Key] = where
}

func (c *Config) readEnv(env Environ, bad *faults) {
	known := []string{"CONFIG"}
	for i := range settings {
		s := &settings[i]
		known = append(known, strings.TrimPrefix(s.Env(), EnvPrefix))
		if value, ok := env.Lookup(s.Env()); ok && (value != "" || s.emptyCounts()) {
			c.put(s, value, "$"+s.Env(), bad)
		}
	}
	// A misspelt variable must not go unnoticed: LOCI_TENNANT would mean another tenant.
	// A name that resembles none of ours belongs to another program.
	for _, line := range env {
		name, value, _ := strings.Cut(line, "=")
		rest, ours := strings.CutPrefix(name, EnvPrefix)
		if value == "" || !ours || slices.Contains(known, rest) {
			continue
		}
		if near := spelling.Nearest(rest, known); near != "" {
			bad.add("$"+name, fmt.Errorf("is not a setting: did you mean %s?", EnvPrefix+near))
		}
	}
}

// readFile reads the one file: that of --config, else of $LOCI_CONFIG, else the
// user's own if there is one. The working directory is not looked at: it may be
// somebody else's project, which must not choose whose memory is used.
func (c *Config) readFile(env Environ, file *string, bad *faults) {
	path, where := "", "--config"
	switch value := env.Get("LOCI_CONFIG"); {
	case file != nil:
		path = *file
	case value != "":
		path, where = value, "$LOCI_CONFIG"
	default:
		dir := configDir(env)
		if dir == "" {
			return
		}
		where = ""
		path = filepath.Join(dir, "loci", "loci.yaml")
	}
	if path == "" {
		bad.add(where, errors.New("must not be empty"))
		return
	}
	data, err := plainfile.Read(path, MaxBytes)
	switch {
	case err == nil:
		c.File = path
		c.parseFile(path, data, bad)
	case where == "" && errors.Is(err, fs.ErrNotExist):
	case where == "":
		bad.add(path, err)
	default:
		bad.add(where, err)
	}
}

// complete fills in what depends on other settings, and checks what only holds
// between them.
func (c *Config) complete(env Environ, bad *faults) {
	data := dataDir(env)
	if c.origin["store"] == "" {
		c.Store = "sqlite:" + filepath.Join(data, "loci", "loci.db")
		if data == "" {
			bad.add("store", errors.New("no home directory is set, so there is no place for a memory: set HOME, or say --store sqlite:PATH"))
		}
	}
	if c.eventual {
		c.StoreOptions.MaxStaleness = c.staleness
	}
	if c.defaultUser && c.Vars[loci.VarUser] == "" && c.Vars[loci.VarOrg] == "" {
		c.Vars[loci.VarUser] = "default"
	}
	c.checkRetrieval(bad)
	if c.origin["auth.token_file"] == "" {
		if c.Auth.TokenFile = ""; data != "" {
			c.Auth.TokenFile = filepath.Join(data, "loci", "token")
		}
	}
	c.HTTP.Binding.Asks = c.Auth.Callers() // the token of one person is for this machine
	c.checkBinding(bad)
	c.checkAuth(bad)
	c.checkTools(bad)
	c.checkGraph(bad)
	c.checkLLM(bad)
	c.checkNeeds(env, bad)
	c.readKeys(env)
}
