package follow

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/aside"
	"github.com/loci-memory/loci/store/internal/index"
)

// What is written is searched sooner or later, and the first search of a large shard would read all of it. So the
// server that writes much makes its image, though nobody searches (docs/adr/0185): in an Index of its own, by the
// load of a search. The next search takes up the image, on whatever server. A pass ends when a search of the tenant
// loads something, and comes again later.

// keeping is what waits for that.
type keeping struct {
	mu      sync.Mutex
	came    map[index.Key]came
	images  map[index.Key]bool // of which this process has made one
	kinds   map[loci.Kind]came // what came of shards of which it has made none
	groups  []*group           // as of the latest pass
	timer   *time.Timer        // starts a pass
	latest  time.Time          // when it starts though more is written
	running bool
	done    chan struct{}      // closed when the pass under way has ended; nil: there was none
	cancel  context.CancelFunc // of that
}

// came is what came of a shard since its image was made.
type came struct{ records, bytes int }

const (
	// keepPause is how long nothing is written before a pass. An import over HTTP comes in parts.
	keepPause = time.Second

	// maxKeepPauses is for how many pauses writes that follow one another put the pass off.
	maxKeepPauses = 30

	// keptBytes of texts are worth an image, however few records they are.
	keptBytes = 1 << 20

	// maxCame bounds the shards of which it is counted what came.
	maxCame = 1024
)

// much reports whether so much came that an image is made: more where there is one, since small segments are merged
// with what came, and written again.
func (s *Shelf) much(c came, again bool) bool {
	if again {
		return c.records >= max(s.From, s.Book/4) || c.bytes >= 4*keptBytes
	}
	return c.records >= s.From || c.bytes >= keptBytes
}

// Brought counts what a change of this process brought, and has an image made a moment later where that is much;
// search is how to read the tenant then.
func (x *Index) Brought(s *Shelf, c *loci.Change, search func() *Search) {
	if s == nil || len(c.Put) == 0 {
		return
	}
	k := &x.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.came == nil || len(k.came) > maxCame {
		k.came, k.images = map[index.Key]came{}, map[index.Key]bool{}
	}
	if k.kinds == nil {
		k.kinds = map[loci.Kind]came{}
	}
	much := k.timer != nil
	for i := range c.Put {
		if r := &c.Put[i].Record; r.Live && len(r.Passages) > 0 {
			key := index.KeyOf(r)
			if g := k.groupOf(key); g != nil {
				key = g.Key
			}
			k.came[key] = k.came[key].and(r)
			much = much || s.much(k.came[key], k.images[key])
			if !k.images[key] { // small ones may be much together
				k.kinds[r.Kind] = k.kinds[r.Kind].and(r)
				much = much || s.much(k.kinds[r.Kind], false)
			}
		}
	}
	if much {
		x.keepLater(s.KeepPause, search)
	}
}

// and is what came with one record more.
func (c came) and(r *loci.Record) came { return came{c.records + 1, c.bytes + len(r.Text)} }

func (k *keeping) groupOf(key index.Key) *group {
	for _, g := range k.groups {
		if g.Has(key) {
			return g
		}
	}
	return nil
}

// keepLater puts off the pass that is to come, or has one come. The caller holds the lock.
func (x *Index) keepLater(pause time.Duration, search func() *Search) {
	k, now := &x.keeping, time.Now()
	switch {
	case k.timer == nil:
		k.latest = now.Add(maxKeepPauses * pause)
		k.timer = time.AfterFunc(pause, func() { x.startKeeping(search, false) })
	case now.Add(pause).Before(k.latest):
		k.timer.Reset(pause)
	}
}

// startKeeping begins a pass, unless one is under way; done is closed when it has ended.
func (x *Index) startKeeping(search func() *Search, all bool) (done <-chan struct{}) {
	k, q := &x.keeping, search()
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.timer != nil {
		k.timer.Stop()
		k.timer = nil
	}
	if k.running {
		return k.done
	}
	ctx, cancel := context.WithCancel(q.Crew.Context())
	k.running, k.done, k.cancel = true, make(chan struct{}), cancel
	done = k.done
	run := func() (more bool) {
		err := x.keepNow(ctx, q, all)
		left := ctx.Err() != nil && q.Crew.Context().Err() == nil
		cancel()
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.running = false; left {
			x.keepLater(q.Shelf.KeepPause, search)
		} else if err != nil && q.Crew.Context().Err() == nil {
			q.Shelf.warn("keep the index in the database", err)
		}
		close(k.done)
		return false
	}
	if !q.Crew.Run(run) {
		k.running = false
		cancel()
		close(k.done)
	}
	return done
}

// KeepNow makes the images for which enough came, and returns when that is done, or left to a search.
func (x *Index) KeepNow(ctx context.Context, search func() *Search) error {
	select {
	case <-x.startKeeping(search, true):
		return nil
	case <-ctx.Done():
		return loci.AsError(ctx.Err())
	}
}

// leave ends the pass under way: a search loads.
func (k *keeping) leave() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.running {
		k.cancel()
	}
}

// keepNow is a pass. all: also of what the index of the process has, whose searches need no image.
func (x *Index) keepNow(ctx context.Context, q *Search, all bool) error {
	if q.Shelf == nil {
		return nil
	}
	select {
	case q.Shelf.keepers <- struct{}{}:
		defer func() { <-q.Shelf.keepers }()
	case <-ctx.Done():
		return ctx.Err()
	}
	k := &x.keeping
	due, err := k.due(ctx, q)
	if err != nil {
		return err
	}
	for key, n := range due {
		if !all && x.has(key) {
			continue
		}
		err := keepApart(ctx, q, key)
		var short *loci.Error
		if errors.As(err, &short) && short.Code == loci.TooLarge {
			err = nil // a search says so
		}
		if err != nil {
			return err
		}
		k.mu.Lock()
		rest := k.came[key]
		rest.records, rest.bytes = rest.records-n.records, rest.bytes-n.bytes
		k.came[key], k.images[key] = rest, true
		k.mu.Unlock()
	}
	return nil
}

// due plans groups, if it is time, and lists of what so much came that an image is made.
func (k *keeping) due(ctx context.Context, q *Search) (due map[index.Key]came, err error) {
	k.mu.Lock()
	kinds := maps.Clone(k.kinds)
	k.mu.Unlock()
	var groups []*group
	var lacking map[index.Key]bool
	if len(kinds) > 0 {
		if err = q.Shelf.replan(ctx, q.Tenant); err != nil && !errors.Is(err, ErrMoved) {
			return nil, err
		}
		if groups, lacking, err = q.Shelf.groupsNow(ctx, q.Tenant); err != nil {
			return nil, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	due = map[index.Key]came{}
	for key, n := range k.came {
		if q.Shelf.much(n, k.images[key]) {
			due[key] = n
		}
	}
	for _, g := range groups {
		// What came before this process knew of a group was counted by its kind.
		if n, known := k.came[g.Key]; lacking[g.Key] || !known && q.Shelf.much(kinds[g.Key.Kind], true) {
			due[g.Key] = n
		}
	}
	if len(kinds) > 0 {
		k.groups = groups
	}
	for kind, n := range kinds {
		left := k.kinds[kind]
		k.kinds[kind] = came{left.records - n.records, left.bytes - n.bytes}
	}
	return due, nil
}

// has reports whether the index has a shard.
func (x *Index) has(key index.Key) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.index != nil && x.index.HasShard(key)
}

// keepApart makes the image of a shard in an index of its own, if three quarters of what indexes may take are enough:
// nobody makes room for it.
func keepApart(ctx context.Context, q *Search, key index.Key) error {
	one, p := new(Index), *q
	others := q.Trim(one)
	p.apart, p.Probe, p.Limit = true, loci.Probe{Text: "a"}, 1
	p.Filter = loci.Filter{
		Within: []loci.Namespace{loci.NamespaceFromKey(key.Namespace)}, Exact: !key.Above, Kinds: []loci.Kind{key.Kind},
	}
	if key.Above {
		p.only = &key
	}
	p.Budget -= p.Budget / 4
	p.Trim = func(at *Index) int64 { return others + at.Bytes() }
	p.Begin()
	_, err := one.MatchAfter(ctx, &p)
	if errors.Is(err, aside.ErrAgain) {
		return nil
	}
	return err
}
