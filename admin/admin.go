// Package admin operates a store that many tenants share: tenants, and the keys of their
// callers. It is one Go API, which the commands and the routes below /v1/admin call:
//
//	a, err := admin.New(admin.Options{Store: store, Engine: engine, Keys: keys})
//	tenant, err := a.Create(ctx, admin.By{Actor: "operator"}, "acme")
//
// It decides nothing about who may call it: whoever does has asked for the scope operate.
package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
)

type ( // what callers of an [API] need of package auth
	// By is who changes keys and tenants.
	By = auth.By
	// Key is what may be known of a key.
	Key = auth.Key
	// NewKey is what to make a key of.
	NewKey = auth.NewKey
	// State is what the callers of a tenant may do.
	State = auth.State
	// Quota is how much a tenant may hold.
	Quota = auth.Quota
	// Limits bound the requests with a key.
	Limits = auth.Limits
	// TenantLimits bound the requests of a tenant.
	TenantLimits = auth.TenantLimits
)

// The states that [API.Suspend] and [API.Resume] set.
const (
	StateActive   = auth.StateActive
	StateReadOnly = auth.StateReadOnly
	StateClosed   = auth.StateClosed
)

// closing is how long servers of the store may go on with a tenant that is closed.
const closing = auth.MaxStale + time.Second

// Options configure an [API].
type Options struct {
	Store  loci.Store   // required
	Engine *loci.Engine // required: of the tenants' memories
	Keys   *auth.Keys   // required

	// Wait waits, or until ctx ends. Nil: it does.
	Wait func(ctx context.Context, d time.Duration) error
}

// An API operates a store. It is safe for concurrent use.
type API struct{ opts Options }

// New makes an API over what stays the caller's to close.
func New(o Options) (*API, error) {
	if o.Store == nil || o.Engine == nil || o.Keys == nil {
		return nil, loci.Errorf(loci.Invalid, "the API of operators needs a store, an engine and keys")
	}
	if o.Wait == nil {
		o.Wait = wait
	}
	return &API{o}, nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return loci.AsError(ctx.Err())
	}
}

// A Tenant is what an operator may know of a tenant.
type Tenant struct {
	auth.Tenant
	Use *Use `json:"use,omitempty"` // nil in lists
}

// Use is what a tenant holds, and what it has used today.
type Use struct {
	Records int64 `json:"records" doc:"Memories, and the parts of files, conversations and checkpoints"`
	Bytes   int64 `json:"bytes" doc:"Of their texts, metadata and values, as quotas count them"`

	ModelTokens int64 `json:"model_tokens_today" doc:"Of language models since the day (UTC) began; a call under way counts as the most it may take"`
}

// Create makes a tenant. Conflict: it is there already.
func (a *API) Create(ctx context.Context, by By, name string) (Tenant, error) {
	t, err := loci.NewTenant(name)
	if err != nil {
		return Tenant{}, err
	}
	kept, err := a.opts.Keys.CreateTenant(ctx, by, t)
	return Tenant{Tenant: kept}, err
}

// List returns the tenants whose names come after one, at most limit, in order. next is
// the name to go on after; "" at the end.
func (a *API) List(ctx context.Context, after string, limit int) (list []Tenant, next string, err error) {
	kept, err := a.opts.Keys.Tenants(ctx)
	if err != nil {
		return nil, "", err
	}
	byName := make(map[string]auth.Tenant, len(kept))
	for _, t := range kept {
		byName[t.Name] = t
	}
	for t, err := range a.opts.Store.Tenants(ctx) { // what is older than the list of tenants has no entry there
		if err != nil {
			return nil, "", err
		}
		if _, there := byName[t.String()]; !there {
			byName[t.String()] = auth.Tenant{Name: t.String(), State: StateActive}
		}
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		if name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if len(names) > limit {
		names, next = names[:limit], names[limit-1]
	}
	list = make([]Tenant, len(names))
	for i, name := range names {
		list[i].Tenant = byName[name]
	}
	return list, next, nil
}

// Show returns a tenant with what it holds, and who changed it, newest first.
func (a *API) Show(ctx context.Context, name string) (Tenant, []loci.Event, error) {
	t, err := loci.NewTenant(name)
	if err != nil {
		return Tenant{}, nil, err
	}
	kept, events, err := a.opts.Keys.Tenant(ctx, t)
	if err != nil {
		return Tenant{}, nil, err
	}
	held, err := a.opts.Store.Held(ctx, t)
	if err != nil {
		return Tenant{}, nil, err
	}
	tokens, err := a.opts.Engine.ModelTokensUsed(ctx, t)
	return Tenant{kept, &Use{held.Records, held.Bytes, tokens}}, append([]loci.Event{}, events...), err
}

// Suspend says that the callers of a tenant may read alone, or do nothing.
func (a *API) Suspend(ctx context.Context, by By, name string, s State, reason string) (Tenant, error) {
	if s != StateReadOnly && s != StateClosed {
		return Tenant{}, loci.Errorf(loci.Invalid, "a suspended tenant is read_only or closed, not %.64q", s)
	}
	return a.set(ctx, by, name, s, reason)
}

// Resume lets the callers of a tenant do everything again.
func (a *API) Resume(ctx context.Context, by By, name string) (Tenant, error) {
	return a.set(ctx, by, name, StateActive, "")
}

func (a *API) set(ctx context.Context, by By, name string, s State, reason string) (Tenant, error) {
	t, err := loci.NewTenant(name)
	if err != nil {
		return Tenant{}, err
	}
	kept, err := a.opts.Keys.SetTenant(ctx, by, t, s, reason)
	return Tenant{Tenant: kept}, err
}

// Limit says how much a tenant may hold; 0 is no bound.
func (a *API) Limit(ctx context.Context, by By, name string, q Quota) (Tenant, error) {
	t, err := loci.NewTenant(name)
	if err != nil {
		return Tenant{}, err
	}
	kept, err := a.opts.Keys.LimitTenant(ctx, by, t, q)
	return Tenant{Tenant: kept}, err
}

// RateLimit bounds the requests of a tenant and what language models do for it, in place of
// what bounded them before.
func (a *API) RateLimit(ctx context.Context, by By, name string, l TenantLimits) (Tenant, error) {
	t, err := loci.NewTenant(name)
	if err != nil {
		return Tenant{}, err
	}
	kept, err := a.opts.Keys.RateLimitTenant(ctx, by, t, l)
	return Tenant{Tenant: kept}, err
}

// Erase removes a tenant with everything of it, its keys and its audit log included; the
// system's own log says that it was. expect is the name said once more. It closes the
// tenant first and waits until every server of the store follows. Whatever stops it half
// way, the tenant stays closed, and another call goes on.
func (a *API) Erase(ctx context.Context, by By, name, expect string) error {
	t, err := loci.NewTenant(name)
	if err != nil {
		return err
	}
	if expect != name {
		return &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("nothing was erased: the tenant is %q", name),
			Recovery: "To erase everything of it, say this name once more in expect."}
	}
	before, _, err := a.opts.Keys.Tenant(ctx, t)
	if err != nil {
		return err
	}
	if before.State != StateClosed {
		if _, err := a.opts.Keys.SetTenant(ctx, by, t, StateClosed, "it is being erased"); err != nil {
			return err
		}
	}
	if err := a.opts.Wait(ctx, closing); err != nil {
		return err
	}
	if err := a.stillClosed(ctx, t, before, "nothing was erased"); err != nil {
		return err
	}
	if err := a.opts.Store.EraseTenant(ctx, t); err != nil {
		return err
	}
	// Who erased it first may have made it again meanwhile.
	err = a.stillClosed(ctx, t, before, "its keys and settings were not erased")
	if errors.Is(err, loci.ErrNotFound) {
		return nil // he has done the rest, too
	}
	if err != nil {
		return err
	}
	_, err = a.opts.Keys.EraseTenant(ctx, by, t)
	return err
}

// stillClosed requires that a tenant is the one that it was, and closed.
func (a *API) stillClosed(ctx context.Context, t loci.Tenant, before auth.Tenant, kept string) error {
	now, _, err := a.opts.Keys.Tenant(ctx, t)
	switch {
	case err != nil:
		return err
	case !now.CreatedAt.Equal(before.CreatedAt):
		return &loci.Error{
			Code: loci.Conflict, Msg: fmt.Sprintf("%s: somebody else erased the tenant %q meanwhile, and made it again", kept, t.String()),
			Recovery: "Look at what it holds before you repeat the call, which would erase the new one.",
		}
	case now.State != StateClosed:
		return &loci.Error{Code: loci.Conflict, Msg: kept + ": somebody opened the tenant again",
			Recovery: "Find out who did, with the log of the tenant, before you repeat the call."}
	}
	return nil
}

// Export writes everything of a tenant as [loci.Memory.Export] does, and first into the
// logs of the tenant and of the system who does so.
func (a *API) Export(
	ctx context.Context, by By, name string, w io.Writer, progress func(done int64),
) (records int64, err error) {
	m, err := a.exported(ctx, by, name)
	if err != nil {
		return 0, err
	}
	return m.Export(ctx, w, progress)
}

// ExportPart writes a part of an [API.Export], as [loci.Memory.ExportPart] does. The logs say who took each part: a
// cursor says nothing of who took those before.
func (a *API) ExportPart(
	ctx context.Context, by By, name string, w io.Writer, part loci.ExportPart,
) (records int64, next string, err error) {
	m, err := a.exported(ctx, by, name)
	if err != nil {
		return 0, "", err
	}
	return m.ExportPart(ctx, w, nil, part)
}

// exported is a tenant that somebody takes a copy of, which the logs know by then.
func (a *API) exported(ctx context.Context, by By, name string) (*loci.Memory, error) {
	t, err := loci.NewTenant(name)
	if err != nil {
		return nil, err
	}
	if err := a.opts.Keys.TellExport(ctx, by, t); err != nil {
		return nil, err
	}
	return a.opts.Engine.Memory(loci.View{Tenant: t, Actor: by.Actor, RequestID: by.RequestID})
}
