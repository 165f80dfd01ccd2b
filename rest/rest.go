// Package rest serves the memory over HTTP, as JSON below /v1:
//
//	api, err := rest.New(rest.Options{Engine: engine, Tools: set, Principal: principal})
//	http.Handle("/v1/", api)
//
// What there is follows from the types of each route, a file a group, and is
// described at /v1/openapi.json. Listening, the hosts and origins that may ask, and
// the log of requests are package server's.
package rest

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/session"
	"github.com/loci-memory/loci/tool"
)

// Options configure an [API]. The zero value of each field means its default.
type Options struct {
	Engine *loci.Engine // required
	Tools  *tool.Set    // that /v1/tools offers; nil: none

	Agents map[string]Agent // those of a graph, by their ids

	Admin *admin.API // what the routes below /v1/admin call; nil: they refuse

	// Principal is whom every request comes from, unless Identify is set.
	Principal loci.Principal

	// Identify says who sends a request. Its error becomes the response.
	Identify func(context.Context, http.Header) (loci.Principal, error)

	// RecordElevation writes that a principal acts in another tenant into the audit
	// logs of both, before it does. Nil: [loci.Engine.RecordElevation].
	RecordElevation func(ctx context.Context, p loci.Principal, requestID, operation string) error

	// Summaries has the language model that summarises sessions; what it says of
	// lengths is the caller's to choose. Without one sentences are picked.
	Summaries session.SummaryOptions

	Version string       // of the program; default "dev"
	Logger  *slog.Logger // default slog.Default(); gets ids and causes, never content

	MaxBody      int           // bytes of a request; default 1 MiB
	MaxValueBody int           // bytes of a request that stores values the caller made, such as items or messages; default 4 MiB
	MaxBlobBody  int           // bytes of a request that stores a checkpoint; default 32 MiB
	Timeout      time.Duration // of a request; default 1 minute
}

// An Agent is what an agent of a graph has.
type Agent struct {
	Tools     []*tool.Tool
	Connector *tool.Connector // nil: none
}

// maxDepth is how deep a request may nest.
const maxDepth = 64

// An API is an [http.Handler] for everything below /v1.
type API struct {
	opts Options
	mux  *http.ServeMux
	huma huma.API
}

// groups are the routes, a file each.
var groups = []func(*API){
	(*API).infoRoutes,
	(*API).toolRoutes,
	(*API).itemRoutes,
	(*API).batchRoutes,
	(*API).memoryRoutes,
	(*API).viewRoutes,
	(*API).transferRoutes,
	(*API).lifecycleRoutes,
	(*API).noteRoutes,
	(*API).eventRoutes,
	(*API).checkpointRoutes,
	(*API).sessionRoutes,
	(*API).messageRoutes,
	(*API).fileRoutes,
	(*API).connectorRoutes,
	(*API).agentRoutes,
	(*API).tenantRoutes,
	(*API).keyRoutes,
}

// New makes an API.
func New(o Options) (*API, error) {
	o.Version = cmp.Or(o.Version, "dev")
	o.MaxBody = cmp.Or(o.MaxBody, 1<<20)
	o.MaxValueBody = max(cmp.Or(o.MaxValueBody, 4<<20), o.MaxBody)
	o.MaxBlobBody = max(cmp.Or(o.MaxBlobBody, 32<<20), o.MaxValueBody)
	o.Timeout = cmp.Or(o.Timeout, time.Minute)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	switch {
	case o.Engine == nil:
		return nil, loci.Errorf(loci.Invalid, "a REST API needs an engine")
	case o.MaxBody < 1 || o.Timeout < 0:
		return nil, loci.Errorf(loci.Invalid, "limits of a REST API must not be negative")
	}
	if o.RecordElevation == nil {
		o.RecordElevation = o.Engine.RecordElevation
	}
	if o.Identify == nil {
		if o.Principal.Tenant().IsZero() {
			return nil, loci.Errorf(loci.Invalid, "a REST API needs a principal or a way to identify callers")
		}
		o.Identify = func(context.Context, http.Header) (loci.Principal, error) { return o.Principal, nil }
	}
	a := &API{opts: o, mux: http.NewServeMux()}
	config := huma.DefaultConfig("Loci", o.Version)
	config.Info.Description = description
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", "" // the description is a route of ours
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", publishedName)
	config.CreateHooks = nil // no $schema in bodies
	asJSON := huma.Format{Marshal: encode, Unmarshal: decode}
	config.Formats = map[string]huma.Format{"application/json": asJSON, "json": asJSON} // the second is the end of problem+json
	config.Transformers = []huma.Transformer{a.showError}
	a.huma = huma.NewAPI(config, &adapter{a})
	for _, routes := range groups {
		routes(a)
	}
	if err := a.bind(); err != nil {
		return nil, err
	}
	a.describe()
	return a, nil
}

// ServeHTTP answers a request below /v1.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := a.mux.Handler(r); pattern == "" {
		refused := &statusOnly{header: w.Header()}
		a.mux.ServeHTTP(refused, r) // says 404 or 405, and which methods are allowed
		a.refuse(w, r, problem.NoRoute(refused.status, r.Method, r.URL.Path))
		return
	}
	a.mux.ServeHTTP(w, r)
}

// statusOnly takes the status of a response and drops its body.
type statusOnly struct {
	header http.Header
	status int
}

func (s *statusOnly) Header() http.Header { return s.header }

func (s *statusOnly) WriteHeader(status int) { s.status = cmp.Or(s.status, status) }

func (s *statusOnly) Write(p []byte) (int, error) {
	s.WriteHeader(http.StatusOK)
	return len(p), nil
}
