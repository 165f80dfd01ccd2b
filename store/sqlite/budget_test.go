package sqlite

import (
	"fmt"
	"testing"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/index"
)

// spread makes a store with n tenants of as many notes each, one about a walrus, and
// returns the bytes that the index of one takes.
func spread(t *testing.T, dir string, n, notes int) (tenants []loci.Tenant, each int64) {
	t.Helper()
	s, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for i := range n {
		tenant, err := loci.NewTenant(fmt.Sprint("t", i))
		if err != nil {
			t.Fatal(err)
		}
		tenants = append(tenants, tenant)
		var all loci.Change
		for j := range notes {
			c := note(fmt.Sprint("number ", j))
			if j == 7 {
				c = note("a walrus")
			}
			all.Put, all.Events = append(all.Put, c.Put...), append(all.Events, c.Events...)
		}
		if err := s.Apply(t.Context(), tenant, all); err != nil {
			t.Fatal(err)
		}
	}
	if err := find(t, s, tenants[0]); err != nil {
		t.Fatal(err)
	}
	return tenants, s.budget.used
}

// find searches all of a tenant for its walrus.
func find(t *testing.T, s *Store, tenant loci.Tenant) error {
	t.Helper()
	everywhere := loci.Filter{Within: []loci.Namespace{{}}}
	hits, err := s.Match(t.Context(), tenant, loci.Probe{Text: "walrus"}, everywhere, 10)
	if err == nil && len(hits) != 1 {
		t.Errorf("%d hits; want 1", len(hits))
	}
	return err
}

// The indexes of all tenants stay within one budget: the index that was not searched for
// longest makes room.
func TestIndexesShareABudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tenants, each := spread(t, dir, 5, 400)
	if each < 100_000 {
		t.Fatalf("an index of 400 notes takes %d bytes", each)
	}
	s, err := Open(dir, &Options{IndexMemory: 3 * each})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	loaded := func(tenant loci.Tenant) bool { return s.files[tenant].search.index.Passages() > 0 }
	for range 3 {
		for i, tenant := range tenants {
			if err := find(t, s, tenant); err != nil {
				t.Error(err)
			}
			if i > 0 && !loaded(tenants[i-1]) {
				t.Errorf("tenant %d made more room than it needs", i)
			}
			if s.budget.used > s.budget.limit {
				t.Errorf("%d bytes are held; the limit is %d", s.budget.used, s.budget.limit)
			}
		}
	}
	if last := tenants[len(tenants)-1]; !loaded(last) || loaded(tenants[0]) {
		t.Error("the index searched last is gone, or the one not searched for longest is still there")
	}
	if w := s.Work(); w.ShardsLoaded < 15 || w.ShardsDropped != w.ShardsLoaded-3 ||
		w.IndexBytes != s.budget.used || w.IndexLimit != 3*each || w.Writes != 0 {
		t.Errorf("%+v", w)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s.budget.used != 0 {
		t.Errorf("%d bytes are counted of a store that is closed", s.budget.used)
	}
}

// A tenant that searches one memory after the other, more than there is room for, makes room
// itself: what others search meanwhile stays.
func TestWhoSearchesMuchMakesRoomItself(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tenants, each := spread(t, dir, 2, 400)
	s, err := Open(dir, &Options{IndexMemory: 4 * each})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for i := range 8 {
		fill(t, s, fmt.Sprint("u", i), 400)
	}
	for round := range 2 {
		for _, tenant := range tenants {
			if err := find(t, s, tenant); err != nil {
				t.Fatal(err)
			}
		}
		loaded := s.Work().ShardsLoaded
		for i := range 8 {
			expectWalruses(t, s, fmt.Sprint("u", i), 1)
		}
		if n := s.Work().ShardsLoaded - loaded; n < 6 {
			t.Errorf("%d of 8 memories were loaded: they fit", n)
		}
		for _, tenant := range tenants {
			if s.files[tenant].search.index == nil || s.files[tenant].search.index.Passages() == 0 {
				t.Errorf("round %d: the index of %v is gone", round, tenant)
			}
		}
	}
}

// An index that does not fit is refused with its size, the setting and the remedy, and leaves
// room for those that fit.
func TestAnIndexThatDoesNotFitIsRefused(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s, err := Open(path, &Options{IndexMemory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for range 2 {
		_, err = walruses(t.Context(), s, "large")
		wantCode(t, err, loci.TooLarge, " MB", "index.memory is 1 MB")
		if e := loci.AsError(err); e.Recovery == "" {
			t.Error("there is no remedy")
		}
		expectWalruses(t, s, "small", 1)
	}
	everything := loci.Filter{Within: []loci.Namespace{{}}}
	if _, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, everything, 10); err == nil {
		t.Error("a part of what was asked for was searched")
	}
	if s.budget.used > s.budget.limit {
		t.Errorf("%d bytes are held", s.budget.used)
	}
}

// Shards that fit one by one, but not together, are refused together.
func TestShardsThatDoNotFitTogetherAreRefused(t *testing.T) {
	t.Parallel()
	s := openFile(t, t.TempDir()+"/x.db")
	for i := range 8 {
		fill(t, s, fmt.Sprint("u", i), 300)
	}
	expectWalruses(t, s, "u1", 1)
	s.budget.limit = 3 * s.budget.used
	everything := loci.Filter{Within: []loci.Namespace{{}}}
	_, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, everything, 10)
	wantCode(t, err, loci.Unavailable, "index.memory")
	for i := range 8 {
		expectWalruses(t, s, fmt.Sprint("u", i), 1)
	}
}

// An index that grows by what is saved makes the others give way, too.
func TestAnIndexThatGrowsMakesRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tenants, each := spread(t, dir, 2, 400)
	s, err := Open(dir, &Options{IndexMemory: 2*each + each/2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for _, tenant := range tenants {
		if err := find(t, s, tenant); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 500 {
		if err := s.Apply(t.Context(), tenants[1], note(fmt.Sprint("more ", i))); err != nil {
			t.Fatal(err)
		}
		if err := find(t, s, tenants[1]); err != nil {
			t.Fatal(err)
		}
		if s.budget.used > s.budget.limit+10_000 {
			t.Fatalf("after %d more, %d bytes are held; the limit is %d", i, s.budget.used, s.budget.limit)
		}
	}
}

// An index may take all of the budget, and not a byte more.
func TestAnIndexMayTakeTheWholeBudget(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tenants, each := spread(t, dir, 1, 400)
	for limit, fits := range map[int64]bool{each: true, each - 1: false} {
		s, err := Open(dir, &Options{IndexMemory: limit})
		must(t, err)
		if err := find(t, s, tenants[0]); (err == nil) != fits {
			t.Errorf("%d bytes of %d: %v", each, limit, err)
		}
		must(t, s.Close())
	}
}

// A search above many namespaces, which does not look for each of them again, still keeps them
// longer than what was searched before it.
func TestShardsSearchedFromAboveStay(t *testing.T) {
	t.Parallel()
	s := openFile(t, t.TempDir()+"/x.db")
	var all loci.Change
	for i := range 80 {
		c := note("a walrus")
		c.Put[0].Record.Namespace = loci.Namespace{"many", fmt.Sprint(i)}
		c.Events[0].Namespace = c.Put[0].Record.Namespace
		all.Put, all.Events = append(all.Put, c.Put...), append(all.Events, c.Events...)
	}
	if err := s.Apply(t.Context(), testTenant, all); err != nil {
		t.Fatal(err)
	}
	fill(t, s, "old", 10)
	search := func(from string, want int) {
		t.Helper()
		f := loci.Filter{Within: []loci.Namespace{{from}}}
		hits, err := s.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, f, 100)
		if err != nil || len(hits) != want {
			t.Errorf("%d hits, %v; want %d", len(hits), err, want)
		}
	}
	search("old", 1)
	search("many", 80)
	search("old", 1)
	search("many", 80)
	x := &s.files[testTenant].search
	x.shed(1) // what is gathered
	if n := len(x.used); n != 81 {
		t.Errorf("%d shards are there; want 81: what is gathered goes first", n)
	}
	x.shed(1)
	old := index.Key{Namespace: loci.Namespace{"old"}.Key(), Kind: loci.KindFact}
	if x.index.HasShard(old) || len(x.used) != 80 {
		t.Errorf("%d shards are there; want 80, without the one that was not searched for longest", len(x.used))
	}
	search("many", 80)
	x.shed(1) // one of many: it is missed
	search("many", 80)

	// A place that comes is known before anybody searches it.
	c := note("a walrus")
	c.Put[0].Record.Namespace = loci.Namespace{"many", "new"}
	c.Events[0].Namespace = c.Put[0].Record.Namespace
	search("old", 1)
	search("many", 80)
	if err := s.Apply(t.Context(), testTenant, c); err != nil {
		t.Fatal(err)
	}
	search("old", 1)
	search("many", 81)
}
