package backup_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/locitest"
)

// TestForeignNames: what a damaged or foreign backup says brings no character into a message that a
// terminal would obey, and nothing without an end.
func TestForeignNames(t *testing.T) {
	dir, _ := made(t, options())
	good := files(t, dir)
	quiet := func(what string, err error) {
		t.Helper()
		e := loci.AsError(err)
		if e == nil || e.Code != loci.Invalid || strings.ContainsFunc(e.Msg, unicode.IsControl) || len(e.Msg) > 1000 {
			t.Errorf("%.40q: %.200q", what, fmt.Sprint(err))
		}
	}
	digest := strings.Repeat("0", 64)
	for _, name := range []string{"y\x1b[31m", "a\u202eb", "bell\a", "\xff", strings.Repeat("n", 5000), "a\u200bb"} {
		must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(digest+"  "+name+"\n"), 0o600))
		_, err := backup.Check(t.Context(), dir, options())
		quiet(name, err)
		if err != nil && !strings.Contains(err.Error(), "SHA256SUMS names a file that is none") {
			t.Errorf("%.40q: %.200s", name, err)
		}
	}
	manifest := strings.Replace(string(good["manifest.json"]), `"t-acme.db"`, `"t-\u001b[31m.db"`, 1)
	must(t, os.WriteFile(filepath.Join(dir, "manifest.json"), []byte(manifest), 0o600))
	sumUp(t, dir)
	_, err := backup.Check(t.Context(), dir, options())
	quiet("a file of the manifest", err)
	if err != nil && !strings.Contains(err.Error(), "names a tenant that is none") {
		t.Error(err)
	}
}

// TestForeignLists: what is wrong with a list of erased records is said in words of JSON.
func TestForeignLists(t *testing.T) {
	dir, _ := made(t, options())
	for list, want := range map[string]string{
		`{"id":5}`: "object 1 of the list", `{"format":"loci.erased","version":"x"}`: "version", `{"events":[1]}`: "object 1 of the list",
		`{"events":[{"id":[]}]}`: "id", "{\"id\":\"\x1b[31m\"}": "cannot be read", "{": "cannot be read",
		"\n" + strings.Repeat("x", 1<<17): "is too long: write one id a line",
	} {
		path := filepath.Join(t.TempDir(), "list")
		must(t, os.WriteFile(path, []byte(list), 0o600))
		what := backup.Restoration{DryRun: true, Erased: []string{path}}
		_, err := backup.Restore(t.Context(), dir, empty["sqlite"](t), what, options())
		locitest.WantCode(t, err, loci.Invalid)
		said := fmt.Sprint(err)
		foreign := strings.Contains(said, "Go ") || strings.Contains(said, "json:") || strings.ContainsFunc(said, unicode.IsControl)
		if foreign || !strings.Contains(said, want) {
			t.Errorf("%q: %v", list, err)
		}
	}
}

// TestDamageBelowTheSeal: a sealed file that somebody cut off, with digests that fit, is damage of the
// backup, and no fault of the disk or of the program.
func TestDamageBelowTheSeal(t *testing.T) {
	locitest.Unshared(t)
	phrased, keyed := options(), options()
	phrased.Keys.PassphraseFile = filepath.Join(t.TempDir(), "phrase")
	must(t, os.WriteFile(phrased.Keys.PassphraseFile, []byte("correct horse battery staple"), 0o600))
	recipient, key := identity(t)
	keyed.Keys = backup.Keys{Recipients: []string{recipient}, IdentityFile: key}
	cases := []struct {
		opts  backup.Options
		files []string
	}{{keyed, []string{"000001.db.age", "manifest.json.age"}}, {phrased, []string{"key.age"}}}
	for _, c := range cases[:locitest.Long(1, 2)] { // a passphrase takes seconds on purpose
		dir, _ := made(t, c.opts)
		good := files(t, dir)
		for _, name := range c.files {
			cut := good[name][:len(good[name])-1]
			must(t, os.WriteFile(filepath.Join(dir, name), cut, 0o600))
			was, is := sha256.Sum256(good[name]), sha256.Sum256(cut)
			sums := strings.Replace(string(good["SHA256SUMS"]), hex.EncodeToString(was[:]), hex.EncodeToString(is[:]), 1)
			must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums), 0o600))
			_, err := backup.Check(t.Context(), dir, c.opts)
			if e := loci.AsError(err); e == nil || e.Code != loci.Invalid || !strings.Contains(e.Msg, "is damaged") {
				t.Errorf("%s: %v", name, err)
			}
			must(t, os.WriteFile(filepath.Join(dir, name), good[name], 0o600))
		}
	}
}
