package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/secure-systems-lab/go-securesystemslib/dsse"
)

// keyVariable is the environment variable with the private key of releases: P-256, PKCS #8,
// in PEM, as "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256" writes it.
const keyVariable = "LOCI_RELEASE_KEY"

// A signer signs with the key of releases. Its signatures are those of "openssl dgst -sha256":
// ECDSA over SHA-256, in ASN.1.
type signer struct{ key *ecdsa.PrivateKey }

// readKey reads the private key out of PEM.
func readKey(text string) (*signer, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New(keyVariable + " is no PEM: give the text of the file, not its path")
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s is no private key in PKCS #8: %w", keyVariable, err)
	}
	private, ok := key.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, fmt.Errorf("%s is not of the curve P-256", keyVariable)
	}
	return &signer{private}, nil
}

// Sign is the signature of a text.
func (s *signer) Sign(_ context.Context, data []byte) ([]byte, error) {
	sum := sha256.Sum256(data)
	return ecdsa.SignASN1(rand.Reader, s.key, sum[:])
}

// KeyID names the key: the SHA-256 of its public half.
func (s *signer) KeyID() (string, error) {
	public, err := x509.MarshalPKIXPublicKey(s.key.Public())
	return fmt.Sprintf("%x", sha256.Sum256(public)), err
}

// signatures signs the checksums, and with them every file, and says in a signed statement
// what the files were built from. Without a key there is neither, and the rest is the same.
func (r *release) signatures() error {
	text := os.Getenv(keyVariable)
	if text == "" {
		return nil
	}
	s, err := readKey(text)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(r.out, "checksums.txt"))
	if err != nil {
		return err
	}
	signed, err := s.Sign(r.ctx, sums)
	if err != nil {
		return err
	}
	if err := r.write("checksums.txt.sig", []byte(base64.StdEncoding.EncodeToString(signed)+"\n")); err != nil {
		return err
	}
	statement, err := json.Marshal(r.provenance(string(sums)))
	if err != nil {
		return err
	}
	envelopes, err := dsse.NewEnvelopeSigner(s)
	if err != nil {
		return err
	}
	envelope, err := envelopes.SignPayload(r.ctx, "application/vnd.in-toto+json", statement)
	if err != nil {
		return err
	}
	var line bytes.Buffer
	if err := json.NewEncoder(&line).Encode(envelope); err != nil {
		return err
	}
	return r.write("provenance.intoto.jsonl", line.Bytes())
}

// provenance is a statement of in-toto with SLSA's predicate of version 1: these files, by
// their SHA-256, come of this commit and this command.
func (r *release) provenance(sums string) any {
	type resource struct {
		Name   string            `json:"name,omitempty"`
		URI    string            `json:"uri,omitempty"`
		Digest map[string]string `json:"digest"`
	}
	var subjects []resource
	for line := range strings.Lines(sums) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		subjects = append(subjects, resource{Name: name, Digest: map[string]string{"sha256": sum}})
	}
	return map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          homepage + "/blob/main/docs/install.md#making-a-release",
				"externalParameters": map[string]any{"command": "make release VERSION=" + r.version},
				"resolvedDependencies": []resource{{URI: "git+" + homepage + "@" + r.commit,
					Digest: map[string]string{"gitCommit": r.commit}}},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": homepage + "/blob/main/tools/release"}},
		},
	}
}
