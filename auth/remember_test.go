package auth

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"testing"
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
