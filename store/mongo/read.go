package mongo

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/page"
)

// Records implements [loci.RecordLister].
func (s *Store) Records(
	ctx context.Context, t loci.Tenant, filter loci.Filter, p loci.Page,
) (out []loci.Record, next string, err error) {
	var projection any
	if (p.NoText || p.Brief) && filter.Where.IsZero() { // a condition may ask for the text of a fact
		projection = withoutText
	}
	err = s.read(ctx, t, "list records", func(r *reading) (err error) {
		out, next, err = page.List(&p, func(after *place, wanted, first int, yield func(*loci.Record) bool) error {
			return r.records(projection, &filter, after, p.Order, wanted, first, yield)
		})
		return err
	})
	if err != nil {
		return nil, "", err
	}
	return out, next, nil
}

// records is [page.Walk] in an order.
func (r *reading) records(
	projection any, filter *loci.Filter, after *place, order loci.Order, wanted, first int,
	yield func(*loci.Record) bool,
) error {
	read := func(after *place, limit, _ int) ([]loci.Record, bool, error) {
		c := about(r.t)
		by := c.behind(r.t, after, order)
		exact, err := r.where(&c, filter)
		if err != nil {
			return nil, false, err
		}
		opts := options.Find().SetSort(by)
		if limit < math.MaxInt32 {
			opts.SetLimit(int64(limit))
		}
		if projection != nil {
			opts.SetProjection(projection)
		}
		found, err := r.page(c.filter(), opts)
		return found, exact, err
	}
	return page.Walk(filter, after, wanted, first, read, yield)
}

// page runs a query for records and puts in the names of their namespaces.
func (r *reading) page(filter bson.D, opts *options.FindOptionsBuilder) (found []loci.Record, err error) {
	var places []int64
	var cut []int
	numbers := map[int64]bool{}
	if err := r.find(cRecord, filter, func(d *doc) error {
		record, namespace, err := d.record()
		if d.bool("pieces") {
			cut = append(cut, len(found))
		}
		found, places = append(found, record), append(places, namespace)
		numbers[namespace] = true
		return err
	}, opts); err != nil {
		return nil, err
	}
	if err := r.complete(found, cut); err != nil {
		return nil, err
	}
	keys, err := r.keys(numbers)
	if err != nil {
		return nil, err
	}
	for i := range found {
		found[i].Namespace = loci.NamespaceFromKey(keys[places[i]])
	}
	return found, nil
}

// each calls do for all that a filter selects.
func (r *reading) each(filter *loci.Filter, do func(*loci.Record)) error {
	return r.records(nil, filter, nil, loci.NewestFirst, math.MaxInt32, math.MaxInt32, func(record *loci.Record) bool {
		do(record)
		return true
	})
}

// lacking is the condition of a live record with passages and without vectors of a space.
func lacking(space int64) bson.D {
	return bson.D{
		{Key: "live", Value: true},
		{Key: "passage_count", Value: is("$gt", int64(0))},
		{Key: "spaces", Value: is("$ne", space)},
	}
}

// Count implements [loci.RecordLister].
func (s *Store) Count(ctx context.Context, t loci.Tenant, filter loci.Filter) (n loci.Counts, err error) {
	var parts page.Parts
	parts.Of(&filter)
	err = s.read(ctx, t, "count", func(r *reading) error {
		n = loci.Counts{}
		parts.Forget()
		space, _, err := r.space(filter.Space)
		if err != nil {
			return err
		}
		if done, err := r.keptCount(&filter, space, &n); done || err != nil {
			return err
		}
		c := about(r.t)
		exact, err := r.where(&c, &filter)
		if err != nil {
			return err
		}
		if exact {
			group := counts(space, filter.Each != nil)
			return r.aggregate(cRecord, []bson.D{is("$match", c.filter()), is("$group", group)}, func(d *doc) error {
				var kind, status string
				if filter.Each != nil {
					kind, status = d.string("kind"), d.string("status")
				}
				page.Add(&filter, loci.Kind(kind), status, loci.Counts{
					Records: d.int("records"), Live: d.int("live"), Passages: d.int("passages"), Bytes: d.int("bytes"),
					Unembedded: d.int("unembedded"),
				}, &n)
				return nil
			})
		}
		return r.countSelected(&filter, &c, space, &n)
	})
	if filter.Space.IsZero() {
		n.Unembedded = 0
	}
	return n, parts.Tell(err)
}

// Held implements [loci.RecordLister].
func (s *Store) Held(ctx context.Context, t loci.Tenant) (held loci.Holding, err error) {
	err = s.read(ctx, t, "measure", func(r *reading) error {
		held = loci.Holding{}
		if err := r.start(); err != nil {
			return err
		}
		if kept := r.state.Held(r.state.Seq); kept != nil || !r.state.There {
			held = *cmp.Or(kept, &held)
			return nil
		}
		return r.aggregate(cRecord, r.t.holding(), takeHolding(&held))
	})
	return held, err
}

// counts is the group of all that is counted.
func counts(space int64, apart bool) bson.D {
	either := func(condition any) bson.D { return is("$sum", is("$cond", bson.A{condition, 1, 0})) }
	of, group := any(nil), bson.D(nil)
	if apart { // each kind and status
		of = bson.D{{Key: "kind", Value: "$kind"}, {Key: "status", Value: "$status"}}
		group = bson.D{{Key: "kind", Value: is("$first", "$kind")}, {Key: "status", Value: is("$first", "$status")}}
	}
	return append(group, bson.D{
		{Key: fID, Value: of},
		{Key: "records", Value: is("$sum", 1)},
		{Key: "live", Value: either("$live")},
		{Key: "passages", Value: is("$sum", "$passage_count")},
		{Key: "bytes", Value: is("$sum", "$text_bytes")},
		{Key: "unembedded", Value: either(is("$and", bson.A{
			"$live", is("$gt", bson.A{"$passage_count", 0}), is("$not", bson.A{is("$in", bson.A{space, "$spaces"})}),
		}))},
	}...)
}

// countSelected counts where Go has the last word.
func (r *reading) countSelected(filter *loci.Filter, c *conditions, space int64, n *loci.Counts) error {
	unembedded := map[loci.ID]bool{}
	count := func(record *loci.Record) {
		if page.Count(filter, record, n); unembedded[record.ID] {
			n.Unembedded++
		}
	}
	if filter.Space.IsZero() { // nobody asks what has no vectors
		return r.each(filter, count)
	}
	for _, e := range lacking(space) {
		c.add(e.Key, e.Value)
	}
	if err := r.find(cRecord, c.filter(), func(d *doc) error {
		unembedded[d.recordID()] = true
		return nil
	}, options.Find().SetProjection(is(fID, 1))); err != nil {
		return err
	}
	return r.each(filter, count)
}

// Namespaces implements [loci.RecordLister].
func (s *Store) Namespaces(ctx context.Context, t loci.Tenant, filter loci.Filter) (out []loci.Namespace, err error) {
	err = s.read(ctx, t, "list namespaces", func(r *reading) error {
		seen := map[string]bool{}
		c := about(r.t)
		exact, err := r.where(&c, &filter)
		switch {
		case err != nil:
			return err
		case !exact:
			err = r.each(&filter, func(record *loci.Record) { seen[record.Namespace.Key()] = true })
		default:
			numbers := map[int64]bool{}
			if err = r.aggregate(cRecord, []bson.D{
				is("$match", c.filter()), is("$group", is(fID, "$namespace")),
			}, func(d *doc) error {
				numbers[d.int(fID)] = true
				return nil
			}); err == nil {
				var keys map[int64]string
				keys, err = r.keys(numbers)
				for _, key := range keys {
					seen[key] = true
				}
			}
		}
		if err != nil {
			return err
		}
		out = nil
		for _, key := range slices.Sorted(maps.Keys(seen)) {
			out = append(out, loci.NamespaceFromKey(key))
		}
		return nil
	})
	return out, err
}

// Revisions implements [loci.RecordLister].
func (s *Store) Revisions(ctx context.Context, t loci.Tenant, id loci.ID) (out []loci.Revision, err error) {
	err = s.read(ctx, t, "list revisions", func(r *reading) error {
		out = nil
		var cut []int
		if err := r.find(cRevision, r.t.about(bson.E{Key: "record", Value: idOf(id)}), func(d *doc) error {
			v := loci.Revision{
				Version:    d.int("version"),
				UpdatedAt:  d.time("updated_at"),
				ReplacedAt: d.time("replaced_at"),
				Text:       d.string("text"),
				Attributes: bytes.Clone(d.bytes("attributes")),
			}
			var err error
			v.Tags, err = d.tags()
			if d.bool("pieces") {
				cut = append(cut, len(out))
			}
			out = append(out, v)
			return err
		}, options.Find().SetSort(is("version", -1))); err != nil {
			return err
		}
		for _, i := range cut {
			rest, err := r.x.rest(r.ctx, r.t, id, out[i].Version)
			if err != nil {
				return err
			}
			out[i].Text += string(rest)
		}
		return nil
	})
	return out, err
}

// Links implements [loci.RecordLister].
func (s *Store) Links(ctx context.Context, t loci.Tenant, ids ...loci.ID) (out []loci.Link, err error) {
	named, of := make(map[loci.ID]bool, len(ids)), make(bson.A, len(ids))
	for i, id := range ids {
		named[id], of[i] = true, idOf(id)
	}
	err = s.read(ctx, t, "list links", func(r *reading) error {
		type numbered struct {
			loci.Link
			seq int64
		}
		var found []*numbered
		for _, end := range []string{"from_id", "to_id"} { // each with an index of its own
			if err := r.find(cLink, r.t.about(bson.E{Key: end, Value: is("$in", of)}), func(d *doc) error {
				l := loci.Link{
					From: d.id("from_id"), Type: loci.LinkType(d.string("type")), To: d.id("to_id"), At: d.time("created_at"),
				}
				if end == "from_id" || !named[l.From] { // it was found before
					found = append(found, &numbered{l, d.int("seq")})
				}
				return nil
			}); err != nil {
				return err
			}
		}
		slices.SortFunc(found, func(a, b *numbered) int {
			return cmp.Or(
				a.At.Compare(b.At), cmp.Compare(a.seq, b.seq), bytes.Compare(a.From[:], b.From[:]),
				cmp.Compare(a.Type, b.Type), bytes.Compare(a.To[:], b.To[:]),
			)
		})
		out = nil
		for _, l := range found {
			out = append(out, l.Link)
		}
		return nil
	})
	return out, err
}

// Linked implements [loci.RecordLister].
func (s *Store) Linked(ctx context.Context, t loci.Tenant, l loci.Link) (there bool, err error) {
	err = s.read(ctx, t, "look for a link", func(r *reading) error {
		there = false
		return r.find(cLink, r.t.link(&l), func(*doc) error {
			there = true
			return nil
		}, options.Find().SetProjection(is(fID, 1)))
	})
	return there, err
}

// link selects a link by its id, which its ends and type make.
func (t *tenant) link(l *loci.Link) bson.D {
	return t.about(bson.E{Key: fID, Value: keyed(t.key, l.From[:], l.To[:], []byte(l.Type))})
}

// Replied implements [loci.RecordChanger].
func (s *Store) Replied(ctx context.Context, t loci.Tenant, key string) (reply *loci.Reply, err error) {
	err = s.read(ctx, t, "read reply", func(r *reading) error {
		reply = nil
		return r.find(cReply, r.t.replies(key), func(d *doc) error {
			if d.string("key") != key {
				return nil // another key with its hash
			}
			reply = &loci.Reply{
				Key:         key,
				Fingerprint: d.string("fingerprint"),
				Value:       bytes.Clone(d.bytes("value")),
				Record:      d.id("record"),
				At:          d.time("at"),
				ExpiresAt:   d.time("expires_at"),
			}
			return nil
		})
	})
	return reply, err
}
