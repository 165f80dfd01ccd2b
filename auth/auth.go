// Package auth says who sends a request: it makes a [loci.Principal] of a credential, and
// nothing else in the program does so for a caller.
//
//	keys, err := auth.OpenKeys(store, auth.Options{})
//	door := auth.NewDoor(keys.Admit, keys)
//	caller, err := door.Authenticate(request)
//
// It knows no surface. Package server asks it before anything is done for a request.
// Credentials are API keys ([Keys]) or tokens of authorization servers ([Issuers]).
package auth

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// maxCredential bounds what the header Authorization may hold, in bytes.
const maxCredential = 16 << 10

// A Verifier knows one form of credential.
type Verifier interface {
	// Claims reports whether a token has the form of this verifier, by a look at it.
	Claims(token string) bool

	// Verify returns who a token stands for. Unauthenticated: it is no good; the caller is
	// still returned where the token was good once. Unavailable: nobody can tell right now.
	Verify(ctx context.Context, token string) (Caller, error)

	// Advice says which credential is good, to whoever has none.
	Advice() string
}

// A Caller is who sends a request, and how many it may send.
type Caller struct {
	loci.Principal
	Limits Limits

	// ElevatedUntil is when the credential may act in other tenants no more.
	ElevatedUntil time.Time

	// Delegated: an authorization server made the credential, and can make one with more scopes.
	Delegated bool
}

// A Refusal is why a request is not from anybody, with what RFC 6750 calls the reason.
type Refusal struct { //nolint:errname // as RFC 6750 calls the answer
	Reason string // invalid_request, invalid_token or insufficient_scope; "": there was no credential
	Err    error
}

// Error returns the sentence for people.
func (r *Refusal) Error() string { return r.Err.Error() }

// Unwrap returns the error as surfaces show it.
func (r *Refusal) Unwrap() error { return r.Err }

// Challenge returns the reason, for the header WWW-Authenticate.
func (r *Refusal) Challenge() string { return r.Reason }

// advice is what everybody is told who has no good key.
const advice = "Send a key in the header Authorization: Bearer loci_…; \"loci key create\" makes one."

// ErrNoGood refuses a token in the same words whatever is wrong with it: the reason helps
// only those who guess.
var ErrNoGood = &loci.Error{Code: loci.Unauthenticated, Msg: "the credential is not valid", Recovery: advice}

func noGood() error { return &Refusal{"invalid_token", ErrNoGood} }

// A Door asks every request for a credential. It is safe for concurrent use.
type Door struct {
	admit     func(context.Context, loci.Principal) (loci.Principal, error)
	verifiers []Verifier
	advice    string
}

// NewDoor makes a door for credentials of some forms. The first verifier that claims a
// token decides about it alone, and admit about what the tenant of a good one lets it do.
func NewDoor(
	admit func(context.Context, loci.Principal) (loci.Principal, error), verifiers ...Verifier,
) *Door {
	var advice []string
	for _, v := range verifiers {
		advice = append(advice, v.Advice())
	}
	return &Door{admit, slices.Clone(verifiers), strings.Join(advice, " Or: ")}
}

// Authenticate returns who sends a request. It reads the headers alone. An error comes with
// the caller where that is known, for the audit log: it may do nothing.
func (d *Door) Authenticate(r *http.Request) (Caller, error) {
	token, err := d.bearer(r)
	if err != nil {
		return Caller{}, err
	}
	for _, v := range d.verifiers {
		if !v.Claims(token) {
			continue
		}
		c, err := v.Verify(r.Context(), token)
		var refusal *Refusal
		if err != nil && !errors.As(err, &refusal) && loci.AsError(err).Code == loci.Unauthenticated {
			err = &Refusal{"invalid_token", err}
		}
		if err != nil {
			return c, err
		}
		admitted, err := d.admit(r.Context(), c.Principal)
		if err == nil {
			// What the tenant takes away no other credential brings back.
			c.Delegated = c.Delegated && len(admitted.Scopes()) == len(c.Scopes())
			c.Principal = admitted.WithElevationUntil(c.ElevatedUntil)
		}
		return c, err
	}
	return Caller{}, d.noGood()
}

// noGood refuses what is no credential of any form.
func (d *Door) noGood() error {
	return &Refusal{"invalid_token", &loci.Error{Code: loci.Unauthenticated, Msg: ErrNoGood.Msg, Recovery: d.advice}}
}

// bearer takes the token out of a request. There is one header for it: a token in an
// address ends in logs and histories.
func (d *Door) bearer(r *http.Request) (string, error) {
	malformed := func(msg string) error {
		return &Refusal{"invalid_request", &loci.Error{Code: loci.Invalid, Msg: msg, Recovery: d.advice}}
	}
	if inQuery(r.URL.RawQuery) {
		return "", malformed("a credential stands in the address, where others can read it")
	}
	given := r.Header["Authorization"]
	switch {
	case len(given) == 0:
		return "", &Refusal{"", &loci.Error{Code: loci.Unauthenticated, Msg: "this server asks for a credential",
			Recovery: d.advice}}
	case len(given) > 1:
		return "", malformed("the header Authorization comes more than once: send one")
	case len(given[0]) > maxCredential:
		return "", d.noGood()
	}
	scheme, token, found := strings.Cut(given[0], " ")
	if !found || !strings.EqualFold(scheme, "bearer") || !isToken(token) {
		return "", d.noGood()
	}
	return token, nil
}

// inQuery reports whether a query has a parameter that is known to carry tokens. The
// name may be written in any way that a server would read as it.
func inQuery(query string) bool {
	for part := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		name, _, _ := strings.Cut(part, "=")
		if plain, err := url.QueryUnescape(name); err == nil {
			name = plain
		}
		if strings.EqualFold(name, "access_token") {
			return true
		}
	}
	return false
}

// isToken reports whether a text is a b64token of RFC 6750.
func isToken(text string) bool {
	body := strings.TrimRight(text, "=")
	if body == "" {
		return false
	}
	for i := range len(body) {
		c := body[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return true
}
