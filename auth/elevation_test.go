package auth_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

// acts says whether the caller of a token may act in another tenant now.
func acts(t *testing.T, keys *auth.Keys, clock *locitest.Clock, token string, verifiers ...auth.Verifier) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	c, err := auth.NewDoor(keys.Admit, append(verifiers, keys)...).Authenticate(r)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Elevate(locitest.Tenant(t, "other"))
	if err != nil {
		t.Fatal(err)
	}
	e := locitest.NewEngine(t, locitest.OpenMemory(), locitest.Quiet(clock))
	return e.RecordElevation(t.Context(), p, "r", "x")
}

// TestKeysActElsewhereForATime: a key acts in other tenants for as long as the setting says after
// it was made, or until it expires, also in a tenant that is read-only and after a rotation; the
// rest of what it may goes on.
func TestKeysActElsewhereForATime(t *testing.T) {
	s, clock := locitest.OpenMemory(), locitest.NewClock()
	by, tenant := auth.By{Actor: "operator"}, locitest.Tenant(t, "default")
	preset := made(t, s, clock)
	short, err := auth.OpenKeys(s, auth.Options{Now: clock.Now, Elevation: 10 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(short.Close)
	create := func(life time.Duration, scopes ...loci.Scope) (auth.Key, string) {
		t.Helper()
		key, token, err := preset.Create(t.Context(), by, auth.NewKey{
			Tenant: tenant, Vars: loci.Vars{loci.VarUser: "root"}, Scopes: scopes, ExpiresAt: clock.Now().Add(life)})
		if err != nil {
			t.Fatal(err)
		}
		return key, token
	}
	born := clock.Now().Truncate(time.Millisecond)
	long, token := create(24*time.Hour, loci.ScopeRead, loci.ScopeAdmin, loci.ScopeElevate)
	brief, _ := create(time.Minute, loci.ScopeAdmin, loci.ScopeElevate)
	plain, _ := create(time.Hour, loci.ScopeRead)
	for what, c := range map[string]struct{ got, want time.Time }{
		"the preset": {long.ElevatedUntil, born.Add(auth.DefaultElevation)}, "the end": {brief.ElevatedUntil, born.Add(time.Minute)},
		"no elevation": {plain.ElevatedUntil, time.Time{}},
	} {
		if !c.got.Equal(c.want) {
			t.Errorf("%s: %s, want %s", what, c.got, c.want)
		}
	}
	if _, token, err = preset.Rotate(t.Context(), by, loci.Tenant{}, long.ID, 0); err != nil {
		t.Fatal(err)
	}
	over := func(k *auth.Keys, at time.Duration, want bool) {
		t.Helper()
		clock.Set(born.Add(at))
		err := acts(t, k, clock, token)
		if (err != nil) != want {
			t.Errorf("after %s: %v", at, err)
		}
		if want {
			locitest.WantCode(t, err, loci.Forbidden)
		}
	}
	over(short, 10*time.Minute-time.Millisecond, false)
	over(short, 10*time.Minute, true)
	over(preset, time.Hour-time.Millisecond, false)
	over(preset, time.Hour, true)
	if _, err := preset.SetTenant(t.Context(), by, tenant, auth.StateReadOnly, ""); err != nil {
		t.Fatal(err)
	}
	over(preset, time.Hour, true)
}

// TestTokensActElsewhereForATime: a token does so from when it was issued, or until it ends; one
// that does not say when it was issued is refused.
func TestTokensActElsewhereForATime(t *testing.T) {
	court := newCourt(t, nil)
	issuer := court.issuer(func(i *auth.Issuer) {
		i.Scopes.Allow = []loci.Scope{loci.ScopeRead, loci.ScopeAdmin, loci.ScopeElevate}
	})
	opts := auth.IssuerOptions{Now: court.clock.Now, Elevation: 10 * time.Minute}
	issuers, err := auth.OpenIssuers([]auth.Issuer{issuer}, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(issuers.Close)
	keys, err := auth.OpenKeys(locitest.OpenMemory(), auth.Options{Now: court.clock.Now, OnFirstSight: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(keys.Close)
	born := court.clock.Now().Truncate(time.Second)
	token := court.token(t, map[string]any{
		"scope": "read admin elevate", "iat": born.Unix(), "exp": born.Add(time.Hour).Unix(),
	})
	const end = 10 * time.Minute
	for at, over := range map[time.Duration]bool{0: false, end - time.Second: false, end + time.Second: true} {
		court.clock.Set(born.Add(at))
		if err := acts(t, keys, court.clock, token, issuers); (err != nil) != over {
			t.Errorf("after %s: %v", at, err)
		}
	}
	court.clock.Set(born)
	_, err = issuers.Verify(t.Context(), court.token(t, map[string]any{"scope": "admin elevate", "iat": nil}))
	locitest.WantCode(t, err, loci.Unauthenticated)
	if !strings.Contains(err.Error(), "iat") {
		t.Error(err)
	}
	if _, err := issuers.Verify(t.Context(), court.token(t, map[string]any{"scope": "admin", "iat": nil})); err != nil {
		t.Errorf("without elevate: %v", err)
	}
}
