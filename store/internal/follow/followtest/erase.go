package followtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/follow"
)

// erased: what a server has erased is taken up by nobody from then on: not by a server that begins,
// and those that have it drop their files with the next search. Behind the answer it leaves the
// pieces, earlier versions and all.
func erased(b *bench) {
	texts := []string{"secretive", "number9"}
	s := b.open()
	s.fill(0, 50)
	s.put(3, 2, "secretive walrus")
	s.answers()
	other := b.open()
	other.answers()
	s.put(3, 3, "edited walrus")
	for _, text := range texts {
		for _, n := range []node{s, other} {
			if pieces, files := n.holds(text); pieces != 1 || files != 1 {
				b.Fatalf("%q is in %d pieces and %d files: nothing is shown", text, pieces, files)
			}
		}
	}
	s.Shelf().Close() // it leaves to others what waits
	s.erase(3, 3)
	s.erase(9, 1)
	if f, err := s.Shelf().Look(b.Context(), b.tenant()); err != nil || f.Stale == 0 {
		b.Errorf("what waits is %+v, %v", f, err)
	}
	begun := b.open()
	want := begun.answers()
	for _, text := range texts {
		if _, files := begun.holds(text); files > 0 {
			b.Errorf("%q was taken up", text)
		}
		other.answers()
		if _, files := other.holds(text); files > 0 {
			b.Errorf("%q is still in a file after the next search", text)
		}
	}
	b.same("of the other", other.answers(), want)
	begun.tidy()
	for _, text := range texts {
		if pieces, _ := begun.holds(text); pieces > 0 {
			b.Errorf("%q is still in pieces", text)
		}
	}
	if f, err := begun.Shelf().Look(b.Context(), b.tenant()); err != nil || f.Stale+f.Strays > 0 {
		b.Errorf("what waits afterwards is %+v, %v", f, err)
	}
	last := b.open()
	if n := last.reads(func() { b.same("taken up", last.answers(), want) }); n > 2 {
		b.Errorf("%d records were read", n)
	}
	b.same("from the records", want, b.fromRecords())
}

// byItself: a server takes erased text out by itself, a moment after the erase, and its file with it.
func byItself(b *bench) {
	s := b.open()
	s.fill(0, 50)
	s.answers()
	for _, n := range []int{9, 30} { // the first may go when the server looks at what it has just kept
		s.erase(n, 1)
		for end := time.Now().Add(longest); ; time.Sleep(20 * time.Millisecond) {
			pieces, files := s.holds(fmt.Sprintf("number%d ", n))
			if pieces+files == 0 {
				break
			}
			if time.Now().After(end) {
				b.Fatalf("the erased text of note %d is still in %d pieces and %d files", n, pieces, files)
			}
		}
	}
}

// untidied is a server that has erased note 9 and leaves it in pieces.
func (b *bench) untidied() node {
	s := b.open()
	s.fill(0, 50)
	s.answers()
	s.Shelf().Close() // no tidying will start
	s.erase(9, 1)
	if pieces, _ := s.holds("number9 "); pieces != 1 {
		b.Fatal("the scan finds nothing that it should")
	}
	return s
}

// goesOn: a server that ends before it has taken erased text out leaves that to the one that does
// the tenant's upkeep. Until then it is told that something waits.
func goesOn(b *bench) {
	s := b.untidied()
	next := b.open()
	told, err := next.Pending(b.Context())
	if err != nil || len(told) != 1 || !strings.Contains(told[0], "erased") {
		b.Errorf("what waits is %q, %v", told, err)
	}
	for _, err := range next.Due(b.Context(), time.Now()) {
		if err != nil {
			b.Error(err)
		}
	}
	if pieces, _ := s.holds("number9 "); pieces > 0 {
		b.Error("it is still in pieces after upkeep")
	}
	if told, err = next.Pending(b.Context()); err != nil || len(told) > 0 {
		b.Errorf("what waits afterwards is %q, %v", told, err)
	}
}

// goesOnWithout: upkeep goes on with what is left undone, though somebody has cut the files of the folder that the
// server itself has mapped.
func goesOnWithout(b *bench) {
	b.untidied()
	s := b.open()
	s.answers()
	copies := s.copies()
	if len(copies) == 0 {
		b.Fatal("the folder has no copies")
	}
	for _, path := range copies {
		if err := os.Truncate(path, 0); err != nil {
			b.Fatal(err)
		}
	}
	for round := range 2 { // the first look at a cut file says that it is cut
		for _, err := range s.Due(b.Context(), time.Now()) {
			if err != nil {
				b.Errorf("round %d: %v", round, err)
			}
		}
	}
	if pieces, _ := s.holds("number9 "); pieces > 0 {
		b.Error("it is still in pieces after upkeep")
	}
	b.same("afterwards", s.answers(), b.fromRecords())
}

// ending is a table whose caller ends at the moment when an image has been replaced.
type ending struct {
	follow.Table
	end func()
}

func (e ending) Replace(ctx context.Context, t loci.Tenant, key loci.NameKey, old, next *follow.Image) error {
	err := e.Table.Replace(ctx, t, key, old, next)
	e.end()
	return err
}

// endsBetween: what an image no longer names goes though the server ends in between: its pieces may
// hold erased text, and other servers leave them alone while they are young.
func endsBetween(b *bench) {
	s := b.untidied()
	ctx, end := context.WithCancel(b.Context())
	s.Shelf().Table = ending{s.Shelf().Table, end}
	if _, err := s.Shelf().TidyNow(ctx, b.tenant()); ctx.Err() == nil {
		b.Fatalf("no image was replaced: %v", err)
	}
	if pieces, _ := s.holds("number9 "); pieces > 0 {
		b.Error("the erased text is still in pieces")
	}
}

// tenantErased: the pieces and files of a tenant's index go with the tenant, and a server that was
// writing them when it was erased adds none.
func tenantErased(b *bench) {
	s := b.open()
	s.fill(0, 50)
	s.answers()
	if len(b.segments()) == 0 {
		b.Fatal("nothing is kept")
	}
	key := s.NameKey(b.Context(), b.tenant())
	if err := s.EraseTenant(b.Context(), b.tenant()); err != nil {
		b.Fatal(err)
	}
	err := s.Shelf().Table.Put(b.Context(), b.tenant(), key, "0123", 0, [][]byte{[]byte("number9")})
	if !errors.Is(err, follow.ErrMoved) {
		b.Errorf("a piece of a tenant that was erased: %v", err)
	}
	s.tidy()
	if names, files := b.segments(), s.copies(); len(names)+len(files) > 0 {
		b.Errorf("left are pieces of %q and files %q", names, files)
	}
	if hits := s.answers(); len(hits[0]) > 0 {
		b.Errorf("found: %+v", hits[0])
	}
	s.fill(0, 50)
	b.same("filled again", s.answers(), b.fromRecords())
}

// strays: pieces that no image names go when nobody can be writing them any more.
func strays(b *bench) {
	s := b.open()
	s.fill(0, 50)
	s.answers()
	names := b.segments()
	key := s.NameKey(b.Context(), b.tenant())
	for _, name := range []string{"zz1", "zz2"} {
		if err := s.Shelf().Table.Put(b.Context(), b.tenant(), key, name, 0, [][]byte{[]byte("x")}); err != nil {
			b.Fatal(err)
		}
	}
	b.Age(b.T, "zz2")
	s.tidy()
	if got := b.segments(); !reflect.DeepEqual(got, append(slices.Clone(names), "zz2")) {
		b.Errorf("segments %q, want zz2 and %q", got, names)
	}
	// Whoever says so, what an image names stays.
	if err := s.Shelf().Table.Remove(b.Context(), b.tenant(), names); err != nil {
		b.Fatal(err)
	}
	if got := b.segments(); len(got) != len(names)+1 {
		b.Errorf("segments %q are left of %q", got, names)
	}
}

// noBytes saves, changes and erases notes at random, on servers that begin and end in between, and
// scans every piece and every file for what the erased notes said.
func noBytes(b *bench) {
	random := rand.New(rand.NewPCG(7, 8))
	dir := b.TempDir()
	nodes := []node{b.openIn(dir), b.openIn(dir)}
	type written struct {
		n, version int
		said       []string
	}
	var live []written
	var gone []string
	put := func(c *loci.Change, w *written) {
		word := fmt.Sprintf("canary%016x", random.Uint64())
		w.version++
		w.said = append(w.said, word)
		add(c, w.n, int64(w.version), "walrus "+word)
	}
	for step := range b.suite.Steps {
		n := nodes[random.IntN(2)]
		var c loci.Change
		for i := range 6 {
			w := written{n: 6*step + i}
			put(&c, &w)
			live = append(live, w)
		}
		n.apply(c)
		c = loci.Change{}
		for range 3 {
			var again loci.Change
			put(&again, &live[len(live)-1])
			n.apply(again)
			i := random.IntN(len(live))
			c.Erase = append(c.Erase, loci.Erase{ID: id(live[i].n), Version: int64(live[i].version)})
			gone = append(gone, live[i].said...)
			live = slices.Delete(live, i, i+1)
		}
		n.apply(c)
		switch random.IntN(6) {
		case 0, 1:
			n.answers()
		case 2:
			i := random.IntN(2)
			if err := nodes[i].Close(); err != nil {
				b.Fatal(err)
			}
			nodes[i] = b.openIn(dir)
			nodes[i].answers()
		}
	}
	got := nodes[0].answers()
	b.same("of both", nodes[1].answers(), got)
	for _, n := range nodes {
		n.tidy()
	}
	b.same("after tidying", nodes[0].answers(), got) // which takes up what the other has made again
	if len(b.segments()) < 4 || len(nodes[0].copies()) == 0 || len(gone) < 150 {
		b.Fatalf("%d segments, %d files and %d words that are gone: nothing is shown",
			len(b.segments()), len(nodes[0].copies()), len(gone))
	}
	// Servers that ended left what they were writing, which goes when it is old; those that go on may
	// be writing still, and then see that another one was quicker.
	for end := time.Now().Add(longest); ; time.Sleep(100 * time.Millisecond) {
		b.Age(b.T, "")
		nodes[0].tidy()
		pieces, files := nodes[0].kept()
		held := ""
		for _, word := range gone {
			if in, on := holding(pieces, word), holding(files, word); in+on > 0 {
				held = fmt.Sprintf("%s is in %d pieces and %d files", word, in, on)
				break
			}
		}
		if held == "" {
			break
		}
		if time.Now().After(end) {
			b.Fatal(held)
		}
	}
	b.same("from the records", got, b.fromRecords())
}

// notSearched: a server that nobody asks for the tenant any more removes its copies of what another
// one has made again, when it looks.
func notSearched(b *bench) {
	s, idle := b.open(), b.open()
	s.fill(0, 50)
	s.answers()
	idle.answers()
	s.erase(9, 1)
	s.tidy()
	if _, files := idle.holds("number9 "); files != 1 {
		b.Fatal("nothing is shown")
	}
	idle.tidy()
	if _, files := idle.holds("number9 "); files > 0 {
		b.Error("the copy is still there")
	}
}
