package postgres

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
)

const (
	stateColumns = "seq, floor, events, namespaces, spaces, active, head, name_key, name, chain_start, held_seq, held_records, held_bytes, tally"
	selectState  = "SELECT " + stateColumns + " FROM loci.tenant WHERE tenant = $1"

	// selectSealed asks for the next event in order: one index alone has that ([look]).
	selectSealed = "SELECT sealed, seq FROM loci.event WHERE tenant = $1 AND seq >= $2 ORDER BY seq LIMIT 1"
)

// takeState reads a row of stateColumns.
func takeState(st *batch.State, t *tenant, r row) error {
	*st = batch.State{
		There:      true,
		Seq:        r.int(0),
		Floor:      r.int(1),
		Events:     r.int(2),
		Namespaces: r.int(3),
		Spaces:     r.int(4),
		Active:     r.int(5),
		Head:       r.hash(6),
		NameKey:    r.bytes(7),
		Name:       r.string(8),
		ChainStart: r.int(9),
		HeldSeq:    batch.NoHolding,
		Tally:      r.bytes(13),
	}
	if !r.null(10) {
		st.HeldSeq, st.Holding = r.int(10), loci.Holding{Records: r.int(11), Bytes: r.int(12)}
	}
	return st.Of(t.name)
}

// reading is a transaction that reads one tenant, all of it as of one moment.
type reading struct {
	s     *Store
	t     *tenant
	c     *conn
	ctx   context.Context
	begun bool
	ended bool
	state batch.State
}

// read runs do, again if it has to: do begins with no result of an earlier run.
func (s *Store) read(ctx context.Context, name loci.Tenant, op string, do func(r *reading) error) error {
	g, err := s.lobby.Enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.lobby.Leave(g)
	return translate(op, s.again(ctx, func() error { return s.readOnce(ctx, g.Of, do) }))
}

func (s *Store) readOnce(ctx context.Context, t *tenant, do func(r *reading) error) (err error) {
	c, err := s.connect(ctx, t.key)
	if err != nil {
		return err
	}
	defer c.release()
	r := &reading{s: s, t: t, c: c, ctx: ctx}
	err = do(r)
	if r.begun && !r.ended && !c.pg.IsClosed() {
		if end := c.run(context.WithoutCancel(ctx), rollback); err == nil {
			err = end
		}
	}
	return err
}

// query runs statements; more may follow.
func (r *reading) query(stmts ...stmt) error { return r.run(stmts, false) }

// last runs statements and ends the transaction, all in one round trip if they are the
// first ones.
func (r *reading) last(stmts ...stmt) error { return r.run(stmts, true) }

func (r *reading) run(stmts []stmt, last bool) error {
	var all []stmt
	first := !r.begun
	before := r.t.names.Past()
	var hash loci.Hash // of the event that was the last one before
	var asked bool
	if first {
		r.begun = true
		all = append(
			all,
			readOnly,
			behindWall(r.t.key),
			stmt{sql: selectState, args: []any{r.t.key}, row: func(row row) error {
				return takeState(&r.state, r.t, row)
			}},
		)
		if before.Events > 0 && before.Moves {
			all, asked = append(all, r.t.selectSealed(before.Events, &hash)), true
		}
	}
	all = append(all, stmts...)
	if last {
		all = append(all, commit)
	}
	if err := r.c.run(r.ctx, all...); err != nil {
		return err
	}
	r.ended = last
	if !first {
		return nil
	}
	if err := r.t.names.Check(&r.state); err != nil {
		return err
	}
	switch {
	case asked || before.Events == 0:
	case before.Unmoved(&r.state), r.seenSince(&before): // as in most reads, which so read one row
		hash = r.state.Head
	default:
		if err := r.more(r.t.selectSealed(before.Events, &hash)); err != nil {
			return err
		}
	}
	return r.t.names.CheckPast(&r.state, &before, hash)
}

// seenSince reports whether the state that was read has been seen since: a commit of this process has left
// it. before is that one then.
func (r *reading) seenSince(before *batch.Past) bool {
	now := r.t.names.Past()
	if !now.Is(&r.state) {
		return false
	}
	*before = now
	return true
}

// selectSealed is the statement for the hash of an event by its number.
func (t *tenant) selectSealed(event int64, to *loci.Hash) stmt {
	return stmt{sql: selectSealed, args: []any{t.key, event}, row: func(r row) error {
		if r.int(1) == event {
			*to = r.hash(0)
		}
		return nil
	}}
}

// more runs a statement after the first ones, in a transaction of its own where theirs has ended.
func (r *reading) more(s stmt) error {
	if r.ended {
		return r.c.run(r.ctx, readOnly, behindWall(r.t.key), s, commit)
	}
	return r.c.run(r.ctx, s)
}

// keys returns the keys of some namespaces by their numbers. One that has lost its name
// since the transaction ended makes the whole read run again.
func (r *reading) keys(numbers map[int64]bool) (map[int64]string, error) {
	known, missing := r.t.names.Known(numbers)
	if len(missing) == 0 {
		return known, nil
	}
	look := stmt{sql: namesByNumber, args: []any{r.t.key, missing}, row: func(row row) error {
		key := row.string(1) + row.string(2)
		r.t.names.Learn(&r.state, row.int(0), key)
		known[row.int(0)] = key
		return nil
	}}
	if err := r.more(look); err != nil {
		return nil, err
	}
	if len(known) < len(numbers) {
		return nil, batch.ErrStale
	}
	return known, nil
}

const namesByNumber = "SELECT n, key_head, key_tail FROM loci.namespace WHERE tenant = $1 AND n = ANY($2) AND key_head IS NOT NULL"
