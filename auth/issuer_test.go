package auth_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
)

// TestClaimsBecomeCallers: each form of a source, and what it makes of a token. What maps to
// nothing is refused; a scope that nobody allowed is none.
func TestClaimsBecomeCallers(t *testing.T) {
	claim := func(path ...string) auth.Source { return auth.Source{Claim: path} }
	all := []loci.Scope{"read", "write", "delete", "admin", "delegate", "elevate", "operate", "metrics"}
	for _, c := range []struct {
		what    string
		change  func(*auth.Issuer)
		claims  map[string]any
		want    string // the tenant and the variables; "": refused
		scopes  string
		message string
	}{
		{what: "plain", want: "acme user_id=alice", scopes: "read write"},
		{what: "a fixed tenant", change: func(i *auth.Issuer) { i.Tenant = auth.Source{Fixed: "guests"} }, want: "guests user_id=alice", scopes: "read write"},
		{what: "a path", change: func(i *auth.Issuer) { i.Tenant = claim("https://x.example/claims", "org.name") },
			claims: map[string]any{"https://x.example/claims": map[string]any{"org.name": "deep"}}, want: "deep user_id=alice", scopes: "read write"},
		{what: "a path that ends early", change: func(i *auth.Issuer) { i.Tenant = claim("tenant", "name") }, message: "tenant"},
		{what: "a path to an object", change: func(i *auth.Issuer) { i.Tenant = claim("o") },
			claims: map[string]any{"o": map[string]any{"a": "b"}}, message: "tenant"},
		{what: "a pattern", change: func(i *auth.Issuer) {
			i.Tenant = auth.Source{Claim: []string{"email"}, Pattern: `.*@([a-z]+)\.example`}
		},
			claims: map[string]any{"email": "alice@umbrella.example"}, want: "umbrella user_id=alice", scopes: "read write"},
		{what: "a pattern that matches a part", change: func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: []string{"email"}, Pattern: `@([a-z]+)\.example`} },
			claims: map[string]any{"email": "alice@umbrella.example"}, message: "tenant"},
		{what: "a pattern with a new line behind", change: func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: []string{"email"}, Pattern: `(?m)(acme)$`} },
			claims: map[string]any{"email": "acme\nevil"}, message: "tenant"},
		{what: "a choice in a pattern", change: func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: []string{"tenant"}, Pattern: `acme|other`} },
			claims: map[string]any{"tenant": "acmex"}, message: "tenant"},
		{what: "an empty group", change: func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: []string{"tenant"}, Pattern: `acme(x?)`} }, message: "tenant"},
		{what: "a list", change: func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: []string{"groups"}, Pattern: `tenant-(.+)`} },
			claims: map[string]any{"groups": []string{"staff", "tenant-umbrella"}}, want: "umbrella user_id=alice", scopes: "read write"},
		{what: "a list with two", change: func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: []string{"groups"}, Pattern: `tenant-(.+)`} },
			claims: map[string]any{"groups": []string{"tenant-acme", "tenant-umbrella"}}, message: "tenant"},
		{what: "a list with the same twice", change: func(i *auth.Issuer) { i.Tenant = claim("groups") },
			claims: map[string]any{"groups": []string{"acme", "acme"}}, want: "acme user_id=alice", scopes: "read write"},
		{what: "a list with a number", change: func(i *auth.Issuer) { i.Tenant = claim("groups") }, claims: map[string]any{"groups": []any{"acme", 7}}, message: "tenant"},
		{what: "all variables", change: func(i *auth.Issuer) {
			i.Vars = map[string]auth.Source{loci.VarUser: claim("email"), loci.VarOrg: claim("org"), loci.VarAgent: {Fixed: "planner"}}
		}, claims: map[string]any{"email": "a@b.c", "org": "north"}, want: "acme agent_id=planner org_id=north user_id=a@b.c", scopes: "read write"},
		{what: "an organisation alone", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarOrg: claim("org")} },
			claims: map[string]any{"org": "north"}, want: "acme org_id=north", scopes: "read write"},
		{what: "an agent and the user", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarAgent: claim("azp")} },
			claims: map[string]any{"azp": "app"}, want: "acme agent_id=app user_id=alice", scopes: "read write"},
		{what: "a user that is missing", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarUser: claim("email")} }, message: "user"},
		{what: "a user with NUL", claims: map[string]any{"sub": "a\x00"}, message: "does not say the user"},
		{what: "a long user", claims: map[string]any{"sub": strings.Repeat("u", 257)}, message: "does not say the user"},
		{what: "nobody with an address", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarUser: claim("email")} },
			claims: map[string]any{"sub": nil, "email": "a@b.c"}, message: "not valid"},
		{what: "an address that is verified", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarUser: claim("email")} },
			claims: map[string]any{"email": "a@b.c", "email_verified": true}, want: "acme user_id=a@b.c", scopes: "read write"},
		{what: "an address that is not", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarUser: claim("email")} },
			claims: map[string]any{"email": "a@b.c", "email_verified": false}, message: "not verified"},
		{what: "an address that is not, in a text", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarUser: claim("email")} },
			claims: map[string]any{"email": "a@b.c", "email_verified": "False"}, message: "not verified"},
		{what: "a domain that is not verified", change: func(i *auth.Issuer) {
			i.Tenant = auth.Source{Claim: []string{"email"}, Pattern: `.*@([a-z]+)\.example`}
		}, claims: map[string]any{"email": "alice@umbrella.example", "email_verified": false}, message: "not verified"},
		{what: "an address deeper, not verified", change: func(i *auth.Issuer) { i.Vars = map[string]auth.Source{loci.VarUser: claim("profile", "email")} },
			claims: map[string]any{"profile": map[string]any{"email": "a@b.c", "email_verified": false}}, message: "not verified"},
		{what: "any address", change: func(i *auth.Issuer) {
			i.Vars = map[string]auth.Source{loci.VarUser: {Claim: []string{"email"}, Unverified: true}}
		}, claims: map[string]any{"email": "a@b.c", "email_verified": false}, want: "acme user_id=a@b.c", scopes: "read write"},
		{what: "an address that nobody asks for", claims: map[string]any{"email": "a@b.c", "email_verified": false}, want: "acme user_id=alice", scopes: "read write"},
		{what: "scopes of an address that is not verified", change: func(i *auth.Issuer) {
			i.Scopes = auth.ScopeSource{Claim: []string{"email"}, Pattern: "(read)@b"}
		}, claims: map[string]any{"email": "read@b", "email_verified": false}, want: "acme user_id=alice"},
		{what: "a user with a character that cannot be seen", claims: map[string]any{"sub": "ali\u200bce"}, message: "cannot be seen"},
		{what: "a user that turns around", claims: map[string]any{"sub": "ecila\u202e"}, message: "cannot be seen"},
		{what: "a tenant with one", claims: map[string]any{"tenant": "ac\u2066me"}, message: "cannot be seen"},
		{what: "a user with a space of its own", claims: map[string]any{"sub": "Ada\u00a0L"}, message: "cannot be seen"},
		{what: "a user with names", claims: map[string]any{"sub": "Ada Ångström 李"}, want: "acme user_id=Ada Ångström 李", scopes: "read write"},
		{what: "scopes in a list", claims: map[string]any{"scope": []string{"delete", "read", "read"}}, want: "acme user_id=alice", scopes: "delete read"},
		{what: "scopes beyond", claims: map[string]any{"scope": "read admin operate elevate delegate metrics"}, want: "acme user_id=alice", scopes: "read"},
		{what: "scopes that were allowed", change: func(i *auth.Issuer) { i.Scopes.Allow = all }, claims: map[string]any{"scope": "read admin operate"}, want: "acme user_id=alice", scopes: "read admin operate"},
		{what: "scopes with a pattern", change: func(i *auth.Issuer) {
			i.Scopes = auth.ScopeSource{Claim: []string{"realm", "roles"}, Pattern: "loci-(.*)"}
		},
			claims: map[string]any{"realm": map[string]any{"roles": []string{"loci-read", "write", "xloci-delete"}}}, want: "acme user_id=alice", scopes: "read"},
		{what: "fixed scopes", change: func(i *auth.Issuer) { i.Scopes.Fixed = []loci.Scope{"read"} }, want: "acme user_id=alice", scopes: "read"},
		{what: "no scopes", claims: map[string]any{"scope": nil}, want: "acme user_id=alice"},
		{what: "families of tools", claims: map[string]any{"scope": "read tools:notes"}, want: "acme user_id=alice", scopes: "read tools:notes"},
		{what: "elevate for long", change: func(i *auth.Issuer) { i.Scopes.Allow = all },
			claims: map[string]any{"scope": "admin elevate", "exp": 4102444800}, message: "7 days"},
		{what: "elevate", change: func(i *auth.Issuer) { i.Scopes.Allow = all }, claims: map[string]any{"scope": "admin elevate"}, want: "acme user_id=alice", scopes: "admin elevate"},
	} {
		t.Run(c.what, func(t *testing.T) {
			court := newCourt(t, nil)
			opts := auth.IssuerOptions{Now: court.clock.Now}
			issuers, err := auth.OpenIssuers([]auth.Issuer{court.issuer(c.change)}, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer issuers.Close()
			got, err := issuers.Verify(t.Context(), court.token(t, c.claims))
			if c.want == "" {
				var refusal *auth.Refusal
				if !errors.As(err, &refusal) || refusal.Reason != "invalid_token" || !strings.Contains(err.Error(), c.message) {
					t.Errorf("%v %v", got, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			said := []string{got.Tenant().String()}
			for _, name := range got.Vars().Names() {
				said = append(said, name+"="+got.Var(name))
			}
			var scopes []string
			for _, s := range got.Scopes() {
				scopes = append(scopes, string(s))
			}
			if strings.Join(said, " ") != c.want || strings.Join(scopes, " ") != c.scopes || !got.Delegated {
				t.Errorf("%v %v", said, scopes)
			}
		})
	}
}

// TestIssuersAreChecked: each fault names its field, before anything starts.
func TestIssuersAreChecked(t *testing.T) {
	for _, c := range []struct {
		change      func(*auth.Issuer)
		field, want string
	}{
		{nil, "", ""},
		{func(i *auth.Issuer) { i.Name = "" }, "name", "lower-case"},
		{func(i *auth.Issuer) { i.Name = "A b" }, "name", "lower-case"},
		{func(i *auth.Issuer) { i.URL = "" }, "issuer", "missing"},
		{func(i *auth.Issuer) { i.URL = "http://login.example.com" }, "issuer", "https://"},
		{func(i *auth.Issuer) { i.URL = "login.example.com" }, "issuer", "a URL such as"},
		{func(i *auth.Issuer) { i.URL = "https://a:b@login.example.com" }, "issuer", "a URL such as"},
		{func(i *auth.Issuer) { i.Audiences = nil }, "audience", "missing"},
		{func(i *auth.Issuer) { i.Audiences = []string{""} }, "audience", "empty"},
		{func(i *auth.Issuer) { i.Audiences = make([]string, auth.MaxAudiences+1) }, "audience", "the limit is 100"},
		{func(i *auth.Issuer) { i.KeysURL, i.KeysFile = "https://a.example", "b" }, "keys_file", "both"},
		{func(i *auth.Issuer) { i.KeysURL = "http://a.example" }, "keys_url", "https://"},
		{func(i *auth.Issuer) { i.Leeway = auth.MaxLeeway + 1 }, "leeway", "0s to 1m0s"},
		{func(i *auth.Issuer) { i.Algorithms = []string{"none"} }, "algorithms", "must be one of"},
		{func(i *auth.Issuer) { i.Algorithms = []string{"ES256", "HS256"} }, "algorithms", "must be one of"},
		{func(i *auth.Issuer) { i.Tenant = auth.Source{} }, "tenant", "missing"},
		{func(i *auth.Issuer) { i.Tenant = auth.Source{Fixed: "a\x00"} }, "tenant", "NUL"},
		{func(i *auth.Issuer) { i.Tenant = auth.Source{Fixed: "a", Claim: []string{"b"}} }, "tenant", "leave one"},
		{func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: []string{"a", ""}} }, "tenant.claim", "empty"},
		{func(i *auth.Issuer) { i.Tenant = auth.Source{Claim: make([]string, 11)} }, "tenant.claim", "the limit is 10"},
		{func(i *auth.Issuer) { i.Tenant.Pattern = "(" }, "tenant.pattern", "regular expression"},
		{func(i *auth.Issuer) { i.Tenant.Pattern = "a)|(b" }, "tenant.pattern", "regular expression"},
		{func(i *auth.Issuer) { i.Tenant.Pattern = "(a)(b)" }, "tenant.pattern", "2 groups"},
		{func(i *auth.Issuer) { i.Tenant.Pattern = strings.Repeat("a", 1001) }, "tenant.pattern", "the limit is 1000"},
		{func(i *auth.Issuer) { i.Vars = map[string]auth.Source{"user_id": {}} }, "user", "neither"},
		{func(i *auth.Issuer) { i.Vars = map[string]auth.Source{"thread_id": {Fixed: "a"}} }, "thread", "not known"},
		{func(i *auth.Issuer) { i.Scopes.Fixed = []loci.Scope{"raed"} }, "scopes", "unknown scope"},
		{func(i *auth.Issuer) { i.Scopes.Fixed = []loci.Scope{"read", "read"} }, "scopes", "twice"},
		{func(i *auth.Issuer) { i.Scopes.Fixed = []loci.Scope{"elevate"} }, "scopes", "every token"},
		{func(i *auth.Issuer) { i.Scopes.Allow = []loci.Scope{"tools:notes"} }, "scopes.allow", "unknown scope"},
		{func(i *auth.Issuer) { i.Scopes = auth.ScopeSource{Fixed: []loci.Scope{"read"}, Claim: []string{"a"}} }, "scopes", "leave one"},
	} {
		i := (&provider{}).configured()
		if c.change != nil {
			c.change(&i)
		}
		_, err := auth.CheckIssuers([]auth.Issuer{i})
		var field *auth.FieldError
		errors.As(err, &field)
		told := err != nil && field != nil && field.Field == c.field && strings.Contains(err.Error(), c.want)
		if (err == nil) != (c.field == "") || err != nil && !told {
			t.Errorf("%s: %v", c.field, err)
		}
		if _, err := auth.OpenIssuers([]auth.Issuer{i}, auth.IssuerOptions{}); (err == nil) != (c.field == "") {
			t.Errorf("%s: opened with %v", c.field, err)
		}
	}
	one := (&provider{}).configured()
	for field, change := range map[string]func(*auth.Issuer){
		"name": func(i *auth.Issuer) { i.URL = "https://b.example" }, "issuer": func(i *auth.Issuer) { i.Name = "b" },
	} {
		two := (&provider{}).configured()
		change(&two)
		at, err := auth.CheckIssuers([]auth.Issuer{one, two})
		var wrong *auth.FieldError
		if !errors.As(err, &wrong) || wrong.Field != field || at != 1 {
			t.Errorf("two of one %s: %d %v", field, at, err)
		}
	}
	if _, err := auth.CheckIssuers(make([]auth.Issuer, auth.MaxIssuers+1)); err == nil {
		t.Error("more issuers than the limit")
	}
}

// configured is an issuer that nobody asks.
func (*provider) configured() auth.Issuer {
	return auth.Issuer{Name: "corp", URL: "https://login.example.com", Audiences: []string{publicURL},
		Tenant: auth.Source{Claim: []string{"tenant"}}, Leeway: time.Second}
}

// TestNamesOfScopes: what a client is told to ask for is what the pattern takes.
func TestNamesOfScopes(t *testing.T) {
	for pattern, want := range map[string][]string{
		"": {"read", "write"}, "loci:(.*)": {"loci:read", "loci:write"}, "https://m\\.example/(read|write)": {"https://m.example/read", "https://m.example/write"},
		"(?:loci:)?(.*)": {"read", "write"}, "(read)": {"read"}, "(.)[0-9]": nil,
	} {
		i := (&provider{}).configured()
		i.Scopes.Pattern = pattern
		issuers, err := auth.OpenIssuers([]auth.Issuer{i}, auth.IssuerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := issuers.Names("read", "write", "admin"); !slices.Equal(got, want) {
			t.Errorf("%q: %q", pattern, got)
		}
		issuers.Close()
	}
}
