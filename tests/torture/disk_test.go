package torture

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// sector is what a disk writes whole or not at all.
const sector = 512

// A disk is what a file system holds of one directory while a program runs, and what part of it
// survives a power cut for certain. A write is safe if an fsync of its file began after it and
// has ended; a name is safe if an fsync of the directory covers it. Any part of the rest may
// survive. Changes of names survive in the order in which they were made, as file systems with
// a journal keep them. Writes do not, and may be torn between sectors.
type disk struct {
	dir   string
	files map[string]*inode // by path, as the program sees them
	names map[string]*inode // by path, as they survive for certain
	moves []move            // that may be lost, oldest first
	moved int               // how many are safe
}

// An inode is a file, whatever it is called.
type inode struct {
	sure    []byte
	pending []change // oldest first
	synced  int      // how many of the changes are in sure already
}

// A change is a write, or with cut a new length.
type change struct {
	off  int64
	data []byte
	cut  bool
}

// A move makes or removes a name.
type move struct {
	path string
	file *inode // nil: the name goes
}

func newDisk(dir string) *disk {
	return &disk{dir: dir, files: map[string]*inode{}, names: map[string]*inode{}}
}

func (d *disk) create(path string) {
	if d.files[path] == nil {
		d.name(path, &inode{})
	}
}

func (d *disk) unlink(path string) { d.name(path, nil) }

func (d *disk) rename(from, to string) {
	file := d.files[from]
	d.name(to, file)
	d.name(from, nil)
}

func (d *disk) name(path string, file *inode) {
	if d.files[path] = file; file == nil {
		delete(d.files, path)
	}
	d.moves = append(d.moves, move{path, file})
}

func (d *disk) write(path string, off int64, data []byte) error {
	return d.change(path, change{off: off, data: data})
}

func (d *disk) truncate(path string, size int64) error {
	return d.change(path, change{off: size, cut: true})
}

func (d *disk) change(path string, c change) error {
	file := d.files[path]
	if file == nil {
		return fmt.Errorf("%s is changed and was never made", path)
	}
	file.pending = append(file.pending, c)
	return nil
}

// sync is an fsync that begins now; what it returns is called when it has ended.
func (d *disk) sync(path string) (ended func(), err error) {
	if path == d.dir {
		covered := d.moved + len(d.moves)
		return func() {
			for ; d.moved < covered; d.moved++ { // another fsync may have ended before
				d.moves[0].apply(d.names)
				d.moves = d.moves[1:]
			}
		}, nil
	}
	file := d.files[path]
	if file == nil {
		return nil, fmt.Errorf("%s is synced and was never made", path)
	}
	covered := file.synced + len(file.pending)
	return func() {
		for ; file.synced < covered; file.synced++ {
			file.sure = file.pending[0].apply(file.sure)
			file.pending = file.pending[1:]
		}
	}, nil
}

func (m move) apply(names map[string]*inode) {
	if m.file == nil {
		delete(names, m.path)
	} else {
		names[m.path] = m.file
	}
}

func (c change) apply(to []byte) []byte {
	end := c.off + int64(len(c.data))
	if c.cut && end < int64(len(to)) {
		return to[:end:end]
	}
	if grow := end - int64(len(to)); grow > 0 {
		to = append(to, make([]byte, grow)...)
	}
	copy(to[c.off:], c.data)
	return to
}

// A cut says how much of what is not safe survives.
type cut int

const (
	nothing    cut = iota
	everything     // as after kill -9
	some           // each write or not
	torn           // each sector of each write or not
	cuts
)

// after writes into a directory what may be there after a power cut at this moment.
func (d *disk) after(how cut, rng *rand.Rand, into string) error {
	names := maps.Clone(d.names)
	moved := map[cut]int{everything: len(d.moves)}[how]
	if how == some || how == torn {
		moved = rng.IntN(len(d.moves) + 1)
	}
	for _, m := range d.moves[:moved] {
		m.apply(names)
	}
	for path, file := range names {
		data := slices.Clone(file.sure)
		for _, c := range file.pending {
			data = c.survive(how, rng, data)
		}
		if err := os.WriteFile(filepath.Join(into, filepath.Base(path)), data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// survive applies the part of a change that survives.
func (c change) survive(how cut, rng *rand.Rand, to []byte) []byte {
	switch {
	case how == everything, how == some && rng.IntN(2) == 0, how == torn && c.cut && rng.IntN(2) == 0:
		return c.apply(to)
	case how != torn || c.cut:
		return to
	}
	for from := int64(0); from < int64(len(c.data)); {
		part := min(sector-(c.off+from)%sector, int64(len(c.data))-from)
		if rng.IntN(2) == 0 {
			to = change{off: c.off + from, data: c.data[from : from+part]}.apply(to)
		}
		from += part
	}
	return to
}

// TestDisk is what the rules above make of a few writes.
func TestDisk(t *testing.T) {
	d := newDisk("/d")
	d.create("/d/a")
	step := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ended := func(path string) func() {
		t.Helper()
		done, err := d.sync(path)
		step(err)
		return done
	}
	want := func(how cut, files map[string]string) {
		t.Helper()
		dir, got := t.TempDir(), map[string]string{}
		step(d.after(how, rand.New(rand.NewPCG(1, 1)), dir))
		entries, err := os.ReadDir(dir)
		step(err)
		for _, e := range entries {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			step(err)
			got[e.Name()] = string(data)
		}
		if !maps.Equal(got, files) {
			t.Errorf("cut %d leaves %q, not %q", how, got, files)
		}
	}
	step(d.write("/d/a", 0, []byte("one")))
	want(nothing, nil)
	ended("/d")()
	want(nothing, map[string]string{"a": ""})
	want(everything, map[string]string{"a": "one"})
	done := ended("/d/a")
	step(d.write("/d/a", 3, []byte("two"))) // the fsync that runs need not cover it
	want(nothing, map[string]string{"a": ""})
	done()
	want(nothing, map[string]string{"a": "one"})
	want(everything, map[string]string{"a": "onetwo"})
	ended("/d/a")()
	step(d.truncate("/d/a", 2))
	d.rename("/d/a", "/d/b")
	want(nothing, map[string]string{"a": "onetwo"})
	want(everything, map[string]string{"b": "on"})
	ended("/d")()
	want(nothing, map[string]string{"b": "onetwo"})
	d.unlink("/d/b")
	want(nothing, map[string]string{"b": "onetwo"})
	want(everything, nil)
	if err := d.write("/d/b", 0, nil); err == nil {
		t.Error("a write to a file that is not there is no error")
	}
}
