package mongo

import (
	"bytes"
	"context"
	"math"
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
	log := page.Log{
		Read: func(ranges []page.Range, limit int) ([]loci.Event, error) {
			c := about(r.t)
			if places != nil {
				c.add("namespace", is("$in", places))
			}
			c.eventsOf(filter)
			var either []bson.D
			for _, in := range ranges {
				either = append(either, is("seq", bson.D{{Key: "$gt", Value: in.Above}, {Key: "$lt", Value: in.Before}}))
			}
			if len(either) == 1 {
				c.add("seq", either[0][0].Value)
			} else {
				c.either(either...)
			}
			opts := options.Find().SetSort(is("seq", -1)).SetLimit(int64(limit))
			return r.eventPage(c.filter(), opts, filter)
		},
		Covered: func() (int64, error) {
			blocks, err := r.x.described(r.ctx, r.t)
			return blocks * page.BlockSize, err
		},
		Spans: func(types []loci.EventType, before int64, limit int) ([]page.Span, error) {
			return r.spans(filter, types, before, limit)
		},
	}
	return page.ListEvents(filter, before, most, &log)
}

// described is the last block of which the spans are kept.
func (x *trans) described(ctx context.Context, t *tenant) (block int64, err error) {
	every := t.about(bson.E{Key: "type", Value: binaryOf(page.EveryType)})
	err = x.find(ctx, cSpan, every, func(d *doc) error {
		block = d.int("block")
		return nil
	}, options.Find().SetSort(is("block", -1)).SetLimit(1))
	return block, err
}

// spans looks for blocks before one in which events of some types are, by [page.Log].
func (r *reading) spans(
	filter *loci.EventFilter, types []loci.EventType, before int64, limit int,
) (found []page.Span, err error) {
	c := about(r.t)
	c.add("type", is("$in", binaries(types)))
	c.add("block", is("$lt", before))
	if !filter.Since.IsZero() {
		c.add("last_at", is("$gte", filter.Since.UnixMilli()))
	}
	if !filter.Until.IsZero() {
		c.add("first_at", is("$lt", batch.FirstMilli(filter.Until)))
	}
	err = r.find(cSpan, c.filter(), func(d *doc) error {
		found = append(found, page.Span{Block: d.int("block"), First: d.int("first_seq"), Last: d.int("last_seq")})
		return nil
	}, options.Find().SetSort(is("block", -1)).SetLimit(int64(limit)))
	return found, err
}

// describe stages the spans of up to most blocks that are whole now, once their events are written.
func (x *tx) describe(most int64) error {
	whole := x.State.Events / page.BlockSize
	if most == 0 || whole == 0 {
		return nil
	}
	from, err := x.described(x.ctx, x.t)
	if err != nil || from >= whole {
		return err
	}
	blocks, err := x.blocks(x.ctx, x.t, from, min(whole, from+most))
	if err != nil {
		return err
	}
	for typ, list := range blocks {
		for _, d := range list {
			id := keyed(x.t.key, number(d.Block), batch.HashOf(string(typ)))
			x.insert(cSpan, x.document(id, bson.E{Key: "type", Value: binaryOf(typ)}, bson.E{Key: "block", Value: d.Block},
				bson.E{Key: "first_seq", Value: d.First}, bson.E{Key: "last_seq", Value: d.Last},
				bson.E{Key: "first_at", Value: d.FirstAt}, bson.E{Key: "last_at", Value: d.LastAt}))
		}
	}
	return x.bulk()
}

// blocks reads the spans of the blocks behind one, up to another.
func (x *trans) blocks(ctx context.Context, t *tenant, from, to int64) (page.Blocks, error) {
	blocks := page.Blocks{}
	in := bson.D{{Key: "$gt", Value: from * page.BlockSize}, {Key: "$lte", Value: to * page.BlockSize}}
	shown := bson.D{{Key: "seq", Value: 1}, {Key: "type", Value: 1}, {Key: "occurred_at", Value: 1}}
	return blocks, x.find(ctx, cEvent, t.about(bson.E{Key: "seq", Value: in}), func(d *doc) error {
		blocks.Add(d.int("seq"), loci.EventType(d.string("type")), d.int("occurred_at"))
		return nil
	}, options.Find().SetSort(is("seq", 1)).SetProjection(shown))
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
func (c *conditions) eventsOf(f *loci.EventFilter) {
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

// checkSpans says how much of what is kept of blocks differs from their events.
func (r *reading) checkSpans() (wrong int, err error) {
	covered, err := r.x.described(r.ctx, r.t)
	if err != nil {
		return 0, err
	}
	blocks, err := r.x.blocks(r.ctx, r.t, 0, covered)
	if err != nil {
		return 0, err
	}
	right := map[page.Described]bool{}
	for _, list := range blocks {
		for _, d := range list {
			right[d] = true
		}
	}
	err = r.find(cSpan, r.t.about(), func(d *doc) error {
		kept := page.Described{
			Type:    loci.EventType(d.string("type")),
			Span:    page.Span{Block: d.int("block"), First: d.int("first_seq"), Last: d.int("last_seq")},
			FirstAt: d.int("first_at"), LastAt: d.int("last_at"),
		}
		if !right[kept] {
			wrong++
		}
		delete(right, kept)
		return nil
	})
	return wrong + len(right), err
}

// describeAgain makes again what is kept of the blocks of a tenant's events.
func (x *tx) describeAgain() error {
	x.delete(cSpan)
	return x.now(func(context.Context) error { return x.describe(math.MaxInt32) })
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
