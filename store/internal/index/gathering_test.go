package index

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/loci-memory/loci"
)

// above makes an index of namespaces below one, with a note each.
func above(t *testing.T, namespaces int) (x *Index, search func() []loci.Hit) {
	t.Helper()
	x = New(space)
	for i := range namespaces {
		here := loci.Namespace{"u", fmt.Sprint(i)}
		x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
		r := record(i, here, "zebra", "river "+fmt.Sprint("word", i%7))
		x.Upsert(r, codes(r, uint64(i)))
	}
	return x, func() []loci.Hit {
		p := loci.Probe{Text: "zebra word3", Vector: []float32{1, 0, 0, 0, 0, 0, 0, 0}, Space: space}
		hits, err := x.Match(p, loci.Filter{Within: []loci.Namespace{{"u"}}}, 10, nil)
		if err != nil {
			t.Error(err)
		}
		return hits
	}
}

// Searches that gather side by side find the same, each time.
func TestSearchesGatherSideBySide(t *testing.T) {
	t.Parallel()
	x, search := above(t, 300)
	x.gatherings.least = 1000
	want := search()
	x.gatherings.least, x.gatherings.atOnce = 64, 20
	var together sync.WaitGroup
	for range 8 {
		together.Go(func() {
			for range 10 {
				if got := search(); !reflect.DeepEqual(got, want) {
					t.Errorf("%v; want %v", got, want)
				}
			}
		})
	}
	together.Wait()
	g := x.gatherings.list[0]
	if len(x.gatherings.list) != 1 || len(g.gathered) != 300 || len(g.waiting) != 0 {
		t.Errorf("%d are gathered, %d wait, in %d gatherings", len(g.gathered), len(g.waiting), len(x.gatherings.list))
	}
}

// What is gathered counts, goes where there is no room for it, and stays away for a while.
func TestGatheredCounts(t *testing.T) {
	t.Parallel()
	x, search := above(t, 300)
	plain := x.Bytes()
	want := search()
	if full := x.Bytes(); full < plain+300*100 || full > 2*plain {
		t.Errorf("%d bytes, %d with what is gathered", plain, full)
	}
	x.Ungather()
	for range 3 {
		if got := search(); !reflect.DeepEqual(got, want) || x.Bytes() != plain {
			t.Errorf("%v and %d bytes; want %v and %d", got, x.Bytes(), want, plain)
		}
	}
	x.gatherings.clock += restSearches
	if search(); x.Bytes() == plain {
		t.Error("nothing is gathered any more")
	}
}

// No more than a few scopes are gathered at a time, and searches of many in turn do not
// gather for one another's sake again and again.
func TestFewScopesAreGathered(t *testing.T) {
	t.Parallel()
	x := New(loci.Space{})
	for user := range mostGatherings + 2 {
		for i := range leastGathered {
			here := loci.Namespace{fmt.Sprint(user), fmt.Sprint(i)}
			x.AddShard(Key{Namespace: here.Key(), Kind: loci.KindFact})
			x.Upsert(record(user*1000+i, here, "zebra"), nil)
		}
	}
	search := func(user int) {
		f := loci.Filter{Within: []loci.Namespace{{fmt.Sprint(user)}}}
		if hits, err := x.Match(loci.Probe{Text: "zebra"}, f, 100, nil); err != nil || len(hits) != leastGathered {
			t.Errorf("%d hits, %v", len(hits), err)
		}
	}
	var first *gathering
	for round := range 3 {
		for user := range mostGatherings + 2 {
			search(user)
		}
		if n := len(x.gatherings.list); n != mostGatherings || round > 0 && x.gatherings.list[0] != first {
			t.Errorf("%d scopes are gathered, or others each time", n)
		}
		first = x.gatherings.list[0]
	}
	for range idleSearches + 1 { // who is searched often takes the place of who is not
		search(mostGatherings + 1)
	}
	last := Key{Namespace: loci.Namespace{fmt.Sprint(mostGatherings + 1), "1"}.Key(), Kind: loci.KindFact}
	if !x.gatherings.list[mostGatherings-1].scope.covers(last) {
		t.Error("a scope that is searched often is not gathered")
	}
}

// What is erased is in no gathering, its words neither.
func TestErasedLeavesWhatIsGathered(t *testing.T) {
	t.Parallel()
	x, search := above(t, 100)
	r := record(7, loci.Namespace{"u", "7"}, "wombat")
	x.Upsert(r, nil)
	search()
	g := x.gatherings.list[0]
	if !g.all.isWord("wombat") {
		t.Fatal("it is not gathered")
	}
	x.Remove(r.Namespace.Key(), r.ID)
	for n := range uint32(g.all.vocabulary.len()) {
		if g.all.vocabulary.at(n).spelling == "wombat" {
			t.Error("its word is still there")
		}
	}
	if g.all.isWord("wombat") {
		t.Error("its word is still found")
	}
}

// A gathering of which most has left is given up.
func TestGatheringIsGivenUp(t *testing.T) {
	t.Parallel()
	x, search := above(t, 2000)
	plain := x.Bytes()
	search()
	for i := range 1500 {
		x.DropShard(Key{Namespace: loci.Namespace{"u", fmt.Sprint(i)}.Key(), Kind: loci.KindFact})
	}
	if len(x.gatherings.list) != 0 || x.Bytes() > plain/2 {
		t.Errorf("%d gatherings are kept, %d bytes of %d", len(x.gatherings.list), x.Bytes(), plain)
	}
	if len(search()) == 0 {
		t.Error("nothing is found")
	}
}

// A large shard is searched by itself: it lies in memory once.
func TestLargeShardsAreNotGathered(t *testing.T) {
	t.Parallel()
	x, search := above(t, 100)
	large := loci.Namespace{"u", "large"}
	x.AddShard(Key{Namespace: large.Key(), Kind: loci.KindFact})
	for i := range mostGathered + 1 {
		x.Upsert(record(1000+i, large, "zebra"), nil)
	}
	plain := x.Bytes()
	if hits := search(); len(hits) == 0 || len(x.gatherings.list[0].gathered) != 100 || x.Bytes() > plain*7/4 {
		t.Errorf("%d hits; %d are gathered, %d bytes more than %d", len(hits), len(x.gatherings.list[0].gathered), x.Bytes()-plain, plain)
	}
}

// A search gathers so many shards that it need not wait long, and those after it the others.
func TestGatheringTakesTurns(t *testing.T) {
	t.Parallel()
	x, search := above(t, 200)
	x.gatherings.atOnce = 80
	want := search()
	for _, gathered := range []int{80, 160, 200} {
		if n := len(x.gatherings.list[0].gathered); n != gathered {
			t.Errorf("%d are gathered; want %d", n, gathered)
		}
		if got := search(); !reflect.DeepEqual(got, want) {
			t.Errorf("%v; want %v", got, want)
		}
	}
}

// A record whose expiry moved expires then, although it is gathered.
func TestExpiryOfWhatIsGathered(t *testing.T) {
	t.Parallel()
	x, search := above(t, 100)
	search()
	r := record(7, loci.Namespace{"u", "7"})
	x.SetExpiry(KeyOf(r), r.ID, time.UnixMilli(5).UTC())
	f := loci.Filter{Within: []loci.Namespace{{"u"}}, At: time.UnixMilli(9).UTC()}
	hits, err := x.Match(loci.Probe{Text: "zebra"}, f, 200, nil)
	if err != nil || len(hits) != 99 {
		t.Errorf("%d hits, %v; want 99", len(hits), err)
	}
}
