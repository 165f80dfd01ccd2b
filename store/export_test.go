package store

import (
	"context"
	"errors"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
)

// SmallSteps lets copies go in steps of a few rows until what it returns is called.
func SmallSteps(rows int) (back func()) {
	old := copyRows
	copyRows = rows
	return func() { copyRows = old }
}

// ErrStopped is what ends a copy that [CopyUntil] stops.
var ErrStopped = errors.New("stopped")

// stopping is a source that fails after some looks.
type stopping struct {
	source
	left int
}

func (s *stopping) Dump(
	ctx context.Context, t loci.Tenant, table dump.Table, cursor string, limit int,
) ([]dump.Row, string, error) {
	if s.left--; s.left < 0 {
		return nil, "", ErrStopped
	}
	return s.source.Dump(ctx, t, table, cursor, limit)
}

// CopyUntil copies until the source was asked for rows so many times.
func CopyUntil(ctx context.Context, from, to string, looks int, done func(CopyReport) error) (err error) {
	c := copier{}
	in, err := openSource(ctx, from, &Options{})
	if err != nil {
		return err
	}
	c.from = &stopping{in, looks}
	if c.to, err = openTarget(ctx, to, &Options{}); err == nil {
		c.back, err = openSource(ctx, to, &Options{})
	}
	if err == nil {
		err = c.all(ctx, nil, done)
		err = errors.Join(err, c.back.Close())
	}
	return errors.Join(err, c.to.Close(), in.Close())
}
