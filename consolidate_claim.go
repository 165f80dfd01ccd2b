package loci

import (
	"context"
	"time"
)

// claims are the episodes that an attempt holds, and how many became dead letters
// because the process of their last attempt died.
type claims struct {
	episodes []Record
	dead     int
}

// claim leases those of the episodes that are still due. The store refuses the change
// when one of them has changed since it was read, so no two attempts hold the same.
func (m *Memory) claim(ctx context.Context, episodes []Record, lease ID) (claims, error) {
	change := func(c *claims, r *Record, body *episodeBody, now time.Time) EventType {
		if !body.due(now) {
			return ""
		}
		if !body.Lease.IsZero() {
			// The process that held it died. This counts as an attempt: otherwise an
			// episode that kills its reader would be read for ever.
			body.Attempts++
		}
		if body.Attempts >= maxDigestAttempts {
			body.Status, body.Lease, body.LeasedUntil = DeadLetter, ID{}, time.Time{}
			c.dead++
			return EventDeadLettered
		}
		body.Lease, body.LeasedUntil = lease, now.Add(consolidationLease)
		c.episodes = append(c.episodes, *r)
		return EventClaimed
	}
	return changeEpisodes(ctx, m, "claim episodes", episodes, change)
}

// release gives leased episodes back: there was no attempt.
func (m *Memory) release(ctx context.Context, episodes []Record, lease ID) error {
	change := func(_ *claims, _ *Record, body *episodeBody, _ time.Time) EventType {
		if body.Lease != lease {
			return ""
		}
		body.Lease, body.LeasedUntil = ID{}, time.Time{}
		return EventReleased
	}
	_, err := changeEpisodes(ctx, m, "release episodes", episodes, change)
	return err
}

// failEpisodes writes down that the attempt failed, unless another one has the episode by now.
func (m *Memory) failEpisodes(ctx context.Context, episodes []Record, lease ID) (failed, dead int, err error) {
	type counts struct{ failed, dead int }
	change := func(c *counts, _ *Record, body *episodeBody, now time.Time) EventType {
		if body.Lease != lease {
			return ""
		}
		if body.Attempts+1 >= maxDigestAttempts {
			body.conclude(DeadLetter, now)
			c.dead++
			return EventDeadLettered
		}
		body.conclude(Failed, now)
		c.failed++
		return EventFailed
	}
	done, err := changeEpisodes(ctx, m, "fail episodes", episodes, change)
	return done.failed, done.dead, err
}

// changeEpisodes lets change set the next state of each episode that is still there and
// live. It returns what the audit log says of it; "": the episode stays as it is.
func changeEpisodes[R any](
	ctx context.Context, m *Memory, op string, episodes []Record,
	change func(reply *R, r *Record, body *episodeBody, now time.Time) EventType,
) (R, error) {
	return Commit(ctx, m, op, nil, func(now time.Time) (d Decision[R], err error) {
		err = m.eachEpisode(ctx, episodes, now, func(r Record, body episodeBody) error {
			typ := change(&d.Reply, &r, &body, now)
			if typ == "" {
				return nil
			}
			return m.putEpisode(&d.Change, &r, body, typ, now)
		})
		return d, err
	})
}

// eachEpisode reads episodes again and calls do for those that are still there and live.
func (m *Memory) eachEpisode(
	ctx context.Context, episodes []Record, now time.Time, do func(Record, episodeBody) error,
) error {
	f := Filter{Within: []Namespace{m.view.Namespace}, Exact: true, Kinds: []Kind{KindEpisode}, At: now}
	for i := range episodes {
		f.IDs = append(f.IDs, episodes[i].ID)
	}
	records, _, err := m.engine.store.Records(ctx, m.view.Tenant, f, Page{Limit: len(f.IDs), Order: OldestFirst})
	if err != nil {
		return err
	}
	for i := range records {
		body, err := readEpisode(&records[i])
		if err != nil {
			return err
		}
		if err := do(records[i], body); err != nil {
			return err
		}
	}
	return nil
}

// putEpisode adds the next state of an episode to a change.
func (m *Memory) putEpisode(c *Change, r *Record, body episodeBody, typ EventType, now time.Time) error {
	r.Version++
	if err := setEpisode(r, body); err != nil {
		return err
	}
	c.restate(*r, m.event(typ, r, now, map[string]any{"attempts": body.Attempts}))
	return nil
}
