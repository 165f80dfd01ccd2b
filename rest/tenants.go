package rest

import (
	"context"
	"io"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
)

// The requests.
type (
	oneTenant struct {
		Tenant string `path:"tenant" maxLength:"256" doc:"The name of the tenant"`
	}
	exportTenant struct {
		Tenant string `path:"tenant" maxLength:"256" doc:"The name of the tenant"`
		Limit  int    `query:"limit" minimum:"1" maximum:"10000" doc:"The reply ends behind about so many lines, or 8 MiB of them, and goes on with next_cursor. Absent: all lines, of which there may be no more"`
		Cursor string `query:"cursor" maxLength:"20000" doc:"The next_cursor of the part before"`
	}
	listTenantsInput struct {
		Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"At most so many"`
		After string `query:"after" doc:"Only those whose names come after this one: the next of the page before"`
	}
	newTenant struct {
		Tenant string `json:"tenant" minLength:"1" doc:"Its name: 1 to 256 bytes"`
	}
	suspendTenant struct {
		State  admin.State `json:"state,omitempty" enum:"read_only,closed" doc:"read_only, the default: its callers may read; closed: they may do nothing"`
		Reason string      `json:"reason,omitempty" doc:"Why, for whoever looks later: up to 500 bytes"`
	}
	limitTenant struct {
		Records int64 `json:"records,omitempty" minimum:"0" doc:"Absent or 0: no bound"`
		Bytes   int64 `json:"bytes,omitempty" minimum:"0" doc:"Of texts, metadata and values; absent or 0: no bound"`
	}
	rateLimitTenant struct {
		RequestsPerSecond  float64 `json:"requests_per_second,omitempty" minimum:"0" maximum:"1000000" doc:"Absent or 0: as limits.requests_per_second says"`
		Burst              int     `json:"burst,omitempty" minimum:"0" maximum:"1000000" doc:"Requests at once that requests_per_second lets through; absent or 0: twice as many as it says"`
		ConcurrentRequests int     `json:"concurrent_requests,omitempty" minimum:"0" maximum:"1000000" doc:"Under way at once; absent or 0: as limits.concurrent_requests says"`
		ModelTokensPerDay  int64   `json:"model_tokens_per_day,omitempty" minimum:"0" maximum:"1000000000000" doc:"Of language models on a day (UTC), on all servers together; absent or 0: as limits.model_tokens_per_day says"`
	}
	eraseTenant struct {
		Expect string `json:"expect" doc:"The name of the tenant, said once more"`
	}
)

// The replies.
type (
	tenantOutput  struct{ Body admin.Tenant }
	tenantsOutput struct {
		Body struct {
			Tenants []admin.Tenant `json:"tenants" nullable:"false" doc:"In order of name"`
			Next    string         `json:"next,omitempty" doc:"Goes on, as after; absent at the end"`
		} `nameHint:"Tenants"`
	}
	shownTenant struct {
		Body struct {
			Tenant admin.Tenant `json:"tenant"`
			Events []loci.Event `json:"events" nullable:"false" doc:"Who changed it, newest first"`
		} `nameHint:"ShownTenant"`
	}
	erasedTenant struct {
		Body struct {
			Erased string `json:"erased_tenant" doc:"Its name"`
		} `nameHint:"ErasedTenant"`
	}
)

// operating calls what operators may do. Whoever is here has the scope for it.
func operating[O any](a *API, c *caller, do func(*admin.API, admin.By) (*O, error)) (*O, error) {
	if a.opts.Admin == nil {
		return nil, loci.Errorf(loci.Unsupported, "this server lets nobody operate it: use loci serve")
	}
	return do(a.opts.Admin, admin.By{Actor: c.Principal.Subject(), RequestID: c.RequestID})
}

func (a *API) tenantRoutes() {
	route(a, endpoint{method: http.MethodGet, path: "/v1/admin/tenants", id: "list_tenants", summary: "List tenants", scope: loci.ScopeOperate},
		func(ctx context.Context, c *caller, in *listTenantsInput) (*tenantsOutput, error) {
			return operating(a, c, func(api *admin.API, _ admin.By) (out *tenantsOutput, err error) {
				out = &tenantsOutput{}
				out.Body.Tenants, out.Body.Next, err = api.List(ctx, in.After, in.Limit)
				return out, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/admin/tenants", id: "create_tenant", summary: "Make a tenant",
		scope: loci.ScopeOperate, status: http.StatusCreated},
		func(ctx context.Context, c *caller, in *struct{ Body newTenant }) (*tenantOutput, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*tenantOutput, error) {
				made, err := api.Create(ctx, by, in.Body.Tenant)
				return &tenantOutput{made}, err
			})
		})
	route(a, endpoint{method: http.MethodGet, path: "/v1/admin/tenants/{tenant}", id: "show_tenant", summary: "Show a tenant",
		scope: loci.ScopeOperate, detail: "What it holds, what its callers may do, and who changed it."},
		func(ctx context.Context, c *caller, in *oneTenant) (*shownTenant, error) {
			return operating(a, c, func(api *admin.API, _ admin.By) (out *shownTenant, err error) {
				out = &shownTenant{}
				out.Body.Tenant, out.Body.Events, err = api.Show(ctx, in.Tenant)
				return out, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/admin/tenants/{tenant}/suspend", id: "suspend_tenant", summary: "Suspend a tenant",
		scope: loci.ScopeOperate, detail: "Every server of the store follows within 5 seconds."},
		func(ctx context.Context, c *caller, in *struct {
			Tenant string `path:"tenant" maxLength:"256" doc:"The name of the tenant"`
			Body   suspendTenant
		}) (*tenantOutput, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*tenantOutput, error) {
				state := in.Body.State
				if state == "" {
					state = admin.StateReadOnly
				}
				changed, err := api.Suspend(ctx, by, in.Tenant, state, in.Body.Reason)
				return &tenantOutput{changed}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/admin/tenants/{tenant}/resume", id: "resume_tenant",
		summary: "Let the callers of a tenant do everything again", scope: loci.ScopeOperate},
		func(ctx context.Context, c *caller, in *oneTenant) (*tenantOutput, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*tenantOutput, error) {
				changed, err := api.Resume(ctx, by, in.Tenant)
				return &tenantOutput{changed}, err
			})
		})
	route(a, endpoint{method: http.MethodPut, path: "/v1/admin/tenants/{tenant}/quota", id: "limit_tenant",
		summary: "Say how much a tenant may hold", scope: loci.ScopeOperate,
		detail: "What is beyond it is refused with 507, on every server of the store within 5 seconds. What is there already stays."},
		func(ctx context.Context, c *caller, in *struct {
			Tenant string `path:"tenant" maxLength:"256" doc:"The name of the tenant"`
			Body   limitTenant
		}) (*tenantOutput, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*tenantOutput, error) {
				changed, err := api.Limit(ctx, by, in.Tenant, admin.Quota(in.Body))
				return &tenantOutput{changed}, err
			})
		})
	route(a, endpoint{method: http.MethodPut, path: "/v1/admin/tenants/{tenant}/limits", id: "rate_limit_tenant",
		summary: "Bound the requests of a tenant, and what language models do for it", scope: loci.ScopeOperate,
		detail: "In place of what bounded them before. What is beyond is refused with 429, on every server of the store within 5 seconds. " +
			"Each server counts requests for itself; tokens are counted in the store."},
		func(ctx context.Context, c *caller, in *struct {
			Tenant string `path:"tenant" maxLength:"256" doc:"The name of the tenant"`
			Body   rateLimitTenant
		}) (*tenantOutput, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*tenantOutput, error) {
				changed, err := api.RateLimit(ctx, by, in.Tenant, admin.TenantLimits(in.Body))
				return &tenantOutput{changed}, err
			})
		})
	route(a, endpoint{method: http.MethodPost, path: "/v1/admin/tenants/{tenant}/erase", id: "erase_tenant", summary: "Erase a tenant",
		scope:  loci.ScopeOperate,
		detail: "With everything of it, its keys and its audit log included, for good. It takes 5 seconds and more. If it fails, the tenant stays closed: ask again."},
		func(ctx context.Context, c *caller, in *struct {
			Tenant string `path:"tenant" maxLength:"256" doc:"The name of the tenant"`
			Body   eraseTenant
		}) (*erasedTenant, error) {
			return operating(a, c, func(api *admin.API, by admin.By) (*erasedTenant, error) {
				out := &erasedTenant{}
				out.Body.Erased = in.Tenant
				return out, api.Erase(ctx, by, in.Tenant, in.Body.Expect)
			})
		})
	reply := huma.SchemaFromType(a.huma.OpenAPI().Components.Schemas, reflect.TypeFor[exported]())
	route(a, endpoint{method: http.MethodGet, path: "/v1/admin/tenants/{tenant}/export", id: "export_tenant", summary: "Export a tenant",
		scope: loci.ScopeOperate, reply: reply,
		detail: "Everything of it, of all users and organisations. The audit logs of the tenant and of the server say so, for each part. " +
			"With limit it comes in parts, as with /v1/export; without, an export of more than one part is 413, too_large. " +
			"A reply that does not end in its closing brace is not whole."}, a.exportTenant)
}

// exportTenant sends memories while they are read, as export does.
func (a *API) exportTenant(_ context.Context, c *caller, in *exportTenant) (*huma.StreamResponse, error) {
	return operating(a, c, func(api *admin.API, by admin.By) (*huma.StreamResponse, error) {
		write := func(ctx context.Context, w io.Writer, part loci.ExportPart) (string, error) {
			_, next, err := api.ExportPart(ctx, by, in.Tenant, w, part)
			return next, err
		}
		return a.exportPart(c, in.Limit, in.Cursor, 0, write), nil
	})
}
