package mongo

import (
	"context"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/page"
	"github.com/loci-memory/loci/store/internal/upkeep"
)

// tallyID is the _id of a kept count.
func (t *tenant) tallyID(key batch.TallyKey) bson.Binary {
	live := []byte{0}
	if key.Live {
		live[0] = 1
	}
	return keyed(t.key, number(key.Namespace), number(key.Space), live, key.What())
}

// tallyFields say what a kept count is of.
func tallyFields(key batch.TallyKey) (f fields) {
	f.set("namespace", key.Namespace)
	f.set("space", key.Space)
	f.set("live", key.Live)
	f.string("kind", string(key.Kind))
	f.string("status", key.Status)
	return f
}

// amountFields are what it says.
func amountFields(n batch.Amounts) (f fields) {
	f.set("records", n.Records)
	f.set("searched", n.Searched)
	f.set("passages", n.Passages)
	f.set("bytes", n.Bytes)
	return f
}

// writeTallies adds what came to kept counts, and drops those that say nothing any more.
func (x *tx) writeTallies(list []batch.NewTally) {
	less := map[int64]bool{}
	var of []int64
	for _, n := range list {
		x.add(cTally, mongo.NewUpdateOneModel().SetUpsert(true).
			SetFilter(x.t.about(bson.E{Key: fID, Value: x.t.tallyID(n.TallyKey)})).SetUpdate(bson.D{
			{Key: "$setOnInsert", Value: bson.D(tallyFields(n.TallyKey))},
			{Key: "$inc", Value: bson.D(amountFields(n.Amounts))},
		}))
		if n.Records < 0 && !less[n.Namespace] {
			less[n.Namespace] = true
			of = append(of, n.Namespace)
		}
	}
	if len(of) > 0 {
		nothing := append(fields{{Key: "namespace", Value: is("$in", of)}}, amountFields(batch.Amounts{})...)
		x.delete(cTally, nothing...)
	}
}

// takeTally reads kept counts.
func takeTally(to batch.Tallies) func(*doc) error {
	return func(d *doc) error {
		to.Add(tallyKey(d), amounts(d))
		return nil
	}
}

func tallyKey(d *doc) batch.TallyKey {
	return batch.TallyKey{
		Namespace: d.int("namespace"), Space: d.int("space"), Kind: loci.Kind(d.string("kind")),
		Status: d.string("status"), Live: d.bool("live"),
	}
}

func amounts(d *doc) batch.Amounts {
	return batch.Amounts{
		Records: d.int("records"), Searched: d.int("searched"), Passages: d.int("passages"), Bytes: d.int("bytes"),
	}
}

// sumTally adds up what is of one kind, state and status, or in one space.
var sumTally = func() bson.D {
	key, group := bson.D{}, bson.D{}
	for _, field := range []string{"kind", "status", "live", "space"} {
		key = append(key, bson.E{Key: field, Value: "$" + field})
		group = append(group, bson.E{Key: field, Value: is("$first", "$"+field)})
	}
	for _, field := range []string{"records", "searched", "passages", "bytes"} {
		group = append(group, bson.E{Key: field, Value: is("$sum", "$"+field)})
	}
	return is("$group", append(bson.D{{Key: fID, Value: key}}, group...))
}()

// tallyOf are the stages that count the records of a tenant, those whose vectors are in the same spaces together.
func (t *tenant) tallyOf() []bson.D {
	key, of := bson.D{}, bson.D{}
	for _, field := range []string{"namespace", "kind", "status", "live", "spaces"} {
		key = append(key, bson.E{Key: field, Value: "$" + field})
		of = append(of, bson.E{Key: field, Value: is("$first", "$"+field)})
	}
	searched := is("$and", bson.A{"$live", is("$gt", bson.A{"$passage_count", 0})})
	return []bson.D{is("$match", t.about()), is("$group", append(bson.D{
		{Key: fID, Value: key},
		{Key: "records", Value: is("$sum", 1)},
		{Key: "searched", Value: is("$sum", is("$cond", bson.A{searched, 1, 0}))},
		{Key: "passages", Value: is("$sum", "$passage_count")},
		{Key: "bytes", Value: is("$sum", "$text_bytes")},
	}, of...))}
}

// takeCounted reads what they bring.
func takeCounted(to batch.Tallies) func(*doc) error {
	return func(d *doc) error {
		key, n := tallyKey(d), amounts(d)
		to.Add(key, n)
		for _, space := range d.ints("spaces") {
			of := batch.TallyKey{Namespace: key.Namespace, Kind: key.Kind, Space: space}
			to.Add(of, batch.Amounts{Records: n.Records, Searched: n.Searched})
		}
		return nil
	}
}

// keptCount answers a count from the kept counts; done: it could. What has expired and is not
// erased yet is counted one by one and taken off. space is the number of the filter's space.
func (r *reading) keptCount(filter *loci.Filter, space int64, n *loci.Counts) (done bool, err error) {
	if !page.Kept(filter) {
		return false, nil
	}
	came, known, err := r.tallied()
	if err != nil || !known {
		return false, err
	}
	numbers, all, err := r.reached(filter.Within, filter.Exact)
	if err != nil {
		return false, err
	}
	of := r.t.about()
	if !all {
		of = r.t.about(bson.E{Key: "namespace", Value: is("$in", numbers)})
	}
	if len(filter.Kinds) > 0 {
		of = append(of, bson.E{Key: "kind", Value: is("$in", binaries(filter.Kinds))})
	}
	if err := r.aggregate(cTally, []bson.D{is("$match", of), sumTally}, func(d *doc) error {
		key := tallyKey(d)
		if part, selected := amounts(d).Of(filter, key, space); selected {
			page.Add(filter, key.Kind, key.Status, part, n)
		}
		return nil
	}); err != nil {
		return false, err
	}
	in := func(namespace int64) bool { return all || slices.Contains(numbers, namespace) }
	came.Sum(filter, in, space, func(kind loci.Kind, status string, part loci.Counts) {
		page.Add(filter, kind, status, part, n)
	})
	if filter.At.IsZero() {
		return true, nil
	}
	expired := *filter
	expired.Expired = true
	c := about(r.t)
	if _, err := r.where(&c, &expired); err != nil {
		return false, err
	}
	stages := []bson.D{is("$match", c.filter()), is("$group", counts(space, true))}
	return true, r.aggregate(cRecord, stages, func(d *doc) error {
		page.Add(filter, loci.Kind(d.string("kind")), d.string("status"), loci.Counts{
			Records: -d.int("records"), Live: -d.int("live"), Passages: -d.int("passages"), Bytes: -d.int("bytes"),
			Unembedded: -d.int("unembedded"),
		}, n)
		return nil
	})
}

// tallied begins the transaction and says what comes to the counts of the collection; known: they are right.
func (r *reading) tallied() (came batch.Tallies, known bool, err error) {
	if err := r.start(); err != nil {
		return nil, false, err
	}
	if came, known = r.state.Tallied(r.state.Seq); !known && r.state.There {
		r.t.recount.Later(r.s.crew, r.s.log, r.t.name, eraseTime, mender{r.s}.Recount)
	}
	return came, known, nil
}

// keptSpaces answers from the kept counts how many records have vectors in each space.
func (r *reading) keptSpaces(known map[int64]loci.Space, spaces map[loci.Space]int64) (done bool, err error) {
	kept, right, err := r.tallied()
	if err != nil || !right {
		return false, err
	}
	vectors := r.t.about(bson.E{Key: "space", Value: is("$gt", int64(0))})
	if err := r.find(cTally, vectors, takeTally(kept)); err != nil {
		return false, err
	}
	for key, n := range kept {
		if space, ok := known[key.Space]; ok && n.Records != 0 {
			if spaces[space] += n.Records; spaces[space] == 0 {
				delete(spaces, space)
			}
		}
	}
	return true, nil
}

// checkTally says how many kept counts differ from the records. Where nothing is known nothing differs; lost: so it is.
func (r *reading) checkTally() (wrong int, lost bool, err error) {
	kept, known := r.state.Tallied(r.state.Seq)
	if !known {
		return 0, r.state.There, nil
	}
	counted := batch.Tallies{}
	err = r.find(cTally, r.t.about(), takeTally(kept))
	if err == nil {
		err = r.aggregate(cRecord, r.t.tallyOf(), takeCounted(counted))
	}
	return kept.Differ(counted), false, err
}

// countAgain counts all that a tenant has, and keeps that.
func (x *tx) countAgain() error {
	counted := batch.Tallies{}
	if err := x.now(func(context.Context) error {
		return x.aggregate(x.ctx, cRecord, x.t.tallyOf(), takeCounted(counted))
	}); err != nil {
		return err
	}
	if err := x.describe(math.MaxInt32); err != nil { // what others have not
		return err
	}
	x.delete(cTally)
	for key, n := range counted {
		f := x.document(x.t.tallyID(key), tallyFields(key)...)
		x.insert(cTally, append(f, amountFields(n)...))
	}
	x.CountedAgain()
	return nil
}

// countTenants counts every tenant whose counts are not known, each in a transaction of its own, in which
// nobody else writes to it.
func (s *Store) countTenants(ctx context.Context) error {
	every := upkeep.Upkeep{Table: upkeepTable{s}}
	for name, err := range every.Tenants(ctx) {
		if err != nil {
			return err
		}
		t := newTenant(name)
		if st, err := s.look(ctx, t); err != nil || len(st.Tally) > 0 {
			if err != nil {
				return err
			}
			continue
		}
		if err := s.committer(&guest{Of: t}).Together(&job{Decide: (*tx).countAgain, Time: eraseTime})[0]; err != nil {
			return err
		}
	}
	return nil
}
