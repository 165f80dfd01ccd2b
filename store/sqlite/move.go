package sqlite

import (
	"strings"

	"github.com/loci-memory/loci"
)

// manyMoved is how many records one statement moves where there are as many: each of its own
// takes three times as long.
const manyMoved = 32

var (
	moveRows = "WITH m (id, version, slot) AS (VALUES (?, ?, ?)" + strings.Repeat(", (?, ?, ?)", manyMoved-1) + `)
	UPDATE record SET slot = m.slot, version = m.version + 1, seq = ? FROM m
	WHERE record.id = m.id AND record.version = m.version AND record.namespace = ? AND record.kind = ?` + countedHere

	moveFiles = "WITH m (n, id, version, slot) AS (VALUES (?, ?, ?, ?)" + strings.Repeat(", (?, ?, ?, ?)", manyMoved-1) + `)
	UPDATE record SET slot = m.slot, version = m.version + 1, seq = ? FROM m
	WHERE record.n = m.n AND record.id = m.id AND record.version = m.version AND record.namespace = ? AND record.kind = ?` + countedHere
)

// moveMany moves the first records of puts, if many of one place do nothing else, and returns how many. Only the indexes
// by slot and by change are touched, and where files are listed: nothing that the file's other triggers keep changes.
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
	move, from := moveRows, movingRows{}
	if first.Kind == listedKind {
		move = moveFiles
		if err := t.unlistMoving(puts, &from); err != nil {
			return 0, err
		}
	}
	args, files := make([]any, 0, 4*manyMoved+3), []any(nil)
	for i := range puts {
		r := &puts[i].Record
		if err := t.putShard(r, at.n); err != nil {
			return 0, err
		}
		if _, err := t.nextSeq(); err != nil {
			return 0, err
		}
		if number := from.numbered[r.ID]; first.Kind == listedKind {
			args = append(args, number)
			if files = append(files, listed(r, number, at.n)...); r.Slot == "" {
				files = files[:len(files)-listedColumns]
			}
		}
		args = append(args, r.ID[:], r.Version-1, columnsOf(r).slot)
	}
	var moved int64
	if err = t.f.resting(func() (err error) {
		moved, err = t.execCount(move, append(args, t.seq, at.n, string(first.Kind))...)
		return err
	}); err != nil {
		return 0, conflictOr(err)
	}
	for i := range puts {
		if moved == manyMoved {
			t.handPut(&puts[i], 0, nil)
		} else if _, err := t.updatable(&puts[i].Record, at.n); err != nil {
			return 0, err // one that is not as its caller read it; those that moved are at their new version
		}
	}
	return manyMoved, t.listFiles(files)
}

// unlistMoving takes files out of the list that are to move, and notes their numbers.
func (t *tx) unlistMoving(puts []loci.Put, from *movingRows) error {
	from.numbered = make(map[loci.ID]int64, len(puts))
	ids := make([]any, len(puts))
	for i := range puts {
		ids[i] = puts[i].Record.ID[:]
	}
	query := "SELECT " + takeFunction + "(?, n, id, namespace, slot) FROM record WHERE kind = '" + string(listedKind) + "' AND id"
	if err := t.taken(from, query+in(len(ids)), ids...); err != nil {
		return err
	}
	return t.unlistFiles(&from.listed)
}

// A movingRows takes files that are to move.
type movingRows struct {
	numbered map[loci.ID]int64
	listed   listedFiles
	ended    error
}

func (m *movingRows) why() error { return m.ended }

// take implements [taker].
func (m *movingRows) take(row lentRow) bool {
	number, known := row.integer(0)
	id, _ := row.bytes(1)
	namespace, placed := row.integer(2)
	if !known || !placed || len(id) != len(loci.ID{}) {
		m.ended = errWhole
		return false
	}
	m.numbered[loci.ID(id)] = number
	if slot, ok := row.bytes(3); ok {
		m.listed.add(number, namespace, slot)
	}
	return true
}
