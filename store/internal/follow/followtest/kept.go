package followtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/follow"
)

// takenUp: the next server takes up what the one before has made, and reads what came since alone.
func takenUp(b *bench) {
	s := b.open()
	s.fill(0, 50)
	var first [][]loci.Hit
	if n := s.reads(func() { first = s.answers() }); n != 50 {
		b.Errorf("the first search read %d records, not 50", n)
	}
	if names := b.segments(); len(names) != 4 || len(s.copies()) != 4 {
		b.Errorf("segments %q, files %q, want 4", names, s.copies())
	}
	next := b.open()
	if n := next.reads(func() { b.same("taken up", next.answers(), first) }); n != 0 {
		b.Errorf("a server that takes the index up read %d records", n)
	}
	s.put(7, 2, "edited walrus number7")
	s.erase(12, 1)
	s.fill(50, 53)
	changed := next.answers()
	b.same("followed", s.answers(), changed)
	third := b.open()
	third.tidy()
	if n := third.reads(func() { b.same("taken up and followed", third.answers(), changed) }); n > 20 {
		b.Errorf("a server that takes the index up read %d records, more than changed", n)
	}
	b.same("from the records", changed, b.fromRecords())
}

// wordsAlone: a server that searches by words alone at first takes up what is kept of the active
// space, and leaves it to those who search by vectors, too.
func wordsAlone(b *bench) {
	s := b.open()
	s.fill(0, 50)
	want, kept := s.answers(), b.segments()
	next := b.open()
	if n := next.reads(func() {
		in := loci.Filter{Within: []loci.Namespace{place}}
		hits, err := next.Match(b.Context(), b.tenant(), loci.Probe{Text: "walrus"}, in, 10)
		if err != nil || len(hits) != 10 {
			b.Errorf("%d hits, %v", len(hits), err)
		}
		b.same("by vectors, too", next.answers(), want)
	}); n != 0 {
		b.Errorf("%d records were read", n)
	}
	if names := b.segments(); !slices.Equal(names, kept) {
		b.Errorf("segments %q, before %q", names, kept)
	}
}

// notTrusted: searches find the same, whatever is done to what is kept.
func notTrusted(b *bench) {
	foreign := &bench{b.T, b.suite.New(b.T), b.suite}
	of := foreign.open()
	of.fill(3, 53)
	of.answers()
	other := foreign.Pieces(b.T)[0].Data
	data := func(to func(all []Piece) []byte) func(*bench) {
		return func(b *bench) {
			all := b.Pieces(b.T)
			first := all[0]
			first.Data = to(all)
			b.SetData(b.T, &first)
		}
	}
	image := func(from, to string) func(*bench) {
		return func(b *bench) {
			b.EditImage(b.T, func(v string) string { return strings.Replace(v, from, to, 1) })
		}
	}
	turnedAtItsEnd := data(func(all []Piece) []byte { // which is looked at when it is read
		turned := bytes.Clone(all[0].Data)
		turned[len(turned)-1]++
		return turned
	})
	const noFolder = "turned at its end, without a folder"
	harms := map[string]func(*bench){
		"turned at its end": turnedAtItsEnd, noFolder: turnedAtItsEnd,
		"deleted":     func(b *bench) { b.RemovePieces(b.T, "") },
		"one deleted": func(b *bench) { b.RemovePieces(b.T, b.segments()[0]) },
		"cut":         data(func(all []Piece) []byte { return all[0].Data[:900] }),
		"empty":       data(func([]Piece) []byte { return []byte{} }),
		"turned": data(func(all []Piece) []byte {
			turned := bytes.Clone(all[0].Data)
			turned[1000]++
			return turned
		}),
		"of an older build": data(func(all []Piece) []byte {
			older := bytes.Clone(all[0].Data)
			copy(older, "loci0")
			return older
		}),
		"foreign":   data(func([]Piece) []byte { return other }),
		"exchanged": data(func(all []Piece) []byte { return all[1].Data }),
		"no image":  func(b *bench) { b.HideImages(b.T) },
		"no JSON":   func(b *bench) { b.EditImage(b.T, func(string) string { return "x" }) },
		"a path":    image(`"name":"`, `"name":"/.`),
		"newer":     image(`"seq":`, `"seq":9`),
	}
	for name, harm := range b.suite.Harms {
		harms[name] = func(b *bench) { harm(b.T, b.Database) }
	}
	for name, harm := range harms {
		b.Run(name, func(t *testing.T) {
			b := &bench{t, b.suite.New(t), b.suite}
			// Where a server tidies a harmed image away before the next one has made it again, that one keeps none, and
			// leaves it to whoever comes then. So nobody tidies here.
			calm := func(s node) node {
				s.Shelf().Pause = time.Hour
				return s
			}
			s := calm(b.open())
			s.fill(0, 50)
			want := s.answers()
			harm(b)
			next := b.open()
			if name == noFolder {
				next = node{b.Open(b.T, Options{From: 20, Book: 16}), b, ""}
			}
			calm(next)
			b.same("harmed", next.answers(), want)
			next.put(60, 1, "one more walrus")
			got := next.answers()
			b.same("of the other", s.answers(), got)
			last := b.open()
			if n := last.reads(func() { b.same("made again", last.answers(), got) }); n > 1 {
				b.Errorf("%d records were read: the index was not made again", n)
			}
			b.same("from the records", got, b.fromRecords())
		})
	}
}

// emptied: the folder of a server may be emptied while it is searched, and its files may be cut.
func emptied(b *bench) {
	for name, harm := range map[string]func(s node) error{
		"removed": func(s node) error { return os.RemoveAll(s.dir) },
		"cut": func(s node) (err error) {
			for _, path := range s.copies() {
				err = errors.Join(err, os.Truncate(path, 0))
			}
			return err
		},
	} {
		b.Run(name, func(t *testing.T) {
			b := &bench{t, b.suite.New(t), b.suite}
			s := b.open()
			s.fill(0, 50)
			want := s.answers()
			if err := harm(s); err != nil {
				t.Fatal(err)
			}
			b.same(name, s.answers(), want)
			s.put(7, 2, "edited walrus number7")
			s.fill(50, 70)
			got := s.answers()
			b.same("and changed", got, b.fromRecords())
		})
	}
}

// harmed: whatever block of a copy is damaged, in each its turn, searches find what the records say, and what is erased
// is in no copy and no piece.
func harmed(b *bench) {
	const notes, stride = 150, 5
	open := func() node {
		dir := b.TempDir()
		one := Options{Dir: dir, Size: 1 << 30, From: 20, Book: 1000, Forget: true} // one segment
		return node{b.Open(b.T, one), b, dir}
	}
	first := open()
	first.fill(0, notes)
	want := first.answers()
	for n, count := 0, 1; n < count; n += stride {
		s := open()
		b.same("before", s.answers(), want)
		copies := s.copies()
		if len(copies) != 1 {
			b.Fatalf("%d copies", len(copies))
		}
		data, err := os.ReadFile(copies[0])
		if err != nil {
			b.Fatal(err)
		}
		begin := int(binary.LittleEndian.Uint64(data[24:])) // see package segment
		count = (len(data) - begin + 1<<10 - 1) >> 10
		at := int64(min(begin+n<<10+n, len(data)-1))
		if err := turn(copies[0], data[at], at); err != nil {
			b.Fatal(err)
		}
		b.same(fmt.Sprint("block ", n, " of a copy"), s.answers(), want)
		gone := n / stride * 3
		s.erase(gone, 1)
		want = b.fromRecords()
		b.same("and erased", s.answers(), want)
		s.tidy()
		if pieces, files := s.holds(fmt.Sprintf("number%d ", gone)); pieces+files > 0 {
			b.Errorf("block %d: %d pieces and %d files hold what was erased", n, pieces, files)
		}
	}
}

// turn changes a byte of a file where it lies.
func turn(path string, old byte, at int64) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte{old ^ 0x20}, at)
	return errors.Join(err, f.Close())
}

// noRoom: what the folder has no room for is kept in memory, and so it is without a folder.
func noRoom(b *bench) {
	s := b.open()
	s.fill(0, 50)
	want := s.answers()
	const most = 12_000
	for name, dir := range map[string]string{"small": b.TempDir(), "none": ""} {
		next := node{b.Open(b.T, Options{Dir: dir, Size: most, From: 20, Book: 16}), b, dir}
		if n := next.reads(func() { b.same(name, next.answers(), want) }); n != 0 {
			b.Errorf("%s: %d records were read", name, n)
		}
		if dir == "" {
			continue
		}
		size := int64(0)
		for _, path := range next.copies() {
			info, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			size += info.Size()
		}
		if size > most || size == 0 {
			b.Errorf("the folder holds %d bytes", size)
		}
	}
}

// comes: a server that is searched for long keeps what came since, and goes on with what another
// one has kept meanwhile.
func comes(b *bench) {
	s, other := b.open(), b.open()
	s.fill(0, 50)
	s.answers()
	other.answers()
	for n := 50; n < 130; n += 20 { // each is more than a segment
		s.fill(n, n+20)
		s.answers()
		other.answers()
	}
	got := s.answers()
	next := b.open()
	if n := next.reads(func() { b.same("taken up", next.answers(), got) }); n > 20 {
		b.Errorf("%d records were read", n)
	}
	if names := b.segments(); len(names) > 12 {
		b.Errorf("there are %d segments of 130 records", len(names))
	}
	b.same("of the other", other.answers(), got)
	b.same("from the records", got, b.fromRecords())
}

// written: the first search reads no record of what was written before, neither on the server that wrote nor on another
// one, and no image is made of a little.
func written(b *bench) {
	s := b.open()
	s.fill(0, 19)
	s.keep()
	if names := b.segments(); len(names) != 0 {
		b.Errorf("segments %q of 19 records", names)
	}
	s.fill(19, 50)
	s.keep()
	names := b.segments()
	if len(names) != 4 {
		b.Errorf("segments %q, want 4", names)
	}
	if n := s.reads(func() { b.same("by words", s.answers(), b.fromRecords()) }); n != 0 {
		b.Errorf("the first search read %d records", n)
	}
	next := b.open()
	if n := next.reads(func() { b.same("on another server", next.answers(), b.fromRecords()) }); n != 0 {
		b.Errorf("the first search of another server read %d records", n)
	}
	s.fill(50, 60)
	s.keep()
	if now := b.segments(); !slices.Equal(now, names) {
		b.Errorf("segments %q behind 10 writes, before %q", now, names)
	}
	s.fill(60, 70) // the index of the process has what is there
	s.keep()
	next = b.open()
	if n := next.reads(func() { b.same("what came", next.answers(), b.fromRecords()) }); n != 0 {
		b.Errorf("the first search read %d records of those that came", n)
	}
	s.erase(65, 1)
	s.tidy()
	b.same("erased", b.open().answers(), b.fromRecords())
}

// writtenByTwo: servers that both keep what they wrote do not harm each other.
func writtenByTwo(b *bench) {
	s, other := b.open(), b.open()
	s.fill(0, 40)
	other.fill(40, 80)
	s.keep()
	other.keep()
	s.fill(80, 120)
	s.keep()
	next := b.open()
	if n := next.reads(func() { b.same("of both", next.answers(), b.fromRecords()) }); n > 20 {
		b.Errorf("the first search read %d records", n)
	}
	b.same("of one", s.answers(), b.fromRecords())
	b.same("of the other", other.answers(), b.fromRecords())
}

// keep has a server keep what it wrote, as it does by itself a moment later.
func (n node) keep() {
	n.Helper()
	if err := n.KeepIndex(n.Context(), n.tenant()); err != nil {
		n.Error(err)
	}
}

func large(b *bench) {
	s := b.open()
	var c loci.Change
	for n := range 20 {
		var text strings.Builder
		for i := range 8000 {
			fmt.Fprintf(&text, "word%d-%d ", n, i)
		}
		add(&c, n, 1, text.String()+fmt.Sprintf("walrus number%d", n))
	}
	s.apply(c)
	want := s.answers()
	most, longestPiece := int64(0), 0
	for _, p := range b.Pieces(b.T) {
		most, longestPiece = max(most, p.N), max(longestPiece, len(p.Data))
	}
	if most == 0 || longestPiece > follow.PieceBytes {
		b.Fatalf("the last piece is number %d, the longest has %d bytes", most, longestPiece)
	}
	next := b.open()
	if n := next.reads(func() { b.same("taken up", next.answers(), want) }); n != 0 {
		b.Errorf("%d records were read", n)
	}
}

// counted: a segment is counted where it lies in memory, and not where it is mapped.
func counted(b *bench) {
	s := b.open()
	s.fill(0, 100)
	s.answers()
	size := int64(0)
	for _, p := range b.Pieces(b.T) {
		size += int64(len(p.Data))
	}
	mapped, none := b.open(), node{b.Open(b.T, Options{From: 20, Book: 16}), b, ""}
	mapped.answers()
	none.answers()
	of, in := mapped.Work().IndexBytes, none.Work().IndexBytes
	if in < size || of >= in-size/2 {
		b.Errorf("%d bytes of segments: %d are counted where they are mapped, %d in memory", size, of, in)
	}
}

// replacedOnce: of two servers that keep the index at once one is told that the other was quicker.
func replacedOnce(b *bench) {
	s := b.open()
	s.fill(0, 50)
	s.answers()
	key := s.NameKey(b.Context(), b.tenant())
	var images []*follow.Image
	err := s.Shelf().Table.Read(b.Context(), b.tenant(), func(r follow.ImageSource) error {
		images = nil
		if _, err := r.State(); err != nil {
			return err
		}
		return r.Images(nil, func(m *follow.Image) { images = append(images, m) })
	})
	if err != nil || len(images) != 1 {
		b.Fatal(images, err)
	}
	replace := func(old, next *follow.Image) error {
		return s.Shelf().Table.Replace(b.Context(), b.tenant(), key, old, next)
	}
	next := *images[0]
	next.Mark = []byte("another mark")
	lacking := next
	lacking.Segments = append([]follow.Kept{{Name: "aa"}}, next.Segments...)
	ahead := next
	ahead.Seq += 1000
	for what, err := range map[string]error{
		"of what the database lost": replace(images[0], &ahead),
		"in place of none":          replace(nil, &next),
		"with a segment missing":    replace(images[0], &lacking),
	} {
		if !errors.Is(err, follow.ErrMoved) {
			b.Errorf("%s: %v", what, err)
		}
	}
	if err := replace(images[0], &next); err != nil {
		b.Error(err)
	}
	for what, err := range map[string]error{
		"of one that was replaced":     replace(images[0], &next),
		"removal of one that was, too": replace(images[0], nil),
	} {
		if !errors.Is(err, follow.ErrMoved) {
			b.Errorf("%s: %v", what, err)
		}
	}
}

// behind: an image that is older than the list of changes reaches is not used.
func behind(b *bench) {
	s := b.open()
	s.fill(0, 50)
	s.answers()
	s.put(7, 2, "edited walrus number7")
	s.erase(9, 1)
	s.fill(50, 55) // in the range of no segment
	b.ForgetChanges(b.T)
	next := b.open()
	b.same("behind", next.answers(), b.fromRecords())
	next.tidy()
	if pieces, _ := next.holds("number9 "); pieces > 0 {
		b.Error("what was erased is still in pieces")
	}
}
