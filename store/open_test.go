package store_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store"
)

// TestFilesOfAURLAreFiles: the drivers would read them to their end, which a pipe or a device does not have.
func TestFilesOfAURLAreFiles(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.pem")
	if err := os.WriteFile(long, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, long} {
		for _, option := range []string{"postgres://h/d?sslmode=require&sslrootcert=", "mongodb://h/d?tls=true&tlsCAFile="} {
			_, opened := store.Open(t.Context(), option+path, nil)
			_, migrated := store.Migrate(t.Context(), option+path, store.Migration{})
			_, distributed := store.Distribute(t.Context(), option+path, true)
			for _, err := range []error{opened, migrated, distributed} {
				if e := loci.AsError(err); e == nil || e.Code != loci.Invalid || !strings.Contains(e.Msg, "at most 1 MiB") {
					t.Errorf("%s%s: %v", option, path, err)
				}
			}
		}
	}
}

// However Open fails, it says so and returns no store at all.
func TestWaysInWhichOpenFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	for name, c := range map[string]struct {
		ctx  context.Context
		url  string
		code loci.Code
	}{
		"no path":                          {t.Context(), "sqlite:", loci.Invalid},
		"below a file":                     {t.Context(), "sqlite:" + file + "/x.db", loci.Unavailable},
		"a directory that is a file":       {t.Context(), "sqlite:" + file, loci.Unavailable},
		"a directory below a file":         {t.Context(), "sqlite:" + file + "/x/y", loci.Unavailable},
		"a path with a zero byte":          {t.Context(), "sqlite:/x\x00/y", loci.Unavailable},
		"memory with a path":               {t.Context(), "memory:x", loci.Unsupported},
		"another store":                    {t.Context(), "redis://u:p@h/d", loci.Unsupported},
		"a bad MongoDB URL":                {t.Context(), "mongodb://u:p@h:port/d", loci.Invalid},
		"a bad name of a MongoDB database": {t.Context(), "mongodb://u:p@h/a.b", loci.Invalid},
		"a bad database URL":               {t.Context(), "postgres://u:p@h:port/d", loci.Invalid},
		"nothing":                          {t.Context(), "", loci.Unsupported},
		"a context that ended":             {ended, "memory:", loci.Unavailable},
		"sqlite and a context that ended":  {ended, "sqlite:" + file + ".db", loci.Unavailable},
	} {
		s, err := store.Open(c.ctx, c.url, nil)
		if s != nil {
			t.Errorf("%s: a store that is not nil: %T", name, s)
		}
		if e := loci.AsError(err); e == nil || e.Code != c.code {
			t.Errorf("%s: %v; want %s", name, err, c.code)
		}
	}
	if s, err := store.OpenConfig(
		t.Context(),
		store.Config{Backend: store.BackendSQLite, Path: file + "/x.db"},
		nil,
	); s != nil ||
		err == nil {
		t.Errorf("by configuration: %v, %v", s, err)
	}
}
