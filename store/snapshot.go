package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/dump"
	"github.com/loci-memory/loci/store/sqlite"
)

// A Sum is what a tenant consists of. Two tenants with one sum are the same, in whatever
// stores they are.
type Sum struct {
	Tenant loci.Tenant
	Events int64
	Head   loci.Hash        // of its chain of events
	Rows   map[string]int64 // by table
	Hash   loci.Hash        // of all rows, in whatever order they are kept
}

// A momentary is a store in a database that shows a tenant as it is at one moment.
type momentary interface {
	AsOf(ctx context.Context, t loci.Tenant, do func(dump.Rows) error) error
}

// chosen calls do for the tenants of a store that are chosen, or for all, the program's own
// first. NotFound: one that is chosen is not there.
func chosen(ctx context.Context, s source, only []loci.Tenant, do func(loci.Tenant) error) error {
	if len(only) > 0 {
		for _, t := range only {
			there, err := s.Holds(ctx, t)
			if err == nil && !there {
				err = &loci.Error{
					Code: loci.NotFound, Msg: fmt.Sprintf("the tenant %q holds nothing", t),
					Recovery: "loci tenant list shows those there are.",
				}
			}
			if err == nil {
				err = do(t)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	own := loci.SystemTenant()
	there, err := s.Holds(ctx, own)
	if err == nil && there {
		err = do(own)
	}
	if err != nil {
		return err
	}
	for t, err := range s.Tenants(ctx) {
		if err == nil {
			err = do(t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Snapshot writes tenants of a store, or all, into a directory that is a store in files:
// each tenant as it is at one moment, though not all at the same. Others may write to the
// store meanwhile. done is called with the name of each file when it is whole. Conflict: the
// directory has the file of a tenant already.
func Snapshot(
	ctx context.Context, from, dir string, opts *Options, only []loci.Tenant,
	done func(t loci.Tenant, file string) error,
) (err error) {
	if opts == nil {
		opts = &Options{}
	}
	s, err := openSource(ctx, from, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	var one func(t loci.Tenant) (string, error)
	switch s := s.(type) {
	case *sqlite.Store:
		one = func(t loci.Tenant) (string, error) { return s.Snapshot(ctx, t, dir) }
	case momentary:
		to, err := sqlite.OpenTarget(dir, &sqlite.Options{Logger: opts.Logger})
		if err != nil {
			return err
		}
		back, err := openSource(ctx, "sqlite:"+dir, opts)
		if err != nil {
			return errors.Join(err, to.Close())
		}
		defer func() { err = errors.Join(err, back.Close(), to.Close()) }()
		c := copier{to: to, back: back}
		one = func(t loci.Tenant) (string, error) {
			return sqlite.FileName(t), s.AsOf(ctx, t, func(rows dump.Rows) error {
				_, err := c.tenant(ctx, rows, t)
				return err
			})
		}
	default:
		return notCopied(from)
	}
	return chosen(ctx, s, only, func(t loci.Tenant) error {
		file, err := one(t)
		if err != nil {
			return err
		}
		return done(t, file)
	})
}

// Sums reads tenants of a store, or all, and says what they consist of.
func Sums(ctx context.Context, url string, opts *Options, only []loci.Tenant, done func(Sum) error) (err error) {
	if opts == nil {
		opts = &Options{}
	}
	s, err := openSource(ctx, url, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return chosen(ctx, s, only, func(t loci.Tenant) error {
		head, err := s.DumpHead(ctx, t)
		if err != nil {
			return err
		}
		out := Sum{Tenant: t, Events: head.Events, Head: head.Chain, Rows: map[string]int64{}}
		all := sha256.New()
		for _, table := range dump.Tables {
			one, err := sum(ctx, s, t, table)
			if err != nil {
				return err
			}
			out.Rows[string(table)] = one.Rows
			all.Write([]byte(one.String()))
		}
		all.Sum(out.Hash[:0])
		return done(out)
	})
}

// Held lists those of some tenants that a store holds anything of.
func Held(ctx context.Context, s loci.Store, tenants []loci.Tenant) (held []loci.Tenant, err error) {
	from, ok := s.(source)
	if !ok {
		return nil, loci.Errorf(loci.Unsupported, "nothing can be restored into this store: write sqlite:PATH, postgres://… or mongodb://…")
	}
	for _, t := range tenants {
		there, err := from.Holds(ctx, t)
		if err != nil {
			return nil, err
		}
		if there {
			held = append(held, t)
		}
	}
	return held, nil
}

// FileName is the name of the file of a tenant in a directory that is a store in files.
func FileName(t loci.Tenant) string { return sqlite.FileName(t) }
