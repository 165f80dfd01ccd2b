// Package remote asks services over HTTP: one address, a key that stays secret,
// bounded answers, and refusals in words that say what to correct.
package remote

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
)

// A Key says where the key of a service is. It is read for each request, so that it can
// be changed without a restart. No message contains it.
type Key struct {
	Source string                 // such as "$OPENAI_API_KEY", for messages; empty: there is none
	Read   func() (string, error) // nil, or an answer of "": there is none
}

// A Client sends requests to one address.
type Client struct {
	Setting string // the name of the setting of its base, for messages
	Key     Key

	http *http.Client
	url  *url.URL // of the one path that is called
}

// Check refuses what is not the address of a service, for whoever reads a setting.
func Check(base string) error {
	_, err := parse(base)
	return err
}

// parse does not show the text in what it says: it may hold a password.
func parse(base string) (*url.URL, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, errors.New("must begin with http:// or https:// and a host")
	case u.User != nil:
		return nil, errors.New("must not hold a user or a password: a key comes from the environment or a file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("must end with its path, without ? and #")
	}
	return u, nil
}

// New makes a client of base + path that keeps up to idle connections. Invalid:
// base is not the address of a service. Redirects are not followed: a key must not
// travel to where nobody sent it.
func New(base, path, setting string, key Key, idle int) (*Client, error) {
	u, err := parse(base)
	if err != nil {
		return nil, loci.Errorf(loci.Invalid, "%s %w", setting, err)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: refuseLinkLocal}
	transport.DialContext = dialer.DialContext
	transport.MaxIdleConnsPerHost = idle
	return &Client{url: u.JoinPath(path), Setting: setting, Key: key, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// errLinkLocal keeps requests away from where clouds serve their machines'
// credentials, also when a name resolves to it.
var errLinkLocal = errors.New("the host has a link-local address, which is not called")

func refuseLinkLocal(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if ip := a.Addr().Unmap(); ip.IsLinkLocalUnicast() || ip.IsMulticast() {
		return errLinkLocal
	}
	return nil
}

// Host is where the client sends to.
func (c *Client) Host() string { return c.url.Host }

// maxFailure is how much is read of an answer that is not a success.
const maxFailure = 64 << 10

// Errors of [Client.Post] beside those of the network.
var (
	ErrKey     = errors.New("the key cannot be used")      // comes with an *loci.Error
	ErrTooLong = errors.New("the answer is too long")      // longer than the limit
	ErrCut     = errors.New("the answer ended too early")  // or its time did
	ErrUnsent  = errors.New("the request was never heard") // nobody accepted the connection
)

// Post sends one request and returns the body of a successful answer, at most limit
// bytes, or the failure the service reports. authorize puts the key into the header. A
// request of ours that waits for it gives its slot to others.
func (c *Client) Post(
	ctx context.Context, body []byte, limit int64, authorize func(h http.Header, key string),
) ([]byte, *Failure, error) {
	back := admission.Aside(ctx)
	answer, failure, err := c.post(ctx, body, limit, authorize)
	_ = back(ctx) // who has no time left for a slot ends without one
	return answer, failure, err
}

func (c *Client) post(
	ctx context.Context, body []byte, limit int64, authorize func(h http.Header, key string),
) ([]byte, *Failure, error) {
	key, err := c.readKey()
	if err != nil {
		return nil, nil, errors.Join(ErrKey, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, errors.Join(ErrUnsent, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "loci")
	authorize(req.Header, key)
	res, err := c.http.Do(req)
	if err != nil {
		var network *net.OpError
		if errors.As(err, &network) && network.Op == "dial" {
			err = errors.Join(ErrUnsent, err)
		}
		return nil, nil, err
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or given up
	if res.StatusCode != http.StatusOK {
		said, err := io.ReadAll(io.LimitReader(res.Body, maxFailure))
		if err != nil {
			said = nil // the status says enough
		}
		return nil, newFailure(res, said, key, time.Now()), nil
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	switch {
	case err != nil:
		return nil, nil, errors.Join(ErrCut, err)
	case int64(len(answer)) > limit:
		return nil, nil, ErrTooLong
	}
	return answer, nil, nil
}

// Bearer is how most services want their key.
func Bearer(h http.Header, key string) {
	if key != "" {
		h.Set("Authorization", "Bearer "+key)
	}
}

// readKey reads the key again. What is in it is never part of an error.
func (c *Client) readKey() (string, error) {
	if c.Key.Read == nil {
		return "", nil
	}
	key, err := c.Key.Read()
	if err != nil {
		return "", &loci.Error{Code: loci.Invalid, Msg: "the key in " + c.Key.Source + " cannot be read", Err: err}
	}
	key = strings.TrimSpace(key)
	for i := range len(key) {
		if key[i] <= ' ' || key[i] >= 0x7f {
			return "", loci.Errorf(loci.Invalid, "the key in %s has a space or a character that no key has", c.Key.Source)
		}
	}
	return key, nil
}

// Explain turns an error of the network into one of ours; who is "the model at the host",
// for messages.
func (c *Client) Explain(err error, who string) *loci.Error {
	var e *loci.Error
	msg := "does not answer"
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		msg = "did not answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		msg = "is not running: the connection was refused"
	case errors.Is(err, errLinkLocal):
		return &loci.Error{Code: loci.Invalid, Msg: c.Setting + ": " + errLinkLocal.Error(), Err: err}
	}
	return &loci.Error{Code: loci.Unavailable, Msg: who + " " + msg, Err: err}
}
