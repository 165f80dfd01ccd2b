package rest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/admin"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/item"
)

// operators is an API whose caller has some scopes, over a store with two tenants.
func operators(t *testing.T, s loci.Store, scopes ...loci.Scope) (*bench, *admin.API) {
	t.Helper()
	var api *admin.API
	b := newBench(t, s, func(o *Options) {
		keys, err := auth.OpenKeys(s, auth.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(keys.Close)
		if api, err = admin.New(admin.Options{Store: s, Engine: o.Engine, Keys: keys}); err != nil {
			t.Fatal(err)
		}
		o.Admin, o.Principal = api, principal(t, "alice", scopes...)
	})
	for _, name := range []string{"acme", "globex"} {
		if _, err := api.Create(t.Context(), admin.By{Actor: "operator"}, name); err != nil {
			t.Fatal(err)
		}
		view := loci.View{Tenant: locitest.Tenant(t, name), Namespace: loci.Namespace{"user", "u"}, Actor: "u"}
		m := locitest.BindView(t, b.engine, view)
		locitest.Save(t, m, "The canary of "+name+".")
	}
	return b, api
}

// TestRoutesOfOperatorsNeedTheirScope: whatever else a credential may, without operate it
// hears of no tenant and no key and changes none.
func TestRoutesOfOperatorsNeedTheirScope(t *testing.T) {
	b, api := operators(t, locitest.OpenMemory(), loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete, loci.ScopeAdmin,
		loci.ScopeDelegate, loci.ScopeElevate)
	key, _, err := api.CreateKey(t.Context(), admin.By{}, "acme", admin.NewKey{
		Vars: loci.Vars{loci.VarUser: "u"}, Scopes: []loci.Scope{loci.ScopeRead}, Note: "canary"})
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{
		"create_tenant": `{"tenant":"new"}`, "suspend_tenant": `{}`, "limit_tenant": `{}`, "rate_limit_tenant": `{}`, "erase_tenant": `{"expect":"acme"}`,
		"create_key": `{"tenant":"acme","scopes":["operate"],"vars":{"user_id":"u"}}`, "rotate_key": `{}`, "limit_key": `{}`,
	}
	tried := 0
	eachRoute(b.Config.Handler.(*API), func(op *huma.Operation) {
		if !strings.HasPrefix(op.Path, "/v1/admin/") {
			if scopeOf(op) == loci.ScopeOperate {
				t.Errorf("%s needs operate and is not below /v1/admin", op.Path)
			}
			return
		}
		tried++
		path := strings.NewReplacer("{tenant}", "acme", "{key}", key.ID.String()).Replace(op.Path)
		r := b.send(op.Method, path, bodies[op.OperationID])
		if r.status != http.StatusForbidden || !strings.Contains(r.body, "operate") || strings.Contains(r.body, "canary") {
			t.Errorf("%s: %d %s", op.OperationID, r.status, r.body)
		}
	})
	if tried != 15 {
		t.Errorf("%d routes were tried", tried)
	}
	if tenant, _, err := api.Show(t.Context(), "acme"); err != nil || tenant.State != admin.StateActive {
		t.Errorf("%+v, %v", tenant, err)
	}
	now, _, err := api.ShowKey(t.Context(), key.ID)
	if err != nil || !now.RevokedAt.IsZero() || !now.RotatedAt.IsZero() {
		t.Errorf("%+v, %v", now, err)
	}
}

// TestRoutesOfOperators: what they do is what the Go API does, in the tenant that the
// address names, and no canary of the other one comes along.
func TestRoutesOfOperators(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b, api := operators(t, s, loci.ScopeOperate)
		made := b.send("POST", "/v1/admin/keys", `{"tenant":"acme","scopes":["read"],"vars":{"user_id":"u"},"tools":["notes"],"note":"a note"}`)
		keys, _, err := api.ListKeys(t.Context(), "", loci.Page{})
		if err != nil || len(keys) != 1 || made.status != 201 || !strings.Contains(made.body, `"token":"loci_`) {
			t.Fatalf("%d %s, %v", made.status, made.body, err)
		}
		key := "/v1/admin/keys/" + keys[0].ID.String()
		for _, c := range []struct {
			method, path, body string
			status             int
			want               string
		}{
			{"POST", "/v1/admin/tenants", `{"tenant":"new one"}`, 201, `"tenant":"new one","state":"active"`},
			{"POST", "/v1/admin/tenants", `{"tenant":"new one"}`, 409, "is there already"},
			{"POST", "/v1/admin/tenants", `{"tenant":""}`, 400, "tenant"},
			{"POST", "/v1/admin/tenants", `{"tenant":".."}`, 400, "does not stay in the address of a request"},
			{"POST", "/v1/admin/tenants", `{"tenant":"."}`, 400, "does not stay in the address of a request"},
			{"POST", "/v1/admin/keys", `{"tenant":"acme","scopes":["read"],"expires_at":"tomorrow"}`, 400,
				"body.expires_at must be a time such as 2026-01-31T08:00:00Z"},
			{"GET", "/v1/admin/tenants?limit=2", "", 200, `"next":"globex"`},
			{"GET", "/v1/admin/tenants?after=globex", "", 200, `"new one"`},
			{"GET", "/v1/admin/tenants/new%20one", "", 200, `"use":{"records":0,"bytes":0,"model_tokens_today":0}`},
			{"GET", "/v1/admin/tenants/nobody", "", 404, `no tenant \"nobody\"`},
			{"POST", "/v1/admin/tenants/acme/suspend", `{"reason":"the contract"}`, 200, `"state":"read_only","reason":"the contract"`},
			{"POST", "/v1/admin/tenants/acme/suspend", `{"state":"closed"}`, 200, `"state":"closed"`},
			{"POST", "/v1/admin/tenants/acme/suspend", `{"state":"active"}`, 400, "state"},
			{"POST", "/v1/admin/tenants/acme/resume", "", 200, `"state":"active"`},
			{"GET", "/v1/admin/tenants/acme/export", "", 200, "The canary of acme."},
			{"GET", "/v1/admin/tenants/nobody/export", "", 404, "no tenant"},
			{"PUT", "/v1/admin/tenants/acme/quota", `{"records":7}`, 200, `"quota":{"records":7}`},
			{"PUT", "/v1/admin/tenants/acme/quota", `{"records":-1}`, 400, "records"},
			{"PUT", "/v1/admin/tenants/nobody/quota", `{"records":1}`, 404, "no tenant"},
			{"PUT", "/v1/admin/tenants/acme/limits", `{"requests_per_second":2.5,"burst":4,"concurrent_requests":3,"model_tokens_per_day":5000}`, 200,
				`"limits":{"requests_per_second":2.5,"burst":4,"concurrent_requests":3,"model_tokens_per_day":5000}`},
			{"GET", "/v1/admin/tenants/acme", "", 200, `"quota":{"records":7},"limits":{"requests_per_second":2.5`},
			{"PUT", "/v1/admin/tenants/acme/limits", `{"burst":3}`, 400, "requests_per_second"},
			{"PUT", "/v1/admin/tenants/acme/limits", `{"model_tokens_per_day":-1}`, 400, "model_tokens_per_day"},
			{"PUT", "/v1/admin/tenants/nobody/limits", `{}`, 404, "no tenant"},
			{"PUT", "/v1/admin/tenants/acme/limits", `{}`, 200, `"quota":{"records":7}}`},
			{"POST", "/v1/admin/tenants/acme/erase", `{"expect":"globex"}`, 400, "nothing was erased"},
			{"GET", "/v1/admin/keys?tenant=acme", "", 200, `"note":"a note"`},
			{"GET", "/v1/admin/keys?tenant=new%20one", "", 200, `"keys":[]`},
			{"POST", "/v1/admin/keys", `{"tenant":"nobody","scopes":["read"],"vars":{"user_id":"u"}}`, 404, "no tenant"},
			{"POST", "/v1/admin/keys", `{"tenant":"acme","scopes":["read"],"vars":{"user_id":"u"},"tools":["note"]}`, 400, "no family"},
			{"POST", "/v1/admin/keys", `{"tenant":"acme","scopes":["everything"],"vars":{"user_id":"u"}}`, 400, "unknown scope"},
			{"GET", key, "", 200, `"created_by":"tester"`},
			{"PUT", key + "/limits", `{"concurrent_requests":3}`, 200, `"limits":{"concurrent_requests":3}`},
			{"PUT", key + "/limits", `{"burst":3}`, 400, "requests_per_second"},
			{"PUT", key + "/limits", `{"requests_per_second":-1}`, 400, "requests_per_second"},
			{"POST", key + "/rotate", `{"overlap_seconds":0}`, 200, `"token":"loci_`},
			{"POST", key + "/rotate", `{"overlap_seconds":2592001}`, 400, "overlap_seconds"},
			{"POST", key + "/revoke", "", 200, `"revoked_at"`},
			{"POST", key + "/rotate", `{}`, 409, "revoked"},
			{"GET", "/v1/admin/keys/loci_abc", "", 400, "not the id of one"},
		} {
			r := b.send(c.method, c.path, c.body)
			if r.status != c.status || !strings.Contains(r.body, c.want) {
				t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, r.status, r.body)
			}
			if strings.Contains(r.body, "canary of globex") {
				t.Errorf("%s %s shows another tenant: %s", c.method, c.path, r.body)
			}
		}
	})
}

// TestServerWithoutOperators: where nothing is to be operated, the routes say so.
func TestServerWithoutOperators(t *testing.T) {
	b := newBench(t, locitest.OpenMemory(), func(o *Options) { o.Principal = principal(t, "alice", loci.ScopeOperate) })
	if r := b.send("GET", "/v1/admin/tenants", ""); r.status != 501 || !strings.Contains(r.body, "operate") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// TestExportOfATenantInParts: an operator's copy comes in parts, too, each of which is on record, and one reply holds as
// much as a part does.
func TestExportOfATenantInParts(t *testing.T) {
	eachStore(t, func(t *testing.T, s loci.Store) {
		b, _ := operators(t, s, loci.ScopeOperate)
		for _, user := range []string{"ann", "bob", "eve"} {
			view := loci.View{Tenant: locitest.Tenant(t, "acme"), Namespace: loci.Namespace{"user", user}, Actor: user}
			m := locitest.BindView(t, b.engine, view)
			for i := range 7 {
				locitest.Save(t, m, fmt.Sprintf("Note %d of %s.", i, user))
			}
			large := strings.Repeat("x", 200_000) // 45 of them are more than a part
			for i := range 15 {
				value := json.RawMessage(`{"n":"` + large + `"}`)
				opts := &item.PutOptions{Index: []string{}}
				if err := item.Of(m).Put(t.Context(), view.Namespace.Child("docs"), fmt.Sprint(i), value, opts); err != nil {
					t.Fatal(err)
				}
			}
		}
		const path = "/v1/admin/tenants/acme/export"
		r := b.send("GET", path, "")
		if r.status != 413 || !strings.Contains(r.body, "Ask with limit") {
			t.Fatalf("all at once: %d %.300s", r.status, r.body)
		}
		large, parts := exportPartsOf(t, b, path+"?limit=10000")
		if parts != 2 {
			t.Errorf("%d parts of 8 MiB", parts)
		}
		small, parts := exportPartsOf(t, b, path+"?limit=5")
		if parts < 8 || !slices.Equal(small.Lines[1:], large.Lines[1:]) || len(small.Lines) != 1+22+45+1 {
			t.Errorf("%d lines in %d parts, and %d lines in large ones", len(small.Lines), parts, len(large.Lines))
		}
		events, _, err := s.Events(t.Context(), locitest.Tenant(t, "acme"), loci.EventFilter{
			Within: []loci.Namespace{{}}, Types: []loci.EventType{loci.EventElevated}}, loci.Page{Limit: 100})
		if want := 1 + 2 + parts; err != nil || len(events) != want {
			t.Errorf("%d copies are on record, %v; want %d", len(events), err, want)
		}
		for _, query := range []string{"cursor=x", "limit=0", "limit=10001"} {
			if r := b.send("GET", path+"?"+query, ""); r.status != 400 {
				t.Errorf("%s: %d %s", query, r.status, r.body)
			}
		}
	})
}
