package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// TestWhereItMayListen: an address that others can reach needs callers that are asked and
// TLS, and what is missing is named.
func TestWhereItMayListen(t *testing.T) {
	everywhere := []string{":7437", "0.0.0.0:7437", "[::]:7437", "10.0.0.1:7437", "example.com:80", "127.0.0.1:0,0.0.0.0:0", "10.0.0.1:0,10.0.0.1:0"}
	for want, b := range map[string]Binding{
		"there is no authentication": {TLS: TLSFiles, Certificate: "c", Key: "k"},
		"no authentication":          {},
		"in the clear":               {Asks: true},
		"cross the network":          {Asks: true, TLS: TLSOff},
	} {
		for _, address := range everywhere {
			b.Addresses = strings.Split(address, ",")
			wantRefusal(t, b.Check(), loci.Forbidden, want)
			if l, _, err := b.Listen(t.Context()); err == nil {
				t.Errorf("%s: it listens on %s", want, l.Addr())
			}
		}
	}
	for want, b := range map[string]Binding{
		"needs both":                               {TLS: TLSFiles, Certificate: "c"},
		"needs both http.tls_cert":                 {TLS: TLSFiles, Key: "k"},
		"http.tls_client_ca needs http.tls: files": {ClientCA: "x"},
		"http.tls_cert needs http.tls: files":      {Certificate: "x", Key: "y"},
		"http.tls_key needs http.tls: files":       {TLS: TLSProxy, Proxies: []string{"10.0.0.1"}, Key: "y"},
		"needs http.proxies":                       {TLS: TLSProxy},
		"http.proxies needs":                       {Proxies: []string{"10.0.0.1"}},
		"is everybody":                             {TLS: TLSProxy, Proxies: []string{"0.0.0.0/0"}},
		`"::/0" is everybody`:                      {TLS: TLSProxy, Proxies: []string{"10.0.0.1", "::/0"}},
		"must be an address such as":               {TLS: TLSProxy, Proxies: []string{"proxy.example.com"}},
		"no address":                               {Addresses: []string{}},
		"a host and a port":                        {Addresses: []string{"127.0.0.1"}},
		"must be 0 to 65535":                       {Addresses: []string{"127.0.0.1:65536"}},
		"99999999999999999999\" must":              {Addresses: []string{"127.0.0.1:99999999999999999999"}},
		"by its whole path":                        {Addresses: []string{"unix:loci.sock"}},
		"handed over no socket":                    {Addresses: []string{"systemd"}},
		"127.0.0.1:7437 comes twice":               {Addresses: []string{"127.0.0.1:7437", "[::1]:7437", "127.0.0.1:7437"}},
		"unix:/x comes twice":                      {Addresses: []string{"unix:/x", "unix:/x"}},
		"systemd comes twice":                      {Addresses: []string{"systemd", "systemd"}},
	} {
		if b.Addresses == nil {
			b.Addresses = []string{"127.0.0.1:0"}
		}
		_, _, err := b.Listen(t.Context())
		wantRefusal(t, err, loci.Invalid, want)
	}
	for _, b := range []Binding{
		{Asks: true, TLS: TLSFiles, Certificate: "c", Key: "k"}, {Asks: true, TLS: TLSProxy, Proxies: []string{"10.0.0.0/24", "fd00::1"}},
	} {
		for _, address := range everywhere {
			b.Addresses = strings.Split(address, ",")
			if err := b.Check(); err != nil {
				t.Errorf("%s: %v", address, err)
			}
		}
	}
}

// TestWhichSettingIsAtFault: whoever reads a configuration can point at the line.
func TestWhichSettingIsAtFault(t *testing.T) {
	for key, b := range map[string]Binding{
		"http.tls_cert":      {Certificate: "c"},
		"http.tls_key":       {Key: "k"},
		"http.tls_client_ca": {ClientCA: "k"},
		"http.tls":           {TLS: TLSFiles, Key: "k"},
		"http.proxies":       {Proxies: []string{"10.0.0.1"}},
		"listen":             {Addresses: []string{"0.0.0.0:1"}},
	} {
		if b.Addresses == nil {
			b.Addresses = []string{"127.0.0.1:0"}
		}
		var at *SettingError
		if err := b.Check(); !errors.As(err, &at) || at.Key != key {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func wantRefusal(t *testing.T, err error, code loci.Code, sentence string) {
	t.Helper()
	if err == nil || loci.AsError(err).Code != code || !strings.Contains(err.Error(), sentence) {
		t.Errorf("%v, want %s with %q", err, code, sentence)
	}
}

// The same rules hold for a socket that systemd hands over.
func TestHandedOverSockets(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // there is no systemd
	}
	hand := func(address string) func() ([]*os.File, error) {
		return func() ([]*os.File, error) {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			f, err := l.(*net.TCPListener).File()
			return []*os.File{f}, err
		}
	}
	b := Binding{Addresses: []string{"systemd"}, Sockets: hand("0.0.0.0:0")}
	if _, _, err := b.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "no authentication") {
		t.Errorf("a socket that others can reach: %v", err)
	}
	b.Sockets = hand("127.0.0.1:0")
	url := serve(t, &b)[0]
	if status, err := get(http.DefaultClient, url); status != 200 {
		t.Errorf("%d, %v", status, err)
	}
}

// serve runs a server on a binding until the test ends, and returns where it is.
func serve(t *testing.T, b *Binding) []string {
	t.Helper()
	s, _ := newServer(t, Options{Hosts: []string{"memory.example.com"}})
	l, urls, err := b.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return urls
}

func get(c *http.Client, url string) (int, error) {
	defer c.CloseIdleConnections()
	r, err := c.Get(url + "/healthz")
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode, r.Body.Close()
}

// TestSeveralAddresses at once, a socket of this machine among them, which others of the
// machine cannot open; one that a killed process left is no obstacle.
func TestSeveralAddresses(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // modes of files mean nothing there
	}
	path := filepath.Join(t.TempDir(), "s")
	stale, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	stale.SetUnlinkOnClose(false)
	stale.Close()
	b := &Binding{Addresses: []string{"127.0.0.1:0", "unix:" + path, "[::1]:0"}}
	urls := serve(t, b)
	if len(urls) != 3 || urls[1] != "unix:"+path {
		t.Fatalf("%v", urls)
	}
	for _, url := range []string{urls[0], urls[2]} {
		if status, err := get(http.DefaultClient, url); status != 200 {
			t.Errorf("%s: %d, %v", url, status, err)
		}
	}
	client, url, err := b.Client()
	if err != nil {
		t.Fatal(err)
	}
	if status, err := get(client, url); status != 200 {
		t.Errorf("the socket: %d, %v", status, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
	if _, _, err := b.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a socket in use: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := (&Binding{Addresses: []string{"unix:" + file}}).Listen(t.Context()); err == nil {
		t.Error("a file was taken for a socket")
	}
	if data, err := os.ReadFile(file); err != nil || string(data) != "mine" {
		t.Errorf("the file is gone: %q, %v", data, err)
	}
}

// certificate writes a certificate of an authority for a name, and its key.
func certificate(t *testing.T, dir, name string, serial int64, ca *tls.Certificate) (pair tls.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: ca == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	parent, signer := c, any(key)
	if ca != nil {
		parent, signer = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		"cert.pem": {Type: "CERTIFICATE", Bytes: der}, "key.pem": {Type: "PRIVATE KEY", Bytes: private},
	} {
		if err := os.WriteFile(filepath.Join(dir, file), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pair, err = tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")); err != nil {
		t.Fatal(err)
	}
	return pair
}

// secure is a client that trusts an authority and shows a certificate, if it has one.
func secure(ca tls.Certificate, own ...tls.Certificate) *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(ca.Leaf)
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true,
		TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "memory.example.com", Certificates: own}}}
}

// TestTLS: HTTP/2 and HTTP/1.1 over TLS, and nothing in the clear; a certificate that
// changes is taken up without the end of a connection, and a bad one is not.
func TestTLS(t *testing.T) {
	dir, authority := t.TempDir(), t.TempDir()
	ca := certificate(t, authority, "authority", 1, nil)
	certificate(t, dir, "memory.example.com", 2, &ca)
	b := &Binding{Addresses: []string{"127.0.0.1:0"}, TLS: TLSFiles,
		Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	url := serve(t, b)[0]
	old := secure(ca)
	defer old.CloseIdleConnections()
	look := func(c *http.Client) (serial int64, proto string) {
		t.Helper()
		r, err := c.Get(url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		_, _ = io.Copy(io.Discard, r.Body)
		return r.TLS.PeerCertificates[0].SerialNumber.Int64(), r.Proto
	}
	if serial, proto := look(old); !strings.HasPrefix(url, "https://") || serial != 2 || proto != "HTTP/2.0" {
		t.Errorf("%s: certificate %d over %s", url, serial, proto)
	}
	if status, _ := get(http.DefaultClient, strings.Replace(url, "https:", "http:", 1)); status == 200 {
		t.Error("it answers in the clear")
	}
	stranger := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: x509.NewCertPool()}}}
	if _, err := get(stranger, url); err == nil {
		t.Error("a client that trusts nobody trusts it")
	}
	if err := os.WriteFile(b.Certificate, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	fresh := func(want int64) int64 { // until a look at the files is due again
		var serial int64
		for end := time.Now().Add(20 * time.Second); serial != want && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
			c := secure(ca)
			serial, _ = look(c)
			c.CloseIdleConnections()
		}
		return serial
	}
	time.Sleep(lookEvery)
	if serial := fresh(2); serial != 2 {
		t.Errorf("with a broken file: certificate %d", serial)
	}
	certificate(t, dir, "memory.example.com", 30, &ca)
	if serial := fresh(30); serial != 30 {
		t.Errorf("after a change: certificate %d", serial)
	}
	if serial, _ := look(old); serial != 2 {
		t.Errorf("the connection from before has certificate %d: it was dropped", serial)
	}
}

// TestStreamsOfAConnectionAreBounded: each takes some 30 KiB while its reader takes nothing of the answer. Whoever has
// more to ask opens another connection.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	dir := t.TempDir()
	ca := certificate(t, dir, "memory.example.com", 1, nil)
	release, asked := make(chan struct{}), make(chan string, maxStreams+1)
	blocks := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- r.RemoteAddr
		<-release
	})
	s, _ := newServer(t, Options{Hosts: []string{"memory.example.com"}, MCP: blocks})
	l, urls, err := (&Binding{Addresses: []string{"127.0.0.1:0"}, TLS: TLSFiles,
		Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}).Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	client := secure(ca)
	var all sync.WaitGroup
	from := map[string]int{}
	for range maxStreams + 1 { // one after the other: a second connection is opened for the last alone
		all.Go(func() {
			if r, err := client.Get(urls[0] + "/mcp"); err != nil {
				t.Error(err)
			} else {
				_ = r.Body.Close()
			}
		})
		from[wait(t, asked)]++
	}
	close(release)
	all.Wait()
	if len(from) != 2 {
		t.Errorf("%d connections: %v", len(from), from)
	}
	client.CloseIdleConnections()
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// TestClientCertificates: with authorities of clients nobody comes in without a
// certificate of one of them.
func TestClientCertificates(t *testing.T) {
	dir, authority, clients, others := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	ca := certificate(t, authority, "authority", 1, nil)
	certificate(t, dir, "memory.example.com", 2, &ca)
	clientCA := certificate(t, clients, "clients", 3, nil)
	url := serve(t, &Binding{Addresses: []string{"127.0.0.1:0"}, TLS: TLSFiles, ClientCA: filepath.Join(clients, "cert.pem"),
		Certificate: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")})[0]
	own := t.TempDir()
	if status, err := get(secure(ca, certificate(t, own, "client", 4, &clientCA)), url); status != 200 {
		t.Errorf("a client with a certificate: %d, %v", status, err)
	}
	if status, _ := get(secure(ca), url); status != 0 {
		t.Errorf("a client without one: %d", status)
	}
	otherCA := certificate(t, others, "others", 5, nil)
	if status, _ := get(secure(ca, certificate(t, own, "client", 6, &otherCA)), url); status != 0 {
		t.Errorf("a client with one of another authority: %d", status)
	}
}

// TestProxies: from elsewhere than the proxies nobody gets an answer.
func TestProxies(t *testing.T) {
	f := &fenced{logger: slog.New(slog.DiscardHandler)}
	var err error
	if f.networks, err = (&Binding{Proxies: []string{"10.0.0.7", "10.1.0.0/16", "fd00::1"}}).proxies(); err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]bool{
		"10.0.0.7": true, "10.1.2.3": true, "fd00::1": true, "::ffff:10.0.0.7": true, "127.0.0.1": true, "::1": true,
		"10.0.0.8": false, "10.2.0.1": false, "fd00::2": false, "192.168.1.1": false, "::ffff:10.0.0.8": false, "8.8.8.8": false,
	} {
		if got := f.admits(&net.TCPAddr{IP: net.ParseIP(address), Port: 1}); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
	if f.admits(&net.UnixAddr{}) {
		t.Error("a socket without an IP address is admitted")
	}
}

// TestCertificatesAreChecked before the server starts.
func TestCertificatesAreChecked(t *testing.T) {
	dir := t.TempDir()
	certificate(t, dir, "memory.example.com", 1, nil)
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	long, others := filepath.Join(dir, "long.pem"), filepath.Join(dir, "others.pem")
	err := errors.Join(os.WriteFile(long, make([]byte, maxCertificate+1), 0o600), os.Mkdir(others, 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for want, b := range map[string]Binding{
		"no such file":      {Certificate: dir + "/none", Key: key},
		"is not a file":     {Certificate: dir, Key: key}, // nor is what never ends, or makes whoever opens it wait
		"the limit is":      {Certificate: long, Key: key},
		"pem is not a file": {Certificate: cert, Key: key, ClientCA: others},
	} {
		b.Addresses, b.TLS = []string{"127.0.0.1:0"}, TLSFiles
		_, _, err := b.Listen(t.Context())
		wantRefusal(t, err, loci.Invalid, want)
	}
}

// TestSameAddress: one is the other's if they have a port and a host in common, as far as a
// look at them says.
func TestSameAddress(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"127.0.0.1:7", "127.0.0.1:7", true}, {"127.0.0.1:7", "127.0.0.1:8", false}, {"127.0.0.1:0", "127.0.0.1:0", false},
		{":7", "127.0.0.1:7", true}, {"[::]:7", "[::1]:7", true}, {"0.0.0.0:7", "10.0.0.1:7", true}, {"0.0.0.0:7", "[::1]:7", false},
		{"localhost:7", "127.0.0.1:7", true}, {"127.0.0.1:7", "[::1]:7", false}, {":0", "127.0.0.1:0", false},
		{"unix:/a", "unix:/a", true}, {"unix:/a", "unix:/b", false}, {"unix:/a", "127.0.0.1:7", false}, {"systemd", "unix:/a", false},
	} {
		if SameAddress(c.a, c.b) != c.same || SameAddress(c.b, c.a) != c.same {
			t.Errorf("%s, %s: %t", c.a, c.b, !c.same)
		}
	}
}
