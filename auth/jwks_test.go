package auth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestKeysRotate: tokens of a new key are good, those of the key before as long as it is
// there, and neither needs a restart. A new key that comes within 30 seconds of a fetch waits
// for them.
func TestKeysRotate(t *testing.T) {
	c := newCourt(t, nil)
	before := c.token(t, nil)
	if w := c.ask("/mcp", bearer(before)); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	next := signingKey(t, "next", jose.ES256)
	c.set(c.es, next)
	after := sign(t, next, c.claimsAt(c.clock.Now(), nil), nil)
	if w := c.ask("/mcp", bearer(after)); w.Code != 401 {
		t.Errorf("a moment after a fetch: %d", w.Code)
	}
	c.clock.Advance(30 * time.Second)
	for what, token := range map[string]string{"new": after, "before": before} {
		if w := c.ask("/mcp", bearer(token)); w.Code != 200 {
			t.Errorf("%s: %d %s", what, w.Code, w.Body)
		}
	}
	// The key before is withdrawn: its tokens end, although they are remembered.
	c.set(next)
	c.clock.Advance(5 * time.Minute)
	ends := time.Now().Add(10 * time.Second)
	status := 200
	for status == 200 && time.Now().Before(ends) { // keys that are old are fetched beside the request
		status = c.ask("/mcp", bearer(before)).Code
	}
	if status != 401 {
		t.Errorf("a withdrawn key: %d", status)
	}
	if w := c.ask("/mcp", bearer(after)); w.Code != 200 {
		t.Errorf("the key that is left: %d %s", w.Code, w.Body)
	}
}

// TestStrangersCauseOneFetch: however many keys they name, and however many come at once.
func TestStrangersCauseOneFetch(t *testing.T) {
	c := newCourt(t, nil)
	if w := c.ask("/mcp", bearer(c.token(t, nil))); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	before := c.fetched()
	c.clock.Advance(30 * time.Second)
	var all sync.WaitGroup
	for n := range 100 {
		token := sign(t, withName(c.es, fmt.Sprint("nobody", n)), c.claimsAt(c.clock.Now(), nil), nil)
		all.Go(func() {
			// Those beyond the number that may wait are told to come back.
			if w := c.ask("/mcp", bearer(token)); w.Code != 401 && w.Code != 503 {
				t.Errorf("%d: %d %s", n, w.Code, w.Body)
			}
		})
	}
	all.Wait()
	if n := c.fetched() - before; n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// TestProvidersThatMisbehave: whatever a provider answers in place of its keys, or for how
// long it does not, the keys that are there stay good, and a token of another key is nobody's
// to judge.
func TestProvidersThatMisbehave(t *testing.T) {
	evil := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { evil = true }))
	defer elsewhere.Close()
	stop := make(chan struct{})
	defer close(stop)
	var sent atomic.Int64 // by the one that does not end
	many := strings.Repeat(`{"kty":"oct","k":"AAAA"},`, 10_000)
	private, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{signingKey(t, "new", jose.ES256)}})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(status int, body string) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, _ *http.Request) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	atKeys := func(do http.HandlerFunc) func(http.ResponseWriter, *http.Request) bool {
		return func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path == "/keys" {
				do(w, r)
			}
			return r.URL.Path == "/keys"
		}
	}
	said := func(body string) func(http.ResponseWriter, *http.Request) bool {
		return atKeys(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	for what, serve := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"down": answer(503, "no"), "not found": answer(404, "no"), "a page": answer(200, "<html>"), "empty": answer(200, ""),
		"another issuer": answer(200, `{"issuer":"https://evil.example.com","jwks_uri":"`+elsewhere.URL+`"}`),
		"nowhere":        said(""), "no set": said(`[]`), "no keys": said(`{"keys":[]}`), "no object": said(`{"keys":[7]}`), "secrets": said(`{"keys":[{"kty":"oct","kid":"new","k":"AAAA"}]}`),
		"10,000 keys": said(`{"keys":[` + strings.TrimSuffix(many, ",") + `]}`), "a private key": said(string(private)),
		"elsewhere": func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, elsewhere.URL, http.StatusFound)
			return true
		},
		"keys elsewhere": atKeys(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}),
		"in a circle": atKeys(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/keys", http.StatusFound) }),
		"without an end": atKeys(func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				n, err := io.WriteString(w, strings.Repeat(" ", 64<<10))
				if sent.Add(int64(n)); err != nil {
					return
				}
			}
		}),
		"slow": func(_ http.ResponseWriter, r *http.Request) bool {
			select {
			case <-stop:
			case <-r.Context().Done():
			}
			return true
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"issuer":`)
			return true
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := newCourt(t, nil)
			good := c.token(t, nil)
			if w := c.ask("/mcp", bearer(good)); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			c.behave(serve)
			c.clock.Advance(30 * time.Minute)
			other := sign(t, signingKey(t, "new", jose.ES256), c.claimsAt(c.clock.Now(), nil), nil)
			r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader("{}"))
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			if what == "slow" {
				cancel()
			}
			defer cancel()
			r = r.WithContext(ctx)
			r.Host, r.Header = "localhost", bearer(other)
			w := httptest.NewRecorder()
			c.handler.ServeHTTP(w, r)
			if w.Code != 503 || w.Header().Get("WWW-Authenticate") != "" {
				t.Errorf("a key that is not known: %d %s", w.Code, w.Body)
			}
			if said := c.log.String(); what != "slow" && !strings.Contains(said, "those from before are used") {
				t.Errorf("the log says of keys that are there: %s", said)
			}
			for _, token := range []string{good, c.token(t, map[string]any{"sub": "bob"})} {
				if w := c.ask("/mcp", bearer(token)); w.Code != 200 {
					t.Errorf("a key from before: %d %s", w.Code, w.Body)
				}
			}
		})
	}
	if evil {
		t.Error("the other server was asked")
	}
	if n := sent.Load(); n > 64<<20 { // what is under way on a connection comes on top of the limit
		t.Errorf("an answer without an end was read for %d bytes", n)
	}
}

// TestProviderThatIsDownAtFirst: the server starts without it, nobody can tell whether a
// token is good, and the first one after it has come is.
func TestProviderThatIsDownAtFirst(t *testing.T) {
	c := newCourt(t, nil)
	c.behave(func(w http.ResponseWriter, _ *http.Request) bool { w.WriteHeader(http.StatusBadGateway); return true })
	good := c.token(t, nil)
	if w := c.ask("/mcp", bearer(good)); w.Code != 503 || w.Header().Get("Retry-After") != "30" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	if said := c.log.String(); !strings.Contains(said, "there are none yet") || strings.Contains(said, "from before") {
		t.Errorf("the log says of keys that never came: %s", said)
	}
	c.behave(nil)
	c.clock.Advance(9500 * time.Millisecond)
	w := c.ask("/mcp", bearer(good))
	if w.Code != 503 || w.Header().Get("Retry-After") != "21" || strings.Contains(w.Body.String(), "few seconds") {
		t.Errorf("a moment later: %d %v %s", w.Code, w.Header(), w.Body)
	}
	c.clock.Advance(20500 * time.Millisecond)
	if w := c.ask("/mcp", bearer(good)); w.Code != 200 {
		t.Errorf("after half a minute: %d %s", w.Code, w.Body)
	}
}

// TestKeysOfAFile: the issuer is asked nothing, and a file that changes is read again. One
// that is not there, or has no public key, refuses the start.
func TestKeysOfAFile(t *testing.T) {
	c := newCourt(t, nil)
	path := t.TempDir() + "/keys.json"
	write := func(keys ...jose.JSONWebKey) {
		t.Helper()
		data, err := json.Marshal(jose.JSONWebKeySet{Keys: keys})
		if err == nil {
			err = os.WriteFile(path, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	from := c.issuer(func(i *auth.Issuer) { i.KeysFile = path })
	for what, keys := range map[string][]jose.JSONWebKey{"private": {c.es}, "none": {}} {
		write(keys...)
		_, err := auth.OpenIssuers([]auth.Issuer{from}, auth.IssuerOptions{})
		if err == nil || !strings.Contains(err.Error(), "keys_file") {
			t.Errorf("%s: %v", what, err)
		}
	}
	write(c.es.Public())
	g := newGateOf(t, auth.Options{OnFirstSight: true}, []auth.Issuer{from})
	if w := g.ask("/mcp", bearer(c.token(t, nil))); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	next := signingKey(t, "next", jose.ES256)
	write(next.Public())
	g.clock.Advance(30 * time.Second)
	if w := g.ask("/mcp", bearer(sign(t, next, c.claimsAt(g.clock.Now(), nil), nil))); w.Code != 200 {
		t.Errorf("a new key: %d %s", w.Code, w.Body)
	}
	if n := c.fetched(); n > 0 {
		t.Errorf("the issuer was asked %d times", n)
	}
	from.KeysFile = path + "x"
	_, err := auth.OpenIssuers([]auth.Issuer{from}, auth.IssuerOptions{})
	if e := loci.AsError(err); err == nil || e.Code != loci.Invalid || !strings.Contains(e.Msg, "keys_file of the issuer corp") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestIssuersDoNotVouchForEachOther: a token is checked with the keys of the issuer that it
// names, and with what is configured for that.
func TestIssuersDoNotVouchForEachOther(t *testing.T) {
	one, two := signingKey(t, "same", jose.ES256), signingKey(t, "same", jose.ES256)
	first, second := newProvider(t, one), newProvider(t, two)
	clock := locitest.NewClock()
	issuers, err := auth.OpenIssuers([]auth.Issuer{
		first.issuer(nil),
		second.issuer(func(i *auth.Issuer) { i.Name, i.Tenant = "other", auth.Source{Fixed: "guests"} }),
	}, auth.IssuerOptions{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer issuers.Close()
	for _, c := range []struct {
		what   string
		key    jose.JSONWebKey
		by     *provider
		tenant string
	}{
		{"the first", one, first, "acme"}, {"the second", two, second, "guests"},
		{"the second as the first", two, first, ""}, {"the first as the second", one, second, ""},
	} {
		got, err := issuers.Verify(t.Context(), sign(t, c.key, c.by.claimsAt(clock.Now(), nil), nil))
		if (err == nil) != (c.tenant != "") || got.Tenant().String() != c.tenant {
			t.Errorf("%s: %v %v", c.what, got.Tenant(), err)
		}
	}
}
