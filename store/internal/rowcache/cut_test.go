package rowcache

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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
			f.KeepList(d.state, []byte("list"), []byte("rows"), 0, 10)
			if err := f.Cut(func() error { c.change(d, f); return nil }); err != nil {
				t.Fatal(err)
			}
			f.Committed()
			l, _, _ := f.FindList([]byte("list"), 5)
			if got := find(f, 1) == "one" && l.Data != nil; got != c.stays {
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

// A list loses the rows that are removed at once. It goes if what is left is not known.
func TestListsLoseWhatIsRemoved(t *testing.T) {
	p, d, f := newFile(1 << 20)
	p.Without = func(key string, list []byte, gone []int64) []byte {
		if key == "cut" || !slices.IsSorted(gone) {
			return nil
		}
		return bytes.ReplaceAll(list, fmt.Appendf(nil, "<%d>", gone[0]), nil)
	}
	f.FindList(nil, 0)
	for _, key := range []string{"list", "cut"} {
		f.KeepList(d.state, []byte(key), []byte("<1><2><3>"), 0, 10)
	}
	before := p.Bytes()
	f.Begin()
	f.Removed(7)
	f.Touched(9)
	f.Removed(2)
	f.Committing()
	d.commit()
	f.Committed()
	l, _, _ := f.FindList([]byte("list"), 5)
	if string(l.Data) != "<1><3>" || !slices.Equal(l.Changed, []int64{2, 7, 9}) {
		t.Errorf("%q, and %v", l.Data, l.Changed)
	}
	if inMemory(f, "<2>") || inMemory(f, "cut") {
		t.Error("what is removed is in memory")
	}
	if p.Bytes() >= before {
		t.Errorf("%d bytes are counted, %d before", p.Bytes(), before)
	}
	f.Begin()
	f.Touched(1)
	f.Committing()
	d.commit()
	if f.Committed(); f.lists["list"] == nil {
		t.Error("a list is lost though nothing was removed")
	}
	if f.drop(); p.Bytes() != 0 {
		t.Errorf("%d bytes are counted of nothing", p.Bytes())
	}
}
