package auth

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/loci-memory/loci"
)

// kindTenant is the kind of the records that say something of a tenant.
const kindTenant loci.Kind = "tenant"

// tenantsPlace holds a record for each tenant that was ever suspended.
var tenantsPlace = loci.Namespace{"tenants"}

// A State says what the callers of a tenant may do.
type State string

// The states of a tenant.
const (
	StateActive   State = "active"
	StateReadOnly State = "read_only" // its callers may read
	StateClosed   State = "closed"    // they may do nothing
)

// States lists them.
var States = []State{StateActive, StateReadOnly, StateClosed}

// A TenantState is what was said last of a tenant.
type TenantState struct {
	Tenant    string    `json:"tenant"`
	State     State     `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	ChangedAt time.Time `json:"changed_at,omitzero"`
}

// tenantBody is how it is kept.
type tenantBody struct {
	State  State  `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// SetTenant says what the callers of a tenant may do from now on. Every server of the
// store follows within [MaxStale]. To say it again is no error.
func (k *Keys) SetTenant(
	ctx context.Context, by By, t loci.Tenant, s State, reason string,
) (TenantState, error) {
	if !slices.Contains(States, s) {
		return TenantState{}, loci.Errorf(loci.Invalid, "unknown state %q: must be active, read_only or closed", s)
	}
	if len(reason) > MaxNote {
		return TenantState{}, loci.Errorf(loci.Invalid,
			"the reason has %d bytes; the limit is %d: shorten it", len(reason), MaxNote)
	}
	m, err := k.memory(by, tenantsPlace)
	if err != nil {
		return TenantState{}, err
	}
	defer k.cache.dropTenant(t)
	return loci.Commit(ctx, m, "set tenant", nil, func(now time.Time) (loci.Decision[TenantState], error) {
		var d loci.Decision[TenantState]
		r, b, err := k.readTenant(ctx, m, t)
		if err != nil {
			return d, err
		}
		typ := loci.EventUpdated
		if r.Version == 0 {
			typ = loci.EventCreated
			r = loci.Record{
				ID: m.NewID(), Kind: kindTenant, Namespace: tenantsPlace.Child(t.String()), Slot: "state",
				Live: true, CreatedAt: now,
			}
		} else if b.State == s && b.Reason == reason {
			d.Reply = tenantShown(&r, t, b)
			return d, nil
		}
		b = tenantBody{State: s, Reason: reason}
		if r.Body, err = loci.MarshalJSON(b); err != nil {
			return d, loci.AsError(err)
		}
		r.Version, r.UpdatedAt = r.Version+1, now
		details := map[string]any{"tenant": t.String(), "state": string(s)}
		d.Reply, d.Record = tenantShown(&r, t, b), r.ID
		d.Change = loci.Change{
			Put:    []loci.Put{{Record: r, Revisions: -1}},
			Events: []loci.Event{m.Event(typ, &r, now, details)},
		}
		return d, nil
	})
}

// Tenant returns the state of a tenant, and who changed it, newest first.
func (k *Keys) Tenant(ctx context.Context, t loci.Tenant) (TenantState, []loci.Event, error) {
	m, err := k.memory(By{}, tenantsPlace)
	if err != nil {
		return TenantState{}, nil, err
	}
	r, b, err := k.readTenant(ctx, m, t)
	if err != nil || r.Version == 0 {
		return TenantState{Tenant: t.String(), State: StateActive}, nil, err
	}
	events, _, err := m.Events(ctx, loci.EventFilter{Entity: r.ID}, loci.Page{Limit: 100})
	return tenantShown(&r, t, b), events, err
}

func tenantShown(r *loci.Record, t loci.Tenant, b tenantBody) TenantState {
	return TenantState{Tenant: t.String(), State: b.State, Reason: b.Reason, ChangedAt: r.UpdatedAt}
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
	if err := json.Unmarshal(found[0].Body, &b); err != nil {
		return r, b, &loci.Error{Code: loci.Internal, Op: "read tenant", Msg: "what is kept of a tenant is damaged", Err: err}
	}
	return found[0], b, nil
}

// standing is a tenant's state as it was read.
type standing struct {
	state  State
	readAt time.Time
}

func (c *cache) dropTenant(t loci.Tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tenants, t)
}

// state returns what the callers of a tenant may do, as of [MaxStale] ago at the latest.
func (k *Keys) state(ctx context.Context, t loci.Tenant) (State, error) {
	now := k.opts.Now()
	k.cache.mu.Lock()
	known, there := k.cache.tenants[t]
	k.cache.mu.Unlock()
	if there && fresh(known.readAt, now, MaxStale) {
		return known.state, nil
	}
	done := k.cache.flight.DoChan("tenant "+t.String(), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookupTime)
		defer cancel()
		at := k.opts.Now()
		s, err := k.standing(ctx, t)
		if err != nil {
			return s, err
		}
		k.cache.mu.Lock()
		defer k.cache.mu.Unlock()
		if len(k.cache.tenants) >= mostKnown {
			clear(k.cache.tenants)
		}
		k.cache.tenants[t] = standing{s, at}
		return s, nil
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return "", unknowable(r.Err)
		}
		s, _ := r.Val.(State)
		return s, nil
	case <-ctx.Done():
		return "", unknowable(ctx.Err())
	}
}

func (k *Keys) standing(ctx context.Context, t loci.Tenant) (State, error) {
	m, err := k.memory(By{}, tenantsPlace)
	if err != nil {
		return "", err
	}
	r, b, err := k.readTenant(ctx, m, t)
	if err != nil || r.Version == 0 {
		return StateActive, err
	}
	return b.State, nil
}

// readOnlyScopes are what is left of a caller's scopes while its tenant is read-only.
func readOnlyScopes(scopes []loci.Scope) []loci.Scope {
	return slices.DeleteFunc(slices.Clone(scopes), func(s loci.Scope) bool {
		return s == loci.ScopeWrite || s == loci.ScopeDelete
	})
}

// Admit returns a caller as the state of its tenant lets it act: without the scopes that
// write if the tenant is read-only, and not at all if it is closed.
func (k *Keys) Admit(ctx context.Context, p loci.Principal) (loci.Principal, error) {
	s, err := k.state(ctx, p.Tenant())
	switch {
	case err != nil:
		return loci.Principal{}, err
	case s == StateActive:
		return p, nil
	case s == StateReadOnly:
		return loci.NewPrincipal(p.Tenant(), p.Subject(), p.Vars(), readOnlyScopes(p.Scopes())...)
	}
	return loci.Principal{}, errClosed
}

// errClosed refuses whoever belongs to a tenant that is closed.
var errClosed = &loci.Error{
	Code: loci.Forbidden, Msg: "this tenant is suspended", Recovery: "Ask the operator of the server.",
}
