package server

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
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
	failed string // why the files could not be used at the last look; "": they could
	timely string // what was said of the time of config; "": it is valid
}

// fileState is how a file looks from outside.
type fileState struct {
	size    int64
	changed time.Time
}

// certificateFiles are the settings that name the files, in the order of paths.
var certificateFiles = []string{keyCertificate, keyKey, keyClientCA}

// newCertificates reads the files for the first time.
func newCertificates(certificate, key, clientCA string, now time.Time, logger *slog.Logger) (*tls.Config, error) {
	c := &certificates{paths: []string{certificate, key, clientCA}, logger: logger, looked: now}
	c.seen = c.look()
	var err error
	if c.config, err = c.load(); err != nil {
		return nil, err
	}
	c.tellTime(now)
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
	c.follow()
	c.tellTime(now)
	return c.config
}

// follow takes over files that have changed. Those that could not be used are read again at each
// look: a right to read them changes nothing that a look shows.
func (c *certificates) follow() {
	state := c.look()
	if slices.Equal(state, c.seen) && c.failed == "" {
		return
	}
	c.seen = state
	config, err := c.load()
	if err != nil { // half of a change, or a mistake: the old one is still good
		if c.failed != err.Error() {
			c.logger.Error("a changed certificate cannot be used; the one before stays", "error", err,
				"remedy", loci.AsError(err).Advice())
		}
		c.failed = err.Error()
		return
	}
	c.logger.Info("the certificate has changed", "file", c.paths[0])
	c.config, c.failed = config, ""
}

// tellTime logs when the certificate in use is out of its time. It stays in use: some clients do not mind.
func (c *certificates) tellTime(now time.Time) {
	if c.config == nil {
		return
	}
	wrong := outOfTime(c.paths[0], c.config, now)
	if wrong != "" && wrong != c.timely {
		c.logger.Warn(wrong, "remedy", "Put a new one there; the server takes it over by itself.")
	}
	c.timely = wrong
}

// outOfTime says that a certificate is not valid at a time; "": it is.
func outOfTime(path string, config *tls.Config, now time.Time) string {
	leaf := config.Certificates[0].Leaf
	switch {
	case now.Before(leaf.NotBefore):
		return fmt.Sprintf("the certificate in %s is not valid yet: it begins at %s", path, leaf.NotBefore.UTC().Format(time.RFC3339))
	case now.After(leaf.NotAfter):
		return fmt.Sprintf("the certificate in %s has expired at %s", path, leaf.NotAfter.UTC().Format(time.RFC3339))
	}
	return ""
}

// CheckCertificate reads the files of a binding with [TLSFiles]. warning says that the certificate is
// not valid at a time, which stops no server.
func CheckCertificate(b *Binding, now time.Time) (warning string, err error) {
	if b.TLS != TLSFiles {
		return "", nil
	}
	c := &certificates{paths: []string{b.Certificate, b.Key, b.ClientCA}}
	config, err := c.load()
	if err != nil {
		return "", err
	}
	return outOfTime(b.Certificate, config, now), nil
}

func (c *certificates) look() []fileState {
	state := make([]fileState, len(c.paths))
	for i, path := range c.paths {
		if info, err := os.Stat(path); err == nil {
			state[i] = fileState{info.Size(), info.ModTime().UTC().Round(0)}
		}
	}
	return state
}

// maxCertificate bounds each file, in bytes: all authorities that systems trust take a quarter of it.
// They are read while connections wait for them.
const maxCertificate = 1 << 20

func (c *certificates) load() (*tls.Config, error) {
	read := make([][]byte, len(c.paths))
	for i, path := range c.paths {
		if path == "" && i == len(c.paths)-1 {
			break
		}
		data, err := plainfile.Read(path, maxCertificate)
		if err != nil {
			return nil, unreadable(certificateFiles[i], path, err)
		}
		read[i] = data
	}
	pair, err := c.pair(read[0], read[1])
	if err != nil {
		return nil, err
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, Certificates: []tls.Certificate{pair},
	}
	if read[2] == nil {
		return config, nil
	}
	config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
	if !config.ClientCAs.AppendCertsFromPEM(read[2]) {
		return nil, unusable(keyClientCA, "the file "+c.paths[2]+" holds no certificate in PEM",
			"Name a file with the certificates of the authorities, in PEM.")
	}
	return config, nil
}

// pair makes a certificate of what was read of it and of its key.
func (c *certificates) pair(certificate, key []byte) (pair tls.Certificate, err error) {
	const again = "Get it again from whoever made it."
	certificates, keys := blocks(certificate), blocks(key)
	chain := slices.DeleteFunc(slices.Clone(certificates), func(b *pem.Block) bool { return b.Type != "CERTIFICATE" })
	secrets := slices.DeleteFunc(keys, func(b *pem.Block) bool { return !strings.HasSuffix(b.Type, "PRIVATE KEY") })
	switch {
	case len(chain) == 0 && len(certificates) > 0 && strings.HasSuffix(certificates[0].Type, "PRIVATE KEY"):
		return pair, unusable(keyCertificate, "the file "+c.paths[0]+" holds no certificate in PEM, but a private key",
			"Perhaps exchange http.tls_cert and http.tls_key.")
	case len(chain) == 0:
		return pair, unusable(keyCertificate, "the file "+c.paths[0]+" holds no certificate in PEM",
			"Name a file with the certificate and all that lead to its authority, in PEM: \"openssl x509 -inform der\" makes it of another form.")
	case len(secrets) == 0:
		return pair, unusable(keyKey, "the file "+c.paths[1]+" holds no private key in PEM",
			"Name the file with the private key of the certificate, in PEM.")
	case secrets[0].Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(secrets[0].Headers["Proc-Type"], "ENCRYPTED"):
		return pair, unusable(keyKey, "the key in "+c.paths[1]+" has a password",
			"Write it without one, readable by the user of the server alone: \"openssl pkey -in OLD -out NEW\".")
	}
	for _, block := range chain {
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return pair, unusable(keyCertificate, "the file "+c.paths[0]+" holds a certificate that is damaged", again)
		}
	}
	pair, err = tls.X509KeyPair(certificate, key)
	switch {
	case err == nil:
		return pair, nil
	case strings.Contains(err.Error(), "does not match"): // as the package says it of keys and of their kinds
		return pair, unusable(keyKey, "the key in "+c.paths[1]+" is not that of the certificate in "+c.paths[0],
			"Name both files of the same certificate, which comes first in its file, before those of authorities.")
	}
	return pair, unusable(keyKey, "the key in "+c.paths[1]+" cannot be used: it is damaged, or of a kind that TLS does not know", again)
}

// blocks takes a file in PEM apart.
func blocks(data []byte) (all []*pem.Block) {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return all
		}
		all = append(all, block)
	}
}

// unreadable says why a file that a setting names cannot be read.
func unreadable(key, path string, err error) error {
	why, remedy := "the file "+path+" cannot be read: "+cause(err), "Name a file in PEM that is there."
	unfit := (*plainfile.UnfitError)(nil)
	switch {
	case errors.Is(err, fs.ErrPermission):
		remedy = "Give the user of the server the right to read it, and the directories above it."
	case errors.As(err, &unfit):
		why = unfit.Error()
	}
	return &SettingError{key, &loci.Error{Code: loci.Invalid, Msg: key + ": " + why, Recovery: remedy, Err: err}}
}

// unusable says what is wrong with what a setting names.
func unusable(key, why, remedy string) error {
	return &SettingError{key, &loci.Error{Code: loci.Invalid, Msg: key + ": " + why, Recovery: remedy}}
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
