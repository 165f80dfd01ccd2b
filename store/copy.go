package store

import (
	"context"
	"errors"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
)

// copyRows is how many rows go in one step of a copy.
const copyRows = 500

// A CopyReport says what became of one tenant.
type CopyReport struct {
	Tenant  string           `json:"tenant"`
	Rows    map[string]int64 `json:"rows"`    // by table
	Head    loci.Hash        `json:"head"`    // of its chain of events
	Resumed bool             `json:"resumed"` // part of it, or all, was there already
}

// Copy copies every tenant of a SQLite store into a PostgreSQL database that holds none of
// them, and verifies each: the number of rows of every table, the head of the chain of events
// and hashes of all that there is must be those of the source. What was begun goes on. done is
// called for each tenant that is copied whole. Nobody may write to either meanwhile.
func Copy(ctx context.Context, from, to string, opts *Options, done func(CopyReport) error) (err error) {
	path, ok := strings.CutPrefix(from, "sqlite:")
	if !ok || !isPostgres(to) {
		return loci.Errorf(loci.Unsupported, "copying from %q to %q: write sqlite:PATH and postgres://…", redactURL(from), redactURL(to))
	}
	if opts == nil {
		opts = &Options{}
	}
	source, err := sqlite.Open(path, &sqlite.Options{Logger: opts.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	target, err := postgres.Open(ctx, to, &postgres.Options{Logger: opts.Logger})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, target.Close()) }()
	for t, err := range source.DumpTenants(ctx) {
		if err != nil {
			return err
		}
		report, err := copyTenant(ctx, source, target, t)
		if err == nil {
			err = done(report)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyTenant(
	ctx context.Context, source *sqlite.Store, target *postgres.Store, t loci.Tenant,
) (r CopyReport, err error) {
	head, err := source.DumpHead(ctx, t)
	if err != nil {
		return r, err
	}
	into, err := target.BeginCopy(ctx, t, head)
	if err != nil {
		return r, err
	}
	r = CopyReport{Tenant: t.String(), Rows: map[string]int64{}, Head: head.Chain}
	r.Resumed = into.At != postgres.CopyPlace{Head: head}
	for into.At.Table < len(dump.Tables) {
		rows, last, err := source.Dump(ctx, t, dump.Tables[into.At.Table], into.At.After, copyRows)
		if err == nil {
			err = into.Take(ctx, rows, last)
		}
		if err != nil {
			return r, err
		}
	}
	if !into.At.Done {
		if err := into.Finish(ctx); err != nil {
			return r, err
		}
	}
	return r, verify(ctx, source, target, t, head, r.Rows)
}

// verify requires that both stores say the same of a tenant.
func verify(
	ctx context.Context, source *sqlite.Store, target *postgres.Store, t loci.Tenant, head dump.Head,
	counts map[string]int64,
) error {
	there, sums, err := target.Sums(ctx, t)
	if err != nil {
		return err
	}
	for _, table := range dump.Tables {
		want := dump.Sum{}
		for after := int64(0); ; {
			rows, last, err := source.Dump(ctx, t, table, after, copyRows)
			if err != nil {
				return err
			}
			if len(rows) == 0 {
				break
			}
			for _, row := range rows {
				want.Add(row)
			}
			after = last
		}
		if *sums[table] != want {
			return loci.Errorf(loci.Conflict,
				"the copy of the tenant %q differs: %d rows of %s with the hash %s, and %d with %s in the source; "+
					"one of them was written to: erase the copied tenant, stop whoever writes, and copy again",
				t, sums[table].Rows, table, sums[table], want.Rows, &want)
		}
		counts[string(table)] = want.Rows
	}
	now, err := source.DumpHead(ctx, t)
	if err != nil {
		return err
	}
	if now != head {
		return loci.Errorf(loci.Conflict, "the tenant %q was written to while it was copied: erase the copy, stop whoever writes, and copy again", t)
	}
	if there.Seq = head.Seq; there != head {
		return loci.Errorf(loci.Conflict, "the copy of the tenant %q has another head of its chain, or other counters: erase it, then copy again", t)
	}
	return nil
}
