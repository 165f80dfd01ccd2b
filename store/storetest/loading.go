package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
)

// Loading says how to open stores on one empty place whose loads of the index can be held.
type Loading struct {
	// Open opens a store that reads part records of a shard of the index at a time. reading is called
	// before each, with the key of the shard's namespace; idle waits until nothing is loaded.
	Open func(t *testing.T, part int, reading func(namespace string)) (s loci.Store, idle func())

	// Far is of how many changed records a shard is brought up to date beside the searches of
	// others; 0: that is not tried.
	Far int
}

// RunLoading proves that a shard of the index is loaded beside the searches and writes of others:
// once, for as long as somebody waits for it. open is called for each of the tests.
func RunLoading(t *testing.T, open func(t *testing.T) Loading) {
	for name, run := range map[string]func(*loader){
		"nobody waits for the index of another":   (*loader).nobodyWaits,
		"a shard is loaded once":                  (*loader).loadedOnce,
		"a load goes on where it was":             (*loader).goesOn,
		"a load ends with the last who waits":     (*loader).endsWithTheLast,
		"nobody waits for the changes of another": (*loader).farBehind,
		"searches in two spaces end":              (*loader).twoSpaces,
		"few are loaded at once":                  (*loader).bounded,
	} {
		t.Run(name, func(t *testing.T) {
			l := &loader{T: t, Loading: open(t), entered: make(chan struct{}, 10_000), hold: make(chan struct{})}
			l.tenant = tenantNamed(t, "loads")
			l.store, l.idle = l.Open(t, partOfLoads, func(namespace string) {
				if held, _ := l.of.Load().(string); held == namespace {
					l.parts.Add(1)
					now := l.now.Add(1)
					for old := l.most.Load(); now > old && !l.most.CompareAndSwap(old, now); old = l.most.Load() {
					}
					l.entered <- struct{}{}
					<-l.hold
					l.now.Add(-1)
				}
			})
			t.Cleanup(l.release)
			l.save("small", 10)
			l.save("large", severalParts)
			l.hide("large")
			run(l)
		})
	}
}

const (
	partOfLoads  = 20
	severalParts = 2*partOfLoads + 5
	allParts     = 3

	// longestLoad is how long a test waits for what should take a moment.
	longestLoad = time.Minute
)

// A loader is a store whose loads of one namespace are counted and held.
type loader struct {
	*testing.T
	Loading
	tenant loci.Tenant
	store  loci.Store
	idle   func()

	of      atomic.Value // the namespace
	parts   atomic.Int64
	now     atomic.Int64  // that are read at this moment
	most    atomic.Int64  // that were, at any
	entered chan struct{} // told of each part that is held
	hold    chan struct{} // once closed, nothing is
	once    sync.Once
}

func tenantNamed(t *testing.T, name string) loci.Tenant {
	tn, err := loci.NewTenant(name)
	if err != nil {
		t.Fatal(err)
	}
	return tn
}

func (l *loader) hide(label string) { l.of.Store(loci.Namespace{label}.Key()) }

func (l *loader) release() { l.once.Do(func() { close(l.hold) }) }

// await waits until a part is held.
func (l *loader) await() {
	l.Helper()
	select {
	case <-l.entered:
	case <-time.After(longestLoad):
		l.Fatal("nothing was read")
	}
}

// save saves records in a namespace, of which the last one speaks of a walrus.
func (l *loader) save(label string, n int) (walrus loci.ID) {
	l.Helper()
	var c loci.Change
	in := loci.Namespace{label}
	for i := range n {
		text := fmt.Sprint("a note on ", i)
		if i == n-1 {
			text = "a walrus"
		}
		r := loci.Record{
			ID: loci.NewID(), Kind: "fact", Namespace: in, Version: 1, Live: true,
			CreatedAt: time.UnixMilli(1), UpdatedAt: time.UnixMilli(1),
			Text: text, Passages: []loci.Span{{End: len(text)}},
		}
		c.Put, walrus = append(c.Put, loci.Put{Record: r}), r.ID
	}
	c.Events = []loci.Event{{ID: loci.NewID(), Type: loci.EventCreated, Entity: walrus, Namespace: in}}
	if err := l.store.Apply(l.Context(), l.tenant, c); err != nil {
		l.Fatal(err)
	}
	return walrus
}

// walruses searches a namespace and returns how many hits there are.
func (l *loader) walruses(ctx context.Context, label string) (int, error) {
	ctx, stop := context.WithTimeout(ctx, longestLoad)
	defer stop()
	where := loci.Filter{Within: []loci.Namespace{{label}}, Exact: true}
	hits, err := l.store.Match(ctx, l.tenant, loci.Probe{Text: "walrus"}, where, 10)
	return len(hits), err
}

func (l *loader) expect(label string, want int) {
	l.Helper()
	if n, err := l.walruses(l.Context(), label); n != want || err != nil {
		l.Errorf("%s: %d hits, %v; want %d", label, n, err, want)
	}
}

func (l *loader) expectParts(want int64) {
	l.Helper()
	if n := l.parts.Load(); n != want {
		l.Errorf("%d parts were read; want %d", n, want)
	}
}

// While the index of one namespace is loaded, searches and writes in others go on, also where
// these are loaded meanwhile.
func (l *loader) nobodyWaits() {
	l.expect("small", 1)
	var searches sync.WaitGroup
	for range 2 { // the second one joins the first
		searches.Go(func() { l.expect("large", 2) })
	}
	l.await()
	l.expect("small", 1)
	for i := range 3 {
		l.save("small", 1)
		l.expect("small", 2+i)
	}
	l.save("other", 5)
	l.expect("other", 1) // which is loaded meanwhile
	l.expectParts(1)
	l.save("large", 1) // what is read later has it, too
	l.release()
	searches.Wait()
	l.expectParts(allParts)
}

// However many searches wait for a shard, it is read once.
func (l *loader) loadedOnce() {
	var searches sync.WaitGroup
	for range 16 {
		searches.Go(func() { l.expect("large", 1) })
	}
	l.await()
	l.release()
	searches.Wait()
	l.expectParts(allParts)
}

// A search that gives up ends the load. The next one goes on where the load stopped, and finds
// what has changed in between.
func (l *loader) goesOn() {
	ctx, giveUp := context.WithCancel(l.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := l.walruses(ctx, "large")
		ended <- err
	}()
	l.await()
	l.hold <- struct{}{} // which found out that there are several
	l.await()
	giveUp()
	l.gaveUp(ended)
	l.hold <- struct{}{}
	l.idle()
	l.expectParts(2)

	second, _ := l.Open(l.T, partOfLoads, func(string) {}) // another server
	where := loci.Filter{Within: []loci.Namespace{{"large"}}, Exact: true}
	found, err := second.Match(l.Context(), l.tenant, loci.Probe{Text: "walrus"}, where, 1)
	if err != nil || len(found) != 1 {
		l.Fatal(found, err)
	}
	erase := loci.Change{Erase: []loci.Erase{{ID: found[0].ID, Version: found[0].Version}}}
	if err := second.Apply(l.Context(), l.tenant, erase); err != nil {
		l.Fatal(err)
	}
	l.save("large", 1)
	l.save("large", 1)
	l.release()
	l.expect("large", 2)
	l.expectParts(allParts)
}

// gaveUp waits for a search that gave up.
func (l *loader) gaveUp(ended <-chan error) {
	l.Helper()
	select {
	case err := <-ended:
		if loci.AsError(err).Code != loci.Unavailable {
			l.Errorf("a search that gave up ends with %v", err)
		}
	case <-time.After(longestLoad):
		l.Fatal("a search that gave up still waits")
	}
}

// Of two that wait for one load one may give up; when both did, it ends.
func (l *loader) endsWithTheLast() {
	first, leave := context.WithCancel(l.Context())
	second, leaveToo := context.WithCancel(l.Context())
	ended := make(chan error, 2)
	for _, ctx := range []context.Context{first, second} {
		go func() {
			_, err := l.walruses(ctx, "large")
			ended <- err
		}()
	}
	l.await()
	leave()
	l.gaveUp(ended)
	l.hold <- struct{}{}
	l.await() // the load goes on
	leaveToo()
	l.gaveUp(ended)
	l.hold <- struct{}{}
	l.idle()
	l.expectParts(2)
}

// When another server has changed much, the index is brought up to date beside the searches of
// others.
func (l *loader) farBehind() {
	if l.Far == 0 {
		l.Skip("it takes this server long to save so much")
	}
	l.hide("none")
	l.expect("large", 1)
	l.expect("small", 1)
	l.hide("large")
	l.save("large", l.Far+1)
	l.expect("small", 1)
	var searches sync.WaitGroup
	searches.Go(func() { l.expect("large", 2) })
	l.await()
	l.expect("small", 1)
	l.release()
	searches.Wait()
	l.expectParts(1)
}

// Searches in two spaces at once, as while one generation of vectors gives way to the next, end.
func (l *loader) twoSpaces() {
	l.release()
	var searches sync.WaitGroup
	for i := range 8 {
		searches.Go(func() {
			space := loci.Space{Model: fmt.Sprint("m", i%2), Dims: 8}
			probe := loci.Probe{Text: "walrus", Vector: make([]float32, 8), Space: space}
			ctx, stop := context.WithTimeout(l.Context(), longestLoad)
			defer stop()
			hits, err := l.store.Match(ctx, l.tenant, probe, loci.Filter{Within: []loci.Namespace{{}}}, 10)
			if err != nil || len(hits) != 2 {
				l.Errorf("%d hits, %v", len(hits), err)
			}
		})
	}
	searches.Wait()
}

// Few shards are read at once, however many tenants ask.
func (l *loader) bounded() {
	turns, own := max(2, cores.Usable()), l.tenant
	l.expect("small", 1)
	var searches sync.WaitGroup
	for i := range 3 * turns {
		l.tenant = tenantNamed(l.T, fmt.Sprint("one of ", i))
		l.save("large", 1)
		tenant := l.tenant
		searches.Go(func() {
			where := loci.Filter{Within: []loci.Namespace{{}}}
			hits, err := l.store.Match(l.Context(), tenant, loci.Probe{Text: "walrus"}, where, 10)
			if len(hits) != 1 || err != nil {
				l.Errorf("%d hits, %v", len(hits), err)
			}
		})
	}
	for range turns {
		l.await()
	}
	l.tenant = own
	for range 100 { // meanwhile more would begin
		l.expect("small", 1)
	}
	l.release()
	searches.Wait()
	if n := l.most.Load(); n > int64(turns) {
		l.Errorf("%d were read at once; at most %d may be", n, turns)
	}
}
