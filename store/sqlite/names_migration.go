package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/loci-memory/loci"
)

// migrateNames fills in what step 7 of the schema adds: places that features made move
// behind the label that no caller can name, namespaces get their marks, those without
// records lose their names, and the chain of events is sealed again with marks in it.
func migrateNames(ctx context.Context, conn *sql.Conn) error {
	m := &namesMigration{ctx: ctx, conn: conn, names: loci.NewNameKey(),
		keys: map[int64]string{}, numbers: map[string]int64{}}
	for _, step := range []func() error{m.read, m.move, m.mark, m.seal, m.unname} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type namesMigration struct {
	ctx     context.Context
	conn    *sql.Conn
	names   loci.NameKey
	keys    map[int64]string
	numbers map[string]int64
	full    map[string]bool // namespaces that hold records of a kind that callers place
}

func (m *namesMigration) exec(query string, args ...any) error {
	_, err := m.conn.ExecContext(m.ctx, query, args...)
	return err
}

// each calls row for each row of a query.
func (m *namesMigration) each(row func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := m.conn.QueryContext(m.ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := row(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (m *namesMigration) read() error {
	err := m.each(func(rows *sql.Rows) error {
		var n int64
		var key []byte
		err := rows.Scan(&n, &key)
		m.keys[n], m.numbers[string(key)] = string(key), n
		return err
	}, "SELECT n, key FROM namespace")
	if err != nil {
		return err
	}
	m.full = map[string]bool{}
	return m.each(func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		m.full[m.keys[n]] = true
		return err
	}, "SELECT DISTINCT namespace FROM record WHERE kind NOT IN ('session', 'message', 'file', 'block')")
}

// move brings records of features, and the events about them, to their new places.
func (m *namesMigration) move() error {
	type stay struct {
		n    int64
		kind string
	}
	var all []stay
	err := m.each(func(rows *sql.Rows) error {
		var s stay
		err := rows.Scan(&s.n, &s.kind)
		all = append(all, s)
		return err
	}, `SELECT DISTINCT namespace, kind FROM record WHERE kind IN ('session', 'message', 'file', 'block')
		UNION SELECT DISTINCT namespace, kind FROM event WHERE kind IN ('session', 'message', 'file', 'block')`)
	if err != nil {
		return err
	}
	holds := func(n loci.Namespace) bool { return m.full[n.Key()] }
	for _, s := range all {
		to, ok := placeOf(s.kind, loci.NamespaceFromKey(m.keys[s.n]), holds)
		if !ok {
			continue
		}
		key := to.Key()
		if _, ok := m.numbers[key]; !ok {
			var n int64
			const insert = "INSERT INTO namespace (key) VALUES (?) RETURNING n"
			if err := m.conn.QueryRowContext(m.ctx, insert, []byte(key)).Scan(&n); err != nil {
				return err
			}
			m.keys[n], m.numbers[key] = key, n
		}
		for _, table := range []string{"record", "event"} {
			err := m.exec(
				"UPDATE "+table+" SET namespace = ? WHERE namespace = ? AND kind = ?",
				m.numbers[key],
				s.n,
				s.kind,
			)
			if err != nil {
				return err
			}
		}
	}
	if err := m.exec("DELETE FROM shard"); err != nil {
		return err
	}
	return m.exec(`INSERT INTO shard (namespace, kind)
		SELECT DISTINCT namespace, kind FROM record WHERE passage_count > 0 ORDER BY namespace, kind`)
}

// mark gives every namespace its mark.
func (m *namesMigration) mark() error {
	for n, key := range m.keys {
		mark := m.names.Mark(loci.NamespaceFromKey(key))
		if err := m.exec("UPDATE namespace SET mark = ? WHERE n = ?", []byte(mark), n); err != nil {
			return err
		}
	}
	return m.exec("INSERT INTO meta (key, value) VALUES ('name_key', ?)", []byte(m.names))
}

// unname takes the names of namespaces without records. What is left of them in the
// pages is wiped once the file is open.
func (m *namesMigration) unname() error {
	empty := map[int64][]byte{}
	err := m.each(func(rows *sql.Rows) error {
		var n int64
		var mark []byte
		err := rows.Scan(&n, &mark)
		empty[n] = mark
		return err
	}, `SELECT n, mark FROM namespace
		WHERE mark <> x'' AND NOT EXISTS (SELECT 1 FROM record WHERE record.namespace = namespace.n)`)
	if err != nil || len(empty) == 0 {
		return err
	}
	for n, mark := range empty {
		if err := m.exec("UPDATE namespace SET key = ? WHERE n = ?", append([]byte(unnamed), mark...), n); err != nil {
			return err
		}
	}
	return m.exec("UPDATE meta SET value = max(1, (SELECT value FROM meta WHERE key = 'seq')) WHERE key = 'scrub'")
}

// seal makes the hashes of the chain again. An event that the old chain accuses stays accused.
func (m *namesMigration) seal() (err error) {
	var start int64
	var head []byte
	if err := m.conn.QueryRowContext(m.ctx, `SELECT (SELECT value FROM meta WHERE key = 'chain_start'),
		(SELECT value FROM meta WHERE key = 'chain_head')`).Scan(&start, &head); err != nil {
		return err
	}
	update, err := m.conn.PrepareContext(m.ctx, "UPDATE event SET sealed = ? WHERE seq = ?")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, update.Close()) }()
	var before, former loci.Hash
	for last, more := start, true; more; { // in parts: rows are read before they change
		var events []loci.Event
		err := m.each(func(rows *sql.Rows) error {
			e, err := scanEvent(rows)
			events, last = append(events, e), e.Seq
			return err
		}, selectEvents+" WHERE e.seq > ? ORDER BY e.seq LIMIT 1000", last)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			e.Reseal(before, former)
			before, former = e.Hash, e.Former
			if _, err := update.ExecContext(m.ctx, e.Hash[:], e.Seq); err != nil {
				return fmt.Errorf("event %d: %w", e.Seq, err)
			}
		}
		more = len(events) > 0
	}
	if string(former[:]) != string(head) { // the end is missing, and goes on to be
		before[0] ^= 0xff
	}
	return m.exec("UPDATE meta SET value = ? WHERE key = 'chain_head'", before[:])
}

// placeOf returns where a record of a kind lies whose namespace an earlier build wrote:
// until then a feature's places had no label of their own before them, and a record was
// told by its kind. false: it stays. A tree's place can be read in two ways; of two
// owners the one that holds records is taken, else the tree of a thread.
func placeOf(kind string, n loci.Namespace, holds func(loci.Namespace) bool) (loci.Namespace, bool) {
	at := func(back int, label string) (owner, place loci.Namespace, ok bool) {
		k := len(n) - back
		if len(n.Owner()) < len(n) || k < 0 || n[k] != label {
			return nil, n, false
		}
		return n[:k], n[:k].Inner(n[k:]...), true
	}
	switch kind {
	case "session", "message":
		_, place, ok := at(1, kind+"s")
		return place, ok
	}
	threads, thread, isThread := at(4, "tree")
	isThread = isThread && n[len(n)-2] == "thread"
	all, global, isGlobal := at(3, "tree")
	isGlobal = isGlobal && n[len(n)-1] == "global"
	switch {
	case isGlobal && (!isThread || holds(all) && !holds(threads)):
		return global, true
	case isThread:
		return thread, true
	}
	return n, false
}
