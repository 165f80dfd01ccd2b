package rest

import (
	"net/http"
	"reflect"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
)

const description = `The memory of AI agents over HTTP.

Every request works in one place: the memory of the user, else of the organisation, that the server knows the caller to be. Namespaces
are relative to it.`

// problemResponse is what every operation may answer.
func (a *API) problemResponse() *huma.Response {
	schema := a.huma.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem.Problem](), true, "")
	return &huma.Response{Description: "What went wrong (RFC 9457)", Content: map[string]*huma.MediaType{problem.ContentType: {Schema: schema}}}
}

// A requestHeader is a header that every request may have.
type requestHeader struct {
	name, component, help string
	least, most           int   // characters; an empty header is not the same as none
	values                []any // that there are; nil: any
}

// mostEncoded is a label in percent-encoding.
const mostEncoded = 3 * loci.MaxLabelBytes

// mostHeader is what package server takes of all headers together.
const mostHeader = 64 << 10

var requestHeaders = []requestHeader{
	{"Loci-Thread", "thread", "The thread of conversation.", 1, mostEncoded, nil},
	{"Loci-Session", "session", "The session of conversation.", 1, mostEncoded, nil},
	{"Loci-User", "user", "The user to act for; needs the scope delegate.", 1, mostEncoded, nil},
	{"Loci-Org", "org", "The organisation to act for; needs the scope delegate.", 1, mostEncoded, nil},
	{"Loci-Agent", "agent", "The agent to act as; needs the scope delegate.", 1, mostEncoded, nil},
	{"Loci-Tenant", "tenant", "The tenant to act in; needs the scopes admin and elevate, and is recorded in both tenants.", 1, mostEncoded, nil},
	{"Loci-Encoding", "encoding", "percent: the values of the other Loci- headers are UTF-8 in percent-encoding, as encodeURIComponent writes it.", 1, len("percent"), []any{"percent"}},
	{headerRequestID, "request_id", "Names the request in logs: up to 64 letters, digits and . _ -; any other is replaced.", 0, mostHeader, nil},
}

var idempotencyHeader = requestHeader{"Idempotency-Key", "idempotency_key",
	"Makes a write repeatable: the same key and request get the first reply again, another request is refused with 409.", 1, 256, nil}

// describe completes the OpenAPI document with what no type says, and serves its two
// forms.
func (a *API) describe() {
	api := a.huma.OpenAPI()
	api.Components.Parameters = map[string]*huma.Param{}
	add := func(h requestHeader) *huma.Param {
		api.Components.Parameters[h.component] = &huma.Param{Name: h.name, In: "header", Description: h.help,
			Schema: &huma.Schema{Type: huma.TypeString, MaxLength: &h.most, Enum: h.values}}
		if h.least > 0 {
			api.Components.Parameters[h.component].Schema.MinLength = &h.least
		}
		return &huma.Param{Ref: "#/components/parameters/" + h.component}
	}
	var common []*huma.Param
	for _, h := range requestHeaders {
		common = append(common, add(h))
	}
	key := add(idempotencyHeader)
	for _, item := range api.Paths {
		for _, op := range operationsOf(item) {
			op.Parameters = append(op.Parameters, common...)
			if op.Metadata[writesKey] == true {
				op.Parameters = append(op.Parameters, key)
			}
		}
	}
	loosen(api)
	// Huma's own form of an error, which showError replaces.
	delete(api.Components.Schemas.Map(), "ErrorModel")
	delete(api.Components.Schemas.Map(), "ErrorDetail")
	serve := func(path, contentType string, form func() ([]byte, error)) {
		document := sync.OnceValues(form) // not before somebody asks: nine tenths of the time of New were this
		a.mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			text, err := document()
			if err != nil {
				a.refuse(w, r, &loci.Error{Code: loci.Internal, Op: "describe API", Err: err})
				return
			}
			w.Header().Set("Content-Type", contentType)
			_, _ = w.Write(text) // nobody is left to tell
		})
	}
	serve("/v1/openapi.json", "application/openapi+json", api.MarshalJSON)
	serve("/v1/openapi.yaml", "application/openapi+yaml", api.YAML)
}

// loosen lets replies have more properties than they have now, so that a client
// that checks them survives a newer server. Requests stay strict.
func loosen(api *huma.OpenAPI) {
	schemas := api.Components.Schemas.Map()
	strict := map[*huma.Schema]bool{}
	var keep func(s *huma.Schema)
	keep = func(s *huma.Schema) {
		if s == nil {
			return
		}
		if s.Ref != "" {
			s = schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
		}
		if s == nil || strict[s] {
			return
		}
		strict[s] = true
		keep(s.Items)
		for _, p := range s.Properties {
			keep(p)
		}
		for _, o := range s.OneOf {
			keep(o)
		}
	}
	for _, item := range api.Paths {
		for _, op := range operationsOf(item) {
			if op.RequestBody == nil {
				continue
			}
			for _, m := range op.RequestBody.Content {
				keep(m.Schema)
			}
		}
	}
	for _, s := range schemas {
		if !strict[s] && s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
	}
}

func operationsOf(item *huma.PathItem) (ops []*huma.Operation) {
	for _, op := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if op != nil {
			ops = append(ops, op)
		}
	}
	return ops
}
