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
	return Commit(ctx, m, "claim episodes", nil, func(now time.Time) (d Decision[claims], err error) {
		err = m.eachEpisode(ctx, episodes, now, func(r Record, body episodeBody) error {
			if !body.due(now) {
				return nil
			}
			typ := EventClaimed
			if !body.Lease.IsZero() {
				// The process that held it is gone without a word. Not counted, an episode
				// that kills its reader would be read for ever.
				body.Attempts++
			}
			if body.Attempts >= maxDigestAttempts {
				body.Status, body.Lease, body.LeasedUntil, typ = DeadLetter, ID{}, time.Time{}, EventDeadLettered
			} else {
				body.Lease, body.LeasedUntil = lease, now.Add(consolidationLease)
			}
			if err := m.putEpisode(&d.Change, &r, body, typ, now); err != nil {
				return err
			}
			if typ == EventDeadLettered {
				d.Reply.dead++
			} else {
				d.Reply.episodes = append(d.Reply.episodes, r)
			}
			return nil
		})
		return d, err
	})
}

// release gives leased episodes back: there was no attempt.
func (m *Memory) release(ctx context.Context, episodes []Record, lease ID) error {
	_, err := Commit(ctx, m, "release episodes", nil, func(now time.Time) (d Decision[ID], err error) {
		err = m.eachEpisode(ctx, episodes, now, func(r Record, body episodeBody) error {
			if body.Lease != lease {
				return nil
			}
			body.Lease, body.LeasedUntil = ID{}, time.Time{}
			return m.putEpisode(&d.Change, &r, body, EventReleased, now)
		})
		return d, err
	})
	return err
}

// failEpisodes writes down that the attempt failed, unless another one has the
// episode by now.
func (m *Memory) failEpisodes(ctx context.Context, episodes []Record, lease ID) (failed, dead int, err error) {
	type counts struct{ failed, dead int }
	done, err := Commit(ctx, m, "fail episodes", nil, func(now time.Time) (d Decision[counts], err error) {
		err = m.eachEpisode(ctx, episodes, now, func(r Record, body episodeBody) error {
			if body.Lease != lease {
				return nil
			}
			outcome, typ := Failed, EventFailed
			if body.Attempts+1 >= maxDigestAttempts {
				outcome, typ = DeadLetter, EventDeadLettered
				d.Reply.dead++
			} else {
				d.Reply.failed++
			}
			body.conclude(outcome, now)
			return m.putEpisode(&d.Change, &r, body, typ, now)
		})
		return d, err
	})
	return done.failed, done.dead, err
}

// eachEpisode reads episodes anew and calls do for those that are still there and live.
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
	c.Put = append(c.Put, Put{Record: *r, SameText: true, Revisions: -1})
	c.Events = append(c.Events, m.event(typ, r, now, map[string]any{"attempts": body.Attempts}))
	return nil
}
