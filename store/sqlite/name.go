package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
)

// plainName is a tenant's name that can stand in a file name as it is, on every
// system: no upper case (some systems fold it), nothing that needs quoting.
var plainName = regexp.MustCompile(`^[a-z0-9_-]{1,64}$`)

// fileName is where a tenant's data is. The forms cannot meet: "t-" and a plain
// name, "x-" and the name in hexadecimal, "h-" and the hash of a long name. What the
// program keeps for itself lies beside a store that is one file.
func (s *Store) fileName(t loci.Tenant) string {
	name := t.String()
	switch {
	case s.single && t == loci.SystemTenant():
		return strings.TrimSuffix(s.path, ".db") + ".system.db"
	case s.single:
		return s.path
	case plainName.MatchString(name):
		name = "t-" + name
	case len(name) <= 100:
		name = "x-" + hex.EncodeToString([]byte(name))
	default:
		sum := sha256.Sum256([]byte(name))
		name = "h-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(s.path, name+".db")
}

// takes reports whether the store has a file for a tenant: one that is a file itself has it for the one tenant, and
// for what the program keeps for itself.
func (s *Store) takes(t loci.Tenant) bool {
	return !s.single || t.String() == DefaultTenant || t == loci.SystemTenant()
}

// tenantNames lists the tenants that have a file, in order.
func (s *Store) tenantNames() ([]string, error) {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return nil, errClosed()
	}
	if s.single {
		if _, err := os.Stat(s.path); errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []string{DefaultTenant}, nil
	}
	entries, err := os.ReadDir(s.path)
	if err != nil {
		refused := oserror.Of("the directory "+s.path+" cannot be read", err)
		refused.Code = loci.Unavailable
		return nil, refused
	}
	var names []string
	for _, e := range entries {
		base, ok := strings.CutSuffix(e.Name(), ".db")
		if !ok || len(base) < 3 {
			continue
		}
		switch rest := base[2:]; base[:2] {
		case "t-":
			names = append(names, rest)
		case "x-":
			if name, err := hex.DecodeString(rest); err == nil {
				names = append(names, string(name))
			}
		case "h-":
			name, err := s.ownerOf(e.Name())
			if err != nil {
				return nil, err
			}
			if name != "" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// ownerOf is whose file it is, by the file itself: once, as the name of a file belongs to one tenant. "": it is a
// file that is only being made.
func (s *Store) ownerOf(base string) (name string, err error) {
	s.mu.Lock()
	name = s.owners[base]
	s.mu.Unlock()
	if name != "" {
		return name, nil
	}
	db, err := openDB(filepath.Join(s.path, base), readerPragmas)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var tables int
	err = db.QueryRowContext(context.Background(), "SELECT count(*) FROM sqlite_schema WHERE name = 'meta'").Scan(&tables)
	if err != nil || tables == 0 {
		return "", err
	}
	err = db.QueryRowContext(context.Background(), "SELECT value FROM meta WHERE key = 'tenant'").Scan(&name)
	if err == nil {
		s.mu.Lock()
		remember(s.owners, base, name, mostRemembered)
		s.mu.Unlock()
	}
	return name, err
}
