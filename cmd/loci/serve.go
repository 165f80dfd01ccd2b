package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/config"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/mcp"
	"github.com/loci-memory/loci/observe"
	"github.com/loci-memory/loci/rest"
	"github.com/loci-memory/loci/server"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tool"
)

type serveCmd struct {
	InsecureLoopback bool `help:"Ask nobody who they are, as --auth none: every program and every user of this machine acts as the configured user."`
}

// Help is shown below the usage.
func (*serveCmd) Help() string {
	return `Serves the REST API below /v1 and MCP at /mcp, for programs that send the token in a file that the first start makes.
An address that other machines can reach needs --auth keys and TLS. An interrupt or a termination signal ends the server once
the requests under way are answered. A hangup signal makes it read its limits and its log level again.

    loci serve --user alice
    curl -s -H "Authorization: Bearer $(cat ~/.local/share/loci/token)" http://127.0.0.1:7437/v1/info`
}

// Run serves until a signal comes.
func (c *serveCmd) Run(a *app) error {
	if c.InsecureLoopback {
		if auth := a.flags.Auth; auth != nil && *auth != config.AuthNone {
			return loci.Errorf(loci.Invalid, "--insecure-loopback asks nobody, and --auth is %s: leave one of them out", *auth)
		}
		none := config.AuthNone
		a.flags.Auth = &none
	}
	if !cores.Limited() {
		defer cores.Spare()()
	}
	defer cores.RoomyHeap(cores.ServerHeap)()
	if err := a.open(); err != nil {
		return err
	}
	if err := a.writable(); err != nil {
		return err
	}
	set, err := tool.New(a.engine, a.cfg.Tools(a.logger()))
	if err != nil {
		return err
	}
	keys, err := a.keys()
	if err != nil {
		return err
	}
	defer keys.Close()
	issuers, err := a.issuers()
	if err != nil {
		return err
	}
	defer issuers.Close()
	if a.watch, err = a.watching(); err != nil {
		return err
	}
	defer a.watch.Traces.Close()
	s, err := a.newServer(set, keys, issuers)
	if err != nil {
		return err
	}
	a.running = s
	counted, err := a.counting() // from here on there is a load to count
	if err != nil {
		return err
	}
	defer counted()
	binding := a.cfg.HTTP.Binding
	binding.Logger, binding.Sockets = a.logger(), a.sockets
	l, urls, err := binding.Listen(a.ctx)
	if err != nil {
		return a.takenBy(&binding, err)
	}
	defer l.Close() //nolint:errcheck // Serve has closed it already
	apart, operatorURLs, err := a.listenApart()
	if err != nil {
		return err
	}
	for _, one := range apart {
		defer one.Close() //nolint:errcheck // the same
	}
	asked, ignore := hangups()
	defer ignore()
	defer a.leaveWord(urls)()
	if err := a.announce(urls, operatorURLs); err != nil {
		return err
	}
	switch a.cfg.Auth.Mode {
	case config.AuthToken:
		a.note("Callers send the token in %s.", a.cfg.Auth.TokenFile)
	case config.AuthNone:
		a.note("Nobody is asked who they are: every user of this machine can read and change the memory.")
	}
	a.note("The memory is in %s; Ctrl-C ends.", shownURL(a.cfg.Store))
	ctx, stop := context.WithCancel(a.watch.Watched(a.ctx))
	var beside sync.WaitGroup
	if a.refusals != nil {
		beside.Go(func() { a.refusals.Run(ctx) })
	}
	beside.Go(func() { a.reloads(ctx, s, asked) })
	beside.Go(func() {
		if a.cfg.Auth.Callers() {
			a.upkeepOfAll(ctx)
		} else {
			a.upkeep(ctx, a.principal.Tenant())
		}
	})
	err = s.Serve(a.ctx, l, apart...)
	stop()
	beside.Wait()
	return err
}

// writable opens the file of the one tenant, or that of keys. What no request could use, as it lies where
// nothing may be written, ends the server now, not each request; whatever may pass is left to requests.
func (a *app) writable() error {
	tenant := a.principal.Tenant()
	if a.cfg.Auth.Callers() {
		tenant = loci.SystemTenant()
	}
	_, err := a.engine.Generations(a.ctx, tenant)
	if errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return nil
}

// listenApart opens the addresses of operators, if they have their own.
func (a *app) listenApart() (apart []net.Listener, urls []string, err error) {
	binding := a.cfg.HTTP.Operators()
	if len(binding.Addresses) == 0 {
		return nil, nil, nil
	}
	binding.Logger = a.logger()
	l, urls, err := binding.Listen(a.ctx)
	if err != nil {
		return nil, nil, err
	}
	return []net.Listener{l}, urls, nil
}

// announce tells where the server is, to people and to programs that started it.
func (a *app) announce(urls, operators []string) error {
	if a.json {
		place := map[string]any{"url": urls[0], "urls": urls}
		if len(operators) > 0 {
			place["admin_urls"] = operators
		}
		if err := a.printJSON(place); err != nil {
			return err
		}
	} else {
		a.printf("%s\n", strings.Join(urls, "\n"))
	}
	for _, url := range operators {
		a.note("Operators find /v1/admin at %s.", url)
	}
	if err := a.out.Flush(); err != nil {
		return fileError("standard output", err)
	}
	return nil
}

// sockets are those that systemd hands over: the files from 3 on, if they are for this
// process.
func (a *app) sockets() (files []*os.File, err error) {
	if a.env.Get("LISTEN_PID") != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(a.env.Get("LISTEN_FDS"))
	if err != nil || n < 0 || n > 64 {
		return nil, loci.Errorf(loci.Invalid, "$LISTEN_FDS must be the number of sockets that systemd hands over, up to 64")
	}
	for i := range n {
		files = append(files, os.NewFile(uintptr(3+i), "socket "+strconv.Itoa(i)))
	}
	return files, nil
}

// newServer makes the server with both surfaces.
func (a *app) newServer(set *tool.Set, keys *auth.Keys, issuers *auth.Issuers) (*server.Server, error) {
	cfg := a.cfg
	nodes, err := a.agentNodes()
	if err != nil {
		return nil, err
	}
	operate, err := admin.New(admin.Options{Store: a.store, Engine: a.engine, Keys: keys})
	if err != nil {
		return nil, err
	}
	restOptions := rest.Options{
		Admin: operate, RecordElevation: a.recordElevation,
		Engine: a.engine, Tools: set, Identify: a.identify(""), Version: buildVersion().Version,
		Agents: map[string]rest.Agent{}, Logger: a.logger(), MaxBody: cfg.HTTP.MaxBody,
		MaxValueBody: cfg.HTTP.MaxValueBody, MaxBlobBody: cfg.HTTP.MaxBlobBody, Timeout: cfg.HTTP.Timeout,
		Summaries: session.SummaryOptions{Completer: a.completer, TokensPerDay: cfg.Consolidation.TokensPerDay},
	}
	for _, n := range nodes {
		restOptions.Agents[n.id] = rest.Agent{Tools: n.tools, Connector: n.connector}
	}
	api, err := rest.New(restOptions)
	if err != nil {
		return nil, err
	}
	a.tokens.Store(cfg.HTTP.Tokens)
	opts := server.Options{
		REST: api, Agents: map[string]http.Handler{}, Hosts: cfg.HTTP.Names(), OperatorsApart: len(cfg.HTTP.Admin) > 0,
		Origins: cfg.HTTP.Origins, Proxies: cfg.HTTP.Binding.Proxies, Limits: cfg.HTTP.Limits, Tenant: a.tenantOf,
		MaxBody: int64(max(cfg.HTTP.MaxBody, cfg.HTTP.MaxValueBody, cfg.HTTP.MaxBlobBody)),
		Send:    time.Minute + max(cfg.HTTP.Timeout, cfg.ReadTimeout, cfg.WriteTimeout),
		Metrics: a.watch.Metrics.Handler(), Done: func(d server.Done) { a.watch.Metrics.Request(done(d)) },
		Begin: func(ctx context.Context, h http.Header) (context.Context, func(server.Done)) {
			ctx, ended := a.watch.Request(ctx, h)
			return ctx, func(d server.Done) { ended(done(d)) }
		},
		Drain: cfg.HTTP.Shutdown, Delay: cfg.HTTP.Delay, Ready: a.ready, Logger: a.logger(),
	}
	switch {
	case cfg.Auth.Callers():
		a.ask(&opts, keys, issuers)
	case cfg.Auth.Mode == config.AuthToken:
		token, err := auth.OpenLocal(cfg.Auth.TokenFile, a.principal)
		if err != nil {
			return nil, err
		}
		opts.Authenticate = asking(auth.NewDoor(
			func(_ context.Context, p loci.Principal) (loci.Principal, error) { return p, nil }, token))
	}
	configured := agentNode{tools: set.Tools()}
	if opts.MCP, err = a.mcpHandler(configured, ""); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if opts.Agents[n.id], err = a.mcpHandler(n, ""); err != nil {
			return nil, err
		}
	}
	agents := cfg.Agents
	if own := cfg.Vars[loci.VarAgent]; len(agents) == 0 && own != "" && opts.Agents[own] == nil {
		agents = []string{own}
	}
	for _, agent := range agents {
		if opts.Agents[agent], err = a.mcpHandler(configured, agent); err != nil {
			return nil, err
		}
	}
	return server.New(opts)
}

// ask makes a server ask who sends a request, and write down what callers are refused.
func (a *app) ask(opts *server.Options, keys *auth.Keys, issuers *auth.Issuers) {
	var verifiers []auth.Verifier
	if a.cfg.Auth.Keys() {
		verifiers = append(verifiers, keys)
	}
	if a.cfg.Auth.Tokens() {
		verifiers = append(verifiers, issuers)
	}
	if a.cfg.Auth.Tokens() && a.cfg.HTTP.PublicURL != "" {
		opts.Resource = &server.Resource{URL: a.cfg.HTTP.PublicURL, Names: issuers.Names}
		for _, i := range a.cfg.Auth.Issuers {
			opts.Resource.Issuers = append(opts.Resource.Issuers, i.URL)
		}
	}
	opts.Authenticate = asking(auth.NewDoor(keys.Admit, verifiers...))
	a.refusals = auth.NewRefusals(auth.RefusalOptions{
		Write: a.engine.RecordRefusal, Open: keys.IsOpen, Logger: a.logger(),
	})
	opts.Refused = func(_ context.Context, r server.Refusal) {
		a.refusals.Add(auth.Refused{
			Tenant: r.Caller.Tenant(), Subject: r.Caller.Subject(), Operation: r.Operation,
			RequestID: r.RequestID, From: r.From,
		})
	}
	a.tenants = keys
	opts.Allowed = func(ctx context.Context, name string) (server.CallerLimits, error) {
		t, err := loci.NewTenant(name)
		if err != nil {
			return server.CallerLimits{}, err
		}
		own, err := keys.TenantLimits(ctx, t)
		return server.CallerLimits(own.Requests()), err
	}
}

// asking is a door as the server asks it.
func asking(door *auth.Door) func(*http.Request) (server.Caller, error) {
	return func(r *http.Request) (server.Caller, error) {
		c, err := door.Authenticate(r)
		return server.Caller{
			Principal: c.Principal, Limits: server.CallerLimits(c.Limits), Delegated: c.Delegated,
		}, err
	}
}

// issuers opens the authorization servers that the configuration names.
func (a *app) issuers() (*auth.Issuers, error) {
	return auth.OpenIssuers(a.cfg.Auth.Issuers, auth.IssuerOptions{Logger: a.logger(), Elevation: a.cfg.Auth.Elevation})
}

// done is what became of a request, as metrics have it.
func done(d server.Done) observe.Request {
	r := observe.Request{
		Operation: d.Operation, Method: d.Method, Route: d.Route, Status: d.Status, Took: d.Took, Refused: d.Refused,
	}
	for _, c := range d.Calls {
		r.Calls = append(r.Calls, observe.Call{Tool: c.Tool, Outcome: cmp.Or(c.Code, "ok"), Took: c.Took})
	}
	return r
}

// mcpHandler serves what an agent has, at the address of an agent unless that is "".
func (a *app) mcpHandler(n agentNode, agent string) (http.Handler, error) {
	headers := a.identify(agent)
	s, err := mcp.New(mcp.Options{
		Tools: n.tools, Connector: n.connector, RecordElevation: a.recordElevation,
		Version: buildVersion().Version, Logger: a.logger(),
		Identify: func(ctx context.Context, o mcp.Origin) (loci.Principal, error) { return headers(ctx, o.Header) },
		Limits:   mcp.Limits{Line: a.cfg.HTTP.MaxValueBody},
		Confirm:  a.cfg.Confirm,
	})
	if err != nil {
		return nil, err
	}
	return s.Handler(), nil
}

// identify says whom a request at the address of an agent comes from, with what its headers
// choose: from its credential, or, where nobody is asked for one, from the operator.
func (a *app) identify(agent string) func(context.Context, http.Header) (loci.Principal, error) {
	asked := a.cfg.Auth.Callers()
	return func(ctx context.Context, h http.Header) (loci.Principal, error) {
		p := a.principal
		if asked {
			var known bool
			if p, known = server.PrincipalOf(ctx); !known {
				return p, &loci.Error{Code: loci.Unauthenticated, Msg: "this request has no credential"}
			}
		}
		if agent != "" {
			if own := p.Var(loci.VarAgent); asked && own != agent && !p.May(loci.ScopeDelegate) {
				return p, &loci.Error{Code: loci.Forbidden, Msg: "this address is another agent's",
					Recovery: "Use the address of the agent that the credential names, or a credential with the scope delegate."}
			}
			var err error
			if p, err = p.AtAgent(agent); err != nil {
				return p, err
			}
		}
		return server.Identify(p, h)
	}
}

// recordElevation writes that a caller of one tenant acts in another, if that is there.
func (a *app) recordElevation(ctx context.Context, p loci.Principal, requestID, operation string) error {
	if a.tenants != nil && !p.ElevatedFrom().IsZero() {
		if err := a.tenants.MustBe(ctx, p.Tenant()); err != nil {
			return err
		}
	}
	return a.engine.RecordElevation(ctx, p, requestID, operation)
}

// keys opens the keys of the store.
func (a *app) keys() (*auth.Keys, error) {
	return auth.OpenKeys(a.store, auth.Options{
		Logger: a.logger(), OnFirstSight: a.cfg.Auth.TenantsOnFirstSight, Elevation: a.cfg.Auth.Elevation,
	})
}

// tenantOf names the tenant that a request counts for. One that names nobody it may name
// is refused later, and counts for the tenant of its credential.
func (a *app) tenantOf(r *http.Request) string {
	if p, err := a.identify("")(r.Context(), r.Header); err == nil {
		return p.Tenant().String()
	}
	if p, known := server.PrincipalOf(r.Context()); known {
		return p.Tenant().String()
	}
	return a.principal.Tenant().String()
}

// ready asks the store for something small: opening it checks its form, too.
func (a *app) ready(ctx context.Context) error {
	_, err := a.store.ActiveSpace(ctx, a.principal.Tenant())
	return err
}
