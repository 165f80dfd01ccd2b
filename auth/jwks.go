package auth

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	jose "github.com/go-jose/go-jose/v4"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/plainfile"
)

// Bounds of what an issuer's server may make this one do.
const (
	fetchEvery = 30 * time.Second // strangers name keys that nobody has: all of them together cause one fetch
	fetchAgain = 5 * time.Minute  // the age from which keys are fetched beside a request that uses them
	fetchTime  = 10 * time.Second // of a fetch, with everything it asks for

	mostKeysBytes  = 1 << 20 // of one answer
	mostKeysHeader = 64 << 10
	mostKeys       = 100
	mostOfOneName  = 4    // keys with the same kid: each costs the check of a signature
	mostWaiting    = 64   // requests that wait for a fetch; the others are told to come back
	leastRSA       = 2048 // bits; more than go-jose's bound it does not read
)

// A keySet holds the public keys of an issuer. Those it has stay until others have come,
// also while nobody answers.
type keySet struct {
	name  string // of the issuer
	fetch func(context.Context) ([]byte, error)
	now   func() time.Time
	log   *slog.Logger

	ctx    context.Context //nolint:containedctx // of fetches, which are nobody's request
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex
	keys       map[string][]jose.JSONWebKey // by kid
	prints     map[string]bool              // of all of them
	generation uint64                       // is another one whenever the keys are others
	triedAt    time.Time                    // the last fetch; zero: there was none
	fetchedAt  time.Time                    // the last that succeeded
	failed     error                        // of the last
	flight     chan struct{}                // is closed when the fetch under way has ended; nil: there is none
	waiting    int
}

// newKeySet makes one whose keys come with the first token that needs them.
func newKeySet(i *Issuer, client *http.Client, o *IssuerOptions) *keySet {
	k := &keySet{name: i.Name, now: o.Now, log: o.Logger}
	k.ctx, k.cancel = context.WithCancel(oidc.ClientContext(context.Background(), client))
	switch {
	case i.KeysFile != "":
		k.fetch = func(context.Context) ([]byte, error) { return readKeys(i.KeysFile) }
	case i.KeysURL != "":
		k.fetch = func(ctx context.Context) ([]byte, error) { return getKeys(ctx, client, i.KeysURL) }
	default:
		k.fetch = func(ctx context.Context) ([]byte, error) { return discover(ctx, client, i.URL) }
	}
	return k
}

func (k *keySet) close() {
	k.cancel()
	k.wg.Wait()
}

// find returns the keys that may have signed a token, and the generation they are of. None:
// there is no such key. Unavailable: nobody can tell.
func (k *keySet) find(ctx context.Context, kid string, alg jose.SignatureAlgorithm) ([]jose.JSONWebKey, uint64, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found := k.pickLocked(kid, alg); len(found) > 0 {
		k.refreshLocked()
		return found, k.generation, nil
	}
	now := k.now()
	if k.flight == nil && (k.triedAt.IsZero() || !fresh(k.triedAt, now, fetchEvery)) {
		k.beginLocked(now)
	}
	if k.flight != nil {
		if err := k.waitLocked(ctx); err != nil {
			return nil, 0, err
		}
	}
	if found := k.pickLocked(kid, alg); len(found) > 0 {
		return found, k.generation, nil
	}
	if k.failed != nil {
		return nil, 0, &noKeysError{k.failed, max(0, fetchEvery-k.now().Sub(k.triedAt))}
	}
	return nil, 0, nil
}

// noKeysError says why nobody can tell whether a token is good, and when the issuer is asked again.
type noKeysError struct {
	error
	in time.Duration
}

// Unwrap returns what the fetch failed with.
func (n *noKeysError) Unwrap() error { return n.error }

// RetryIn is after which time it may help to try again.
func (n *noKeysError) RetryIn() time.Duration { return n.in }

// waitLocked waits for the fetch under way. The lock is free meanwhile.
func (k *keySet) waitLocked(ctx context.Context) error {
	if k.waiting >= mostWaiting {
		return errWaiting
	}
	flight := k.flight
	k.waiting++
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		k.waiting--
	}()
	select {
	case <-flight:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

var errWaiting = errors.New("too many requests wait for the keys of the issuer already")

// isCurrent reports whether the keys are still those of a generation.
func (k *keySet) isCurrent(generation uint64) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refreshLocked()
	return k.generation == generation
}

// refreshLocked begins to fetch keys that are old. Nobody waits for them.
func (k *keySet) refreshLocked() {
	now := k.now()
	if k.flight == nil && !fresh(k.fetchedAt, now, fetchAgain) && !fresh(k.triedAt, now, fetchEvery) {
		k.beginLocked(now)
	}
}

func (k *keySet) beginLocked(now time.Time) {
	flight := make(chan struct{})
	k.flight, k.triedAt = flight, now
	k.wg.Go(func() {
		ctx, cancel := context.WithTimeout(k.ctx, fetchTime)
		defer cancel()
		err := k.load(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		if err != nil && k.ctx.Err() == nil {
			meanwhile := "those from before are used"
			if len(k.keys) == 0 {
				meanwhile = "there are none yet, so its tokens are refused with 503"
			}
			k.log.WarnContext(ctx, "the keys of an issuer did not come; "+meanwhile, "issuer", k.name,
				"cause", fmt.Sprintf("%.300q", err.Error()))
		}
		k.failed, k.flight = err, nil
		close(flight)
	})
}

// load fetches the keys and takes them over.
func (k *keySet) load(ctx context.Context) error {
	at := k.now()
	data, err := k.fetch(ctx)
	if err != nil {
		return err
	}
	keys, prints, err := parseKeys(data)
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	same := len(prints) == len(k.prints)
	for thumb := range prints {
		same = same && k.prints[thumb]
	}
	k.fetchedAt = at
	if !same {
		k.keys, k.prints = keys, prints
		k.generation++
	}
	return nil
}

// pickLocked returns the keys of a name that an algorithm can be of. A token without a name
// is checked with the only key that its algorithm has: with one of several it would be a guess.
func (k *keySet) pickLocked(kid string, alg jose.SignatureAlgorithm) (found []jose.JSONWebKey) {
	fits := func(keys []jose.JSONWebKey) {
		for _, key := range keys {
			if key.Algorithm == "" || key.Algorithm == string(alg) {
				found = append(found, key)
			}
		}
	}
	if kid != "" {
		fits(k.keys[kid])
		return found
	}
	for _, keys := range k.keys {
		fits(keys)
	}
	if len(found) > 1 {
		return nil
	}
	return found
}

// parseKeys reads a set of keys, and passes over those that sign nothing here. prints
// tells one set from another.
func parseKeys(data []byte) (keys map[string][]jose.JSONWebKey, prints map[string]bool, err error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, nil, fmt.Errorf("the keys are not a set of keys (RFC 7517): %w", err)
	}
	if len(set.Keys) > mostKeys {
		return nil, nil, fmt.Errorf("there are %d keys; the limit is %d", len(set.Keys), mostKeys)
	}
	keys, prints = map[string][]jose.JSONWebKey{}, map[string]bool{}
	for _, raw := range set.Keys {
		var key jose.JSONWebKey
		// A key of a form that is not known is for somebody else (RFC 7517, section 5).
		if json.Unmarshal(raw, &key) != nil || !signs(&key) || len(keys[key.KeyID]) == mostOfOneName {
			continue
		}
		thumb, err := key.Thumbprint(crypto.SHA256)
		if err != nil {
			continue
		}
		key.Certificates, key.CertificatesURL = nil, nil
		keys[key.KeyID] = append(keys[key.KeyID], key)
		prints[key.KeyID+"\x00"+key.Algorithm+"\x00"+string(thumb)] = true
	}
	if len(keys) == 0 {
		return nil, nil, fmt.Errorf("none of the %d keys is a public key for signatures", len(set.Keys))
	}
	return keys, prints, nil
}

// signs reports whether a key is a public one for signatures, of a size that is
// safe. A private one is not taken: somebody has shown it.
func signs(key *jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() || key.Use != "" && key.Use != "sig" {
		return false
	}
	if public, ok := key.Key.(*rsa.PublicKey); ok {
		return public.N.BitLen() >= leastRSA
	}
	return true
}

// discover asks an issuer where its keys are, and gets them.
func discover(ctx context.Context, client *http.Client, issuer string) ([]byte, error) {
	provider, err := oidc.NewProvider(ctx, issuer)
	if err != nil {
		return nil, err
	}
	var metadata struct {
		KeysURL string `json:"jwks_uri"`
	}
	if err := provider.Claims(&metadata); err != nil {
		return nil, err
	}
	if err := checkURL(metadata.KeysURL); err != nil {
		return nil, fmt.Errorf("jwks_uri of the issuer %w", err)
	}
	return getKeys(ctx, client, metadata.KeysURL)
}

func getKeys(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "application/jwk-set+json, application/json")
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close() //nolint:errcheck // it was read
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", address, response.Status)
	}
	return io.ReadAll(response.Body)
}

// readKeys reads a file with keys.
func readKeys(path string) ([]byte, error) {
	data, err := plainfile.Read(path, mostKeysBytes)
	return bytes.TrimPrefix(data, []byte("\ufeff")), err
}

// newClient makes a client that a server of an issuer can keep busy for a while and with a
// few bytes, and cannot send to another host.
func newClient() *http.Client {
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: fetchTime,
		ResponseHeaderTimeout: fetchTime, MaxResponseHeaderBytes: mostKeysHeader, DisableKeepAlives: true,
	}
	return &http.Client{
		Timeout: fetchTime, Transport: bounded{transport},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > 3 || r.URL.Host != via[0].URL.Host || r.URL.Scheme != via[0].URL.Scheme {
				return errors.New("it redirects to another address, which Loci does not follow: put that address into the configuration")
			}
			return nil
		},
	}
}

// bounded ends answers that are too long.
type bounded struct{ http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, mostKeysBytes)
	}
	return response, err
}

// unreadableKeys refuses a file of keys when the server starts.
func unreadableKeys(i *Issuer, err error) error {
	return &loci.Error{
		Code: loci.Invalid, Msg: fmt.Sprintf("keys_file of the issuer %s cannot be used: %v", i.Name, err),
		Recovery: "Name a file with the issuer's public keys, as a set of keys (JWKS), in auth.issuers.",
	}
}
