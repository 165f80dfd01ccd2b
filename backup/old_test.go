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

// TestBackupsOfRefusals: a tenant whose log has what belongs to no namespace, as refusals do, is
// restored and copied into every kind of store. The backup was made by a version that could not.
func TestBackupsOfRefusals(t *testing.T) {
	locitest.Unshared(t)
	dir := filepath.Join(t.TempDir(), "backup")
	must(t, os.Mkdir(dir, 0o700))
	data, err := os.ReadFile("testdata/refused.tar.gz")
	must(t, err)
	unpacked(t, data, dir)
	for kind, url := range empty {
		if kind == "file" { // of the tenant default alone
			continue
		}
		t.Run(kind, func(t *testing.T) {
			to := url(t)
			_, err := backup.Restore(t.Context(), dir, to, backup.Restoration{}, options())
			must(t, err)
			with(t, to, func(_ loci.Store, e *loci.Engine) {
				if all := locitest.AllFacts(t, at(t, e, "acme")); len(all) != 1 {
					t.Errorf("%d notes are restored; want 1", len(all))
				}
				must(t, e.RecordRefusal(t.Context(), tenant(t, "acme"), "somebody", "", map[string]any{"operation": "save_note"}))
				locitest.LogIsWhole(t, e, tenant(t, "acme"))
			})
			again := filepath.Join(t.TempDir(), "again")
			_, err = backup.Create(t.Context(), to, again, nil, options())
			must(t, err)
			_, err = backup.Restore(t.Context(), again, empty["sqlite"](t), backup.Restoration{}, options())
			must(t, err)
		})
	}
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
