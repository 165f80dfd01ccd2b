package backup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/oserror"
)

// The names of the files of a backup that hold no tenant.
const (
	manifestName = "manifest.json"
	sumsName     = "SHA256SUMS" // in the form of the program sha256sum, which can check it
	keyName      = "key.age"    // the key of this backup, encrypted with the passphrase
	sealedEnd    = ".age"
)

const (
	format  = "loci.backup"
	version = 1
)

// A Manifest says what a backup holds.
type Manifest struct {
	Format  string    `json:"format"`
	Version int       `json:"version"`
	MadeAt  time.Time `json:"made_at"`
	MadeBy  string    `json:"made_by"` // the version of the program
	Store   string    `json:"store"`   // sqlite, postgres or mongodb
	Whole   bool      `json:"whole"`   // of every tenant that there was
	Tenants []Tenant  `json:"tenants"`
}

// A Tenant is one of a backup.
type Tenant struct {
	Name   string           `json:"tenant"`
	System bool             `json:"system,omitzero"` // what the program keeps for itself, such as keys; it has no name
	File   string           `json:"file"`
	Bytes  int64            `json:"bytes"`
	SHA256 string           `json:"sha256"` // of the file, before it is encrypted
	Events int64            `json:"events"` // of its audit log
	Head   loci.Hash        `json:"head"`   // of the chain of these
	Rows   map[string]int64 `json:"rows"`   // by table
	Hash   loci.Hash        `json:"hash"`   // of all rows
}

// tenant is the tenant itself.
func (t *Tenant) tenant() (loci.Tenant, error) {
	if t.System {
		return loci.SystemTenant(), nil
	}
	return loci.NewTenant(t.Name)
}

// Label is the tenant for a person.
func (t *Tenant) Label() string {
	if t.System {
		return "(system)"
	}
	return t.Name
}

// damaged is the error for a backup that is not as it was written.
func damaged(dir, format string, args ...any) error {
	return &loci.Error{
		Code: loci.Invalid, Msg: fmt.Sprintf("the backup %s is damaged: ", dir) + fmt.Sprintf(format, args...),
		Recovery: "Use another backup.",
	}
}

// missing is the error for what is not there.
func missing(remedy, format string, args ...any) error {
	return &loci.Error{Code: loci.NotFound, Msg: fmt.Sprintf(format, args...), Recovery: remedy}
}

// sums writes the digests of files, in the order of their names.
func sums(digests map[string]string) []byte {
	var b bytes.Buffer
	names := make([]string, 0, len(digests))
	for name := range digests {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s  %s\n", digests[name], name)
	}
	return b.Bytes()
}

// readSums reads the digests of a backup and requires that they are those of its files.
func readSums(dir string) (digests map[string]string, err error) {
	data, err := readFile(filepath.Join(dir, sumsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing("Name the directory that loci backup create made.", "%s is no whole backup: it has no %s", dir, sumsName)
	}
	if err != nil {
		return nil, err
	}
	digests = map[string]string{}
	for line := range strings.Lines(string(data)) {
		digest, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !isFileName(name) || name == sumsName {
			return nil, damaged(dir, "%s names a file that is none", sumsName)
		}
		digests[name] = digest
	}
	if len(digests) == 0 || !bytes.Equal(sums(digests), data) {
		return nil, damaged(dir, "%s cannot be read", sumsName)
	}
	for name, want := range digests {
		got, _, err := digestOf(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, damaged(dir, "the file %s is missing", name)
		}
		if err != nil {
			return nil, err
		}
		if got != want {
			return nil, damaged(dir, "the file %s is not what was written", name)
		}
	}
	return digests, nil
}

// isFileName reports whether a text that others may have written can be the name of a file of a backup.
// It stands in messages, so that it has nothing that a terminal would obey.
func isFileName(name string) bool {
	return filepath.IsLocal(name) && filepath.Base(name) == name && len(name) <= maxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// maxName bounds the name of a file, in bytes, as file systems do.
const maxName = 255

// digestOf is the SHA-256 of a file, in hexadecimal, and its size.
func digestOf(path string) (digest string, size int64, err error) {
	f, err := openPlain(path)
	if err != nil {
		return "", 0, err
	}
	h := sha256.New()
	size, err = io.Copy(h, f)
	if err := errors.Join(err, f.Close()); err != nil {
		return "", 0, refused("the file "+path+" cannot be read", err)
	}
	return hex.EncodeToString(h.Sum(nil)), size, nil
}

// openPlain opens a file of a backup: no pipe, which makes whoever opens it wait, and no device, which may
// have no end.
func openPlain(path string) (*os.File, error) {
	if is, err := os.Stat(path); err == nil && !is.IsDir() && !is.Mode().IsRegular() { // a directory says that it is one
		return nil, damaged(filepath.Dir(path), "%s is not a file", filepath.Base(path))
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, refused("the file "+path+" cannot be read", err)
	}
	return f, nil
}

func readFile(path string) ([]byte, error) {
	f, err := openPlain(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, refused("the file "+path+" cannot be read", err)
	}
	return data, nil
}

// refused says why the operating system refused something.
func refused(what string, err error) error {
	e := oserror.Of(what, err)
	e.Code = loci.Unavailable
	return e
}

// decodeManifest reads a manifest.
func decodeManifest(dir string, data []byte) (m Manifest, err error) {
	if err := json.Unmarshal(data, &m); err != nil || m.Format != format {
		return m, damaged(dir, "%s is none", manifestName)
	}
	if m.Version > version {
		return m, loci.Errorf(loci.Unsupported,
			"the backup %s has version %d and this build knows up to %d: upgrade Loci", dir, m.Version, version)
	}
	for i := range m.Tenants {
		t := &m.Tenants[i]
		if _, err := t.tenant(); err != nil || !isFileName(t.File) {
			return m, damaged(dir, "%s names a tenant that is none", manifestName)
		}
	}
	return m, nil
}
