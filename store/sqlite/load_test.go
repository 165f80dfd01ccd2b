package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/admission"
	"github.com/loci-memory/loci/store/internal/index"
)

// longest is how long a test waits for what should take a moment.
const longest = 20 * time.Second

// A reader counts the parts of shards that are read, and can hold them.
type reader struct {
	parts   atomic.Int64
	entered chan struct{} // told of each part that is held
	hold    chan struct{} // once closed, nothing is held
	of      string        // the namespace whose parts are held
}

// openHeld opens a store whose reads of a namespace's shards can be held.
func openHeld(t *testing.T, path, namespace string, opts Options) (*Store, *reader) {
	t.Helper()
	s, err := Open(path, &opts)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{entered: make(chan struct{}, 1000), hold: make(chan struct{}), of: loci.Namespace{namespace}.Key()}
	s.reading = func(key index.Key) {
		if key.Namespace != r.of {
			return
		}
		r.parts.Add(1)
		r.entered <- struct{}{}
		<-r.hold
	}
	t.Cleanup(func() {
		r.release()
		_ = s.Close()
	})
	return s, r
}

func (r *reader) release() {
	select {
	case <-r.hold:
	default:
		close(r.hold)
	}
}

func (r *reader) await(t *testing.T) {
	t.Helper()
	select {
	case <-r.entered:
	case <-time.After(longest):
		t.Fatal("nothing was read")
	}
}

// walruses searches a namespace and returns how many hits there are.
func walruses(ctx context.Context, s *Store, label string) (int, error) {
	ctx, stop := context.WithTimeout(ctx, longest)
	defer stop()
	where := loci.Filter{Within: []loci.Namespace{{label}}, Exact: true}
	hits, err := s.Match(ctx, testTenant, loci.Probe{Text: "walrus"}, where, 10)
	return len(hits), err
}

func expectWalruses(t *testing.T, s *Store, label string, want int) {
	t.Helper()
	if n, err := walruses(t.Context(), s, label); n != want || err != nil {
		t.Errorf("%s: %d hits, %v; want %d", label, n, err, want)
	}
}

// several is a namespace of several parts.
const several = 2*loadRecords + 100

// filled makes a file with a namespace of one part and one of several.
func filled(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	fill(t, s, "small", 10)
	fill(t, s, "large", several)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whoever is ready to run need not wait while a large index is loaded, also where there is one
// processor.
func TestALoadLetsOthersRun(t *testing.T) {
	s := openFile(t, filled(t))
	expectWalruses(t, s, "small", 1) // what is made once a process is there
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var loaded atomic.Bool
	go func() {
		defer loaded.Store(true)
		expectWalruses(t, s, "large", 1)
	}()
	turns := 0
	for !loaded.Load() {
		turns++
		runtime.Gosched()
	}
	if turns < several/32 {
		t.Errorf("%d turns while %d records were loaded; want one for 32 at least", turns, several)
	}
}

// While the index of one namespace is loaded, searches and saves in another one go on.
func TestNobodyWaitsForTheIndexOfAnother(t *testing.T) {
	t.Parallel()
	s, large := openHeld(t, filled(t), "large", Options{})
	found := make(chan int, 1)
	gate := admission.New(admission.Options{Slots: 1, Queue: 1, Wait: longest, Aside: 2})
	go func() {
		ctx, leave := slotted(t, gate)
		defer leave()
		n, err := walruses(ctx, s, "large")
		if err != nil || gate.Load().Running != 1 {
			n = -1
		}
		found <- n
	}()
	large.await(t)
	_, leave := slotted(t, gate) // a search that waits for an index does not hold it
	leave()
	expectWalruses(t, s, "small", 1) // which is loaded meanwhile
	for i := range 3 {
		c := note(fmt.Sprint("another walrus ", i))
		c.Put[0].Record.Namespace, c.Events[0].Namespace = loci.Namespace{"small"}, loci.Namespace{"small"}
		if err := s.Apply(t.Context(), testTenant, c); err != nil {
			t.Fatal(err)
		}
		expectWalruses(t, s, "small", 2+i)
	}
	select {
	case n := <-found:
		t.Fatalf("the search of what is held returned %d", n)
	default:
	}
	large.release()
	select {
	case n := <-found:
		if n != 1 {
			t.Errorf("the large namespace has %d hits; want 1", n)
		}
	case <-time.After(longest):
		t.Fatal("the search did not end")
	}
}

// slotted takes a slot for what a context is of.
func slotted(t *testing.T, gate *admission.Gate) (ctx context.Context, leave func()) {
	pass, refused := gate.Enter(t.Context(), "", 0)
	if refused != nil {
		t.Errorf("no slot: %+v", refused)
	}
	visit := &admission.Visit{}
	visit.Let(pass)
	return admission.With(context.WithoutCancel(t.Context()), visit), pass.Leave
}

// A write that waits for a slow disk holds no slot meanwhile, and gets one again afterwards.
func TestSlowCommitsHoldNoSlot(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "loci.db"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	defer s.release(f)
	gate := admission.New(admission.Options{Slots: 1, Queue: 1, Wait: longest, Aside: 2})
	slow, done := make(chan struct{}), make(chan error, 1)
	ctx, end := slotted(t, gate)
	go func() {
		defer end()
		err := f.write(ctx, func(*tx) error { <-slow; return nil })
		if l := gate.Load(); err == nil && (l.Running != 1 || l.Aside != 0) {
			err = fmt.Errorf("afterwards: %+v", l)
		}
		done <- err
	}()
	_, leave := slotted(t, gate) // the next request gets it
	leave()
	close(slow)
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(longest):
		t.Error("the write does not end")
	}
}

// However many searches wait for a shard, it is read once.
func TestAShardIsLoadedOnce(t *testing.T) {
	t.Parallel()
	s, large := openHeld(t, filled(t), "large", Options{})
	var searches sync.WaitGroup
	for range 16 {
		searches.Go(func() { expectWalruses(t, s, "large", 1) })
	}
	large.await(t)
	large.release()
	searches.Wait()
	if n := large.parts.Load(); n != 3 {
		t.Errorf("%d parts were read; want 3", n)
	}
}

// A search that gives up ends the load, unless others wait. The next search goes on where the
// load stopped, and finds what has changed in between.
func TestALoadGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s, large := openHeld(t, path, "large", Options{})
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := walruses(ctx, s, "large")
		ended <- err
	}()
	large.await(t)
	giveUp()
	select {
	case err := <-ended:
		wantCode(t, err, loci.Unavailable)
	case <-time.After(longest):
		t.Fatal("the search that gave up still waits")
	}
	large.release()
	f, err := s.acquire(t.Context(), testTenant)
	if err != nil {
		t.Fatal(err)
	}
	f.search.loading.Crew.Wait()
	s.release(f)
	if n := large.parts.Load(); n != 1 {
		t.Fatalf("%d parts were read; nobody waited after the first", n)
	}

	other := openFile(t, path) // another process
	where := loci.Filter{Within: []loci.Namespace{{"large"}}, Exact: true}
	found, err := other.Match(t.Context(), testTenant, loci.Probe{Text: "walrus"}, where, 1)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	erase := loci.Change{Erase: []loci.Erase{{ID: found[0].ID, Version: found[0].Version}}}
	if err := other.Apply(t.Context(), testTenant, erase); err != nil {
		t.Fatal(err)
	}
	expectWalruses(t, s, "large", 0)
	if n := large.parts.Load(); n != 3 {
		t.Errorf("%d parts were read in all; want 3", n)
	}
}

// What another process writes while the last part of an index is read is in it, also when this one has heard of that
// before.
func TestALoadTakesWhatOthersWrite(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s := openFile(t, path)
	parts, reached, goOn := 0, make(chan struct{}), make(chan struct{})
	s.reading = func(key index.Key) {
		if key.Namespace != (loci.Namespace{"large"}).Key() {
			return
		}
		if parts++; parts == 3 {
			close(reached)
			<-goOn
		}
	}
	expectWalruses(t, s, "small", 1)
	var searches sync.WaitGroup
	searches.Go(func() { expectWalruses(t, s, "large", 2) })
	<-reached
	fill(t, openFile(t, path), "large", 8) // with a walrus
	expectWalruses(t, s, "small", 1)
	close(goOn)
	searches.Wait()
}

// When another process has changed much, the index is brought up to date beside the searches of
// others.
func TestNobodyWaitsForTheChangesOfAnother(t *testing.T) {
	t.Parallel()
	path := filled(t)
	s, large := openHeld(t, path, "none", Options{})
	expectWalruses(t, s, "large", 1)
	expectWalruses(t, s, "small", 1)
	large.of = loci.Namespace{"large"}.Key()
	fill(t, openFile(t, path), "large", maxFollowed+1)
	expectWalruses(t, s, "small", 1)
	var searches sync.WaitGroup
	searches.Go(func() { expectWalruses(t, s, "large", 2) })
	large.await(t)
	expectWalruses(t, s, "small", 1)
	large.release()
	searches.Wait()
	if n := large.parts.Load(); n != 1 {
		t.Errorf("%d parts were read; what changed is one", n)
	}
}

// Two searches at once in two spaces, as while one generation of vectors gives way to the next,
// both end.
func TestSearchesInTwoSpacesEnd(t *testing.T) {
	t.Parallel()
	s, held := openHeld(t, filled(t), "none", Options{})
	held.release()
	ctx, stop := context.WithTimeout(t.Context(), longest)
	defer stop()
	var searches sync.WaitGroup
	for i := range 16 {
		searches.Go(func() {
			space := loci.Space{Model: fmt.Sprint("m", i%2), Dims: 8}
			probe := loci.Probe{Text: "walrus", Vector: make([]float32, 8), Space: space}
			hits, err := s.Match(ctx, testTenant, probe, loci.Filter{Within: []loci.Namespace{{}}}, 10)
			if err != nil || len(hits) != 2 {
				t.Errorf("%d hits, %v", len(hits), err)
			}
		})
	}
	searches.Wait()
}

// Few shards are loaded at once, however many tenants ask.
func TestLoadsAreBoundedInNumber(t *testing.T) {
	t.Parallel()
	s, err := Open(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var now, most, begun atomic.Int64
	hold := make(chan struct{})
	s.reading = func(index.Key) {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		begun.Add(1)
		<-hold
		now.Add(-1)
	}
	var searches sync.WaitGroup
	tenants := 4 * cap(s.loaders)
	for i := range tenants {
		tenant, err := loci.NewTenant(fmt.Sprint("t", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Apply(t.Context(), tenant, note("a walrus")); err != nil {
			t.Fatal(err)
		}
		searches.Go(func() {
			hits, err := s.Match(t.Context(), tenant, loci.Probe{Text: "walrus"}, loci.Filter{Within: []loci.Namespace{{}}}, 1)
			if err != nil || len(hits) != 1 {
				t.Errorf("%d hits, %v", len(hits), err)
			}
		})
	}
	for deadline := time.Now().Add(longest); begun.Load() < int64(cap(s.loaders)); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Error("no load began")
			break
		}
	}
	close(hold)
	searches.Wait()
	if n := most.Load(); n > int64(cap(s.loaders)) {
		t.Errorf("%d loads at once; at most %d are allowed", n, cap(s.loaders))
	}
}

// Large texts are read in parts of some bytes, not all at once, and none is left out.
func TestLargeTextsAreReadInParts(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openFile(t, path)
	for range 6 {
		save(t, s, strings.Repeat(" ", loadBytes/4)+"walrus")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, read := openHeld(t, path, "u", Options{})
	read.release()
	expectWalruses(t, s, "u", 6)
	if n := read.parts.Load(); n != 2 {
		t.Errorf("they were read in %d parts, want 2", n)
	}
}
