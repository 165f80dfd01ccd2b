package postgres

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/loci-memory/loci"
)

// needs is what a job must know before it decides.
type needs struct {
	ids     []loci.ID // of records
	slots   []string  // their hashes
	replies []string  // their keys
	told    []loci.ID // of records that events may tell of
	places  []loci.Namespace
	spaces  bool
}

func (n *needs) add(other *needs) {
	n.ids = append(n.ids, other.ids...)
	n.slots = append(n.slots, other.slots...)
	n.replies = append(n.replies, other.replies...)
	n.told = append(n.told, other.told...)
	n.places = append(n.places, other.places...)
	n.spaces = n.spaces || other.spaces
}

// tx is a transaction that writes to one tenant. Nothing can change under the lock it
// holds: it reads what its jobs need, decides here, and writes it in one go. What it shows
// is kept up to date with what was decided.
type tx struct {
	s     *Store
	t     *tenant
	c     *conn
	ctx   context.Context
	begun bool

	broken error // a statement failed before the end: nothing of the transaction can stay

	found   state // as the transaction found it
	state   state // as it will leave it
	records map[loci.ID]*held
	slots   map[string]loci.ID // who holds which; those that are not here are free
	replies map[string]int64   // when those that are there expire, by the hash of the key
	told    map[loci.ID]bool   // events tell details of these
	places  map[loci.Mark]*where
	spaces  map[loci.Space]int64

	pending
}

// held is what a decision needs to know of a record that is there.
type held struct {
	version   int64
	namespace int64
	kind      loci.Kind
	slot      string // its hash
	passages  int64
}

// where is a namespace.
type where struct {
	n      int64
	mark   loci.Mark
	key    string
	named  bool // its name is in the database
	kinds  []loci.Kind
	fresh  bool // it has no row yet
	staged bool // its row is to be written
	signal bool // readers must learn of it
}

func newTx(s *Store, t *tenant, c *conn, ctx context.Context) *tx {
	return &tx{
		s:       s,
		t:       t,
		c:       c,
		ctx:     ctx,
		records: map[loci.ID]*held{},
		slots:   map[string]loci.ID{},
		replies: map[string]int64{},
		told:    map[loci.ID]bool{},
		places:  map[loci.Mark]*where{},
		spaces:  map[loci.Space]int64{},
		pending: newPending(),
	}
}

// begin takes the tenant's lock and reads what is needed, in one round trip.
func (x *tx) begin(n *needs) error {
	for {
		key := x.t.names.nameKey()
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
		if err := x.t.names.check(&x.found); err != nil && !errors.Is(err, errStale) {
			return err
		}
		if !bytes.Equal(key, x.found.nameKey) && len(n.places) > 0 { // the marks were those of another key
			clear(x.places)
			return x.c.run(x.ctx, x.selectPlaces(n, x.found.nameKey))
		}
		return nil
	}
}

// lock begins the transaction. there: the tenant has a row.
func (x *tx) lock(n *needs, nameKey loci.NameKey) (there bool, err error) {
	limit := writeTime
	if deadline, ok := x.ctx.Deadline(); ok {
		// A little sooner than the client gives up, so that the server says why.
		limit = max(time.Until(deadline)*9/10, 100*time.Millisecond)
	}
	stmts := []stmt{
		readWrite,
		behindWall(x.t.key),
		timeouts(limit),
		{sql: lockTenant, args: []any{x.t.key}, row: func(r row) error {
			there = true
			return x.found.take(x.t, r)
		}},
	}
	stmts = append(stmts, x.look(n)...)
	if len(n.places) > 0 && nameKey != nil {
		stmts = append(stmts, x.selectPlaces(n, nameKey))
	}
	x.begun = true
	if err := x.c.run(x.ctx, stmts...); err != nil || !there {
		return false, err
	}
	x.state = x.found
	return true, nil
}

// create ends the transaction and gives the tenant a row, in one of its own.
func (x *tx) create() error {
	if err := x.c.run(x.ctx, rollback); err != nil {
		return err
	}
	const insert = `INSERT INTO loci.tenant (tenant, seq, floor, events, namespaces, spaces, active, head, name_key)
		VALUES ($1, 0, 0, 0, 0, 0, 0, $2, $3) ON CONFLICT (tenant) DO NOTHING`
	return x.c.run(x.ctx, readWrite, behindWall(x.t.key),
		stmt{sql: insert, args: []any{x.t.key, make([]byte, len(loci.Hash{})), []byte(loci.NewNameKey())}}, commit)
}

// look lists the statements for what is needed of records, slots, replies and events.
func (x *tx) look(n *needs) (stmts []stmt) {
	if len(n.ids) > 0 {
		stmts = append(stmts, stmt{sql: selectHeld, args: []any{x.t.key, idList(n.ids)}, row: func(r row) error {
			x.records[r.id(0)] = &held{r.int(1), r.int(2), loci.Kind(r.string(3)), r.string(4), r.int(5)}
			return nil
		}})
	}
	if len(n.slots) > 0 {
		stmts = append(stmts, stmt{sql: selectSlots, args: []any{x.t.key, list(n.slots)}, row: func(r row) error {
			x.slots[r.string(0)] = r.id(1)
			return nil
		}})
	}
	if len(n.replies) > 0 {
		hashes := make([][]byte, len(n.replies))
		for i, key := range n.replies {
			hashes[i] = hashOf(key)
		}
		stmts = append(stmts, stmt{sql: selectReplies, args: []any{x.t.key, hashes}, row: func(r row) error {
			x.replies[r.string(0)] = r.int(1)
			return nil
		}})
	}
	if len(n.told) > 0 {
		stmts = append(stmts, stmt{sql: selectTold, args: []any{x.t.key, idList(n.told)}, row: func(r row) error {
			x.told[r.id(0)] = true
			return nil
		}})
	}
	if n.spaces {
		stmts = append(stmts, stmt{sql: selectSpaces, args: []any{x.t.key}, row: func(r row) error {
			x.spaces[loci.Space{Model: r.string(1), Dims: int(r.int(2))}] = r.int(0)
			return nil
		}})
	}
	return stmts
}

const (
	selectHeld    = "SELECT id, version, namespace, kind, slot_hash, passage_count FROM loci.record WHERE tenant = $1 AND id = ANY($2)"
	selectSlots   = "SELECT slot_hash, id FROM loci.record WHERE tenant = $1 AND slot_hash = ANY($2)"
	selectReplies = "SELECT key_hash, expires_at FROM loci.reply WHERE tenant = $1 AND key_hash = ANY($2)"
	selectTold    = `SELECT DISTINCT entity FROM loci.event WHERE tenant = $1 AND entity = ANY($2)
		AND (payload IS NOT NULL OR nonce IS NOT NULL)`
	selectSpaces = "SELECT n, model, dims, dropped FROM loci.space WHERE tenant = $1 ORDER BY n"
	selectPlaces = "SELECT n, mark, key_head, key_tail, kinds FROM loci.namespace WHERE tenant = $1 AND mark = ANY($2)"
)

// selectPlaces is the statement for the namespaces that are needed, by their marks.
func (x *tx) selectPlaces(n *needs, nameKey loci.NameKey) stmt {
	var marks [][]byte
	seen := map[string]bool{}
	for _, place := range n.places {
		if key := place.Key(); !seen[key] {
			seen[key] = true
			marks = append(marks, []byte(nameKey.Mark(place)))
		}
	}
	return stmt{sql: selectPlaces, args: []any{x.t.key, marks}, row: func(r row) error {
		w := &where{
			n:     r.int(0),
			mark:  loci.Mark(r.string(1)),
			key:   r.string(2) + r.string(3),
			named: !r.null(2),
			kinds: decodeKinds(r[4]),
		}
		x.places[w.mark] = w
		return nil
	}}
}

// place finds or makes the row of a namespace.
func (x *tx) place(n loci.Namespace) *where {
	mark := x.state.nameKey.Mark(n)
	w := x.places[mark]
	if w == nil {
		x.state.namespaces++
		w = &where{n: x.state.namespaces, mark: mark, fresh: true, staged: true, named: mark == "", signal: true}
		x.places[mark] = w
		x.fresh = append(x.fresh, w)
	}
	w.key = n.Key()
	return w
}

// stage makes sure that the row of a namespace is written before what stands in it.
func (x *tx) stage(w *where, signal bool) {
	w.signal = w.signal || signal
	if !w.staged {
		w.staged = true
		x.fresh = append(x.fresh, w)
	}
}

// number finds or makes the number of a vector space.
func (x *tx) number(s loci.Space) int64 {
	n, ok := x.spaces[s]
	if !ok {
		x.state.spaces++
		n = x.state.spaces
		x.spaces[s] = n
		x.newSpaces = append(x.newSpaces, []any{x.t.key, n, s.Dims, int64(0), s.Model})
	}
	return n
}

// active is the active space.
func (x *tx) active() (s loci.Space) {
	for space, n := range x.spaces {
		if n == x.state.active && n != 0 {
			return space
		}
	}
	return s
}

// forget begins the tenant again, all that was of it being gone.
func (x *tx) forget() {
	x.state.name, x.state.active, x.state.head, x.state.floor = "", 0, loci.Hash{}, x.state.seq
	x.state.chainStart = 0
	x.state.nameKey = loci.NewNameKey()
	clear(x.records)
	clear(x.slots)
	clear(x.replies)
	clear(x.told)
	clear(x.places)
	clear(x.spaces)
	clear(x.changes)
	clear(x.left)
}
