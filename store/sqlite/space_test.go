package sqlite

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
)

// The active space that a search asks for is read once for each state of the file, and not at all where this process
// alone has made it what it is; a switch is seen at once, by whomever.
func TestActiveSpaceIsReadOncePerState(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s, other := openFile(t, path), openFile(t, path)
	want := func(space loci.Space) {
		t.Helper()
		for _, store := range []*Store{s, other} {
			if got, err := store.ActiveSpace(t.Context(), testTenant); err != nil || got != space {
				t.Errorf("the active space is %v, %v; want %v", got, err, space)
			}
		}
	}
	first, second := loci.Space{Model: "first", Dims: 2}, loci.Space{Model: "second", Dims: 2}
	want(loci.Space{})
	c := note("walrus")
	c.Put[0].Vectors = []loci.Vectors{{Space: first, Rows: [][]float32{{1, 0}}}}
	if err := s.Apply(t.Context(), testTenant, c); err != nil {
		t.Fatal(err)
	}
	f := s.files[testTenant]
	if at := f.active.Load(); at == nil || at.space != first {
		t.Errorf("behind the commit that chose it, %v is known", at)
	}
	want(first)
	known := f.active.Load()
	want(first)
	if f.active.Load() != known {
		t.Error("it is read again though nothing has changed")
	}
	if err := other.SwitchSpace(t.Context(), testTenant, first, second, 1); err != nil {
		t.Fatal(err)
	}
	want(second)
	if err := s.SwitchSpace(t.Context(), testTenant, second, first, 1); err != nil {
		t.Fatal(err)
	}
	want(first)
	failed := errors.New("it fails")
	if err := f.write(t.Context(), func(x *tx) error {
		number, err := x.space(second)
		return errors.Join(err, x.setActive(number), failed)
	}); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	want(first)
}
