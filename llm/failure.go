package llm

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"

	"github.com/cenkalti/backoff/v5"
)

// A failure is an answer that is no success.
type failure struct {
	status int
	body   string // in small letters
}

func (f *failure) says(part string) bool { return strings.Contains(f.body, part) }

// refused says what a status means, and whether the same request may work later.
func (r *remote) refused(res *http.Response, body []byte) error {
	f := &failure{res.StatusCode, strings.ToLower(string(body))}
	quota := f.says("insufficient_quota") || f.says("credit balance")
	invalid := func(what string) error {
		return backoff.Permanent(loci.Errorf(loci.Invalid, "%s %s (HTTP %d)", r.who(), what, f.status))
	}
	switch {
	case r.adapt(f):
		return loci.Errorf(loci.Unavailable, "%s refused the form of the request (HTTP %d)", r.who(), f.status)
	case quota:
		return invalid("says that the quota is used up: look at the account's plan")
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		if r.config.Key.Source == "" {
			return invalid("wants a key: set llm.key_env or llm.key_file")
		}
		return invalid("does not accept the key in " + r.config.Key.Source)
	case f.status >= 300 && f.status < 400:
		return invalid("redirects, which is not followed: set llm.base_url to the final address")
	case f.status == http.StatusNotFound || f.status == http.StatusMethodNotAllowed:
		return invalid("is not there: correct llm.model or llm.base_url")
	case f.status == http.StatusRequestEntityTooLarge || f.says("context_length_exceeded") || f.says("prompt is too long") || f.says("maximum context"):
		return backoff.Permanent(loci.Errorf(loci.TooLarge, "%s says the prompt is too long (HTTP %d): lower llm.prompt_tokens", r.who(), f.status))
	case f.status == http.StatusTooManyRequests || f.status == http.StatusRequestTimeout || f.status >= 500:
		err := loci.Errorf(loci.Unavailable, "%s is overloaded or fails (HTTP %d)", r.who(), f.status)
		if after := retryAfter(res.Header, time.Now()); after > 0 {
			return errors.Join(err, &backoff.RetryAfterError{Duration: after})
		}
		return err
	}
	return backoff.Permanent(loci.Errorf(loci.Unavailable, "%s refuses the request (HTTP %d)", r.who(), f.status))
}

// explain makes an error of ours of what ended the tries.
func (r *remote) explain(err error) error {
	var e *loci.Error
	if errors.As(err, &e) {
		return e
	}
	msg := "does not answer"
	switch {
	case errors.Is(err, errLinkLocal):
		return &loci.Error{Code: loci.Invalid, Msg: "llm.base_url: " + errLinkLocal.Error(), Err: err}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		msg = "did not answer in time"
	}
	return &loci.Error{Code: loci.Unavailable, Msg: r.who() + " " + msg, Err: err}
}

// retryAfter is how long a service asks to be left alone; 0: it does not say.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(v, 64); err == nil && s > 0 && s < 1e6 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(v); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
