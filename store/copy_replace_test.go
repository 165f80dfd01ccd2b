package store_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/store"
)

// replaced copies all of a store into another one, whose tenants give way.
func replaced(t *testing.T, from, to string) error {
	t.Helper()
	return store.ReplaceTenants(t.Context(), from, to, nil, nil, func(store.CopyReport) error { return nil })
}

func alike(t *testing.T, what string, got, want []any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got): %.2000s", what, diff)
	}
}

// TestOpenFilesAreNotReplaced: a tenant whose file another program has open stays as it is. Its log would else be
// read as a part of the copy, and damage it for good.
func TestOpenFilesAreNotReplaced(t *testing.T) {
	t.Parallel()
	from, to := "sqlite:"+t.TempDir(), "sqlite:"+t.TempDir()
	tn := locitest.Tenant(t, "acme")
	s := openStore(t, from)
	fill(t, s, tn, 20)
	must(t, s.Close())
	other := openStore(t, to)
	fill(t, other, tn, 5)
	before := seen(t, other, tn)
	err := replaced(t, from, to)
	if e := loci.AsError(err); !isConflict(err) || !strings.Contains(e.Msg, "t-acme.db open") || !strings.Contains(e.Advice(), "Stop the servers") {
		t.Errorf("a file that is open: %v", err)
	}
	alike(t, "where it was refused", seen(t, other, tn), before)
	must(t, other.EraseTenant(t.Context(), tn)) // there is nothing to replace, and still a log
	err = store.Copy(t.Context(), from, to, nil, func(store.CopyReport) error { return nil })
	if !isConflict(err) {
		t.Errorf("an empty file that is open: %v", err)
	}
	must(t, other.Close())
	must(t, replaced(t, from, to))
	source, copied := openStore(t, from), openStore(t, to)
	alike(t, "the copy", seen(t, copied, tn), seen(t, source, tn))
	must(t, copied.Close())
	must(t, source.Close())
}

// TestReplacedAtOnce: what gives way is there until the copy is whole, and of its bytes nothing is left then.
func TestReplacedAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := "sqlite:"+t.TempDir(), "sqlite:"+dir
	tn := locitest.Tenant(t, "acme")
	s := openStore(t, from)
	fill(t, s, tn, 20)
	must(t, s.Close())
	s = openStore(t, to)
	fill(t, s, tn, 5)
	must(t, s.Close())
	old, err := os.Open(filepath.Join(dir, "t-acme.db"))
	must(t, err)
	must(t, replaced(t, from, to))
	data, err := io.ReadAll(old)
	must(t, err)
	must(t, old.Close())
	if len(data) == 0 || strings.Trim(string(data), "\x00") != "" {
		t.Errorf("of %d bytes that gave way some are left", len(data))
	}
	if _, err := os.Stat(filepath.Join(dir, ".copying")); err == nil {
		t.Error("the place for copies is left")
	}
	source, copied := openStore(t, from), openStore(t, to)
	alike(t, "the copy", seen(t, copied, tn), seen(t, source, tn))
	must(t, copied.Close())
	must(t, source.Close())
}
