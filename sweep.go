package loci

import (
	"context"
	"time"
)

// A SweepReport says what upkeep did.
type SweepReport struct {
	Tenants  int   `json:"tenants"`
	Expired  int64 `json:"expired"`  // records past their time, erased
	Embedded int   `json:"embedded"` // records that got the vectors they lacked
}

// Sweep does the upkeep of every tenant: it erases what has expired and embeds
// what has no vectors yet. Reads never depend on it: what has expired is out of
// every read at that moment. Several processes may sweep at once.
func (e *Engine) Sweep(ctx context.Context) (report SweepReport, err error) {
	for t, err := range e.store.Tenants(ctx) {
		if err != nil {
			return report, err
		}
		one, err := e.SweepTenant(ctx, t)
		report.Tenants++
		report.Expired += one.Expired
		report.Embedded += one.Embedded
		if err != nil {
			return report, err
		}
	}
	return report, nil
}

// SweepTenant does the upkeep of one tenant.
func (e *Engine) SweepTenant(ctx context.Context, t Tenant) (report SweepReport, err error) {
	report.Tenants = 1
	if report.Expired, err = e.eraseExpired(ctx, t); err != nil {
		return report, err
	}
	report.Embedded, err = e.Backfill(ctx, t, nil)
	return report, err
}

func (e *Engine) eraseExpired(ctx context.Context, t Tenant) (n int64, err error) {
	m := &Memory{engine: e, view: View{Tenant: t, Actor: "loci sweep"}}
	for {
		f := Filter{Within: []Namespace{{}}, At: e.now(), Expired: true, NotLive: true}
		erased, err := commit(ctx, m, "sweep", nil, func(now time.Time) (decision[int], error) {
			records, _, err := e.store.Records(ctx, t, f, Page{Limit: 200})
			return decision[int]{change: m.eraseChange(records, now), reply: len(records)}, err
		})
		n += int64(erased)
		if err != nil || erased == 0 {
			return n, err
		}
	}
}

// RecordElevation writes to the audit logs of both tenants that a principal of one
// acts in the other. It comes before the act, which must not happen when it fails.
func (e *Engine) RecordElevation(ctx context.Context, p Principal, requestID, operation string) error {
	if p.ElevatedFrom().IsZero() {
		return nil
	}
	for _, t := range []Tenant{p.ElevatedFrom(), p.Tenant()} {
		m := &Memory{engine: e, view: View{Tenant: t, Actor: p.Subject(), RequestID: requestID}}
		ev := m.event(EventElevated, &Record{}, e.now(), map[string]any{
			"from": p.ElevatedFrom().String(), "to": p.Tenant().String(), "operation": operation})
		if err := e.store.Apply(ctx, t, Change{Events: []Event{ev}}); err != nil {
			return err
		}
	}
	return nil
}
