package store

import (
	"context"

	"github.com/loci-memory/loci"
)

// The backends of a [Config].
const (
	BackendMemory = "memory" // in the process; ends with it
	BackendSQLite = "sqlite" // in files, which stay
)

// A Config chooses a store in the words of a configuration. The zero value is
// memory that ends with the process.
type Config struct {
	Backend string `json:"backend,omitempty"` // memory, which is the default, or sqlite
	Path    string `json:"path,omitempty"`    // of sqlite: a file that ends in .db, or a directory; see [Open]
}

// OpenConfig opens the store a configuration names. Invalid: sqlite without a path,
// memory with one; Unsupported: another backend. The caller closes the store.
func OpenConfig(ctx context.Context, c Config, opts *Options) (loci.Store, error) {
	switch {
	case c.Backend == "" && c.Path == "" || c.Backend == BackendMemory && c.Path == "":
		return Open(ctx, "memory:", opts)
	case c.Backend == BackendMemory || c.Backend == "":
		return nil, loci.Errorf(loci.Invalid, "path is set, but backend %q keeps no file: set backend to %q, or leave path out", c.Backend, BackendSQLite)
	case c.Backend == BackendSQLite && c.Path == "":
		return nil, loci.Errorf(loci.Invalid, "backend %q needs a path: name the file, such as conversations.db", BackendSQLite)
	case c.Backend == BackendSQLite:
		return Open(ctx, "sqlite:"+c.Path, opts)
	}
	return nil, loci.Errorf(loci.Unsupported, "backend %q is not known: must be %q or %q", c.Backend, BackendMemory, BackendSQLite)
}
