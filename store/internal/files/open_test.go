package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci/store/internal/segment"
)

// A file that somebody cuts between the look at its size and the look at its bytes is refused.
func TestFileCutWhileItIsOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.segm")
	data := (&segment.Data{}).Encode(segment.Origin{})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, _, err := openMapped(f, len(data), segment.Origin{}, false); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	g, _, err := openMapped(f, len(data), segment.Origin{}, false)
	if g != nil || err == nil || mapped && !errors.Is(err, segment.ErrUnusable) {
		t.Errorf("%v, %v; want a refusal", g, err)
	}
}
