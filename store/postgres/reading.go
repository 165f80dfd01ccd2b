package postgres

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/loci-memory/loci"
)

// state is the row of a tenant: what orders its writes, and what readers follow.
type state struct {
	there                                          bool
	seq, floor, events, namespaces, spaces, active int64
	head                                           loci.Hash
	nameKey                                        loci.NameKey
	name                                           string // "": it was erased
	chainStart                                     int64
}

const (
	stateColumns = "seq, floor, events, namespaces, spaces, active, head, name_key, name, chain_start"
	selectState  = "SELECT " + stateColumns + " FROM loci.tenant WHERE tenant = $1"
)

// take reads a row of stateColumns.
func (st *state) take(t *tenant, r row) error {
	*st = state{
		there:      true,
		seq:        r.int(0),
		floor:      r.int(1),
		events:     r.int(2),
		namespaces: r.int(3),
		spaces:     r.int(4),
		active:     r.int(5),
		head:       r.hash(6),
		nameKey:    r.bytes(7),
		name:       r.string(8),
		chainStart: r.int(9),
	}
	if st.name != "" && st.name != t.name.String() {
		return loci.Errorf(
			loci.Unsupported,
			"the tenant %q cannot be kept here: its place is taken by another one; give it another name",
			t.name.String(),
		)
	}
	return nil
}

// errStale says that what the process remembered of a tenant was of an erased one.
var errStale = errors.New("the tenant was erased meanwhile")

// names is what the process remembers of a tenant's namespaces: the number that stands for
// each, for as long as the tenant is not erased.
type names struct {
	mu      sync.Mutex
	key     loci.NameKey // nil: nothing is known
	numbers map[string]int64
	keys    map[int64]string
}

// maxNames bounds the namespaces remembered of a tenant.
const maxNames = 100_000

// check compares what is remembered with the tenant's row.
func (n *names) check(st *state) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if bytes.Equal(n.key, st.nameKey) {
		return nil
	}
	stale := n.key != nil
	n.key, n.numbers, n.keys = st.nameKey, nil, nil
	if stale {
		return errStale
	}
	return nil
}

func (n *names) nameKey() loci.NameKey {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.key
}

// number is that of a namespace, if it is known.
func (n *names) number(key string) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	number, ok := n.numbers[key]
	return number, ok
}

func (n *names) of(number int64) (key string, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key, ok = n.keys[number]
	return key, ok
}

// learn remembers a namespace of the tenant that had a key.
func (n *names) learn(nameKey loci.NameKey, number int64, key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !bytes.Equal(n.key, nameKey) {
		return
	}
	if n.numbers == nil || len(n.numbers) >= maxNames {
		n.numbers, n.keys = map[string]int64{}, map[int64]string{}
	}
	n.numbers[key], n.keys[number] = number, key
}

// reading is a transaction that reads one tenant, all of it as of one moment.
type reading struct {
	s     *Store
	t     *tenant
	c     *conn
	ctx   context.Context
	begun bool
	ended bool
	state state
}

// read runs do, again if it has to: do begins with no result of an earlier run.
func (s *Store) read(ctx context.Context, name loci.Tenant, op string, do func(r *reading) error) error {
	t, err := s.enter(ctx, name)
	if err != nil {
		return err
	}
	defer s.leave(t)
	return translate(op, s.again(ctx, func() error { return s.readOnce(ctx, t, do) }))
}

func (s *Store) readOnce(ctx context.Context, t *tenant, do func(r *reading) error) (err error) {
	c, err := s.connect(ctx)
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
	if first {
		r.begun = true
		all = append(
			all,
			readOnly,
			behindWall(r.t.key),
			stmt{sql: selectState, args: []any{r.t.key}, row: func(row row) error {
				return r.state.take(r.t, row)
			}},
		)
	}
	all = append(all, stmts...)
	if last {
		all = append(all, commit)
	}
	if err := r.c.run(r.ctx, all...); err != nil {
		return err
	}
	r.ended = last
	if first {
		return r.t.names.check(&r.state)
	}
	return nil
}

// keys returns the keys of some namespaces by their numbers. One that has lost its name
// since the transaction ended makes the whole read run again.
func (r *reading) keys(numbers map[int64]bool) (map[int64]string, error) {
	known := make(map[int64]string, len(numbers))
	var missing []int64
	for number := range numbers {
		if key, ok := r.t.names.of(number); ok {
			known[number] = key
		} else {
			missing = append(missing, number)
		}
	}
	if len(missing) == 0 {
		return known, nil
	}
	look := stmt{sql: namesByNumber, args: []any{r.t.key, missing}, row: func(row row) error {
		key := row.string(1) + row.string(2)
		r.t.names.learn(r.state.nameKey, row.int(0), key)
		known[row.int(0)] = key
		return nil
	}}
	stmts := []stmt{look}
	if r.ended {
		stmts = []stmt{readOnly, behindWall(r.t.key), look, commit}
	}
	if err := r.c.run(r.ctx, stmts...); err != nil {
		return nil, err
	}
	if len(known) < len(numbers) {
		return nil, errStale
	}
	return known, nil
}

const namesByNumber = "SELECT n, key_head, key_tail FROM loci.namespace WHERE tenant = $1 AND n = ANY($2) AND key_head IS NOT NULL"
