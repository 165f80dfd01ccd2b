package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/loci-memory/loci"
)

// When all of a tenant is erased, what was planned goes, and what is saved then is found.
func TestErasedTenantsShareNothing(t *testing.T) {
	t.Parallel()
	for _, old := range []bool{false, true} {
		s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
		s.spread(0, 50)
		s.in("walrus", above())
		kept := ""
		must(t, s.opened().readRow(t.Context(), "SELECT hex(value) FROM meta WHERE key = 'above.plan'", nil, &kept))
		must(t, s.EraseTenant(t.Context(), testTenant))
		s.settle()
		if got := segments(t, s.path); len(got) > 0 {
			t.Errorf("left: %q", got)
		}
		asks(t, s.Store, "SELECT count(*) FROM meta WHERE key GLOB 'above*'", 0)
		s.spread(0, 5)
		if old { // one that erases and knows no plans
			exec1(t, s.path, fmt.Sprintf("INSERT INTO meta VALUES ('above.plan', x'%s'), ('above.id', 5)", kept))
		}
		s.spread(5, 9)
		s = s.equal("new")
		if hits := s.in("walrus", above("u")); len(hits) != 9 {
			t.Errorf("%d hits; want 9", len(hits))
		}
	}
}

// A group that is far behind what others wrote is brought up to it beside the searches that do not need it.
func TestASharedIndexThatIsFarBehind(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	s.spread(0, 50)
	s.in("walrus", above())
	other := openJoined(t, s.path)
	var much loci.Change
	for n := 1000; n < 1000+maxFollowed+10; n++ {
		c := saidIn(n, 1, "walrus of 2", "u", fmt.Sprint("n", n%90))
		much.Put, much.Events = append(much.Put, c.Put...), append(much.Events, c.Events...)
	}
	must(t, other.Apply(t.Context(), testTenant, much))
	must(t, other.Close())
	s.in("walrus", above("u", "n3"))
	if got := s.groups(); len(got) != 0 {
		t.Errorf("groups %v are brought up to the file by a search that does not need them", got)
	}
	s.equal("behind")
}

// A quick search looks at each namespace by itself, and one that needs room drops a group as it does a shard.
func TestQuickSearchesBesideASharedIndex(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	s.spread(0, 30)
	s.in("walrus", above())
	for range 2 {
		p := loci.Probe{Text: "walrus number3", Quick: true}
		hits, err := s.Match(t.Context(), testTenant, p, above("u"), 100)
		if err != nil || len(hits) != 30 {
			t.Errorf("%d hits, %v; want 30", len(hits), err)
		}
		s.in("walrus", above("u"))
	}
	x := &s.opened().search
	x.shed(1 << 30)
	if len(x.used) != 0 || x.index.HasAbove() {
		t.Errorf("%d shards are left", len(x.used))
	}
	s.equal("shed")
}

// The index of a group that is in another one now goes, and so do its files.
func TestWhatIsPlannedNoMoreGoes(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	s.spread(0, 30)
	s.in("walrus", above())
	for n := 100; n < 140; n++ {
		s.said(n, 1, "walrus of 4", fmt.Sprint("n", n))
	}
	s = s.reopened()
	s.in("walrus", above())
	if got := s.groups(); len(got) != 1 || got[0].Namespace != "" || s.opened().search.index.Records(got[0]) != 70 {
		t.Fatalf("groups %v; want one of all", got)
	}
	s.loaded()
	s.opened().startTidy()
	s.settle()
	asks(t, s.Store, "SELECT count(*) FROM meta WHERE key GLOB 'above:*'", 1)
	all, _, err := s.opened().manifests(t.Context())
	must(t, err)
	if len(all) != 1 || len(segments(t, s.path)) != len(all[0].Segments) {
		t.Errorf("%d files of %d manifests", len(segments(t, s.path)), len(all))
	}
	s.equal("of all")
}

// Of two processes that plan at once one is told that the other was quicker.
func TestPlansAreNotOverwritten(t *testing.T) {
	t.Parallel()
	s := openJoined(t, filepath.Join(t.TempDir(), "x.db"))
	s.spread(0, 30)
	f := s.opened()
	next, id, err := f.nextPlan(t.Context(), new(int64))
	if must(t, err); next == nil || id != 0 {
		t.Fatalf("plan %v, in place of %d", next, id)
	}
	put := func() error { return f.write(t.Context(), func(x *tx) error { return x.putPlan(id, []byte("{}")) }) }
	must(t, put())
	if err := put(); !errors.Is(err, errMoved) {
		t.Errorf("a second plan in place of the same: %v", err)
	}
}
