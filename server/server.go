// Package server listens on HTTP and puts what every request needs around the
// surfaces it serves: which hosts and origins may ask, whose memory the headers
// choose, limits, a log of requests, and an end that finishes what runs.
package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
)

// Options configure a [Server]. The zero value of each field means its default.
type Options struct {
	REST http.Handler // of everything below /v1; nil: none

	// MCP is the handler at /mcp, or nil. Agents are those at /mcp/{agent}.
	MCP    http.Handler
	Agents map[string]http.Handler

	// Authenticate says who sends a request, by its headers; surfaces ask [PrincipalOf]. Its
	// error becomes the response, with the challenge that a method Challenge of it returns.
	// Nil: nobody is asked.
	Authenticate func(*http.Request) (Caller, error)

	// Resource is what the server is to authorization servers; nil: they know nothing of it.
	Resource *Resource

	// Refused hears, when a request has ended, which caller was refused what it may not do. It
	// must not wait for anything. Nil: nobody hears.
	Refused func(context.Context, Refusal)

	// Done hears of every request that has ended. It must not wait for anything. Metrics is
	// what is at /metrics for callers with the scope metrics, where operators are. Nil: nobody
	// hears, and nothing is there.
	Done    func(Done)
	Metrics http.Handler

	// Begin hears that a request comes, by its headers alone, and returns the context in which
	// it is answered. ended hears the same as Done. It does not hear of requests that no limit
	// counts, such as probes. Nil: nobody hears.
	Begin func(context.Context, http.Header) (of context.Context, ended func(Done))

	// OperatorsApart: what is below /v1/admin is answered at the listeners of operators alone,
	// and nothing else is there; see [Server.Serve].
	OperatorsApart bool

	// Hosts are names besides those of the loopback by which clients may call the
	// server, without a port; Origins are web pages besides its own that browsers may
	// call it from, such as "https://app.example.com".
	Hosts, Origins []string

	// Proxies are addresses and networks of those that ask for others: their header X-Forwarded-For
	// says where a refusal is from. Nobody else's does.
	Proxies []string

	// Tenant says which tenant a request counts for; nil: all for the same.
	Tenant func(*http.Request) string

	// Allowed says how many requests a tenant may send; a field that is 0 leaves that to Limits.
	// It is asked for each request. Nil: no tenant has limits of its own.
	Allowed func(ctx context.Context, tenant string) (CallerLimits, error)

	Limits  Limits
	Receive time.Duration // for a whole request to come in; default 30 s

	// A body comes in before its request runs. There are Bodies that come in at once, by
	// default 1024, of at most MaxBody bytes each, by default 32 MiB; all requests together
	// hold BodyBytes, by default 256 MiB, besides the first 64 KiB of each. Where there is
	// no room, the body that has been coming for longest gives way.
	Bodies    int
	MaxBody   int64
	BodyBytes int64

	// Answers are those that are not taken at once, and wait for their readers: by default 1024.
	// Together they hold AnswerBytes, by default 256 MiB, besides the first 64 KiB of each. Where
	// there is no room, the one that has waited for longest gives way, of the tenant with the most.
	Answers     int
	AnswerBytes int64

	// A sender of bodies and a reader of replies must move Rate bytes a second after
	// Grace, by default 8 KiB and 10 s; whoever is slower is cut off.
	Grace time.Duration
	Rate  int

	Send time.Duration // from the last byte of a request's head to the last of its response; default 2 min
	Idle time.Duration // between requests of a connection; default 2 min

	// Stranger is the same for a connection on which no good credential has come; default 10 s.
	Stranger time.Duration

	Drain time.Duration // for running requests after the end has come; default 15 s

	// Delay is for how long a server goes on when the end has come: only /readyz says so, to
	// whoever sends it requests. Default: not at all.
	Delay time.Duration

	// Ready says why the server cannot do its work; nil: it always can. Its answer holds for
	// a second.
	Ready func(context.Context) error

	Logger *slog.Logger // default slog.Default(); gets ids and sizes, never content
}

// A Server is an HTTP server. It is safe for concurrent use.
type Server struct {
	opts    Options
	handler http.Handler
	hosts   map[string]bool
	origins map[string]bool
	proxies []netip.Prefix
	gate    *admission.Gate
	limits  atomic.Pointer[Limits]
	rates   *rates     // of tenants
	callers *rates     // of credentials with limits of their own
	under   underWay   // of these
	bodies  *transfers // that come in
	answers *transfers // that wait for their readers

	connections, operators *connections

	ready  ready
	left   chan struct{} // closed when the end is near: the server is not ready any more
	leaves sync.Once
	ending chan struct{} // closed when the end has come
	end    sync.Once
}

// complete fills in what was left out and refuses what means nothing.
func (o *Options) complete() error {
	if err := o.Limits.complete(); err != nil {
		return err
	}
	o.Receive = cmp.Or(o.Receive, 30*time.Second)
	o.Bodies = cmp.Or(o.Bodies, 1024)
	o.MaxBody = cmp.Or(o.MaxBody, 32<<20)
	o.BodyBytes = cmp.Or(o.BodyBytes, 256<<20)
	o.Answers = cmp.Or(o.Answers, 1024)
	o.AnswerBytes = cmp.Or(o.AnswerBytes, 256<<20)
	o.Grace = cmp.Or(o.Grace, 10*time.Second)
	o.Rate = cmp.Or(o.Rate, 8<<10)
	o.Send = cmp.Or(o.Send, 2*time.Minute)
	o.Idle = cmp.Or(o.Idle, 2*time.Minute)
	o.Stranger = cmp.Or(o.Stranger, 10*time.Second)
	o.Drain = cmp.Or(o.Drain, 15*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Bodies < 1 || o.MaxBody < 1 || o.BodyBytes < 1 || o.Answers < 1 || o.AnswerBytes < 1 || o.Rate < 1 ||
		o.Receive < 0 || o.Grace < 0 || o.Send < 0 || o.Idle < 0 || o.Stranger < 0 || o.Drain < 0 || o.Delay < 0 {
		return loci.Errorf(loci.Invalid, "limits of a server must not be negative")
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.Allowed == nil {
		o.Allowed = func(context.Context, string) (CallerLimits, error) { return CallerLimits{}, nil }
	}
	if o.Tenant == nil {
		o.Tenant = func(*http.Request) string { return "" }
	}
	return nil
}

// New makes a server.
func New(o Options) (*Server, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	s := &Server{
		opts: o, hosts: map[string]bool{}, origins: map[string]bool{}, ending: make(chan struct{}),
		left: make(chan struct{}), ready: ready{check: o.Ready},
		gate: admission.New(o.Limits.gate()), rates: newRates(), callers: newRates(),
		bodies:      &transfers{most: o.Bodies, mostBytes: o.BodyBytes},
		answers:     &transfers{most: o.Answers, mostBytes: o.AnswerBytes},
		connections: newConnections(o.Limits.Connections, o.Stranger, o.Logger),
		operators:   newConnections(o.Limits.Connections, o.Stranger, o.Logger),
	}
	s.limits.Store(&o.Limits)
	for _, h := range o.Hosts {
		name, err := CheckHost(h)
		if err != nil {
			return nil, err
		}
		s.hosts[name] = true
	}
	if o.Resource != nil {
		if err := CheckPublicURL(o.Resource.URL); err != nil {
			return nil, err
		}
		u, _ := url.Parse(o.Resource.URL) // was checked
		s.hosts[strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")] = true
	}
	for _, origin := range o.Origins {
		if err := CheckOrigin(origin); err != nil {
			return nil, err
		}
		s.origins[strings.ToLower(origin)] = true
	}
	for _, p := range o.Proxies {
		network, err := CheckProxy(p)
		if err != nil {
			return nil, err
		}
		s.proxies = append(s.proxies, network)
	}
	s.handler = s.observe(s.guard(s.authenticate(s.admit(s.receive(s.enter(s.routes()))))))
	return s, nil
}

// Handler returns what the server serves.
func (s *Server) Handler() http.Handler { return s.handler }

// cause is the last of a chain of errors: the rest repeats the address.
func cause(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// isLoopback reports whether a host, without a port, is this machine by name or address.
func isLoopback(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return ip != nil && ip.IsLoopback()
}

// operatorsKey is under which the context of a connection has that it came to a listener of
// operators.
type operatorsKey struct{}

func atOperators(ctx context.Context) bool {
	at, _ := ctx.Value(operatorsKey{}).(bool)
	return at
}

// maxStreams are the requests that a connection of HTTP/2 may have under way, which are as many as RFC 9113 wants
// of any server. Those whose answers are not taken count among Options.Answers.
const maxStreams = 100

// Serve answers requests until ctx ends. Then it takes no new ones, gives those
// that run Options.Drain to finish, and closes l. What did not finish is Unavailable.
// operators are listeners of their own for what is below /v1/admin: Options.OperatorsApart.
func (s *Server) Serve(ctx context.Context, l net.Listener, operators ...net.Listener) error {
	// Requests do not end with ctx: they are to be finished.
	base, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	h := &http.Server{
		Handler: s.handler,
		BaseContext: func(from net.Listener) context.Context {
			return context.WithValue(base, operatorsKey{}, slices.Contains(operators, from))
		},
		ConnContext: s.connect, ConnState: s.connectionState,
		ReadHeaderTimeout: min(10*time.Second, s.opts.Receive), ReadTimeout: s.opts.Receive,
		WriteTimeout: s.opts.Send, IdleTimeout: s.opts.Idle,
		// A write of HTTP/2 that moves nothing ends its connection, with all that waits behind it.
		HTTP2:          &http.HTTP2Config{MaxConcurrentStreams: maxStreams, WriteByteTimeout: s.opts.Grace},
		MaxHeaderBytes: maxServerHeader, ErrorLog: slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	drained := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { drained <- s.leave(base, h) })
	all := append([]net.Listener{l}, operators...)
	ended := make(chan error, len(all))
	var serving sync.WaitGroup
	for _, one := range all {
		serving.Go(func() { ended <- h.Serve(one) })
	}
	err := <-ended // the first says why, or all were asked to end
	if stop() {    // not the end, but a failure
		_ = h.Close()
		serving.Wait()
		return &loci.Error{Code: loci.Unavailable, Op: "serve", Msg: "the listener failed: " + cause(err), Err: err}
	}
	serving.Wait()
	if err := <-drained; err != nil {
		abandon()
		_ = h.Close()
		return &loci.Error{Code: loci.Unavailable, Op: "serve", Msg: "requests still ran when the time to finish them was over", Err: err}
	}
	return nil
}
