package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
	"github.com/loci-memory/loci/tool"
)

// The requests.
type (
	oneKey struct {
		Key string `path:"key" maxLength:"64" doc:"The id of the key"`
	}
	listKeysInput struct {
		Tenant string `query:"tenant" doc:"Only those of this tenant"`
		Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		Cursor string `query:"cursor" maxLength:"1024" doc:"The next_cursor of the page before"`
	}
	newKey struct {
		Tenant    string       `json:"tenant" doc:"The tenant that its callers are in"`
		Vars      loci.Vars    `json:"vars,omitempty" doc:"Whose requests they are: user_id, org_id, agent_id"`
		Scopes    []loci.Scope `json:"scopes" minItems:"1" doc:"What its callers may do: read, write, delete, admin, delegate, elevate, operate, metrics"`
		Tools     []string     `json:"tools,omitempty" doc:"Families of tools that they may call, and nothing else; absent: everything that the scopes permit"`
		Limits    limitKey     `json:"limits,omitzero" doc:"Of its requests, at each server; absent: those of its tenant alone"`
		Note      string       `json:"note,omitempty" doc:"What it is for: up to 500 bytes"`
		ExpiresAt time.Time    `json:"expires_at,omitzero" doc:"When it ends; absent: never"`
	}
	limitKey struct {
		RequestsPerSecond  float64 `json:"requests_per_second,omitempty" minimum:"0" maximum:"1000000" doc:"Absent or 0: no limit"`
		Burst              int     `json:"burst,omitempty" minimum:"0" maximum:"1000000" doc:"Requests at once that requests_per_second lets through; absent or 0: twice as many as it says"`
		ConcurrentRequests int     `json:"concurrent_requests,omitempty" minimum:"0" maximum:"1000000" doc:"Under way at once; absent or 0: no limit"`
	}
	rotateKey struct {
		OverlapSeconds *int64 `json:"overlap_seconds,omitempty" minimum:"0" maximum:"2592000" doc:"How long the old secret is good beside the new one; absent: a day"`
	}
)

// The replies.
type (
	keyOutput struct{ Body admin.Key }
	keyMade   struct {
		Body struct {
			Key   admin.Key `json:"key"`
			Token string    `json:"token" doc:"What its callers send; it is not shown again"`
		} `nameHint:"KeyMade"`
	}
	keysOutput struct {
		Body struct {
			Keys       []admin.Key `json:"keys" nullable:"false" doc:"Newest first"`
			NextCursor string      `json:"next_cursor,omitempty" doc:"Goes on; absent at the end"`
		} `nameHint:"Keys"`
	}
	shownKey struct {
		Body struct {
			Key    admin.Key    `json:"key"`
			Events []loci.Event `json:"events" nullable:"false" doc:"Who changed it, newest first"`
		} `nameHint:"ShownKey"`
	}
)

func (a *API) keyRoutes() {
	route(a, endpoint{method: http.MethodGet, path: "/v1/admin/keys", id: "list_keys", summary: "List keys", scope: loci.ScopeOperate},
		func(ctx context.Context, c *caller, in *listKeysInput) (*keysOutput, error) {
			return operating(a, c, func(api *admin.API, _ admin.By) (*keysOutput, error) {
				keys, next, err := api.ListKeys(ctx, in.Tenant, loci.Page{Limit: in.Limit, Cursor: in.Cursor})
				out := &keysOutput{}
				out.Body.Keys, out.Body.NextCursor = append([]admin.Key{}, keys...), next
				return out, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/admin/keys", id: "create_key", summary: "Make a key", scope: loci.ScopeOperate,
		status: http.StatusCreated, detail: "The token is shown this once: only its hash is kept."},
		func(ctx context.Context, c *caller, in *struct{ Body newKey }) (*keyMade, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (out *keyMade, err error) {
				b := &in.Body
				for _, family := range b.Tools {
					if !slices.Contains(tool.Families(), family) {
						return nil, loci.Errorf(loci.Invalid, "tools names %.64q, which is no family: there are %s", family,
							strings.Join(tool.Families(), ", "))
					}
				}
				out = &keyMade{}
				out.Body.Key, out.Body.Token, err = api.CreateKey(ctx, by, b.Tenant, admin.NewKey{
					Vars: b.Vars, Scopes: b.Scopes, Tools: b.Tools, Limits: admin.Limits(b.Limits), Note: b.Note,
					ExpiresAt: b.ExpiresAt})
				return out, err
			})
		})
	route(a, endpoint{method: http.MethodGet, path: "/v1/admin/keys/{key}", id: "show_key", summary: "Show a key", scope: loci.ScopeOperate},
		func(ctx context.Context, c *caller, in *oneKey) (*shownKey, error) {
			return operating(a, c, func(api *admin.API, _ admin.By) (*shownKey, error) {
				id, err := admin.ParseKeyID(in.Key)
				if err != nil {
					return nil, err
				}
				key, events, err := api.ShowKey(ctx, id)
				out := &shownKey{}
				out.Body.Key, out.Body.Events = key, append([]loci.Event{}, events...)
				return out, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/admin/keys/{key}/rotate", id: "rotate_key", summary: "Give a key a new secret",
		scope: loci.ScopeOperate},
		func(ctx context.Context, c *caller, in *struct {
			Key  string `path:"key" maxLength:"64" doc:"The id of the key"`
			Body rotateKey
		}) (*keyMade, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*keyMade, error) {
				id, err := admin.ParseKeyID(in.Key)
				if err != nil {
					return nil, err
				}
				overlap := 24 * time.Hour
				if s := in.Body.OverlapSeconds; s != nil {
					overlap = time.Duration(*s) * time.Second
				}
				out := &keyMade{}
				out.Body.Key, out.Body.Token, err = api.RotateKey(ctx, by, id, overlap)
				return out, err
			})
		})
	route(a, endpoint{method: http.MethodPut, path: "/v1/admin/keys/{key}/limits", id: "limit_key",
		summary: "Bound the requests with a key", scope: loci.ScopeOperate,
		detail: "In place of what bounded them before. Every server of the store follows within 5 seconds, and counts for itself."},
		func(ctx context.Context, c *caller, in *struct {
			Key  string `path:"key" maxLength:"64" doc:"The id of the key"`
			Body limitKey
		}) (*keyOutput, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*keyOutput, error) {
				id, err := admin.ParseKeyID(in.Key)
				if err != nil {
					return nil, err
				}
				key, err := api.LimitKey(ctx, by, id, admin.Limits(in.Body))
				return &keyOutput{key}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/admin/keys/{key}/revoke", id: "revoke_key", summary: "End a key for good",
		scope: loci.ScopeOperate, detail: "Every server of the store refuses it within 5 seconds."},
		func(ctx context.Context, c *caller, in *oneKey) (*keyOutput, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*keyOutput, error) {
				id, err := admin.ParseKeyID(in.Key)
				if err != nil {
					return nil, err
				}
				key, err := api.RevokeKey(ctx, by, id)
				return &keyOutput{key}, err
			})
		})
}
