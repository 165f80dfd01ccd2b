package auth

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	jose "github.com/go-jose/go-jose/v4"

	"github.com/loci-memory/loci"
)

// Limits of what is configured about issuers.
const (
	MaxIssuers   = 100
	MaxAudiences = 100
	MaxLeeway    = time.Minute // by which the clocks of an issuer and the server may differ
	maxPattern   = 1000        // bytes
	maxPath      = 10          // names on the way to a claim
)

// Algorithms are the signatures that a token may have. All have a public key: with a shared
// one, whoever can check a token can make one.
var Algorithms = []string{
	string(jose.RS256), string(jose.RS384), string(jose.RS512), string(jose.PS256), string(jose.PS384),
	string(jose.PS512), string(jose.ES256), string(jose.ES384), string(jose.ES512), string(jose.EdDSA),
}

// An Issuer makes tokens that are believed: an authorization server, whose access tokens
// are signed JWTs (RFC 9068, or an ID token of OpenID Connect).
type Issuer struct {
	Name      string   // in the audit log and in logs; lower-case letters, digits, - and _
	URL       string   // the claim iss, to the letter; https, or http of this machine
	Audiences []string // of which the claim aud must have one: what the issuer calls this server

	// KeysURL and KeysFile say where the public keys are (RFC 7517). Neither: where the
	// metadata of the issuer say (OpenID Connect Discovery).
	KeysURL, KeysFile string

	Algorithms []string      // of [Algorithms]; default all
	Leeway     time.Duration // up to [MaxLeeway], which is the default; negative: none

	Tenant Source            // required
	Vars   map[string]Source // user_id, org_id, agent_id; none of user and organisation: the user is the claim sub
	Scopes ScopeSource
}

// A Source says what becomes the tenant or a variable of a caller.
type Source struct {
	Fixed string // this, whatever the token says; "": see Claim

	// Claim has the names on the way to a claim, which is a text or a list of texts.
	Claim []string

	// Pattern is a regular expression that the whole claim must match; of a list, one text
	// must. The value is what its first group has, or all of it without a group. "": any text.
	Pattern string

	// Unverified takes the claim email also of tokens whose email_verified is false, which are
	// refused otherwise: whoever types somebody's address there would get their memory.
	Unverified bool
}

// A ScopeSource says what becomes the scopes of a caller.
type ScopeSource struct {
	Fixed   []loci.Scope // these, whatever the token says; none: see Claim
	Claim   []string     // a text with spaces between the scopes, or a list of texts; default scope
	Pattern string       // as that of a [Source]; what does not match it is no scope of ours
	Allow   []loci.Scope // that tokens may have; default read, write and delete
}

// DefaultAllow are the scopes that tokens may have where nobody says which.
var DefaultAllow = []loci.Scope{loci.ScopeRead, loci.ScopeWrite, loci.ScopeDelete}

// tokenVars are the variables that tokens may say.
var tokenVars = []string{loci.VarUser, loci.VarOrg, loci.VarAgent}

var issuerName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,31}$`)

// A FieldError says which field of an issuer is wrong.
type FieldError struct {
	Field string // as the configuration calls it
	Err   error
}

// Error names the field.
func (e *FieldError) Error() string { return e.Field + " " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *FieldError) Unwrap() error { return e.Err }

func wrong(field, format string, args ...any) error {
	return &FieldError{field, loci.Errorf(loci.Invalid, format, args...)}
}

// Check returns the first field that is wrong.
func (i *Issuer) Check() error {
	switch {
	case !issuerName.MatchString(i.Name):
		return wrong("name", "is %.40q; it must be 1 to 32 lower-case letters, digits, - and _, such as corp", i.Name)
	case i.URL == "":
		return wrong("issuer", "is missing: give the issuer's URL, as its tokens have it in the claim iss")
	case len(i.Audiences) == 0:
		return wrong("audience", "is missing: give what the issuer calls this server, as its tokens have it in the claim aud")
	case len(i.Audiences) > MaxAudiences:
		return wrong("audience", "has %d texts; the limit is %d", len(i.Audiences), MaxAudiences)
	case slices.Contains(i.Audiences, ""):
		return wrong("audience", "must not be empty")
	case i.KeysURL != "" && i.KeysFile != "":
		return wrong("keys_file", "and keys_url are both set: leave one of them out")
	case i.Leeway > MaxLeeway:
		return wrong("leeway", "is %s; it must be 0s to %s", i.Leeway, MaxLeeway)
	}
	for _, list := range []struct {
		field string
		texts []string
	}{{"audience", i.Audiences}, {"algorithms", i.Algorithms}} {
		for n, text := range list.texts {
			if slices.Contains(list.texts[:n], text) {
				return wrong(list.field, "has %.200q twice: name it once", text)
			}
		}
	}
	if err := checkURL(i.URL); err != nil {
		return wrong("issuer", "%s", err)
	}
	if i.KeysURL != "" {
		if err := checkURL(i.KeysURL); err != nil {
			return wrong("keys_url", "%s", err)
		}
	}
	for _, name := range i.Algorithms {
		if !slices.Contains(Algorithms, name) {
			return wrong("algorithms", "has %.20q; it must be one of %s", name, strings.Join(Algorithms, ", "))
		}
	}
	return i.checkSources()
}

// checkSources looks at what becomes of claims.
func (i *Issuer) checkSources() error {
	if i.Tenant.isZero() {
		return wrong("tenant", "is missing: give the name of a tenant, or a claim that has it, as {claim: tenant}")
	}
	if err := i.Tenant.check("tenant"); err != nil {
		return err
	}
	for name, source := range i.Vars {
		field := strings.TrimSuffix(name, "_id")
		if !slices.Contains(tokenVars, name) {
			return wrong(field, "is not known: there are user, org and agent")
		}
		if err := source.check(field); err != nil {
			return err
		}
	}
	return i.Scopes.check()
}

// checkURL refuses addresses that strangers between here and there could answer for.
func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" {
		return fmt.Errorf("is %.200q; it must be a URL such as https://login.example.com", text)
	}
	host := u.Hostname()
	here := host == "localhost" || host == "127.0.0.1" || host == "::1"
	if u.Scheme != "https" && (u.Scheme != "http" || !here) {
		return fmt.Errorf("is %.200q; it must begin with https://, or with http:// on this machine", text)
	}
	return nil
}

func (s *Source) isZero() bool { return s.Fixed == "" && len(s.Claim) == 0 }

func (s *Source) check(field string) error {
	switch {
	case s.isZero():
		return wrong(field, "says neither a value nor a claim: write a name, or {claim: sub}")
	case s.Fixed != "" && (len(s.Claim) > 0 || s.Pattern != "" || s.Unverified):
		return wrong(field, "has a fixed value and a claim: leave one of them out")
	case s.Fixed != "":
		if err := loci.CheckLabel("the value", s.Fixed); err != nil {
			return wrong(field, "cannot be used: %s", err)
		}
		return nil
	case s.Unverified && s.Claim[len(s.Claim)-1] != claimEmail:
		return wrong(field+".unverified", "is about the claim email: leave it out")
	}
	return checkClaim(field, s.Claim, s.Pattern)
}

func checkClaim(field string, path []string, pattern string) error {
	switch {
	case len(path) > maxPath:
		return wrong(field+".claim", "has %d names; the limit is %d", len(path), maxPath)
	case slices.Contains(path, ""):
		return wrong(field+".claim", "must not be empty")
	case len(pattern) > maxPattern:
		return wrong(field+".pattern", "has %d bytes; the limit is %d", len(pattern), maxPattern)
	}
	re, err := compile(pattern)
	if err != nil {
		return wrong(field+".pattern", "is not a regular expression: %s", err)
	}
	if re != nil && re.NumSubexp() > 1 {
		return wrong(field+".pattern", "has %d groups; it must have one at most, and (?:…) is none", re.NumSubexp())
	}
	return nil
}

// compile makes an expression that a whole text must match; nil: any text does.
func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(pattern); err != nil { // by itself: it could close our group
		return nil, err
	}
	return regexp.Compile(`\A(?:` + pattern + `)\z`)
}

func (s *ScopeSource) check() error {
	if len(s.Fixed) > 0 && (len(s.Claim) > 0 || s.Pattern != "" || len(s.Allow) > 0) {
		return wrong("scopes", "has fixed scopes and a claim: leave one of them out")
	}
	for _, list := range []struct {
		field  string
		scopes []loci.Scope
	}{{"scopes", s.Fixed}, {"scopes.allow", s.Allow}} {
		for n, scope := range list.scopes {
			if _, err := loci.ParseScope(string(scope)); err != nil {
				return wrong(list.field, "has an %s", err)
			}
			if slices.Contains(list.scopes[:n], scope) {
				return wrong(list.field, "has %s twice: name it once", scope)
			}
		}
	}
	if slices.Contains(s.Fixed, loci.ScopeElevate) {
		return wrong("scopes", "has elevate for every token: name a claim that says who has it")
	}
	return checkClaim("scopes", s.Claim, s.Pattern)
}

// CheckIssuers returns the first fault of several issuers, and at which of them it is.
func CheckIssuers(issuers []Issuer) (at int, err error) {
	if len(issuers) > MaxIssuers {
		return MaxIssuers, wrong("issuers", "has %d entries; the limit is %d", len(issuers), MaxIssuers)
	}
	for at := range issuers {
		i := &issuers[at]
		if err := i.Check(); err != nil {
			return at, err
		}
		for _, other := range issuers[:at] {
			if other.Name == i.Name {
				return at, wrong("name", "is %s, as that of another issuer is: choose another one", i.Name)
			}
			if other.URL == i.URL {
				return at, wrong("issuer", "is %s, as that of %s is: name each once", i.URL, other.Name)
			}
		}
	}
	return 0, nil
}
