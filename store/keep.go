package store

import (
	"context"

	"github.com/loci-memory/loci"
)

// KeepIndex has a store keep the search index of what a tenant has, as far as it is large and not kept yet, and
// returns when that is done, or left to somebody who searches: else the first search of what was written reads all of
// it. Stores do so by themselves a moment after large writes; a program that ends before that calls this. A store
// that keeps no index has nothing to do.
func KeepIndex(ctx context.Context, s loci.Store, t loci.Tenant) error {
	if k, ok := s.(interface {
		KeepIndex(context.Context, loci.Tenant) error
	}); ok {
		return k.KeepIndex(ctx, t)
	}
	return nil
}

// WipeAhead has a store wipe what earlier erases may have left copies of, as far as that takes long, so that the next
// erase need not wait for it. It gives way to all else, and is for programs that go on for a while. A store whose
// erases cost what they erase has nothing to do.
func WipeAhead(ctx context.Context, s loci.Store, t loci.Tenant) error {
	if w, ok := s.(interface {
		WipeAhead(context.Context, loci.Tenant) error
	}); ok {
		return w.WipeAhead(ctx, t)
	}
	return nil
}
