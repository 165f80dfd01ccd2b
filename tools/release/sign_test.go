package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// newKey makes a key as openssl writes it, and a file with its public half.
func newKey(t *testing.T, curve elliptic.Curve) (private, public string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	open, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	public = filepath.Join(t.TempDir(), "release.pub")
	if err := os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: open}), 0o600); err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})), public
}

// verified asks openssl whether a signature is that of a text.
func verified(t *testing.T, public string, text, signature []byte) bool {
	t.Helper()
	dir := t.TempDir()
	for name, data := range map[string][]byte{"text": text, "sig": signature} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	said, err := exec.Command("openssl", "dgst", "-sha256", "-verify", public, "-signature", filepath.Join(dir, "sig"),
		filepath.Join(dir, "text")).CombinedOutput()
	if strings.Contains(string(said), "Verified OK") != (err == nil) || len(said) == 0 {
		t.Fatalf("openssl is needed (apt install openssl): %v %s", err, said)
	}
	return err == nil
}

// With a key the checksums are signed, and a signed statement names each file and the commit;
// openssl agrees. Without one there is neither.
func TestSignatures(t *testing.T) {
	private, public := newKey(t, elliptic.P256())
	if all := built(t, made(t).out); all["checksums.txt.sig"] != "" || all["provenance.intoto.jsonl"] != "" {
		t.Error("signed without a key")
	}
	t.Setenv(keyVariable, private)
	all := built(t, made(t).out)
	signature, err := base64.StdEncoding.DecodeString(strings.TrimSpace(all["checksums.txt.sig"]))
	if err != nil {
		t.Fatal(err)
	}
	sums := []byte(all["checksums.txt"])
	if !verified(t, public, sums, signature) {
		t.Error("openssl does not take the signature of the checksums")
	}
	if sums[0] ^= 1; verified(t, public, sums, signature) {
		t.Error("openssl takes it for other checksums, too: this test can tell nothing")
	}
	var envelope dsse.Envelope
	if err := json.Unmarshal([]byte(all["provenance.intoto.jsonl"]), &envelope); err != nil {
		t.Fatal(err)
	}
	statement, err := base64.StdEncoding.DecodeString(envelope.Payload)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := base64.StdEncoding.DecodeString(envelope.Signatures[0].Sig)
	if err != nil {
		t.Fatal(err)
	}
	if !verified(t, public, dsse.PAE(envelope.PayloadType, statement), sealed) {
		t.Error("openssl does not take the signature of the statement")
	}
	var said struct {
		Type          string `json:"_type"`
		PredicateType string
		Subject       []struct {
			Name   string
			Digest struct{ SHA256 string }
		}
	}
	if err := json.Unmarshal(statement, &said); err != nil {
		t.Fatal(err)
	}
	if said.Type != "https://in-toto.io/Statement/v1" || said.PredicateType != "https://slsa.dev/provenance/v1" ||
		!strings.Contains(string(statement), `"gitCommit":"`+strings.Repeat("ab", 20)+`"`) {
		t.Errorf("%s", statement)
	}
	for _, s := range said.Subject {
		if !strings.Contains(all["checksums.txt"], s.Digest.SHA256+"  "+s.Name+"\n") {
			t.Errorf("%+v is not among the checksums", s)
		}
	}
	if len(said.Subject) != strings.Count(all["checksums.txt"], "\n") {
		t.Errorf("%d files in the statement, %d in the checksums", len(said.Subject), strings.Count(all["checksums.txt"], "\n"))
	}
}

// A key that cannot sign ends the release with what is wrong with it.
func TestKeysThatCannotSign(t *testing.T) {
	other, _ := newKey(t, elliptic.P384())
	for want, key := range map[string]string{
		"is no PEM":                 "/home/me/key.pem",
		"no private key in PKCS #8": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")})),
		"is not of the curve P-256": other,
	} {
		if _, err := readKey(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// Plugins are read from the repository, so a release of another version than theirs is refused.
func TestPluginsSayTheVersion(t *testing.T) {
	r := &release{root: filepath.Join("..", ".."), version: "99.0.0"}
	if err := r.plugins(); err == nil || !strings.Contains(err.Error(), "set it to 99.0.0") {
		t.Errorf("%v", err)
	}
	r.version = "99.0.0-rc.1"
	if err := r.plugins(); err != nil {
		t.Errorf("of a candidate: %v", err)
	}
}
