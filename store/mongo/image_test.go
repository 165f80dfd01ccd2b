package mongo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	driver "go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/mongotest"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/mongo"
)

// keptStore is a store whose index is kept from 20 records on, in segments of 16, and whose
// copies lie in a directory of its own.
type keptStore struct {
	*mongo.Store
	t   *testing.T
	at  string
	dir string
}

func openKept(t *testing.T, at string) keptStore {
	t.Helper()
	return openKeptIn(t, at, t.TempDir())
}

func openKeptIn(t *testing.T, at, dir string) keptStore {
	t.Helper()
	opts := &mongo.Options{IndexCache: dir, IndexCacheSize: 1 << 30, Logger: slog.New(slog.DiscardHandler)}
	return keptStore{openWith(t, at, opts.Shelve(20, 16, true).Load(16, nil)), t, at, dir}
}

// openWith opens a database with options.
func openWith(t testing.TB, at string, opts *mongo.Options) *mongo.Store {
	t.Helper()
	s, err := mongo.Open(context.Background(), at, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	urls.Store(loci.Store(s), at)
	return s
}

// keptDatabase is an empty one.
func keptDatabase(t *testing.T) string {
	t.Helper()
	at, giveBack := database(t)
	t.Cleanup(giveBack)
	return at
}

var (
	shelfSpace = loci.Space{Model: "m", Dims: 4}
	shelfPlace = loci.Namespace{"u"}
)

const shelfKind = loci.Kind("fact")

// longest is how long a test waits for what must come.
const longest = 60 * time.Second

func noteID(n int) loci.ID { return loci.ID{1, byte(n >> 8), byte(n)} }

func (s keptStore) tenant() loci.Tenant { return locitest.Tenant(s.t, "kept") }

func (s keptStore) apply(c loci.Change) {
	s.t.Helper()
	if err := s.Apply(s.t.Context(), s.tenant(), c); err != nil {
		s.t.Fatal(err)
	}
}

// note is a version of note n, as a part of a change.
func note(n int, version int64, text string) (loci.Put, loci.Event) {
	r := loci.Record{
		ID: noteID(n), Kind: shelfKind, Namespace: shelfPlace, Version: version, Live: true,
		CreatedAt: time.UnixMilli(int64(n)).UTC(), UpdatedAt: time.UnixMilli(int64(n)).UTC(), Text: text,
		Passages: []loci.Span{{Start: 0, End: len(text)}}, Sequence: fmt.Sprint("talk ", n%3), Position: int64(n),
		Tags: []string{fmt.Sprint("tag", n%2)},
	}
	row := []float32{float32(n%7) - 3, float32(n % 5), float32(version), 1}
	return loci.Put{Record: r, Vectors: []loci.Vectors{{Space: shelfSpace, Rows: [][]float32{row}}}},
		loci.Event{ID: loci.NewID(), Type: loci.EventCreated, Entity: r.ID, Namespace: r.Namespace}
}

// put saves a version of note n.
func (s keptStore) put(n int, version int64, text string) {
	s.t.Helper()
	p, e := note(n, version, text)
	s.apply(loci.Change{Put: []loci.Put{p}, Events: []loci.Event{e}})
}

// fill saves notes from one number to before another, at once: the tests' server is slow.
func (s keptStore) fill(from, to int) {
	s.t.Helper()
	var c loci.Change
	for n := from; n < to; n++ {
		p, e := note(n, 1, fmt.Sprintf("walrus number%d in colour%d", n, n%4))
		c.Put, c.Events = append(c.Put, p), append(c.Events, e)
	}
	s.apply(c)
}

func (s keptStore) erase(n int, version int64) {
	s.t.Helper()
	s.apply(loci.Change{Erase: []loci.Erase{{ID: noteID(n), Version: version}}})
}

// answers are what some searches find.
func (s keptStore) answers() (all [][]loci.Hit) {
	s.t.Helper()
	for _, text := range []string{"walrus", "number7 colour3", "colour*", `"walrus number12"`, "numbr7", "edited"} {
		for _, tags := range [][]string{nil, {"tag1"}} {
			vector := []float32{0.5, 0.5, 0.5, 0.5}
			p := loci.Probe{Text: text, Vector: vector, Space: shelfSpace, Sequences: true, Texts: true}
			in := loci.Filter{Within: []loci.Namespace{shelfPlace}, Tags: tags}
			hits, err := s.Match(s.t.Context(), s.tenant(), p, in, 10)
			if err != nil {
				s.t.Fatal(err)
			}
			all = append(all, hits)
		}
	}
	return all
}

// with calls do with the database itself.
func (s keptStore) with(do func(ctx context.Context, db *driver.Database) error) {
	s.t.Helper()
	if err := mongotest.Shared(s.t).With(nameOf(s.at), do); err != nil {
		s.t.Fatal(err)
	}
}

// fromRecords is what a store answers that takes up no image.
func (s keptStore) fromRecords() [][]loci.Hit {
	s.t.Helper()
	none := openWith(s.t, s.at, (&mongo.Options{}).Shelve(1<<30, 1<<30, true))
	var hidden []bson.Raw
	s.with(func(ctx context.Context, db *driver.Database) error {
		c, err := db.Collection("image").Find(ctx, bson.D{})
		if err == nil {
			err = c.All(ctx, &hidden)
		}
		_, gone := db.Collection("image").DeleteMany(ctx, bson.D{})
		return errors.Join(err, gone)
	})
	got := keptStore{none, s.t, s.at, ""}.answers()
	s.with(func(ctx context.Context, db *driver.Database) (err error) {
		if len(hidden) > 0 {
			_, err = db.Collection("image").InsertMany(ctx, hidden)
		}
		return err
	})
	return got
}

// tidy does what waits.
func (s keptStore) tidy() {
	s.t.Helper()
	for {
		_, err := s.Shelf().TidyNow(s.t.Context(), s.tenant())
		if err == nil {
			return
		}
		if !errors.Is(err, follow.ErrMoved) { // else the server itself was quicker, with what it does behind answers
			s.t.Fatal(err)
		}
	}
}

// A piece is a document of a segment.
type piece struct {
	ID      bson.Binary `bson:"_id"`
	Segment bson.Binary `bson:"segment"`
	N       int64       `bson:"n"`
	Data    bson.Binary `bson:"data"`
}

func (s keptStore) pieces() (all []piece) {
	s.t.Helper()
	s.with(func(ctx context.Context, db *driver.Database) error {
		c, err := db.Collection("segment").Find(ctx, bson.D{}, options.Find().SetSort(bson.D{{Key: "_id", Value: 1}}))
		if err != nil {
			return err
		}
		return c.All(ctx, &all)
	})
	return all
}

// segments are the names of those in the database.
func (s keptStore) segments() (names []string) {
	for _, p := range s.pieces() {
		names = append(names, string(p.Segment.Data))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// copies are the files of segments below the directory.
func (s keptStore) copies() (paths []string) {
	s.t.Helper()
	err := filepath.WalkDir(s.dir, func(path string, e fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".segm") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return paths
}

// holds reports how many pieces in the database, and files of the directory, hold a text.
func (s keptStore) holds(text string) (pieces, files int) {
	s.t.Helper()
	for _, p := range s.pieces() {
		if bytes.Contains(p.Data.Data, []byte(text)) {
			pieces++
		}
	}
	for _, path := range s.copies() {
		data, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			files++
		}
	}
	return pieces, files
}

func same(t *testing.T, what string, got, want [][]loci.Hit) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got\n%+v\nwant\n%+v", what, got, want)
	}
}

// reads is how many records searches read into the index meanwhile.
func (s keptStore) reads(do func()) int64 {
	before := s.Shelf().Records.Load()
	do()
	return s.Shelf().Records.Load() - before
}

// The next server takes up what the one before has made, and reads what came since alone.
func TestTheIndexIsKept(t *testing.T) {
	at := keptDatabase(t)
	s := openKept(t, at)
	s.fill(0, 50)
	var first [][]loci.Hit
	if n := s.reads(func() { first = s.answers() }); n != 50 {
		t.Errorf("the first search read %d records, not 50", n)
	}
	if names := s.segments(); len(names) != 4 || len(s.copies()) != 4 {
		t.Errorf("segments %q, files %q, want 4", names, s.copies())
	}
	next := openKept(t, at)
	if n := next.reads(func() { same(t, "taken up", next.answers(), first) }); n != 0 {
		t.Errorf("a server that takes the index up read %d records", n)
	}
	s.put(7, 2, "edited walrus number7")
	s.erase(12, 1)
	s.fill(50, 53)
	changed := next.answers()
	same(t, "followed", s.answers(), changed)
	third := openKept(t, at)
	third.tidy()
	if n := third.reads(func() { same(t, "taken up and followed", third.answers(), changed) }); n > 20 {
		t.Errorf("a server that takes the index up read %d records, more than changed", n)
	}
	same(t, "from the records", changed, s.fromRecords())
}

// setData changes the bytes of the first piece.
func setData(to func(all []piece) []byte) func(keptStore) {
	return func(s keptStore) {
		all := s.pieces()
		s.with(func(ctx context.Context, db *driver.Database) error {
			_, err := db.Collection("segment").UpdateOne(ctx, bson.D{{Key: "_id", Value: all[0].ID}},
				bson.D{{Key: "$set", Value: bson.D{{Key: "data", Value: bson.Binary{Data: to(all)}}}}})
			return err
		})
	}
}

// setValue changes what the image says.
func setValue(to func(value string) string) func(keptStore) {
	return func(s keptStore) {
		s.with(func(ctx context.Context, db *driver.Database) error {
			raw, err := db.Collection("image").FindOne(ctx, bson.D{}).Raw()
			if err != nil {
				return err
			}
			_, value := raw.Lookup("value").Binary()
			_, err = db.Collection("image").UpdateOne(ctx, bson.D{},
				bson.D{{Key: "$set", Value: bson.D{{Key: "value", Value: bson.Binary{Data: []byte(to(string(value)))}}}}})
			return err
		})
	}
}

// deleted removes all documents of a collection, or the first.
func deleted(collection string, all bool) func(keptStore) {
	return func(s keptStore) {
		s.with(func(ctx context.Context, db *driver.Database) (err error) {
			if all {
				_, err = db.Collection(collection).DeleteMany(ctx, bson.D{})
			} else {
				_, err = db.Collection(collection).DeleteOne(ctx, bson.D{})
			}
			return err
		})
	}
}

// Searches find the same, whatever is done to what is kept.
func TestKeptIndexIsNotTrusted(t *testing.T) {
	foreign := openKept(t, keptDatabase(t))
	foreign.fill(3, 53)
	foreign.answers()
	other := foreign.pieces()[0].Data.Data
	harms := map[string]func(keptStore){
		"deleted":     deleted("segment", true),
		"one deleted": deleted("segment", false),
		"no image":    deleted("image", true),
		"cut":         setData(func(all []piece) []byte { return all[0].Data.Data[:900] }),
		"empty":       setData(func([]piece) []byte { return nil }),
		"turned": setData(func(all []piece) []byte {
			data := bytes.Clone(all[0].Data.Data)
			data[1000]++
			return data
		}),
		"foreign":   setData(func([]piece) []byte { return other }),
		"exchanged": setData(func(all []piece) []byte { return all[1].Data.Data }),
		"no JSON":   setValue(func(string) string { return "x" }),
		"a path":    setValue(func(v string) string { return strings.Replace(v, `"name":"`, `"name":"/.`, 1) }),
		"newer":     setValue(func(v string) string { return strings.Replace(v, `"seq":`, `"seq":9`, 1) }),
		"of an older build": setData(func(all []piece) []byte {
			data := bytes.Clone(all[0].Data.Data)
			copy(data, "loci0")
			return data
		}),
	}
	for name, harm := range harms {
		t.Run(name, func(t *testing.T) {
			s := openKept(t, keptDatabase(t))
			s.fill(0, 50)
			want := s.answers()
			harm(s)
			next := openKept(t, s.at)
			same(t, "harmed", next.answers(), want)
			next.put(60, 1, "one more walrus")
			got := next.answers()
			same(t, "of the other", s.answers(), got)
			last := openKept(t, s.at)
			if n := last.reads(func() { same(t, "made again", last.answers(), got) }); n > 1 {
				t.Errorf("%d records were read: the index was not made again", n)
			}
			same(t, "from the records", got, s.fromRecords())
		})
	}
}

// A segment of many pieces comes back whole.
func TestLargeSegments(t *testing.T) {
	s := openKept(t, keptDatabase(t))
	var c loci.Change
	for n := range 20 {
		var text strings.Builder
		for i := range 8000 {
			fmt.Fprintf(&text, "word%d-%d ", n, i)
		}
		p, e := note(n, 1, text.String()+fmt.Sprintf("walrus number%d", n))
		c.Put, c.Events = append(c.Put, p), append(c.Events, e)
	}
	s.apply(c)
	want := s.answers()
	most, longestPiece := int64(0), 0
	for _, p := range s.pieces() {
		most, longestPiece = max(most, p.N), max(longestPiece, len(p.Data.Data))
	}
	if most == 0 || longestPiece > follow.PieceBytes {
		t.Fatalf("the last piece is number %d, the longest has %d bytes", most, longestPiece)
	}
	next := openKept(t, s.at)
	if n := next.reads(func() { same(t, "taken up", next.answers(), want) }); n != 0 {
		t.Errorf("%d records were read", n)
	}
}

// Of two servers that keep the index at once one is told that the other was quicker.
func TestTheIndexIsReplacedOnce(t *testing.T) {
	s := openKept(t, keptDatabase(t))
	s.fill(0, 50)
	s.answers()
	key := s.NameKey(t.Context(), s.tenant())
	var images []*follow.Image
	err := s.Shelf().Table.Read(t.Context(), s.tenant(), func(r follow.ImageSource) error {
		images = nil
		if _, err := r.State(); err != nil {
			return err
		}
		return r.Images(nil, func(m *follow.Image) { images = append(images, m) })
	})
	if err != nil || len(images) != 1 {
		t.Fatal(images, err)
	}
	replace := func(old, next *follow.Image) error {
		return s.Shelf().Table.Replace(t.Context(), s.tenant(), key, old, next)
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
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := replace(images[0], &next); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"of one that was replaced":     replace(images[0], &next),
		"removal of one that was, too": replace(images[0], nil),
	} {
		if !errors.Is(err, follow.ErrMoved) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
