package sqlite

import (
	"context"
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
	g := going{wanted: make(map[loci.ID]int, len(part))}
	for i, e := range part {
		g.ids = append(g.ids, e.ID)
		g.wanted[e.ID] = i
		if !quiet[e.ID] {
			g.told = append(g.told, e.ID)
		}
	}
	if err := t.find(&g); err != nil {
		return err
	}
	for i, e := range part {
		r := &g.found[i]
		if g.wanted[e.ID] != i || r.n == 0 || r.version != e.Version { // the last of two of one id is wanted
			return loci.Errorf(loci.Conflict, "record %s is not at version %d", e.ID, e.Version)
		}
		if _, err := t.nextSeq(); err != nil {
			return err
		}
		t.erased, t.left[r.namespace] = true, true
		t.handErased(e.ID, r.namespace)
	}
	if err := t.choose(&g); err != nil {
		return err
	}
	if len(part) < manyErased {
		return t.eraseRows(&g)
	}
	return t.eraseMany(&g)
}

// A going is what is erased at once.
type going struct {
	ids      []loci.ID       // of the records
	told     []loci.ID       // of those whose events may have details
	wanted   map[loci.ID]int // places in found
	found    []erasable      // as ids; with the number 0 where there is no such record
	numbers  []int64         // of the records, rising
	searched []int64         // of those that an index may hold, rising
	files    listedFiles
	counts   uncounting
}

// manyErased is from how many records on it pays to ask what there is to erase with them,
// and to take all of them off the counts at once.
const manyErased = 8

// eraseRows erases records with what belongs to them. The triggers of the file take their part in it.
func (t *tx) eraseRows(g *going) error {
	ids, told, numbers := padded(values(g.ids)), padded(values(g.told)), padded(values(g.numbers))
	if searched := padded(values(g.searched)); len(searched) > 0 {
		if err := t.exec(listErased+inList("n", len(searched)), append([]any{t.seq}, searched...)...); err != nil {
			return err
		}
	}
	for _, step := range []struct {
		query, column string
		values        []any
	}{
		{"DELETE FROM record WHERE ", "n", numbers}, // takes revisions and vectors along
		{"DELETE FROM link WHERE ", "from_id", ids},
		{"DELETE FROM link WHERE ", "to_id", ids},
		{"DELETE FROM reply WHERE ", "record", ids},
		{forgetDetails, "entity", told},
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

const (
	listErased    = "INSERT INTO erased (seq, id, namespace) SELECT ?, id, namespace FROM record WHERE "
	forgetDetails = "UPDATE event SET payload = NULL, nonce = NULL WHERE (payload IS NOT NULL OR nonce IS NOT NULL) AND "
)

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
