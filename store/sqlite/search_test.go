package sqlite

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// Questions of one call read the state of the file once, and questions that share nothing do so each.
func TestQuestionsOfACallAskOnce(t *testing.T) {
	t.Parallel()
	s := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	here := loci.Filter{Within: []loci.Namespace{{"u"}}}
	ask := func(shared map[any]any) int {
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus", Shared: shared}, here, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(hits)
	}
	shared := map[any]any{}
	ask(shared)
	before, ok := shared[seenState{}].(int64)
	if !ok {
		t.Fatal("what a question saw of the file is not shared")
	}
	r := loci.Record{ID: loci.ID{1}, Kind: "fact", Namespace: here.Within[0], Version: 1, Live: true, Text: "walrus",
		Passages: []loci.Span{{Start: 0, End: 6}}}
	if err := s.Apply(t.Context(), testTenant, loci.Change{Put: []loci.Put{{Record: r}}}); err != nil {
		t.Fatal(err)
	}
	if ask(shared); shared[seenState{}] != before {
		t.Error("a second question of a call reads the state of the file again")
	}
	if ask(nil) != 1 || ask(map[any]any{}) != 1 {
		t.Error("another call does not find what was written")
	}
}

// A search loads the kinds it asks for and no others. Records that are not searched are in no
// shard, and are not read to find that out.
func TestASearchLoadsItsKindsAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	here := loci.Namespace{"u"}
	put := func(n byte, kind loci.Kind, passages ...loci.Span) {
		t.Helper()
		r := loci.Record{
			ID:        loci.ID{n},
			Kind:      kind,
			Namespace: here,
			Version:   1,
			Live:      true,
			Text:      "walrus",
			Passages:  passages,
		}
		c := loci.Change{
			Put:    []loci.Put{{Record: r}},
			Events: []loci.Event{{ID: loci.ID{n}, Type: loci.EventCreated, Entity: r.ID, Namespace: here}},
		}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
	}
	all := loci.Span{Start: 0, End: 6}
	put(1, "fact", all)
	put(2, "message", all)
	put(3, "message", all)
	put(4, "blob")
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(f)
	look := func(kinds []loci.Kind, hits, loaded int) {
		t.Helper()
		got, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, loci.Filter{
			Within: []loci.Namespace{here},
			Kinds:  kinds,
		}, 10)
		if err != nil || len(got) != hits || f.search.index.Passages() != loaded {
			t.Errorf("kinds %q: %d hits, %d passages loaded, %v; want %d and %d", kinds, len(got), f.search.index.Passages(), err, hits, loaded)
		}
	}
	look([]loci.Kind{"fact"}, 1, 1)
	put(5, "message", all) // nor does following what is written load them
	put(6, "fact", all)
	look([]loci.Kind{"fact", "unknown"}, 2, 2)
	look([]loci.Kind{"blob"}, 0, 2)
	look(nil, 5, 5)
	if f.search.index.HasShard(index.Key{Namespace: here.Key(), Kind: "blob"}) {
		t.Error("what is not searched has a shard")
	}

	db, err := openDB(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if got := plan(t, db, taken(inShard+" AND "+searchable), "m", 8, 1, "fact"); !strings.Contains(got, "INDEX record_shard (namespace=? AND kind=?)") {
		t.Errorf("a shard is loaded by\n%s", got)
	}
	for _, condition := range []string{searchable, "NOT " + searchable} {
		if got := plan(t, db, taken(followed(2)+" AND "+condition), "m", 8, 1, 2, 3, "fact", "message"); !strings.Contains(got, "INDEX record_seq (seq>? AND seq<?)") {
			t.Errorf("changes are followed by\n%s", got)
		}
	}
}
