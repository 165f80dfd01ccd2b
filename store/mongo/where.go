package mongo

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/page"
)

// conditions builds a filter of documents of a tenant.
type conditions struct{ parts bson.A }

// about begins the conditions of a query about a tenant.
func about(t *tenant) conditions { return conditions{bson.A{t.about()}} }

func (c *conditions) add(field string, condition any) {
	c.parts = append(c.parts, bson.D{{Key: field, Value: condition}})
}

func (c *conditions) either(parts ...bson.D) { c.add("$or", parts) }

// filter is all of them together.
func (c *conditions) filter() bson.D {
	out := bson.D{}
	var rest bson.A
	given := map[string]bool{}
	for _, part := range c.parts {
		for _, e := range part.(bson.D) {
			if given[e.Key] {
				rest = append(rest, bson.D{e})
				continue
			}
			given[e.Key] = true
			if e.Key == fID { // it tells more than the tenant
				out = slices.Insert(out, 0, e)
				continue
			}
			out = append(out, e)
		}
	}
	if len(rest) > 0 {
		out = append(out, bson.E{Key: "$and", Value: rest})
	}
	return out
}

func is(operator string, value any) bson.D { return bson.D{{Key: operator, Value: value}} }

// within restricts records to places and, unless exact, what is below them: by the numbers
// of their namespaces, which the transaction reads where the process does not know them.
func (r *reading) within(c *conditions, places []loci.Namespace, exact bool) error {
	numbers, all, err := r.reached(places, exact)
	switch {
	case err != nil || all:
	case len(numbers) == 1: // one value, so that an index is in order behind it
		c.add("namespace", numbers[0])
	default:
		c.add("namespace", is("$in", numbers))
	}
	return err
}

// reached lists the numbers of namespaces at places and, unless exact, below them; all: no matter which.
func (r *reading) reached(places []loci.Namespace, exact bool) (numbers []int64, all bool, err error) {
	if err := r.start(); err != nil { // before what is remembered is asked
		return nil, false, err
	}
	if !exact && slices.ContainsFunc(places, func(n loci.Namespace) bool { return len(n) == 0 }) {
		return nil, true, nil
	}
	numbers = []int64{}
	var either []bson.D
	for _, n := range places {
		key := n.Key()
		if !exact {
			either = append(either, bson.D{{Key: "key", Value: atOrBelow(key)}})
			continue
		}
		if number, ok := r.t.names.Number(key); ok {
			numbers = append(numbers, number)
			continue
		}
		either = append(either, bson.D{{Key: "key", Value: inOrder(key)}})
	}
	if len(either) > 0 {
		if err := r.find(cNamespace, r.t.about(oneOf(either...)), func(d *doc) error {
			numbers = append(numbers, d.int("n"))
			r.t.names.Learn(&r.state, d.int("n"), d.sorted("key"))
			return nil
		}); err != nil {
			return nil, false, err
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), false, nil
}

// oneOf is one of some alternatives.
func oneOf(parts ...bson.D) bson.E {
	if len(parts) == 1 {
		return parts[0][0]
	}
	return bson.E{Key: "$or", Value: parts}
}

// atOrBelow is the condition of a namespace's key at a key or below it: no label holds a zero
// byte, so all of them sort before the key with its last one raised.
func atOrBelow(key string) bson.D {
	if key == "" {
		return is("$exists", true)
	}
	return bson.D{{Key: "$gte", Value: inOrder(key)}, {Key: "$lt", Value: inOrder(key[:len(key)-1] + "\x01")}}
}

// among restricts a field that is missing where the text is empty.
func (c *conditions) among(field string, values []string) {
	if len(values) == 0 {
		return
	}
	list := bson.A{}
	for _, v := range values {
		if v == "" {
			list = append(list, nil) // what is missing, too
			continue
		}
		list = append(list, binaryOf(v))
	}
	c.add(field, is("$in", list))
}

// where adds what a filter says of a record. exact reports that this is all of it; else
// [loci.Filter.Selects] has the last word.
func (r *reading) where(c *conditions, f *loci.Filter) (exact bool, err error) {
	// Of records that are named the filter itself says whether they are in its namespaces, which are not listed for that.
	named := len(f.IDs) > 0 && !f.Exact
	if !named {
		if err := r.within(c, f.Within, f.Exact); err != nil {
			return false, err
		}
	}
	if len(f.Kinds) == 1 {
		c.add("kind", binaryOf(f.Kinds[0]))
	} else if len(f.Kinds) > 1 {
		c.add("kind", is("$in", binaries(f.Kinds)))
	}
	if len(f.IDs) > 0 {
		c.add(fID, is("$in", keysOf(r.t.key, f.IDs)))
	}
	if f.Slot != nil && *f.Slot == "" {
		c.add("slot", is("$exists", false))
	} else if f.Slot != nil {
		c.add("slot", inOrder(*f.Slot))
	}
	c.slots(f.Slots)
	c.among("scope", f.Scopes)
	c.among("status", f.Statuses)
	c.among("sequence", f.Sequences)
	if !f.Since.IsZero() {
		c.add("created_at", is("$gte", batch.FirstMilli(f.Since)))
	}
	if !f.Until.IsZero() {
		c.add("created_at", is("$lt", batch.FirstMilli(f.Until)))
	}
	c.moment(f)
	return !named && len(f.Tags) == 0 && f.Where.IsZero() && f.MinConfidence == 0, nil
}

// slots restricts to a range of slots.
func (c *conditions) slots(s loci.SlotRange) {
	if s.IsZero() {
		return
	}
	held := bson.D{{Key: "$gte", Value: inOrder(s.From)}} // those without a slot have no such text
	if s.To != "" {
		held = append(held, bson.E{Key: "$lt", Value: inOrder(s.To)})
	}
	c.add("slot", held)
}

// moment adds what depends on the time. How sure a memory is remains for Go, whose numbers
// all stores share. What is not at most a time is missing, or later.
func (c *conditions) moment(f *loci.Filter) {
	at := f.At.UnixMilli()
	if !f.NotLive {
		c.add("live", true)
		if !f.At.IsZero() {
			c.add("ends_at", is("$not", is("$lte", at)))
		}
	}
	if f.Gone {
		c.add("live", false)
	}
	if f.Waning {
		c.add("live", true)
		c.either(
			bson.D{{Key: "due_at", Value: is("$lte", at)}},
			bson.D{
				{Key: "$or", Value: []bson.D{
					{{Key: "due_at", Value: nil}},
					{{Key: "$expr", Value: is("$eq", bson.A{"$due_at", "$ends_at"})}},
				}},
				{Key: "$and", Value: []bson.D{{{Key: "$or", Value: []bson.D{
					{{Key: "ends_at", Value: is("$exists", true)}},
					{{Key: "confidence", Value: is("$lt", 0.2)}},
				}}}}},
			},
		)
	}
	if f.Ended {
		c.add("live", true)
		c.add("ends_at", is("$lte", at))
	}
	if !f.Due.IsZero() {
		c.add("due_at", is("$lte", f.Due.UnixMilli()))
	}
	switch {
	case f.At.IsZero():
	case f.Expired:
		c.add("expires_at", is("$lte", at))
	default:
		c.add("expires_at", is("$not", is("$lte", at)))
	}
}

// A place is where a list goes on: behind a record that was read, given out or not.
type place = page.Record

// behind goes on after a place in a list and returns its order.
func (c *conditions) behind(t *tenant, after *place, order loci.Order) bson.D {
	field, up, idUp := "created_at", order == loci.OldestFirst, order == loci.NewestFirst
	var value bson.E
	if order.BySlot() {
		field, up, idUp = "slot", order == loci.SlotAscending, order == loci.SlotAscending
		c.add("slot", is("$exists", true))
	}
	if after != nil {
		value.Value = after.CreatedAt.UnixMilli()
		if order.BySlot() {
			value.Value = inOrder(after.Slot)
		}
		c.add(field, is(toward(up)+"e", value.Value)) // where the index begins
		c.either(
			bson.D{{Key: field, Value: is(toward(up), value.Value)}},
			bson.D{{Key: field, Value: value.Value}, {Key: fID, Value: is(toward(idUp), keyed(t.key, after.ID[:]))}},
		)
	}
	return bson.D{{Key: field, Value: direction(up)}, {Key: fID, Value: direction(idUp)}}
}

func toward(up bool) string {
	if up {
		return "$gt"
	}
	return "$lt"
}

func direction(up bool) int {
	if up {
		return 1
	}
	return -1
}
