package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/plainfile"
)

// A Local is the one credential of a server for a single person: a token in a file that
// only the owner can read. Other users of the machine reach the address, but not the file.
// Whoever sends the token is the principal that the operator configured.
type Local struct {
	path string
	hash [sha256.Size]byte
	who  loci.Principal
}

// shortestLocal bounds a token that somebody else wrote, in bytes.
const shortestLocal = 32

// OpenLocal reads the token in a file, and makes both if there is no file. Servers that start at
// the same time get the same one. A file that others can read is refused.
func OpenLocal(path string, who loci.Principal) (*Local, error) {
	if path == "" {
		return nil, &loci.Error{Code: loci.Invalid, Msg: "no home directory is set, so there is no place for the token of this server",
			Recovery: "Set HOME, or name a file: auth.token_file."}
	}
	token, err := readLocal(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeLocal(path); err == nil {
			token, err = readLocal(path)
		}
	}
	if err != nil {
		return nil, localError(path, err)
	}
	return &Local{path: path, hash: sha256.Sum256([]byte(token)), who: who}, nil
}

func localError(path string, err error) error {
	if e := (*loci.Error)(nil); errors.As(err, &e) {
		return err
	}
	return &loci.Error{Code: loci.Unavailable, Err: err, Msg: "the token of this server cannot be kept in a file: " + err.Error(),
		Recovery: fmt.Sprintf("Make %q writable for you, or name another file: auth.token_file.", filepath.Dir(path))}
}

func readLocal(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return "", &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("others can read or change the token in %q: its mode is %04o", path, mode),
			Recovery: "Delete the file: the next start makes a new token. Or chmod 600, if nobody has seen it."}
	}
	text, err := plainfile.Read(path, maxCredential)
	if _, unfit := errors.AsType[*plainfile.UnfitError](err); unfit {
		return "", &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("%q is no file with a token", path), Recovery: "Name another one: auth.token_file."}
	}
	token := strings.TrimSpace(string(text))
	if err == nil && (len(token) < shortestLocal || !isToken(token)) {
		err = &loci.Error{Code: loci.Invalid, Msg: fmt.Sprintf("%q holds no token: it must be one line of at least %d letters and digits", path, shortestLocal),
			Recovery: "Delete the file: the next start makes a new token."}
	}
	return token, err
}

// makeLocal writes a new token, unless another process is first. The file appears whole.
func makeLocal(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".token-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) //nolint:errcheck // it may have become the file
	var secret [secretBytes]byte
	_, _ = rand.Read(secret[:]) // never fails
	_, err = temp.WriteString(tokenPrefix + "local_" + letters.EncodeToString(secret[:]) + "\n")
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	switch err := os.Link(temp.Name(), path); {
	case err == nil, errors.Is(err, fs.ErrExist):
		return nil
	default: // a file system without links
		return os.Rename(temp.Name(), path)
	}
}

// Token is the token that clients on this machine send to a server with the token of a file; "" if
// there is none that can be read.
func Token(path string) string {
	token, err := readLocal(path)
	if err != nil {
		return ""
	}
	return token
}

// Claims takes every token: there is no other form.
func (l *Local) Claims(string) bool { return true }

// Verify compares in constant time.
func (l *Local) Verify(_ context.Context, token string) (Caller, error) {
	given := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], l.hash[:]) != 1 {
		return Caller{}, &Refusal{"invalid_token", &loci.Error{Code: loci.Unauthenticated, Msg: ErrNoGood.Msg, Recovery: l.Advice()}}
	}
	return Caller{Principal: l.who}, nil
}

// Advice says where the token is.
func (l *Local) Advice() string {
	return fmt.Sprintf("Send the token in the file %q in the header Authorization: Bearer …", l.path)
}
