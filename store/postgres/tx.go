package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

// tx is a transaction that writes to one tenant. Nothing can change under the lock it
// holds: it reads what its jobs need, decides here, and writes it in one go.
type tx struct {
	batch.Batch

	s       *Store
	t       *tenant
	c       *conn
	ctx     context.Context
	begun   bool
	guessed bool         // it is decided from what the process knows
	wrong   bool         // a guess was sent on the connection and is to be taken back
	erased  bool         // something was
	broken  error        // a statement failed before the end: nothing of the transaction can stay
	parts   []*batch.Ops // of a guess, whose statements are not made yet
	written []stmt       // what is to be written
	trims   bool         // the list of changes
}

// newTx is a transaction without a connection.
func newTx(s *Store, t *tenant) *tx {
	x := &tx{s: s, t: t}
	x.Batch = batch.New(t.name, x.emit)
	x.Handing = t.search.Handing()
	return x
}

// on is the transaction on a connection.
func (x *tx) on(ctx context.Context, c *conn) *tx {
	x.ctx, x.c = ctx, c
	return x
}

// again is the transaction from its beginning, in which nothing is decided yet.
func (x *tx) again() *tx {
	y := newTx(x.s, x.t).on(x.ctx, x.c)
	y.begun, y.wrong = x.begun, x.wrong
	return y
}

// begin takes the tenant's lock and reads what is needed, in one round trip.
func (x *tx) begin(n *batch.Needs) error {
	for {
		key := x.t.names.NameKey()
		there, err := x.lock(n, key)
		if err != nil {
			return err
		}
		if !there {
			if err := x.create(); err != nil {
				return err
			}
			continue
		}
		if err := x.t.names.Check(&x.Found); err != nil && !errors.Is(err, batch.ErrStale) {
			return err
		}
		if !bytes.Equal(key, x.Found.NameKey) && len(n.Places) > 0 { // the marks were those of another key
			clear(x.Places)
			if err := x.c.run(x.ctx, x.selectPlaces(n, x.Found.NameKey)); err != nil {
				return err
			}
		}
		return x.measure(n)
	}
}

// start lists the statements that begin the transaction.
func (x *tx) start() (stmts []stmt) {
	limit := writeTime
	if deadline, ok := x.ctx.Deadline(); ok {
		// A little sooner than the client gives up, so that the server says why.
		limit = max(time.Until(deadline)*9/10, 100*time.Millisecond)
	}
	if x.wrong {
		stmts, x.wrong = append(stmts, rollback), false
	}
	x.begun = true
	return append(stmts, readWrite, behindWall(x.t.key), timeouts(limit))
}

// lock begins the transaction. there: the tenant has a row.
func (x *tx) lock(n *batch.Needs, nameKey loci.NameKey) (there bool, err error) {
	stmts := append(
		x.start(),
		stmt{sql: lockTenant, args: []any{x.t.key}, row: func(r row) error {
			there = true
			return takeState(&x.Found, x.t, r)
		}},
	)
	stmts = append(stmts, x.look(n)...)
	if len(n.Places) > 0 && nameKey != nil {
		stmts = append(stmts, x.selectPlaces(n, nameKey))
	}
	if err := x.c.run(x.ctx, stmts...); err != nil || !there {
		return false, err
	}
	x.Begin()
	return true, nil
}

// measure finds out what the tenant holds, if a quota bounds it and it is not kept.
func (x *tx) measure(n *batch.Needs) error {
	if !n.Usage || x.Used != nil {
		return nil
	}
	return x.c.run(x.ctx, x.t.selectHolding(&x.Used))
}

// selectHolding is the statement that measures what the tenant holds.
func (t *tenant) selectHolding(to **loci.Holding) stmt {
	return stmt{sql: selectHolding, args: []any{t.key}, row: func(r row) error {
		*to = &loci.Holding{Records: r.int(0), Bytes: r.int(1)}
		return nil
	}}
}

// create ends the transaction and gives the tenant a row, in one of its own.
func (x *tx) create() error {
	if err := x.c.run(x.ctx, rollback); err != nil {
		return err
	}
	const insert = `INSERT INTO loci.tenant (tenant, seq, floor, events, namespaces, spaces, active, head, name_key, held_seq,
		held_records, held_bytes, tally) VALUES ($1, 0, 0, 0, 0, 0, 0, $2, $3, 0, 0, 0, $4) ON CONFLICT (tenant) DO NOTHING`
	return x.c.run(x.ctx, readWrite, behindWall(x.t.key),
		stmt{sql: insert, args: []any{x.t.key, make([]byte, len(loci.Hash{})), []byte(loci.NewNameKey()),
			batch.EmptyTally(0)}}, commit)
}

// look lists the statements for what is needed of records, slots, replies and events.
func (x *tx) look(n *batch.Needs) (stmts []stmt) {
	if len(n.IDs) > 0 {
		stmts = append(stmts, lookHeld.stmt(x.t.key, idList(n.IDs), func(r row) error {
			x.Records[r.id(0)] = &batch.Held{
				Version: r.int(1), Namespace: r.int(2), Kind: loci.Kind(r.string(3)),
				Slot: r.string(4), Passages: r.int(5), Text: r.int(6), Data: r.int(7),
				Live: r.bool(8), Status: r.string(9), Bytes: r.int(10), Spaces: r.ints(11),
			}
			return nil
		}))
	}
	if len(n.Slots) > 0 {
		stmts = append(stmts, lookSlots.stmt(x.t.key, list(n.Slots), func(r row) error {
			x.Slots[r.string(0)] = r.id(1)
			return nil
		}))
	}
	if len(n.Replies) > 0 {
		hashes := make([][]byte, len(n.Replies))
		for i, key := range n.Replies {
			hashes[i] = batch.HashOf(key)
		}
		stmts = append(stmts, lookReplies.stmt(x.t.key, hashes, func(r row) error {
			x.Replies[r.string(0)] = r.int(1)
			return nil
		}))
	}
	if len(n.Told) > 0 {
		stmts = append(stmts, stmt{sql: selectTold, args: []any{x.t.key, idList(n.Told)}, row: func(r row) error {
			x.Told[r.id(0)] = true
			return nil
		}})
	}
	if n.Spaces {
		stmts = append(stmts, stmt{sql: selectSpaces, args: []any{x.t.key}, row: func(r row) error {
			x.Spaces[loci.Space{Model: r.string(1), Dims: int(r.int(2))}] = r.int(0)
			return nil
		}})
	}
	return stmts
}

const (
	// What a quota counts of a record, and of all: lengths, which need no look at what is long.
	textSize      = "octet_length(text)::bigint + coalesce(octet_length(heading), 0)"
	dataSize      = "coalesce(octet_length(attributes), 0)::bigint + coalesce(octet_length(body), 0)"
	selectHolding = "SELECT count(*), coalesce(sum(" + textSize + " + " + dataSize + "), 0)::bigint FROM loci.record WHERE tenant = $1"

	// spacesOf are the spaces of a record's vectors, eight bytes each.
	spacesOf = "(SELECT string_agg(int8send(space), '' ORDER BY space) FROM loci.vector v WHERE v.tenant = $1 AND v.record = record.id)"

	selectTold = `SELECT DISTINCT entity FROM loci.event WHERE tenant = $1 AND entity = ANY($2)
		AND (payload IS NOT NULL OR nonce IS NOT NULL)`
	selectSpaces = "SELECT n, model, dims, dropped FROM loci.space WHERE tenant = $1 ORDER BY n"
)

// selectPlaces is the statement for the namespaces that are needed, by their marks.
func (x *tx) selectPlaces(n *batch.Needs, nameKey loci.NameKey) stmt {
	return lookPlaces.stmt(x.t.key, n.Marks(nameKey), func(r row) error {
		w := &batch.Place{
			N:     r.int(0),
			Mark:  loci.Mark(r.string(1)),
			Key:   r.string(2) + r.string(3),
			Named: !r.null(2),
			Kinds: batch.DecodeKinds(r[4]),
		}
		x.Places[w.Mark] = w
		return nil
	})
}
