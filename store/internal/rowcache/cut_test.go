package rowcache

import (
	"errors"
	"math/rand/v2"
	"testing"
)

// cut merges the log and begins it again, as SQLite does.
func (d *disk) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.state[frames], d.state[cuts] = 0, bigEndian(bigEndian(d.state[cuts])+1)
	for _, at := range []int{6, 7, 9, 10, 11} {
		d.state[at] = rand.Uint32()
	}
}

// What is kept stays where this process cuts the log. It goes where another process does, or commits beside it.
func TestCutsOfTheLogLeaveWhatIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		change func(d *disk, f *File)
		stays  bool
	}{
		"a cut":            {func(d *disk, _ *File) { d.cut() }, true},
		"none":             {func(*disk, *File) {}, true},
		"a look beside it": {func(d *disk, f *File) { d.cut(); find(f, 1) }, true},
		"a cut beside a commit of its own": {func(d *disk, f *File) {
			f.Begin()
			f.Committing()
			d.commit()
			d.cut()
			f.Committed()
		}, true},
		"… of which nobody knows yet": {func(d *disk, f *File) {
			d.cut()
			f.Begin()
			f.Committing()
			d.commit()
		}, true},
		"a commit of another process": {func(d *disk, _ *File) { d.commit(); d.cut() }, false},
		"… behind it":                 {func(d *disk, _ *File) { d.cut(); d.commit() }, false},
		"two cuts":                    {func(d *disk, _ *File) { d.cut(); d.cut() }, false},
		"a log that is left":          {func(d *disk, _ *File) { d.cut(); d.state[frames] = 5 }, false},
		"a file of another size":      {func(d *disk, _ *File) { d.cut(); d.state[5]++ }, false},
		"a log that was read again":   {func(d *disk, _ *File) { d.cut(); d.state[changes] = 1 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			_, d, f := newFile(1 << 20)
			d.state[changes], d.state[frames], d.state[5], d.state[cuts] = 40, 7, 90, bigEndian(255)
			keepRow(t, f, 1, "one")
			if err := f.Cut(func() error { c.change(d, f); return nil }); err != nil {
				t.Fatal(err)
			}
			f.Committed()
			if got := find(f, 1) == "one"; got != c.stays {
				t.Errorf("it is kept: %v", got)
			}
		})
	}
	_, d, f := newFile(1 << 20)
	keepRow(t, f, 1, "one")
	d.cut()
	for range 2 { // the first look drops it
		if find(f, 1) != "" {
			t.Error("a row is kept though others have cut the log")
		}
	}
	failed := errors.New("it fails")
	if err := f.Cut(func() error { return failed }); !errors.Is(err, failed) || f.cutting != 0 {
		t.Errorf("%v", err)
	}
}
