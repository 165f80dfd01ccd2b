package sqlite

import (
	"database/sql/driver"
	"slices"

	"github.com/loci-memory/loci"
)

// maxErased is how many records one statement erases: beyond, a statement takes so long
// that what it saves for each record no longer counts.
const maxErased = 256

// eraseAll erases records of a change, and what belongs to them. A directory of files has
// two or more for each: a statement for many of them takes a fifth of what one for each does.
func (t *tx) eraseAll(all []loci.Erase) error {
	for part := range slices.Chunk(all, maxErased) {
		if err := t.eraseSome(part); err != nil {
			return err
		}
	}
	if len(all) == 0 || t.seq%1000 != 0 || t.seq <= erasedKept {
		return nil
	}
	if err := t.exec("DELETE FROM erased WHERE seq <= ?", t.seq-erasedKept); err != nil {
		return err
	}
	return t.exec("UPDATE meta SET value = ? WHERE key = 'erased_floor'", t.seq-erasedKept)
}

func (t *tx) eraseSome(part []loci.Erase) error {
	ids := make([]any, len(part))
	for i := range part {
		ids[i] = part[i].ID[:]
	}
	ids = padded(ids)
	found, numbers, err := t.erasable(ids)
	if err != nil {
		return err
	}
	for _, e := range part {
		r, ok := found[e.ID]
		if !ok || r.version != e.Version {
			return loci.Errorf(loci.Conflict, "record %s is not at version %d", e.ID, e.Version)
		}
		delete(found, e.ID) // a second time it is not there
		if _, err := t.nextSeq(); err != nil {
			return err
		}
		t.erased, t.left[r.namespace] = true, true
		t.handErased(e.ID, r.namespace)
	}
	numbers = padded(numbers)
	for _, step := range []struct {
		query, column string
		args          []any
	}{
		{"INSERT INTO erased (seq, id, namespace) SELECT ?, id, namespace FROM record WHERE ", "n", append([]any{t.seq}, numbers...)},
		{"DELETE FROM record WHERE ", "n", numbers}, // takes revisions and vectors along
		{"DELETE FROM link WHERE ", "from_id", ids},
		{"DELETE FROM link WHERE ", "to_id", ids},
		{"DELETE FROM reply WHERE ", "record", ids},
		{"UPDATE event SET payload = NULL, nonce = NULL WHERE (payload IS NOT NULL OR nonce IS NOT NULL) AND ", "entity", ids},
	} {
		if err := t.exec(step.query+inList(step.column, len(ids)), step.args...); err != nil {
			return err
		}
	}
	return nil
}

// An erasable is what the file says of a record that is to go.
type erasable struct{ n, version, namespace int64 }

// erasable looks up records, and their numbers.
func (t *tx) erasable(ids []any) (found map[loci.ID]erasable, numbers []any, err error) {
	found = map[loci.ID]erasable{}
	query := "SELECT id, n, version, namespace FROM record WHERE " + inList("id", len(ids))
	err = t.rows(query, ids, 4, func(row []driver.Value) error {
		var raw []byte
		var id loci.ID
		var r erasable
		err := take(row, &raw, &r.n, &r.version, &r.namespace)
		copy(id[:], raw)
		found[id], numbers = r, append(numbers, r.n)
		return err
	})
	return found, numbers, err
}

// padded repeats the last value until there are a power of two of them: few lengths, so
// few prepared statements.
func padded(values []any) []any {
	for len(values)&(len(values)-1) != 0 {
		values = append(values, values[len(values)-1])
	}
	return values
}
