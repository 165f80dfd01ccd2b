package mongo

import (
	"bytes"
	"context"
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// takeState reads the document of a tenant.
func takeState(t *tenant, raw bson.Raw) (st batch.State, err error) {
	d := doc{raw: raw}
	st = batch.State{
		There:      true,
		Seq:        d.int("seq"),
		Floor:      d.int("floor"),
		Events:     d.int("events"),
		Namespaces: d.int("namespaces"),
		Spaces:     d.int("spaces"),
		Active:     d.int("active"),
		Head:       d.hash("head"),
		NameKey:    append(loci.NameKey(nil), d.bytes("name_key")...),
		Name:       d.text("name"),
		ChainStart: d.int("chain_start"),
		HeldSeq:    batch.NoHolding,
		Tally:      bytes.Clone(d.bytes("tally")),
	}
	if d.has("held_seq") {
		st.HeldSeq = d.int("held_seq")
		st.Holding = loci.Holding{Records: d.int("held_records"), Bytes: d.int("held_bytes")}
	}
	if d.err != nil {
		return st, d.err
	}
	return st, st.Of(t.name)
}

// A trans is a transaction: what it reads is as of one moment, and what it commits is with a
// majority of the servers.
type trans struct {
	s       *Store
	session *mongo.Session
	open    bool
}

// begin begins a transaction; end gives its session back.
func (s *Store) begin() (*trans, error) {
	session, err := s.client.StartSession()
	if err != nil {
		return nil, err
	}
	x := &trans{s: s, session: session}
	if err := session.StartTransaction(options.Transaction().
		SetReadConcern(readconcern.Snapshot()).
		SetWriteConcern(writeconcern.Majority()).
		SetReadPreference(readpref.Primary())); err != nil {
		session.EndSession(context.Background()) // nothing was sent
		return nil, err
	}
	x.open = true
	return x, nil
}

// end takes back what was not committed.
func (x *trans) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	if x.open {
		x.open = false
		_ = x.session.AbortTransaction(ctx) // the server does it by itself, later
	}
	x.session.EndSession(ctx)
}

func (x *trans) commit(ctx context.Context) error {
	err := x.session.CommitTransaction(ctx)
	if err == nil {
		x.open = false
	}
	return err
}

// in makes an operation one of the transaction.
func (x *trans) in(ctx context.Context) context.Context {
	return mongo.NewSessionContext(ctx, x.session)
}

// each calls take for what a cursor brings.
func each(ctx context.Context, c *mongo.Cursor, err error, take func(*doc) error) error {
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.WithoutCancel(ctx)) }() // it is at its end, or its transaction is over
	for c.Next(ctx) {
		d := doc{raw: c.Current}
		if err := take(&d); err != nil {
			return err
		}
		if d.err != nil {
			return d.err
		}
	}
	return c.Err()
}

func (x *trans) find(
	ctx context.Context, collection string, filter bson.D, take func(*doc) error,
	opts ...options.Lister[options.FindOptions],
) error {
	ctx = x.in(ctx)
	c, err := x.s.db.Collection(collection).Find(ctx, filter, opts...)
	return each(ctx, c, err, take)
}

func (x *trans) aggregate(ctx context.Context, collection string, stages []bson.D, take func(*doc) error) error {
	ctx = x.in(ctx)
	c, err := x.s.db.Collection(collection).Aggregate(ctx, stages)
	return each(ctx, c, err, take)
}

// reading is a transaction that reads one tenant, all of it as of one moment.
type reading struct {
	s     *Store
	t     *tenant
	ctx   context.Context
	x     *trans // nil until the first query
	state batch.State
}

// read runs do, again if it has to: do begins with no result of an earlier run.
func (s *Store) read(ctx context.Context, name loci.Tenant, op string, do func(r *reading) error) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return interrupted(op, again(ctx, func() error { return s.readOnce(ctx, g.Of, do) }))
}

// interrupted is translate for what only reads: no write is in its way.
func interrupted(op string, err error) error {
	var coded *loci.Error
	if err == nil || errors.As(err, &coded) || !isConflict(err) {
		return translate(op, err)
	}
	return &loci.Error{
		Code: loci.Unavailable, Op: op, Err: err, Msg: "the database ended the read before it was done",
		Recovery: "Try again, or ask for less at once; if it persists, look whether a read takes longer than transactionLifetimeLimitSeconds, 60 if nothing else is set.",
	}
}

func (s *Store) readOnce(ctx context.Context, t *tenant, do func(r *reading) error) (err error) {
	r := &reading{s: s, t: t, ctx: ctx}
	defer func() {
		if r.x != nil {
			r.x.end(ctx)
		}
	}()
	if err := do(r); err != nil {
		return err
	}
	return r.end()
}

// end makes sure that what was read is held by a majority: until then a failover may take
// it back.
func (r *reading) end() error {
	if r.x == nil || !r.x.open {
		return nil
	}
	return r.x.commit(r.ctx)
}

// start reads the tenant's document, first in the transaction.
func (r *reading) start() error {
	if r.x != nil {
		return nil
	}
	x, err := r.s.begin()
	if err != nil {
		return err
	}
	r.x = x
	if err := r.look(x.in(r.ctx)); err != nil {
		return err
	}
	return r.t.names.Check(&r.state)
}

// look reads the tenant's document.
func (r *reading) look(ctx context.Context) error {
	raw, err := r.s.db.Collection(cTenant).FindOne(ctx, r.t.self()).Raw()
	if errors.Is(err, mongo.ErrNoDocuments) {
		r.state = batch.State{}
		return nil
	}
	if err == nil {
		r.state, err = takeState(r.t, raw)
	}
	return err
}

// glance reads the tenant's document alone, with no transaction, as a majority has it.
func (r *reading) glance() error {
	if err := r.look(r.ctx); err != nil {
		return err
	}
	return r.t.names.Check(&r.state)
}

// self is the filter for the tenant's document.
func (t *tenant) self() bson.D {
	return bson.D{{Key: fID, Value: binaryOf(t.key)}, {Key: fTenant, Value: binaryOf(t.key)}}
}

func (r *reading) find(
	collection string, filter bson.D, take func(*doc) error, opts ...options.Lister[options.FindOptions],
) error {
	if err := r.start(); err != nil {
		return err
	}
	return r.x.find(r.ctx, collection, filter, take, opts...)
}

func (r *reading) aggregate(collection string, stages []bson.D, take func(*doc) error) error {
	if err := r.start(); err != nil {
		return err
	}
	return r.x.aggregate(r.ctx, collection, stages, take)
}

// keys returns the keys of some namespaces by their numbers.
func (r *reading) keys(numbers map[int64]bool) (map[int64]string, error) {
	known, missing := r.t.names.Known(numbers)
	if len(missing) == 0 {
		return known, nil
	}
	filter := r.t.about(
		bson.E{Key: fID, Value: bson.D{{Key: "$in", Value: r.t.places(missing)}}},
		bson.E{Key: "key", Value: bson.D{{Key: "$exists", Value: true}}},
	)
	if err := r.find(cNamespace, filter, func(d *doc) error {
		key := d.sorted("key")
		r.t.names.Learn(&r.state, d.int("n"), key)
		known[d.int("n")] = key
		return nil
	}); err != nil {
		return nil, err
	}
	if len(known) < len(numbers) {
		return nil, batch.ErrStale
	}
	return known, nil
}

// places are the _ids of namespaces by their numbers.
func (t *tenant) places(numbers []int64) bson.A {
	out := make(bson.A, len(numbers))
	for i, n := range numbers {
		out[i] = keyed(t.key, number(n))
	}
	return out
}
