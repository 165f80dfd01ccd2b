package auth_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

// BenchmarkDoor measures what a request pays for being asked who it is: with a key, with a
// token that was verified before, and with one that is new.
func BenchmarkDoor(b *testing.B) {
	keys, err := auth.OpenKeys(locitest.OpenMemory(), auth.Options{OnFirstSight: true})
	if err != nil {
		b.Fatal(err)
	}
	defer keys.Close()
	_, key, err := keys.Create(b.Context(), auth.By{}, auth.NewKey{Tenant: locitest.Tenant(b, "acme"),
		Vars: loci.Vars{loci.VarUser: "alice"}, Scopes: []loci.Scope{loci.ScopeRead}})
	if err != nil {
		b.Fatal(err)
	}
	now := locitest.NewClock().Now()
	for _, c := range []struct {
		name string
		alg  jose.SignatureAlgorithm
		new  bool
	}{{"key", "", false}, {"token", jose.RS256, false}, {"new RS256", jose.RS256, true}, {"new ES256", jose.ES256, true}} {
		b.Run(c.name, func(b *testing.B) {
			token := key
			clock := locitest.NewClock()
			var verifiers []auth.Verifier
			if c.alg == "" {
				verifiers = append(verifiers, keys)
			} else {
				private := signingKey(b, "a", c.alg)
				p := newProvider(b, private)
				issuers, err := auth.OpenIssuers([]auth.Issuer{p.issuer(nil)}, auth.IssuerOptions{Now: clock.Now})
				if err != nil {
					b.Fatal(err)
				}
				defer issuers.Close()
				verifiers = append(verifiers, issuers)
				changes := map[string]any{"jti": "0198f0c2-6f4e-7c3a-9d54-2b8f4c1e6a77", "client_id": "an-app", "auth_time": now.Unix()}
				if c.new {
					changes["exp"] = now.Unix() // good within the leeway, and not remembered
				}
				token = sign(b, private, p.claimsAt(now, changes), map[string]any{"typ": "at+jwt"})
			}
			door := auth.NewDoor(keys.Admit, verifiers...)
			r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
			r.Header = bearer(token)
			for b.Loop() {
				if _, err := door.Authenticate(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
