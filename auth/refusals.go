package auth

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/loci-memory/loci"
)

// Bounds of what is written of refusals: a caller that tries without end fills neither the
// log of its tenant nor the memory.
const (
	RefusalsEvery = 10 * time.Minute // a refusal that is repeated is written so often, with its number

	mostRefusals  = 32              // different ones of a tenant; more are told as one
	mostRefusing  = 1000            // tenants
	refusalWrites = 4               // at once
	refusalTime   = 5 * time.Second // for one
	otherRefusals = "other"         // the operation of what is beyond mostRefusals
	otherRefused  = "several callers"
)

// A Refused is what a caller was refused.
type Refused struct {
	Tenant    loci.Tenant
	Subject   string // of the credential
	Operation string
	RequestID string
	From      string // an address; "": unknown
}

// Refusals write down in the audit log of each tenant what its callers were refused: the
// first time at once, then how often, every [RefusalsEvery]. They are safe for concurrent use.
type Refusals struct {
	opts RefusalOptions

	mu      sync.Mutex
	of      map[loci.Tenant]map[refusedKey]*refusedCount
	dropped int // of tenants beyond mostRefusing
	writing sync.WaitGroup
	turns   chan struct{}
}

type refusedKey struct{ subject, operation string }

// A refusedCount is of refusals that were not written yet.
type refusedCount struct {
	operation string
	last      Refused
	since     time.Time // of the first of them; of the last write where there is none
	times     int
	wrote     time.Time
}

// RefusalOptions configure [NewRefusals]. Write and Open are required.
type RefusalOptions struct {
	// Write adds an event to the audit log of a tenant.
	Write func(ctx context.Context, t loci.Tenant, actor, requestID string, details map[string]any) error

	// Open says whether the log of a tenant is still written: not that of one that is closed,
	// since it may be about to be erased.
	Open func(ctx context.Context, t loci.Tenant) (bool, error)

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// NewRefusals makes a log of refusals. Call Run beside the server.
func NewRefusals(o RefusalOptions) *Refusals {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Refusals{
		opts: o, of: map[loci.Tenant]map[refusedKey]*refusedCount{}, turns: make(chan struct{}, refusalWrites),
	}
}

// Add counts a refusal, and begins to write it if it is new. It waits for nothing.
func (l *Refusals) Add(r Refused) {
	now := l.opts.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.countLocked(r, now)
	if c == nil {
		return
	}
	if c.times == 0 {
		c.since = now
	}
	c.times++
	if c.last = r; c.operation == otherRefusals { // of the last caller it would say what others did
		c.last = Refused{Tenant: r.Tenant, Subject: otherRefused, Operation: otherRefusals}
	}
	if c.wrote.IsZero() {
		l.writeLocked(c, now)
	}
}

// countLocked finds the count of a refusal; nil: there are too many tenants.
func (l *Refusals) countLocked(r Refused, now time.Time) *refusedCount {
	counts := l.of[r.Tenant]
	if counts == nil {
		if len(l.of) >= mostRefusing {
			l.dropped++
			return nil
		}
		counts = map[refusedKey]*refusedCount{}
		l.of[r.Tenant] = counts
	}
	key := refusedKey{r.Subject, r.Operation}
	if counts[key] == nil && len(counts) >= mostRefusals {
		key = refusedKey{operation: otherRefusals}
	}
	if counts[key] == nil {
		counts[key] = &refusedCount{operation: key.operation, since: now}
	}
	return counts[key]
}

// writeLocked hands a count to a goroutine that writes it. Where too many are being written,
// it stays for the next time.
func (l *Refusals) writeLocked(c *refusedCount, now time.Time) {
	select {
	case l.turns <- struct{}{}:
	default:
		return
	}
	r, times, since := c.last, c.times, c.since
	c.times, c.wrote = 0, now
	l.writing.Go(func() {
		defer func() { <-l.turns }()
		ctx, cancel := context.WithTimeout(context.Background(), refusalTime)
		defer cancel()
		if err := l.write(ctx, r, times, since); err != nil {
			l.opts.Logger.ErrorContext(ctx, "a refusal is not in the audit log", "tenant", r.Tenant.String(),
				"caller", r.Subject, "operation", r.Operation, "times", times, "error", err)
		}
	})
}

func (l *Refusals) write(ctx context.Context, r Refused, times int, since time.Time) error {
	if open, err := l.opts.Open(ctx, r.Tenant); err != nil || !open {
		return err
	}
	details := map[string]any{"operation": r.Operation, "times": times}
	if times > 1 {
		details["since"] = since.UTC().Format(time.RFC3339)
	}
	if r.From != "" {
		details["from"] = r.From
	}
	return l.opts.Write(ctx, r.Tenant, r.Subject, r.RequestID, details)
}

// Run writes what was counted whenever it is time, until ctx ends; then it writes the rest.
func (l *Refusals) Run(ctx context.Context) {
	tick := time.NewTicker(RefusalsEvery / 10)
	defer tick.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C:
			l.sweep(RefusalsEvery)
		}
	}
	l.writing.Wait()
	for range mostRefusing {
		left := l.sweep(0)
		l.writing.Wait()
		if left == 0 {
			break
		}
	}
}

// sweep writes what was counted and has an age, forgets what was not repeated, and returns
// how many counts are left to be written.
func (l *Refusals) sweep(age time.Duration) (left int) {
	now := l.opts.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for tenant, counts := range l.of {
		for key, c := range counts {
			switch due := now.Sub(c.wrote) >= age; {
			case due && c.times > 0:
				l.writeLocked(c, now)
				left += c.times
			case due:
				delete(counts, key)
			}
		}
		if len(counts) == 0 {
			delete(l.of, tenant)
		}
	}
	if l.dropped > 0 {
		l.opts.Logger.Warn("refusals of more tenants than are counted are not in their audit logs", "times", l.dropped)
		l.dropped = 0
	}
	return left
}
