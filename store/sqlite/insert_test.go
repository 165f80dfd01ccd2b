package sqlite

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// manyNew is a change that puts so many records, some with vectors and some with an earlier state, that
// name their record.
func manyNew(n int) (c loci.Change) {
	for i := range n {
		one := note(fmt.Sprint("walrus ", i))
		p := &one.Put[0]
		if i%3 == 0 {
			p.Vectors = []loci.Vectors{{Space: loci.Space{Model: p.Record.Text, Dims: 2}, Rows: [][]float32{{0, 1}}}}
		}
		if i%5 == 0 {
			at := time.UnixMilli(1_600_000_000_000)
			p.Record.Version, p.Revisions = 2, 0
			p.History = []loci.Revision{{Version: 1, Text: p.Record.Text, UpdatedAt: at, ReplacedAt: at}}
		}
		c.Put, c.Events = append(c.Put, *p), append(c.Events, one.Events...)
	}
	return c
}

// Many new records go into the file with a statement for many, and each has what came with it.
func TestManyInsertedAtOnce(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	c := manyNew(3 * manyInserted)
	within(t, s.files[testTenant], func(tx *tx) error {
		tx.closeStatements()
		err := tx.change(&c, nil)
		if tx.stmts[insertRows] == nil || tx.stmts[insertRow] != nil {
			t.Error("each new record has a statement of its own")
		}
		return err
	})
	more := manyNew(manyInserted + manyInserted/2)
	changed := c.Put[1] // among the new ones
	changed.Record.Version, changed.SameText = 2, true
	more.Put = slices.Insert(more.Put, 7, changed)
	if err := s.Apply(t.Context(), testTenant, more); err != nil {
		t.Fatal(err)
	}
	checked(t, s)
	asks(t, s, "SELECT count(*) FROM record", 1+4*manyInserted+manyInserted/2)
	asks(t, s, `SELECT count(*) FROM vector v JOIN record r ON r.n = v.record JOIN space p ON p.n = v.space
		WHERE CAST(r.text AS TEXT) = p.model`, manyInserted+manyInserted/2)
	asks(t, s, "SELECT count(*) FROM revision v JOIN record r ON r.n = v.record WHERE r.text = v.text", 20+10)
}

// One record whose id another has is enough to refuse all of them.
func TestManyInsertedOrNone(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	c := manyNew(manyInserted)
	if err := s.Apply(t.Context(), testTenant, c); err != nil {
		t.Fatal(err)
	}
	again := manyNew(2 * manyInserted)
	again.Put[manyInserted+1].Record.ID = c.Put[0].Record.ID
	if err := s.Apply(t.Context(), testTenant, again); loci.AsError(err).Code != loci.Conflict {
		t.Errorf("%v", err)
	}
	asks(t, s, "SELECT count(*) FROM record", manyInserted)
	checked(t, s)
}

// Records that are all new take no slots from others, so nobody asks who has them.
func TestNewRecordsFreeNoSlots(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	save(t, s, "walrus")
	c := manyNew(manyInserted)
	for i := range c.Put {
		c.Put[i].Record.Slot = fmt.Sprint("slot ", i)
	}
	asks := func(c loci.Change) (owners, frees bool) {
		within(t, s.files[testTenant], func(tx *tx) error {
			tx.closeStatements()
			err := tx.change(&c, nil)
			for query := range tx.stmts {
				owners = owners || strings.Contains(query, "INDEXED BY record_slot")
				frees = frees || strings.Contains(query, "SET slot = NULL")
			}
			return err
		})
		return owners, frees
	}
	if owners, frees := asks(c); owners || frees {
		t.Error("new records ask for the slots of others")
	}
	for _, passes := range []bool{false, true} { // the two change places, or keep them
		for i := range c.Put[:2] {
			p := &c.Put[i]
			p.Record.Version, p.History, p.SameText = p.Record.Version+1, nil, true
			if passes {
				p.Record.Slot = fmt.Sprint("slot ", 1-i)
			}
		}
		if owners, frees := asks(loci.Change{Put: c.Put[:2], Events: c.Events[:2]}); !owners || frees != passes {
			t.Errorf("those that change: ask %v, free %v; want %v", owners, frees, passes)
		}
	}
}
