package server

import (
	"bytes"
	"crypto/tls"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// pems writes files of one test: a good certificate with its key, and others.
func pems(t *testing.T) (dir string, path func(name string) string, write func(name string, data []byte)) {
	t.Helper()
	dir = t.TempDir()
	path = func(name string) string { return filepath.Join(dir, name) }
	write = func(name string, data []byte) {
		t.Helper()
		if err := os.WriteFile(path(name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, path, write
}

// TestFaultsOfCertificates: each names the setting, the file and what helps.
func TestFaultsOfCertificates(t *testing.T) {
	dir, path, write := pems(t)
	certificate(t, dir, "memory.example.com", 1, nil)
	other := t.TempDir()
	certificate(t, other, "memory.example.com", 2, nil)
	cert, key, otherKey := path("cert.pem"), path("key.pem"), filepath.Join(other, "key.pem")
	block := func(name, kind string, data []byte) {
		write(name, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	data, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	der, _ := pem.Decode(data)
	write("der", der.Bytes)
	block("damaged", "CERTIFICATE", der.Bytes[:40])
	block("locked", "ENCRYPTED PRIVATE KEY", []byte("x"))
	block("broken", "PRIVATE KEY", []byte("x"))
	write("old-locked", []byte("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\neA==\n-----END EC PRIVATE KEY-----\n"))
	for _, c := range []struct {
		cert, key, ca   string
		want, remedy    string
		unlessPrivilege bool
	}{
		{cert: path("none"), key: key, want: "http.tls_cert: the file " + path("none") + " cannot be read: no such file", remedy: "Name a file"},
		{cert: cert, key: path("none"), want: "http.tls_key: the file " + path("none") + " cannot be read", remedy: "Name a file"},
		{cert: path("der"), key: key, want: "http.tls_cert: the file " + path("der") + " holds no certificate in PEM", remedy: "openssl x509"},
		{cert: key, key: cert, want: "http.tls_cert: the file " + key + " holds no certificate in PEM, but a private key", remedy: "exchange"},
		{cert: path("damaged"), key: key, want: "http.tls_cert: the file " + path("damaged") + " holds a certificate that is damaged", remedy: "again"},
		{cert: cert, key: path("der"), want: "http.tls_key: the file " + path("der") + " holds no private key in PEM", remedy: "PEM"},
		{cert: cert, key: path("locked"), want: "http.tls_key: the key in " + path("locked") + " has a password", remedy: "openssl pkey"},
		{cert: cert, key: path("old-locked"), want: "http.tls_key: the key in " + path("old-locked") + " has a password", remedy: "openssl pkey"},
		{cert: cert, key: path("broken"), want: "http.tls_key: the key in " + path("broken") + " cannot be used", remedy: "again"},
		{cert: cert, key: otherKey, want: "http.tls_key: the key in " + otherKey + " is not that of the certificate in " + cert, remedy: "both"},
		{cert: cert, key: key, ca: path("none"), want: "http.tls_client_ca: the file " + path("none") + " cannot be read", remedy: "Name a file"},
		{cert: cert, key: key, ca: key, want: "http.tls_client_ca: the file " + key + " holds no certificate in PEM", remedy: "PEM"},
	} {
		b := Binding{Addresses: []string{"127.0.0.1:0"}, TLS: TLSFiles, Certificate: c.cert, Key: c.key, ClientCA: c.ca}
		_, _, err := b.Listen(t.Context())
		wantRefusal(t, err, loci.Invalid, c.want)
		if e := loci.AsError(err); err != nil && !strings.Contains(e.Advice(), c.remedy) {
			t.Errorf("%s: the remedy is %q", c.want, e.Advice())
		}
	}
	denied := unreadable("http.tls_key", "/etc/loci/tls.key", os.ErrPermission)
	if e := (*loci.Error)(nil); !errors.As(denied, &e) || !strings.Contains(e.Recovery, "right to read") {
		t.Errorf("without the right: %v", denied)
	}
	if err := unreadable("http.tls_key", "/x", &os.PathError{Op: "open", Path: "/x", Err: os.ErrNotExist}); strings.Count(err.Error(), "/x") != 1 {
		t.Errorf("%v", err)
	}
}

// TestCertificatesOutOfTime: one that has ended, or that begins later, is used, since a client may not
// mind; the log says so once, at the start, when it changes, and when its time passes meanwhile.
func TestCertificatesOutOfTime(t *testing.T) {
	dir, path, _ := pems(t)
	certificate(t, dir, "memory.example.com", 1, nil) // from an hour ago for two
	var log bytes.Buffer
	c := &certificates{paths: []string{path("cert.pem"), path("key.pem"), ""}, logger: slog.New(slog.NewTextHandler(&log, nil))}
	said := func(what string, now time.Time, want string) {
		t.Helper()
		log.Reset()
		for range 3 {
			if c.current(now) == nil {
				t.Fatalf("%s: there is no certificate", what)
			}
			now = now.Add(lookEvery)
		}
		lines := strings.Count(log.String(), "level=WARN")
		got, most := log.String(), min(1, len(want))
		if lines != most || !strings.Contains(got, want) || most == 1 && !strings.Contains(got, path("cert.pem")) {
			t.Errorf("%s: the log says %q, want %q once", what, got, want)
		}
	}
	now := time.Now()
	said("too early", now.Add(-2*time.Hour), "is not valid yet")
	said("in time", now, "")
	said("too late", now.Add(2*time.Hour), "has expired")
	if _, err := newCertificates(path("cert.pem"), path("key.pem"), "", now.Add(2*time.Hour), c.logger); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "has expired") {
		t.Error("nothing is said at the start")
	}
	b := &Binding{TLS: TLSFiles, Certificate: path("cert.pem"), Key: path("key.pem")}
	if warning, err := CheckCertificate(b, now.Add(2*time.Hour)); err != nil || !strings.Contains(warning, "has expired") {
		t.Errorf("%q, %v", warning, err)
	}
	if warning, err := CheckCertificate(&Binding{}, now); err != nil || warning != "" {
		t.Errorf("without TLS: %q, %v", warning, err)
	}
}

// TestChangedCertificates: what cannot be used leaves the one before, and the log says why, once. When
// only a right to read was missing, the files look as before once it is there: they are read again.
func TestChangedCertificates(t *testing.T) {
	dir, path, write := pems(t)
	certificate(t, dir, "memory.example.com", 1, nil)
	var log bytes.Buffer
	c := &certificates{paths: []string{path("cert.pem"), path("key.pem"), ""}, logger: slog.New(slog.NewTextHandler(&log, nil))}
	now := time.Now()
	first := c.current(now)
	write("key.pem", []byte("half"))
	for range 3 {
		now = now.Add(lookEvery)
		if c.current(now) != first {
			t.Fatal("the certificate before is gone")
		}
	}
	if said := log.String(); strings.Count(said, "level=ERROR") != 1 || !strings.Contains(said, path("key.pem")) ||
		!strings.Contains(said, "the one before stays") || !strings.Contains(said, "remedy=") {
		t.Errorf("the log says %q", said)
	}
	certificate(t, dir, "memory.example.com", 7, nil)
	c.seen = c.look() // as if the files had not changed since
	now = now.Add(lookEvery)
	if got := serialOf(c.current(now)); got != 7 {
		t.Errorf("certificate %d", got)
	}
	if runtime.GOOS != "windows" {
		if err := os.Remove(path("key.pem")); err != nil {
			t.Fatal(err)
		}
		if got := serialOf(c.current(now.Add(lookEvery))); got != 7 {
			t.Errorf("without a key: certificate %d", got)
		}
	}
}

func serialOf(c *tls.Config) int64 { return c.Certificates[0].Leaf.SerialNumber.Int64() }
