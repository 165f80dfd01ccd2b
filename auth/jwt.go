package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"
	josejson "github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
)

// mostTokens is how many verified tokens are remembered.
const mostTokens = 10_000

// Issuers know the tokens of authorization servers. They are safe for concurrent use.
type Issuers struct {
	opts  IssuerOptions
	all   []*issuer
	byURL map[string]*issuer

	mu    sync.RWMutex
	known map[[sha256.Size]byte]verified // by the digest of the token

	// checks are turns to check a signature: half of the processors are for those whose tokens
	// are known, however many strangers come.
	checks chan struct{}
}

// IssuerOptions configure [OpenIssuers]. The zero value of each field means its default.
type IssuerOptions struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default(); gets causes, never anything of a token
	Client *http.Client     // default one of our own, with bounds

	// Elevation is how long a token may act in other tenants after it was issued, at most
	// [MaxElevated]; default [DefaultElevation].
	Elevation time.Duration
}

// An issuer is one at work.
type issuer struct {
	*mapping
	keys       *keySet
	algorithms []string
	leeway     time.Duration
	elevation  time.Duration
	checks     chan struct{}
}

// A verified token is good until it ends or the keys of its issuer are others.
type verified struct {
	caller     Caller
	issuer     *issuer
	generation uint64
	until      time.Time
}

// OpenIssuers makes a verifier for the tokens of some issuers. It asks none of them: one
// that is down when the server starts is asked with the first token. Call Close at the end.
func OpenIssuers(issuers []Issuer, o IssuerOptions) (*Issuers, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Client == nil {
		o.Client = newClient()
	}
	if _, err := CheckIssuers(issuers); err != nil {
		return nil, err
	}
	all := &Issuers{
		opts: o, byURL: map[string]*issuer{}, known: map[[sha256.Size]byte]verified{},
		checks: make(chan struct{}, max(1, cores.Usable()/2)),
	}
	for n := range issuers {
		i := issuers[n] // a copy of our own
		m, err := newMapping(&i)
		if err != nil {
			return nil, err
		}
		one := &issuer{mapping: m, keys: newKeySet(&i, o.Client, &o), algorithms: i.Algorithms, leeway: i.Leeway,
			elevation: cmp.Or(o.Elevation, DefaultElevation), checks: all.checks}
		if len(one.algorithms) == 0 {
			one.algorithms = Algorithms
		}
		switch {
		case i.Leeway == 0:
			one.leeway = MaxLeeway
		case i.Leeway < 0:
			one.leeway = 0
		}
		all.all, all.byURL[i.URL] = append(all.all, one), one
		if i.KeysFile != "" {
			if err := one.keys.load(context.Background()); err != nil {
				all.Close()
				return nil, unreadableKeys(&i, err)
			}
		}
	}
	return all, nil
}

// Close ends what is being fetched.
func (a *Issuers) Close() {
	for _, i := range a.all {
		i.keys.close()
	}
}

// Claims implements [Verifier]: a signed JWT has three parts, an encrypted one five.
func (a *Issuers) Claims(token string) bool { return strings.Count(token, ".") == 2 }

// Advice implements [Verifier].
func (a *Issuers) Advice() string {
	return "Send an access token of the authorization server in the header Authorization: Bearer …"
}

// errNoGoodToken refuses a token in the same words whatever is wrong with it.
var errNoGoodToken = &loci.Error{
	Code: loci.Unauthenticated, Msg: "the credential is not valid",
	Recovery: "Get a new access token for this server from its authorization server.",
}

func noGoodToken() error { return &Refusal{"invalid_token", errNoGoodToken} }

// Verify implements [Verifier]. A token that was verified costs a digest, until it ends or
// the keys of its issuer change.
func (a *Issuers) Verify(ctx context.Context, token string) (Caller, error) {
	now := a.opts.Now()
	digest := sha256.Sum256([]byte(token))
	a.mu.RLock()
	v, there := a.known[digest]
	a.mu.RUnlock()
	if there && now.Before(v.until) && v.issuer.keys.isCurrent(v.generation) {
		return v.caller, nil
	}
	i := a.byURL[issuerOf(token)]
	if i == nil {
		return Caller{}, noGoodToken()
	}
	v, err := i.verify(ctx, token, now)
	if err != nil {
		return v.caller, err
	}
	if now.Before(v.until) {
		a.remember(digest, v)
	}
	return v.caller, nil
}

func (a *Issuers) remember(digest [sha256.Size]byte, v verified) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, there := a.known[digest]; !there && len(a.known) >= mostTokens {
		for other := range a.known { // any: the order of a map is random enough
			delete(a.known, other)
			break
		}
	}
	a.known[digest] = v
}

// issuerOf reads who says to have made a token. Nothing of it is believed yet.
func issuerOf(token string) string {
	_, rest, _ := strings.Cut(token, ".")
	payload, _, _ := strings.Cut(rest, ".")
	var claims struct {
		Issuer string `json:"iss"`
	}
	data, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil || json.Unmarshal(data, &claims) != nil {
		return ""
	}
	return claims.Issuer
}

// tokenTypes are those of access tokens and ID tokens (RFC 8725, section 3.11): a JWT that
// was signed for another purpose is not a credential.
var tokenTypes = []string{"", "jwt", "at+jwt", "application/at+jwt", "application/jwt"}

// verify checks a token. The caller of one that was good once comes with the error.
func (i *issuer) verify(ctx context.Context, token string, now time.Time) (v verified, err error) {
	signature := &signed{keys: i.keys, algorithms: i.algorithms, checks: i.checks}
	known, err := oidc.NewVerifier(i.issuer.URL, signature, &oidc.Config{
		SupportedSigningAlgs: i.algorithms, SkipClientIDCheck: true, SkipExpiryCheck: true, // below, stricter
	}).Verify(ctx, token)
	if signature.unavailable != nil {
		return v, &loci.Error{Code: loci.Unavailable, Op: "get keys of " + i.issuer.Name,
			Msg: "the credential cannot be checked right now", Err: signature.unavailable,
			Recovery: "Try again when Retry-After says. If that does not help, ask the operator whether the authorization server answers."}
	}
	var payload json.RawMessage
	if err != nil || known.Claims(&payload) != nil {
		return v, noGoodToken()
	}
	var standard jwt.Claims
	var claims map[string]any
	if josejson.Unmarshal(payload, &standard) != nil || josejson.Unmarshal(payload, &claims) != nil {
		return v, noGoodToken()
	}
	expected := jwt.Expected{Issuer: i.issuer.URL, AnyAudience: i.issuer.Audiences, Time: now}
	timely := standard.ValidateWithLeeway(expected, i.leeway)
	late := errors.Is(timely, jwt.ErrExpired)
	if timely != nil && !late || standard.Expiry == nil || standard.Subject == "" {
		return v, noGoodToken()
	}
	p, err := i.principal(standard.Subject, claims)
	if err != nil {
		return v, &Refusal{"invalid_token", err}
	}
	v = verified{caller: Caller{Principal: p, Delegated: true}, issuer: i, generation: signature.generation,
		until: standard.Expiry.Time()}
	if late {
		return v, endedToken("the token has expired")
	}
	if !p.May(loci.ScopeElevate) {
		return v, nil
	}
	if v.until.Sub(now) > MaxElevated {
		return v, endedToken("a token with the scope elevate must end within 7 days")
	}
	if standard.IssuedAt == nil {
		return v, endedToken("a token with the scope elevate must say in iat when it was issued")
	}
	v.caller.ElevatedUntil = standard.IssuedAt.Time().Add(i.elevation)
	if v.until.Before(v.caller.ElevatedUntil) {
		v.caller.ElevatedUntil = v.until
	}
	return v, nil
}

// endedToken says what is wrong to whoever has a token that our issuer signed.
func endedToken(msg string) error {
	return &Refusal{"invalid_token", &loci.Error{Code: loci.Unauthenticated, Msg: msg, Recovery: errNoGoodToken.Recovery}}
}

// signed checks the signature of one token with the keys of its issuer. It implements
// [oidc.KeySet].
type signed struct {
	keys        *keySet
	algorithms  []string
	checks      chan struct{}
	generation  uint64
	unavailable error
}

var errSignature = errors.New("no key of the issuer has signed it")

// VerifySignature implements [oidc.KeySet]. The keys are those of the issuer alone: what a
// token says of keys, in jwk, jku, x5c or x5u, is not looked at.
func (s *signed) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	var algorithms []jose.SignatureAlgorithm
	for _, name := range s.algorithms {
		algorithms = append(algorithms, jose.SignatureAlgorithm(name))
	}
	parsed, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return nil, err
	}
	header := parsed.Signatures[0].Protected
	typ, is := header.ExtraHeaders[jose.HeaderType].(string)
	_, stated := header.ExtraHeaders[jose.HeaderType]
	_, nested := header.ExtraHeaders[jose.HeaderContentType]
	if stated && !is || nested || !slices.Contains(tokenTypes, strings.ToLower(typ)) {
		return nil, errors.New("it is no access token")
	}
	keys, generation, err := s.keys.find(ctx, header.KeyID, jose.SignatureAlgorithm(header.Algorithm))
	if err != nil {
		s.unavailable = err
		return nil, err
	}
	select {
	case s.checks <- struct{}{}:
		defer func() { <-s.checks }()
	case <-ctx.Done():
		s.unavailable = ctx.Err()
		return nil, ctx.Err()
	}
	for _, key := range keys {
		if payload, err := parsed.Verify(key.Key); err == nil {
			s.generation = generation
			return payload, nil
		}
	}
	return nil, errSignature
}

// Names are the scopes that a client asks an issuer for, to get those of ours.
func (a *Issuers) Names(scopes ...loci.Scope) (names []string) {
	for _, i := range a.all {
		for _, name := range i.names(scopes) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
