package llm

import (
	"bytes"
	"context"
	"encoding/json"
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

	"github.com/cenkalti/backoff/v5"
)

// maxTries is how often one call is sent when the service is overloaded or fails.
const maxTries = 4

// A protocol is what two services do differently.
type protocol interface {
	defaultURL() string
	path() string
	request(model string, p loci.Prompt) any
	authorize(h http.Header, key string)
	answer(body []byte) (loci.Completion, error)
	adapt(f *failure) bool // the next request will be different and may work
}

// A remote model is asked over HTTP.
type remote struct {
	protocol
	config Config
	url    *url.URL
	http   *http.Client
}

// newRemote checks the address. Redirects are not followed: a key must not travel to
// where nobody sent it.
func newRemote(c Config, p protocol) (*remote, error) {
	u, err := url.Parse(c.BaseURL)
	switch {
	case err != nil:
		return nil, loci.Errorf(loci.Invalid, "llm.base_url is not a URL") // not shown: it may hold a password
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return nil, loci.Errorf(loci.Invalid, "llm.base_url must begin with http:// or https:// and a host")
	case u.User != nil:
		return nil, loci.Errorf(loci.Invalid, "llm.base_url must not hold a user or a password: a key comes from the environment or a file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, loci.Errorf(loci.Invalid, "llm.base_url must end with its path, without ? and #")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: refuseLinkLocal}).DialContext
	return &remote{protocol: p, config: c, url: u.JoinPath(p.path()), http: &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
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

// Model names the provider and the model.
func (r *remote) Model() string { return r.config.Provider + ":" + r.config.Model }

// Complete asks once, and again while the service is overloaded or fails and there is
// time. An error comes with the tokens that may have been used. What the service
// says is never part of an error: it may repeat the prompt.
func (r *remote) Complete(ctx context.Context, p loci.Prompt) (loci.Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	var used loci.Usage // by requests of which nothing came back
	wait := backoff.NewExponentialBackOff()
	wait.InitialInterval, wait.MaxInterval = 500*time.Millisecond, 20*time.Second
	deadline, _ := ctx.Deadline()
	answer, err := backoff.Retry(ctx, func() (loci.Completion, error) {
		answer, err := r.once(ctx, p)
		if err != nil {
			used.PromptTokens += answer.Usage.PromptTokens
			used.CompletionTokens += answer.Usage.CompletionTokens
			used.Estimated = used.Estimated || answer.Usage.Estimated
		}
		return answer, err
	}, backoff.WithBackOff(wait), backoff.WithMaxTries(maxTries), backoff.WithMaxElapsedTime(max(time.Until(deadline), time.Nanosecond)))
	if err == nil {
		answer.Usage.PromptTokens += used.PromptTokens
		answer.Usage.CompletionTokens += used.CompletionTokens
		answer.Usage.Estimated = answer.Usage.Estimated || used.Estimated
		return answer, nil
	}
	return loci.Completion{Usage: used}, r.explain(err)
}

// once sends one request. Requests that reached the service and whose answer is lost
// or unusable may have been paid for: they are not repeated, and count in full.
func (r *remote) once(ctx context.Context, p loci.Prompt) (loci.Completion, error) {
	lost := loci.Completion{Usage: loci.Usage{PromptTokens: loci.EstimateTokens(p.System) + loci.EstimateTokens(p.User),
		CompletionTokens: int64(p.MaxTokens), Estimated: true}}
	req, err := r.newRequest(ctx, p)
	if err != nil {
		return loci.Completion{}, backoff.Permanent(err)
	}
	res, err := r.http.Do(req)
	if err != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			return loci.Completion{}, err // it never got there
		}
		return lost, backoff.Permanent(err)
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or given up
	body, err := io.ReadAll(io.LimitReader(res.Body, r.config.MaxReply+1))
	if res.StatusCode != http.StatusOK {
		return loci.Completion{}, r.refused(res, body)
	}
	switch {
	case err != nil:
		return lost, backoff.Permanent(err)
	case int64(len(body)) > r.config.MaxReply:
		return lost, backoff.Permanent(loci.Errorf(loci.Unavailable, "%s sent more than %d bytes", r.who(), r.config.MaxReply))
	}
	answer, err := r.answer(body)
	if err != nil {
		return lost, backoff.Permanent(loci.Errorf(loci.Unavailable, "%s sent what is no completion: is llm.base_url the address of such a service?", r.who()))
	}
	if u := &answer.Usage; u.PromptTokens <= 0 || u.CompletionTokens < 0 {
		*u = loci.Usage{PromptTokens: lost.Usage.PromptTokens, CompletionTokens: loci.EstimateTokens(answer.Text), Estimated: true}
	}
	return answer, nil
}

func (r *remote) newRequest(ctx context.Context, p loci.Prompt) (*http.Request, error) {
	key, err := r.key()
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(r.request(r.config.Model, p))
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "loci")
	r.authorize(req.Header, key)
	return req, nil
}

// key reads the key anew. What is in it is never part of an error.
func (r *remote) key() (string, error) {
	k := r.config.Key
	if k.Read == nil {
		return "", nil
	}
	key, err := k.Read()
	if err != nil {
		return "", &loci.Error{Code: loci.Invalid, Msg: "the key in " + k.Source + " cannot be read", Err: err}
	}
	key = strings.TrimSpace(key)
	for i := range len(key) {
		if key[i] <= ' ' || key[i] >= 0x7f {
			return "", loci.Errorf(loci.Invalid, "the key in %s has a space or a character that no key has", k.Source)
		}
	}
	return key, nil
}

func (r *remote) who() string { return r.Model() + " at " + r.url.Host }
