package store

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
	"github.com/loci-memory/loci/store/mongo"
	"github.com/loci-memory/loci/store/postgres"
	"github.com/loci-memory/loci/store/sqlite"
)

// copyRows is how many rows go in one step of a copy. It is a variable for tests, whose
// tenants are small.
var copyRows = 500

// A CopyReport says what became of one tenant.
type CopyReport struct {
	Tenant  string           `json:"tenant"`
	Rows    map[string]int64 `json:"rows"`    // by table
	Head    loci.Hash        `json:"head"`    // of its chain of events
	Resumed bool             `json:"resumed"` // part of it, or all, was there already
}

// source is a store that shows what a tenant consists of.
type source interface {
	Tenants(ctx context.Context) iter.Seq2[loci.Tenant, error]
	Holds(ctx context.Context, t loci.Tenant) (bool, error)
	dump.Rows
	EraseTenant(ctx context.Context, t loci.Tenant) error
	Close() error
}

// target is where tenants are copied to.
type target interface {
	BeginCopy(ctx context.Context, t loci.Tenant, head dump.Head) (dump.Copy, error)
	Close() error
}

// openSource opens a store that tenants are copied from, or read back from.
func openSource(ctx context.Context, url string, opts *Options) (source, error) {
	s, err := Open(ctx, url, opts)
	if err != nil {
		return nil, err
	}
	from, ok := s.(source)
	if !ok {
		return nil, errors.Join(notCopied(url), s.Close())
	}
	return from, nil
}

func notCopied(url string) error {
	return loci.Errorf(loci.Unsupported, "nothing can be copied from or to %q: write sqlite:PATH, postgres://… or mongodb://…",
		redactURL(url))
}

// openTarget opens what tenants are copied to.
func openTarget(ctx context.Context, url string, opts *Options) (target, error) {
	path, files := strings.CutPrefix(url, "sqlite:")
	switch {
	case files:
		return sqlite.OpenTarget(path, &sqlite.Options{Logger: opts.Logger})
	case isPostgres(url):
		return postgres.Open(ctx, url, &postgres.Options{Logger: opts.Logger})
	case mongo.IsURL(url):
		return mongo.Open(ctx, url, &mongo.Options{Logger: opts.Logger})
	}
	return nil, notCopied(url)
}

// Copy copies every tenant of a store into another one that holds none of them, and verifies
// each: the number of rows of every table, the head of the chain of events and hashes of all
// that there is must be those of the source. What was begun goes on. done is called for each
// tenant that is copied whole. Nobody may write to either meanwhile. A store without a tenant is
// refused, since a misspelt path leads to one.
func Copy(ctx context.Context, from, to string, opts *Options, done func(CopyReport) error) error {
	copied := false
	if path, files := strings.CutPrefix(from, "sqlite:"); files {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) { // to open it would make it
			return nothingToCopy(from)
		}
	}
	err := CopyTenants(ctx, from, to, opts, nil, func(r CopyReport) error {
		copied = true
		return done(r)
	})
	if err == nil && !copied {
		return nothingToCopy(from)
	}
	return err
}

func nothingToCopy(from string) error {
	if !strings.HasPrefix(from, "sqlite:") { // others may hold a password
		from = redactURL(from)
	}
	return &loci.Error{
		Code: loci.NotFound, Msg: from + " holds nothing to copy",
		Recovery: "Look at the store that is given as the source: a file that is not there is taken for an empty store.",
	}
}

// CopyTenants is [Copy] for those tenants that are chosen; none: all of them.
func CopyTenants(
	ctx context.Context, from, to string, opts *Options, only []loci.Tenant, done func(CopyReport) error,
) error {
	return copyTenants(ctx, copier{}, [2]string{from, to}, opts, only, done)
}

// ReplaceTenants is CopyTenants for tenants that the target may hold: each gives way. In files it stays as
// it was until the copy is whole, and a file that another program has open is refused (Conflict); in a
// database it is erased before the copy begins.
func ReplaceTenants(
	ctx context.Context, from, to string, opts *Options, only []loci.Tenant, done func(CopyReport) error,
) error {
	return copyTenants(ctx, copier{replace: true}, [2]string{from, to}, opts, only, done)
}

// same reports whether two URLs are of one store in files, however their paths are written.
func same(from, to string) bool {
	a, files := strings.CutPrefix(from, "sqlite:")
	b, too := strings.CutPrefix(to, "sqlite:")
	if !files || !too || a == "" || b == "" {
		return from == to
	}
	one, err := os.Stat(a)
	if err != nil {
		return filepath.Clean(a) == filepath.Clean(b)
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

func copyTenants(
	ctx context.Context, c copier, urls [2]string, opts *Options, only []loci.Tenant, done func(CopyReport) error,
) (err error) {
	from, to := urls[0], urls[1]
	if opts == nil {
		opts = &Options{}
	}
	if same(from, to) {
		return loci.Errorf(loci.Invalid, "a store cannot be copied into itself: give another one with --to")
	}
	closing := func(what interface{ Close() error }) { err = errors.Join(err, what.Close()) }
	if c.from, err = openSource(ctx, from, opts); err != nil {
		return err
	}
	defer func() { closing(c.from) }()
	if c.to, err = openTarget(ctx, to, opts); err != nil {
		return err
	}
	defer func() { closing(c.to) }()
	if c.back, err = openSource(ctx, to, opts); err != nil {
		return err
	}
	defer func() { closing(c.back) }()
	if files, is := c.to.(*sqlite.Target); is && c.replace {
		files.Replace()
	}
	return c.all(ctx, only, done)
}

// copier copies tenants.
type copier struct {
	from source
	to   target
	back source // reads what was copied

	replace bool // tenants that are there give way
}

// all copies the tenants that are chosen, or all.
func (c *copier) all(ctx context.Context, only []loci.Tenant, done func(CopyReport) error) error {
	return chosen(ctx, c.from, only, func(t loci.Tenant) error {
		report, err := c.tenant(ctx, c.from, t)
		if err != nil {
			return err
		}
		return done(report)
	})
}

// tenant copies one, of which the rows are shown.
func (c *copier) tenant(ctx context.Context, from dump.Rows, t loci.Tenant) (r CopyReport, err error) {
	head, err := from.DumpHead(ctx, t)
	if err != nil {
		return r, err
	}
	if _, files := c.to.(*sqlite.Target); c.replace && !files {
		if err := c.back.EraseTenant(ctx, t); err != nil {
			return r, err
		}
	}
	into, err := c.to.BeginCopy(ctx, t, head)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, into.Close()) }()
	r = CopyReport{Tenant: t.String(), Rows: map[string]int64{}, Head: head.Chain}
	r.Resumed = into.Place() != dump.Begin(head)
	for at := into.Place(); at.Table < len(dump.Tables); at = into.Place() {
		rows, next, err := from.Dump(ctx, t, dump.Tables[at.Table], at.Cursor, copyRows)
		if err == nil {
			err = into.Take(ctx, rows, next)
		}
		if err != nil {
			return r, err
		}
	}
	if !into.Place().Done {
		if err := into.Finish(ctx); err != nil {
			return r, err
		}
	}
	return r, c.verify(ctx, from, t, head, r.Rows)
}

// sum reads a table of a tenant.
func sum(ctx context.Context, s dump.Rows, t loci.Tenant, table dump.Table) (out dump.Sum, err error) {
	for cursor := ""; ; {
		rows, next, err := s.Dump(ctx, t, table, cursor, copyRows)
		if err != nil || len(rows) == 0 {
			return out, err
		}
		for _, row := range rows {
			if table == dump.Namespaces && row[2] == int64(1) && len(dump.Bytes(row[3])) == 0 {
				row = slices.Clone(row)
				row[2] = nil // as the manifests of backups have it that were made when files said so
			}
			out.Add(row)
		}
		cursor = next
	}
}

// verify requires that both stores say the same of a tenant.
func (c *copier) verify(
	ctx context.Context, from dump.Rows, t loci.Tenant, head dump.Head, counts map[string]int64,
) error {
	there, err := c.back.DumpHead(ctx, t)
	if err != nil {
		return err
	}
	for _, table := range dump.Tables {
		want, err := sum(ctx, from, t, table)
		if err != nil {
			return err
		}
		got, err := sum(ctx, c.back, t, table)
		if err != nil {
			return err
		}
		if got != want {
			return loci.Errorf(loci.Conflict,
				"the copy of the tenant %q differs: %d rows of %s with the hash %s, and %d with %s in the source; "+
					"one of them was written to: erase the copied tenant, stop whoever writes, and copy again",
				t, got.Rows, table, &got, want.Rows, &want)
		}
		counts[string(table)] = want.Rows
	}
	now, err := from.DumpHead(ctx, t)
	if err != nil {
		return err
	}
	after, err := c.back.DumpHead(ctx, t)
	if err != nil {
		return err
	}
	if now != head || after != there {
		return loci.Errorf(loci.Conflict, "the tenant %q was written to while it was copied: erase the copy, stop whoever writes, and copy again", t)
	}
	if there.Seq = head.Seq; there != head {
		return loci.Errorf(loci.Conflict, "the copy of the tenant %q has another head of its chain, or other counters: erase it, then copy again", t)
	}
	return nil
}
