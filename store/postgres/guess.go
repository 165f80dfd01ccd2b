package postgres

import "github.com/loci-memory/loci/store/internal/batch"

// guessing lets writes be guessed; not for the test of the lock, which guesses can do without.
var guessing = true

const (
	// raiseTenant is the first statement of a write that is guessed: it takes the tenant's lock, raises
	// the counter and leaves the row as the write does, if the row is the one that the process knows.
	raiseTenant = `UPDATE loci.tenant SET seq = $2, floor = $3, events = $4, namespaces = $5, spaces = $6, active = $7, head = $8,
		held_seq = $9, held_records = $10, held_bytes = $11, due_at = 0 WHERE tenant = $1 AND seq + 1 = $2 AND head = $12
		AND held_seq = $13`

	// sureOfTenant fails with a division by zero unless raiseTenant has changed the row: nobody else
	// leaves this head. A condition that fails inside of raiseTenant would say nothing of a row that is gone.
	sureOfTenant = "SELECT 1 / count(*) FROM loci.tenant WHERE tenant = $1 AND seq = $2 AND head = $3"
)

// guess decides jobs from what the process knows of the tenant and writes all of it in one round
// trip. done: that is how they ended. Else nothing was written, and they are to be decided from what
// the database holds: too little is known, nothing is to be written, or the guess was wrong. So a job
// is refused only where another one is written, by the state in which it is.
//
// A guess that is wrong fails as a whole. Somebody else's write has raised the counter, or the guess was
// looked for and given up before it came (undoubt): raiseTenant changes no row, and sureOfTenant
// fails. Or there is a record, slot, reply or namespace already, of which only one may be.
func (x *tx) guess(jobs []*job, n *batch.Needs) (outcome batch.Outcomes[*tx], done bool, err error) {
	if !guessing || !x.t.known.Guess(&x.Batch, n) {
		return nil, false, nil
	}
	x.guessed = true
	outcome, _, _ = batch.Decide(jobs, x, func() error { return nil })
	x.stage()
	if !x.Mark.Event || len(x.written) > maxSent {
		return nil, false, nil
	}
	st := &x.State
	stmts := append(x.start(), stmt{sql: raiseTenant, args: []any{
		x.t.key, st.Seq, st.Floor, st.Events, st.Namespaces, st.Spaces, st.Active, st.Head[:],
		st.HeldSeq, st.Holding.Records, st.Holding.Bytes, x.Found.Head[:], x.Found.HeldSeq,
	}}, stmt{sql: sureOfTenant, args: []any{x.t.key, st.Seq, st.Head[:]}})
	err = x.commit(append(stmts, x.written...))
	if code := codeOf(err); code == codeDivision || code == codeUnique {
		x.t.known.Wrong()
		x.wrong = true
		return nil, false, nil
	}
	return outcome, true, x.settle(n, err)
}
