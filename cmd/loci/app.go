package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/observe"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/store"
)

// An app is one run of the program: its streams, its configuration, and what a
// command opens of it.
type app struct {
	ctx    context.Context
	stdin  io.Reader
	rawOut io.Writer     // standard output, for asking whether it is a terminal
	out    *bufio.Writer // over rawOut; run flushes it
	err    io.Writer
	env    config.Environ
	flags  *flags
	json   bool
	called string   // the command, such as "session list"
	args   []string // it was called with

	closing  string // a remark to print after the output
	imported bool   // much may be stored whose index nobody has made

	cfg       *config.Config
	level     slog.LevelVar // of the log; cfg says where it begins
	principal loci.Principal
	store     loci.Store
	embedder  loci.Embedder  // nil: none
	reranker  loci.Reranker  // nil: none
	completer loci.Completer // nil: no language model is configured
	engine    *loci.Engine
	refusals  *auth.Refusals // of a server that asks for credentials
	watch     *observe.Watch // of a server: metrics and traces
	running   *server.Server // of HTTP
	tenants   *auth.Keys     // of a server that asks for credentials: it knows the tenants there are
	tokens    atomic.Int64   // of language models, for a tenant of a server without a limit of its own; 0: any number
}

// actor is who the audit log says acted.
const actor = "local"

// configure reads the configuration, once.
func (a *app) configure() (*config.Config, error) {
	if a.cfg != nil {
		return a.cfg, nil
	}
	cfg, err := config.Load(a.env, a.flags.Config, a.flags.given())
	if err != nil {
		return nil, err
	}
	a.principal, err = loci.NewPrincipal(cfg.Tenant, actor, cfg.Vars, cfg.Scopes...)
	a.cfg = cfg
	a.level.Set(cfg.LogLevel)
	return cfg, err
}

// open makes the engine over the configured store, for a command that needs the
// given scopes.
func (a *app) open(scopes ...loci.Scope) error {
	cfg, err := a.configure()
	if err != nil {
		return err
	}
	for _, s := range scopes {
		if err := a.principal.Require(s); err != nil {
			return err
		}
	}
	options := cfg.StoreOptions
	options.Logger = a.logger()
	if a.store, err = store.Open(a.ctx, cfg.Store, &options); err != nil {
		return err
	}
	completer, err := cfg.Completer()
	if err != nil {
		return err
	}
	a.completer = observe.Completer(completer)
	a.engine, err = a.newEngine(observe.Store(a.store))
	return err
}

// newEngine makes an engine as configured.
func (a *app) newEngine(s loci.Store) (*loci.Engine, error) {
	var err error
	if a.embedder, err = embedding.Open(a.cfg.Embedding); err != nil {
		return nil, err
	}
	opts := a.cfg.Engine(a.logger())
	opts.Embedder = a.embedder
	if opts.Rerank.Reranker, err = embedding.OpenReranker(a.cfg.RerankModel); err != nil {
		return nil, err
	}
	a.reranker = opts.Rerank.Reranker
	opts.Quota = func(ctx context.Context, t loci.Tenant) (loci.Quota, error) {
		if a.tenants == nil { // nobody is asked who they are: it is the operator's own
			return loci.Quota{}, nil
		}
		return a.tenants.Quota(ctx, t)
	}
	opts.ModelTokens = a.modelTokens
	return loci.New(s, &opts)
}

// modelTokens is how many tokens of language models a tenant may use on a day.
func (a *app) modelTokens(ctx context.Context, t loci.Tenant) (int64, error) {
	preset := a.tokens.Load()
	if a.tenants == nil {
		return preset, nil
	}
	own, err := a.tenants.TenantLimits(ctx, t)
	return cmp.Or(own.ModelTokensPerDay, preset), err
}

// logger writes to standard error: standard output belongs to the reply.
func (a *app) logger() *slog.Logger {
	opts := &slog.HandlerOptions{Level: &a.level}
	if a.json {
		return slog.New(slog.NewJSONHandler(a.err, opts))
	}
	return slog.New(slog.NewTextHandler(a.err, opts))
}

func (a *app) close() error {
	if a.store == nil {
		return nil
	}
	if a.imported { // behind the output: a signal ends it, and the first search does the rest
		a.keepIndexQuietly(a.ctx, a.principal.Tenant())
	}
	return a.store.Close()
}

// A place is the flag that chooses another namespace than the caller's own.
type place struct {
	Namespace *string `placeholder:"PATH" help:"The namespace, as in user/alice or org/acme/bot, instead of that of the user or the organisation. One above your own, or an empty one for the whole tenant, needs the scope admin."`
}

// namespace returns where a command works.
func (a *app) namespace(p place) (loci.Namespace, error) {
	n, err := loci.Template(nil).Resolve(a.principal.Vars())
	if p.Namespace != nil {
		chosen, bad := loci.ParseNamespace(*p.Namespace)
		if bad == nil && (err == nil && holdsMore(chosen, n) || holdsMany(chosen)) {
			bad = a.wholeTenant(chosen)
		}
		return chosen, bad
	}
	if err != nil && a.principal.Var(loci.VarUser) == "" {
		return nil, &loci.Error{Code: loci.Invalid, Msg: "whose memory? Neither a user nor an organisation is set", Err: err,
			Recovery: "Set --user or --org, or the place itself with --namespace."}
	}
	return n, err
}

// holdsMore says that a place lies above one's own.
func holdsMore(n, own loci.Namespace) bool { return n.Contains(own) && !n.Equal(own) }

// holdsMany reports whether a place holds all users or all organisations.
func holdsMany(n loci.Namespace) bool {
	return len(n) == 0 || len(n) == 1 && (n[0] == "user" || n[0] == "org")
}

// wholeTenant refuses a place that also holds the memory of others, unless the caller may
// operate on the whole tenant.
func (a *app) wholeTenant(n loci.Namespace) error {
	if a.principal.May(loci.ScopeAdmin) {
		return nil
	}
	return &loci.Error{
		Code: loci.Forbidden,
		Msg: fmt.Sprintf(
			"the namespace %q holds the memory of others, too, and this credential lacks the scope \"admin\"",
			n,
		),
		Recovery: "Choose your own namespace or one below it, or set LOCI_SCOPES with admin.",
	}
}

// memory opens the store and binds a handle to a namespace of it.
func (a *app) memory(p place, idempotencyKey string, scopes ...loci.Scope) (*loci.Memory, error) {
	if _, err := a.configure(); err != nil {
		return nil, err
	}
	n, err := a.namespace(p)
	if err != nil {
		return nil, err
	}
	if err := a.open(scopes...); err != nil {
		return nil, err
	}
	return a.engine.Memory(loci.View{Tenant: a.principal.Tenant(), Namespace: n, Actor: a.principal.Subject(),
		IdempotencyKey: idempotencyKey, Source: loci.Source{Kind: "user", Client: "loci"},
		Sequence: cmp.Or(a.principal.Var(loci.VarSession), a.principal.Var(loci.VarThread))})
}
