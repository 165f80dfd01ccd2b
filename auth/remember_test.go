package auth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"os"
	"testing"
	"testing/synctest"

	"github.com/loci-memory/loci"
)

// TestRememberedTokensAreBounded: however many there are, and the newest is among them.
func TestRememberedTokensAreBounded(t *testing.T) {
	a, err := OpenIssuers(nil, IssuerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for n := range mostTokens + 100 {
		digest := sha256.Sum256(binary.BigEndian.AppendUint64(nil, uint64(n)))
		a.remember(digest, verified{})
		if _, there := a.known[digest]; !there {
			t.Fatal("the newest is missing")
		}
	}
	if len(a.known) != mostTokens {
		t.Errorf("%d tokens", len(a.known))
	}
}

// TestKeysAreBounded: those that cost too much to check with, or too little to break, are
// passed over, and so are too many of one name.
func TestKeysAreBounded(t *testing.T) {
	one := `{"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`
	many := one
	for range 2 * mostOfOneName {
		many += "," + one
	}
	keys, _, err := parseKeys([]byte(`{"keys":[` + many + `]}`))
	if err != nil || len(keys["a"]) != mostOfOneName {
		t.Errorf("%d keys of one name, %v", len(keys["a"]), err)
	}
	for bits, good := range map[int]bool{1024: false, 2048: true, 4096: true, 16384: false} {
		n := base64.RawURLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, bits/8))
		keys, _, err := parseKeys([]byte(`{"keys":[` + one + `,{"kty":"RSA","kid":"rsa","e":"AQAB","n":"` + n + `"}]}`))
		if err != nil || (len(keys["rsa"]) == 1) != good {
			t.Errorf("RSA of %d bits: %v %v", bits, len(keys["rsa"]), err)
		}
	}
	for range mostKeys {
		many += "," + one
	}
	if _, _, err := parseKeys([]byte(`{"keys":[` + many + `]}`)); err == nil {
		t.Error("more keys than the limit")
	}
}

// TestChecksOfSignaturesAreFew: while as many are under way as may be, a new token waits for
// its turn, and a token that is known does not.
func TestChecksOfSignaturesAreFew(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/keys.json"
	text := base64.RawURLEncoding.EncodeToString
	keys := `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"a","x":"` + text(public) + `"}]}`
	if err := os.WriteFile(path, []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	token := func(sub string) string {
		body := text([]byte(`{"alg":"EdDSA","kid":"a"}`)) + "." +
			text([]byte(`{"iss":"https://login.example.com","aud":"us","exp":9999999999,"sub":"`+sub+`"}`))
		return body + "." + text(ed25519.Sign(private, []byte(body)))
	}
	synctest.Test(t, func(t *testing.T) {
		a, err := OpenIssuers([]Issuer{{Name: "corp", URL: "https://login.example.com", Audiences: []string{"us"},
			KeysFile: path, Tenant: Source{Fixed: "acme"}}}, IssuerOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if _, err := a.Verify(t.Context(), token("alice")); err != nil {
			t.Fatal(err)
		}
		for range cap(a.checks) {
			a.checks <- struct{}{}
		}
		if _, err := a.Verify(t.Context(), token("alice")); err != nil {
			t.Errorf("a token that is known: %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.Verify(ctx, token("carol")); loci.AsError(err).Code != loci.Unavailable {
			t.Errorf("a new token of somebody who has gone: %v", err)
		}
		checked := false
		go func() {
			_, err = a.Verify(t.Context(), token("bob"))
			checked = true
		}()
		if synctest.Wait(); checked {
			t.Error("a new token did not wait")
		}
		<-a.checks
		if synctest.Wait(); !checked || err != nil {
			t.Errorf("a new token whose turn has come: %v %v", checked, err)
		}
	})
}
