package mongo

import (
	"context"
	"encoding/hex"
	"fmt"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// maxFindings bounds what Check reports of one kind.
const maxFindings = 20

// Check implements [loci.Store]: what only we know about the documents. Whether the
// database's files are sound is for validate() of each collection.
func (s *Store) Check(ctx context.Context, t loci.Tenant) (findings []string, err error) {
	var kept *loci.Holding
	var held loci.Holding
	var wrong, misplaced int
	var lost bool
	err = s.read(ctx, t, "check", func(r *reading) error {
		kept = nil
		c := checker{reading: r, kinds: map[string]int{}}
		if err := r.start(); err != nil || !r.state.There {
			findings = nil
			return err
		}
		err := c.run()
		findings = c.findings
		if err != nil {
			return err
		}
		if wrong, lost, err = r.checkTally(); err != nil {
			return err
		}
		if misplaced, err = r.checkSpans(); err != nil {
			return err
		}
		kept, held = r.state.Held(r.state.Seq), loci.Holding{}
		return r.aggregate(cRecord, r.t.holding(), takeHolding(&held))
	})
	if err == nil && wrong > 0 {
		findings = append(findings, form.TallyFault(wrong))
	}
	if err == nil && misplaced > 0 {
		findings = append(findings, form.SpanFault(int64(misplaced)))
		err = s.describeAgain(ctx, t)
	}
	if err == nil && (wrong > 0 || lost) {
		err = s.countAgain(ctx, t)
	}
	if err != nil || kept == nil || *kept == held {
		return findings, err
	}
	return append(findings, form.HoldingFault(*kept, held)), s.measureAgain(ctx, t)
}

// measureAgain keeps what the tenant really holds.
func (s *Store) measureAgain(ctx context.Context, t loci.Tenant) error {
	g, err := s.lobby.Enter(ctx, t)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	measure := func(x *tx) error { return x.now(func(context.Context) error { return x.measure() }) }
	j := &job{Decide: measure, Time: eraseTime}
	return translate("measure", s.write(ctx, g, j))
}

// A checker looks at a tenant.
type checker struct {
	*reading
	findings []string
	kinds    map[string]int // how many there were, by their format

	places map[int64]bool // namespaces; true: with a name
	spaces map[int64]loci.Space
	held   map[loci.ID]int64 // passages of each record
}

func (c *checker) report(format string, args ...any) {
	if c.kinds[format]++; c.kinds[format] <= maxFindings {
		c.findings = append(c.findings, fmt.Sprintf(format, args...))
	}
}

func (c *checker) run() (err error) {
	c.places, c.held = map[int64]bool{}, map[loci.ID]int64{}
	if err := c.find(cNamespace, c.t.about(), func(d *doc) error {
		c.places[d.int("n")] = d.has("key")
		return nil
	}); err != nil {
		return err
	}
	if c.spaces, err = c.reading.spaces(); err != nil {
		return err
	}
	if _, ok := c.spaces[c.state.Active]; c.state.Active != 0 && !ok {
		c.report("the active space is unknown")
	}
	for _, look := range []func() error{c.records, c.events, c.changes, c.vectors, c.revisions, c.links} {
		if err := look(); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) records() error {
	if err := c.find(cRecord, c.t.about(), func(d *doc) error {
		id := d.recordID()
		c.held[id] = d.int("passage_count")
		if !c.places[d.int("namespace")] {
			c.report("record %s is in no namespace", id)
		}
		return nil
	}, options.Find().SetProjection(bson.D{{Key: "namespace", Value: 1}, {Key: "passage_count", Value: 1}})); err != nil {
		return err
	}
	if len(c.held) > 0 && c.state.Events == 0 {
		c.report("there are records and no audit event")
	}
	if len(c.findings) > 0 {
		return nil // their names could not be put in
	}
	all := loci.Filter{Within: []loci.Namespace{{}}, NotLive: true}
	const most = math.MaxInt32
	return c.reading.records(nil, &all, nil, loci.NewestFirst, most, most, func(record *loci.Record) bool {
		c.findings = append(c.findings, form.Faults(record)...)
		return len(c.findings) < maxFindings
	})
}

func (c *checker) events() error {
	return c.find(cEvent, c.t.about(), func(d *doc) error {
		if d.int("seq") > c.state.Events {
			c.report("event %d is newer than the last event", d.int("seq"))
		}
		if _, ok := c.places[d.int("namespace")]; !ok {
			c.report("event %d is in no namespace", d.int("seq"))
		}
		return nil
	}, options.Find().SetProjection(bson.D{{Key: "seq", Value: 1}, {Key: "namespace", Value: 1}}))
}

func (c *checker) changes() error {
	newer := c.t.about(bson.E{Key: fID, Value: bson.D{
		{Key: "$gte", Value: keyed(c.t.key, number(c.state.Seq+1), make([]byte, 17))},
		{Key: "$lte", Value: keyed(c.t.key, number(math.MaxInt64), []byte{255}, lastID)},
	}})
	return c.find(cChange, newer, func(*doc) error {
		c.report("a change is newer than the change counter")
		return nil
	}, options.Find().SetLimit(1))
}

func (c *checker) vectors() error {
	stages := []bson.D{is("$match", c.t.about()), is("$project", bson.D{
		{Key: "record", Value: 1}, {Key: "space", Value: 1}, {Key: "size", Value: is("$binarySize", "$data")},
	})}
	return c.aggregate(cVector, stages, func(d *doc) error {
		id := d.id("record")
		passages, ok := c.held[id]
		switch {
		case !ok:
			c.report("there are vectors of a record that is gone: %s", hex.EncodeToString(id[:]))
		case d.int("size") != passages*int64(c.spaces[d.int("space")].Dims+4):
			c.report("vectors of record %s have the wrong size", hex.EncodeToString(id[:]))
		}
		return nil
	})
}

func (c *checker) revisions() error {
	return c.find(cRevision, c.t.about(), func(d *doc) error {
		if id := d.id("record"); !c.has(id) {
			c.report("there are revisions of a record that is gone: %s", hex.EncodeToString(id[:]))
		}
		return nil
	}, options.Find().SetProjection(is("record", 1)))
}

func (c *checker) has(id loci.ID) bool {
	_, ok := c.held[id]
	return ok
}

func (c *checker) links() error {
	return c.find(cLink, c.t.about(), func(d *doc) error {
		if !c.has(d.id("from_id")) || !c.has(d.id("to_id")) {
			c.report("a link has an end that is gone")
		}
		return nil
	}, options.Find().SetProjection(bson.D{{Key: "from_id", Value: 1}, {Key: "to_id", Value: 1}}))
}
