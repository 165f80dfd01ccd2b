package sqlite

import (
	"context"
	"database/sql"
	"errors"

	"github.com/loci-memory/loci"
)

// What a quota counts of a record, and of all. SQLite reads lengths from the heads of rows,
// and not what they are of.
const (
	textSize = "octet_length(text) + coalesce(octet_length(heading), 0)"
	dataSize = "coalesce(octet_length(attributes), 0) + coalesce(octet_length(body), 0)"

	selectHeld  = "SELECT count(*), coalesce(sum(" + textSize + " + " + dataSize + "), 0) FROM record"
	selectSizes = "SELECT " + textSize + ", " + dataSize + " FROM record WHERE id = ?"
)

// heldAt is what the writer knows of what the tenant holds, as of a change number. Whoever
// writes in another process raises that, and it is measured again.
type heldAt struct {
	seq  int64
	held *loci.Holding // nil: not known
}

// Held implements [loci.RecordLister].
func (s *Store) Held(ctx context.Context, t loci.Tenant) (h loci.Holding, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return h, err
	}
	defer s.release(f)
	return h, f.translate("measure", f.readRow(ctx, selectHeld, nil, &h.Records, &h.Bytes))
}

// holds returns what the tenant holds within the transaction.
func (t *tx) holds() (*loci.Holding, error) {
	if t.held != nil {
		return t.held, nil
	}
	if t.seq == 0 && t.known.held != nil {
		var seq int64
		if err := t.row("SELECT value FROM meta WHERE key = 'seq'", nil, &seq); err != nil {
			return nil, err
		}
		if seq == t.known.seq {
			return t.known.held, nil
		}
	}
	h := &loci.Holding{}
	return h, t.row(selectHeld, nil, &h.Records, &h.Bytes)
}

// weigh returns what the tenant holds before and after a change; nil where no quota asks.
func (t *tx) weigh(c *loci.Change) (from, after *loci.Holding, err error) {
	if c.Quota == nil {
		return nil, nil, nil
	}
	if from, err = t.holds(); err != nil {
		return nil, nil, err
	}
	to, gone := *from, map[loci.ID]bool{}
	for _, e := range c.Erase {
		text, data, there, err := t.sizes(e.ID)
		if err != nil {
			return nil, nil, err
		}
		if there && !gone[e.ID] { // else the erase itself is refused
			to.Remove(text, data)
			gone[e.ID] = true
		}
	}
	for i := range c.Put {
		r := &c.Put[i].Record
		text, data := r.Sizes()
		oldText, oldData, there, err := t.sizes(r.ID)
		if err != nil {
			return nil, nil, err
		}
		if there && !gone[r.ID] {
			to.Remove(oldText, oldData)
			if c.Put[i].SameText {
				text = oldText
			}
		}
		to.Add(text, data)
	}
	return from, &to, nil
}

// sizes are those of a record, if it is there.
func (t *tx) sizes(id loci.ID) (text, data int64, there bool, err error) {
	err = t.row(selectSizes, []any{id[:]}, &text, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, false, nil
	}
	return text, data, err == nil, err
}
