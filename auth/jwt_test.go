package auth_test

import (
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/server"
)

// A court is a gate that takes tokens, with a provider and its keys.
type court struct {
	*gate
	*provider
	es, rs, odd jose.JSONWebKey // odd has an algorithm that is not allowed
}

func newCourt(t *testing.T, change func(*auth.Issuer)) *court {
	t.Helper()
	c := &court{es: signingKey(t, "es", jose.ES256), rs: signingKey(t, "rs", jose.RS256), odd: signingKey(t, "odd", jose.ES384)}
	c.provider = newProvider(t, c.es, c.rs, c.odd)
	c.gate = newGateOf(t, auth.Options{}, []auth.Issuer{c.issuer(func(i *auth.Issuer) {
		i.Algorithms = []string{"ES256", "RS256"}
		if change != nil {
			change(i)
		}
	})})
	for _, name := range []string{"acme", "closed"} {
		if _, err := c.gate.keys.CreateTenant(t.Context(), auth.By{}, locitest.Tenant(t, name)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.gate.keys.SetTenant(t.Context(), auth.By{}, locitest.Tenant(t, "closed"), auth.StateClosed, ""); err != nil {
		t.Fatal(err)
	}
	return c
}

// token signs good claims with changes.
func (c *court) token(t testing.TB, changes map[string]any) string {
	return sign(t, c.es, c.claimsAt(c.clock.Now(), changes), nil)
}

// text is base64 as tokens have it.
func text(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }

// forge signs any header and payload with a key of P-256.
func forge(t testing.TB, header, payload string, key jose.JSONWebKey) string {
	t.Helper()
	body := text(header) + "." + text(payload)
	sum := sha256.Sum256([]byte(body))
	r, s, err := ecdsa.Sign(rand.Reader, key.Key.(*ecdsa.PrivateKey), sum[:])
	if err != nil {
		t.Fatal(err)
	}
	var signature [64]byte
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return body + "." + text(string(signature[:]))
}

// hmacOf signs as if a key were a secret.
func hmacOf(header, payload string, secret []byte) string {
	body := text(header) + "." + text(payload)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(body))
	return body + "." + text(string(mac.Sum(nil)))
}

// badClaims are tokens that the issuer signed and that are for others, or for nobody.
func (c *court) badClaims(t *testing.T) map[string]string {
	now := c.clock.Now()
	all := map[string]string{}
	for what, changes := range map[string]map[string]any{
		"another issuer":     {"iss": "https://evil.example.com"},
		"no issuer":          {"iss": nil},
		"a slash more":       {"iss": c.URL + "/"},
		"capital letters":    {"iss": strings.ToUpper(c.URL)},
		"a list of issuers":  {"iss": []string{c.URL}},
		"another audience":   {"aud": "https://other.example.com"},
		"no audience":        {"aud": nil},
		"an empty audience":  {"aud": ""},
		"no audience at all": {"aud": []string{}},
		"a longer audience":  {"aud": publicURL + ".evil.com"},
		"a deeper audience":  {"aud": publicURL + "/other"},
		"audiences":          {"aud": []string{"client", "https://other.example.com"}},
		"an ID token":        {"aud": "client-of-somebody", "nonce": "n"},
		"audience a number":  {"aud": 7},
		"audience an object": {"aud": map[string]any{"0": publicURL}},
		"no end":             {"exp": nil},
		"an hour late":       {"exp": now.Add(-time.Hour).Unix()},
		"a minute late":      {"exp": now.Add(-61 * time.Second).Unix()},
		"end a text":         {"exp": "9999999999"},
		"end a truth":        {"exp": true},
		"end before time":    {"exp": -1},
		"end beyond numbers": {"exp": 1e300},
		"not yet":            {"nbf": now.Add(90 * time.Second).Unix()},
		"not yet, a text":    {"nbf": "soon"},
		"from the future":    {"iat": now.Add(2 * time.Hour).Unix()},
		"no subject":         {"sub": nil},
		"an empty subject":   {"sub": ""},
		"subject a number":   {"sub": 7},
		"no tenant":          {"tenant": nil},
		"an empty tenant":    {"tenant": ""},
		"tenant a number":    {"tenant": 7},
		"two tenants":        {"tenant": []string{"acme", "other"}},
		"tenant an object":   {"tenant": map[string]any{"name": "acme"}},
		"our own tenant":     {"tenant": "\x00loci"},
		"a long tenant":      {"tenant": strings.Repeat("a", 300)},
		"a long user":        {"sub": strings.Repeat("u", 300)},
	} {
		all[what] = c.token(t, changes)
	}
	return all
}

// forged are tokens that the issuer did not sign, or not so.
func (c *court) forged(t *testing.T, stranger jose.JSONWebKey, elsewhere string) map[string]string {
	now := c.clock.Now()
	data, err := json.Marshal(c.claimsAt(now, nil))
	if err != nil {
		t.Fatal(err)
	}
	payload, good := string(data), c.token(t, nil)
	head, body, mark := parts(good)
	es := `{"alg":"ES256","kid":"es"}`
	with := func(more string) string { return forge(t, `{"alg":"ES256","kid":"es",`+more+`}`, payload, stranger) }
	own := func(more string) string { return forge(t, `{"alg":"ES256","kid":"es",`+more+`}`, payload, c.es) }
	other := sign(t, c.es, c.claimsAt(now, map[string]any{"sub": "bob"}), nil)
	_, otherBody, otherMark := parts(other)
	wrongRSA := c.rs
	wrongRSA.Algorithm = "PS256"
	namedRS := c.es
	namedRS.KeyID = "rs"
	all := map[string]string{
		"unsigned": text(`{"alg":"none"}`) + "." + body + ".", "unsigned with a signature": text(`{"alg":"none","kid":"es"}`) + "." + body + "." + mark,
		"unsigned in capitals": text(`{"alg":"NoNe"}`) + "." + body + ".", "no algorithm": text(`{"kid":"es"}`) + "." + body + "." + mark,
		"algorithm a number": text(`{"alg":256,"kid":"es"}`) + "." + body + "." + mark, "algorithm unknown": text(`{"alg":"ES256K","kid":"es"}`) + "." + body + "." + mark,
		"the public key as a secret":    hmacOf(`{"alg":"HS256","kid":"rs"}`, payload, publicBytes(t, c.rs)),
		"the thumbprint as a secret":    hmacOf(`{"alg":"HS256","kid":"es"}`, payload, []byte(thumbprint(t, c.es))),
		"an empty secret":               hmacOf(`{"alg":"HS256"}`, payload, nil),
		"HS512":                         hmacOf(`{"alg":"HS512","kid":"rs"}`, payload, publicBytes(t, c.rs)),
		"an algorithm not allowed":      sign(t, c.odd, c.claimsAt(now, nil), nil),
		"another padding of RSA":        sign(t, wrongRSA, c.claimsAt(now, nil), nil),
		"the name of the other key":     sign(t, namedRS, c.claimsAt(now, nil), nil),
		"a key of nobody":               sign(t, withName(stranger, "nobody"), c.claimsAt(now, nil), nil),
		"a name of nobody":              forge(t, `{"alg":"ES256","kid":"new"}`, payload, c.es),
		"no name":                       forge(t, `{"alg":"ES256"}`, payload, stranger),
		"a name that is a path":         forge(t, `{"alg":"ES256","kid":"../../dev/null"}`, payload, c.es),
		"a name that is SQL":            forge(t, `{"alg":"ES256","kid":"es' OR '1'='1"}`, payload, c.es),
		"a name that is a number":       forge(t, `{"alg":"ES256","kid":7}`, payload, c.es),
		"a name with NUL":               forge(t, `{"alg":"ES256","kid":"es\u0000"}`, payload, c.es),
		"the name of our key":           sign(t, withName(stranger, "es"), c.claimsAt(now, nil), nil),
		"its own key":                   with(`"jwk":` + string(publicBytes(t, stranger))),
		"its own key without a name":    forge(t, `{"alg":"ES256","jwk":`+string(publicBytes(t, stranger))+`}`, payload, stranger),
		"a place of keys":               with(`"jku":"` + elsewhere + `/keys"`),
		"a place of certificates":       with(`"x5u":"` + elsewhere + `/cert"`),
		"a certificate":                 with(`"x5c":["MIIB"]`),
		"an unknown critical header":    own(`"crit":["exp2"],"exp2":1`),
		"critical, and not there":       own(`"crit":["x"]`),
		"a payload that is not encoded": own(`"b64":false,"crit":["b64"]`),
		"another type":                  own(`"typ":"dpop+jwt"`), "a logout token": own(`"typ":"logout+jwt"`), "type a number": own(`"typ":7`),
		"nested by its header": own(`"cty":"JWT"`), "nested": forge(t, es, good, c.es), "encrypted": head + "." + body + "." + mark + ".x.y",
		"the signature of another": head + "." + body + "." + otherMark, "the payload of another": head + "." + otherBody + "." + mark,
		"a changed payload": head + "." + text(strings.Replace(payload, "alice", "mallory", 1)) + "." + mark,
		"a changed header":  text(`{"alg":"ES256","kid":"es","x":1}`) + "." + body + "." + mark,
		"a short signature": head + "." + body + "." + mark[:40], "no signature": head + "." + body + ".",
		"a signature of zeros": head + "." + body + "." + text(strings.Repeat("\x00", 64)), "one letter of a signature": head + "." + body + ".A",
		"a payload that is a list": forge(t, es, `["`+c.URL+`"]`, c.es), "a payload that is no JSON": forge(t, es, "alice", c.es), "no payload": forge(t, es, "", c.es),
		"two tenants by one name": forge(t, es, strings.Replace(payload, "{", `{"tenant":"other",`, 1), c.es),
		"two algorithms":          forge(t, `{"alg":"none","alg":"ES256","kid":"es"}`, payload, c.es), "names in capitals": forge(t, es, strings.Replace(payload, `"exp"`, `"EXP"`, 1), c.es),
		"a header that is no JSON": "x" + good, "only dots": "..", "dots and letters": "a.b.c", "standard base64": strings.Replace(good, ".", "+.", 1), "padding": good + "==",
		"deep":   forge(t, es, strings.Replace(payload, "{", `{"deep":`+strings.Repeat("[", 2000)+strings.Repeat("]", 2000)+",", 1), stranger),
		"12 KiB": head + "." + strings.Repeat("A", 12<<10) + "." + mark, "40 KiB": head + "." + strings.Repeat("A", 40<<10) + "." + mark,
		"two tokens": good + "." + good, "half of two": good[:len(good)/2] + other[len(other)/2:],
	}
	return all
}

func withName(key jose.JSONWebKey, kid string) jose.JSONWebKey {
	key.KeyID = kid
	return key
}

func parts(token string) (head, body, mark string) {
	p := strings.Split(token, ".")
	return p[0], p[1], p[2]
}

// TestBadTokens: each kind is refused at each address with the status and challenge of RFC
// 6750 and RFC 9728. No surface is asked, no address that a token names is, nothing of a
// token is in the log or the reply, and all together cause two fetches of keys.
func TestBadTokens(t *testing.T) {
	c := newCourt(t, nil)
	var elsewhere int
	evil := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere++ }))
	defer evil.Close()
	stranger := signingKey(t, "evil", jose.ES256)
	good := c.token(t, nil)
	if w := c.ask("/v1/notes", bearer(good)); w.Code != 200 || w.Body.String() != "acme alice" {
		t.Fatalf("a good token: %d %s", w.Code, w.Body)
	}
	c.asked = nil
	bad := map[string]http.Header{}
	for what, token := range c.badClaims(t) {
		bad[what] = bearer(token)
	}
	for what, token := range c.forged(t, stranger, evil.URL) {
		bad[what] = bearer(token)
	}
	revoked, key := c.create(t, nil)
	if _, err := c.gate.keys.Revoke(t.Context(), auth.By{}, loci.Tenant{}, revoked.ID); err != nil {
		t.Fatal(err)
	}
	for what, value := range map[string]string{
		"two spaces": "Bearer  " + good, "a space behind": "Bearer " + good + " ", "a space inside": "Bearer " + good[:40] + " " + good[40:],
		"a tab": "Bearer\t" + good, "another scheme": "DPoP " + good, "basic": "Basic " + text("alice:"+good), "a list": "Bearer " + good + ", Bearer " + good,
		"quotes": `Bearer "` + good + `"`, "a key revoked a second ago": "Bearer " + key, "a new line": "Bearer " + good + "\n",
	} {
		bad[what] = http.Header{"Authorization": {value}}
	}
	maps.Copy(bad, map[string]http.Header{
		"two": {"Authorization": {"Bearer " + good, "Bearer " + good}}, "good and unsigned": {"Authorization": {"Bearer " + good, "Bearer x.y."}},
		"none": {}, "in a cookie": {"Cookie": {"Authorization=Bearer " + good}}, "in another header": {"X-Access-Token": {good}},
		"of a tenant that is closed": bearer(c.token(t, map[string]any{"tenant": "closed"})), "of a tenant that is not there": bearer(c.token(t, map[string]any{"tenant": "nobody"})),
		"1 MB": {"Authorization": {"Bearer " + good + strings.Repeat("A", 1<<20)}},
	})
	c.clock.Advance(time.Second)
	if len(bad) < 100 {
		t.Errorf("there are %d kinds", len(bad))
	}
	for what, headers := range bad {
		for _, target := range routes {
			c.log.Reset()
			w := c.ask(target, headers)
			status, reason := 401, `, error="invalid_token"`
			switch what {
			case "none", "in a cookie", "in another header":
				reason = ""
			case "two", "good and unsigned":
				status, reason = 400, `, error="invalid_request"`
			case "of a tenant that is closed", "of a tenant that is not there":
				status = 403
			case "1 MB":
				status = 431
			}
			want := `Bearer realm="loci"` + reason + `, resource_metadata="` + publicURL + "/.well-known/oauth-protected-resource" + resources[target] + `"`
			if status == 401 {
				want += `, scope="read write delete"`
			}
			if status == 403 || status == 431 {
				want = ""
			}
			if w.Code != status || w.Header().Get("WWW-Authenticate") != want || w.Header().Get("Cache-Control") != "no-store" {
				t.Errorf("%s at %s: %d %v %s", what, target, w.Code, w.Header(), w.Body)
			}
			c.quiet(t, what, headers, w)
		}
	}
	if len(c.asked) > 0 || elsewhere > 0 {
		t.Errorf("surfaces were asked by %v, another server %d times", c.asked, elsewhere)
	}
	if n := c.fetched(); n > 2 {
		t.Errorf("the keys were fetched %d times", n)
	}
	if w := c.ask("/v1/notes", bearer(good)); w.Code != 200 {
		t.Errorf("a good token after all: %d %s", w.Code, w.Body)
	}
}

// resources are the paths of those that some addresses are part of.
var resources = map[string]string{"/v1/notes": "/v1", "/v1/nothing": "/v1", "/mcp": "/mcp", "/mcp/bot": "/mcp/bot", "/mcp/nobody": "/mcp/nobody"}

// quiet looks for parts of a credential, and for what it says, in the log and in a reply.
func (c *court) quiet(t *testing.T, what string, headers http.Header, w *httptest.ResponseRecorder) {
	t.Helper()
	said := c.log.String() + w.Body.String()
	between := func(r rune) bool { return strings.ContainsRune(`. ",`, r) }
	for _, values := range headers {
		for _, v := range values {
			for part := range strings.FieldsFuncSeq(v, between) {
				if len(part) >= 16 && strings.Contains(said, part[:16]) {
					t.Errorf("%s: %q is in %s", what, part[:16], said)
				}
			}
		}
	}
	for _, word := range []string{"alice", "mallory", "evil", c.URL} {
		if strings.Contains(said, word) {
			t.Errorf("%s: %q is in %s", what, word, said)
		}
	}
}

// TestTokensInTheAddress: a token in the address is refused, even beside a good one.
func TestTokensInTheAddress(t *testing.T) {
	c := newCourt(t, nil)
	good := c.token(t, nil)
	for _, target := range routes {
		w := c.ask(target+"?access_token="+url.QueryEscape(good), bearer(good))
		if w.Code != 400 || !strings.Contains(w.Header().Get("WWW-Authenticate"), `error="invalid_request"`) {
			t.Errorf("%s: %d %v", target, w.Code, w.Header())
		}
		if strings.Contains(c.log.String()+w.Body.String(), good[len(good)-20:]) {
			t.Errorf("%s: the token is in %s%s", target, c.log, w.Body)
		}
	}
}

// TestLeeway: a token that ended or begins within the leeway is good, one beyond is not, and
// no leeway means none.
func TestLeeway(t *testing.T) {
	for _, leeway := range []time.Duration{0, 10 * time.Second, -1} {
		c := newCourt(t, func(i *auth.Issuer) { i.Leeway = leeway })
		within := leeway
		switch leeway {
		case 0:
			within = time.Minute
		case -1:
			within = 0
		}
		now := c.clock.Now().Truncate(time.Second)
		c.clock.Set(now)
		for claim, at := range map[string]time.Time{"exp": now.Add(-within), "nbf": now.Add(within), "iat": now.Add(within)} {
			beyond := time.Second
			if claim == "exp" {
				beyond = -time.Second
			}
			if w := c.ask("/v1/notes", bearer(c.token(t, map[string]any{claim: at.Unix()}))); w.Code != 200 {
				t.Errorf("%s, %s within: %d %s", leeway, claim, w.Code, w.Body)
			}
			if w := c.ask("/v1/notes", bearer(c.token(t, map[string]any{claim: at.Add(beyond).Unix()}))); w.Code != 401 {
				t.Errorf("%s, %s beyond: %d %s", leeway, claim, w.Code, w.Body)
			}
		}
	}
}

// TestRememberedTokens: a token that was verified ends when it says so, and when its tenant
// is suspended.
func TestRememberedTokens(t *testing.T) {
	c := newCourt(t, nil)
	good := c.token(t, nil)
	for range 3 {
		if w := c.ask("/v1/notes", bearer(good)); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
	}
	acme := locitest.Tenant(t, "acme")
	for state, want := range map[auth.State]int{auth.StateClosed: 403, auth.StateActive: 200} {
		if _, err := c.gate.keys.SetTenant(t.Context(), auth.By{}, acme, state, ""); err != nil {
			t.Fatal(err)
		}
		c.clock.Advance(auth.MaxStale)
		if w := c.ask("/v1/notes", bearer(good)); w.Code != want {
			t.Errorf("%s: %d %s", state, w.Code, w.Body)
		}
	}
	if _, err := c.gate.keys.SetTenant(t.Context(), auth.By{}, acme, auth.StateActive, ""); err != nil {
		t.Fatal(err)
	}
	c.clock.Advance(time.Hour + auth.MaxLeeway)
	w := c.ask("/v1/notes", bearer(good))
	if w.Code != 401 || !strings.Contains(w.Body.String(), "the token has expired") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	// Who had a good token is known to the audit log, by a name that tells no name.
	if len(c.refused) == 0 {
		t.Fatal("nobody heard of the refusal")
	}
	last := c.refused[len(c.refused)-1]
	if last.Operation != server.OperationNone || last.Caller.Tenant() != acme ||
		last.Caller.Subject() != auth.SubjectOf("corp", c.URL, "alice") || strings.Contains(last.Caller.Subject(), "alice") {
		t.Errorf("%+v", last)
	}
}

// TestScopesThatNoTokenBrings: who lacks a scope since its tenant is read-only is not sent to
// ask for it.
func TestScopesThatNoTokenBrings(t *testing.T) {
	c := newCourt(t, nil)
	good := c.token(t, nil)
	door := auth.NewDoor(c.gate.keys.Admit, c.issuers)
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header = bearer(good)
	for state, want := range map[auth.State]bool{auth.StateReadOnly: false, auth.StateActive: true} {
		if _, err := c.gate.keys.SetTenant(t.Context(), auth.By{}, locitest.Tenant(t, "acme"), state, ""); err != nil {
			t.Fatal(err)
		}
		c.clock.Advance(auth.MaxStale)
		got, err := door.Authenticate(r)
		if err != nil || got.Delegated != want || got.May(loci.ScopeWrite) != want || !got.May(loci.ScopeRead) {
			t.Errorf("%s: %+v %v", state, got, err)
		}
	}
}

// TestTokensOfKinds: with the issuer's other key, with its types of tokens, with several
// audiences, and without a name of the key where there is one alone.
func TestTokensOfKinds(t *testing.T) {
	c := newCourt(t, nil)
	claims := c.claimsAt(c.clock.Now(), map[string]any{"aud": []string{"account", publicURL}})
	data, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	for what, token := range map[string]string{
		"RS256": sign(t, c.rs, claims, nil), "ES256": sign(t, c.es, claims, nil),
		"an access token": sign(t, c.es, claims, map[string]any{"typ": "at+jwt"}), "in capitals": sign(t, c.es, claims, map[string]any{"typ": "JWT"}),
		"no name, one key":      forge(t, `{"alg":"ES256"}`, string(data), c.es),
		"a place of keys, ours": sign(t, c.es, claims, map[string]any{"jku": "http://127.0.0.1:1/never"}),
	} {
		if w := c.ask("/mcp", bearer(token)); w.Code != 200 || w.Body.String() != "acme alice" {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	second := signingKey(t, "es2", jose.ES256)
	c.set(c.es, second)
	c.clock.Advance(time.Hour)
	now := c.claimsAt(c.clock.Now(), nil)
	if w := c.ask("/mcp", bearer(sign(t, second, now, nil))); w.Code != 200 {
		t.Errorf("a second key: %d %s", w.Code, w.Body)
	}
	if data, err = json.Marshal(now); err != nil {
		t.Fatal(err)
	}
	if w := c.ask("/mcp", bearer(forge(t, `{"alg":"ES256"}`, string(data), c.es))); w.Code != 401 {
		t.Errorf("no name, two keys: %d %s", w.Code, w.Body)
	}
	if !slices.Contains(c.asked, auth.SubjectOf("corp", c.URL, "alice")) {
		t.Errorf("%v", c.asked)
	}
}
