package backup_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/backup"
	"github.com/loci-memory/loci/internal/locitest"
)

// made is a small backup.
func made(t *testing.T, opts backup.Options) (dir, from string) {
	t.Helper()
	from, dir = empty["sqlite"](t), filepath.Join(t.TempDir(), "backup")
	with(t, from, func(_ loci.Store, e *loci.Engine) { fill(t, e, "acme") })
	_, err := backup.Create(t.Context(), from, dir, nil, opts)
	must(t, err)
	return dir, from
}

// files are the names and contents of the files of a backup.
func files(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for _, name := range leftovers(t, dir) {
		data, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		out[name] = data
	}
	return out
}

// identity makes a key of age: the public part, and a file with the other.
func identity(t *testing.T) (recipient, file string) {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	must(t, err)
	file = filepath.Join(t.TempDir(), "key.txt")
	must(t, os.WriteFile(file, []byte("# a key of a test\n"+id.String()+"\n"), 0o600))
	return id.Recipient().String(), file
}

// TestEveryByteCounts: a backup of which one byte was turned, or the end cut off, is refused.
func TestEveryByteCounts(t *testing.T) {
	locitest.Unshared(t)
	recipient, key := identity(t)
	for name, keys := range map[string]backup.Keys{"plain": {}, "sealed": {Recipients: []string{recipient}, IdentityFile: key}} {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.Keys = keys
			dir, _ := made(t, opts)
			for name, data := range files(t, dir) {
				path, step := filepath.Join(dir, name), 1
				if len(data) > 4000 {
					step = locitest.Long(997, 1)
				}
				for i := 0; i < len(data); i += step {
					turned := bytes.Clone(data)
					turned[i] ^= 1 << (i % 8)
					for _, damaged := range [][]byte{turned, data[:i]} {
						must(t, os.WriteFile(path, damaged, 0o600))
						if _, err := backup.Check(t.Context(), dir, opts); err == nil {
							t.Fatalf("%s: %d bytes of %d, byte %d turned, pass for whole", name, len(damaged), len(data), i)
						}
					}
				}
				must(t, os.Remove(path))
				if _, err := backup.Check(t.Context(), dir, opts); err == nil {
					t.Errorf("without %s it passes for whole", name)
				}
				must(t, os.Mkdir(path, 0o700))
				_, err := backup.Check(t.Context(), dir, opts)
				if loci.AsError(err).Code != loci.Unavailable || !strings.Contains(err.Error(), name+" cannot be read: it is a directory") {
					t.Errorf("with a directory in place of %s: %v", name, err)
				}
				must(t, os.Remove(path))
				must(t, os.WriteFile(path, data, 0o600))
			}
			_, err := backup.Check(t.Context(), dir, opts)
			must(t, err)
		})
	}
}

// sumUp writes the digests of a small backup, as somebody would who has changed it.
func sumUp(t *testing.T, dir string) {
	t.Helper()
	sum := exec.Command("sha256sum", "manifest.json", "t-acme.db")
	sum.Dir = dir
	out, err := sum.Output()
	if err != nil {
		t.Fatalf("sha256sum is needed (coreutils: apt-get install coreutils, brew install coreutils): %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "SHA256SUMS"), out, 0o600))
}

// TestForgedBackups: digests that somebody made to fit hide nothing from the manifest, nor a
// manifest from the rows.
func TestForgedBackups(t *testing.T) {
	dir, from := made(t, options())
	good := files(t, dir)
	other := filepath.Join(t.TempDir(), "other")
	with(t, from, func(_ loci.Store, e *loci.Engine) { locitest.Save(t, at(t, e, "acme"), "one more") })
	_, err := backup.Create(t.Context(), from, other, nil, options())
	must(t, err)
	forge := func(name, text, forged string) {
		t.Helper()
		for name, data := range good {
			must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		}
		data := bytes.Replace(good[name], []byte(text), []byte(forged), 1)
		if bytes.Equal(data, good[name]) {
			t.Fatalf("%s has no %q", name, text)
		}
		must(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	seal := func() {
		t.Helper()
		sumUp(t, dir)
	}
	for _, c := range [][4]string{
		{"manifest.json", `"version": 1`, `"version": 2`, "upgrade Loci"},
		{"manifest.json", `"loci.backup"`, `"other"`, "damaged"},
		{"manifest.json", `"t-acme.db"`, `"../t-acme.db"`, "damaged"},
		{"manifest.json", `"tenant": "acme"`, `"tenant": "acne"`, ""},
		{"manifest.json", `"sha256": "`, `"sha256": "00`, "not the one of its manifest"},
		{"manifest.json", `"hash": "`, `"hash": "00`, "damaged"},
		{"manifest.json", `"events": 1`, `"events": 2`, "rows"},
	} {
		forge(c[0], c[1], c[2])
		seal()
		_, err := backup.Check(t.Context(), dir, options())
		if e := loci.AsError(err); e == nil || !strings.Contains(e.Error()+e.Advice(), c[3]) {
			t.Errorf("%s: %v", c[2], err)
		}
	}
	forge("manifest.json", `"made_by": "test"`, `"made_by": "tes"`)
	file, err := os.ReadFile(filepath.Join(other, "t-acme.db"))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "t-acme.db"), file, 0o600))
	seal()
	_, err = backup.Check(t.Context(), dir, options())
	wantCode(t, "the file of another backup", err, loci.Invalid, "not the one of its manifest")
}

// TestKeysOfBackups: an encrypted backup shows nothing, and opens with its key alone.
func TestKeysOfBackups(t *testing.T) {
	recipient, key := identity(t)
	_, wrong := identity(t)
	phrase, other, none := filepath.Join(t.TempDir(), "phrase"), filepath.Join(t.TempDir(), "other"), filepath.Join(t.TempDir(), "none")
	must(t, os.WriteFile(phrase, []byte("correct horse battery staple\n"), 0o600))
	must(t, os.WriteFile(other, []byte("incorrect horse\n"), 0o600))
	must(t, os.WriteFile(none, []byte("\n"), 0o600))
	for name, c := range map[string]struct {
		made, opens backup.Keys
		wrong       backup.Keys
		says        string
	}{
		"recipient": {
			backup.Keys{Recipients: []string{recipient}},
			backup.Keys{IdentityFile: key}, backup.Keys{IdentityFile: wrong}, "backup.identity_file",
		},
		"passphrase": {
			backup.Keys{PassphraseFile: phrase},
			backup.Keys{PassphraseFile: phrase}, backup.Keys{PassphraseFile: other}, "backup.passphrase_file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			opts := options()
			opts.Keys = c.made
			dir, from := made(t, opts)
			for name, data := range files(t, dir) {
				for _, secret := range []string{"walrus", "acme", "SQLite"} {
					if bytes.Contains(data, []byte(secret)) || strings.Contains(name, secret) {
						t.Errorf("%s shows %q", name, secret)
					}
				}
			}
			opts.Keys = backup.Keys{}
			_, err := backup.Check(t.Context(), dir, opts)
			wantCode(t, "without a key", err, loci.Invalid, c.says)
			opts.Keys = c.wrong
			to := empty["sqlite"](t)
			_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{}, opts)
			wantCode(t, "with another key", err, loci.Forbidden, "another key")
			opts.Keys = c.opens
			_, err = backup.Restore(t.Context(), dir, to, backup.Restoration{}, opts)
			must(t, err)
			if sums(t, to)["acme"] != sums(t, from)["acme"] {
				t.Error("what was restored is not the same")
			}
		})
	}
	for says, keys := range map[string]backup.Keys{
		"public keys of age":                {Recipients: []string{"age1nobody"}},
		"is empty":                          {PassphraseFile: none},
		"exclude":                           {PassphraseFile: phrase, Recipients: []string{recipient}},
		"backup.passphrase_file: the file ": {PassphraseFile: filepath.Join(t.TempDir(), "missing")},
	} {
		opts := options()
		opts.Keys = keys
		dir := filepath.Join(t.TempDir(), "x")
		_, err := backup.Create(t.Context(), empty["sqlite"](t), dir, nil, opts)
		if e := loci.AsError(err); e == nil || !strings.Contains(e.Error(), says) {
			t.Errorf("%+v: %v; want %q", keys, err, says)
		}
	}
}
