package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/trail"
)

const public = "https://memory.example.com"

// protected makes a server that is a resource of two issuers. Whoever sends an Authorization
// lacks the scope write, and can get it if that says so.
func protected(t *testing.T, change func(*Options)) *Server {
	t.Helper()
	tenant, err := loci.NewTenant("acme")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Resource: &Resource{URL: public, Issuers: []string{"https://one.example", "https://two.example"},
			Names: func(scopes ...loci.Scope) (names []string) {
				for _, s := range scopes {
					names = append(names, "loci:"+string(s))
				}
				return names
			}},
		Authenticate: func(r *http.Request) (Caller, error) {
			given := r.Header.Get("Authorization")
			if given == "" {
				return Caller{}, &loci.Error{Code: loci.Unauthenticated, Msg: "who are you?"}
			}
			p, err := loci.NewPrincipal(tenant, "jwt:corp:1", nil)
			return Caller{Principal: p, Delegated: given == "token"}, err
		},
	}
	o.REST = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		trail.Lacks(r.Context(), "write", "delete")
		w.Header().Set("Stopped", strings.Join(trail.Stopped(r.Context()), " "))
		w.WriteHeader(http.StatusForbidden)
	})
	if change != nil {
		change(&o)
	}
	s, _ := newServer(t, o)
	return s
}

// TestDescriptionOfTheResource: each resource describes itself to whoever asks, at its own
// address, under the name that clients call it by; other addresses describe nothing.
func TestDescriptionOfTheResource(t *testing.T) {
	s := protected(t, nil)
	for path, resource := range map[string]string{
		"": "", "/": "", "/mcp": "/mcp", "/mcp/": "/mcp", "/mcp/planner": "/mcp/planner", "/mcp/nobody": "/mcp/nobody", "/v1": "/v1",
		"/mcp/a%20b": "/mcp/a%20b",
	} {
		w := ask(s, "GET", metadataPath+path, "")
		var d protectedResource
		if err := json.Unmarshal(w.Body.Bytes(), &d); err != nil || w.Code != 200 {
			t.Fatalf("%s: %d %s", path, w.Code, w.Body)
		}
		if d.Resource != public+resource || len(d.Issuers) != 2 || d.Issuers[0] != "https://one.example" ||
			strings.Join(d.Scopes, " ") != "loci:read loci:write loci:delete" || strings.Join(d.Methods, " ") != "header" ||
			w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %+v", path, d)
		}
	}
	for _, path := range []string{"/v1/notes", "/mcp/a/b", "/x", "/healthz", "x", "/mcp/" + strings.Repeat("a", 600)} {
		if w := ask(s, "GET", metadataPath+path, ""); w.Code != 404 && w.Code != 401 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := ask(s, "POST", metadataPath, "{}"); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	plain := protected(t, func(o *Options) { o.Resource = nil })
	if w := ask(plain, "GET", metadataPath, ""); w.Code != 401 || w.Header().Get("WWW-Authenticate") != `Bearer realm="loci"` {
		t.Errorf("without issuers: %d %v", w.Code, w.Header())
	}
	// The public name is one that the server answers to.
	if w := ask(s, "GET", metadataPath, "", "Host: memory.example.com"); w.Code != 200 {
		t.Errorf("by its own name: %d %s", w.Code, w.Body)
	}
}

// TestChallenges: who has no credential hears where to get one, and who lacks a scope hears
// which one to ask for.
func TestChallenges(t *testing.T) {
	s := protected(t, nil)
	for path, resource := range map[string]string{"/v1/notes": "/v1", "/mcp": "/mcp", "/mcp/planner": "/mcp/planner", "/mcp/%22x": "/mcp/%22x", "/else": ""} {
		want := `Bearer realm="loci", resource_metadata="` + public + metadataPath + resource + `", scope="loci:read loci:write loci:delete"`
		if w := ask(s, "GET", path, ""); w.Code != 401 || w.Header().Get("WWW-Authenticate") != want {
			t.Errorf("%s: %d %v", path, w.Code, w.Header())
		}
	}
	for credential, stopped := range map[string]string{"token": "write delete", "key": ""} {
		w := ask(s, "GET", "/v1/notes", "", "Authorization: "+credential)
		want := `Bearer realm="loci", error="insufficient_scope", resource_metadata="` + public + metadataPath + `/v1", scope="loci:write loci:delete"`
		if w.Code != 403 || w.Header().Get("WWW-Authenticate") != want || w.Header().Get("Stopped") != stopped {
			t.Errorf("%s: %d %v", credential, w.Code, w.Header())
		}
	}
	plain := protected(t, func(o *Options) { o.Resource = nil })
	w := ask(plain, "GET", "/v1/notes", "", "Authorization: key")
	if w.Header().Get("WWW-Authenticate") != `Bearer realm="loci", error="insufficient_scope", scope="write delete"` {
		t.Errorf("without issuers: %v", w.Header())
	}
}

// TestScopesThatNobodyGives: whoever lacks what its authorization servers never give is not told to ask for
// what it has. Its model reads the refusal, as that of a key does.
func TestScopesThatNobodyGives(t *testing.T) {
	for given, want := range map[string]string{
		"write":        `, scope="read write"`, // delete is asked for in vain
		"write delete": `, scope="read write delete"`,
		"":             "",
	} {
		s := protected(t, func(o *Options) {
			nobody := o.Authenticate
			o.Authenticate = func(r *http.Request) (Caller, error) {
				c, err := nobody(r)
				if err == nil {
					c.Principal, err = loci.NewPrincipal(c.Tenant(), c.Subject(), nil, loci.ScopeRead)
				}
				return c, err
			}
			o.Resource.Names = func(scopes ...loci.Scope) (names []string) {
				for _, scope := range scopes {
					if slices.Contains(strings.Fields("read "+given), string(scope)) {
						names = append(names, string(scope))
					}
				}
				return names
			}
		})
		w := ask(s, "GET", "/v1/notes", "", "Authorization: token")
		want = `Bearer realm="loci", error="insufficient_scope", resource_metadata="` + public + metadataPath +
			`/v1"` + want
		if w.Code != 403 || w.Header().Get("WWW-Authenticate") != want || w.Header().Get("Stopped") != given {
			t.Errorf("%q: %d %v", given, w.Code, w.Header())
		}
	}
}

// TestPublicAddresses that would send tokens in the clear, or that are none, are refused.
func TestPublicAddresses(t *testing.T) {
	for text, good := range map[string]bool{
		"https://memory.example.com": true, "https://memory.example.com:8443": true, "http://127.0.0.1:7437": true, "http://localhost": true,
		"http://memory.example.com": false, "memory.example.com": false, "https://": false, "https://a@memory.example.com": false,
		"https://memory.example.com/x": false, "https://memory.example.com?a": false, "https://memory.example.com#a": false, "ftp://localhost": false,
		"https://" + strings.Repeat("a", 600): false,
	} {
		if err := CheckPublicURL(text); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := New(Options{Resource: &Resource{URL: text}}); (err == nil) != good {
			t.Errorf("a server at %s: %v", text, err)
		}
	}
}
