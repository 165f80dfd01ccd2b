package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
)

// A job that fails takes back the active space it chose, also for the jobs that share its
// commit.
func TestFailedJobChoosesNoSpace(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	t.Cleanup(func() { must(t, s.Close()) })
	save(t, s, "walrus")
	f := s.files[testTenant]
	seen := int64(-1)
	batch := []*job{
		{done: make(chan error, 1), run: func(tx *tx) error {
			_, _, err := tx.putVectors(1, &loci.Vectors{Space: loci.Space{Model: "m", Dims: 2}, Rows: [][]float32{{0, 1}}})
			return errors.Join(err, errors.New("and then it failed"))
		}},
		{done: make(chan error, 1), run: func(tx *tx) error {
			seen = tx.active
			return nil
		}},
	}
	own := &tx{f: f, conn: f.writeConn, stmts: map[string]*statement{}}
	own.forget()
	f.commitBatch(own, batch)
	if err := <-batch[0].done; err == nil {
		t.Error("the first job did not fail")
	}
	if err := <-batch[1].done; err != nil || seen != 0 {
		t.Errorf("the second job saw space %d, %v", seen, err)
	}
	if active, err := s.ActiveSpace(t.Context(), testTenant); err != nil || !active.IsZero() {
		t.Errorf("the active space is %s, %v", active, err)
	}
}
