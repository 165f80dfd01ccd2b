package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
)

// Limits of a key.
const (
	MaxNote     = 500                       // bytes
	MaxOverlap  = 30 * 24 * time.Hour       // of the old secret and the new one
	MaxLife     = 10 * 366 * 24 * time.Hour // until a key expires
	MaxElevated = 7 * 24 * time.Hour        // of one with the scope elevate

	// DefaultElevation is how long a credential may act in other tenants after it was made.
	DefaultElevation = time.Hour
)

// kindKey is the kind of the records that keys are.
const kindKey loci.Kind = "key"

// keysPlace holds the keys of all tenants, each tenant's below its name.
var keysPlace = loci.Namespace{"keys"}

// records is what the engine of the system's tenant keeps. It is no feature of anybody's
// memory.
type records struct{}

// Kinds implements [loci.Feature].
func (records) Kinds() []loci.FeatureKind {
	return []loci.FeatureKind{{Kind: kindKey}, {Kind: kindTenant}}
}

// Check implements [loci.Feature].
func (records) Check() error { return nil }

// A Key is what may be known of a key: everything but its secret.
type Key struct {
	ID        loci.ID      `json:"id"`
	Tenant    string       `json:"tenant"`
	Vars      loci.Vars    `json:"vars,omitempty"` // that its requests have, such as user_id
	Scopes    []loci.Scope `json:"scopes"`
	Tools     []string     `json:"tools,omitempty"` // families of tools that it may call, and nothing else; none: everything
	Limits    Limits       `json:"limits,omitzero"`
	Note      string       `json:"note,omitempty"`
	CreatedAt time.Time    `json:"created_at"`
	CreatedBy string       `json:"created_by"`
	ExpiresAt time.Time    `json:"expires_at,omitzero"`
	RotatedAt time.Time    `json:"rotated_at,omitzero"`
	OldUntil  time.Time    `json:"old_until,omitzero"` // until then the secret before the last rotation is good
	RevokedAt time.Time    `json:"revoked_at,omitzero"`
	UsedAt    time.Time    `json:"used_at,omitzero"` // to the minute

	// ElevatedUntil is when it may act in other tenants no more; zero: it never may.
	ElevatedUntil time.Time `json:"elevated_until,omitzero"`
}

// State is active, expired or revoked.
func (k *Key) State(now time.Time) string {
	switch {
	case !k.RevokedAt.IsZero():
		return "revoked"
	case !k.ExpiresAt.IsZero() && !now.Before(k.ExpiresAt):
		return "expired"
	}
	return "active"
}

// A NewKey is what to make a key of.
type NewKey struct {
	Tenant    loci.Tenant
	Vars      loci.Vars
	Scopes    []loci.Scope
	Tools     []string
	Limits    Limits
	Note      string
	ExpiresAt time.Time // zero: never
}

// By is who changes keys, for the audit log.
type By struct{ Actor, RequestID string }

// keyBody is how a key is kept.
type keyBody struct {
	Vars      loci.Vars    `json:"vars,omitempty"`
	Scopes    []loci.Scope `json:"scopes"`
	Tools     []string     `json:"tools,omitempty"`
	Limits    Limits       `json:"limits,omitzero"`
	Note      string       `json:"note,omitempty"`
	By        string       `json:"by"`
	ExpiresAt time.Time    `json:"expires_at,omitzero"`
	RotatedAt time.Time    `json:"rotated_at,omitzero"`
	RevokedAt time.Time    `json:"revoked_at,omitzero"`
	Secrets   []secret     `json:"secrets,omitempty"` // the newest first
}

// A secret is what is kept of one: it is random, so that a plain hash cannot be guessed.
type secret struct {
	Hash  string    `json:"sha256"`
	Until time.Time `json:"until,omitzero"`
}

// Options configure [OpenKeys]. The zero value of each field means its default.
type Options struct {
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default(); gets ids and causes, never a credential

	// OnFirstSight: whoever names a tenant makes it. Otherwise there are those alone that
	// [Keys.CreateTenant] made, and those that were there before anybody had to.
	OnFirstSight bool

	// Elevation is how long a key may act in other tenants after it was made, at most
	// [MaxElevated]; default [DefaultElevation]. A rotation does not begin it again.
	Elevation time.Duration
}

// Keys are the API keys of a store. They are records in the system's own tenant, so that
// every store has them and their audit log tells who changed them. It is safe for
// concurrent use.
type Keys struct {
	engine *loci.Engine
	store  loci.Store
	opts   Options
	cache  cache
}

// OpenKeys reads the keys of a store, which stays the caller's to close, after Close.
func OpenKeys(store loci.Store, o Options) (*Keys, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Elevation = cmp.Or(o.Elevation, DefaultElevation)
	engine, err := loci.New(store, &loci.Options{Features: []loci.Feature{records{}}, Now: o.Now, Logger: o.Logger,
		Retention: loci.RetentionOptions{Revisions: loci.None}})
	if err != nil {
		return nil, err
	}
	k := &Keys{engine: engine, store: store, opts: o}
	k.cache.init()
	return k, nil
}

// Close waits for what is being written.
func (k *Keys) Close() { k.cache.touching.Wait() }

// memory binds a handle for a part of the keys.
func (k *Keys) memory(by By, at loci.Namespace) (*loci.Memory, error) {
	return k.engine.Memory(loci.View{
		Tenant: loci.SystemTenant(), Namespace: at, Actor: cmp.Or(by.Actor, "system"), RequestID: by.RequestID,
	})
}

// Create makes a key. The token is shown this once: only its hash is kept. NotFound: there
// is no such tenant, and [Options].OnFirstSight does not make it one.
func (k *Keys) Create(ctx context.Context, by By, n NewKey) (key Key, token string, err error) {
	m, err := k.memory(by, keysPlace)
	if err != nil {
		return Key{}, "", err
	}
	n.ExpiresAt = n.ExpiresAt.UTC().Truncate(time.Millisecond)
	if err := cmp.Or(n.check(m.Now()), n.Limits.check()); err != nil {
		return Key{}, "", err
	}
	if err := k.host(ctx, by, n.Tenant); err != nil {
		return Key{}, "", err
	}
	id := m.NewID()
	token, hash := newToken(id)
	key, err = loci.Commit(ctx, m, "create key", nil, func(now time.Time) (loci.Decision[Key], error) {
		b := keyBody{
			Vars: maps.Clone(n.Vars), Scopes: slices.Clone(n.Scopes), Tools: slices.Clone(n.Tools), Limits: n.Limits,
			Note: n.Note, By: m.View().Actor, ExpiresAt: n.ExpiresAt,
			Secrets: []secret{{Hash: hex.EncodeToString(hash[:])}},
		}
		r := loci.Record{ID: id, Kind: kindKey, Namespace: keysPlace.Child(n.Tenant.String()), Version: 1, Live: true,
			CreatedAt: now}
		return k.put(m, r, b, loci.EventCreated, now, map[string]any{
			"tenant": n.Tenant.String(), "scopes": b.Scopes, "tools": b.Tools, "subject": subjectOf(id)})
	})
	if err != nil {
		return Key{}, "", err
	}
	return key, token, nil
}

// put is the decision to keep a key.
func (k *Keys) put(
	m *loci.Memory, r loci.Record, b keyBody, typ loci.EventType, now time.Time, payload map[string]any,
) (loci.Decision[Key], error) {
	body, err := loci.MarshalJSON(b)
	if err != nil {
		return loci.Decision[Key]{}, loci.AsError(err)
	}
	r.Body, r.UpdatedAt = body, now
	return loci.Decision[Key]{Reply: k.shown(&r, &b), Record: r.ID, Change: loci.Change{
		Put:    []loci.Put{{Record: r, Revisions: -1}},
		Events: []loci.Event{m.Event(typ, &r, now, payload)},
	}}, nil
}

// check refuses what no key can be.
func (n *NewKey) check(now time.Time) error {
	if _, err := loci.NewPrincipal(n.Tenant, "key", n.Vars, n.Scopes...); err != nil {
		return err
	}
	has := func(s loci.Scope) bool { return slices.Contains(n.Scopes, s) }
	for i, s := range n.Scopes {
		if _, err := loci.ParseScope(string(s)); err != nil {
			return err
		}
		if slices.Contains(n.Scopes[:i], s) {
			return loci.Errorf(loci.Invalid, "the scope %q is named twice: name it once", s)
		}
	}
	for i, family := range n.Tools {
		if err := loci.CheckLabel("tools", family); err != nil {
			return err
		}
		if slices.Contains(n.Tools[:i], family) {
			return loci.Errorf(loci.Invalid, "the family %q is named twice: name it once", family)
		}
	}
	life := n.ExpiresAt.Sub(now)
	switch {
	case len(n.Scopes) == 0:
		return loci.Errorf(loci.Invalid, "a key needs at least one scope, such as read")
	case len(n.Note) > MaxNote:
		return loci.Errorf(loci.Invalid, "the note has %d bytes; the limit is %d: shorten it", len(n.Note), MaxNote)
	case !n.ExpiresAt.IsZero() && life <= 0:
		return loci.Errorf(loci.Invalid, "the key would have expired already: choose a time in the future")
	case life > MaxLife:
		return loci.Errorf(loci.Invalid, "the key would last for more than 10 years: leave the end out, or choose an earlier one")
	case has(loci.ScopeElevate) && (n.ExpiresAt.IsZero() || life > MaxElevated):
		return &loci.Error{Code: loci.Invalid, Msg: "a key with the scope elevate must end within 7 days",
			Recovery: "Let it expire earlier, or leave the scope elevate out."}
	case n.Vars[loci.VarUser] == "" && n.Vars[loci.VarOrg] == "" && !has(loci.ScopeDelegate) && !has(loci.ScopeAdmin):
		return &loci.Error{Code: loci.Invalid, Msg: "nobody could use this key: it names no user and no organisation",
			Recovery: "Name a user or an organisation, or add the scope delegate, so that each request says whose memory it means."}
	}
	return nil
}

// subjectOf is what the audit log of a tenant calls a caller with a key.
func subjectOf(id loci.ID) string { return "key:" + id.String() }

// shown is a key without its secrets.
func (k *Keys) shown(r *loci.Record, b *keyBody) Key {
	key := Key{
		ID: r.ID, Vars: maps.Clone(b.Vars), Scopes: slices.Clone(b.Scopes), Tools: slices.Clone(b.Tools),
		Limits: b.Limits, Note: b.Note, CreatedAt: r.CreatedAt, CreatedBy: b.By, ExpiresAt: b.ExpiresAt,
		RotatedAt: b.RotatedAt, RevokedAt: b.RevokedAt, UsedAt: r.UsedAt,
	}
	if len(r.Namespace) > len(keysPlace) {
		key.Tenant = r.Namespace[len(keysPlace)]
	}
	if len(b.Secrets) > 1 {
		key.OldUntil = b.Secrets[1].Until
	}
	if slices.Contains(b.Scopes, loci.ScopeElevate) && slices.Contains(b.Scopes, loci.ScopeAdmin) {
		key.ElevatedUntil = r.CreatedAt.Add(k.opts.Elevation)
		if !b.ExpiresAt.IsZero() && b.ExpiresAt.Before(key.ElevatedUntil) {
			key.ElevatedUntil = b.ExpiresAt
		}
	}
	return key
}

// List returns the keys of a tenant, or of all for the zero one, newest first.
func (k *Keys) List(ctx context.Context, t loci.Tenant, page loci.Page) (keys []Key, next string, err error) {
	at := keysPlace
	if !t.IsZero() {
		at = keysPlace.Child(t.String())
	}
	m, err := k.memory(By{}, at)
	if err != nil {
		return nil, "", err
	}
	f := loci.Filter{Within: []loci.Namespace{at}, Kinds: []loci.Kind{kindKey}, NotLive: true}
	found, next, err := m.Records(ctx, f, page)
	if err != nil {
		return nil, "", err
	}
	keys = make([]Key, len(found))
	for i := range found {
		b, err := bodyOf(&found[i])
		if err != nil {
			return nil, "", err
		}
		keys[i] = k.shown(&found[i], &b)
	}
	return keys, next, nil
}

// Get returns a key and what its audit log says of it, newest first. The zero tenant asks
// for one of any tenant.
func (k *Keys) Get(ctx context.Context, t loci.Tenant, id loci.ID) (Key, []loci.Event, error) {
	m, r, b, err := k.read(ctx, By{}, t, id)
	if err != nil {
		return Key{}, nil, err
	}
	events, _, err := m.Events(ctx, loci.EventFilter{Entity: id}, loci.Page{Limit: 100})
	return k.shown(&r, &b), events, err
}

// Rotate gives a key a new secret. The old one is good for the overlap, which may be 0; an
// overlap of an earlier rotation ends.
func (k *Keys) Rotate(
	ctx context.Context, by By, t loci.Tenant, id loci.ID, overlap time.Duration,
) (Key, string, error) {
	if overlap < 0 || overlap > MaxOverlap {
		return Key{}, "", loci.Errorf(loci.Invalid, "the overlap is %s; it must be 0s to %s", overlap, MaxOverlap)
	}
	token, hash := newToken(id)
	key, err := k.change(ctx, by, t, id, "rotate key", func(b *keyBody, now time.Time) (map[string]any, error) {
		if s := (&Key{ExpiresAt: b.ExpiresAt, RevokedAt: b.RevokedAt}).State(now); s != "active" {
			return nil, &loci.Error{Code: loci.Conflict, Msg: "the key is " + s + ", and gets no new secret",
				Recovery: "Create another key."}
		}
		old := b.Secrets
		b.Secrets = []secret{{Hash: hex.EncodeToString(hash[:])}}
		if overlap > 0 && len(old) > 0 {
			b.Secrets = append(b.Secrets, secret{Hash: old[0].Hash, Until: now.Add(overlap)})
		}
		b.RotatedAt = now
		return map[string]any{"change": "rotated", "overlap_seconds": int64(overlap.Seconds())}, nil
	})
	if err != nil {
		return Key{}, "", err
	}
	return key, token, nil
}

// Revoke ends a key for good. Every node that asks the store refuses it within [MaxStale].
// To revoke a revoked key is no error.
func (k *Keys) Revoke(ctx context.Context, by By, t loci.Tenant, id loci.ID) (Key, error) {
	return k.change(ctx, by, t, id, "revoke key", func(b *keyBody, now time.Time) (map[string]any, error) {
		if !b.RevokedAt.IsZero() {
			return map[string]any{}, nil
		}
		b.RevokedAt = now
		return map[string]any{"change": "revoked"}, nil
	})
}

// change writes what edit makes of a key, with an event that has the details edit returns.
// No details: there is nothing to change.
func (k *Keys) change(
	ctx context.Context, by By, t loci.Tenant, id loci.ID, op string,
	edit func(*keyBody, time.Time) (map[string]any, error),
) (Key, error) {
	m, err := k.memory(by, keysPlace)
	if err != nil {
		return Key{}, err
	}
	defer k.cache.drop(id) // also where nobody knows whether it was done
	return loci.Commit(ctx, m, op, nil, func(now time.Time) (loci.Decision[Key], error) {
		_, r, b, err := k.read(ctx, by, t, id)
		if err != nil {
			return loci.Decision[Key]{}, err
		}
		details, err := edit(&b, now)
		if err != nil || len(details) == 0 {
			return loci.Decision[Key]{Reply: k.shown(&r, &b)}, err
		}
		r.Version++
		return k.put(m, r, b, loci.EventUpdated, now, details)
	})
}

// read finds a key, among those of a tenant unless that is zero.
func (k *Keys) read(
	ctx context.Context, by By, t loci.Tenant, id loci.ID,
) (m *loci.Memory, r loci.Record, b keyBody, err error) {
	at := keysPlace
	if !t.IsZero() {
		at = keysPlace.Child(t.String())
	}
	if m, err = k.memory(by, at); err != nil {
		return nil, r, b, err
	}
	f := loci.Filter{Within: []loci.Namespace{at}, Kinds: []loci.Kind{kindKey}, IDs: []loci.ID{id}, NotLive: true}
	found, _, err := m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil {
		return nil, r, b, err
	}
	if len(found) == 0 {
		return nil, r, b, &loci.Error{Code: loci.NotFound, Msg: "there is no key with the id " + id.String(),
			Recovery: "List the keys there are."}
	}
	b, err = bodyOf(&found[0])
	return m, found[0], b, err
}

func bodyOf(r *loci.Record) (b keyBody, err error) {
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return b, &loci.Error{Code: loci.Internal, Op: "read key", Msg: "a key is damaged", Err: err}
	}
	return b, nil
}

// ParseKeyID reads the id of a key. What has the form of a whole key is refused without
// being shown.
func ParseKeyID(text string) (loci.ID, error) {
	if strings.HasPrefix(text, tokenPrefix) {
		return loci.ID{}, &loci.Error{Code: loci.Invalid, Msg: "this is a key, and not the id of one",
			Recovery: "Give its id, as \"loci key list\" shows it. A key that others may have seen should be rotated."}
	}
	return loci.ParseID(text)
}

// hashOf reads a hash that is kept; a damaged one equals no hash.
func hashOf(s secret) (hash [sha256.Size]byte) {
	if n, err := hex.Decode(hash[:], []byte(s.Hash)); err != nil || n != len(hash) {
		return [sha256.Size]byte{}
	}
	return hash
}
