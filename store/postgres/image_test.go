package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/locitest"
	"github.com/loci-memory/loci/internal/pgtest"
	"github.com/loci-memory/loci/store/internal/follow"
	"github.com/loci-memory/loci/store/postgres"
)

// keptStore is a store whose index is kept from 20 records on, in segments of 16, and whose
// copies lie in a directory of its own.
type keptStore struct {
	*postgres.Store
	t   *testing.T
	d   pgtest.Database
	dir string
}

func openKept(t *testing.T, d pgtest.Database) keptStore {
	t.Helper()
	return openKeptIn(t, d, t.TempDir())
}

func openKeptIn(t *testing.T, d pgtest.Database, dir string) keptStore {
	t.Helper()
	opts := &postgres.Options{IndexCache: dir, IndexCacheSize: 1 << 30, Logger: slog.New(slog.DiscardHandler)}
	return keptStore{openWith(t, d.Server, opts.Shelve(20, 16, true).Load(16, nil)), t, d, dir}
}

// keptDatabase is an empty one.
func keptDatabase(t *testing.T) pgtest.Database {
	t.Helper()
	d, giveBack := database(t)
	t.Cleanup(giveBack)
	return d
}

var (
	shelfSpace = loci.Space{Model: "m", Dims: 4}
	shelfPlace = loci.Namespace{"u"}
)

const shelfKind = loci.Kind("fact")

// longest is how long a test waits for what must come.
const longest = 30 * time.Second

func noteID(n int) loci.ID { return loci.ID{1, byte(n >> 8), byte(n)} }

func (s keptStore) tenant() loci.Tenant { return locitest.Tenant(s.t, "kept") }

// put saves a version of note n.
func (s keptStore) put(n int, version int64, text string) {
	s.t.Helper()
	r := loci.Record{
		ID: noteID(n), Kind: shelfKind, Namespace: shelfPlace, Version: version, Live: true,
		CreatedAt: time.UnixMilli(int64(n)).UTC(), UpdatedAt: time.UnixMilli(int64(n)).UTC(), Text: text,
		Passages: []loci.Span{{Start: 0, End: len(text)}}, Sequence: fmt.Sprint("talk ", n%3), Position: int64(n),
		Tags: []string{fmt.Sprint("tag", n%2)},
	}
	row := []float32{float32(n%7) - 3, float32(n % 5), float32(version), 1}
	change := loci.Change{
		Put:    []loci.Put{{Record: r, Vectors: []loci.Vectors{{Space: shelfSpace, Rows: [][]float32{row}}}}},
		Events: []loci.Event{{ID: loci.NewID(), Type: loci.EventCreated, Entity: r.ID, Namespace: r.Namespace}},
	}
	if err := s.Apply(s.t.Context(), s.tenant(), change); err != nil {
		s.t.Fatal(err)
	}
}

func (s keptStore) erase(n int, version int64) {
	s.t.Helper()
	err := s.Apply(s.t.Context(), s.tenant(), loci.Change{Erase: []loci.Erase{{ID: noteID(n), Version: version}}})
	if err != nil {
		s.t.Fatal(err)
	}
}

// fill saves notes from one number to before another.
func (s keptStore) fill(from, to int) {
	for n := from; n < to; n++ {
		s.put(n, 1, fmt.Sprintf("walrus number%d in colour%d", n, n%4))
	}
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

// fromRecords is what a store answers that takes up no image.
func (s keptStore) fromRecords() [][]loci.Hit {
	s.t.Helper()
	none := openWith(s.t, s.d.Server, (&postgres.Options{}).Shelve(1<<30, 1<<30, true))
	execute(s.t, s.d.Super, "BEGIN; CREATE TABLE hidden AS SELECT * FROM loci.image; DELETE FROM loci.image; COMMIT")
	got := keptStore{none, s.t, s.d, ""}.answers()
	execute(s.t, s.d.Super, "BEGIN; INSERT INTO loci.image SELECT * FROM hidden; DROP TABLE hidden; COMMIT")
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

// segments are the names of those in the database.
func (s keptStore) segments() (names []string) {
	query(s.t, s.d.Super, "SELECT DISTINCT convert_from(segment, 'UTF8') FROM loci.piece ORDER BY 1", &names)
	return names
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

// holds reports whether pieces in the database, and files of the directory, hold a text.
func (s keptStore) holds(text string) (pieces, files int) {
	s.t.Helper()
	var count []int64
	query(s.t, s.d.Super, fmt.Sprintf("SELECT count(*) FROM loci.piece WHERE position('%s'::bytea IN data) > 0", text), &count)
	for _, path := range s.copies() {
		data, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.Contains(data, []byte(text)) {
			files++
		}
	}
	return int(count[0]), files
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
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 50)
	var first [][]loci.Hit
	if n := s.reads(func() { first = s.answers() }); n != 50 {
		t.Errorf("the first search read %d records, not 50", n)
	}
	if names := s.segments(); len(names) != 4 || len(s.copies()) != 4 {
		t.Errorf("segments %q, files %q, want 4", names, s.copies())
	}
	next := openKept(t, d)
	if n := next.reads(func() { same(t, "taken up", next.answers(), first) }); n != 0 {
		t.Errorf("a server that takes the index up read %d records", n)
	}
	s.put(7, 2, "edited walrus number7")
	s.erase(12, 1)
	s.fill(50, 53)
	changed := next.answers()
	same(t, "followed", s.answers(), changed)
	third := openKept(t, d)
	third.tidy()
	if n := third.reads(func() { same(t, "taken up and followed", third.answers(), changed) }); n > 20 {
		t.Errorf("a server that takes the index up read %d records, more than changed", n)
	}
	same(t, "from the records", changed, s.fromRecords())
}

// Searches find the same, whatever is done to what is kept.
func TestKeptIndexIsNotTrusted(t *testing.T) {
	foreign := openKept(t, keptDatabase(t))
	foreign.fill(3, 53)
	foreign.answers()
	var other [][]byte
	query(t, foreign.d.Super, "SELECT data FROM loci.piece ORDER BY segment LIMIT 1", &other)
	const first = "segment = (SELECT segment FROM loci.piece ORDER BY segment LIMIT 1)"
	for name, harm := range map[string]string{
		"deleted":     "DELETE FROM loci.piece",
		"one deleted": "DELETE FROM loci.piece WHERE " + first,
		"cut":         "UPDATE loci.piece SET data = substr(data, 1, 900) WHERE " + first,
		"empty":       "UPDATE loci.piece SET data = '' WHERE " + first,
		"turned":      "UPDATE loci.piece SET data = set_byte(data, 1000, (get_byte(data, 1000) + 1) % 256) WHERE " + first,
		"foreign":     fmt.Sprintf(`UPDATE loci.piece SET data = '\x%x' WHERE %s`, other[0], first),
		"exchanged":   "UPDATE loci.piece SET data = (SELECT data FROM loci.piece ORDER BY segment DESC LIMIT 1) WHERE " + first,
		"no image":    "DELETE FROM loci.image",
		"no JSON":     "UPDATE loci.image SET value = 'x'",
		"a path":      `UPDATE loci.image SET value = convert_to(regexp_replace(convert_from(value, 'UTF8'), '"name":"..', '"name":"/.'), 'UTF8')`,
		"newer":       `UPDATE loci.image SET value = convert_to(regexp_replace(convert_from(value, 'UTF8'), '"seq":', '"seq":9'), 'UTF8')`,
		"moved":       "UPDATE loci.image SET namespace = 2",
	} {
		t.Run(name, func(t *testing.T) {
			s := openKept(t, keptDatabase(t))
			s.fill(0, 50)
			want := s.answers()
			execute(t, s.d.Super, harm)
			next := openKept(t, s.d)
			same(t, "harmed", next.answers(), want)
			next.put(60, 1, "one more walrus")
			got := next.answers()
			same(t, "of the other", s.answers(), got)
			last := openKept(t, s.d)
			if n := last.reads(func() { same(t, "made again", last.answers(), got) }); n > 1 {
				t.Errorf("%d records were read: the index was not made again", n)
			}
			same(t, "from the records", got, s.fromRecords())
		})
	}
}

// The folder of a server may be emptied while it is searched, and its files may be cut.
func TestTheFolderIsEmptied(t *testing.T) {
	for name, harm := range map[string]func(s keptStore) error{
		"removed": func(s keptStore) error { return os.RemoveAll(s.dir) },
		"cut": func(s keptStore) (err error) {
			for _, path := range s.copies() {
				err = errors.Join(err, os.Truncate(path, 0))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := openKept(t, keptDatabase(t))
			s.fill(0, 50)
			want := s.answers()
			if err := harm(s); err != nil {
				t.Fatal(err)
			}
			same(t, name, s.answers(), want)
			s.put(7, 2, "edited walrus number7")
			s.fill(50, 70)
			got := s.answers()
			same(t, "and changed", got, s.fromRecords())
		})
	}
}

// What the folder has no room for is kept in memory, and so it is without a folder.
func TestNoRoomForCopies(t *testing.T) {
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 50)
	want := s.answers()
	dir := t.TempDir()
	small := &postgres.Options{IndexCache: dir, IndexCacheSize: 12_000, Logger: slog.New(slog.DiscardHandler)}
	for name, opts := range map[string]*postgres.Options{"small": small, "none": {}} {
		next := keptStore{openWith(t, d.Server, opts.Shelve(20, 16, true)), t, d, dir}
		if n := next.reads(func() { same(t, name, next.answers(), want) }); n != 0 {
			t.Errorf("%s: %d records were read", name, n)
		}
		size := int64(0)
		for _, path := range next.copies() {
			info, err := os.Stat(path)
			if err != nil {
				t.Fatal(err)
			}
			size += info.Size()
		}
		if size > 12_000 || name == "small" && size == 0 {
			t.Errorf("%s: the folder holds %d bytes", name, size)
		}
	}
}

// A server that is searched for long keeps what came since, and goes on with what another one
// has kept meanwhile.
func TestWhatComesIsKeptToo(t *testing.T) {
	d := keptDatabase(t)
	s, other := openKept(t, d), openKept(t, d)
	s.fill(0, 50)
	s.answers()
	other.answers()
	for n := 50; n < 130; n += 20 { // each is more than a segment
		s.fill(n, n+20)
		s.answers()
		other.answers()
	}
	got := s.answers()
	next := openKept(t, d)
	if n := next.reads(func() { same(t, "taken up", next.answers(), got) }); n > 20 {
		t.Errorf("%d records were read", n)
	}
	if names := next.segments(); len(names) > 12 {
		t.Errorf("there are %d segments of 130 records", len(names))
	}
	same(t, "of the other", other.answers(), got)
	same(t, "from the records", got, s.fromRecords())
}

// A segment of many pieces comes back whole.
func TestLargeSegments(t *testing.T) {
	s := openKept(t, keptDatabase(t))
	for n := range 20 {
		var text strings.Builder
		for i := range 8000 {
			fmt.Fprintf(&text, "word%d-%d ", n, i)
		}
		s.put(n, 1, text.String()+fmt.Sprintf("walrus number%d", n))
	}
	want := s.answers()
	var most []int64
	query(t, s.d.Super, "SELECT max(n) FROM loci.piece", &most)
	if most[0] == 0 {
		t.Fatal("no segment has more than a piece")
	}
	next := openKept(t, s.d)
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

// An operator who migrates to the tables of images without naming the server's role again has
// servers that may use them.
func TestNewTablesKeepTheServersRights(t *testing.T) {
	d := pgtest.Shared(t).NewDatabase(t)
	migrate := func(role string) {
		if _, err := postgres.Migrate(t.Context(), d.Owner, postgres.Migration{Role: role}); err != nil {
			t.Fatal(err)
		}
	}
	migrate(d.Role)
	execute(t, d.Owner, "DROP TABLE loci.image, loci.piece")
	execute(t, d.Owner, "UPDATE loci.setting SET value = '2' WHERE name = 'schema'")
	migrate("")
	s := openKept(t, d)
	s.fill(0, 50)
	s.answers()
	if len(s.segments()) == 0 {
		t.Error("nothing is kept")
	}
}

// An image that is older than the list of changes reaches is not used.
func TestAnImageBehindTheListOfChanges(t *testing.T) {
	d := keptDatabase(t)
	s := openKept(t, d)
	s.fill(0, 50)
	s.answers()
	s.put(7, 2, "edited walrus number7")
	s.erase(9, 1)
	s.fill(50, 55) // in the range of no segment
	execute(t, d.Super, "UPDATE loci.tenant SET floor = seq; DELETE FROM loci.change")
	next := openKept(t, d)
	same(t, "behind", next.answers(), s.fromRecords())
	next.tidy()
	if pieces, _ := next.holds("number9 "); pieces > 0 {
		t.Error("what was erased is still in pieces")
	}
}
