package admin

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
)

// ParseKeyID reads the id of a key. What has the form of a whole key is refused without
// being shown.
func ParseKeyID(text string) (loci.ID, error) { return auth.ParseKeyID(text) }

// CreateKey makes a key for callers of a tenant, which must be there. The token is shown
// this once.
func (a *API) CreateKey(ctx context.Context, by By, tenant string, n NewKey) (key Key, token string, err error) {
	if n.Tenant, err = loci.NewTenant(tenant); err != nil {
		return Key{}, "", err
	}
	return a.opts.Keys.Create(ctx, by, n)
}

// ListKeys returns the keys of a tenant, or of all for "", newest first.
func (a *API) ListKeys(ctx context.Context, tenant string, page loci.Page) (keys []Key, next string, err error) {
	var t loci.Tenant
	if tenant != "" {
		if t, err = loci.NewTenant(tenant); err != nil {
			return nil, "", err
		}
	}
	return a.opts.Keys.List(ctx, t, page)
}

// ShowKey returns a key, and who changed it, newest first.
func (a *API) ShowKey(ctx context.Context, id loci.ID) (Key, []loci.Event, error) {
	return a.opts.Keys.Get(ctx, loci.Tenant{}, id)
}

// RotateKey gives a key a new secret; the old one is good for the overlap.
func (a *API) RotateKey(ctx context.Context, by By, id loci.ID, overlap time.Duration) (Key, string, error) {
	return a.opts.Keys.Rotate(ctx, by, loci.Tenant{}, id, overlap)
}

// LimitKey bounds the requests with a key, in place of what bounded them before.
func (a *API) LimitKey(ctx context.Context, by By, id loci.ID, l Limits) (Key, error) {
	return a.opts.Keys.Limit(ctx, by, loci.Tenant{}, id, l)
}

// RevokeKey ends a key for good.
func (a *API) RevokeKey(ctx context.Context, by By, id loci.ID) (Key, error) {
	return a.opts.Keys.Revoke(ctx, by, loci.Tenant{}, id)
}
