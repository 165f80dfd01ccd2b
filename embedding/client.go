package embedding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/loci-memory/loci"

	"github.com/cenkalti/backoff/v5"
)

// A client sends requests to one address.
type client struct {
	http    *http.Client
	url     *url.URL // of the one path that is called
	setting string   // the name of the setting of its base, for messages
	key     Key
}

// newClient makes a client of base + path. Redirects are not followed: a key must
// not travel to where nobody sent it.
func newClient(base, path, setting string, key Key) (*client, error) {
	u, err := url.Parse(base)
	switch {
	case err != nil:
		return nil, loci.Errorf(loci.Invalid, "%s is not a URL", setting) // not shown: it may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, loci.Errorf(loci.Invalid, "%s must begin with http:// or https:// and a host", setting)
	case u.User != nil:
		return nil, loci.Errorf(loci.Invalid, "%s must not hold a user or a password: a key comes from the environment or a file", setting)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, loci.Errorf(loci.Invalid, "%s must end with its path, without ? and #", setting)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second, Control: refuseLinkLocal}
	transport.DialContext = dialer.DialContext
	transport.MaxIdleConnsPerHost = maxParallel
	return &client{url: u.JoinPath(path), setting: setting, key: key, http: &http.Client{
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

func (c *client) host() string { return c.url.Host }

// A failure is an answer that is no success.
type failure struct {
	status int
	body   []byte
	code   string // the service's word for it, if it is one
	parsed bool   // the body is JSON, so it is from the service itself
}

// maxFailure is how much of an answer that is no success is read.
const maxFailure = 64 << 10

// send makes one request. What comes back with a status of success is body. The
// errors of a network or of a body that ends early may go by.
func (c *client) send(ctx context.Context, body []byte, limit int64) (answer []byte, f *failure, header http.Header, err error) {
	key, err := c.readKey()
	if err != nil {
		return nil, nil, nil, backoff.Permanent(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, nil, nil, backoff.Permanent(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "loci")
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or given up
	if res.StatusCode != http.StatusOK {
		answer, err = io.ReadAll(io.LimitReader(res.Body, maxFailure))
		if err != nil {
			answer = nil // the status says enough
		}
		return nil, newFailure(res.StatusCode, answer, key), res.Header, nil
	}
	answer, err = io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, nil, nil, err
	}
	if int64(len(answer)) > limit {
		return nil, nil, nil, backoff.Permanent(loci.Errorf(loci.Unavailable, "%s sent more than %d bytes for one request", c.host(), limit))
	}
	return answer, nil, nil, nil
}

// readKey reads the key anew. What is in it is never part of an error.
func (c *client) readKey() (string, error) {
	if c.key.Read == nil {
		return "", nil
	}
	key, err := c.key.Read()
	if err != nil {
		return "", &loci.Error{Code: loci.Invalid, Msg: "the key in " + c.key.Source + " cannot be read", Err: err}
	}
	key = strings.TrimSpace(key)
	for i := range len(key) {
		if key[i] <= ' ' || key[i] >= 0x7f {
			return "", loci.Errorf(loci.Invalid, "the key in %s has a space or a character that no key has", c.key.Source)
		}
	}
	return key, nil
}

// newFailure reads what services say in JSON: {"error":{"message","code","type"}},
// {"error":"…"} or {"message","type"}. Their sentences may repeat the texts or
// the key, so only a code that is a plain word is kept for messages.
func newFailure(status int, body []byte, key string) *failure {
	f := &failure{status: status, body: body}
	var whole struct {
		Error json.RawMessage `json:"error"`
		Code  any             `json:"code"`
		Type  string          `json:"type"`
	}
	if json.Unmarshal(body, &whole) != nil {
		return f
	}
	f.parsed = true
	words := []any{whole.Code, whole.Type}
	var inner struct {
		Code any    `json:"code"`
		Type string `json:"type"`
	}
	if json.Unmarshal(whole.Error, &inner) == nil {
		words = []any{inner.Code, inner.Type, whole.Code, whole.Type}
	}
	for _, w := range words {
		if word, ok := w.(string); ok && isWord(word) && (key == "" || !strings.Contains(word, key) && !strings.Contains(key, word)) {
			f.code = word
			break
		}
	}
	return f
}

func isWord(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && r != '_' {
			return false
		}
	}
	return len(s) > 2 && len(s) <= 48
}

// says reports whether the answer has one of these parts, which are in small letters.
func (f *failure) says(parts ...string) bool {
	body := strings.ToLower(string(f.body))
	for _, p := range parts {
		if strings.Contains(body, p) {
			return true
		}
	}
	return false
}

// tooLong reports whether a text or a request passes a limit of the model.
func (f *failure) tooLong() bool {
	return f.status == http.StatusRequestEntityTooLarge ||
		f.says("context_length_exceeded", "context length", "maximum context", "too long", "max_tokens_per_request", "too many tokens", "maximum input length")
}

// String is what messages say of it.
func (f *failure) String() string {
	if f.code != "" {
		return fmt.Sprintf("HTTP %d, %s", f.status, f.code)
	}
	return fmt.Sprintf("HTTP %d", f.status)
}

// transient reports whether the same request may work later.
func (f *failure) transient() bool {
	switch f.status {
	case http.StatusTooManyRequests:
		return f.code != "insufficient_quota" && !f.says("insufficient_quota")
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return true
	}
	return f.status >= 500 && f.status != http.StatusNotImplemented && !f.tooLong()
}

// retryAfter is how long a service asks to be left alone; 0: it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e9 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
