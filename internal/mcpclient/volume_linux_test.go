package mcpclient

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A link leads from the home to another volume. No file can be renamed from one to the other.
func TestHomeOnAnotherVolume(t *testing.T) {
	home := t.TempDir()
	there, err := os.MkdirTemp("/dev/shm", "loci-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(there) })
	dotfile, own := filepath.Join(there, "mcp.json"), map[string]string{"mcp.json": "{ /* mine */ }\n"}
	write(t, dotfile, own["mcp.json"])
	probe := filepath.Join(home, "probe")
	write(t, probe, "")
	if err := os.Rename(probe, filepath.Join(there, "probe")); !errors.Is(err, syscall.EXDEV) {
		t.Fatalf("%s is not on another volume than %s: %v", there, home, err)
	}

	for what, link := range map[string][2]string{
		"the file is a link": {dotfile, filepath.Join(home, ".cursor", "mcp.json")},
		"its folder is one":  {there, filepath.Join(home, ".cursor")},
	} {
		t.Run(what, func(t *testing.T) {
			_ = os.RemoveAll(filepath.Join(home, ".cursor"))
			if err := os.MkdirAll(filepath.Dir(link[1]), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(link[0], link[1]); err != nil {
				t.Fatal(err)
			}
			if r := cursorIn(home, Setup{}); r.Outcome != Connected {
				t.Fatalf("%+v", r)
			}
			if left := filesOf(t, there); left["mcp.json.before-loci"] != own["mcp.json"] || len(left) != 2 {
				t.Errorf("%q", left)
			}
			if r := cursorIn(home, Setup{Remove: true}); r.Outcome != Removed {
				t.Fatalf("%+v", r)
			}
			if left := filesOf(t, there); !maps.Equal(left, own) {
				t.Errorf("%q", left)
			}
			if to, err := os.Readlink(link[1]); err != nil || to != link[0] {
				t.Errorf("the link leads to %q: %v", to, err)
			}
		})
	}
}

// The home itself is on another volume than temporary files and than the folder in which setup
// is started.
func TestWholeHomeOnAnotherVolume(t *testing.T) {
	home, err := os.MkdirTemp("/dev/shm", "loci-*")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	probe := filepath.Join(t.TempDir(), "probe")
	write(t, probe, "")
	if err := os.Rename(probe, filepath.Join(home, "probe")); !errors.Is(err, syscall.EXDEV) {
		t.Fatalf("%s is not on another volume than %s: %v", home, probe, err)
	}
	own := map[string]string{"mcp.json": "{ /* mine */ }\n"}
	for what, before := range map[string]map[string]string{"a file of theirs": own, "no file": {}} {
		for name, text := range before {
			write(t, filepath.Join(home, ".cursor", name), text)
		}
		if r := cursorIn(home, Setup{}); r.Outcome != Connected {
			t.Errorf("%s: %+v", what, r)
		}
		if left := filesOf(t, filepath.Join(home, ".cursor")); left["mcp.json.before-loci"] != before["mcp.json"] {
			t.Errorf("%s: %q", what, left)
		}
		if r := cursorIn(home, Setup{Remove: true}); r.Outcome != Removed {
			t.Errorf("%s: %+v", what, r)
		}
		if left := filesOf(t, filepath.Join(home, ".cursor")); !maps.Equal(left, before) {
			t.Errorf("%s: it leaves %q", what, left)
		}
		if err := os.RemoveAll(filepath.Join(home, ".cursor")); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{os.Getenv("TMPDIR"), "."} {
		if left := filesOf(t, dir); len(left) > 0 {
			t.Errorf("in %s is left %q", dir, left)
		}
	}
}
