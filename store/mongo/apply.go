package mongo

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/internal/page"
)

const (
	// abortTime is for taking back what was not committed.
	abortTime = 2 * time.Second

	// eraseTime is for the erase of a whole tenant.
	eraseTime = 30 * time.Minute

	// largest bounds what a change brings into one document: MongoDB refuses 16 MiB.
	largest = 15 << 20
)

var (
	// stay bounds a write, and how long it waits for others: a little more than the server
	// takes to end the transaction of one that was killed.
	stay = 75 * time.Second

	// doubtTime is for reaching a server that says whether a commit was made.
	doubtTime = 8 * time.Second
)

// job is one write waiting for its turn.
type job = batch.Job[*tx]

// Apply implements [loci.RecordChanger].
func (s *Store) Apply(ctx context.Context, name loci.Tenant, c loci.Change) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	if c.Settled && c.Empty() {
		return nil // there is nothing to wait for
	}
	if err := c.Validate(); err != nil {
		return err
	}
	if err := checkSizes(&c); err != nil {
		return err
	}
	j := &job{Needs: batch.NeedsOf(&c), Decide: func(x *tx) error { return x.Apply(&c) }, Time: batch.LargeTime(&c)}
	if err := s.write(ctx, g, j); err != nil {
		return translate("apply", err)
	}
	g.Of.search.Brought(s.shelf, &c, func() *follow.Search { return s.readerOf(name) })
	return nil
}

// checkSizes refuses what no document can hold.
func checkSizes(c *loci.Change) error {
	check := func(what string, size int) error {
		if size <= largest {
			return nil
		}
		return loci.Errorf(loci.Invalid,
			"%s takes %d bytes; the limit of a document in MongoDB is %d: keep large things elsewhere", what, size, largest)
	}
	for i := range c.Put {
		p := &c.Put[i]
		r := &p.Record
		size := min(len(r.Text), pieceBytes) + len(r.Heading) + len(r.Attributes) + len(r.Body)
		size += 2*len(r.Slot) + 8*len(r.Passages)
		for _, tag := range r.Tags {
			size += 6 * len(tag)
		}
		if err := check("record "+r.ID.String(), size); err != nil {
			return err
		}
		for _, v := range p.Vectors {
			if err := check("the vectors of record "+r.ID.String(), len(v.Rows)*(v.Space.Dims+4)); err != nil {
				return err
			}
		}
		for i := range p.History {
			v := &p.History[i]
			if err := check("an earlier state of record "+r.ID.String(), min(len(v.Text), pieceBytes)+len(v.Attributes)); err != nil {
				return err
			}
		}
	}
	for i := range c.Events {
		if err := check("event "+c.Events[i].ID.String(), len(c.Events[i].Payload)); err != nil {
			return err
		}
	}
	if c.Reply != nil {
		return check("the stored reply", len(c.Reply.Value)+len(c.Reply.Key)+len(c.Reply.Fingerprint))
	}
	return nil
}

// write runs a job and returns when it is durable. A context that ends before the job has
// started takes it back; after that the outcome is awaited.
func (s *Store) write(ctx context.Context, g *guest, j *job) error {
	return g.Of.queue.Do(ctx, j, func() *batch.Committer[*tx] { return s.committer(g) })
}

func (s *Store) committer(g *guest) *batch.Committer[*tx] {
	return &batch.Committer[*tx]{
		Meter: &s.meter,
		Begin: func() (end func()) {
			s.lobby.Stay(g) // Close waits for the writer, too
			return func() { s.lobby.Leave(g) }
		},
		Once: func(ctx context.Context, jobs []*job, _ *batch.Flight[*tx]) (batch.Outcomes[*tx], error) {
			return s.commitOnce(ctx, g.Of, jobs)
		},
		Committed: func(d *batch.DoubtError) (bool, error) { return s.committed(g.Of, d) },
		Wait:      pause,
		Alone:     func(err error) bool { return !mayPass(err) },
		Patience:  stay,
	}
}

// commitOnce runs jobs in one transaction. A [batch.DoubtError] comes with the outcomes that
// hold if it was committed.
func (s *Store) commitOnce(ctx context.Context, t *tenant, jobs []*job) (batch.Outcomes[*tx], error) {
	x, err := newTx(ctx, s, t)
	if err != nil {
		return nil, err
	}
	defer func() { x.end(ctx) }()
	all := batch.NeedsOfAll(jobs)
	there, err := x.lock(&all)
	if err == nil && !there {
		x.end(ctx)
		if err := s.create(ctx, t); err != nil {
			return nil, err
		}
		if x, err = newTx(ctx, s, t); err != nil {
			return nil, err
		}
		if there, err = x.lock(&all); err == nil && !there {
			err = errNotMade
		}
	}
	if err != nil {
		return nil, err
	}
	outcome, worked, err := batch.Decide(jobs, x, func() error { return x.broken })
	if err != nil || !worked {
		return outcome, err // and nothing is written
	}
	defer func() {
		if x.erased { // as finish has seen; also when the answer to the commit is lost
			s.shelf.Tidy(t.name)
		}
	}()
	defer func() { t.search.Wrote(x.State.Seq) }() // before the caller hears of it
	err = x.finish()
	if err == nil {
		x.hand(&all)
	}
	return outcome, err
}

// hand hands what was committed to the index of the process. What a majority has is never taken back, so
// the counter alone tells what it follows.
func (x *tx) hand(n *batch.Needs) {
	if c := x.Handed(n, 0); c != nil && x.t.search.Hand(c) {
		x.s.takeMuch(x.t)
	}
}

var errNotMade = errors.New("the document of a tenant that was just made is not there")

// now writes what is pending, for an operation that must see it.
func (x *tx) now(do func(ctx context.Context) error) error {
	x.Flush()
	err := x.bulk()
	if err == nil {
		err = do(x.in(x.ctx))
	}
	x.broken = err
	return err
}

// finish writes all that is pending and commits.
func (x *tx) finish() error {
	x.Finish()
	for key, change := range x.Changes {
		came := byte(1)
		if key.Gone { // first: it may have come again in the same transaction
			came = 0
		}
		x.insert(cChange, x.document(keyed(x.t.key, number(x.State.Seq), []byte{came}, key.ID[:]),
			bson.E{Key: "namespace", Value: change.Namespace}, bson.E{Key: "gone", Value: key.Gone},
			bson.E{Key: "id", Value: idOf(key.ID)}, bson.E{Key: "kind", Value: binaryOf(change.Kind)}))
	}
	st := &x.State
	if st.Trim() {
		x.delete(cChange, bson.E{Key: fID, Value: is("$lt", keyed(x.t.key, number(st.Floor+1), make([]byte, 17)))})
	}
	if err := x.bulk(); err != nil {
		return err
	}
	if err := x.unname(); err != nil {
		return err
	}
	if err := x.describe(page.ToDescribe(x.Found.Events, x.State.Events)); err != nil {
		return err
	}
	set := fields{
		{Key: "floor", Value: st.Floor}, {Key: "events", Value: st.Events}, {Key: "namespaces", Value: st.Namespaces},
		{Key: "spaces", Value: st.Spaces}, {Key: "active", Value: st.Active},
		{Key: "head", Value: bson.Binary{Data: st.Head[:]}}, {Key: "name_key", Value: bson.Binary{Data: st.NameKey}},
		{Key: "chain_start", Value: st.ChainStart}, {Key: "due_at", Value: int64(0)},
		{Key: "held_seq", Value: st.HeldSeq}, {Key: "held_records", Value: st.Holding.Records},
		{Key: "held_bytes", Value: st.Holding.Bytes},
	}
	if st.Name != "" {
		set.set("name", st.Name)
	}
	set.bytes("tally", st.Tally)
	update := updateOf(set, []string{"name", "tally"})
	if _, err := x.s.db.Collection(cTenant).UpdateOne(x.in(x.ctx), x.t.self(), update); err != nil {
		return err
	}
	return x.settle()
}

// unname takes the names of namespaces that no longer hold a record.
func (x *tx) unname() error {
	var empty []int64
	for n := range x.Left {
		held := false
		if err := x.find(x.ctx, cRecord, x.t.about(bson.E{Key: "namespace", Value: n}), func(*doc) error {
			held = true
			return nil
		}, options.Find().SetLimit(1).SetProjection(is(fID, 1))); err != nil {
			return err
		}
		if !held {
			empty = append(empty, n)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	x.changeAll(cNamespace, is("$unset", is("key", "")),
		bson.E{Key: fID, Value: is("$in", x.t.places(empty))}, bson.E{Key: "mark", Value: is("$ne", "")})
	return x.bulk()
}

// settle commits, again while the answer is lost: a server that has committed says so again.
func (x *tx) settle() error {
	for n := 1; ; n++ {
		err := x.commit(x.ctx)
		switch {
		case err == nil:
			return nil
		case hasCode(err, codeNoTransaction):
			// The driver may have asked twice, and what answered may be another server, or the
			// same one started again, which does not know what was committed.
			x.open = false
			return &batch.DoubtError{Mark: x.Mark, Cause: err}
		case hasLabel(err, labelTransient):
			return err // nothing was committed
		case n < attempts && x.ctx.Err() == nil && hasLabel(err, labelUnknown) && pause(x.ctx, n, err):
		case hasLabel(err, labelUnknown) || isLost(err) || mongo.IsTimeout(err) || x.ctx.Err() != nil:
			x.open = false // it may be committed: there is nothing to take back
			return &batch.DoubtError{Mark: x.Mark, Cause: err}
		default:
			return err
		}
	}
}

// committed looks whether a transaction in doubt was committed, under the tenant's lock: it
// may be running still, and then it is waited for.
func (s *Store) committed(t *tenant, d *batch.DoubtError) (found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), stay) // the write's own may be over
	defer cancel()
	began := time.Now()
	for n := 1; ; n++ {
		found, err = s.seek(ctx, t, &d.Mark)
		switch {
		case err == nil || ctx.Err() != nil:
			return found, err
		case isLost(err) && time.Since(began) > doubtTime || !pause(ctx, min(n, attempts-1), err):
			return false, err
		}
	}
}

// seek looks once for what a transaction wrote, and takes back that it was here.
func (s *Store) seek(ctx context.Context, t *tenant, mark *batch.Mark) (found bool, err error) {
	x, err := s.begin()
	if err != nil {
		return false, err
	}
	defer x.end(ctx)
	tenants := s.db.Collection(cTenant)
	if _, err := tenants.UpdateOne(x.in(ctx), t.self(), is("$inc", is("looks", int64(1)))); err != nil {
		return false, err
	}
	collection, id := cChange, keyed(t.key, number(mark.Seq), []byte{0}, mark.ID[:])
	if mark.Event {
		collection, id = cEvent, keyed(t.key, number(mark.Seq))
	}
	err = x.find(ctx, collection, t.about(bson.E{Key: fID, Value: id}), func(row *doc) error {
		found = row.id("id") == mark.ID
		return nil
	})
	return found, err
}

// Touch implements [loci.RecordChanger]. Uses are counted without the tenant's lock: nobody
// decides by them, and no index holds them.
func (s *Store) Touch(ctx context.Context, name loci.Tenant, touches []loci.Touch) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	n, moves := batch.NeedsOfTouches(touches)
	if moves {
		return translate("touch", s.write(ctx, g, &job{Needs: n, Decide: func(x *tx) error {
			x.Touches(touches)
			return nil
		}}))
	}
	for _, use := range batch.Uses(touches) {
		where := g.Of.about(bson.E{Key: fID, Value: is("$in", keysOf(g.Of.key, use.IDs))})
		if err := again(ctx, func() error { // a use more or less, where an answer was lost
			_, err := s.db.Collection(cRecord).UpdateMany(ctx, where, counted(&use))
			return err
		}); err != nil {
			return translate("touch", err)
		}
	}
	return nil
}
