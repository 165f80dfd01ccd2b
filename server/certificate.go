package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/plainfile"
)

// lookEvery is how often the files of a certificate are looked at.
const lookEvery = time.Second

// certificates are a certificate from files, read again when they change. Connections that
// are open keep what they began with.
type certificates struct {
	paths  []string // of the certificate, its key and, unless it is "", the authorities of clients
	logger *slog.Logger

	mu     sync.Mutex
	config *tls.Config
	seen   []fileState
	looked time.Time
}

// fileState is how a file looks from outside.
type fileState struct {
	size    int64
	changed time.Time
}

// newCertificates reads the files for the first time.
func newCertificates(certificate, key, clientCA string, logger *slog.Logger) (*tls.Config, error) {
	c := &certificates{paths: []string{certificate, key, clientCA}, logger: logger}
	c.seen = c.look()
	var err error
	if c.config, err = c.load(); err != nil {
		return nil, &loci.Error{Code: loci.Invalid, Msg: "the files of http.tls cannot be used: " + err.Error(), Err: err,
			Recovery: "Name a certificate with all that leads to its authority, and its key, both in PEM and without a password."}
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: c.config.NextProtos,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(time.Now()), nil },
	}, nil
}

// current returns the newest configuration that could be read.
func (c *certificates) current(now time.Time) *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if since := now.Sub(c.looked); since >= 0 && since < lookEvery {
		return c.config
	}
	c.looked = now
	state := c.look()
	same := len(state) == len(c.seen)
	for i := range state {
		same = same && state[i].size == c.seen[i].size && state[i].changed.Equal(c.seen[i].changed)
	}
	if same {
		return c.config
	}
	c.seen = state
	config, err := c.load()
	if err != nil { // half of a change, or a mistake: the old one is still good
		c.logger.Error("a changed certificate cannot be used; the one before stays", "error", err)
		return c.config
	}
	c.logger.Info("the certificate has changed")
	c.config = config
	return config
}

func (c *certificates) look() []fileState {
	state := make([]fileState, len(c.paths))
	for i, path := range c.paths {
		if info, err := os.Stat(path); err == nil {
			state[i] = fileState{info.Size(), info.ModTime()}
		}
	}
	return state
}

// maxCertificate bounds each file, in bytes: all authorities that systems trust take a quarter of it.
// They are read while connections wait for them.
const maxCertificate = 1 << 20

func (c *certificates) load() (*tls.Config, error) {
	certificate, err := plainfile.Read(c.paths[0], maxCertificate)
	if err != nil {
		return nil, err
	}
	key, err := plainfile.Read(c.paths[1], maxCertificate)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair},
	}
	if c.paths[2] == "" {
		return config, nil
	}
	authorities, err := plainfile.Read(c.paths[2], maxCertificate)
	if err != nil {
		return nil, err
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, errors.New("http.tls_client_ca holds no certificate")
	}
	return config, nil
}

// trustOnly trusts the certificate of a file, and nothing else.
func trustOnly(path string) (*tls.Config, error) {
	refused := func(why string) error {
		return loci.Errorf(loci.Invalid, "the certificate %s cannot be used: %s", path, why)
	}
	data, err := plainfile.Read(path, maxCertificate)
	if err != nil {
		return nil, refused(cause(err))
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, refused("it is not PEM")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, refused("it is damaged")
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}
	config.RootCAs.AddCert(leaf)
	switch {
	case len(leaf.DNSNames) > 0:
		config.ServerName = strings.Replace(leaf.DNSNames[0], "*", "any", 1)
	case len(leaf.IPAddresses) > 0:
		config.ServerName = leaf.IPAddresses[0].String()
	}
	return config, nil
}
