package auth

import (
	"context"
	"math"
	"time"

	"github.com/loci-memory/loci"
)

// The largest limits of a key and of a tenant: whoever wants more wants none.
const (
	MaxPerSecond   = 1_000_000
	MaxConcurrent  = 1_000_000
	MaxModelTokens = 1_000_000_000_000
)

// Limits bound the requests with one key, at each server for itself. 0: no bound.
type Limits struct {
	RequestsPerSecond  float64 `json:"requests_per_second,omitempty" doc:"Absent: no limit"`
	Burst              int     `json:"burst,omitempty" doc:"Requests at once that requests_per_second lets through; absent: twice as many as it says"`
	ConcurrentRequests int     `json:"concurrent_requests,omitempty" doc:"Under way at once; absent: no limit"`
}

// check refuses limits that mean nothing.
func (l Limits) check() error {
	rate := l.RequestsPerSecond
	switch {
	case math.IsNaN(rate) || rate < 0 || rate > MaxPerSecond:
		return loci.Errorf(loci.Invalid, "requests_per_second is %v; it must be 0 to %d: 0 is no limit", rate, MaxPerSecond)
	case l.Burst < 0 || l.Burst > MaxPerSecond:
		return loci.Errorf(loci.Invalid, "burst is %d; it must be 0 to %d", l.Burst, MaxPerSecond)
	case l.Burst > 0 && rate == 0:
		return loci.Errorf(loci.Invalid, "burst needs requests_per_second: set both")
	case l.ConcurrentRequests < 0 || l.ConcurrentRequests > MaxConcurrent:
		return loci.Errorf(loci.Invalid, "concurrent_requests is %d; it must be 0 to %d: 0 is no limit",
			l.ConcurrentRequests, MaxConcurrent)
	}
	return nil
}

// Limit sets the limits of a key, in place of those it had. Every server of the store
// follows within [MaxStale].
func (k *Keys) Limit(ctx context.Context, by By, t loci.Tenant, id loci.ID, l Limits) (Key, error) {
	if err := l.check(); err != nil {
		return Key{}, err
	}
	return k.change(ctx, by, t, id, "limit key", func(b *keyBody, _ time.Time) (map[string]any, error) {
		if b.Limits == l {
			return nil, nil
		}
		b.Limits = l
		return map[string]any{
			"change": "limited", "requests_per_second": l.RequestsPerSecond, "burst": l.Burst,
			"concurrent_requests": l.ConcurrentRequests,
		}, nil
	})
}

// TenantLimits bound the requests of one tenant, at each server for itself, and what language
// models do for it, on all of them together. 0: as the server's configuration says.
type TenantLimits struct {
	RequestsPerSecond  float64 `json:"requests_per_second,omitempty" doc:"Absent: as limits.requests_per_second says"`
	Burst              int     `json:"burst,omitempty" doc:"Requests at once that requests_per_second lets through; absent: twice as many as it says"`
	ConcurrentRequests int     `json:"concurrent_requests,omitempty" doc:"Under way at once; absent: as limits.concurrent_requests says"`
	ModelTokensPerDay  int64   `json:"model_tokens_per_day,omitempty" doc:"Of language models on a day (UTC); absent: as limits.model_tokens_per_day says"`
}

// Requests are the limits of what a tenant sends.
func (l TenantLimits) Requests() Limits {
	return Limits{l.RequestsPerSecond, l.Burst, l.ConcurrentRequests}
}

// RateLimitTenant sets the limits of a tenant, in place of those it had. Every server of the
// store follows within [MaxStale]. NotFound: there is no such tenant.
func (k *Keys) RateLimitTenant(ctx context.Context, by By, t loci.Tenant, l TenantLimits) (Tenant, error) {
	if err := l.Requests().check(); err != nil {
		return Tenant{}, err
	}
	if l.ModelTokensPerDay < 0 || l.ModelTokensPerDay > MaxModelTokens {
		return Tenant{}, loci.Errorf(loci.Invalid, "model_tokens_per_day is %d; it must be 0 to %d: 0 is as the server says",
			l.ModelTokensPerDay, int64(MaxModelTokens))
	}
	return k.changeTenant(ctx, by, t, "limit tenant", func(kept *keptTenant, _ time.Time) (map[string]any, error) {
		if err := kept.mustBe(t); err != nil {
			return nil, err
		}
		if kept.there && kept.body.Limits == l {
			return nil, nil
		}
		kept.body.Limits = l
		return map[string]any{
			"change": "rate_limited", "requests_per_second": l.RequestsPerSecond, "burst": l.Burst,
			"concurrent_requests": l.ConcurrentRequests, "model_tokens_per_day": l.ModelTokensPerDay,
		}, nil
	})
}
