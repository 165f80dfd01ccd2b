package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/config"
)

const oneIssuer = `
auth:
  mode: jwt
  issuers:
    - name: corp
      issuer: https://login.example.com
      audience: https://memory.example.com
      keys_file: /etc/loci/keys.json
      algorithms: [ES256]
      leeway: 0s
      tenant: {claim: [org, name], pattern: "t-(.*)"}
      user: {claim: email, unverified: true}
      agent: planner
      scopes: {claim: [realm_access, roles], pattern: "loci-(.*)", allow: [read, admin]}
`

// TestIssuersOfAConfiguration: every field of an entry, from the file and, as JSON, from the
// environment.
func TestIssuersOfAConfiguration(t *testing.T) {
	want := auth.Issuer{
		Name: "corp", URL: "https://login.example.com", Audiences: []string{"https://memory.example.com"},
		KeysFile: "/etc/loci/keys.json", Algorithms: []string{"ES256"}, Leeway: -1,
		Tenant: auth.Source{Claim: []string{"org", "name"}, Pattern: "t-(.*)"},
		Vars:   map[string]auth.Source{loci.VarUser: {Claim: []string{"email"}, Unverified: true}, loci.VarAgent: {Fixed: "planner"}},
		Scopes: auth.ScopeSource{Claim: []string{"realm_access", "roles"}, Pattern: "loci-(.*)", Allow: []loci.Scope{"read", "admin"}},
	}
	c, err := load(t, oneIssuer, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Auth.Issuers) != 1 || !reflect.DeepEqual(c.Auth.Issuers[0], want) || c.Auth.Keys() || !c.Auth.Tokens() {
		t.Errorf("%+v", c.Auth)
	}
	c, err = load(t, "auth: {mode: keys+jwt}", config.Environ{`LOCI_AUTH_ISSUERS=[{"name":"corp","issuer":"https://login.example.com",` +
		`"audience":["a","b"],"tenant":"acme","scopes":["read"],"leeway":"5s"}]`}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want = auth.Issuer{Name: "corp", URL: "https://login.example.com", Audiences: []string{"a", "b"}, Leeway: 5 * time.Second,
		Tenant: auth.Source{Fixed: "acme"}, Vars: map[string]auth.Source{}, Scopes: auth.ScopeSource{Fixed: []loci.Scope{"read"}}}
	if len(c.Auth.Issuers) != 1 || !reflect.DeepEqual(c.Auth.Issuers[0], want) || !c.Auth.Keys() {
		t.Errorf("%+v", c.Auth)
	}
}

// TestFaultsOfIssuers: each is told with its place and field, and nothing starts.
func TestFaultsOfIssuers(t *testing.T) {
	second := "    - {name: corp, issuer: \"https://b.example.com\", audience: a, tenant: b}\n"
	for _, c := range []struct{ was, is, want string }{
		{"name: corp", "nmae: corp", "loci.yaml:5:7: auth.issuers.nmae is not a setting: did you mean name?"},
		{"name: corp", "name: Corp", `loci.yaml:5:13: auth.issuers.name is "Corp"; it must be`},
		{"      audience: https://memory.example.com\n", "", "loci.yaml:5:7: auth.issuers.audience is missing"},
		{"audience: https://memory.example.com", "audience: []", "auth.issuers.audience is missing"},
		{"https://login", "http://login", "loci.yaml:6:15: auth.issuers.issuer is"},
		{"[ES256]", "[none]", "loci.yaml:9:19: auth.issuers.algorithms has \"none\""},
		{"[ES256]", "[HS256]", "auth.issuers.algorithms has \"HS256\""},
		{"leeway: 0s", "leeway: 2m", "auth.issuers.leeway is \"2m\"; it must be 0s to 1m0s"},
		{"leeway: 0s", "leeway: soon", "auth.issuers.leeway is \"soon\""},
		{"t-(.*)", "t-(", "auth.issuers.tenant.pattern is not a regular expression"},
		{"user: {claim: email,", "user: {cliam: email,", "auth.issuers.user.cliam is not a setting: did you mean claim?"},
		{"{claim: email, unverified: true}", "{pattern: a}", "auth.issuers.user names no claim"},
		{"{claim: email, unverified: true}", "{claim: email, unverified: yes please}", "auth.issuers.user.unverified must be true or false"},
		{"{claim: email, unverified: true}", "{claim: sub, unverified: true}", "auth.issuers.user.unverified is about the claim email"},
		{"agent: planner", "agent: 7", "auth.issuers.agent must be a text"},
		{"[read, admin]", "[raed]", `auth.issuers.scopes.allow: "raed" is not known: did you mean read?`},
		{"[read, admin]", "[]", "auth.issuers.scopes.allow must not be empty"},
		{"mode: jwt", "mode: keys", "auth.issuers is set, and auth.mode is keys: set it to jwt or keys+jwt"},
		{"mode: jwt", "mode: oauth", "is not known"},
		{"keys_file: /etc/loci/keys.json", "keys_file: a\n      keys_url: https://a.example", "auth.issuers.keys_file and keys_url are both set"},
		{"    - name: corp", second + "    - name: corp", "loci.yaml:6:13: auth.issuers.name is corp, as that of another issuer is"},
	} {
		text := strings.Replace(oneIssuer, c.was, c.is, 1)
		if text == oneIssuer {
			t.Fatalf("%q is not there", c.was)
		}
		_, err := load(t, text, nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "names nobody") {
			t.Errorf("%s: %v", c.is, err)
		}
	}
	for text, want := range map[string]string{
		"auth: {mode: jwt}":                        "auth.issuers names nobody",
		"auth: {mode: jwt, issuers: []}":           "auth.issuers must name at least one",
		"auth: {mode: jwt, issuers: corp}":         "auth.issuers must be a list of mappings",
		"auth: {mode: jwt, issuers: [corp]}":       "an entry of auth.issuers must be a mapping",
		"http: {public_url: http://a.example}":     "https://",
		"http: {public_url: https://a.example/b}":  "without a path",
		"http: {public_url: https://u@a.example/}": "without a path",
	} {
		if _, err := load(t, text, nil, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	for env, want := range map[string]string{"corp": "a list of mappings", "[{]": "as JSON", `[{"name":"a"}]`: "auth.issuers.issuer is missing"} {
		_, err := load(t, "auth: {mode: jwt}", config.Environ{"LOCI_AUTH_ISSUERS=" + env}, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "$LOCI_AUTH_ISSUERS") {
			t.Errorf("%s: %v", env, err)
		}
	}
	c, err := load(t, "http: {public_url: \"https://memory.example.com:8443/\", allowed_hosts: [memory]}", nil, nil)
	if err != nil || c.HTTP.PublicURL != "https://memory.example.com:8443" ||
		!reflect.DeepEqual(c.HTTP.Names(), []string{"memory", "memory.example.com"}) {
		t.Errorf("%v %v", c, err)
	}
}
