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
	var kept form.Kept
	err = s.read(ctx, t, "check", func(r *reading) error {
		kept = form.Kept{}
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
		if kept.Wrong, kept.Uncounted, err = r.checkTally(); err != nil {
			return err
		}
		if kept.Misplaced, err = r.checkSpans(); err != nil {
			return err
		}
		kept.Held = r.state.Held(r.state.Seq)
		return r.aggregate(cRecord, r.t.holding(), takeHolding(&kept.Really))
	})
	if err != nil {
		return findings, err
	}
	faults, err := kept.Mend(ctx, t, mender{s})
	return append(findings, faults...), err
}

// mender makes again what is kept beside the records of a tenant ([form.Mender]).
type mender struct{ *Store }

// do writes to a tenant under its lock, for as long as that takes.
func (s mender) do(ctx context.Context, name loci.Tenant, op string, decide func(*tx) error) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return translate(op, s.write(ctx, g, &job{Decide: decide, Time: eraseTime}))
}

// Recount counts all that a tenant has, and keeps that.
func (s mender) Recount(ctx context.Context, t loci.Tenant) error {
	return s.do(ctx, t, "count", (*tx).countAgain)
}

// Redescribe makes again what is kept of the blocks of a tenant's events.
func (s mender) Redescribe(ctx context.Context, t loci.Tenant) error {
	return s.do(ctx, t, "describe events", (*tx).describeAgain)
}

// Remeasure keeps what the tenant really holds.
func (s mender) Remeasure(ctx context.Context, t loci.Tenant) error {
	return s.do(ctx, t, "measure", func(x *tx) error { return x.now(func(context.Context) error { return x.measure() }) })
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
