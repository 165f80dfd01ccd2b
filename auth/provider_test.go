package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/loci-memory/loci/auth"
)

// publicURL is what tokens of these tests are for.
const publicURL = "https://memory.example.com"

// A provider is an authorization server with a few bad habits.
type provider struct {
	*httptest.Server
	mu      sync.Mutex
	keys    []jose.JSONWebKey
	fetches int                                           // of its keys
	serve   func(http.ResponseWriter, *http.Request) bool // before it answers; true: it did
}

func newProvider(t testing.TB, keys ...jose.JSONWebKey) *provider {
	t.Helper()
	p := &provider{keys: keys}
	p.Server = httptest.NewServer(http.HandlerFunc(p.answer))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	keys, serve := p.keys, p.serve
	if r.URL.Path == "/keys" {
		p.fetches++
	}
	p.mu.Unlock()
	if serve != nil && serve(w, r) {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"%s/keys","authorization_endpoint":"%[2]s/auth","token_endpoint":"%[2]s/token"}`, p.URL, p.URL)
	case "/keys":
		all := []jose.JSONWebKey{}
		for _, k := range keys {
			all = append(all, k.Public())
		}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: all})
	default:
		http.NotFound(w, r)
	}
}

func (p *provider) set(keys ...jose.JSONWebKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = keys
}

func (p *provider) behave(serve func(http.ResponseWriter, *http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.serve = serve
}

func (p *provider) fetched() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches
}

// issuer is the provider as a configuration names it.
func (p *provider) issuer(change func(*auth.Issuer)) auth.Issuer {
	i := auth.Issuer{Name: "corp", URL: p.URL, Audiences: []string{publicURL}, Tenant: auth.Source{Claim: []string{"tenant"}}}
	if change != nil {
		change(&i)
	}
	return i
}

// rsaKey is made once: that takes a while.
var rsaKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// signingKey makes a private key with a name.
func signingKey(t testing.TB, kid string, alg jose.SignatureAlgorithm) jose.JSONWebKey {
	t.Helper()
	var private any
	var err error
	switch alg {
	case jose.ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.ES384:
		private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case jose.EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		private, err = rsaKey()
	}
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: private, KeyID: kid, Algorithm: string(alg), Use: "sig"}
}

// claimsAt are good ones at a time, with changes: a value of nil takes a claim out.
func (p *provider) claimsAt(now time.Time, changes map[string]any) map[string]any {
	claims := map[string]any{"iss": p.URL, "sub": "alice", "aud": publicURL, "exp": now.Add(time.Hour).Unix(),
		"iat": now.Unix(), "tenant": "acme", "scope": "openid read write"}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, v any) bool { return v == nil })
	return claims
}

// sign makes a token of claims, with more of a header.
func sign(t testing.TB, key jose.JSONWebKey, claims any, header map[string]any) string {
	t.Helper()
	payload, isText := claims.(string)
	if !isText {
		data, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		payload = string(data)
	}
	opts := &jose.SignerOptions{}
	for name, value := range header {
		opts.WithHeader(jose.HeaderKey(name), value)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key}, opts)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// publicBytes are those of a public key, which anybody has.
func publicBytes(t testing.TB, key jose.JSONWebKey) []byte {
	t.Helper()
	public := key.Public()
	data, err := public.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func thumbprint(t testing.TB, key jose.JSONWebKey) string {
	t.Helper()
	sum, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	return string(sum)
}
