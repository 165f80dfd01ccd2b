package sqlite

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// readWhole reads the parts of a load until it is whole.
func readWhole(t *testing.T, f *file, one *load) {
	t.Helper()
	for range 10 {
		tx, err := f.readDB.BeginTx(t.Context(), &sql.TxOptions{ReadOnly: true})
		must(t, err)
		now, err := f.state(t.Context(), tx, one.index.Space())
		must(t, err)
		must(t, f.readPart(t.Context(), tx, one, &now))
		must(t, endRead(tx))
		if one.whole && one.seq == now.seq {
			return
		}
	}
	t.Fatal("the load does not end")
}

// A load says how much it has read. One that is further behind than what was erased is known begins again, with
// nothing of what it had.
func TestALoadThatIsTooFarBehindBeginsAgain(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	for range 3 {
		save(t, s, "walrus")
	}
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	one := &load{key: index.Key{Namespace: loci.Namespace{"u"}.Key(), Kind: loci.KindFact}, index: index.New(loci.Space{})}
	numbered := func() {
		must(t, f.readRow(t.Context(), "SELECT n FROM namespace WHERE key = ?", []any{[]byte(one.key.Namespace)}, &one.namespace))
	}
	numbered()
	one.index.AddShard(one.key)
	readWhole(t, f, one)
	if n := one.index.Records(one.key); n != 3 || one.read != 3 {
		t.Errorf("%d records are in the index, and %d read; want 3", n, one.read)
	}
	must(t, s.EraseTenant(t.Context(), testTenant))
	save(t, s, "another walrus")
	numbered()
	readWhole(t, f, one)
	if n := one.index.Records(one.key); n != 1 || one.read != 1 {
		t.Errorf("after the tenant was erased %d records are in the index, and %d read; want 1", n, one.read)
	}
}

// A shard that is taken out of the index to be brought up to the file is whole, so that what was erased meanwhile is
// taken out of it.
func TestWhatIsBroughtUpLosesWhatWasErased(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	gone := save(t, s, "walrus")
	save(t, s, "walrus two")
	expectWalruses(t, s, "u", 2)
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	x, key := &f.search, index.Key{Namespace: loci.Namespace{"u"}.Key(), Kind: loci.KindFact}
	x.mu.Lock()
	x.detach(key)
	x.mu.Unlock()
	must(t, openFile(t, path).Apply(t.Context(), testTenant, loci.Change{Erase: []loci.Erase{{ID: gone, Version: 1}}}))
	expectWalruses(t, s, "u", 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := x.index.Records(key); n != 1 {
		t.Errorf("%d records are in the index; want the one that was not erased", n)
	}
}

// A store that is closed loads nothing any more.
func TestAClosedStoreLoadsNothing(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	s.release(f)
	must(t, s.Close())
	if f.search.loading.Crew.Context().Err() == nil {
		t.Error("the loads of a closed store go on")
	}
}

// Pieces of memory grow with what was taken, within their bounds.
func TestSizesOfPieces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ before, least, most, want int }{
		{0, 0, 0, leastPiece}, {leastPiece, 1, 0, 2 * leastPiece}, {mostPiece, 1, 0, mostPiece},
		{1 << 20, 1, 0, mostPiece}, {4096, 1, 6000, 6000}, {0, 5 * mostPiece, 0, 5 * mostPiece},
	} {
		if n := (&pieces{most: c.most}).size(c.before, c.least); n != c.want {
			t.Errorf("after %d, for %d, at most %d: %d; want %d", c.before, c.least, c.most, n, c.want)
		}
	}
	p := &pieces{}
	if one, two := p.text([]byte("ab")), p.text([]byte("cde")); one+two != "abcde" || p.texts.Len() != 5 {
		t.Errorf("%q and %q take %d bytes of one piece; want 5", one, two, p.texts.Len())
	}
}

// What cannot be bound is named by its place.
func TestArgumentsAreNamed(t *testing.T) {
	t.Parallel()
	err := (&statement{}).bind([]any{1, "two", struct{}{}})
	wantCode(t, err, loci.Internal, "argument 3: ")
}

// A manifest of which a part cannot be read names no segment, and one is taken out only as it was.
func TestManifestsThatSayNothing(t *testing.T) {
	t.Parallel()
	if m := readManifest("index:1:fact", []byte(`{"segments":[{"name":"a"}],"seq":"x"}`)); len(m.Segments) != 0 || m.shard.namespace != 1 {
		t.Errorf("a manifest that cannot be read: %+v", m)
	}
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	f, err := s.acquire(t.Context(), testTenant)
	must(t, err)
	defer s.release(f)
	first := &manifest{shard: shard{namespace: 1, kind: loci.KindFact}}
	next := &manifest{Seq: 7}
	must(t, f.putManifest(t.Context(), first, next))
	if err := f.dropManifest(t.Context(), first); err == nil {
		t.Error("one that has changed is taken out")
	}
	have, _, err := f.manifests(t.Context())
	if err != nil || len(have) != 1 || have[0].Seq != 7 {
		t.Errorf("it is %v, %v", have, err)
	}
	must(t, f.dropManifest(t.Context(), next))
	if have, _, err := f.manifests(t.Context()); err != nil || len(have) != 0 {
		t.Errorf("taken out: %v, %v", have, err)
	}
}

// A list of ids goes on behind a cursor, also where the rest fits into a page.
func TestIDsGoOnBehindACursor(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	f := loci.Filter{Within: []loci.Namespace{{}}}
	for range 5 {
		f.IDs = append(f.IDs, save(t, s, "walrus"))
	}
	first, next, err := s.Records(t.Context(), testTenant, f, loci.Page{Limit: 2})
	must(t, err)
	rest, end, err := s.Records(t.Context(), testTenant, f, loci.Page{Limit: 100, Cursor: next})
	must(t, err)
	seen := map[loci.ID]bool{}
	for _, r := range append(first, rest...) {
		seen[r.ID] = true
	}
	if len(first) != 2 || len(rest) != 3 || len(seen) != 5 || end != "" {
		t.Errorf("%d, then %d records, %d different ones, %q", len(first), len(rest), len(seen), end)
	}
	for i := 1; i < len(rest); i++ {
		if first[1].CreatedAt.Before(rest[i].CreatedAt) {
			t.Error("the order is another one")
		}
	}
}

// A name that only looks like the place of a tree for all stays what it is.
func TestPlacesThatAreNone(t *testing.T) {
	t.Parallel()
	never := func(loci.Namespace) bool { return false }
	for _, n := range []loci.Namespace{{"user", "ada", "global"}, {"global"}, {"user", "ada", "x", "y", "global"}} {
		if place, moves := placeOf("file", n, never); moves || place.Key() != n.Key() {
			t.Errorf("%v becomes %v, %t", n, place, moves)
		}
	}
}
