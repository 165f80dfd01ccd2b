package auth_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestSuspendedTenants: callers of a closed tenant are refused, those of a read-only tenant may
// still read. Every server knows it within MaxStale, and other tenants notice nothing.
func TestSuspendedTenants(t *testing.T) {
	g := newGate(t)
	_, token := g.create(t, nil)
	_, other := g.create(t, func(n *auth.NewKey) { n.Tenant = locitest.Tenant(t, "acme corp") })
	acme := locitest.Tenant(t, "acme")
	set := func(s auth.State) {
		t.Helper()
		for range 2 { // the second time there is nothing to do
			if got, err := g.keys.SetTenant(t.Context(), auth.By{Actor: "operator"}, acme, s, "why"); err != nil || got.State != s {
				t.Fatalf("%+v, %v", got, err)
			}
		}
	}
	status := func(token string) int { t.Helper(); return g.ask("/v1/notes", bearer(token)).Code }
	if got := status(token); got != 200 {
		t.Errorf("before: %d", got)
	}
	set(auth.StateClosed)
	w := g.ask("/v1/notes", bearer(token))
	if w.Code != 403 || !strings.Contains(w.Body.String(), "suspended") || strings.Contains(w.Body.String(), "why") {
		t.Errorf("a closed tenant: %d %s", w.Code, w.Body)
	}
	if got := status(token[:80]); got != 401 { // a caller without a good credential does not learn of it
		t.Errorf("a bad key of a closed tenant: %d", got)
	}
	set(auth.StateReadOnly)
	p, err := g.keys.Verify(t.Context(), token)
	if err == nil {
		p, err = g.keys.Admit(t.Context(), p)
	}
	if err != nil || !slices.Equal(p.Scopes(), []loci.Scope{"read"}) || p.Var(loci.VarUser) != "alice" || p.Tenant() != acme {
		t.Errorf("a read-only tenant: %v %v %v, %v", p.Tenant(), p.Vars(), p.Scopes(), err)
	}
	if got := status(other); got != 200 {
		t.Errorf("another tenant: %d", got)
	}
	set(auth.StateActive)
	if got := status(token); got != 200 {
		t.Errorf("after: %d", got)
	}
	state, events, err := g.keys.Tenant(t.Context(), acme)
	if err != nil || state.State != auth.StateActive || len(events) != 3 || events[0].Actor != "operator" {
		t.Errorf("%+v, %d events, %v", state, len(events), err)
	}
	_, err = g.keys.SetTenant(t.Context(), auth.By{}, acme, "open", "")
	locitest.WantCode(t, err, loci.Invalid)
}

// TestSuspensionReachesOtherServers within MaxStale.
func TestSuspensionReachesOtherServers(t *testing.T) {
	s, clock := locitest.OpenMemory(), locitest.NewClock()
	open := func() *auth.Keys {
		k, err := auth.OpenKeys(s, auth.Options{Now: clock.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(k.Close)
		return k
	}
	one, two := open(), open()
	p, err := loci.NewPrincipal(locitest.Tenant(t, "acme"), "key", nil, loci.ScopeRead)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Admit(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, err := one.SetTenant(t.Context(), auth.By{}, p.Tenant(), auth.StateClosed, ""); err != nil {
		t.Fatal(err)
	}
	clock.Advance(auth.MaxStale)
	_, err = two.Admit(t.Context(), p)
	locitest.WantCode(t, err, loci.Forbidden)
}
