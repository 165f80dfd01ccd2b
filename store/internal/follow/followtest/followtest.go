// Package followtest is what a store that keeps its search index in its database must do, as
// one suite of tests. It looks at what is kept, and harms it, past the store.
package followtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/internal/meter"
)

// A Suite says what is tested.
type Suite struct {
	// New makes an empty database.
	New func(t *testing.T) Database

	// Steps are those of the case that saves and erases at random.
	Steps int

	// Harms are some that other stores do not know.
	Harms map[string]func(t *testing.T, d Database)
}

// Options are how a store keeps its index.
type Options struct {
	Dir  string // where copies of segments lie; "": nowhere
	Size int64  // that they may take in bytes
	From int    // records of a shard from which its index is kept, before the search answers
	Book int    // records of a segment that is made while a shard is loaded
	Part int    // records of a shard that a transaction reads; 0: as many as usual
	Join int    // small shards that share an image, at least; 0: as many as usual

	Forget bool // every search takes up what is kept
}

// A Store is a store that keeps its index.
type Store interface {
	loci.Store
	Shelf() *follow.Shelf
	NameKey(ctx context.Context, t loci.Tenant) loci.NameKey
	Pending(ctx context.Context) ([]string, error)
	Work() meter.Work
	KeepIndex(ctx context.Context, t loci.Tenant) error
}

// A Database is one in which stores keep their index, seen from outside.
type Database interface {
	// Open opens the database, and closes the store with the test.
	Open(t *testing.T, o Options) Store

	Pieces(t *testing.T) []Piece                       // by segment and number
	SetData(t *testing.T, p *Piece)                    // puts other bytes into a piece
	RemovePieces(t *testing.T, segment string)         // "": of all segments
	Age(t *testing.T, except string)                   // makes all pieces but those of a segment an hour old
	EditImage(t *testing.T, edit func(string) string)  // changes what images say
	HideImages(t *testing.T) (show func(t *testing.T)) // until they are shown again
	ForgetChanges(t *testing.T)                        // empties the list of changes
}

// A Piece is a part of a segment.
type Piece struct {
	Segment string
	N       int64
	Data    []byte
}

// longest is how long a case waits for what must come.
const longest = time.Minute

var (
	space = loci.Space{Model: "m", Dims: 4}
	place = loci.Namespace{"u"}
)

// A bench is one case and its database.
type bench struct {
	*testing.T
	Database
	suite *Suite
}

// A node is a store that keeps its index from 20 records on, in segments of 16, and whose copies
// lie in a directory of its own.
type node struct {
	Store
	*bench
	dir string
}

// Run tests a store.
func Run(t *testing.T, s Suite) {
	for name, run := range cases {
		t.Run(name, func(t *testing.T) { run(&bench{t, s.New(t), &s}) })
	}
}

var cases = map[string]func(b *bench){
	"the next server takes up what the one before has made":        takenUp,
	"a search by words alone takes up what is kept, and leaves it": wordsAlone,
	"what is kept is not trusted":                                  notTrusted,
	"the folder may be emptied at any time":                        emptied,
	"no block of a copy is trusted":                                harmed,
	"what the folder has no room for is in memory":                 noRoom,
	"what comes is kept, too":                                      comes,
	"a load beside writes reads a record once":                     besideWrites,
	"an image far behind follows in parts":                         inParts,
	"what is written is kept though nobody searches":               written,
	"what is kept behind writes is of all servers":                 writtenByTwo,
	"a segment of many pieces comes back whole":                    large,
	"a segment is counted where it lies in memory":                 counted,
	"an image is replaced once":                                    replacedOnce,
	"an image behind the list of changes is not used":              behind,
	"nobody takes up what was erased":                              erased,
	"erased text goes by itself":                                   byItself,
	"upkeep goes on with what a server left":                       goesOn,
	"upkeep goes on though files were cut":                         goesOnWithout,
	"a server that ends leaves no replaced pieces":                 endsBetween,
	"nothing is kept of an erased tenant":                          tenantErased,
	"pieces that no image names go":                                strays,
	"no piece and no file holds what was erased":                   noBytes,
	"copies go that nobody searches any more":                      notSearched,
	"small shards share an image":                                  joined,
	"nobody finds what others said in a shared image":              joinedCanaries,
	"what is erased leaves a shared image":                         joinedErased,
	"a shared image follows the tenant":                            joinedFollows,
	"a shared image follows namespaces without names":              joinedNameless,
	"what grows out of a shared image is searched once":            joinedGrows,
	"a shared image is kept behind writes, and not trusted":        joinedBehind,
}

func (b *bench) open() node { return b.openIn(b.TempDir()) }

func (b *bench) openIn(dir string) node {
	return node{b.Open(b.T, Options{Dir: dir, Size: 1 << 30, From: 20, Book: 16, Part: 16}), b, dir}
}

func id(n int) loci.ID { return loci.ID{1, byte(n >> 8), byte(n)} }

func (b *bench) tenant() loci.Tenant {
	b.Helper()
	t, err := loci.NewTenant("kept")
	if err != nil {
		b.Fatal(err)
	}
	return t
}

func (n node) apply(c loci.Change) {
	n.Helper()
	if err := n.Apply(n.Context(), n.tenant(), c); err != nil {
		n.Fatal(err)
	}
}

// add adds a version of a note to a change.
func add(c *loci.Change, n int, version int64, text string) {
	at := time.UnixMilli(int64(n)).UTC()
	r := loci.Record{
		ID: id(n), Kind: "fact", Namespace: place, Version: version, Live: true, CreatedAt: at, UpdatedAt: at, Text: text,
		Passages: []loci.Span{{Start: 0, End: len(text)}}, Sequence: fmt.Sprint("talk ", n%3), Position: int64(n),
		Tags: []string{fmt.Sprint("tag", n%2)},
	}
	row := []float32{float32(n%7) - 3, float32(n % 5), float32(version), 1}
	c.Put = append(c.Put, loci.Put{Record: r, Vectors: []loci.Vectors{{Space: space, Rows: [][]float32{row}}}})
	c.Events = append(c.Events, loci.Event{ID: loci.NewID(), Type: loci.EventCreated, Entity: r.ID, Namespace: place})
}

// put saves a version of a note.
func (n node) put(number int, version int64, text string) {
	n.Helper()
	var c loci.Change
	add(&c, number, version, text)
	n.apply(c)
}

func (n node) erase(number int, version int64) {
	n.Helper()
	n.apply(loci.Change{Erase: []loci.Erase{{ID: id(number), Version: version}}})
}

// fill saves notes from one number to before another, at once: a server of tests may be slow.
func (n node) fill(from, to int) {
	n.Helper()
	var c loci.Change
	for number := from; number < to; number++ {
		add(&c, number, 1, fmt.Sprintf("walrus number%d in colour%d", number, number%4))
	}
	n.apply(c)
}

// answers are what some searches find.
func (n node) answers() (all [][]loci.Hit) {
	n.Helper()
	for _, text := range []string{"walrus", "number7 colour3", "colour*", `"walrus number12"`, "numbr7", "edited"} {
		for _, tags := range [][]string{nil, {"tag1"}} {
			vector := []float32{0.5, 0.5, 0.5, 0.5}
			p := loci.Probe{Text: text, Vector: vector, Space: space, Sequences: true, Texts: true}
			in := loci.Filter{Within: []loci.Namespace{place}, Tags: tags}
			hits, err := n.Match(n.Context(), n.tenant(), p, in, 10)
			if err != nil {
				n.Fatal(err)
			}
			all = append(all, hits)
		}
	}
	return all
}

// fromRecords is what a store answers that takes up no image.
func (b *bench) fromRecords() [][]loci.Hit {
	b.Helper()
	none := node{b.Open(b.T, Options{From: 1 << 30, Book: 1 << 30}), b, ""}
	show := b.HideImages(b.T)
	defer show(b.T)
	return none.answers()
}

// tidy does what waits.
func (n node) tidy() {
	n.Helper()
	for {
		_, err := n.Shelf().TidyNow(n.Context(), n.tenant())
		if err == nil {
			return
		}
		if !errors.Is(err, follow.ErrMoved) { // else the server itself was quicker, with what it does behind answers
			n.Fatal(err)
		}
	}
}

// segments are the names of those in the database.
func (b *bench) segments() (names []string) {
	b.Helper()
	for _, p := range b.Pieces(b.T) {
		names = append(names, p.Segment)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// copies are the files of segments below the directory.
func (n node) copies() (paths []string) {
	n.Helper()
	err := filepath.WalkDir(n.dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".segm") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		n.Fatal(err)
	}
	return paths
}

// kept are the bytes of all pieces in the database, and of all files of the directory.
func (n node) kept() (pieces, files [][]byte) {
	n.Helper()
	for _, p := range n.Pieces(n.T) {
		pieces = append(pieces, p.Data)
	}
	for _, path := range n.copies() {
		data, err := os.ReadFile(path)
		if err != nil {
			n.Fatal(err)
		}
		files = append(files, data)
	}
	return pieces, files
}

// holds reports how many pieces in the database, and files of the directory, hold a text.
func (n node) holds(text string) (pieces, files int) {
	n.Helper()
	inDatabase, inDirectory := n.kept()
	return holding(inDatabase, text), holding(inDirectory, text)
}

// holding is how many hold a text.
func holding(all [][]byte, text string) (n int) {
	for _, data := range all {
		if bytes.Contains(data, []byte(text)) {
			n++
		}
	}
	return n
}

func (b *bench) same(what string, got, want [][]loci.Hit) {
	b.Helper()
	if !reflect.DeepEqual(got, want) {
		b.Errorf("%s: got\n%+v\nwant\n%+v", what, got, want)
	}
}

// reads is how many records searches read into the index meanwhile.
func (n node) reads(do func()) int64 {
	before := n.Shelf().Records.Load()
	do()
	return n.Shelf().Records.Load() - before
}
