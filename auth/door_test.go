package auth_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/server"
)

// A gate is a server that asks for keys. It keeps its log and the requests that reached its
// surfaces.
type gate struct {
	handler http.Handler
	keys    *auth.Keys
	clock   *locitest.Clock
	log     *bytes.Buffer
	asked   []string // who came through
	issuers *auth.Issuers
	refused []server.Refusal
}

func newGate(t *testing.T) *gate { return newGateOf(t, auth.Options{OnFirstSight: true}, nil) }

// newGateOf makes one that also takes the tokens of issuers.
func newGateOf(t *testing.T, opts auth.Options, issuers []auth.Issuer) *gate {
	t.Helper()
	g := &gate{clock: locitest.NewClock(), log: &bytes.Buffer{}}
	logger := slog.New(slog.NewTextHandler(g.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var err error
	opts.Now, opts.Logger = g.clock.Now, logger
	if g.keys, err = auth.OpenKeys(locitest.OpenMemory(), opts); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(g.keys.Close)
	surface := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, ok := server.PrincipalOf(r.Context())
		if !ok || r.Header.Get("Authorization") != "" {
			t.Errorf("%s %s: principal %v, Authorization %q", r.Method, r.URL.Path, ok, r.Header.Get("Authorization"))
		}
		g.asked = append(g.asked, p.Subject())
		_, _ = io.WriteString(w, p.Tenant().String()+" "+p.Var(loci.VarUser))
	})
	verifiers := []auth.Verifier{g.keys}
	var resource *server.Resource
	if len(issuers) > 0 {
		g.issuers, err = auth.OpenIssuers(issuers, auth.IssuerOptions{Now: g.clock.Now, Logger: logger})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.issuers.Close)
		verifiers = append(verifiers, g.issuers)
		resource = &server.Resource{URL: publicURL, Issuers: []string{issuers[0].URL}, Names: g.issuers.Names}
	}
	door := auth.NewDoor(g.keys.Admit, verifiers...)
	s, err := server.New(server.Options{REST: surface, MCP: surface, Agents: map[string]http.Handler{"bot": surface},
		Logger: logger, Resource: resource, Authenticate: func(r *http.Request) (server.Caller, error) {
			c, err := door.Authenticate(r)
			limits := server.CallerLimits(c.Limits)
			return server.Caller{Principal: c.Principal, Limits: limits, Delegated: c.Delegated}, err
		}, Refused: func(_ context.Context, r server.Refusal) { g.refused = append(g.refused, r) }})
	if err != nil {
		t.Fatal(err)
	}
	g.handler = s.Handler()
	return g
}

func (g *gate) create(t *testing.T, change func(*auth.NewKey)) (auth.Key, string) {
	t.Helper()
	n := auth.NewKey{Tenant: locitest.Tenant(t, "acme"), Vars: loci.Vars{loci.VarUser: "alice"},
		Scopes: []loci.Scope{loci.ScopeRead, loci.ScopeWrite}}
	if change != nil {
		change(&n)
	}
	key, token, err := g.keys.Create(t.Context(), auth.By{Actor: "operator"}, n)
	if err != nil {
		t.Fatal(err)
	}
	return key, token
}

func (g *gate) ask(target string, headers http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, target, strings.NewReader("{}"))
	r.Host = "localhost:7437"
	r.Header.Set("X-Request-Id", "1") // a random one may have a word that is looked for
	for name, values := range headers {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	return w
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

var routes = []string{"/v1/notes", "/v1/nothing", "/mcp", "/mcp/bot", "/mcp/nobody", "/", "/metrics"}

// bad returns credentials that are refused, each under what is wrong with it. good is a key
// that works.
func bad(t *testing.T, g *gate, good string) map[string]http.Header {
	t.Helper()
	_, expired := g.create(t, func(n *auth.NewKey) { n.ExpiresAt = g.clock.Now().Add(time.Second) })
	revoked, ended := g.create(t, nil)
	rotated, before := g.create(t, nil)
	overlap, late := g.create(t, nil)
	if _, err := g.keys.Revoke(t.Context(), auth.By{}, loci.Tenant{}, revoked.ID); err != nil {
		t.Fatal(err)
	}
	for id, d := range map[loci.ID]time.Duration{rotated.ID: 0, overlap.ID: time.Second} {
		if _, _, err := g.keys.Rotate(t.Context(), auth.By{}, loci.Tenant{}, id, d); err != nil {
			t.Fatal(err)
		}
	}
	g.clock.Advance(2 * time.Second)
	other := newGate(t)
	_, foreign := other.create(t, nil)
	mixed := good[:45] + foreign[45:]
	encoded := func(header string) string {
		text := base64.RawURLEncoding.EncodeToString
		return text([]byte(header)) + "." + text([]byte(`{"sub":"alice","tenant":"acme"}`)) + "."
	}
	all := map[string]http.Header{
		"none": {}, "empty": {"Authorization": {""}}, "two": {"Authorization": {"Bearer " + good, "Bearer " + good}},
		"good and bad": {"Authorization": {"Bearer " + good, "Bearer x"}}, "in another header": {"X-Api-Key": {good}},
		"in a cookie": {"Cookie": {"Authorization=Bearer " + good}}, "behind a proxy's header": {"Proxy-Authorization": {"Bearer " + good}},
		"in ours": {"Loci-User": {"alice"}},
	}
	for what, value := range map[string]string{
		"only the scheme": "Bearer", "only the scheme and a space": "Bearer ", "no scheme": good, "basic": "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:"+good)),
		"digest": "Digest username=alice", "another scheme": "Token " + good, "a scheme with a colon": "Bearer: " + good,
		"two spaces": "Bearer  " + good, "a tab": "Bearer\t" + good, "a space behind": "Bearer " + good + " ", "a space inside": "Bearer " + good[:40] + " " + good[40:],
		"two tokens": "Bearer " + good + "," + good, "a list": "Bearer " + good + ", Bearer " + good, "quotes": `Bearer "` + good + `"`,
		"a parameter": "Bearer token=" + good, "a new line": "Bearer " + good + "\nx", "NUL": "Bearer " + good + "\x00", "not UTF-8": "Bearer \xff\xfe",
		"letters of another script": "Bearer lосi_" + good[5:], "an emoji": "Bearer 🦭", "escapes": "Bearer %6coci_" + good[5:], "a terminal's escapes": "Bearer \x1b[2J",
		"brackets": "Bearer <" + good + ">", "SQL": "Bearer ' OR 1=1 --", "a path": "Bearer ../../etc/passwd", "a template": "Bearer {{key}}", "null": "Bearer null", "undefined": "Bearer undefined",
	} {
		all[what] = http.Header{"Authorization": {value}}
	}
	for what, token := range map[string]string{
		"expired": expired, "revoked": ended, "rotated": before, "after the overlap": late, "of another server": foreign, "half of another": mixed,
		"capital letters": strings.ToUpper(good), "a capital prefix": "LOCI_" + good[5:], "no prefix": good[5:], "the prefix alone": "loci_", "another prefix": "l0ci_" + good[5:],
		"cut": good[:len(good)-1], "cut in the middle": good[:45], "one more": good + "a", "twice": good + good, "padding": good + "=", "without the mark": strings.Replace(good[5:], "_", "", 1),
		"a wrong checksum": good[:len(good)-1] + flip(good[len(good)-1:]),
		"a wrong id":       good[:6] + flip(good[6:7]) + good[7:], "a wrong secret": good[:50] + flip(good[50:51]) + good[51:],
		"the id of a key": revoked.ID.String(), "all letters a": "loci_" + strings.Repeat("a", 86), "a digit outside of the alphabet": good[:40] + "1" + good[41:],
		"an unsigned JWT": encoded(`{"alg":"none"}`), "an HS256 JWT": encoded(`{"alg":"HS256"}`) + "c2ln", "a JWT without parts": "..", "a nested JWT": encoded(`{"cty":"JWT"}`) + "x.y",
		"16 KiB": strings.Repeat("a", 16<<10), "48 KiB": strings.Repeat("a", 48<<10), "a key and 16 KiB": good + strings.Repeat("a", 16<<10), "one letter": "a", "dots": "...", "equals": "====",
	} {
		all[what] = bearer(token)
	}
	return all
}

// flip is another letter of a key's alphabet.
func flip(letter string) string {
	if letter == "a" {
		return "b"
	}
	return "a"
}

// TestBadCredentials: each kind of them is refused at each address, with the status and
// challenge of RFC 6750. No surface is asked, and nothing of a credential is in the log
// or the reply.
func TestBadCredentials(t *testing.T) {
	g := newGate(t)
	_, good := g.create(t, nil)
	kinds := bad(t, g, good)
	if len(kinds) < 60 {
		t.Errorf("there are %d kinds; want at least 60", len(kinds))
	}
	for what, headers := range kinds {
		for _, target := range routes {
			g.log.Reset()
			w := g.ask(target, headers)
			status, challenge, form := 401, `Bearer realm="loci", error="invalid_token"`, "application/problem+json"
			if strings.HasPrefix(target, "/mcp") { // clients of MCP show an error of JSON-RPC alone
				form = "application/json"
			}
			switch what {
			case "none", "in another header", "in a cookie", "behind a proxy's header", "in ours":
				challenge = `Bearer realm="loci"`
			case "two", "good and bad":
				status, challenge = 400, `Bearer realm="loci", error="invalid_request"`
			}
			if w.Code != status || w.Header().Get("WWW-Authenticate") != challenge ||
				w.Header().Get("Content-Type") != form || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s at %s: %d %v", what, target, w.Code, w.Header())
			}
			for name, values := range headers {
				for _, v := range values {
					v = v[strings.LastIndex(v, " ")+1:]
					said := g.log.String() + w.Body.String()
					if name != "Loci-User" && len(v) >= 12 && strings.Contains(said, v[:12]) {
						t.Errorf("%s at %s: %q is in %s%s", what, target, v, g.log, w.Body)
					}
				}
			}
			if strings.Contains(g.log.String()+w.Body.String(), good[20:]) {
				t.Errorf("%s at %s: the key is in %s%s", what, target, g.log, w.Body)
			}
		}
	}
	if len(g.asked) > 0 {
		t.Errorf("a surface was asked by %v", g.asked)
	}
	w := g.ask("/v1/notes", bearer(good))
	if w.Code != 200 || w.Body.String() != "acme alice" || !strings.Contains(g.log.String(), "caller=key:") {
		t.Errorf("a good key: %d %s %s", w.Code, w.Body, g.log)
	}
}

// TestCredentialsInTheAddress: a credential in the address is refused, even beside a good one
// in the header.
func TestCredentialsInTheAddress(t *testing.T) {
	g := newGate(t)
	_, good := g.create(t, nil)
	for _, query := range []string{"access_token=" + good, "a=b&access_token=" + good, "ACCESS_TOKEN=x", "access%5Ftoken=" + good, "a=b;access_token=x", "access_token"} {
		for _, headers := range []http.Header{{}, bearer(good)} {
			w := g.ask("/v1/notes?"+query, headers)
			if w.Code != 400 || !strings.Contains(w.Header().Get("WWW-Authenticate"), "invalid_request") ||
				strings.Contains(g.log.String()+w.Body.String(), good[20:]) {
				t.Errorf("%s: %d %v %s", query, w.Code, w.Header(), w.Body)
			}
		}
	}
	if w := g.ask("/v1/notes?q=access_token", bearer(good)); w.Code != 200 {
		t.Errorf("a value that has the name of a credential: %d %s", w.Code, w.Body)
	}
}

// TestHealthNeedsNoCredential, and tells nothing.
func TestHealthNeedsNoCredential(t *testing.T) {
	g := newGate(t)
	r := httptest.NewRequest(http.MethodGet, "/healthz", nil)
	r.Host = "localhost"
	w := httptest.NewRecorder()
	g.handler.ServeHTTP(w, r)
	if w.Code != 200 || w.Body.String() != "{\"status\":\"ok\"}\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	for _, path := range []string{"/healthz/", "/healthz/x", "//healthz", "/v1/../healthz"} {
		if w := g.ask(path, nil); w.Code != 401 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// The scheme may be written in any letter case.
func TestScheme(t *testing.T) {
	g := newGate(t)
	_, good := g.create(t, nil)
	for _, scheme := range []string{"Bearer", "bearer", "BEARER"} {
		if w := g.ask("/v1/notes", http.Header{"Authorization": {scheme + " " + good}}); w.Code != 200 {
			t.Errorf("%s: %d", scheme, w.Code)
		}
	}
}
