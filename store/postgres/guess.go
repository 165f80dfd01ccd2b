package postgres

import "github.com/loci-memory/loci/store/internal/batch"

// guessing lets writes be guessed; not for the test of the lock, which guesses can do without.
var guessing = true

const (
	// raiseTenant is the first statement of a write that is guessed: it takes the tenant's lock, raises
	// the counter and leaves the row as the write does, if the row is the one that the process knows.
	raiseTenant = `UPDATE loci.tenant SET seq = $2, floor = $3, events = $4, namespaces = $5, spaces = $6, active = $7, head = $8,
		held_seq = $9, held_records = $10, held_bytes = $11, tally = $14, due_at = 0 WHERE tenant = $1 AND seq + 1 = $2 AND head = $12
		AND held_seq = $13`

	// sureOfTenant fails with a division by zero unless raiseTenant has changed the row: nobody else
	// leaves this head. A condition that fails inside of raiseTenant would say nothing of a row that is gone.
	sureOfTenant = "SELECT 1 / count(*) FROM loci.tenant WHERE tenant = $1 AND seq = $2 AND head = $3"
)

// A drafter decides jobs from what the process knows of a tenant.
type drafter struct {
	s *Store
	t *tenant
}

// A draft is some jobs that were decided so.
type draft = batch.Draft[*tx]

// Follow implements [batch.Drafter].
func (d drafter) Follow(before *draft) *tx {
	x := newTx(d.s, d.t)
	x.guessed = true
	d.t.known.Follow(&x.Batch, batchOf(before))
	return x
}

// Join implements [batch.Drafter].
func (d drafter) Join(x *tx, before *draft, n *batch.Needs) bool {
	return d.t.known.Join(&x.Batch, batchOf(before), n)
}

// Close implements [batch.Drafter].
func (d drafter) Close(x *tx) {
	x.end()
	x.stage()
	if len(x.written) > maxSent {
		return // it will not be sent
	}
	for i := range x.written {
		_ = x.written[i].encode() // what cannot be encoded fails again when it is sent
	}
}

func batchOf(d *draft) *batch.Batch {
	if d == nil {
		return nil
	}
	return &d.X.Batch
}

// guess writes what was decided without a look, in one round trip. done: that is how it ended. Else
// nothing was written, and the jobs are to be decided from what the database holds: nothing is to be
// written, or the guess was wrong. So a job is refused only where another one is written, by the state
// in which it is. While it is written the next batch is decided behind it.
//
// A guess that is wrong fails as a whole. Somebody else's write has raised the counter, or the guess was
// looked for and given up before it came (undoubt): raiseTenant changes no row, and sureOfTenant
// fails. Or there is a record, slot, reply or namespace already, of which only one may be.
func (x *tx) guess(n *batch.Needs, f *flight) (done bool, err error) {
	if !x.Mark.Event || len(x.written) > maxSent {
		return false, nil
	}
	f.Open()
	st := &x.State
	stmts := append(x.start(), stmt{sql: raiseTenant, args: []any{
		x.t.key, st.Seq, st.Floor, st.Events, st.Namespaces, st.Spaces, st.Active, st.Head[:],
		st.HeldSeq, st.Holding.Records, st.Holding.Bytes, x.Found.Head[:], x.Found.HeldSeq, nonempty(st.Tally),
	}}, stmt{sql: sureOfTenant, args: []any{x.t.key, st.Seq, st.Head[:]}})
	err = x.commit(append(stmts, x.written...))
	if code := codeOf(err); code == codeDivision || code == codeUnique {
		f.Shut()
		x.t.known.Wrong()
		x.wrong = true
		return false, nil
	}
	return true, x.settle(n, err)
}
