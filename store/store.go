// Package store opens stores by URL; it alone knows which there are.
package store

import (
	"context"
	"log/slog"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/memory"
	"github.com/loci-memory/loci/store/sqlite"
)

// The defaults of [Options].
const (
	DefaultMaxOpen     = sqlite.DefaultMaxOpen
	DefaultIndexMemory = sqlite.DefaultIndexMemory
)

// Options configure any store; nil and zero values mean the defaults.
type Options struct {
	MaxOpen     int          // files of tenants open at once; default DefaultMaxOpen
	IndexMemory int64        // bytes that the search indexes of all tenants may take; default DefaultIndexMemory
	Logger      *slog.Logger // default slog.Default(); gets paths, sizes and ids, never content
}

// Open opens the store a URL names:
//
//	memory:            in the process; ends with it
//	sqlite:PATH.db     one file, for the tenant "default" alone
//	sqlite:PATH        a directory with a file for every tenant
//
// Any other URL is Unsupported. The caller closes the store.
func Open(ctx context.Context, url string, opts *Options) (loci.Store, error) {
	if opts == nil {
		opts = &Options{}
	}
	if err := ctx.Err(); err != nil {
		return nil, loci.AsError(err)
	}
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case ok && scheme == "memory" && rest == "":
		return memory.Open(), nil
	case ok && scheme == "sqlite":
		s, err := sqlite.Open(rest, &sqlite.Options{
			MaxOpen: opts.MaxOpen, IndexMemory: opts.IndexMemory, Logger: opts.Logger,
		})
		if err != nil {
			return nil, err // and not a nil *sqlite.Store, which is no nil Store
		}
		return s, nil
	}
	return nil, loci.Errorf(loci.Unsupported, "store %q: write memory: or sqlite:PATH (PostgreSQL and MongoDB are not part of this build)", redactURL(url))
}

// redactURL hides what may be a password.
func redactURL(url string) string {
	scheme, _, ok := strings.Cut(url, ":")
	if !ok {
		return url
	}
	return scheme + ":…"
}
