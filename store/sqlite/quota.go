package sqlite

import (
	"context"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/form"
)

// What the tenant holds is kept in one row, which triggers change with each record.
const (
	selectHeld = "SELECT records, bytes FROM holding"

	// measured is the same from the records. SQLite reads lengths from the heads of rows, and
	// not what they are of.
	measured = `SELECT count(*), coalesce(sum(octet_length(text) + coalesce(octet_length(heading), 0)
		+ coalesce(octet_length(attributes), 0) + coalesce(octet_length(body), 0)), 0) FROM record`
)

// Held implements [loci.RecordLister].
func (s *Store) Held(ctx context.Context, t loci.Tenant) (h loci.Holding, err error) {
	f, err := s.acquire(ctx, t)
	if err != nil {
		return h, err
	}
	defer s.release(f)
	return h, f.translate("measure", f.readRow(ctx, selectHeld, nil, &h.Records, &h.Bytes))
}

// bounded makes a change, and refuses it afterwards if it goes beyond its quota: that comes
// last, since a change that does not fit is no matter of size.
func (t *tx) bounded(c *loci.Change, do func() error) error {
	if c.Quota == nil {
		return do()
	}
	var from, to loci.Holding
	if err := t.row(selectHeld, nil, &from.Records, &from.Bytes); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	if err := t.row(selectHeld, nil, &to.Records, &to.Bytes); err != nil {
		return err
	}
	return c.Quota.Refuse(from, to)
}

// checkHeld measures again where what is kept is wrong: it follows from the records.
func (f *file) checkHeld(ctx context.Context, findings []string) ([]string, error) {
	const compare = "SELECT h.*, m.* FROM (" + selectHeld + ") h, (" + measured + ") m"
	var kept, held loci.Holding
	err := f.readRow(ctx, compare, nil, &kept.Records, &kept.Bytes, &held.Records, &held.Bytes)
	if err != nil || kept == held {
		return findings, err
	}
	return append(findings, form.HoldingFault(kept, held)), f.write(ctx, func(t *tx) error {
		return t.exec("UPDATE holding SET (records, bytes) = (" + measured + ")")
	})
}
