package auth_test

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestLimitsOfKeys: what a key may send is what was said last, on every server within
// MaxStale; a rotation changes nothing of it, and its log tells who said what.
func TestLimitsOfKeys(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		clock := locitest.NewClock()
		one, two := made(t, s, clock), made(t, s, clock)
		by, first := auth.By{Actor: "operator"}, auth.Limits{RequestsPerSecond: 5, Burst: 7, ConcurrentRequests: 2}
		key, token, err := one.Create(t.Context(), by, auth.NewKey{
			Tenant: locitest.Tenant(t, "default"), Vars: loci.Vars{loci.VarUser: "alice"},
			Scopes: []loci.Scope{loci.ScopeRead}, Limits: first,
		})
		if err != nil || key.Limits != first {
			t.Fatalf("%+v, %v", key, err)
		}
		want := func(k *auth.Keys, token string, want auth.Limits) {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+token)
			if c, err := auth.NewDoor(k.Admit, k).Authenticate(r); err != nil || c.Limits != want {
				t.Errorf("%+v, %v; want %+v", c.Limits, err, want)
			}
		}
		want(one, token, first)
		want(two, token, first)
		second := auth.Limits{RequestsPerSecond: 0.5}
		for range 2 { // the second time there is nothing to do
			key, err = one.Limit(t.Context(), by, loci.Tenant{}, key.ID, second)
			if err != nil || key.Limits != second {
				t.Fatalf("%+v, %v", key, err)
			}
		}
		want(one, token, second)
		clock.Advance(auth.MaxStale)
		want(two, token, second)
		_, fresh, err := one.Rotate(t.Context(), by, loci.Tenant{}, key.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		want(one, fresh, second)
		if _, err := one.Limit(t.Context(), by, loci.Tenant{}, key.ID, auth.Limits{}); err != nil {
			t.Fatal(err)
		}
		want(one, fresh, auth.Limits{})
		got, events, err := one.Get(t.Context(), loci.Tenant{}, key.ID)
		if err != nil || got.Limits != (auth.Limits{}) || len(events) != 4 ||
			events[2].Actor != "operator" || !strings.Contains(string(events[2].Payload), `"requests_per_second":0.5`) {
			t.Errorf("%+v, %v, %v", got, events, err)
		}
	})
}

// TestLimitsThatMeanNothing are refused, of a new key and of one that is there.
func TestLimitsThatMeanNothing(t *testing.T) {
	k := made(t, locitest.OpenMemory(), locitest.NewClock())
	by := auth.By{Actor: "operator"}
	n := auth.NewKey{
		Tenant: locitest.Tenant(t, "default"), Vars: loci.Vars{loci.VarUser: "alice"}, Scopes: []loci.Scope{loci.ScopeRead},
	}
	key, _, err := k.Create(t.Context(), by, n)
	if err != nil {
		t.Fatal(err)
	}
	for said, l := range map[string]auth.Limits{
		"requests_per_second is -1":      {RequestsPerSecond: -1},
		"requests_per_second is NaN":     {RequestsPerSecond: math.NaN()},
		"requests_per_second is +Inf":    {RequestsPerSecond: math.Inf(1)},
		"burst is -1":                    {RequestsPerSecond: 1, Burst: -1},
		"burst is 1000001":               {RequestsPerSecond: 1, Burst: 1_000_001},
		"set both":                       {Burst: 1},
		"concurrent_requests is -1":      {ConcurrentRequests: -1},
		"concurrent_requests is 1000001": {ConcurrentRequests: 1_000_001},
	} {
		n.Limits = l
		_, _, err := k.Create(t.Context(), by, n)
		_, changed := k.Limit(t.Context(), by, loci.Tenant{}, key.ID, l)
		for _, err := range []error{err, changed} {
			locitest.WantCode(t, err, loci.Invalid)
			if !strings.Contains(err.Error(), said) {
				t.Errorf("%v; want %s", err, said)
			}
		}
	}
}

// TestLimitsOfTenants: what a tenant may send is what was said last, on every server within
// MaxStale; its log tells who said what; its quota and its state are not touched, nor do
// changes of these touch it.
func TestLimitsOfTenants(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		clock := locitest.NewClock()
		one, two := made(t, s, clock), made(t, s, clock)
		by, acme := auth.By{Actor: "operator"}, locitest.Tenant(t, "default")
		want := func(k *auth.Keys, want auth.TenantLimits) {
			t.Helper()
			if got, err := k.TenantLimits(t.Context(), acme); err != nil || got != want {
				t.Errorf("%+v, %v; want %+v", got, err, want)
			}
		}
		want(one, auth.TenantLimits{})
		want(two, auth.TenantLimits{})
		limits := auth.TenantLimits{RequestsPerSecond: 5, Burst: 7, ConcurrentRequests: 2, ModelTokensPerDay: 9000}
		if _, err := one.LimitTenant(t.Context(), by, acme, auth.Quota{Records: 4}); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing to do
			got, err := one.RateLimitTenant(t.Context(), by, acme, limits)
			if err != nil || got.Limits != limits || got.Quota.Records != 4 {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		want(one, limits)
		clock.Advance(auth.MaxStale)
		want(two, limits)
		if _, err := two.SetTenant(t.Context(), by, acme, auth.StateReadOnly, ""); err != nil {
			t.Fatal(err)
		}
		list, err := one.Tenants(t.Context())
		if err != nil || len(list) != 1 || list[0].Limits != limits || list[0].State != auth.StateReadOnly {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := one.RateLimitTenant(t.Context(), by, acme, auth.TenantLimits{}); err != nil {
			t.Fatal(err)
		}
		want(one, auth.TenantLimits{})
		got, events, err := one.Tenant(t.Context(), acme)
		if err != nil || got.Limits != (auth.TenantLimits{}) || got.Quota.Records != 4 || len(events) != 4 ||
			events[2].Actor != "operator" || !strings.Contains(string(events[2].Payload), `"model_tokens_per_day":9000`) {
			t.Errorf("%+v, %v, %v", got, events, err)
		}
		_, err = one.RateLimitTenant(t.Context(), by, locitest.Tenant(t, "nobody"), limits)
		locitest.WantCode(t, err, loci.NotFound)
		for said, l := range map[string]auth.TenantLimits{
			"requests_per_second is -1":  {RequestsPerSecond: -1},
			"concurrent_requests is -1":  {ConcurrentRequests: -1},
			"model_tokens_per_day is -1": {ModelTokensPerDay: -1},
			"model_tokens_per_day is 1000000000001; it must be 0 to 1000000000000": {ModelTokensPerDay: auth.MaxModelTokens + 1},
		} {
			_, err := one.RateLimitTenant(t.Context(), by, acme, l)
			locitest.WantCode(t, err, loci.Invalid)
			if !strings.Contains(err.Error(), said) {
				t.Errorf("%v; want %s", err, said)
			}
		}
	})
}
