package auth_test

import (
	"errors"
	"fmt"
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
		p.Principal, err = g.keys.Admit(t.Context(), p.Principal)
	}
	if err != nil || !slices.Equal(p.Scopes(), []loci.Scope{"read"}) || p.Var(loci.VarUser) != "alice" || p.Tenant() != acme {
		t.Errorf("a read-only tenant: %v %v %v, %v", p.Tenant(), p.Vars(), p.Scopes(), err)
	}
	lacks := (*loci.ScopeError)(nil)
	if err := p.Require(loci.ScopeWrite); !strings.Contains(fmt.Sprint(err), "suspended") || errors.As(err, &lacks) {
		t.Errorf("a caller of a read-only tenant hears %v", err)
	}
	operator, err := loci.NewPrincipal(acme, "operator", nil, loci.ScopeRead, loci.ScopeDelete, loci.ScopeOperate)
	if err == nil {
		operator, err = g.keys.Admit(t.Context(), operator)
	}
	if err != nil || !slices.Equal(operator.Scopes(), []loci.Scope{"read"}) {
		t.Errorf("an operator of a read-only tenant: %v, %v", operator.Scopes(), err)
	}
	if got := status(other); got != 200 {
		t.Errorf("another tenant: %d", got)
	}
	set(auth.StateActive)
	if got := status(token); got != 200 {
		t.Errorf("after: %d", got)
	}
	state, events, err := g.keys.Tenant(t.Context(), acme)
	if err != nil || state.State != auth.StateActive || len(events) != 4 || events[0].Actor != "operator" {
		t.Errorf("%+v, %d events, %v", state, len(events), err)
	}
	_, err = g.keys.SetTenant(t.Context(), auth.By{}, acme, "open", "")
	locitest.WantCode(t, err, loci.Invalid)
}

// TestSuspensionReachesOtherServers within MaxStale.
func TestSuspensionReachesOtherServers(t *testing.T) {
	s, clock := locitest.OpenMemory(), locitest.NewClock()
	one, two := made(t, s, clock), made(t, s, clock)
	if _, err := one.CreateTenant(t.Context(), auth.By{}, locitest.Tenant(t, "acme")); err != nil {
		t.Fatal(err)
	}
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

// made opens keys as a server does where tenants are made by operators alone.
func made(t *testing.T, s loci.Store, clock *locitest.Clock) *auth.Keys {
	t.Helper()
	k, err := auth.OpenKeys(s, auth.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func keyFor(t *testing.T, k *auth.Keys, tenant string) (string, error) {
	t.Helper()
	_, token, err := k.Create(t.Context(), auth.By{Actor: "operator"}, auth.NewKey{Tenant: locitest.Tenant(t, tenant),
		Vars: loci.Vars{loci.VarUser: "alice"}, Scopes: []loci.Scope{loci.ScopeRead, loci.ScopeWrite}})
	return token, err
}

func admitted(t *testing.T, k *auth.Keys, token string) error {
	t.Helper()
	p, err := k.Verify(t.Context(), token)
	if err == nil {
		_, err = k.Admit(t.Context(), p.Principal)
	}
	return err
}

// TestTenantsAreMade: nobody gets a key of a tenant that nobody made, and whoever comes from
// another one hears that it is not there; the one of a person alone is there by itself.
func TestTenantsAreMade(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		k := made(t, s, locitest.NewClock())
		by, acme := auth.By{Actor: "operator"}, locitest.Tenant(t, "acme")
		if _, err := keyFor(t, k, "default"); err != nil {
			t.Errorf("the tenant of a person alone: %v", err)
		}
		_, err := keyFor(t, k, "acme")
		locitest.WantCode(t, err, loci.NotFound)
		locitest.WantCode(t, k.MustBe(t.Context(), acme), loci.NotFound)
		_, _, err = k.Tenant(t.Context(), acme)
		locitest.WantCode(t, err, loci.NotFound)
		_, err = k.SetTenant(t.Context(), by, acme, auth.StateClosed, "")
		locitest.WantCode(t, err, loci.NotFound)
		p, err := loci.NewPrincipal(acme, "someone", nil, loci.ScopeRead)
		if err != nil {
			t.Fatal(err)
		}
		_, err = k.Admit(t.Context(), p)
		wantNotThere(t, err)

		got, err := k.CreateTenant(t.Context(), by, acme)
		if err != nil || got.State != auth.StateActive || got.CreatedAt.IsZero() {
			t.Fatalf("%+v, %v", got, err)
		}
		_, err = k.CreateTenant(t.Context(), by, acme)
		locitest.WantCode(t, err, loci.Conflict)
		token, err := keyFor(t, k, "acme")
		if err != nil || admitted(t, k, token) != nil || k.MustBe(t.Context(), acme) != nil {
			t.Errorf("a tenant that was made: %v, %v", err, admitted(t, k, token))
		}
		if _, events, err := k.Tenant(t.Context(), acme); err != nil || len(events) != 1 || events[0].Actor != "operator" {
			t.Errorf("%+v, %v", events, err)
		}
		all, err := k.Tenants(t.Context())
		if err != nil || len(all) != 2 || all[0].Name != "acme" || all[1].Name != "default" {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

// wantNotThere: whoever has a good credential of a tenant that is not there hears so, and what its
// operator can do. It is not suspended.
func wantNotThere(t *testing.T, err error) {
	t.Helper()
	locitest.WantCode(t, err, loci.Forbidden)
	e := loci.AsError(err)
	if !strings.Contains(e.Msg, `there is no tenant "acme"`) || !strings.Contains(e.Recovery, "loci tenant create") {
		t.Errorf("the caller hears %q, %q", e.Msg, e.Recovery)
	}
}

// TestTenantsOfOldStores: one that has memories or keys is there, though nobody made it.
func TestTenantsOfOldStores(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		clock := locitest.NewClock()
		e := locitest.NewEngine(t, s, loci.Options{Now: clock.Now})
		m := locitest.BindView(t, e, loci.View{Tenant: locitest.Tenant(t, "old"), Namespace: loci.Namespace{"user", "u"}, Actor: "u"})
		locitest.Save(t, m, "Likes tea.")
		k := made(t, s, clock)
		token, err := keyFor(t, k, "old")
		if err != nil || admitted(t, k, token) != nil {
			t.Fatalf("a tenant with memories: %v, %v", err, admitted(t, k, token))
		}
		// What is left when the memories are gone is a key, as builds before this one made it.
		if err := s.EraseTenant(t.Context(), locitest.Tenant(t, "old")); err != nil {
			t.Fatal(err)
		}
		again := made(t, s, clock)
		if _, err := keyFor(t, again, "old"); err != nil || admitted(t, again, token) != nil {
			t.Errorf("a tenant with keys: %v, %v", err, admitted(t, again, token))
		}
		_, err = again.CreateTenant(t.Context(), auth.By{}, locitest.Tenant(t, "old"))
		locitest.WantCode(t, err, loci.Conflict)
	})
}

// TestTenantsOnFirstSight: where that is wanted, a key brings its tenant along, unless an
// operator has erased it.
func TestTenantsOnFirstSight(t *testing.T) {
	s := locitest.OpenMemory()
	k, err := auth.OpenKeys(s, auth.Options{OnFirstSight: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	for range 2 {
		if _, err := keyFor(t, k, "acme"); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.MustBe(t.Context(), locitest.Tenant(t, "another")); err != nil {
		t.Error(err)
	}
	if all, err := k.Tenants(t.Context()); err != nil || len(all) != 1 || all[0].CreatedAt.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := k.EraseTenant(t.Context(), auth.By{}, locitest.Tenant(t, "acme")); err != nil {
		t.Fatal(err)
	}
	_, err = keyFor(t, k, "acme")
	locitest.WantCode(t, err, loci.NotFound)
}

// TestErasedTenants: its keys are nobody's, nobody acts in it, and the system's log says who
// erased it; made again it is empty of keys.
func TestErasedTenants(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		k := made(t, s, locitest.NewClock())
		by, acme := auth.By{Actor: "operator"}, locitest.Tenant(t, "acme")
		var tokens []string
		for _, name := range []string{"acme", "acme corp"} {
			if _, err := k.CreateTenant(t.Context(), by, locitest.Tenant(t, name)); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				token, err := keyFor(t, k, name)
				if err != nil {
					t.Fatal(err)
				}
				tokens = append(tokens, token)
			}
		}
		held, err := k.Verify(t.Context(), tokens[0])
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing to do
			if got, err := k.EraseTenant(t.Context(), by, acme); err != nil || got.State != auth.StateErased {
				t.Fatalf("%+v, %v", got, err)
			}
		}
		for i, token := range tokens {
			_, err := k.Verify(t.Context(), token)
			if gone := i < 2; gone != (err != nil) {
				t.Errorf("key %d: %v", i, err)
			}
		}
		_, err = k.Admit(t.Context(), held.Principal) // a request that was under way
		wantNotThere(t, err)
		locitest.WantCode(t, k.MustBe(t.Context(), acme), loci.NotFound)
		_, err = k.SetTenant(t.Context(), by, acme, auth.StateActive, "")
		locitest.WantCode(t, err, loci.NotFound)
		all := loci.EventFilter{Within: []loci.Namespace{{}}}
		events, _, err := s.Events(t.Context(), loci.SystemTenant(), all, loci.Page{Limit: 1000})
		told := slices.ContainsFunc(events, func(e loci.Event) bool {
			return e.Actor == "operator" && strings.Contains(string(e.Payload), "erased") && strings.Contains(string(e.Payload), `"acme"`)
		})
		if err != nil || !told {
			t.Errorf("the log does not say who erased it: %v", err)
		}
		if left, err := k.Tenants(t.Context()); err != nil || len(left) != 1 || left[0].Name != "acme corp" {
			t.Errorf("%+v, %v", left, err)
		}
		if _, err := k.CreateTenant(t.Context(), by, acme); err != nil {
			t.Fatal(err)
		}
		if keys, _, err := k.List(t.Context(), acme, loci.Page{}); err != nil || len(keys) != 0 {
			t.Errorf("%d keys: %v", len(keys), err)
		}
	})
}

// TestQuotas: what an operator said of a tenant is known to every server within MaxStale, and
// lasts through its other changes.
func TestQuotas(t *testing.T) {
	s, clock := locitest.OpenMemory(), locitest.NewClock()
	one, two := made(t, s, clock), made(t, s, clock)
	by, acme := auth.By{Actor: "operator"}, locitest.Tenant(t, "acme")
	_, err := one.LimitTenant(t.Context(), by, acme, auth.Quota{Records: 1})
	locitest.WantCode(t, err, loci.NotFound)
	if _, err := one.CreateTenant(t.Context(), by, acme); err != nil {
		t.Fatal(err)
	}
	want := func(k *auth.Keys, want loci.Quota) {
		t.Helper()
		if got, err := k.Quota(t.Context(), acme); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	want(one, loci.Quota{})
	want(two, loci.Quota{})
	for range 2 { // the second time there is nothing to do
		got, err := one.LimitTenant(t.Context(), by, acme, auth.Quota{Records: 5, Bytes: 7})
		if err != nil || got.Quota != (auth.Quota{Records: 5, Bytes: 7}) {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	want(one, loci.Quota{Records: 5, Bytes: 7})
	clock.Advance(auth.MaxStale)
	want(two, loci.Quota{Records: 5, Bytes: 7})
	if _, err := one.SetTenant(t.Context(), by, acme, auth.StateReadOnly, ""); err != nil {
		t.Fatal(err)
	}
	want(one, loci.Quota{Records: 5, Bytes: 7})
	for name, q := range map[string]auth.Quota{"records is -1": {Records: -1}, "bytes is -2": {Bytes: -2}} {
		_, err := one.LimitTenant(t.Context(), by, acme, q)
		locitest.WantCode(t, err, loci.Invalid)
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not say that %s", err, name)
		}
	}
	if _, events, err := one.Tenant(t.Context(), acme); err != nil || len(events) != 3 {
		t.Errorf("%d events, %v", len(events), err)
	}
}
