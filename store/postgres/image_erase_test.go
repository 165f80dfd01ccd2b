package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/follow"
)

// What a server has erased is taken up by nobody from then on: not by a server that begins, and
// those that have it drop their files with the next search. Behind the answer it leaves the
// pieces, earlier versions and all.
func TestEraseLeavesTheKeptIndex(t *testing.T) {
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 50)
	s.put(3, 2, "secretive walrus")
	s.answers()
	other := openKept(t, d)
	other.answers()
	s.put(3, 3, "edited walrus")
	for _, text := range []string{"secretive", "number9"} {
		for _, node := range []keptStore{s, other} {
			if pieces, files := node.holds(text); pieces != 1 || files != 1 {
				t.Fatalf("%q is in %d pieces and %d files: nothing is shown", text, pieces, files)
			}
		}
	}
	s.erase(3, 3)
	s.erase(9, 1)
	if f, err := s.Shelf().Look(t.Context(), s.tenant()); err != nil || f.Stale == 0 {
		t.Errorf("what waits is %+v, %v", f, err)
	}
	begun := openKept(t, d)
	want := begun.answers()
	for _, text := range []string{"secretive", "number9"} {
		if _, files := begun.holds(text); files > 0 {
			t.Errorf("%q was taken up", text)
		}
		other.answers()
		if _, files := other.holds(text); files > 0 {
			t.Errorf("%q is still in a file after the next search", text)
		}
	}
	same(t, "of the other", other.answers(), want)
	s.tidy()
	for _, text := range []string{"secretive", "number9"} {
		if pieces, _ := s.holds(text); pieces > 0 {
			t.Errorf("%q is still in pieces", text)
		}
		if _, files := s.holds(text); files > 0 {
			t.Errorf("%q is still in a file of the server that erased it", text)
		}
	}
	if f, err := s.Shelf().Look(t.Context(), s.tenant()); err != nil || f.Stale+f.Strays > 0 {
		t.Errorf("what waits afterwards is %+v, %v", f, err)
	}
	last := openKept(t, d)
	if n := last.reads(func() { same(t, "taken up", last.answers(), want) }); n > 2 {
		t.Errorf("%d records were read", n)
	}
	same(t, "from the records", want, s.fromRecords())
}

// A server takes erased text out by itself, a moment after the erase.
func TestTidyingComesByItself(t *testing.T) {
	s := openKept(t, keptDatabase(t))
	s.fill(0, 50)
	s.answers()
	for _, n := range []int{9, 30} { // the first may go when the server looks at what it has just kept
		s.erase(n, 1)
		for end := time.Now().Add(longest); ; time.Sleep(20 * time.Millisecond) {
			if pieces, _ := s.holds(fmt.Sprintf("number%d ", n)); pieces == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the erased text of note %d is still in pieces", n)
			}
		}
	}
}

// A server that ends before it has taken erased text out leaves that to the one that does the
// tenant's upkeep. Until then it is told that something waits.
func TestUnfinishedTidyingGoesOn(t *testing.T) {
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 50)
	s.answers()
	s.Shelf().Close() // no tidying will start
	s.erase(9, 1)
	if pieces, _ := s.holds("number9 "); pieces != 1 {
		t.Fatal("the scan finds nothing that it should")
	}
	next := openKept(t, d)
	told, err := next.Pending(t.Context())
	if err != nil || len(told) != 1 || !strings.Contains(told[0], "erased") {
		t.Errorf("what waits is %q, %v", told, err)
	}
	for _, err := range next.Due(t.Context(), time.Now()) {
		if err != nil {
			t.Error(err)
		}
	}
	if pieces, _ := s.holds("number9 "); pieces > 0 {
		t.Error("it is still in pieces after upkeep")
	}
	if told, err = next.Pending(t.Context()); err != nil || len(told) > 0 {
		t.Errorf("what waits afterwards is %q, %v", told, err)
	}
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

// What an image no longer names goes though the server ends in between: its pieces may hold
// erased text, and other servers leave them alone while they are young.
func TestServerThatEndsLeavesNoReplacedPieces(t *testing.T) {
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 50)
	s.answers()
	s.Shelf().Close() // no tidying will start
	s.erase(9, 1)
	if pieces, _ := s.holds("number9 "); pieces != 1 {
		t.Fatal("the scan finds nothing that it should")
	}
	ctx, end := context.WithCancel(t.Context())
	s.Shelf().Table = ending{s.Shelf().Table, end}
	if _, err := s.Shelf().TidyNow(ctx, s.tenant()); ctx.Err() == nil {
		t.Fatalf("no image was replaced: %v", err)
	}
	if pieces, _ := s.holds("number9 "); pieces > 0 {
		t.Error("the erased text is still in pieces")
	}
}

// The pieces and files of a tenant's index go with the tenant, and a server that was writing
// them when it was erased adds none.
func TestEraseTenantLeavesNoPieces(t *testing.T) {
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 50)
	s.answers()
	key := s.NameKey(t.Context(), s.tenant())
	if err := s.EraseTenant(t.Context(), s.tenant()); err != nil {
		t.Fatal(err)
	}
	err := s.Shelf().Table.Put(t.Context(), s.tenant(), key, "0123", 0, [][]byte{[]byte("number9")})
	if !errors.Is(err, follow.ErrMoved) {
		t.Errorf("a piece of a tenant that was erased: %v", err)
	}
	s.tidy()
	if names, files := s.segments(), s.copies(); len(names)+len(files) > 0 {
		t.Errorf("left are pieces of %q and files %q", names, files)
	}
	if hits := s.answers(); len(hits[0]) > 0 {
		t.Errorf("found: %+v", hits[0])
	}
	s.fill(0, 50)
	same(t, "filled again", s.answers(), s.fromRecords())
}

// Pieces that no image names go when nobody can be writing them any more.
func TestStrayPiecesGo(t *testing.T) {
	s := openKept(t, keptDatabase(t))
	s.fill(0, 50)
	s.answers()
	names := s.segments()
	key := s.NameKey(t.Context(), s.tenant())
	for _, name := range []string{"zz1", "zz2"} {
		if err := s.Shelf().Table.Put(t.Context(), s.tenant(), key, name, 0, [][]byte{[]byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	execute(t, s.d.Super, "UPDATE loci.piece SET made_at = made_at - 3600000 WHERE segment <> 'zz2'")
	s.tidy()
	if got := s.segments(); !reflect.DeepEqual(got, append(slices.Clone(names), "zz2")) {
		t.Errorf("segments %q, want zz2 and %q", got, names)
	}
	// Whoever says so, what an image names stays.
	if err := s.Shelf().Table.Remove(t.Context(), s.tenant(), names); err != nil {
		t.Fatal(err)
	}
	if got := s.segments(); len(got) != len(names)+1 {
		t.Errorf("segments %q are left of %q", got, names)
	}
}

// TestEraseLeavesNoBytesInPieces saves, changes and erases notes at random, on servers that begin
// and end in between, and scans every piece and every file for what the erased notes said.
func TestEraseLeavesNoBytesInPieces(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	d, dir := keptDatabase(t), t.TempDir()
	nodes := []keptStore{openKeptIn(t, d, dir), openKeptIn(t, d, dir)}
	type note struct {
		n, version int
		said       []string
	}
	var live []note
	var gone []string
	put := func(o *note) {
		word := fmt.Sprintf("canary%016x", random.Uint64())
		o.version++
		o.said = append(o.said, word)
		nodes[random.IntN(2)].put(o.n, int64(o.version), "walrus "+word)
	}
	for step := range 400 {
		node := random.IntN(2)
		switch n := random.IntN(20); {
		case n < 12 || len(live) < 25:
			o := note{n: step}
			put(&o)
			live = append(live, o)
		case n < 15:
			put(&live[random.IntN(len(live))])
		case n < 18:
			i := random.IntN(len(live))
			nodes[node].erase(live[i].n, int64(live[i].version))
			gone = append(gone, live[i].said...)
			live = append(live[:i], live[i+1:]...)
		case n == 18:
			nodes[node].answers()
		default:
			if err := nodes[node].Close(); err != nil {
				t.Fatal(err)
			}
			nodes[node] = openKeptIn(t, d, dir)
			nodes[node].answers()
		}
	}
	got := nodes[0].answers()
	same(t, "of both", nodes[1].answers(), got)
	for _, s := range nodes {
		s.tidy()
	}
	if len(nodes[0].segments()) < 4 || len(nodes[0].copies()) < 4 || len(gone) < 30 {
		t.Fatalf("%d segments, %d files and %d words that are gone: nothing is shown",
			len(nodes[0].segments()), len(nodes[0].copies()), len(gone))
	}
	for _, word := range gone {
		if pieces, files := nodes[0].holds(word); pieces+files > 0 {
			t.Errorf("%s is in %d pieces and %d files", word, pieces, files)
		}
	}
	same(t, "from the records", got, nodes[0].fromRecords())
}

// A server that nobody asks for the tenant any more removes its copies of what another one has
// made again, when it looks.
func TestCopiesThatNobodySearchesGo(t *testing.T) {
	d := keptDatabase(t)
	s, idle := openKept(t, d), openKept(t, d)
	s.fill(0, 50)
	s.answers()
	idle.answers()
	s.erase(9, 1)
	s.tidy()
	if _, files := idle.holds("number9 "); files != 1 {
		t.Fatal("nothing is shown")
	}
	idle.tidy()
	if _, files := idle.holds("number9 "); files > 0 {
		t.Error("the copy is still there")
	}
}
