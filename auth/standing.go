package auth

import (
	"context"
	"fmt"
	"time"

	"github.com/loci-memory/loci"
)

// standing is a tenant's state as it was read.
type standing struct {
	state  State // "": there is no such tenant
	quota  Quota
	limits TenantLimits
	readAt time.Time
}

func (c *cache) dropTenant(t loci.Tenant) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.tenants, t)
}

// state returns what the callers of a tenant may do, as of [MaxStale] ago at the latest;
// "" if there is no such tenant.
func (k *Keys) state(ctx context.Context, t loci.Tenant) (State, error) {
	s, err := k.stands(ctx, t)
	return s.state, err
}

// Quota returns how much a tenant may hold, as of [MaxStale] ago at the latest.
func (k *Keys) Quota(ctx context.Context, t loci.Tenant) (loci.Quota, error) {
	s, err := k.stands(ctx, t)
	return loci.Quota(s.quota), err
}

// TenantLimits returns the limits that a tenant has of its own, as of [MaxStale] ago at the latest.
func (k *Keys) TenantLimits(ctx context.Context, t loci.Tenant) (TenantLimits, error) {
	s, err := k.stands(ctx, t)
	return s.limits, err
}

func (k *Keys) stands(ctx context.Context, t loci.Tenant) (standing, error) {
	now := k.opts.Now()
	k.cache.mu.Lock()
	known, there := k.cache.tenants[t]
	k.cache.mu.Unlock()
	if there && fresh(known.readAt, now, MaxStale) {
		return known, nil
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
		s.readAt = at
		k.cache.tenants[t] = s
		return s, nil
	})
	select {
	case r := <-done:
		if r.Err != nil {
			return standing{}, unknowable(r.Err)
		}
		s, _ := r.Val.(standing)
		return s, nil
	case <-ctx.Done():
		return standing{}, unknowable(ctx.Err())
	}
}

func (k *Keys) standing(ctx context.Context, t loci.Tenant) (standing, error) {
	m, err := k.memory(By{}, tenantsPlace)
	if err != nil {
		return standing{}, err
	}
	r, b, err := k.readTenant(ctx, m, t)
	if err != nil || r.Version > 0 {
		return standing{state: b.State, quota: b.Quota, limits: b.Limits}, err
	}
	there, err := k.elsewhere(ctx, t)
	if err != nil || !there {
		return standing{}, err
	}
	return standing{state: StateActive}, nil
}

// Admit returns a caller as the state of its tenant lets it act: without the scopes that
// write if the tenant is read-only, and not at all if it is closed, or if there is no such
// tenant and [Options].OnFirstSight does not make it one.
func (k *Keys) Admit(ctx context.Context, p loci.Principal) (loci.Principal, error) {
	s, err := k.state(ctx, p.Tenant())
	switch {
	case err != nil:
		return loci.Principal{}, err
	case s == StateActive || s == "" && k.opts.OnFirstSight:
		return p, nil
	case s == StateReadOnly:
		return p.Suspended(loci.ScopeWrite, loci.ScopeDelete, loci.ScopeOperate), nil
	case s == "" || s == StateErased:
		return loci.Principal{}, notMade(p.Tenant())
	}
	return loci.Principal{}, errClosed
}

// MustBe refuses a tenant that nobody has made, for whoever comes from another one and
// names it. It says as of [MaxStale] ago at the latest.
func (k *Keys) MustBe(ctx context.Context, t loci.Tenant) error {
	s, err := k.state(ctx, t)
	switch {
	case err != nil:
		return err
	case s == "" && k.opts.OnFirstSight:
		return nil
	case s == "" || s == StateErased:
		return noTenant(t)
	}
	return nil
}

// errClosed refuses whoever belongs to a tenant that is closed.
var errClosed = &loci.Error{
	Code: loci.Forbidden, Msg: "this tenant is suspended", Recovery: "Ask the operator of the server.",
}

// notMade refuses whoever has a good credential of a tenant that is not there. Its name is no secret
// to them: their credential has it.
func notMade(t loci.Tenant) error {
	return &loci.Error{Code: loci.Forbidden, Msg: fmt.Sprintf("there is no tenant %q, which the credential is of", t.String()),
		Recovery: "Ask the operator of the server to make it: \"loci tenant create\"."}
}

// IsOpen reports whether a tenant is there and not closed, as of [MaxStale] ago at the latest.
func (k *Keys) IsOpen(ctx context.Context, t loci.Tenant) (bool, error) {
	s, err := k.state(ctx, t)
	return s == StateActive || s == StateReadOnly, err
}
