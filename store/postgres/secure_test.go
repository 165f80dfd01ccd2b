//go:build system

// These tests drive programs of the system: `make test-postgres-system`.

package postgres_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
)

// A signer is an authority of a test, or somebody who has a certificate of it.
type signer struct {
	leaf      *x509.Certificate
	key       *ecdsa.PrivateKey
	cert, pem []byte // certificate and key as files hold them
}

// signed makes a certificate of an authority; nil: an authority. It has expired, or not.
func signed(t *testing.T, ca *signer, name string, expired bool) *signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	if expired {
		c.NotAfter = time.Now().Add(-time.Hour)
	}
	parent, by := c, key
	if ca != nil {
		parent, by = ca.leaf, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), by)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s := &signer{key: key, cert: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
	s.pem = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})
	if s.leaf, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	return s
}

// kept writes a file of a test.
func kept(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestTLS: a server that wants TLS and a certificate of its clients is used with both, and each
// fault says what to do about it.
func TestTLS(t *testing.T) {
	server, d := ownServer(t, pgtest.Options{TLS: true})
	with := func(from string, options ...string) string {
		return changed(t, from, func(u *url.URL) { u.RawQuery = strings.Join(options, "&") })
	}
	refused(t, with(d.Server, "sslmode=verify-full"), loci.Unsupported, "has no TLS")

	ca, other := signed(t, nil, "ours", false), signed(t, nil, "theirs", false)
	ours, stranger := signed(t, ca, d.Role, false), signed(t, other, d.Role, false)
	wants := func(cert *signer, clients string) {
		t.Helper()
		const rest = "host all all 127.0.0.1/32 scram-sha-256\n"
		rule := "hostssl all " + d.Role + " 127.0.0.1/32 " + clients + "\nhost all " + d.Role + " all reject\n"
		err := errors.Join(server.Write("server.crt", cert.cert), server.Write("server.key", cert.pem),
			server.Write("root.crt", ca.cert), server.Write("pg_hba.conf", []byte(rule+rest)))
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Relaunch(t.Context(), "ssl=on", "ssl_ca_file=root.crt"); err != nil {
			t.Fatal(err)
		}
	}
	root, full := "sslrootcert="+kept(t, ca.cert), "sslmode=verify-full"
	wants(signed(t, ca, "server", false), "scram-sha-256")
	s := openAt(t, with(d.Server, full, root))
	locitest.Save(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u"), "a secret way")
	conn, err := pgx.Connect(t.Context(), with(d.Server, full, root))
	if err != nil {
		t.Fatal(err)
	}
	var secret bool
	const ask = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
	err = errors.Join(conn.QueryRow(t.Context(), ask).Scan(&secret), conn.Close(t.Context()))
	if err != nil || !secret {
		t.Errorf("the connection is secret: %v, %v", secret, err)
	}
	refused(t, with(d.Server, full), loci.Unsupported, "sslrootcert=FILE")
	refused(t, with(d.Server, full, "sslrootcert="+kept(t, other.cert)), loci.Unsupported, "sslrootcert=FILE")
	refused(t, with(d.Server, "sslmode=disable"), loci.Unsupported, "sslmode=verify-full")
	local := changed(t, with(d.Server, full, root), func(u *url.URL) { u.Host = "localhost:" + u.Port() })
	refused(t, local, loci.Unsupported, "names another host")

	// Files and words that are wrong are found before anything is sent.
	refused(t, with(d.Server, full, "sslrootcert=/nowhere/ca.pem"), loci.Invalid, "/nowhere/ca.pem")
	refused(t, with(d.Server, full, "sslrootcert="+kept(t, []byte("no certificate"))), loci.Invalid, "files in PEM")
	refused(t, with(d.Server, "sslmode=always"), loci.Invalid, "verify-full")
	refused(t, with(d.Server, full, root, "sslcert="+kept(t, ours.cert)), loci.Invalid, "sslkey")

	mine := []string{full, root, "sslcert=" + kept(t, ours.cert), "sslkey=" + kept(t, ours.pem)}
	theirs := []string{full, root, "sslcert=" + kept(t, stranger.cert), "sslkey=" + kept(t, stranger.pem)}
	named := signed(t, ca, "somebody", false)
	wrong := []string{full, root, "sslcert=" + kept(t, named.cert), "sslkey=" + kept(t, named.pem)}
	wants(signed(t, ca, "server", false), "cert")
	s = openAt(t, with(d.Server, mine...))
	locitest.Save(t, locitest.Bind(t, locitest.NewEngine(t, s, loci.Options{}), "u"), "without a password")
	refused(t, with(d.Server, full, root), loci.Unsupported, "sslcert=FILE&sslkey=FILE")
	refused(t, with(d.Server, theirs...), loci.Unsupported, "sslcert=FILE&sslkey=FILE")
	refused(t, with(d.Server, wrong...), loci.Unsupported, "sslcert=FILE&sslkey=FILE")

	wants(signed(t, ca, "server", true), "scram-sha-256")
	refused(t, with(d.Server, full, root), loci.Unsupported, "has expired, or is not valid yet")
}
