package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
)

// The data of a tenant is in a file whose name says whose it is, on every file system; a name
// that is too long for that is in the file itself.
func TestNamesOfTenants(t *testing.T) {
	t.Parallel()
	s := openFile(t, t.TempDir())
	plain, bytes100 := strings.Repeat("a", 64), strings.Repeat("A", 100)
	files := map[string]string{
		"a": "t-a.db", "a_-9": "t-a_-9.db", plain: "t-" + plain + ".db", "A": "x-41.db", "ö": "x-c3b6.db", "a/b": "x-612f62.db",
		plain + "a": "x-" + strings.Repeat("61", 65) + ".db", bytes100: "x-" + strings.Repeat("41", 100) + ".db",
		bytes100 + "A": "h-", // and the hash
	}
	var want []string
	for name, file := range files {
		tenant := tenantOf(t, name)
		got := filepath.Base(s.fileName(tenant))
		if strings.HasPrefix(file, "h-") {
			if !strings.HasPrefix(got, "h-") || len(got) != len("h-.db")+64 {
				t.Errorf("%q is in %s", name, got)
			}
		} else if got != file {
			t.Errorf("%q is in %s, want %s", name, got, file)
		}
		must(t, s.Apply(t.Context(), tenant, note("of "+name)))
		want = append(want, name)
	}
	slices.Sort(want)
	var got []string
	for tenant, err := range s.Tenants(t.Context()) {
		must(t, err)
		got = append(got, tenant.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("tenants %q, want %q", got, want)
	}
}

// What sorts behind a beginning comes behind all that begins so, and before everything else.
func TestAfter(t *testing.T) {
	t.Parallel()
	for _, c := range [][2][]byte{
		{{1, 2}, {1, 3}}, {{0}, {1}}, {{1, 255}, {2}}, {{1, 255, 255}, {2}}, {{1, 2, 254}, {1, 2, 255}},
		{{255}, nil}, {{255, 255}, nil}, {nil, nil},
	} {
		given := bytes.Clone(c[0])
		if got := after(c[0]); !bytes.Equal(got, c[1]) || (got == nil) != (c[1] == nil) || !bytes.Equal(c[0], given) {
			t.Errorf("after %v comes %v, want %v", given, got, c[1])
		}
	}
}

// A store that is one file keeps what the program keeps for itself beside it.
func TestNameBesideOneFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "my.db")
	s := openFile(t, path)
	if got := s.fileName(loci.SystemTenant()); got != strings.TrimSuffix(path, ".db")+".system.db" {
		t.Errorf("the program's own is in %s", got)
	}
	if got := s.fileName(testTenant); got != path {
		t.Errorf("a tenant is in %s", got)
	}
}

// The name in a file is read once, and a file that somebody only began to make spoils no list of tenants.
func TestLongNamesAreReadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, long := openFile(t, dir), tenantOf(t, strings.Repeat("A", 101))
	must(t, s.Apply(t.Context(), long, note("a walrus")))
	must(t, s.Close())
	must(t, os.WriteFile(filepath.Join(dir, "h-"+strings.Repeat("0", 64)+".db"), nil, 0o600))
	s = openFile(t, dir)
	names, err := s.tenantNames()
	if err != nil || !slices.Equal(names, []string{long.String()}) {
		t.Errorf("tenants %q, %v", names, err)
	}
	must(t, os.WriteFile(s.fileName(long), []byte("no memory file any more"), 0o600))
	if name, err := s.ownerOf(FileName(long)); err != nil || name != long.String() {
		t.Errorf("the second time it is %q, %v", name, err)
	}
}

// What is remembered has a bound, and what is known already takes the place of nothing.
func TestWhatIsRememberedHasABound(t *testing.T) {
	t.Parallel()
	all := map[int]int{}
	for i := range 10 {
		remember(all, i, i, 4)
		remember(all, i, i+1, 4)
		if len(all) != min(i+1, 4) || all[i] != i+1 {
			t.Errorf("after %d: %v", i, all)
		}
	}
}
