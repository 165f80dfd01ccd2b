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
// quiet are those of which [tx.checkTold] knows that no event has details.
func (t *tx) eraseAll(all []loci.Erase, quiet []loci.ID) error {
	without := make(map[loci.ID]bool, len(quiet))
	for _, id := range quiet {
		without[id] = true
	}
	for part := range slices.Chunk(all, maxErased) {
		if err := t.eraseSome(part, without); err != nil {
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

func (t *tx) eraseSome(part []loci.Erase, quiet map[loci.ID]bool) error {
	var g going
	for i := range part {
		g.ids = append(g.ids, part[i].ID[:])
		if !quiet[part[i].ID] {
			g.told = append(g.told, part[i].ID[:])
		}
	}
	g.ids, g.told = padded(g.ids), padded(g.told)
	found, err := t.erasable(&g)
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
	g.numbers, g.searched = padded(g.numbers), padded(g.searched)
	if len(part) < manyErased {
		return t.eraseRows(&g, true)
	}
	return t.eraseMany(&g)
}

// A going is what one statement is to erase.
type going struct {
	ids, numbers []any // of the records
	told         []any // the ids of those whose events may have details
	searched     []any // the numbers of those that an index may hold
	counts       uncounting
}

// manyErased is from how many records on it pays to ask what there is to erase with them,
// and to take all of them off the counts at once.
const manyErased = 8

// eraseRows erases records with what belongs to them. linked says that there may be links or
// replies.
func (t *tx) eraseRows(g *going, linked bool) error {
	if len(g.searched) > 0 {
		if err := t.exec("INSERT INTO erased (seq, id, namespace) SELECT ?, id, namespace FROM record WHERE "+
			inList("n", len(g.searched)), append([]any{t.seq}, g.searched...)...); err != nil {
			return err
		}
	}
	linkable := g.ids
	if !linked {
		linkable = nil
	}
	for _, step := range []struct {
		query, column string
		values        []any
	}{
		{"DELETE FROM record WHERE ", "n", g.numbers}, // takes revisions and vectors along
		{"DELETE FROM link WHERE ", "from_id", linkable},
		{"DELETE FROM link WHERE ", "to_id", linkable},
		{"DELETE FROM reply WHERE ", "record", linkable},
		{"UPDATE event SET payload = NULL, nonce = NULL WHERE (payload IS NOT NULL OR nonce IS NOT NULL) AND ", "entity", g.told},
	} {
		if len(step.values) == 0 {
			continue
		}
		if err := t.exec(step.query+inList(step.column, len(step.values)), step.values...); err != nil {
			return err
		}
	}
	return nil
}

// eraseMany is eraseRows for many records, which found are on their way. The triggers that
// would take each of them off the counts take longer than all else, so they rest.
func (t *tx) eraseMany(g *going) error {
	var linked bool
	if err := t.row("SELECT EXISTS (SELECT 1 FROM link) OR EXISTS (SELECT 1 FROM reply)", nil, &linked); err != nil {
		return err
	}
	if err := t.exec("INSERT INTO erasing VALUES (1)"); err != nil {
		return err
	}
	err := t.rows("DELETE FROM vector WHERE "+inList("record", len(g.numbers))+" RETURNING record, space", g.numbers, 2,
		func(row []driver.Value) error {
			var n, space int64
			err := take(row, &n, &space)
			g.counts.vector(n, space)
			return err
		})
	if err == nil {
		err = t.eraseRows(g, linked)
	}
	if err == nil {
		err = t.uncount(&g.counts)
	}
	if err != nil {
		return err // all that was done of the job is taken back
	}
	return t.exec("DELETE FROM erasing")
}

// An erasable is what the file says of a record that is to go.
type erasable struct {
	n, version, namespace int64
	shard                 shard
}

// erasable looks up records, their numbers, and what they count for.
func (t *tx) erasable(g *going) (found map[loci.ID]erasable, err error) {
	found = make(map[loci.ID]erasable, len(g.ids))
	query := `SELECT id, n, version, namespace, kind, live, coalesce(status, ''), passage_count, octet_length(text),
		coalesce(octet_length(heading), 0) + coalesce(octet_length(attributes), 0) + coalesce(octet_length(body), 0)
		FROM record WHERE ` + inList("id", len(g.ids))
	err = t.rows(query, g.ids, 10, func(row []driver.Value) error {
		var raw []byte
		var id loci.ID
		var r erasable
		var at tallied
		var passages, text, beside int64
		err := take(row, &raw, &r.n, &r.version, &r.namespace, &at.kind, &at.live, &at.status,
			&passages, &text, &beside)
		copy(id[:], raw)
		at.namespace = r.namespace
		g.counts.record(r.n, at, passages, text, beside)
		r.shard = shard{r.namespace, loci.Kind(at.kind)}
		found[id], g.numbers = r, append(g.numbers, r.n)
		return err
	})
	if err != nil {
		return nil, err
	}
	known := map[shard]bool{} // a kind that never had anything to search there is in no index
	for _, r := range found {
		is, asked := known[r.shard]
		if !asked {
			if is, err = t.isShard(r.shard); err != nil {
				return nil, err
			}
			known[r.shard] = is
		}
		if is {
			g.searched = append(g.searched, r.n)
		}
	}
	return found, nil
}

// isShard reports whether records of a shard ever had anything to search.
func (t *tx) isShard(s shard) (is bool, err error) {
	if t.shards[s] {
		return true, nil
	}
	err = t.row("SELECT EXISTS (SELECT 1 FROM shard WHERE namespace = ? AND kind = ?)",
		[]any{s.namespace, string(s.kind)}, &is)
	return is, err
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
