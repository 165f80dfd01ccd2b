package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/page"
)

// addTally adds what came to kept counts.
var addTally = insertInto("tally", "namespace, what, kind, status, live, space, records, searched, passages, bytes").
	following(` ON CONFLICT (tenant, namespace, live, space, what) DO UPDATE SET records = tally.records + excluded.records,
		searched = tally.searched + excluded.searched, passages = tally.passages + excluded.passages, bytes = tally.bytes + excluded.bytes`)

const (
	// tallyColumns are what takeTally reads.
	tallyColumns = "namespace, kind, status, live, space, records, searched, passages, bytes"
	keptTally    = "SELECT " + tallyColumns + " FROM loci.tally WHERE tenant = $1"

	// What records count for, and their vectors.
	tallyOfRecords = `SELECT tenant, namespace, kind, coalesce(status, '') AS status, live, 0::bigint AS space, count(*) AS records,
		count(*) FILTER (WHERE live AND passage_count > 0) AS searched, sum(passage_count)::bigint AS passages,
		sum(octet_length(text))::bigint AS bytes FROM loci.record WHERE tenant = $1 GROUP BY tenant, namespace, kind, coalesce(status, ''), live`
	tallyOfVectors = `SELECT r.tenant, r.namespace, r.kind, ''::bytea AS status, false AS live, v.space, count(*) AS records,
		count(*) FILTER (WHERE r.live AND r.passage_count > 0) AS searched, 0::bigint AS passages, 0::bigint AS bytes
		FROM loci.vector v JOIN loci.record r ON r.tenant = $1 AND r.id = v.record WHERE v.tenant = $1
		GROUP BY r.tenant, r.namespace, r.kind, v.space`

	forgetTally = "DELETE FROM loci.tally WHERE tenant = $1"
	dropEmpty   = `DELETE FROM loci.tally WHERE tenant = $1 AND namespace = ANY($2) AND records = 0 AND searched = 0 AND passages = 0
		AND bytes = 0`
	insertTally = "INSERT INTO loci.tally (tenant, what, " + tallyColumns + ") SELECT tenant, " +
		"sha256(int8send(octet_length(kind)) || kind || status), " + tallyColumns + " FROM ("
)

// countTally counts all again.
var countTally = []string{forgetTally, insertTally + tallyOfRecords + ") t", insertTally + tallyOfVectors + ") t"}

// tallyRow is what came to a count as the columns of addTally.
func tallyRow(w *rows, n *batch.NewTally) {
	w.int(n.Namespace)
	w.bytes(n.What())
	w.string(string(n.Kind))
	w.string(n.Status)
	w.bool(n.Live)
	w.int(n.Space)
	w.int(n.Records)
	w.int(n.Searched)
	w.int(n.Passages)
	w.int(n.Bytes)
}

// writeTallies adds what came to kept counts, and drops those that say nothing any more.
func (x *tx) writeTallies(list []batch.NewTally) {
	if len(list) == 0 {
		return
	}
	x.insert(rowsOf(addTally, list, tallyRow))
	less := map[int64]bool{}
	var of []int64
	for _, n := range list {
		if n.Records < 0 && !less[n.Namespace] {
			less[n.Namespace] = true
			of = append(of, n.Namespace)
		}
	}
	if len(of) > 0 {
		x.written = append(x.written, stmt{sql: dropEmpty, args: []any{x.t.key, of}})
	}
}

// takeTally reads rows of tallyColumns.
func takeTally(to batch.Tallies) func(row) error {
	return func(r row) error {
		to.Add(
			batch.TallyKey{
				Namespace: r.int(0), Kind: loci.Kind(r.string(1)), Status: r.string(2), Live: r.bool(3),
				Space: r.int(4),
			},
			batch.Amounts{Records: r.int(5), Searched: r.int(6), Passages: r.int(7), Bytes: r.int(8)},
		)
		return nil
	}
}

// keptCount answers a count from the kept counts; done: it could. What has expired and is not
// erased yet is counted one by one and taken off. It ends the transaction, with one round trip if it may.
func (r *reading) keptCount(filter *loci.Filter, n *loci.Counts) (done bool, err error) {
	c := about(r.t)
	c.add("t.tenant = $1")
	c.within("t.namespace", filter.Within, filter.Exact, &r.t.names)
	if len(filter.Kinds) > 0 {
		c.add("t.kind = ANY(" + c.arg(list(filter.Kinds)) + ")")
	}
	of := batch.Tallies{}
	stmts := []stmt{{sql: sumTally + c.String() + " GROUP BY 1, 2, 3, 4", args: c.args, row: func(row row) error {
		key := batch.TallyKey{Live: row.bool(2), Space: row.int(3)}
		key.Kind, key.Status = loci.Kind(row.string(0)), row.string(1)
		of[key] = batch.Amounts{Records: row.int(4), Searched: row.int(5), Passages: row.int(6), Bytes: row.int(7)}
		return nil
	}}}
	var space int64
	if !filter.Space.IsZero() {
		stmts = append(stmts, stmt{sql: selectSpaces, args: []any{r.t.key}, row: func(row row) error {
			if (loci.Space{Model: row.string(1), Dims: int(row.int(2))}) == filter.Space {
				space = row.int(0)
			}
			return nil
		}})
	}
	if !filter.At.IsZero() {
		stmts = append(stmts, r.expired(filter, n))
	}
	within, told := r.t.told(filter)
	if err := r.run(stmts, told); err != nil {
		return false, err
	}
	came, known := r.state.Tallied(r.state.Seq)
	if !known {
		if r.state.There {
			r.countLater()
		}
		return false, nil
	}
	if !told {
		if within, err = r.reached(filter, came.In()); err != nil {
			return false, err
		}
	}
	add := func(kind loci.Kind, status string, part loci.Counts) { page.Add(filter, kind, status, part, n) }
	of.Sum(filter, func(int64) bool { return true }, space, add)
	came.Sum(filter, within, space, add)
	return true, nil
}

// told says which namespaces a filter reaches, if the process knows that as the database will be asked for it:
// all, or by their numbers.
func (t *tenant) told(filter *loci.Filter) (within func(int64) bool, told bool) {
	if !filter.Exact && slices.ContainsFunc(filter.Within, func(n loci.Namespace) bool { return len(n) == 0 }) {
		return func(int64) bool { return true }, true
	}
	var numbers []int64
	for _, n := range filter.Within {
		number, ok := t.names.Number(n.Key())
		if !ok || !filter.Exact {
			return nil, false
		}
		numbers = append(numbers, number)
	}
	return func(number int64) bool { return slices.Contains(numbers, number) }, true
}

// reached asks which of some namespaces a filter reaches, by the condition by which their counts are asked for: one that
// has lost its name is in neither. It ends the transaction.
func (r *reading) reached(filter *loci.Filter, numbers []int64) (within func(int64) bool, err error) {
	in := map[int64]bool{}
	c := about(r.t)
	from := " FROM unnest(" + c.arg(numbers) + "::bigint[]) k (n) WHERE $1::bytea IS NOT NULL AND "
	c.within("k.n", filter.Within, filter.Exact, &r.t.names)
	err = r.last(stmt{sql: "SELECT k.n" + from + c.String(), args: c.args, row: func(row row) error {
		in[row.int(0)] = true
		return nil
	}})
	return func(number int64) bool { return in[number] }, err
}

const sumTally = `SELECT t.kind, t.status, t.live, t.space, sum(t.records)::bigint, sum(t.searched)::bigint, sum(t.passages)::bigint,
	sum(t.bytes)::bigint FROM loci.tally t WHERE `

// tallied begins the transaction and says what comes to the counts of the table; known: they are right.
func (r *reading) tallied() (came batch.Tallies, known bool, err error) {
	if err := r.query(); err != nil {
		return nil, false, err
	}
	if came, known = r.state.Tallied(r.state.Seq); !known && r.state.There {
		r.countLater()
	}
	return came, known, nil
}

// countLater has the tenant counted again beside whoever asks.
func (r *reading) countLater() {
	r.t.recount.Later(r.s.crew, r.s.log, r.t.name, eraseTime, mender{r.s}.Recount)
}

// expired is the statement that takes off what has expired.
func (r *reading) expired(filter *loci.Filter, n *loci.Counts) stmt {
	f := *filter
	f.Expired = true
	c := about(r.t)
	c.where(&f, &r.t.names)
	q, by := c.counting(&f, true)
	return stmt{sql: q + c.String() + by, args: c.args, row: func(row row) error {
		kind, status, of := takeCounts(row, true)
		page.Add(filter, kind, status, loci.Counts{
			Records: -of.Records, Live: -of.Live, Passages: -of.Passages, Bytes: -of.Bytes, Unembedded: -of.Unembedded,
		}, n)
		return nil
	}}
}

// keptSpaces answers from the kept counts how many records have vectors in each space.
func (r *reading) keptSpaces(spaces map[loci.Space]int64) (done bool, err error) {
	came, known, err := r.tallied()
	if err != nil || !known {
		return false, err
	}
	sums := map[int64]int64{}
	for key, n := range came {
		sums[key.Space] += n.Records
	}
	all, read := listSpaces(r.t)
	if err := r.last(read, stmt{sql: sumSpaces, args: []any{r.t.key}, row: func(row row) error {
		sums[row.int(0)] += row.int(1)
		return nil
	}}); err != nil {
		return false, err
	}
	for number, n := range sums {
		if space, ok := all[number]; ok && n > 0 {
			spaces[space] = n
		}
	}
	return true, nil
}

const sumSpaces = "SELECT space, sum(records)::bigint FROM loci.tally WHERE tenant = $1 AND space > 0 GROUP BY space"

// checkTally says how many kept counts differ from the records. Where nothing is known nothing differs; lost: so it is.
func (r *reading) checkTally() (wrong int, lost bool, err error) {
	kept, known := r.state.Tallied(r.state.Seq)
	if !known {
		return 0, r.state.There, nil
	}
	counted := batch.Tallies{}
	columns := "SELECT " + tallyColumns + " FROM ("
	err = r.query(
		stmt{sql: keptTally, args: []any{r.t.key}, row: takeTally(kept)},
		stmt{sql: columns + tallyOfRecords + ") t", args: []any{r.t.key}, row: takeTally(counted)},
		stmt{sql: columns + tallyOfVectors + ") t", args: []any{r.t.key}, row: takeTally(counted)},
	)
	return kept.Differ(counted), false, err
}

// countAgain counts all that a tenant has, and keeps that.
func (x *tx) countAgain() error {
	last := len(countTally) - 1
	x.Flush()
	for _, sql := range countTally[:last] {
		x.written = append(x.written, stmt{sql: sql, args: []any{x.t.key}})
	}
	whole := x.Found.Events / page.BlockSize
	x.written = append(x.written, stmt{sql: describe, args: []any{x.t.key, whole, whole}}) // what others have not
	err := x.now(stmt{sql: countTally[last], args: []any{x.t.key}})
	if err == nil {
		x.CountedAgain()
	}
	return err
}

// countTenants counts every tenant whose counts are not known, each in a transaction of its own, in which
// nobody else writes to it.
func countTenants(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, "SELECT tenant FROM loci.tenant WHERE tally IS NULL ORDER BY tenant")
	if err != nil {
		return err
	}
	tenants, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return err
	}
	for _, key := range tenants {
		if err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { return countTenant(ctx, tx, key) }); err != nil {
			return err
		}
	}
	return nil
}

func countTenant(ctx context.Context, tx pgx.Tx, key []byte) error {
	var seq int64
	const lock = "UPDATE loci.tenant SET seq = seq WHERE tenant = $1 RETURNING seq"
	if err := tx.QueryRow(ctx, lock, key).Scan(&seq); err != nil {
		return err
	}
	for _, sql := range countTally {
		if _, err := tx.Exec(ctx, sql, key); err != nil {
			return err
		}
	}
	_, err := tx.Exec(ctx, "UPDATE loci.tenant SET tally = $2 WHERE tenant = $1", key, batch.EmptyTally(seq))
	return err
}
