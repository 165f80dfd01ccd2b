package rest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/tool"
)

// A request id comes from package server, which checks it or makes it; without one
// in front there may be none.
const headerRequestID = "X-Request-Id"

func requestID(h http.Header) string { return h.Get(headerRequestID) }

// A caller is who asks, and in which request.
type caller = tool.Caller

// callerKey is under which the adapter passes the caller through huma to route,
// which makes a typed argument of it again.
type callerKey struct{}

// caller says who makes a request.
func (a *API) caller(r *http.Request) (caller, error) {
	c := caller{RequestID: requestID(r.Header), Client: r.UserAgent()}
	keys := r.Header.Values("Idempotency-Key")
	if len(keys) > 1 {
		return c, loci.Errorf(loci.Invalid, "the header Idempotency-Key comes %d times: send one", len(keys))
	}
	if len(keys) == 1 {
		switch c.IdempotencyKey = keys[0]; {
		case c.IdempotencyKey == "":
			return c, loci.Errorf(loci.Invalid, "the header Idempotency-Key must not be empty: leave it out, or choose a key of 1 to 256 bytes")
		case len(c.IdempotencyKey) > idempotencyHeader.most: // parts of a request have keys of their own, which are short
			return c, loci.Errorf(loci.Invalid, "the header Idempotency-Key is %d bytes long; the limit is %d", len(c.IdempotencyKey), idempotencyHeader.most)
		}
	}
	var err error
	c.Principal, err = a.opts.Identify(r.Context(), r.Header)
	return c, err
}

// memory binds a handle to the caller's place: that of the user, else of the
// organisation and its agent.
func (a *API) memory(c *caller) (*loci.Memory, error) { return a.memoryIn(c, "") }

// memoryIn is memory for what belongs to a sequence; "": to the caller's session or thread.
func (a *API) memoryIn(c *caller, sequence string) (*loci.Memory, error) {
	namespace, err := loci.Template(nil).Resolve(c.Principal.Vars())
	if err != nil {
		return nil, err
	}
	return a.opts.Engine.Memory(loci.View{
		Tenant:         c.Principal.Tenant(),
		Namespace:      namespace,
		Actor:          c.Principal.Subject(),
		RequestID:      c.RequestID,
		IdempotencyKey: c.IdempotencyKey,
		Source:         loci.Source{Kind: "user", Client: c.Client},
		Sequence:       cmp.Or(sequence, c.Principal.Var(loci.VarSession), c.Principal.Var(loci.VarThread)),
	})
}

// An endpoint is what a route says of itself.
type endpoint struct {
	method, path string
	id           string // of the operation, for clients that are generated
	summary      string
	detail       string     // more, if there is more to say
	scope        loci.Scope // that the caller needs; "": see open
	open         string     // why a route without a scope needs none, or who asks for it; "": nobody may use the route
	tools        bool       // also for callers that may only call tools of some families
	writes       bool       // it may change something, so that an idempotency key means something
	value        bool       // its body may be as long as Options.MaxValueBody
	blob         bool       // its body may be as long as Options.MaxBlobBody
	status       int        // of success; 0: 200, or 204 without a body
	also         int        // another status of success, with the same body; 0: none

	reply *huma.Schema // of a body that is streamed
}

// What an operation's metadata say to the adapter and to describe.
const (
	scopeKey  = "scope"
	writesKey = "writes"
	toolsKey  = "tools"
)

// scopeUndeclared is one that nobody has, of routes that say nothing of scopes.
const scopeUndeclared loci.Scope = "undeclared"

func scopeOf(op *huma.Operation) loci.Scope {
	scope, _ := op.Metadata[scopeKey].(loci.Scope)
	return scope
}

// route adds an endpoint. I has the parameters and the Body of a request, O the
// Body of a response, as huma reads them; errors of serve are shown as problems.
func route[I, O any](a *API, e endpoint, serve func(ctx context.Context, c *caller, in *I) (*O, error)) {
	if e.scope == "" && e.open == "" {
		e.scope = scopeUndeclared
	}
	op := huma.Operation{
		Method:          e.method,
		Path:            e.path,
		OperationID:     e.id,
		Summary:         e.summary,
		Description:     e.detail,
		Tags:            []string{tagOf(e.path)},
		DefaultStatus:   e.status,
		MaxBodyBytes:    int64(a.opts.MaxBody),
		BodyReadTimeout: -1,
		Metadata:        map[string]any{scopeKey: e.scope, writesKey: e.writes, toolsKey: e.tools},
		Responses:       map[string]*huma.Response{},
	}
	if e.value {
		op.MaxBodyBytes = int64(a.opts.MaxValueBody)
	}
	if e.blob {
		op.MaxBodyBytes = int64(a.opts.MaxBlobBody)
	}
	if e.scope != "" {
		op.Description = strings.TrimSpace(op.Description + "\n\nNeeds the scope `" + string(e.scope) + "`.")
	}
	op.Responses["default"] = a.problemResponse()
	if e.reply != nil {
		op.Responses["200"] = &huma.Response{Content: map[string]*huma.MediaType{"application/json": {Schema: e.reply}}}
	}
	huma.Register(a.huma, op, func(ctx context.Context, in *I) (*O, error) {
		c, ok := ctx.Value(callerKey{}).(caller)
		if !ok {
			return nil, a.problem(ctx, "", errors.New("a request without a caller"))
		}
		// Nothing happens that is not on record.
		err := a.opts.RecordElevation(ctx, c.Principal, c.RequestID, e.id)
		var out *O
		if err == nil {
			out, err = serve(ctx, &c, in)
		}
		if err != nil {
			p := a.problem(ctx, c.RequestID, err)
			return nil, huma.ErrorWithHeaders(p, p.Headers())
		}
		return out, nil
	})
	if e.also != 0 {
		same := op.Responses[strconv.Itoa(e.status)]
		op.Responses[strconv.Itoa(e.also)] = &huma.Response{Description: http.StatusText(e.also), Content: same.Content}
	}
}

// tagOf is the group of a path: its first part after /v1.
func tagOf(path string) string {
	tag, _, _ := strings.Cut(strings.TrimPrefix(path, "/v1/"), "/")
	return tag
}

// maxParts bounds the faults that a reply names: a request may have one a byte.
const maxParts = 20

// showError makes a problem of what huma itself refuses.
func (a *API) showError(ctx huma.Context, _ string, v any) (any, error) {
	model, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	var parts []problem.Part
	var first string
	for _, e := range model.Errors {
		if e == nil || len(parts) == maxParts {
			continue
		}
		words, whole := inWords(e.Location, e.Message)
		parts = append(parts, problem.Part{Location: e.Location, Message: words})
		if first == "" {
			first = whole
		}
	}
	if first == "" {
		_, first = inWords("the body", model.Detail)
	}
	id := ctx.Header(headerRequestID)
	if model.Status >= http.StatusInternalServerError {
		return a.problem(ctx.Context(), id, errors.New(first)), nil
	}
	p := problem.Of(&loci.Error{Code: loci.Invalid, Msg: first, Recovery: "Correct what is named; /v1/openapi.json describes every request."})
	p.RequestID, p.Errors = id, parts
	return p, nil
}
