package remote

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// A Failure is an answer that is not a success.
type Failure struct {
	Status int
	Code   string        // the service's word for it, if it is one
	Parsed bool          // the answer is JSON, so it is from the service itself
	After  time.Duration // how long the service asks to be left alone; 0: it does not say

	said string // in small letters
}

// newFailure reads what services say in JSON: {"error":{"message","code","type"}},
// {"error":"…"} or {"message","type"}. Their sentences may repeat what was sent or
// the key, so only a code that is a plain word is kept for messages.
func newFailure(res *http.Response, said []byte, key string, now time.Time) *Failure {
	f := &Failure{Status: res.StatusCode, After: retryAfter(res.Header, now), said: strings.ToLower(string(said))}
	var whole struct {
		Error json.RawMessage `json:"error"`
		Code  any             `json:"code"`
		Type  string          `json:"type"`
	}
	if json.Unmarshal(said, &whole) != nil {
		return f
	}
	f.Parsed = true
	words := []any{whole.Code, whole.Type}
	var inner struct {
		Code any    `json:"code"`
		Type string `json:"type"`
	}
	if json.Unmarshal(whole.Error, &inner) == nil {
		words = []any{inner.Code, inner.Type, whole.Code, whole.Type}
	}
	for _, w := range words {
		if word, ok := w.(string); ok && isWord(word) &&
			(key == "" || !strings.Contains(word, key) && !strings.Contains(key, word)) {
			f.Code = word
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

// Says reports whether the answer has one of these parts, which are in small letters.
func (f *Failure) Says(parts ...string) bool {
	for _, p := range parts {
		if strings.Contains(f.said, p) {
			return true
		}
	}
	return false
}

// String is what messages say of it.
func (f *Failure) String() string {
	if f.Code != "" {
		return fmt.Sprintf("HTTP %d, %s", f.Status, f.Code)
	}
	return fmt.Sprintf("HTTP %d", f.Status)
}

// Transient reports whether the same request may work later.
func (f *Failure) Transient() bool {
	switch f.Status {
	case http.StatusTooManyRequests:
		return !f.Says("insufficient_quota")
	case http.StatusRequestTimeout, http.StatusTooEarly:
		return true
	}
	return f.Status >= 500 && f.Status != http.StatusNotImplemented
}

// UsedUp is the refusal of an account without money.
func (f *Failure) UsedUp() *loci.Error {
	return loci.Errorf(loci.Invalid, "says that the quota is used up (%s): look at the account's plan", f)
}

// Refusal explains a status that means the same everywhere and that repeating does not
// change; nil if the status is not such a one. remedy says what to do where a key is
// wanted and there is none, model which setting names the model.
func (c *Client) Refusal(f *Failure, remedy, model string) *loci.Error {
	switch {
	case (f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden) && c.Key.Source == "":
		return loci.Errorf(loci.Invalid, "wants a key (%s): %s", f, remedy)
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		return loci.Errorf(loci.Invalid, "does not accept the key (%s): set %s to one that is valid there", f, c.Key.Source)
	case f.Status >= 300 && f.Status < 400:
		return loci.Errorf(loci.Invalid, "redirects (%s), which is not followed: set %s to the final address", f, c.Setting)
	case f.Status == http.StatusNotFound || f.Status == http.StatusMethodNotAllowed:
		return loci.Errorf(loci.Invalid, "is not there (%s): correct %s or %s", f, model, c.Setting)
	}
	return nil
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
