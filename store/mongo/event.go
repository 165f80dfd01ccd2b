package mongo

import (
	"bytes"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/page"
)

// Events implements [loci.EventLog].
func (s *Store) Events(
	ctx context.Context, t loci.Tenant, filter loci.EventFilter, p loci.Page,
) (out []loci.Event, next string, err error) {
	limit, before, invalid := page.Events(p)
	err = s.read(ctx, t, "list events", func(r *reading) (err error) {
		if invalid != nil {
			return invalid
		}
		out, next, err = r.events(&filter, before, limit)
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, nil
}

// events are up to most events that a filter selects, newest first, and where the list goes on.
func (r *reading) events(filter *loci.EventFilter, before int64, most int) ([]loci.Event, string, error) {
	if err := r.start(); err != nil || !r.state.There { // else the tenant was never written to
		return nil, "", err
	}
	places, err := r.marked(filter.Within)
	if err != nil {
		return nil, "", err
	}
	return page.ListEvents(filter, before, most, func(before int64, limit int) ([]loci.Event, error) {
		c := about(r.t)
		if places != nil {
			c.add("namespace", is("$in", places))
		}
		c.eventsOf(filter, before)
		opts := options.Find().SetSort(is("seq", -1)).SetLimit(int64(limit))
		return r.eventPage(c.filter(), opts, filter)
	})
}

// marked are the numbers of the namespaces at and below some places, told by their marks: they
// may have lost their names. nil: all of them.
func (r *reading) marked(places []loci.Namespace) (numbers []int64, err error) {
	if slices.ContainsFunc(places, func(n loci.Namespace) bool { return len(n) == 0 }) {
		return nil, nil
	}
	numbers = []int64{}
	for _, n := range places {
		mark := string(r.state.NameKey.Mark(n))
		between := is("$gte", inOrder(mark))
		if end := batch.After(mark); end != "" { // else nothing sorts behind it
			between = append(between, bson.E{Key: "$lt", Value: inOrder(end)})
		}
		if err := r.find(cNamespace, r.t.about(bson.E{Key: "mark", Value: between}), func(d *doc) error {
			numbers = append(numbers, d.int("n"))
			return nil
		}, options.Find().SetProjection(is("n", 1))); err != nil {
			return nil, err
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

// eventPage reads events and puts in what their namespaces are called now.
func (r *reading) eventPage(
	query bson.D, opts *options.FindOptionsBuilder, filter *loci.EventFilter,
) (found []loci.Event, err error) {
	var places []int64
	if err := r.find(cEvent, query, func(d *doc) error {
		found = append(found, loci.Event{
			Seq:       d.int("seq"),
			ID:        d.id("id"),
			Type:      loci.EventType(d.string("type")),
			Kind:      loci.Kind(d.string("kind")),
			Entity:    d.id("entity"),
			At:        d.time("occurred_at"),
			Actor:     d.string("actor"),
			RequestID: d.string("request_id"),
			Payload:   bytes.Clone(d.bytes("payload")),
			Nonce:     bytes.Clone(d.bytes("nonce")),
			Digest:    d.hash("digest"),
			Hash:      d.hash("sealed"),
			Former:    d.hash("former"),
		})
		places = append(places, d.int("namespace"))
		return nil
	}, opts); err != nil || len(found) == 0 {
		return nil, err
	}
	type named struct {
		mark  loci.Mark
		key   string
		named bool
	}
	known := map[int64]named{}
	if err := r.find(cNamespace, r.t.about(bson.E{Key: fID, Value: is("$in", r.t.places(places))}), func(d *doc) error {
		known[d.int("n")] = named{loci.Mark(d.sorted("mark")), d.sorted("key"), d.has("key")}
		return nil
	}); err != nil {
		return nil, err
	}
	for i := range found {
		place := known[places[i]]
		found[i].Mark, found[i].Unnamed = place.mark, !place.named
		if place.named {
			found[i].Namespace = loci.NamespaceFromKey(place.key)
		} else {
			found[i].Namespace = r.state.NameKey.Shown(place.mark, filter.Within)
		}
	}
	return found, nil
}

// eventsOf adds what a filter says of an event, all but its places.
func (c *conditions) eventsOf(f *loci.EventFilter, before int64) {
	if before > 0 {
		c.add("seq", is("$lt", before))
	}
	if entity, one := f.About(); one {
		c.add("entity", idOf(entity))
	}
	if len(f.Types) > 0 {
		c.add("type", is("$in", binaries(f.Types)))
	}
	if !f.Since.IsZero() {
		c.add("occurred_at", is("$gte", f.Since.UnixMilli()))
	}
	if !f.Until.IsZero() {
		c.add("occurred_at", is("$lt", batch.FirstMilli(f.Until)))
	}
}

// Chain implements [loci.EventLog].
func (s *Store) Chain(ctx context.Context, t loci.Tenant) (c loci.Chain, err error) {
	err = s.read(ctx, t, "read chain", func(r *reading) error {
		err := r.glance()
		c = loci.Chain{Head: r.state.Head, Start: r.state.ChainStart}
		if r.state.Name != "" || r.state.Events > 0 { // else its key has marked nothing
			c.Names = r.state.NameKey
		}
		return err
	})
	return c, err
}

// Untold implements [loci.EventLog]. Every build that wrote to a database refused such
// changes.
func (s *Store) Untold(ctx context.Context, t loci.Tenant, _ []loci.ID) ([]loci.ID, error) {
	return nil, s.read(ctx, t, "look for erased records", func(r *reading) error { return r.glance() })
}
