package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/auth"
	"github.com/loci-memory/loci/internal/locitest"
)

func openLocal(t *testing.T, path string) (*auth.Local, error) {
	t.Helper()
	who, err := loci.NewPrincipal(locitest.Tenant(t, "acme"), "operator", loci.Vars{loci.VarUser: "alice"}, loci.ScopeRead)
	if err != nil {
		t.Fatal(err)
	}
	return auth.OpenLocal(path, who)
}

// The first start makes a token that only its owner can read, and the next one finds it. It
// stands for the principal of the operator; any other is refused, and hears where the token is.
func TestLocalToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "token")
	l, err := openLocal(t, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		info, err := os.Stat(p)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
			t.Errorf("%s has the mode %v", p, mode)
		}
	}
	token := auth.Token(path)
	if again, err := openLocal(t, path); err != nil || auth.Token(path) != token {
		t.Fatalf("%v, %v", again, err)
	}
	if names, _ := os.ReadDir(filepath.Dir(path)); len(names) != 1 {
		t.Errorf("beside the token lie %v", names)
	}
	door := auth.NewDoor(func(_ context.Context, p loci.Principal) (loci.Principal, error) { return p, nil }, l)
	for given, good := range map[string]bool{
		token: true, "": false, token + "a": false, token[:len(token)-1]: false, strings.ToUpper(token): false,
		" " + token:                     false,
		strings.Repeat("a", len(token)): false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
		r.Header = bearer(given)
		c, err := door.Authenticate(r)
		if good != (err == nil) || good && c.Var(loci.VarUser) != "alice" {
			t.Errorf("%q: %v", given, err)
		}
		if e := loci.AsError(err); !good && (e.Code != loci.Unauthenticated || !strings.Contains(e.Recovery, path)) {
			t.Errorf("%q: %+v", given, e)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Error("the token is in an error")
		}
	}
}

// Servers that start at the same time have one token.
func TestLocalTokensAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	var all sync.WaitGroup
	seen := make([]string, 16)
	for n := range seen {
		all.Go(func() {
			if _, err := openLocal(t, path); err != nil {
				t.Error(err)
			}
			seen[n] = auth.Token(path)
		})
	}
	all.Wait()
	for _, token := range seen {
		if token != seen[0] || token == "" {
			t.Fatalf("%q and %q", token, seen[0])
		}
	}
}

// A file that is no secret, or no token, is no credential, and the error says what to do.
func TestLocalTokensThatAreRefused(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		content string
		mode    os.FileMode
		want    string
	}{
		"seen":   {strings.Repeat("a", 64), 0o640, "0640"},
		"theirs": {strings.Repeat("a", 64), 0o602, "0602"},
		"empty":  {"", 0o600, "at least 32"},
		"short":  {strings.Repeat("a", 31), 0o600, "at least 32"},
		"lines":  {strings.Repeat("a", 40) + "\n" + strings.Repeat("b", 40), 0o600, "one line"},
		"long":   {strings.Repeat("a", 17<<10), 0o600, "no file with a token"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), c.mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		_, err := openLocal(t, path)
		e := loci.AsError(err)
		if err == nil || e.Code != loci.Invalid || e.Recovery == "" ||
			!strings.Contains(e.Msg, c.want) || !strings.Contains(e.Msg, path) {
			t.Errorf("%s: %+v", name, err)
		}
		if auth.Token(path) != "" {
			t.Errorf("%s: clients send it", name)
		}
	}
	_, err := openLocal(t, filepath.Join(dir, "seen", "token"))
	if err == nil || !strings.Contains(loci.AsError(err).Recovery, "auth.token_file") {
		t.Errorf("below a file: %+v", err)
	}
	if _, err := openLocal(t, dir); err == nil {
		t.Error("a directory is a token")
	}
}
