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
