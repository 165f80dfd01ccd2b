package server

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/problem"
	"github.com/loci-memory/loci/internal/trail"
)

// metadataPath is where a protected resource describes itself (RFC 9728). What comes behind
// it is the path of the resource.
const metadataPath = "/.well-known/oauth-protected-resource"

// maxResource bounds the path of a resource, in bytes.
const maxResource = 512

// A Resource is what the server is to authorization servers.
type Resource struct {
	URL     string   // by which clients call the server, without a slash at the end
	Issuers []string // the authorization servers that make tokens for it

	// Names returns what a client asks them for to get some scopes. Nil: the scopes themselves.
	Names func(...loci.Scope) []string
}

// CheckPublicURL checks the address by which clients call the server.
func CheckPublicURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" || u.Path != "" || len(text) > maxResource {
		return loci.Errorf(loci.Invalid, "%.200q must be the address of the server without a path, such as https://memory.example.com", text)
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) {
		return loci.Errorf(loci.Invalid, "%.200q must begin with https://, or with http:// on this machine: tokens are sent to it", text)
	}
	return nil
}

// protectedResource is the description of a resource, as RFC 9728 writes it.
type protectedResource struct {
	Resource string   `json:"resource"`
	Issuers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

// basicScopes are those that a client asks for who has no token yet. Others it asks for
// when a refusal names them.
var basicScopes = []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete}

// names are the scopes as the authorization servers call them.
func (r *Resource) names(scopes ...loci.Scope) []string {
	if r.Names != nil {
		return r.Names(scopes...)
	}
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return names
}

// gives reports whether an authorization server makes tokens with a scope. Where none is
// known, nobody can tell.
func (r *Resource) gives(scope string) bool { return r == nil || len(r.names(loci.Scope(scope))) > 0 }

// isMetadata reports whether a request asks for the description of a resource. It needs no
// credential: whoever has none learns there where to get one.
func (s *Server) isMetadata(r *http.Request) bool {
	return s.opts.Resource != nil && (r.URL.Path == metadataPath || strings.HasPrefix(r.URL.Path, metadataPath+"/"))
}

// resourceOf is the path of the resource that an address belongs to: "", /v1, /mcp or that
// of an agent. An agent's name is whatever the address says: who has no credential does not
// learn which agents there are.
func resourceOf(path string) string {
	agent, below := strings.CutPrefix(path, mcpPath+"/")
	switch {
	case path == mcpPath || path == "/v1":
		return path
	case strings.HasPrefix(path, "/v1/"):
		return "/v1"
	case below && agent != "" && !strings.Contains(agent, "/") && len(agent) <= maxResource:
		return mcpPath + "/" + url.PathEscape(agent)
	}
	return ""
}

// describeResource answers who asks for the description of a resource.
func (s *Server) describeResource(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, r, problem.NoRoute(http.StatusMethodNotAllowed, r.Method, r.URL.Path))
		return
	}
	path := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, metadataPath), "/")
	resource := resourceOf(path)
	if path != "" && (resource == "" || resource == "/v1" && path != "/v1") {
		refuse(w, r, problem.NoRoute(http.StatusNotFound, r.Method, r.URL.Path))
		return
	}
	body, err := json.Marshal(protectedResource{
		Resource: s.opts.Resource.URL + resource, Issuers: s.opts.Resource.Issuers, Name: "Loci",
		Scopes: s.opts.Resource.names(basicScopes...), Methods: []string{"header"},
	})
	if err != nil {
		refuse(w, r, problem.Of(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "max-age=300")
	_, _ = w.Write(append(body, '\n')) // nobody is left to tell
}

// insufficient is the reason of RFC 6750 for a credential that lacks a scope.
const insufficient = "insufficient_scope"

// bearerChallenge says how to authenticate, as RFC 6750 and RFC 9728 write it. reason is one
// of RFC 6750, or ""; lacking are scopes, of which one would do.
func (s *Server) bearerChallenge(r *http.Request, reason string, lacking ...loci.Scope) string {
	parts := []string{`realm="loci"`}
	if reason != "" {
		parts = append(parts, `error="`+reason+`"`)
	}
	names := make([]string, 0, len(lacking))
	for _, scope := range lacking {
		names = append(names, string(scope))
	}
	if s.opts.Resource != nil {
		parts = append(parts, `resource_metadata="`+s.opts.Resource.URL+metadataPath+resourceOf(r.URL.Path)+`"`)
		if names = s.opts.Resource.names(lacking...); len(lacking) == 0 && reason != insufficient {
			names = s.opts.Resource.names(basicScopes...)
		}
	}
	if len(names) > 0 && reason != "invalid_request" {
		parts = append(parts, `scope="`+strings.Join(names, " ")+`"`)
	}
	return "Bearer " + strings.Join(parts, ", ")
}

// lacks adds to a response which scopes its caller lacks, if a surface said so: the status
// alone would not say what to ask for (RFC 6750, section 3.1).
func (s *Server) lacks(r *http.Request, status int, h http.Header) {
	if status != http.StatusForbidden || h.Get("WWW-Authenticate") != "" {
		return
	}
	u := underwayOf(r)
	lacking := u.Lacking()
	if len(lacking) == 0 {
		return
	}
	var scopes []loci.Scope
	if u.caller.Delegated {
		if lacking = trail.Stopped(r.Context()); len(lacking) > 0 {
			scopes = u.caller.Scopes() // too: many clients ask for what is named, and for nothing else
		}
	}
	for _, name := range lacking {
		if !slices.Contains(scopes, loci.Scope(name)) {
			scopes = append(scopes, loci.Scope(name))
		}
	}
	h.Set("WWW-Authenticate", s.bearerChallenge(r, insufficient, scopes...))
}
