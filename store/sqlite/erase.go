package sqlite

import (
	"context"
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
	found, numbers, gone, err := t.erasable(ids)
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
	if len(part) < manyErased {
		return t.eraseRows(ids, padded(numbers), true)
	}
	return t.eraseMany(ids, padded(numbers), &gone)
}

// manyErased is from how many records on it pays to ask what there is to erase with them,
// and to take all of them off the counts at once.
const manyErased = 8

// eraseRows erases records by their ids and numbers, with what belongs to them. linked says
// that there may be links or replies.
func (t *tx) eraseRows(ids, numbers []any, linked bool) error {
	those := inList("n", len(numbers))
	if err := t.exec("INSERT INTO erased (seq, id, namespace) SELECT ?, id, namespace FROM record WHERE "+those,
		append([]any{t.seq}, numbers...)...); err != nil {
		return err
	}
	if err := t.exec("DELETE FROM record WHERE "+those, numbers...); err != nil { // takes revisions and vectors along
		return err
	}
	for _, step := range []struct {
		query, column string
		needed        bool
	}{
		{"DELETE FROM link WHERE ", "from_id", linked},
		{"DELETE FROM link WHERE ", "to_id", linked},
		{"DELETE FROM reply WHERE ", "record", linked},
		{"UPDATE event SET payload = NULL, nonce = NULL WHERE (payload IS NOT NULL OR nonce IS NOT NULL) AND ", "entity", true},
	} {
		if !step.needed {
			continue
		}
		if err := t.exec(step.query+inList(step.column, len(ids)), ids...); err != nil {
			return err
		}
	}
	return nil
}

// eraseMany is eraseRows for many records, which found are on their way. The triggers that
// would take each of them off the counts take longer than all else, so they rest.
func (t *tx) eraseMany(ids, numbers []any, gone *uncounting) error {
	var linked bool
	if err := t.row("SELECT EXISTS (SELECT 1 FROM link) OR EXISTS (SELECT 1 FROM reply)", nil, &linked); err != nil {
		return err
	}
	if err := t.exec("INSERT INTO erasing VALUES (1)"); err != nil {
		return err
	}
	err := t.rows("DELETE FROM vector WHERE "+inList("record", len(numbers))+" RETURNING record, space", numbers, 2,
		func(row []driver.Value) error {
			var n, space int64
			err := take(row, &n, &space)
			gone.vector(n, space)
			return err
		})
	if err == nil {
		err = t.eraseRows(ids, numbers, linked)
	}
	if err == nil {
		err = t.uncount(gone)
	}
	if err != nil {
		return err // all that was done of the job is taken back
	}
	return t.exec("DELETE FROM erasing")
}

// An erasable is what the file says of a record that is to go.
type erasable struct{ n, version, namespace int64 }

// erasable looks up records, their numbers, and what they count for.
func (t *tx) erasable(ids []any) (found map[loci.ID]erasable, numbers []any, gone uncounting, err error) {
	found = map[loci.ID]erasable{}
	query := `SELECT id, n, version, namespace, kind, live, coalesce(status, ''), passage_count, octet_length(text),
		coalesce(octet_length(heading), 0) + coalesce(octet_length(attributes), 0) + coalesce(octet_length(body), 0)
		FROM record WHERE ` + inList("id", len(ids))
	err = t.rows(query, ids, 10, func(row []driver.Value) error {
		var raw []byte
		var id loci.ID
		var r erasable
		var at tallied
		var passages, text, beside int64
		err := take(row, &raw, &r.n, &r.version, &r.namespace, &at.kind, &at.live, &at.status,
			&passages, &text, &beside)
		copy(id[:], raw)
		at.namespace = r.namespace
		gone.record(r.n, at, passages, text, beside)
		found[id], numbers = r, append(numbers, r.n)
		return err
	})
	return found, numbers, gone, err
}

// settle waits until what others erased is wiped, those of other processes, too.
func (f *file) settle(ctx context.Context) error {
	var pending int64
	if err := f.readRow(ctx, "SELECT value FROM meta WHERE key = 'scrub'", nil, &pending); err != nil || pending == 0 {
		return err
	}
	f.startScrub()
	return f.awaitScrub(ctx, true) // they may have gone in steps
}

// padded repeats the last value until there are a power of two of them: few lengths, so
// few prepared statements.
func padded(values []any) []any {
	for len(values)&(len(values)-1) != 0 {
		values = append(values, values[len(values)-1])
	}
	return values
}
