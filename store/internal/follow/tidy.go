package follow

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
)

// What is erased is found by no search at once, since each follows the list of changes, and no
// server takes up a segment that may hold it. Behind the answer the segments that do hold it
// are made again without it: by the server that erased it, or, if that is gone, by the next one
// that does the tenant's upkeep.

// tidyPause is a pause of tidying: for more erases to come, since it costs what the segments hold, not what
// is erased; and after another server was quicker.
const tidyPause = time.Second

// copyPause is how often a server looks whether the copies that it has are still good, if no
// search does.
var copyPause = 5 * time.Minute

// tidying is what waits for it.
type tidying struct {
	mu      sync.Mutex
	due     map[loci.Tenant]time.Time
	closed  bool
	wake    chan struct{}
	running sync.WaitGroup
	started bool
}

func (y *tidying) init() { y.due, y.wake = map[loci.Tenant]time.Time{}, make(chan struct{}, 1) }

func (y *tidying) close() {
	y.mu.Lock()
	y.closed = true
	y.mu.Unlock()
	y.running.Wait()
}

// Tidy asks for a look at the images of a tenant of which something was erased, a moment later.
func (s *Shelf) Tidy(t loci.Tenant) { s.tidyAfter(t, s.Pause) }

func (s *Shelf) tidyAfter(t loci.Tenant, after time.Duration) {
	if s == nil {
		return
	}
	y := &s.tidying
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.closed {
		return
	}
	at := time.Now().Add(after)
	if have, ok := y.due[t]; ok && have.Before(at) {
		return
	}
	y.due[t] = at
	if !y.started {
		y.started = true
		y.running.Go(s.tidier)
	}
	select {
	case y.wake <- struct{}{}:
	default:
	}
}

// next is the tenant that is looked at first, and in how long.
func (y *tidying) next() (t loci.Tenant, in time.Duration, some bool) {
	y.mu.Lock()
	defer y.mu.Unlock()
	var first time.Time
	for other, at := range y.due {
		if !some || at.Before(first) {
			t, first, some = other, at, true
		}
	}
	if in = time.Until(first); some && in <= 0 {
		delete(y.due, t)
	}
	return t, in, some
}

func (s *Shelf) tidier() {
	cores.GiveWay()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		t, in, some := s.tidying.next()
		if some && in <= 0 {
			s.tidyOne(t)
			continue
		}
		if !some {
			in = time.Hour
		}
		timer.Reset(in)
		select {
		case <-s.ctx.Done():
			return
		case <-s.tidying.wake:
		case <-timer.C:
		}
	}
}

// tidyOne tidies a tenant and asks for another look where there is more to do.
func (s *Shelf) tidyOne(t loci.Tenant) {
	more, err := s.TidyNow(s.ctx, t)
	switch {
	case err == nil && (more || s.hasCopies(t)):
		s.tidyAfter(t, copyPause)
	case errors.Is(err, ErrMoved):
		s.tidyAfter(t, s.Pause)
	case err != nil && s.ctx.Err() == nil:
		s.warn("take erased memories out of the index that is kept in the database", err)
		s.tidyAfter(t, pause)
	}
}

// A Finding is what waits to be tidied of a tenant.
type Finding struct {
	Stale  int // segments that may hold what was erased
	Strays int // segments that no image names
}

// pending is what a look at the images of a tenant brings.
type pending struct {
	st     *batch.State
	images []*Image
	gone   []Gone
}

func (s *Shelf) look(ctx context.Context, t loci.Tenant) (p pending, err error) {
	err = s.Table.Read(ctx, t, func(r ImageSource) error {
		p = pending{}
		if p.st, err = r.State(); err != nil {
			return err
		}
		if err := r.Images(nil, func(m *Image) { p.images = append(p.images, m) }); err != nil || len(p.images) == 0 {
			return err
		}
		p.gone, err = readGone(r, p.images)
		return err
	})
	return p, err
}

// named are the names of the segments of all images.
func (p *pending) named() (names []string) {
	for _, m := range p.images {
		names = append(names, m.Names()...)
	}
	return names
}

// Look says what waits to be tidied of a tenant.
func (s *Shelf) Look(ctx context.Context, t loci.Tenant) (f Finding, err error) {
	p, err := s.look(ctx, t)
	if err != nil {
		return f, err
	}
	for _, m := range p.images {
		for i := range m.Segments {
			if !m.of(p.st) || m.stale(&m.Segments[i], p.gone, p.st) {
				f.Stale++
			}
		}
	}
	err = s.Table.Strays(ctx, t, p.named(), func(_ string, old bool) {
		if old {
			f.Strays++
		}
	})
	return f, err
}

// TidyNow makes segments of a tenant again that hold what was erased, and removes pieces that
// no image names; more: there are some that somebody may be writing. A file that is cut while it is read is an error.
func (s *Shelf) TidyNow(ctx context.Context, t loci.Tenant) (more bool, err error) {
	fault, err := files.Faultless(func() (err error) {
		more, err = s.tidyAll(ctx, t)
		return err
	})
	return more, errors.Join(fault, err)
}

func (s *Shelf) tidyAll(ctx context.Context, t loci.Tenant) (more bool, err error) {
	p, err := s.look(ctx, t)
	if err != nil {
		return false, err
	}
	for _, m := range p.images {
		if err := s.tidyImage(ctx, t, &p, m); err != nil {
			return false, err
		}
	}
	s.dropOthers(t, p.named())
	var old []string
	if err := s.Table.Strays(ctx, t, p.named(), func(name string, isOld bool) {
		if more = more || !isOld; isOld {
			old = append(old, name)
		}
	}); err != nil || len(old) == 0 {
		return more, err
	}
	return more, s.Table.Remove(ctx, t, old)
}

// hasCopies reports whether the folder may have segments of a tenant.
func (s *Shelf) hasCopies(t loci.Tenant) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.copies[t]) > 0
}

// dropOthers removes the copies of segments of a tenant that no image names: another server has
// made them again without what was erased.
func (s *Shelf) dropOthers(t loci.Tenant, named []string) {
	keep := map[string]bool{}
	for _, name := range named {
		keep[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.copies[t] {
		if !keep[name] {
			s.drop(name)
			delete(s.copies[t], name)
		}
	}
	if len(s.copies[t]) == 0 {
		delete(s.copies, t)
	}
}

// noteCopy remembers whose segment it is that the folder has.
func (s *Shelf) noteCopy(t loci.Tenant, name string) {
	s.mu.Lock()
	if s.copies[t] == nil {
		s.copies[t] = map[string]bool{}
	}
	s.copies[t][name] = true
	s.mu.Unlock()
	s.tidyAfter(t, copyPause)
}

// tidyImage makes the segments of an image again that hold what was erased.
func (s *Shelf) tidyImage(ctx context.Context, t loci.Tenant, p *pending, m *Image) error {
	if m.Shard == planShard && m.plan(p.st) != nil {
		return nil
	}
	if !m.of(p.st) || m.Seq > p.st.Seq || m.Seq < p.st.Floor || !m.readable() || p.unplanned(m) { // nobody can take it up
		return s.dropImage(ctx, t, p, m)
	}
	next := *m
	next.Segments, next.Mark = nil, newMark()
	var fresh []*book
	changed := false
	for _, k := range m.Segments {
		switch {
		case k.Wiped < p.st.Floor:
			return s.dropImage(ctx, t, p, m) // what was erased since is forgotten
		case !m.stale(&k, p.gone, p.st):
		default:
			changed = true
			b, err := s.without(ctx, t, p, m, &k)
			if errors.Is(err, errDamaged) {
				return s.dropImage(ctx, t, p, m)
			}
			if err != nil {
				return err
			}
			if b == nil {
				continue // nothing is left of it
			}
			if b.Name != k.Name {
				fresh = append(fresh, b)
			}
			k = b.Kept
		}
		next.Segments = append(next.Segments, k)
	}
	if !changed {
		return nil
	}
	if len(next.Segments) == 0 {
		return s.dropImage(ctx, t, p, m)
	}
	err := s.upload(ctx, t, p.st.NameKey, fresh)
	if err == nil {
		err = s.replace(ctx, t, p.st.NameKey, m, &next)
	}
	if err != nil {
		s.failed(ctx, t, "take erased memories out of the index", err, fresh)
		return err
	}
	m.Segments = next.Segments // what is there now, for the look at strays
	return nil
}

func (s *Shelf) dropImage(ctx context.Context, t loci.Tenant, p *pending, m *Image) error {
	return s.replace(ctx, t, p.st.NameKey, m, nil)
}

// errDamaged says that a segment cannot be read.
var errDamaged = errors.New("a segment cannot be read")

// without makes a segment again without what was erased, on the heap; nil: nothing is left. If
// none of it is in the segment, that stays as it is.
func (s *Shelf) without(ctx context.Context, t loci.Tenant, p *pending, m *Image, k *Kept) (*book, error) {
	o := originOf(p.st.NameKey, m.Shard, m.space())
	g, b, err := s.find(k.Name, o, true)
	if err != nil {
		var data []byte
		if err := s.Table.Read(ctx, t, func(r ImageSource) error {
			data = nil
			if _, err := r.State(); err != nil {
				return err
			}
			return r.Pieces([]string{k.Name}, func(_ string, piece []byte) { data = append(data, piece...) })
		}); err != nil {
			return nil, err
		}
		if g, b, err = s.onHeap(k.Name, data, o); err != nil {
			return nil, errDamaged
		}
	}
	if g.Sum != k.Sum {
		return nil, errDamaged
	}
	var held []loci.ID
	for _, gone := range p.gone {
		if !m.held(&gone) || gone.Seq <= k.Wiped {
			continue
		}
		if _, found := g.Find(gone.ID); found {
			held = append(held, gone.ID)
		}
	}
	if len(held) == 0 {
		kept := *b
		kept.Kept = *k
		kept.Wiped = p.st.Seq
		return &kept, nil
	}
	data := index.Without(g, k.Gone, held, index.Key{Kind: m.Shard.Kind, Above: m.Shard.Namespace < 0}, m.space(), o)
	runtime.KeepAlive(b)
	if data == nil {
		return nil, nil
	}
	_, fresh, err := s.onHeap(hex.EncodeToString(newMark()), data, o)
	if err != nil {
		return nil, err
	}
	fresh.Wiped = p.st.Seq
	return fresh, nil
}

// Sentence says what waits, for the operator; "" for nothing.
func (f Finding) Sentence(t loci.Tenant) string {
	switch {
	case f.Stale > 0:
		return fmt.Sprintf("the search index of tenant %q that the database keeps may hold erased memories, in %d of its segments: "+
			"no search takes them up, and a server makes them again without these", t.String(), f.Stale)
	case f.Strays > 0:
		return fmt.Sprintf("%d segments of tenant %q are left of an index that was not finished: a server removes them",
			f.Strays, t.String())
	}
	return ""
}
