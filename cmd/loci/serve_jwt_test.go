package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"
)

// A signer is an authorization server that makes tokens for https://memory.example.com.
type signer struct {
	*httptest.Server
	t   *testing.T
	key jose.JSONWebKey
}

func newSigner(t *testing.T) *signer {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{t: t, key: jose.JSONWebKey{Key: private, KeyID: "one", Algorithm: "ES256", Use: "sig"}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{s.key.Public()}})
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"%s/keys"}`, s.URL, s.URL)
	}))
	t.Cleanup(s.Close)
	return s
}

// bearer is the header with a token that says some claims.
func (s *signer) bearer(claims map[string]any) string {
	s.t.Helper()
	all := map[string]any{"iss": s.URL, "aud": "https://memory.example.com/mcp", "sub": "alice", "tenant": "acme",
		"scope": "loci:read loci:write loci:delete", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(all, claims)
	payload, err := json.Marshal(all)
	if err != nil {
		s.t.Fatal(err)
	}
	by, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	signed, err := by.Sign(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return "Authorization: Bearer " + token
}

// settings is a configuration that takes its tokens, and keys beside them.
func (s *signer) settings() string {
	return `
auth:
  mode: keys+jwt
  issuers:
    - name: corp
      issuer: ` + s.URL + `
      audience: [https://memory.example.com/mcp]
      tenant: {claim: tenant}
      scopes: {claim: scope, pattern: "loci:(.*)", allow: [read, write, delete, admin, metrics]}
http: {public_url: "https://memory.example.com"}
agents: [planner]
tools: [notes, facts]
`
}

// TestServeTakesTokens: a token acts as its claims say over both surfaces, beside keys. Who
// has none hears where to get one; what a token's scopes do not reach is a 403 that names
// them, over REST and MCP. What is refused is in the audit log, and nothing of a token is in any.
func TestServeTakesTokens(t *testing.T) {
	s := newSigner(t)
	store := "--store=sqlite:" + t.TempDir()
	path := t.TempDir() + "/loci.yaml"
	if err := os.WriteFile(path, []byte(s.settings()), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"acme", "other"} {
		operate(t, store, "tenant", "create", name)
	}
	url, stop := serveHere(t, store, "--config="+path)
	alice, bob := s.bearer(nil), s.bearer(map[string]any{"sub": "bob"})
	other := s.bearer(map[string]any{"tenant": "other"})
	reader := s.bearer(map[string]any{"scope": "openid loci:read"})
	nothing := s.bearer(map[string]any{"scope": "openid"})
	nobody := s.bearer(map[string]any{"tenant": "nobody"})
	foreign := s.bearer(map[string]any{"aud": "https://elsewhere.example.com"})
	late := s.bearer(map[string]any{"exp": time.Now().Add(-2 * time.Minute).Unix()})
	metrics := s.bearer(map[string]any{"scope": "loci:metrics"})
	key := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice")
	weak := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice", "--scope=read")
	const metadata = `resource_metadata="https://memory.example.com/.well-known/oauth-protected-resource`
	const lacks = `error="insufficient_scope", ` + metadata
	for _, c := range []struct {
		method, path, body string
		headers            []string
		status             int
		want, challenge    string
	}{
		{"GET", "/.well-known/oauth-protected-resource", "", nil, 200, `"resource":"https://memory.example.com"`, ""},
		{"GET", "/.well-known/oauth-protected-resource/mcp", "", nil, 200, `"authorization_servers":["` + s.URL + `"]`, ""},
		{"GET", "/.well-known/oauth-protected-resource/mcp/planner", "", nil, 200, `mcp/planner"`, ""},
		{"GET", "/.well-known/oauth-protected-resource/v1", "", nil, 200, `"scopes_supported":["loci:read","loci:write","loci:delete"]`, ""},
		{"POST", "/mcp", mcpList, nil, 401, "unauthenticated", metadata + `/mcp", scope="loci:read loci:write loci:delete"`},
		{"GET", "/v1/info", "", nil, 401, "unauthenticated", metadata + `/v1"`},
		{"POST", "/mcp", mcpList, []string{foreign}, 401, "not valid", `error="invalid_token", ` + metadata},
		{"POST", "/v1/notes", `{"content":"Likes tea."}`, []string{alice}, 201, "note-", ""},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"Likes oranges."}`), []string{alice}, 200, "note-", ""},
		{"POST", "/mcp", mcpCall("memory_search", `{"query":"tea"}`), []string{alice}, 200, "Likes tea.", ""},
		{"POST", "/v1/search", `{"query":"oranges"}`, []string{key}, 200, "Likes oranges.", ""},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{bob}, 200, `"matches":[]`, ""},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{other}, 200, `"matches":[]`, ""},
		{"POST", "/mcp", mcpCall("memory_search", `{"query":"tea"}`), []string{other}, 200, `"results":[]`, ""},
		// What a token chooses is within what it may.
		{"POST", "/v1/search", `{"query":"tea"}`, []string{bob, "Loci-User: alice"}, 403, "forbidden", ""},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{other, "Loci-Tenant: acme"}, 403, "forbidden", ""},
		{"POST", "/mcp/planner", mcpList, []string{alice}, 200, `"tools":[]`, ""},
		// Scopes.
		{"POST", "/v1/search", `{"query":"tea"}`, []string{reader}, 200, "Likes tea.", ""},
		{"POST", "/v1/notes", `{"content":"x"}`, []string{reader}, 403, "write", lacks + `/v1", scope="loci:read loci:write"`},
		{"POST", "/v1/tools/memory_save", `{"content":"x"}`, []string{reader}, 403, "write", lacks + `/v1", scope="loci:read loci:write"`},
		{"POST", "/v1/search", `{"query":"tea"}`, []string{nothing}, 403, "read", lacks + `/v1", scope="loci:read"`},
		{"GET", "/v1/events", "", []string{nothing}, 403, "scope", lacks},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"x"}`), []string{reader}, 403, `"id":1,"error"`, lacks + `/mcp", scope="loci:read loci:write"`},
		{"POST", "/mcp", mcpCall("manage_memory", `{"action":"delete","id":"x"}`), []string{reader}, 403, "insufficient_scope", lacks + `/mcp", scope="loci:read loci:write loci:delete"`},
		{"POST", "/mcp", mcpCall("memory_search", `{"query":"tea"}`), []string{reader}, 200, "Likes tea.", ""},
		{"POST", "/mcp", mcpList, []string{reader}, 200, "memory_search", ""},
		{"GET", "/metrics", "", []string{reader}, 403, "metrics", lacks + `", scope="loci:read loci:metrics"`},
		{"GET", "/metrics", "", []string{metrics}, 200, "loci_", ""},
		{"GET", "/v1/admin/tenants", "", []string{alice}, 403, "operate", `error="insufficient_scope"`},
		// A key hears the same over REST; over MCP its model reads it.
		{"POST", "/v1/notes", `{"content":"x"}`, []string{weak}, 403, "write", lacks},
		{"POST", "/mcp", mcpCall("memory_save", `{"content":"x"}`), []string{weak}, 200, `"isError":true`, ""},
		{"GET", "/v1/info", "", []string{nobody}, 403, "there is no tenant", ""},
		{"GET", "/v1/info", "", []string{late}, 401, "the token has expired", `error="invalid_token"`},
	} {
		status, reply, header := exchange(t, c.method, url+c.path, c.body, c.headers...)
		got := header.Get("WWW-Authenticate")
		challenged := strings.Contains(got, c.challenge) && (c.challenge != "" || got == "")
		if status != c.status || !strings.Contains(reply, c.want) || !challenged {
			t.Errorf("%s %s %s: %d %s\n%q", c.method, c.path, c.body, status, reply, got)
		}
	}
	operate(t, store, "tenant", "suspend", "acme")
	ends := time.Now().Add(5 * time.Second)
	status := 200
	for status < 300 && time.Now().Before(ends) {
		time.Sleep(20 * time.Millisecond)
		status, _, _ = exchange(t, "POST", url+"/v1/notes", `{"content":"Likes milk."}`, alice)
	}
	if status != 403 {
		t.Errorf("a tenant that was suspended: %d", status)
	}
	_, stderr := stop()
	events := operate(t, store, "--tenant=acme", "--json", "events", "--namespace=", "--type=refused", "--limit=100")
	for _, want := range []string{`"operation":"save_note"`, `"operation":"memory_save"`, `"operation":"authenticate"`, "jwt:corp:"} {
		if !strings.Contains(events, want) {
			t.Errorf("the audit log lacks %s: %s\n%s", want, events, stderr)
		}
	}
	for _, header := range []string{alice, foreign, late, reader} {
		for part := range strings.SplitSeq(strings.TrimPrefix(header, "Authorization: Bearer "), ".") {
			if strings.Contains(stderr+events, part[:20]) {
				t.Errorf("%s is in %s%s", part[:20], stderr, events)
			}
		}
	}
	if strings.Contains(stderr+events, "alice") {
		t.Errorf("who it was is in %s%s", stderr, events)
	}
}

// exchange is request with the headers of the reply.
func exchange(t *testing.T, method, url, body string, headers ...string) (int, string, http.Header) {
	t.Helper()
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	r.RequestURI = ""
	r = r.WithContext(t.Context())
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	reply, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(reply), response.Header
}

// TestServeTakesTokensAlone: where keys are not asked for, a good key is nobody's.
func TestServeTakesTokensAlone(t *testing.T) {
	s := newSigner(t)
	store := "--store=sqlite:" + t.TempDir()
	path := t.TempDir() + "/loci.yaml"
	if err := os.WriteFile(path, []byte(strings.Replace(s.settings(), "keys+jwt", "jwt", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	operate(t, store, "tenant", "create", "acme")
	url, _ := serveHere(t, store, "--config="+path)
	key := "Authorization: Bearer " + keyOf(t, store, "--tenant=acme", "--user=alice")
	if status, reply := request(t, "GET", url+"/v1/info", "", key); status != 401 || strings.Contains(reply, "loci key create") {
		t.Errorf("%d %s", status, reply)
	}
	if status, reply := request(t, "GET", url+"/v1/info", "", s.bearer(nil)); status != 200 {
		t.Errorf("%d %s", status, reply)
	}
}
