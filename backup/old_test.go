package backup_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/locitest"
)

var update = flag.Bool("update", false, "make a backup of this version again: only before it is released")

// TestOldBackups: the backups of released versions can be checked and restored.
func TestOldBackups(t *testing.T) {
	const file = "testdata/version1.tar.gz"
	if *update {
		dir, _ := made(t, options())
		must(t, os.WriteFile(file, packed(t, dir), 0o600))
	}
	dir := filepath.Join(t.TempDir(), "backup")
	must(t, os.Mkdir(dir, 0o700))
	data, err := os.ReadFile(file)
	must(t, err)
	unpacked(t, data, dir)
	m, err := backup.Check(t.Context(), dir, options())
	must(t, err)
	if len(m.Tenants) != 1 || m.Version != 1 || m.Tenants[0].Rows["record"] == 0 {
		t.Errorf("the manifest is %+v", m)
	}
	to := empty["sqlite"](t)
	_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{}, options())
	must(t, err)
	with(t, to, func(_ loci.Store, e *loci.Engine) {
		if all := locitest.AllFacts(t, at(t, e, "acme")); len(all) != 11 {
			t.Errorf("%d notes are restored; want 11", len(all))
		}
		locitest.LogIsWhole(t, e, tenant(t, "acme"))
	})
}

func packed(t *testing.T, dir string) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, data := range files(t, dir) {
		must(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: int64(len(data))}))
		_, err := w.Write(data)
		must(t, err)
	}
	must(t, errors.Join(w.Close(), z.Close()))
	return out.Bytes()
}

func unpacked(t *testing.T, data []byte, dir string) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	must(t, err)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must(t, err)
		content, err := io.ReadAll(r)
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, filepath.Base(h.Name)), content, 0o600))
	}
}
