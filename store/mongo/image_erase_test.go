package mongo_test

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

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/follow"
)

// What a server has erased is taken up by nobody from then on: not by a server that begins, and
// those that have it drop their files with the next search. Behind the answer it leaves the
// pieces, earlier versions and all.
func TestEraseLeavesTheKeptIndex(t *testing.T) {
	at := keptDatabase(t)
	s := openKept(t, at)
	s.fill(0, 50)
	s.put(3, 2, "secretive walrus")
	s.answers()
	other := openKept(t, at)
	other.answers()
	s.put(3, 3, "edited walrus")
	for _, text := range []string{"secretive", "number9"} {
		for _, node := range []keptStore{s, other} {
			if pieces, files := node.holds(text); pieces != 1 || files != 1 {
				t.Fatalf("%q is in %d pieces and %d files: nothing is shown", text, pieces, files)
			}
		}
	}
	s.Shelf().Close() // it leaves to others what waits
	s.erase(3, 3)
	s.erase(9, 1)
	if f, err := s.Shelf().Look(t.Context(), s.tenant()); err != nil || f.Stale == 0 {
		t.Errorf("what waits is %+v, %v", f, err)
	}
	begun := openKept(t, at)
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
	begun.tidy()
	for _, text := range []string{"secretive", "number9"} {
		if pieces, _ := s.holds(text); pieces > 0 {
			t.Errorf("%q is still in pieces", text)
		}
	}
	if f, err := begun.Shelf().Look(t.Context(), s.tenant()); err != nil || f.Stale+f.Strays > 0 {
		t.Errorf("what waits afterwards is %+v, %v", f, err)
	}
	last := openKept(t, at)
	if n := last.reads(func() { same(t, "taken up", last.answers(), want) }); n > 2 {
		t.Errorf("%d records were read", n)
	}
	same(t, "from the records", want, last.fromRecords())
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
	at := keptDatabase(t)
	s := openKept(t, at)
	s.fill(0, 50)
	s.answers()
	s.Shelf().Close() // no tidying will start
	s.erase(9, 1)
	if pieces, _ := s.holds("number9 "); pieces != 1 {
		t.Fatal("the scan finds nothing that it should")
	}
	next := openKept(t, at)
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

// The pieces and files of a tenant's index go with the tenant, and a server that was writing
// them when it was erased adds none.
func TestEraseTenantLeavesNoPieces(t *testing.T) {
	s := openKept(t, keptDatabase(t))
	s.fill(0, 50)
	s.answers()
	if len(s.segments()) == 0 {
		t.Fatal("nothing is kept")
	}
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

// age makes pieces an hour old.
func (s keptStore) age(which bson.D) {
	s.t.Helper()
	s.with(func(ctx context.Context, db *driver.Database) error {
		past := bson.D{{Key: "made_at", Value: time.Now().Add(-time.Hour)}}
		_, err := db.Collection("segment").UpdateMany(ctx, which, bson.D{{Key: "$set", Value: past}})
		return err
	})
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
	s.age(bson.D{{Key: "segment", Value: bson.D{{Key: "$ne", Value: bson.Binary{Data: []byte("zz2")}}}}})
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
	at, dir := keptDatabase(t), t.TempDir()
	nodes := []keptStore{openKeptIn(t, at, dir), openKeptIn(t, at, dir)}
	type written struct {
		n, version int
		said       []string
	}
	var live []written
	var gone []string
	put := func(o *written) (loci.Put, loci.Event) {
		word := fmt.Sprintf("canary%016x", random.Uint64())
		o.version++
		o.said = append(o.said, word)
		return note(o.n, int64(o.version), "walrus "+word)
	}
	for step := range 60 {
		node := nodes[random.IntN(2)]
		var c loci.Change
		for i := range 6 { // several a step: the tests' server is slow
			o := written{n: 6*step + i}
			p, e := put(&o)
			c.Put, c.Events = append(c.Put, p), append(c.Events, e)
			live = append(live, o)
		}
		node.apply(c)
		c = loci.Change{}
		for range 3 {
			p, e := put(&live[len(live)-1])
			node.apply(loci.Change{Put: []loci.Put{p}, Events: []loci.Event{e}})
			i := random.IntN(len(live))
			c.Erase = append(c.Erase, loci.Erase{ID: noteID(live[i].n), Version: int64(live[i].version)})
			gone = append(gone, live[i].said...)
			live = append(live[:i], live[i+1:]...)
		}
		node.apply(c)
		switch random.IntN(6) {
		case 0, 1:
			node.answers()
		case 2:
			i := random.IntN(2)
			if err := nodes[i].Close(); err != nil {
				t.Fatal(err)
			}
			nodes[i] = openKeptIn(t, at, dir)
			nodes[i].answers()
		}
	}
	got := nodes[0].answers()
	same(t, "of both", nodes[1].answers(), got)
	for _, s := range nodes {
		s.tidy()
	}
	if len(nodes[0].segments()) < 4 || len(nodes[0].copies()) < 4 || len(gone) < 150 {
		t.Fatalf("%d segments, %d files and %d words that are gone: nothing is shown",
			len(nodes[0].segments()), len(nodes[0].copies()), len(gone))
	}
	// Servers that ended left what they were writing, which goes when it is old; those that go on may
	// be writing still, and then see that another one was quicker.
	for end := time.Now().Add(longest); ; time.Sleep(100 * time.Millisecond) {
		nodes[0].age(bson.D{})
		nodes[0].tidy()
		held := ""
		for _, word := range gone {
			if pieces, files := nodes[0].holds(word); pieces+files > 0 {
				held = fmt.Sprintf("%s is in %d pieces and %d files", word, pieces, files)
				break
			}
		}
		if held == "" {
			break
		}
		if time.Now().After(end) {
			t.Fatal(held)
		}
	}
	same(t, "from the records", got, nodes[0].fromRecords())
}
