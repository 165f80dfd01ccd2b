package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci/internal/config"
)

// TestDoctorLooksAtCertificates: files of TLS that cannot be used are a fault, one that has expired a
// warning, each with the file.
func TestDoctorLooksAtCertificates(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	until := func(end time.Time) {
		t.Helper()
		c := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"a.example"},
			NotBefore: end.Add(-time.Hour), NotAfter: end}
		der, err := x509.CreateCertificate(rand.Reader, c, c, private.Public(), private)
		if err == nil {
			err = os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
		}
		if err == nil {
			err = os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	settings := filepath.Join(dir, "loci.yaml")
	text := fmt.Sprintf("http: {tls: files, tls_cert: %q, tls_key: %q}\n", cert, key)
	if err := os.WriteFile(settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	doctor := func(code int, want string) {
		t.Helper()
		var out, stderr bytes.Buffer
		args := []string{"--config", settings, "--store", "memory:", "doctor"}
		got := run(t.Context(), args, strings.NewReader(""), &out, &stderr, config.Environ{"HOME=" + dir})
		if got != code || !strings.Contains(out.String(), want) {
			t.Errorf("exit code %d, %s%s, want %s", got, &out, &stderr, want)
		}
	}
	doctor(exitInvalid, "fail\tcertificate\thttp.tls_cert: the file "+cert+" cannot be read")
	until(time.Now().Add(time.Minute))
	doctor(exitOK, "ok\tcertificate\t"+cert)
	until(time.Now().Add(-time.Minute))
	doctor(exitOK, "warn\tcertificate\tthe certificate in "+cert+" has expired")
}
