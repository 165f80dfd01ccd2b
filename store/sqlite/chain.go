package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/loci-memory/loci"
)

// events appends events to the log and to the chain.
func (t *tx) events(given []*loci.Event) error {
	for len(given) > 0 {
		n := rowsAtOnce(len(given))
		args := make([]any, 0, n*eventColumns)
		for _, e := range given[:n] {
			var err error
			if args, err = t.sealed(args, e); err != nil {
				return err
			}
		}
		if err := t.exec(insertEvents.of(n), args...); err != nil {
			return err
		}
		given = given[n:]
	}
	return nil
}

func pointers[T any](list []T) []*T {
	to := make([]*T, len(list))
	for i := range list {
		to[i] = &list[i]
	}
	return to
}

const eventColumns = 12

var insertEvents = insertOf{row: "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
	head: `INSERT OR FAIL INTO event (id, type, kind, entity, namespace, occurred_at, actor, request_id, payload, nonce, digest, sealed)
		VALUES `}

// sealed adds an event to the chain, and its columns to args.
func (t *tx) sealed(args []any, given *loci.Event) ([]any, error) {
	at, err := t.place(given.Namespace, false)
	if err != nil {
		return nil, err
	}
	if !t.headKnown { // another process may have written since the last batch
		var head []byte
		if err := t.row("SELECT value FROM meta WHERE key = 'chain_head'", nil, &head); err != nil {
			return nil, err
		}
		t.head = loci.Hash{}
		copy(t.head[:], head)
		t.headKnown = true
	}
	e := *given
	e.Mark = at.mark
	e.Seal(t.head)
	t.head, t.headMoved = e.Hash, true
	var payload, nonce any
	if len(e.Payload) > 0 {
		payload = []byte(e.Payload)
	}
	if len(e.Nonce) > 0 {
		nonce = e.Nonce
	}
	return append(args, e.ID[:], string(e.Type), string(e.Kind), e.Entity[:], at.n, e.At.UnixMilli(),
		e.Actor, e.RequestID, payload, nonce, e.Digest[:], e.Hash[:]), nil
}

// saveHead writes down where the chain ends, once a commit.
func (t *tx) saveHead() error {
	if !t.headMoved {
		return nil
	}
	return t.exec("UPDATE meta SET value = ? WHERE key = 'chain_head'", slices.Clone(t.head[:]))
}

// restartChain begins a new chain, all events being gone; the marks of namespaces
// change, too.
func (t *tx) restartChain() error {
	t.head, t.headKnown, t.headMoved = loci.Hash{}, true, true
	if err := t.exec("UPDATE meta SET value = 0 WHERE key = 'chain_start'"); err != nil {
		return err
	}
	t.names = loci.NewNameKey()
	return t.exec("UPDATE meta SET value = ? WHERE key = 'name_key'", []byte(t.names))
}

// checkTold refuses a change that takes the details of events about records that it is quiet
// about.
// It comes before any of the erases, which cost much more.
func (t *tx) checkTold(quiet []loci.ID) error {
	told := map[loci.ID]bool{}
	for part := range slices.Chunk(quiet, maxErased) {
		if numbers, all, err := t.eventsOf(part); err != nil || all && len(numbers) == 0 {
			if err != nil {
				return err
			}
			continue
		}
		ids := padded(values(part))
		err := t.rows(
			"SELECT entity FROM event WHERE (payload IS NOT NULL OR nonce IS NOT NULL) AND "+inList("entity", len(ids)), ids, 1,
			func(row []driver.Value) error {
				var raw []byte
				err := take(row, &raw)
				told[loci.ID(raw)] = true
				return err
			})
		if err != nil {
			return err
		}
	}
	var untold []loci.ID
	for _, id := range quiet {
		if told[id] {
			untold = append(untold, id)
		}
	}
	return loci.RefuseUntold(untold)
}

// Untold implements [loci.EventLog]. The list of erased rows is cut now and then: what
// was erased before that only has to be gone.
func (s *Store) Untold(ctx context.Context, t loci.Tenant, ids []loci.ID) (untold []loci.ID, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return nil, err
	}
	defer s.release(f)
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = hex.EncodeToString(id[:])
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, &loci.Error{Code: loci.Internal, Op: "look for erased records", Err: err}
	}
	err = f.readRows(
		ctx,
		`SELECT unhex(value) FROM json_each(?1) WHERE unhex(value) NOT IN (SELECT id FROM record WHERE id IN (SELECT unhex(value) FROM json_each(?1)))
		AND ((SELECT value FROM meta WHERE key = 'erased_floor') > 0 OR unhex(value) IN (SELECT id FROM erased))`,
		[]any{string(list)},
		func(rows *sql.Rows) (bool, error) {
			var data []byte
			err := rows.Scan(&data)
			untold = append(untold, loci.ID(data))
			return true, err
		})
	return untold, f.translate("look for erased records", err)
}

// Chain implements [loci.EventLog].
func (s *Store) Chain(ctx context.Context, t loci.Tenant) (c loci.Chain, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return c, err
	}
	defer s.release(f)
	var head []byte
	err = f.readRow(
		ctx,
		`SELECT (SELECT value FROM meta WHERE key = 'chain_head'), (SELECT value FROM meta WHERE key = 'chain_start'),
		(SELECT value FROM meta WHERE key = 'name_key')`,
		nil,
		&head,
		&c.Start,
		(*[]byte)(&c.Names),
	)
	copy(c.Head[:], head)
	return c, f.translate("read chain", err)
}
