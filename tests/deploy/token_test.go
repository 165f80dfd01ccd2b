package deploy

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An issuer is an authorization server of the machine.
type issuer struct {
	*httptest.Server
	key *ecdsa.PrivateKey
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes() // 4, x and y
	if err != nil {
		t.Fatal(err)
	}
	s := &issuer{key: key}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","kid":"one","alg":"ES256","use":"sig","x":%q,"y":%q}]}`,
				base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:]))
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":"%s/keys"}`, s.URL, s.URL)
	}))
	t.Cleanup(s.Close)
	return s
}

// token is one for a tenant, with the scopes to read and to write.
func (s *issuer) token(t *testing.T, tenant, audience string) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{"iss": s.URL, "aud": audience, "sub": "alice", "tenant": tenant,
		"scope": "read write", "exp": time.Now().Add(time.Hour).Unix()})
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"one","typ":"JWT"}`)) + "." +
		base64.RawURLEncoding.EncodeToString(claims)
	digest := sha256.Sum256([]byte(text))
	r, v, err := ecdsa.Sign(rand.Reader, s.key, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// tries asks a server that the chart configured with tokens of the issuer: one of a tenant saves a
// note; none, one for another server and one of a tenant that is not there are refused, and who
// has none hears where tokens are.
func (s *issuer) tries(t *testing.T, url, home string) {
	t.Helper()
	certificate, err := os.ReadFile(filepath.Join(home, "tls.crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(certificate) {
		t.Fatal("no certificate")
	}
	where := strings.TrimPrefix(url, "https://")
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "localhost"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, where)
		},
	}}
	defer client.CloseIdleConnections()
	const own = "https://memory.example.com/mcp"
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"a token":                   {s.token(t, "acme", own), http.StatusCreated},
		"no token":                  {"", http.StatusUnauthorized},
		"a token of another server": {s.token(t, "acme", "https://elsewhere.example.com"), http.StatusUnauthorized},
		"a tenant that is not":      {s.token(t, "nobody", own), http.StatusForbidden},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://memory.example.com/v1/notes",
			strings.NewReader(`{"content":"Likes tea."}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		if closeErr := response.Body.Close(); err != nil || closeErr != nil {
			t.Fatal(err, closeErr)
		}
		if response.StatusCode != c.want {
			t.Errorf("%s: %d %s; want %d", name, response.StatusCode, body, c.want)
		}
		challenge := response.Header.Get("WWW-Authenticate")
		if c.token == "" && !strings.Contains(challenge, "https://memory.example.com/.well-known/oauth-protected-resource") {
			t.Errorf("%s: %s", name, challenge)
		}
	}
}
