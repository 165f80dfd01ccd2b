package main

import (
	"context"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/embedding"
	"github.com/loci-memory/loci/store"
)

// Upkeep starts after the first replies, which must not wait for it, and looks
// now and then whether a write has gone without its vectors. A whole sweep comes
// once a day.
const (
	upkeepDelay    = 5 * time.Second
	upkeepInterval = time.Minute
	sweepInterval  = 24 * time.Hour
)

// upkeep erases what has expired, makes missing vectors, and builds the generation
// of the configured embedder where that costs nothing, while a server runs.
func (a *app) upkeep(ctx context.Context, tenant loci.Tenant) {
	reindexed := !embedding.Local(a.embedder)
	var swept time.Time
	var consolidated time.Time // by this process
	for wait := upkeepDelay; ; wait = upkeepInterval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if time.Since(swept) >= sweepInterval || a.engine.Lagging(tenant) {
			if a.sweepQuietly(ctx, tenant) {
				swept = time.Now()
			}
		}
		if !reindexed {
			reindexed = a.reindexQuietly(ctx, tenant)
		}
		a.keepIndexQuietly(ctx, tenant)
		a.wipeQuietly(ctx, tenant)
		if a.completer != nil && time.Since(consolidated) >= a.cfg.ConsolidateEvery {
			consolidated = time.Now()
			a.consolidateQuietly(ctx, tenant)
		}
	}
}

// upkeepOfAll is upkeep for every tenant: whoever has a good credential brings one.
func (a *app) upkeepOfAll(ctx context.Context) {
	reindexed := map[loci.Tenant]bool{}
	consolidated := map[loci.Tenant]time.Time{} // by this process
	for wait := upkeepDelay; ; wait = upkeepInterval {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		for tenant, err := range a.store.Due(ctx, time.Now()) {
			if err != nil {
				a.logger().Warn("upkeep stopped early; it goes on later", "error", err)
				break
			}
			a.sweepQuietly(ctx, tenant)
			if embedding.Local(a.embedder) && !reindexed[tenant] {
				reindexed[tenant] = a.reindexQuietly(ctx, tenant)
			}
			a.keepIndexQuietly(ctx, tenant)
			a.wipeQuietly(ctx, tenant)
			if a.completer != nil && time.Since(consolidated[tenant]) >= a.cfg.ConsolidateEvery {
				consolidated[tenant] = time.Now()
				a.consolidateQuietly(ctx, tenant)
			}
		}
	}
}

// consolidateQuietly consolidates unless some process has within the interval: many
// short sessions must not mean many calls.
func (a *app) consolidateQuietly(ctx context.Context, tenant loci.Tenant) {
	last, err := a.engine.ConsolidatedAt(ctx, tenant)
	if err != nil {
		a.logger().Warn("consolidation did not begin; it comes later", "error", err)
		return
	}
	if time.Since(last) < a.cfg.ConsolidateEvery {
		return
	}
	report, err := a.engine.Consolidate(ctx, tenant, a.consolidateOptions())
	log := a.logger().With("episodes", report.Episodes, "consolidated", report.Consolidated, "failed", report.Failed,
		"dead_lettered", report.DeadLettered, "tokens", report.Usage.Total())
	switch {
	case ctx.Err() != nil:
	case err != nil:
		log.Warn("consolidation stopped early; it goes on later", "error", err)
	case report.Budget != "":
		log.Info("the budget of tokens ended the consolidation", "budget", report.Budget)
	default:
		log.Info("consolidation")
	}
}

// sweepQuietly reports whether the sweep came to its end.
func (a *app) sweepQuietly(ctx context.Context, tenant loci.Tenant) bool {
	report, err := a.engine.SweepTenant(ctx, tenant)
	if err != nil {
		a.logger().Warn("upkeep stopped early; it goes on later", "error", err)
		return false
	}
	a.logger().Debug("upkeep", "expired", report.Expired, "capped", report.Capped, "faded", report.Faded, "ended", report.Ended, "embedded", report.Embedded)
	return true
}

// keepIndexQuietly keeps the index of what other processes have written, which nobody has searched yet.
func (a *app) keepIndexQuietly(ctx context.Context, tenant loci.Tenant) {
	if err := store.KeepIndex(ctx, a.store, tenant); err != nil && ctx.Err() == nil {
		a.logger().Debug("the index was not kept; the next search makes it", "error", err)
	}
}

// wipeQuietly wipes what the first erase would have to wipe, and whoever waits for it.
func (a *app) wipeQuietly(ctx context.Context, tenant loci.Tenant) {
	if err := store.WipeAhead(ctx, a.store, tenant); err != nil && ctx.Err() == nil {
		a.logger().Debug("the file was not wiped; the next erase does it", "error", err)
	}
}

// reindexQuietly reports whether the server has no more generation to build.
func (a *app) reindexQuietly(ctx context.Context, tenant loci.Tenant) bool {
	log := a.logger()
	report, err := a.engine.Reindex(ctx, tenant, &loci.ReindexOptions{Background: true})
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil:
		log.Warn("the vectors of the configured embedder are not complete yet; search goes on with the old ones", "error", err)
		return false
	case report.Left:
		log.Info("another process uses another embedder; search goes on with its vectors", "configured", report.To.String())
	case report.Switched && !report.From.IsZero():
		log.Info("search uses the vectors of the configured embedder now", "from", report.From.String(), "to", report.To.String(), "memories", report.Embedded)
	}
	return true
}
