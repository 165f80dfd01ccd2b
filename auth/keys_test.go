package auth

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counting counts the reads of the system's tenant, and fails them when told to.
type counting struct {
	loci.Store
	mu    sync.Mutex
	reads int
	down  error
}

func (c *counting) Records(
	ctx context.Context, t loci.Tenant, f loci.Filter, p loci.Page,
) ([]loci.Record, string, error) {
	c.mu.Lock()
	c.reads++
	err := c.down
	c.mu.Unlock()
	if err != nil {
		return nil, "", err
	}
	return c.Store.Records(ctx, t, f, p)
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}

func (c *counting) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.down = err
}

// node opens the keys of a store as one of several servers does.
func node(t *testing.T, s loci.Store, clock *locitest.Clock) *Keys {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(io.Discard, nil))
	k, err := OpenKeys(s, Options{Now: clock.Now, OnFirstSight: true, Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k
}

func aliceKey(t *testing.T) NewKey {
	return NewKey{Tenant: locitest.Tenant(t, "acme"), Vars: loci.Vars{loci.VarUser: "alice"},
		Scopes: []loci.Scope{loci.ScopeRead, loci.ScopeWrite}, Note: "a note"}
}

func create(t *testing.T, k *Keys, n NewKey) (Key, string) {
	t.Helper()
	key, token, err := k.Create(t.Context(), By{Actor: "operator"}, n)
	if err != nil {
		t.Fatal(err)
	}
	return key, token
}

// TestKeyMakesAPrincipal: the principal of a key has what was said when the key was made, on
// each store.
func TestKeyMakesAPrincipal(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		k := node(t, s, locitest.NewClock())
		n := aliceKey(t)
		n.Tools = []string{"notes"}
		n.Vars[loci.VarAgent] = "bot"
		key, token := create(t, k, n)
		if len(token) != 91 || !strings.HasPrefix(token, "loci_") || strings.ToLower(token) != token {
			t.Errorf("the token has %d characters", len(token))
		}
		p, err := k.Verify(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		if p.Tenant().String() != "acme" || p.Var(loci.VarUser) != "alice" || p.Var(loci.VarAgent) != "bot" ||
			!slices.Equal(p.Scopes(), []loci.Scope{"read", "write", "tools:notes"}) || p.Subject() != "key:"+key.ID.String() {
			t.Errorf("%v %v %v %s", p.Tenant(), p.Vars(), p.Scopes(), p.Subject())
		}
		if other, err := k.Verify(t.Context(), secondToken(t, k)); err != nil || other.Subject() == p.Subject() {
			t.Errorf("another key: %v, %v", other.Subject(), err)
		}
	})
}

func secondToken(t *testing.T, k *Keys) string {
	_, token := create(t, k, aliceKey(t))
	return token
}

// TestSecretIsNowhere: neither the records nor the events nor what is shown of keys holds
// a secret.
func TestSecretIsNowhere(t *testing.T) {
	s := locitest.OpenMemory()
	k := node(t, s, locitest.NewClock())
	key, token := create(t, k, aliceKey(t))
	_, second, err := k.Rotate(t.Context(), By{Actor: "operator"}, loci.Tenant{}, key.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	everything := loci.Filter{Within: []loci.Namespace{keysPlace}, NotLive: true}
	records, _, err := s.Records(t.Context(), loci.SystemTenant(), everything, loci.Page{})
	if err != nil || len(records) != 1 {
		t.Fatalf("%d records: %v", len(records), err)
	}
	shown, events, err := k.Get(t.Context(), loci.Tenant{}, key.ID)
	if err != nil || len(events) != 2 {
		t.Fatalf("%d events: %v", len(events), err)
	}
	all, err := loci.MarshalJSON([]any{records, shown, events})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{token, second} {
		secret := text[len(text)-sumLetters-secretLetters : len(text)-sumLetters]
		if strings.Contains(string(all), secret) || strings.Contains(string(all), secret[:12]) {
			t.Error("a secret is kept")
		}
	}
	if !strings.Contains(string(all), `"change":"rotated"`) || !strings.Contains(string(all), `"actor":"operator"`) {
		t.Errorf("the log does not tell of it: %s", all)
	}
}

// TestLifeOfAKey: what ends a key, and what a caller with its secret is then told.
func TestLifeOfAKey(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		clock := locitest.NewClock()
		k := node(t, s, clock)
		want := func(what, token, sentence string) {
			t.Helper()
			_, err := k.Verify(t.Context(), token)
			if (sentence == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), sentence) {
				t.Errorf("%s: %v, want %q", what, err, sentence)
			}
		}
		n := aliceKey(t)
		n.ExpiresAt = clock.Now().Add(time.Hour)
		_, expiring := create(t, k, n)
		rotated, old := create(t, k, aliceKey(t))
		revoked, ended := create(t, k, aliceKey(t))
		want("a new key", expiring, "")
		_, newer, err := k.Rotate(t.Context(), By{}, loci.Tenant{}, rotated.ID, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		want("the old secret during the overlap", old, "")
		want("the new secret", newer, "")
		clock.Advance(time.Minute)
		want("the old secret after the overlap", old, "rotated")
		want("the new secret after the overlap", newer, "")
		_, newest, err := k.Rotate(t.Context(), By{}, loci.Tenant{}, rotated.ID, 0)
		if err != nil {
			t.Fatal(err)
		}
		want("a secret without an overlap", newer, "not valid")
		want("its successor", newest, "")
		for range 2 { // the second time there is nothing to do
			if _, err := k.Revoke(t.Context(), By{}, loci.Tenant{}, revoked.ID); err != nil {
				t.Fatal(err)
			}
		}
		want("a revoked key", ended, "revoked")
		if _, events, err := k.Get(t.Context(), loci.Tenant{}, revoked.ID); err != nil || len(events) != 2 {
			t.Errorf("events of a key that was revoked twice: %d, %v", len(events), err)
		}
		_, _, err = k.Rotate(t.Context(), By{}, loci.Tenant{}, revoked.ID, 0)
		locitest.WantCode(t, err, loci.Conflict)
		clock.Advance(time.Hour - time.Minute - time.Millisecond)
		want("a key a moment before its end", expiring, "")
		clock.Advance(time.Millisecond)
		want("a key at its end", expiring, "expired")
	})
}

// TestRevokedKeyEndsOnOtherNodes: another node refuses a revoked key within MaxStale, which is
// less than 5 seconds. A new secret works there at once.
func TestRevokedKeyEndsOnOtherNodes(t *testing.T) {
	clock := locitest.NewClock()
	s := locitest.OpenMemory()
	one, two := node(t, s, clock), node(t, s, clock)
	key, token := create(t, one, aliceKey(t))
	if _, err := two.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Second)
	_, fresh, err := one.Rotate(t.Context(), By{}, loci.Tenant{}, key.ID, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := two.Verify(t.Context(), fresh); err != nil {
		t.Errorf("a new secret on another node: %v", err)
	}
	if _, err := one.Revoke(t.Context(), By{}, loci.Tenant{}, key.ID); err != nil {
		t.Fatal(err)
	}
	_, err = one.Verify(t.Context(), fresh)
	locitest.WantCode(t, err, loci.Unauthenticated)
	if MaxStale >= 5*time.Second {
		t.Errorf("a revoked key lives for %s", MaxStale)
	}
	clock.Advance(MaxStale)
	for _, secret := range []string{token, fresh} {
		_, err = two.Verify(t.Context(), secret)
		locitest.WantCode(t, err, loci.Unauthenticated)
	}
}

// TestLookupsAreFew: a key, or an id that nobody has, costs one look into the store per
// MaxStale; a wrong secret costs one per second.
func TestLookupsAreFew(t *testing.T) {
	clock := locitest.NewClock()
	s := &counting{Store: locitest.OpenMemory()}
	k := node(t, s, clock)
	key, token := create(t, k, aliceKey(t))
	wrong, _ := newToken(key.ID)
	unknown, _ := newToken(loci.NewID())
	looks := func(times int, token string) int {
		before := s.count()
		for range times {
			_, _ = k.Verify(t.Context(), token)
		}
		return s.count() - before
	}
	for _, c := range []struct {
		what  string
		token string
		after time.Duration
		want  int
	}{
		{"a key, first", token, 0, 1},
		{"a key, again", token, MaxStale - time.Millisecond, 0},
		{"a key, later", token, time.Millisecond, 1},
		{"a wrong secret of a key that was just read", wrong, secondLook - time.Millisecond, 0},
		{"a wrong secret", wrong, time.Millisecond, 1},
		{"an unknown key", unknown, 0, 1},
		{"an unknown key, again", unknown, MaxStale - time.Millisecond, 0},
		{"an unknown key, later", unknown, time.Millisecond, 1},
		{"no key by its checksum", token[:len(token)-1] + "?", 0, 0},
	} {
		clock.Advance(c.after)
		if got := looks(100, c.token); got != c.want {
			t.Errorf("%s: %d looks into the store, want %d", c.what, got, c.want)
		}
	}
	clock.Advance(-time.Hour) // a clock that was set back
	if got := looks(1, unknown); got != 1 {
		t.Errorf("after the clock was set back: %d looks", got)
	}
}

// TestCacheIsBounded: whatever strangers send, the cache stays bounded, and keys in use stay in
// it.
func TestCacheIsBounded(t *testing.T) {
	clock := locitest.NewClock()
	s := &counting{Store: locitest.OpenMemory()}
	k := node(t, s, clock)
	_, token := create(t, k, aliceKey(t))
	if _, err := k.Verify(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	for range mostUnknown + 10 {
		k.cache.put(loci.NewID(), nil, clock.Now())
	}
	if n := len(k.cache.unknown); n > mostUnknown {
		t.Errorf("%d unknown ids are kept", n)
	}
	before := s.count()
	if _, err := k.Verify(t.Context(), token); err != nil || s.count() != before {
		t.Errorf("a key in use was driven out: %v", err)
	}
	for range mostKnown + 10 {
		k.cache.put(loci.NewID(), &entry{readAt: clock.Now()}, clock.Now())
	}
	if n := len(k.cache.known); n > mostKnown {
		t.Errorf("%d keys are kept", n)
	}
}

// TestUnreachableStoreIsNoRefusal: without the store nobody can tell whether the key is good.
func TestUnreachableStoreIsNoRefusal(t *testing.T) {
	clock := locitest.NewClock()
	s := &counting{Store: locitest.OpenMemory()}
	k := node(t, s, clock)
	_, token := create(t, k, aliceKey(t))
	s.fail(&loci.Error{Code: loci.Unavailable, Msg: "down", Err: errors.New("a canary")})
	_, err := k.Verify(t.Context(), token)
	locitest.WantCode(t, err, loci.Unavailable)
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("the cause is told: %v", err)
	}
	s.fail(nil)
	if _, err := k.Verify(t.Context(), token); err != nil {
		t.Errorf("after the store is back: %v", err)
	}
}

// TestLastUseIsWrittenOnceAMinute: and it does not count as an edit of the key.
func TestLastUseIsWrittenOnceAMinute(t *testing.T) {
	locitest.EachStore(t, func(t *testing.T, s loci.Store) {
		clock := locitest.NewClock()
		k := node(t, s, clock)
		key, token := create(t, k, aliceKey(t))
		used := func() time.Time {
			t.Helper()
			for range 10 {
				if _, err := k.Verify(t.Context(), token); err != nil {
					t.Fatal(err)
				}
			}
			k.Close()
			got, events, err := k.Get(t.Context(), loci.Tenant{}, key.ID)
			if err != nil || len(events) != 1 {
				t.Fatalf("%d events: %v", len(events), err)
			}
			return got.UsedAt
		}
		first := clock.Now().Truncate(time.Millisecond)
		if got := used(); !got.Equal(first) {
			t.Errorf("used at %s, want %s", got, first)
		}
		clock.Advance(59 * time.Second)
		if got := used(); !got.Equal(first) {
			t.Errorf("written again after 59 s: %s", got)
		}
		clock.Advance(2 * time.Second)
		if got := used(); !got.Equal(clock.Now().Truncate(time.Millisecond)) {
			t.Errorf("not written after 61 s: %s", got)
		}
	})
}

// TestKeysOfOneTenant: whoever may see the keys of a tenant sees and changes no other's.
func TestKeysOfOneTenant(t *testing.T) {
	k := node(t, locitest.OpenMemory(), locitest.NewClock())
	mine, _ := create(t, k, aliceKey(t))
	other := aliceKey(t)
	other.Tenant = locitest.Tenant(t, "acme corp")
	theirs, token := create(t, k, other)
	acme := locitest.Tenant(t, "acme")
	list, _, err := k.List(t.Context(), acme, loci.Page{})
	if err != nil || len(list) != 1 || list[0].ID != mine.ID || list[0].Tenant != "acme" || list[0].Note != "a note" {
		t.Errorf("%v, %v", list, err)
	}
	if all, _, err := k.List(t.Context(), loci.Tenant{}, loci.Page{}); err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
	_, _, err = k.Get(t.Context(), acme, theirs.ID)
	locitest.WantCode(t, err, loci.NotFound)
	_, err = k.Revoke(t.Context(), By{}, acme, theirs.ID)
	locitest.WantCode(t, err, loci.NotFound)
	_, _, err = k.Rotate(t.Context(), By{}, acme, theirs.ID, 0)
	locitest.WantCode(t, err, loci.NotFound)
	if _, err := k.Verify(t.Context(), token); err != nil {
		t.Error(err)
	}
}

// TestNewKeysAreChecked: a key that may not exist is refused with a sentence that says why.
func TestNewKeysAreChecked(t *testing.T) {
	clock := locitest.NewClock()
	k := node(t, locitest.OpenMemory(), clock)
	for want, change := range map[string]func(*NewKey){
		"needs a tenant":         func(n *NewKey) { n.Tenant = loci.Tenant{} },
		"at least one scope":     func(n *NewKey) { n.Scopes = nil },
		"unknown scope":          func(n *NewKey) { n.Scopes = []loci.Scope{"tools:notes"} },
		"named twice":            func(n *NewKey) { n.Scopes = []loci.Scope{"read", "read"} },
		`family "notes"`:         func(n *NewKey) { n.Tools = []string{"notes", "notes"} },
		"tools must not":         func(n *NewKey) { n.Tools = []string{""} },
		"must not be empty":      func(n *NewKey) { n.Vars = loci.Vars{loci.VarUser: ""} },
		"the limit is 500":       func(n *NewKey) { n.Note = strings.Repeat("x", 501) },
		"expired already":        func(n *NewKey) { n.ExpiresAt = clock.Now() },
		"more than 10 years":     func(n *NewKey) { n.ExpiresAt = clock.Now().Add(MaxLife + time.Hour) },
		"within 7 days":          func(n *NewKey) { n.Scopes = []loci.Scope{"admin", "elevate"} },
		"no user and no organis": func(n *NewKey) { n.Vars = nil },
	} {
		n := aliceKey(t)
		change(&n)
		_, token, err := k.Create(t.Context(), By{}, n)
		if err == nil || token != "" || loci.AsError(err).Code != loci.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, overlap := range []time.Duration{-1, MaxOverlap + 1} {
		_, _, err := k.Rotate(t.Context(), By{}, loci.Tenant{}, loci.NewID(), overlap)
		locitest.WantCode(t, err, loci.Invalid)
	}
	_, token := create(t, k, aliceKey(t))
	_, err := ParseKeyID(token)
	if err == nil || strings.Contains(err.Error(), token[10:20]) {
		t.Errorf("a whole key in place of its id: %v", err)
	}
}

// TestManyAskForOneKey: many requests with one key share one look into the store.
func TestManyAskForOneKey(t *testing.T) {
	s := &counting{Store: locitest.OpenMemory()}
	k := node(t, s, locitest.NewClock())
	_, token := create(t, k, aliceKey(t))
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 20 {
				if _, err := k.Verify(t.Context(), token); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// TestTokensHaveOneForm: a token with any change is no longer a token.
func TestTokensHaveOneForm(t *testing.T) {
	id := loci.NewID()
	token, hash := newToken(id)
	if got, kept, ok := parseToken(token); !ok || got != id || kept != hash {
		t.Fatalf("%v %v", got, ok)
	}
	for i := range len(token) {
		for _, c := range []byte("a7A0-_ \n\x00") {
			changed := token[:i] + string(c) + token[i+1:]
			if _, _, ok := parseToken(changed); ok && changed != token {
				t.Errorf("%q at %d is a token", c, i)
			}
		}
	}
	// Some bits of the last letter mean nothing. Another letter for the same bytes is refused,
	// even with the right checksum.
	for _, at := range []int{len(tokenPrefix) + idLetters - 1, tokenLetters - sumLetters - 1} {
		body := token[:tokenLetters-sumLetters]
		for _, c := range []byte("abcdefghijklmnopqrstuvwxyz234567") {
			changed := body[:at] + string(c) + body[at+1:]
			got, kept, ok := parseToken(changed + checksum(changed))
			if ok && changed != body && got == id && kept == hash {
				t.Errorf("two tokens for one secret: %q at %d", c, at)
			}
		}
	}
}

func BenchmarkVerify(b *testing.B) {
	k, err := OpenKeys(locitest.OpenMemory(), Options{OnFirstSight: true})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	_, token, err := k.Create(b.Context(), By{}, NewKey{Tenant: locitest.Tenant(b, "acme"),
		Vars: loci.Vars{loci.VarUser: "alice"}, Scopes: []loci.Scope{loci.ScopeRead}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := k.Verify(b.Context(), token); err != nil {
			b.Fatal(err)
		}
	}
}
