package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
)

// Forms of an address beside a host and a port.
const (
	unixPrefix    = "unix:"   // a socket of this machine, by its path
	systemdSocket = "systemd" // every socket that systemd hands over
)

// Where TLS ends.
const (
	TLSOff   = "off"   // nowhere: for this machine alone
	TLSFiles = "files" // here, with a certificate from files
	TLSProxy = "proxy" // at a proxy, which is the only one that may connect from elsewhere
)

// A Binding is where a server listens, and what makes that safe.
type Binding struct {
	Addresses []string // host:port, unix:/path or systemd
	Asks      bool     // every request needs a credential
	TLS       string   // TLSOff, TLSFiles or TLSProxy; "": TLSOff

	Certificate, Key string   // paths, for TLSFiles
	ClientCA         string   // path; then clients need a certificate of one of its authorities
	Proxies          []string // addresses and networks, for TLSProxy

	Sockets func() ([]*os.File, error) // that systemd hands over; nil: none
	Logger  *slog.Logger               // default slog.Default()
}

// SameAddress reports whether nobody can listen at both: they are one socket, or one port of the
// same host, or of every host.
func SameAddress(a, b string) bool {
	if a == b {
		return !strings.HasSuffix(a, ":0") // another port each time
	}
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	takes := func(host, other string) bool {
		switch host {
		case "", "::":
			return true
		case "0.0.0.0":
			return !strings.Contains(other, ":")
		case "localhost":
			return other == "127.0.0.1"
		}
		return host == other
	}
	return takes(hostA, hostB) || takes(hostB, hostA)
}

// CheckAddress refuses what is no address.
func CheckAddress(address string) error {
	if path, ok := strings.CutPrefix(address, unixPrefix); ok {
		if !strings.HasPrefix(path, "/") {
			return loci.Errorf(loci.Invalid, "the address %q must name a socket by its whole path, such as unix:/run/loci.sock", address)
		}
		if limit := len(syscall.RawSockaddrUnix{}.Path) - 1; len(path) > limit {
			return loci.Errorf(loci.Invalid, "the path of the socket has %d bytes; the limit is %d: choose a shorter one", len(path), limit)
		}
		return nil
	}
	if address == systemdSocket {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return loci.Errorf(loci.Invalid,
			"the address %q must be a host and a port, such as 127.0.0.1:7437, or unix:/path, or systemd", address)
	}
	if n, err := strconv.Atoi(port); (err == nil || errors.Is(err, strconv.ErrRange)) && (n < 0 || n > 65535) {
		return loci.Errorf(loci.Invalid, "the port of the address %q must be 0 to 65535; 0 takes one that is free", address)
	}
	return nil
}

// Check refuses a binding that could let strangers in, and says what it lacks, as [SettingError].
func (b *Binding) Check() error {
	if err := b.checkTLS(); err != nil {
		return err
	}
	if len(b.Addresses) == 0 {
		return wrongSetting(keyListen, "there is no address to listen on")
	}
	for i, address := range b.Addresses {
		if err := CheckAddress(address); err != nil {
			return &SettingError{keyListen, err}
		}
		// Port 0 is another port each time.
		if slices.Contains(b.Addresses[:i], address) && !strings.HasSuffix(address, ":0") {
			return wrongSetting(keyListen, "the address %s comes twice: name it once", address)
		}
		host, _, err := net.SplitHostPort(address)
		if err == nil && !strings.HasPrefix(address, unixPrefix) && !isLoopback(host) {
			if err := b.mayReach(address); err != nil {
				return &SettingError{keyListen, err}
			}
		}
	}
	return nil
}

// checkTLS refuses files and proxies that nobody asks for, and others that are missing.
func (b *Binding) checkTLS() error {
	if b.TLS == TLSFiles && (b.Certificate == "" || b.Key == "") {
		return wrongSetting(keyTLS, "http.tls: files needs both http.tls_cert and http.tls_key")
	}
	for _, file := range []struct{ key, path string }{
		{keyCertificate, b.Certificate}, {keyKey, b.Key}, {keyClientCA, b.ClientCA},
	} {
		if b.TLS != TLSFiles && file.path != "" {
			return wrongSetting(file.key, "%s needs http.tls: files", file.key)
		}
	}
	if b.TLS == TLSProxy && len(b.Proxies) == 0 {
		return wrongSetting(keyTLS, "http.tls: proxy needs http.proxies, the addresses of those who may connect")
	}
	if b.TLS != TLSProxy && len(b.Proxies) > 0 {
		return wrongSetting(keyProxies, "http.proxies needs http.tls: proxy")
	}
	if _, err := b.proxies(); err != nil {
		return &SettingError{keyProxies, err}
	}
	return nil
}

// mayReach refuses an address that others can reach, unless callers are asked who they are
// and nobody between them and us can listen.
func (b *Binding) mayReach(address string) error {
	refuse := func(lack, remedy string) error {
		return &loci.Error{Code: loci.Forbidden,
			Msg:      address + " can be reached from other machines, and " + lack,
			Recovery: "Listen on 127.0.0.1 or [::1], or " + remedy}
	}
	switch {
	case !b.Asks:
		return refuse("there is no authentication", "set auth.mode to keys, and http.tls.")
	case b.TLS != TLSFiles && b.TLS != TLSProxy:
		return refuse("keys would cross the network in the clear",
			"set http.tls to files, with http.tls_cert and http.tls_key, or to proxy, with http.proxies.")
	}
	return nil
}

// proxies are the networks that may connect.
func (b *Binding) proxies() (networks []netip.Prefix, err error) {
	for _, text := range b.Proxies {
		network, err := CheckProxy(text)
		if err != nil {
			return nil, err
		}
		networks = append(networks, network)
	}
	return networks, nil
}

// CheckProxy reads the address of a proxy, or a network of them.
func CheckProxy(text string) (netip.Prefix, error) {
	if network, err := netip.ParsePrefix(text); err == nil {
		if network.Bits() == 0 {
			return network, loci.Errorf(loci.Invalid, "%q is everybody: name the addresses of the proxies", text)
		}
		return network.Masked(), nil
	}
	address, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Prefix{}, loci.Errorf(loci.Invalid, "%q must be an address such as 10.0.0.7, or a network such as 10.0.0.0/24", text)
	}
	return netip.PrefixFrom(address, address.BitLen()), nil
}

// Client returns a client for requests of this machine to the server, and where that is.
func (b *Binding) Client() (client *http.Client, url string, err error) {
	transport := &http.Transport{}
	for _, address := range b.Addresses {
		if path, ok := strings.CutPrefix(address, unixPrefix); ok {
			transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, "unix", path)
			}
			return &http.Client{Transport: transport}, "http://localhost", nil
		}
	}
	for _, address := range b.Addresses {
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			continue
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
			host = "localhost"
		}
		if b.TLS != TLSFiles {
			return &http.Client{Transport: transport}, "http://" + net.JoinHostPort(host, port), nil
		}
		// The server's own certificate, and no other, whatever name it is for.
		transport.TLSClientConfig, err = trustOnly(b.Certificate)
		return &http.Client{Transport: transport}, "https://" + net.JoinHostPort(host, port), err
	}
	return nil, "", &loci.Error{Code: loci.Invalid, Msg: "no address of the server is known: it gets its sockets from systemd",
		Recovery: "Name one with --listen."}
}

// Listen opens every address, or none. urls are where the server is, in the same order.
func (b *Binding) Listen(ctx context.Context) (l net.Listener, urls []string, err error) {
	if err := b.Check(); err != nil {
		return nil, nil, err
	}
	logger := b.Logger
	if logger == nil {
		logger = slog.Default()
	}
	var secure *tls.Config
	if b.TLS == TLSFiles {
		if secure, err = newCertificates(b.Certificate, b.Key, b.ClientCA, time.Now(), logger); err != nil {
			return nil, nil, err
		}
	}
	all := &joined{accepted: make(chan accepted), closed: make(chan struct{})}
	defer func() {
		if err != nil {
			_ = all.Close() // never used
		}
	}()
	for _, address := range b.Addresses {
		opened, err := b.open(ctx, address)
		all.listeners = append(all.listeners, opened...) // closed with the others, whatever comes
		if err != nil {
			return nil, nil, err
		}
	}
	for i, one := range all.listeners {
		url := unixPrefix + one.Addr().String()
		if tcp, ok := one.Addr().(*net.TCPAddr); ok {
			url = "http://" + tcp.String()
			// A name may lead anywhere: what counts is where the socket is.
			if !tcp.IP.IsLoopback() {
				if err := b.mayReach(tcp.String()); err != nil {
					return nil, nil, err
				}
				if b.TLS == TLSProxy {
					networks, _ := b.proxies() // as checked
					all.listeners[i] = &fenced{one, networks, logger}
				}
			}
			if secure != nil {
				url = "https://" + tcp.String()
				all.listeners[i] = tls.NewListener(all.listeners[i], secure)
			}
		}
		urls = append(urls, url)
	}
	all.start()
	return all, urls, nil
}

// Listen listens on one address of this machine alone.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	l, _, err := (&Binding{Addresses: []string{address}}).Listen(ctx)
	return l, err
}

// open opens the sockets of an address.
func (b *Binding) open(ctx context.Context, address string) ([]net.Listener, error) {
	if address == systemdSocket {
		return b.handedOver()
	}
	network := "tcp"
	target, isUnix := strings.CutPrefix(address, unixPrefix)
	if isUnix {
		network = "unix"
		if err := removeStale(ctx, target); err != nil {
			return nil, err
		}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, network, target)
	if err == nil && isUnix { // for whoever may do what the server may
		if err = os.Chmod(target, 0o600); err != nil {
			_ = l.Close()
		}
	}
	if err != nil {
		return nil, &loci.Error{Code: loci.Unavailable, Msg: "cannot listen on " + address + ": " + cause(err), Err: err,
			Recovery: listenable(err)}
	}
	return []net.Listener{l}, nil
}

// listenable says what helps where an address cannot be listened on.
func listenable(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "Make the directory of the socket, or choose another path."
	case errors.Is(err, fs.ErrPermission):
		return "Choose a port from 1024, or a directory that the user of the server may write to."
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "Choose an address of this machine."
	}
	return "End the program that uses the address, or choose another one."
}

// handedOver opens what systemd hands over.
func (b *Binding) handedOver() (all []net.Listener, err error) {
	var files []*os.File
	if b.Sockets != nil {
		if files, err = b.Sockets(); err != nil {
			return nil, err
		}
	}
	if len(files) == 0 {
		return nil, &loci.Error{Code: loci.Invalid, Msg: "systemd has handed over no socket",
			Recovery: "Start the server by a socket unit, or listen on an address."}
	}
	for _, f := range files {
		l, err := net.FileListener(f) // has a file of its own
		_ = f.Close()
		if err != nil {
			return all, loci.Errorf(loci.Invalid, "what systemd hands over is not a socket that listens: %w", err)
		}
		all = append(all, l)
	}
	return all, nil
}

// removeStale removes a socket that nobody listens on: a process that was killed leaves it.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode().Type() != fs.ModeSocket {
		return loci.Errorf(loci.Invalid, "%s exists and is not a socket: choose another path", path)
	}
	if err == nil {
		var c net.Conn
		if c, err = (&net.Dialer{}).DialContext(ctx, "unix", path); err == nil {
			_ = c.Close()
			return nil // it is in use, as listening will say
		}
		err = os.Remove(path)
	}
	if err != nil {
		return &loci.Error{Code: loci.Unavailable, Msg: fmt.Sprintf("the socket %s cannot be used: %s", path, cause(err)), Err: err}
	}
	return nil
}

// A fenced listener lets only some networks connect.
type fenced struct {
	net.Listener
	networks []netip.Prefix
	logger   *slog.Logger
}

// Accept returns the next connection of one who may.
func (f *fenced) Accept() (net.Conn, error) {
	for {
		c, err := f.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if f.admits(c.RemoteAddr()) {
			return c, nil
		}
		f.logger.Debug("a connection from elsewhere than the proxies was closed", "from", c.RemoteAddr().String())
		_ = c.Close() // nobody is to be told
	}
}

func (f *fenced) admits(from net.Addr) bool {
	tcp, ok := from.(*net.TCPAddr)
	if !ok {
		return false
	}
	address := tcp.AddrPort().Addr().Unmap()
	if address.IsLoopback() { // this machine, such as its health checks
		return true
	}
	for _, network := range f.networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// A joined listener is several as one.
type joined struct {
	listeners []net.Listener
	accepted  chan accepted
	closed    chan struct{}
	close     sync.Once
	err       error
	done      sync.WaitGroup
}

type accepted struct {
	conn net.Conn
	err  error
}

func (j *joined) start() {
	for _, l := range j.listeners {
		j.done.Go(func() {
			for {
				c, err := l.Accept()
				select {
				case j.accepted <- accepted{c, err}:
				case <-j.closed:
					if err == nil {
						_ = c.Close()
					}
					return
				}
				var passing net.Error
				//nolint:staticcheck // package http asks the same: of too many open files it waits
				if err != nil && !(errors.As(err, &passing) && passing.Temporary()) {
					return
				}
			}
		})
	}
}

// Accept returns the next connection of any of them.
func (j *joined) Accept() (net.Conn, error) {
	select {
	case a := <-j.accepted:
		return a.conn, a.err
	case <-j.closed:
		return nil, net.ErrClosed
	}
}

// Close closes all of them.
func (j *joined) Close() error {
	j.close.Do(func() {
		close(j.closed)
		var failed []error
		for _, l := range j.listeners {
			failed = append(failed, l.Close())
		}
		j.err = errors.Join(failed...)
		j.done.Wait()
	})
	return j.err
}

// Addr is that of the first.
func (j *joined) Addr() net.Addr { return j.listeners[0].Addr() }
