package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// kindTenant is the kind of the records that say something of a tenant.
const kindTenant loci.Kind = "tenant"

// tenantsPlace holds a record for each tenant that somebody made, changed or erased.
var tenantsPlace = loci.Namespace{"tenants"}

// firstTenant is there without being made: it is the one of a person alone.
const firstTenant = "default"

// A State says what the callers of a tenant may do.
type State string

// The states of a tenant.
const (
	StateActive   State = "active"
	StateReadOnly State = "read_only" // its callers may read
	StateClosed   State = "closed"    // they may do nothing
	StateErased   State = "erased"    // there is no such tenant any more; see [Keys.EraseTenant]
)

// States lists those that [Keys.SetTenant] takes.
var States = []State{StateActive, StateReadOnly, StateClosed}

// A Tenant is what is kept of a tenant beside its memories.
type Tenant struct {
	Name      string    `json:"tenant"`
	State     State     `json:"state"`
	Reason    string    `json:"reason,omitempty"`    // of the state
	CreatedAt time.Time `json:"created_at,omitzero"` // zero: it is older than the list of tenants
	ChangedAt time.Time `json:"changed_at,omitzero"`
	Quota     Quota     `json:"quota,omitzero"`

	Limits TenantLimits `json:"limits,omitzero"`
}

// A Quota is how much a tenant may hold; 0: no bound. See [loci.Quota].
type Quota struct {
	Records int64 `json:"records,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
}

// tenantBody is how it is kept.
type tenantBody struct {
	State     State     `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	CreatedAt time.Time `json:"created_at,omitzero"`
	Quota     Quota     `json:"quota,omitzero"`

	Limits TenantLimits `json:"limits,omitzero"`
}

func noTenant(t loci.Tenant) error {
	return &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf("there is no tenant %q", t.String()),
		Recovery: "List the tenants, or make this one: \"loci tenant create\"."}
}

// CreateTenant makes a tenant. Conflict: it is there already. Unsupported: the store can
// keep no tenant of this name.
func (k *Keys) CreateTenant(ctx context.Context, by By, t loci.Tenant) (Tenant, error) {
	if name := t.String(); name == "." || name == ".." { // by the standard of URLs, and so is %2E%2E
		return Tenant{}, loci.Errorf(loci.Invalid, "tenant is %q, which does not stay in the address of a request: choose another", name)
	}
	if _, err := k.store.Chain(ctx, t); err != nil {
		return Tenant{}, err
	}
	return k.changeTenant(ctx, by, t, "create tenant", func(kept *keptTenant, now time.Time) (map[string]any, error) {
		if kept.there && kept.body.State != StateErased || !kept.there && kept.elsewhere {
			return nil, &loci.Error{Code: loci.Conflict, Msg: fmt.Sprintf("the tenant %q is there already", t.String()),
				Recovery: "Use it, or choose another name."}
		}
		kept.body = tenantBody{State: StateActive, CreatedAt: now}
		return map[string]any{"change": "created"}, nil
	})
}

// SetTenant says what the callers of a tenant may do from now on. Every server of the
// store follows within [MaxStale]. To say it again is no error. NotFound: there is no such
// tenant.
func (k *Keys) SetTenant(
	ctx context.Context, by By, t loci.Tenant, s State, reason string,
) (Tenant, error) {
	if !slices.Contains(States, s) {
		return Tenant{}, loci.Errorf(loci.Invalid, "unknown state %q: must be active, read_only or closed", s)
	}
	if len(reason) > MaxNote {
		return Tenant{}, loci.Errorf(loci.Invalid,
			"the reason has %d bytes; the limit is %d: shorten it", len(reason), MaxNote)
	}
	return k.changeTenant(ctx, by, t, "set tenant", func(kept *keptTenant, _ time.Time) (map[string]any, error) {
		if err := kept.mustBe(t); err != nil {
			return nil, err
		}
		if kept.there && kept.body.State == s && kept.body.Reason == reason {
			return nil, nil
		}
		kept.body.State, kept.body.Reason = s, reason
		return map[string]any{"state": string(s)}, nil
	})
}

// LimitTenant says how much a tenant may hold from now on. Every server of the store follows
// within [MaxStale]. What is there already stays. NotFound: there is no such tenant.
func (k *Keys) LimitTenant(ctx context.Context, by By, t loci.Tenant, q Quota) (Tenant, error) {
	for _, given := range []struct {
		name  string
		limit int64
	}{{"records", q.Records}, {"bytes", q.Bytes}} {
		if given.limit < 0 {
			return Tenant{}, loci.Errorf(loci.Invalid, "%s is %d; it must be 0 or more: 0 is no limit", given.name, given.limit)
		}
	}
	return k.changeTenant(ctx, by, t, "limit tenant", func(kept *keptTenant, _ time.Time) (map[string]any, error) {
		if err := kept.mustBe(t); err != nil {
			return nil, err
		}
		if kept.there && kept.body.Quota == q {
			return nil, nil
		}
		kept.body.Quota = q
		return map[string]any{"change": "limited", "records": q.Records, "bytes": q.Bytes}, nil
	})
}

// EraseTenant says that a tenant is no more, when its memories are gone: its keys are
// erased, too, and nobody can act in it until somebody makes it again. Close it first.
func (k *Keys) EraseTenant(ctx context.Context, by By, t loci.Tenant) (Tenant, error) {
	if err := k.eraseKeys(ctx, by, t); err != nil {
		return Tenant{}, err
	}
	return k.changeTenant(ctx, by, t, "erase tenant", func(kept *keptTenant, _ time.Time) (map[string]any, error) {
		if kept.there && kept.body.State == StateErased {
			return nil, nil
		}
		kept.body = tenantBody{State: StateErased}
		return map[string]any{"change": "erased"}, nil
	})
}

// TellExport writes into the logs of a tenant and of the system that somebody takes a copy
// of everything the tenant has, before it is done. NotFound: there is no such tenant.
func (k *Keys) TellExport(ctx context.Context, by By, t loci.Tenant) error {
	if _, _, err := k.Tenant(ctx, t); err != nil {
		return err
	}
	system, err := k.memory(by, tenantsPlace)
	if err != nil {
		return err
	}
	own, err := k.engine.Memory(loci.View{Tenant: t, Actor: system.View().Actor, RequestID: by.RequestID})
	if err != nil {
		return err
	}
	for _, m := range []*loci.Memory{system, own} {
		_, err := loci.Commit(ctx, m, "tell of an export", nil, func(now time.Time) (loci.Decision[struct{}], error) {
			e := m.Event(loci.EventElevated, &loci.Record{}, now, map[string]any{"to": t.String(), "operation": "export_tenant"})
			return loci.Decision[struct{}]{Change: loci.Change{Events: []loci.Event{e}}}, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// eraseKeys removes the keys of a tenant, with what they say of its users.
func (k *Keys) eraseKeys(ctx context.Context, by By, t loci.Tenant) error {
	at := keysPlace.Child(t.String())
	m, err := k.memory(by, at)
	if err != nil {
		return err
	}
	f := loci.Filter{Within: []loci.Namespace{at}, Kinds: []loci.Kind{kindKey}, NotLive: true}
	for {
		erased, err := loci.Commit(ctx, m, "erase keys", nil, func(now time.Time) (d loci.Decision[[]loci.ID], err error) {
			found, _, err := m.Records(ctx, f, loci.Page{Limit: 100})
			for i := range found {
				r := &found[i]
				d.Reply = append(d.Reply, r.ID)
				d.Change.Erase = append(d.Change.Erase, loci.Erase{ID: r.ID, Version: r.Version})
				told := m.Event(loci.EventErased, r, now, map[string]any{"tenant": t.String()})
				d.Change.Events = append(d.Change.Events, told)
			}
			return d, err
		})
		for _, id := range erased {
			k.cache.drop(id)
		}
		if err != nil || len(erased) == 0 {
			return err
		}
	}
}

// keptTenant is what is known of a tenant when a change of it is decided.
type keptTenant struct {
	there     bool // there is a record of it
	elsewhere bool // without one: it has keys or memories, from before there were records
	body      tenantBody
}

// mustBe refuses to change what is not there.
func (kept *keptTenant) mustBe(t loci.Tenant) error {
	if kept.there && kept.body.State == StateErased || !kept.there && !kept.elsewhere {
		return noTenant(t)
	}
	return nil
}

// changeTenant writes what edit makes of a tenant, with an event that has the details edit
// returns. No details: there is nothing to change.
func (k *Keys) changeTenant(
	ctx context.Context, by By, t loci.Tenant, op string,
	edit func(*keptTenant, time.Time) (map[string]any, error),
) (Tenant, error) {
	m, err := k.memory(by, tenantsPlace)
	if err != nil {
		return Tenant{}, err
	}
	defer k.cache.dropTenant(t) // also where nobody knows whether it was done
	return loci.Commit(ctx, m, op, nil, func(now time.Time) (loci.Decision[Tenant], error) {
		var d loci.Decision[Tenant]
		r, b, err := k.readTenant(ctx, m, t)
		if err != nil {
			return d, err
		}
		kept := keptTenant{there: r.Version > 0, body: b}
		typ := loci.EventUpdated
		if !kept.there {
			if kept.elsewhere, err = k.elsewhere(ctx, t); err != nil {
				return d, err
			}
			kept.body.State, typ = StateActive, loci.EventCreated
			r = loci.Record{
				ID: m.NewID(), Kind: kindTenant, Namespace: tenantsPlace.Child(t.String()), Slot: "state",
				Live: true, CreatedAt: now,
			}
		}
		details, err := edit(&kept, now)
		if err != nil || details == nil {
			d.Reply = tenantShown(&r, t, kept.body)
			return d, err
		}
		if r.Body, err = loci.MarshalJSON(kept.body); err != nil {
			return d, loci.AsError(err)
		}
		r.Version, r.UpdatedAt = r.Version+1, now
		details["tenant"] = t.String()
		d.Reply, d.Record = tenantShown(&r, t, kept.body), r.ID
		d.Change = loci.Change{
			Put:    []loci.Put{{Record: r, Revisions: -1}},
			Events: []loci.Event{m.Event(typ, &r, now, details)},
		}
		return d, nil
	})
}

// host makes sure that there is a tenant for a key.
func (k *Keys) host(ctx context.Context, by By, t loci.Tenant) error {
	k.cache.dropTenant(t) // as it is now: a key lasts
	err := k.MustBe(ctx, t)
	if err != nil || !k.opts.OnFirstSight {
		return err
	}
	_, err = k.CreateTenant(ctx, by, t)
	if errors.Is(err, loci.ErrConflict) { // it is there
		return nil
	}
	return err
}

// Tenant returns what is kept of a tenant, and who changed it, newest first. NotFound:
// there is no such tenant.
func (k *Keys) Tenant(ctx context.Context, t loci.Tenant) (Tenant, []loci.Event, error) {
	m, err := k.memory(By{}, tenantsPlace)
	if err != nil {
		return Tenant{}, nil, err
	}
	r, b, err := k.readTenant(ctx, m, t)
	if err != nil {
		return Tenant{}, nil, err
	}
	if r.Version == 0 {
		there, err := k.elsewhere(ctx, t)
		if err == nil && !there {
			err = noTenant(t)
		}
		return Tenant{Name: t.String(), State: StateActive}, nil, err
	}
	if b.State == StateErased {
		return Tenant{}, nil, noTenant(t)
	}
	events, _, err := m.Events(ctx, loci.EventFilter{Entity: r.ID}, loci.Page{Limit: 100})
	return tenantShown(&r, t, b), events, err
}

// Tenants returns what is kept of all tenants that have a record, and the names of those
// that only have keys, in order of name. Those that were erased are not among them.
func (k *Keys) Tenants(ctx context.Context) ([]Tenant, error) {
	m, err := k.memory(By{}, loci.Namespace{})
	if err != nil {
		return nil, err
	}
	byName := map[string]Tenant{}
	keys := loci.Filter{Within: []loci.Namespace{keysPlace}, Kinds: []loci.Kind{kindKey}, NotLive: true}
	places, err := m.Namespaces(ctx, keys)
	if err != nil {
		return nil, err
	}
	for _, place := range places {
		if len(place) > len(keysPlace) {
			name := place[len(keysPlace)]
			byName[name] = Tenant{Name: name, State: StateActive}
		}
	}
	f := loci.Filter{Within: []loci.Namespace{tenantsPlace}, Kinds: []loci.Kind{kindTenant}, NotLive: true}
	for page := (loci.Page{Limit: 1000}); ; {
		found, next, err := m.Records(ctx, f, page)
		if err != nil {
			return nil, err
		}
		for i := range found {
			r := &found[i]
			b, err := tenantBodyOf(r)
			if err != nil {
				return nil, err
			}
			if name := r.Namespace[len(r.Namespace)-1]; b.State == StateErased {
				delete(byName, name)
			} else {
				byName[name] = Tenant{name, b.State, b.Reason, b.CreatedAt, r.UpdatedAt, b.Quota, b.Limits}
			}
		}
		if page.Cursor = next; next == "" {
			break
		}
	}
	list := make([]Tenant, 0, len(byName))
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		list = append(list, byName[name])
	}
	return list, nil
}

func tenantShown(r *loci.Record, t loci.Tenant, b tenantBody) Tenant {
	return Tenant{
		Name: t.String(), State: b.State, Reason: b.Reason, Quota: b.Quota, Limits: b.Limits,
		CreatedAt: b.CreatedAt, ChangedAt: r.UpdatedAt,
	}
}

// readTenant returns what is kept of a tenant; version 0: nothing.
func (k *Keys) readTenant(
	ctx context.Context, m *loci.Memory, t loci.Tenant,
) (r loci.Record, b tenantBody, err error) {
	at := []loci.Namespace{tenantsPlace.Child(t.String())}
	f := loci.Filter{Within: at, Kinds: []loci.Kind{kindTenant}, NotLive: true}
	found, _, err := m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil || len(found) == 0 {
		return r, b, err
	}
	b, err = tenantBodyOf(&found[0])
	return found[0], b, err
}

func tenantBodyOf(r *loci.Record) (b tenantBody, err error) {
	if err := json.Unmarshal(r.Body, &b); err != nil {
		return b, &loci.Error{Code: loci.Internal, Op: "read tenant", Msg: "what is kept of a tenant is damaged", Err: err}
	}
	return b, nil
}

// elsewhere reports whether a tenant without a record is there all the same: it was, before
// tenants were made. Then somebody made a key for it, or it has memories.
func (k *Keys) elsewhere(ctx context.Context, t loci.Tenant) (bool, error) {
	if t.String() == firstTenant {
		return true, nil
	}
	m, err := k.memory(By{}, keysPlace)
	if err != nil {
		return false, err
	}
	at := []loci.Namespace{keysPlace.Child(t.String())}
	f := loci.Filter{Within: at, Kinds: []loci.Kind{kindKey}, NotLive: true}
	keys, _, err := m.Records(ctx, f, loci.Page{Limit: 1})
	if err != nil || len(keys) > 0 {
		return len(keys) > 0, err
	}
	return k.store.Holds(ctx, t)
}
