package memory

import (
	"context"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/page"
)

// Match implements [loci.RecordLister].
func (s *Store) Match(ctx context.Context, t loci.Tenant, p loci.Probe, f loci.Filter, limit int) ([]loci.Hit, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, err
	}
	if limit < 1 {
		return nil, loci.Errorf(loci.Invalid, "limit is %d; it must be at least 1", limit)
	}
	f.NotLive = false
	data.mu.RLock()
	for p.Vector != nil && data.index.Space() != p.Space {
		data.mu.RUnlock()
		data.mu.Lock()
		data.reindex(p.Space)
		data.mu.Unlock()
		data.mu.RLock()
	}
	defer data.mu.RUnlock()
	return data.index.Match(p, f, limit, func(ids []loci.ID) (records []loci.Record, err error) {
		for _, id := range ids {
			if r := data.records[id]; r != nil {
				records = append(records, clone(&r.Record))
			}
		}
		return records, nil
	})
}

// reindex builds the index for another space, unless it is for that one.
func (d *tenant) reindex(space loci.Space) {
	if d.index.Space() == space {
		return
	}
	d.index = index.New(space)
	for _, r := range d.records {
		d.indexRecord(r)
	}
}

// Revisions implements [loci.RecordLister].
func (s *Store) Revisions(ctx context.Context, t loci.Tenant, id loci.ID) ([]loci.Revision, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	if r := data.records[id]; r != nil {
		return cloneRevisions(r.revisions), nil
	}
	return nil, nil
}

// Links implements [loci.RecordLister].
func (s *Store) Links(ctx context.Context, t loci.Tenant, ids ...loci.ID) ([]loci.Link, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	return data.links.of(ids), nil
}

// Linked implements [loci.RecordLister].
func (s *Store) Linked(ctx context.Context, t loci.Tenant, l loci.Link) (bool, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return false, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	return data.links.has(l), nil
}

// Namespaces implements [loci.RecordLister].
func (s *Store) Namespaces(ctx context.Context, t loci.Tenant, f loci.Filter) ([]loci.Namespace, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	keys := map[string]bool{}
	if sought(&f) {
		for r := range data.candidates(&f) {
			if f.Selects(&r.Record) {
				keys[r.Namespace.Key()] = true
			}
		}
	} else {
		for _, l := range data.reach(&f) {
			if !keys[l.namespace] && l.holds(&f) {
				keys[l.namespace] = true
			}
		}
	}
	var out []loci.Namespace
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		out = append(out, loci.NamespaceFromKey(key))
	}
	return out, nil
}

// Replied implements [loci.RecordChanger].
func (s *Store) Replied(ctx context.Context, t loci.Tenant, key string) (*loci.Reply, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	if reply, ok := data.replies.byKey[key]; ok {
		reply.Value = slices.Clone(reply.Value)
		return &reply, nil
	}
	return nil, nil
}

// Count implements [loci.RecordLister].
func (s *Store) Count(ctx context.Context, t loci.Tenant, f loci.Filter) (c loci.Counts, err error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return c, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	for r := range data.candidates(&f) {
		if !f.Selects(&r.Record) {
			continue
		}
		page.Count(&f, &r.Record, &c)
		if r.Live && len(r.Passages) > 0 && !f.Space.IsZero() && r.vectors[f.Space] == nil {
			c.Unembedded++
		}
	}
	return c, nil
}

// Events implements [loci.EventLog].
func (s *Store) Events(
	ctx context.Context, t loci.Tenant, f loci.EventFilter, p loci.Page,
) ([]loci.Event, string, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return nil, "", err
	}
	limit, before, err := page.Events(p)
	if err != nil {
		return nil, "", err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	log := page.Log{
		Read: func(ranges []page.Range, limit int) ([]loci.Event, error) {
			return data.eventsIn(&f, ranges, limit), nil
		},
		Covered: func() (int64, error) { return page.BlockOf(int64(len(data.events))) * page.BlockSize, nil },
		Spans: func(types []loci.EventType, before int64, limit int) ([]page.Span, error) {
			return data.blocks.Spans(&f, types, before, limit), nil
		},
	}
	return page.ListEvents(&f, before, limit, &log)
}

// eventsIn are up to limit events of ranges that a filter selects, newest first.
func (d *tenant) eventsIn(f *loci.EventFilter, ranges []page.Range, limit int) (out []loci.Event) {
	entity, one := f.About()
	for _, r := range ranges {
		from := min(max(r.Above, 0), int64(len(d.events))) // they are in order of their numbers, which begin at 1
		for _, e := range slices.Backward(d.events[from:max(from, min(r.Before-1, int64(len(d.events))))]) {
			if one && e.Entity != entity {
				continue // the others need no names
			}
			if d.name(&e, f.Within); !f.Selects(&e) {
				continue
			}
			if len(out) == limit {
				return out
			}
			e.Payload, e.Nonce = slices.Clone(e.Payload), slices.Clone(e.Nonce)
			out = append(out, e)
		}
	}
	return out
}

// name gives an event the name of its namespace, if that holds records; otherwise what a
// caller who asks for these places may know of it.
func (d *tenant) name(e *loci.Event, within []loci.Namespace) {
	if p := d.places[e.Mark]; p != nil || e.Mark == "" {
		e.Namespace = loci.Namespace{}
		if p != nil {
			e.Namespace = slices.Clone(p.name)
		}
		return
	}
	e.Unnamed, e.Namespace = true, d.names.Shown(e.Mark, within)
}

// Untold implements [loci.EventLog]: nothing here was written by an older build.
func (s *Store) Untold(ctx context.Context, t loci.Tenant, _ []loci.ID) ([]loci.ID, error) {
	_, err := s.tenant(ctx, t)
	return nil, err
}

// Chain implements [loci.EventLog].
func (s *Store) Chain(ctx context.Context, t loci.Tenant) (loci.Chain, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return loci.Chain{}, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	return loci.Chain{Head: data.head, Names: slices.Clone(data.names)}, nil
}

// Held implements [loci.RecordLister].
func (s *Store) Held(ctx context.Context, t loci.Tenant) (loci.Holding, error) {
	data, err := s.tenant(ctx, t)
	if err != nil {
		return loci.Holding{}, err
	}
	data.mu.RLock()
	defer data.mu.RUnlock()
	return data.held, nil
}
