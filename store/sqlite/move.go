package sqlite

import (
	"strings"

	"github.com/loci-memory/loci"
)

// manyMoved is how many records one statement moves where there are as many: each of its own
// takes three times as long.
const manyMoved = 32

var moveRows = "WITH m (id, version, slot) AS (VALUES (?, ?, ?)" + strings.Repeat(", (?, ?, ?)", manyMoved-1) + `)
	UPDATE record SET slot = m.slot, version = m.version + 1, seq = ? FROM m
	WHERE record.id = m.id AND record.version = m.version AND record.namespace = ? AND record.kind = ?`

// moveMany moves the first records of puts, if many of one place do nothing else, and returns
// how many. Only the indexes by slot and by change are touched.
func (t *tx) moveMany(puts []loci.Put) (n int, err error) {
	if len(puts) < manyMoved {
		return 0, nil
	}
	puts = puts[:manyMoved]
	first := &puts[0].Record
	for i := range puts {
		r := &puts[i].Record
		if !puts[i].Moves || r.Kind != first.Kind || !r.Namespace.Equal(first.Namespace) {
			return 0, nil
		}
	}
	at, err := t.place(first.Namespace, true)
	if err != nil {
		return 0, err
	}
	args := make([]any, 0, 3*manyMoved+3)
	for i := range puts {
		r := &puts[i].Record
		if err := t.putShard(r, at.n); err != nil {
			return 0, err
		}
		if _, err := t.nextSeq(); err != nil {
			return 0, err
		}
		args = append(args, r.ID[:], r.Version-1, columnsOf(r).slot)
	}
	moved, err := t.execCount(moveRows, append(args, t.seq, at.n, string(first.Kind))...)
	if err != nil {
		return 0, conflictOr(err)
	}
	for i := range puts {
		if moved == manyMoved {
			t.handPut(&puts[i], 0, nil)
		} else if _, err := t.updatable(&puts[i].Record, at.n); err != nil {
			return 0, err // one that is not as its caller read it; those that moved are at their new version
		}
	}
	return manyMoved, nil
}
