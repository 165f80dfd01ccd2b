package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
)

// What is erased is found by no search at once, since each follows the file. The segments
// that hold it are made again without it, behind the answer and many erases at a time; a
// process that ends before that leaves it to the next one that opens the file.

// tidier does that, one pass for all that waits.
type tidier struct {
	tidyMu  sync.Mutex
	running bool
	again   bool
	stopped bool
	done    chan struct{} // closed when nothing is left to do
	hurry   chan struct{} // closed when nobody waits for more to come
	ctx     context.Context
	cancel  context.CancelFunc
}

func (t *tidier) init() {
	t.hurry = make(chan struct{})
	t.ctx, t.cancel = context.WithCancel(context.Background())
	t.done = make(chan struct{})
	close(t.done)
}

// Pauses of the tidier: for more erases to come, since a pass costs what the segments hold,
// not what is erased; and for another process to let go.
const (
	tidyPause = time.Second
	tidyRetry = 200 * time.Millisecond
)

// startTidy asks for a pass, a moment later.
func (f *file) startTidy() { f.tidyAfter(tidyPause) }

func (f *file) tidyAfter(pause time.Duration) {
	t := &f.shelf.tidier
	t.tidyMu.Lock()
	defer t.tidyMu.Unlock()
	if t.running || t.stopped {
		t.again = true
		return
	}
	t.running, t.done = true, make(chan struct{})
	go f.runTidy(pause)
}

func (f *file) runTidy(pause time.Duration) {
	t := &f.shelf.tidier
	cores.GiveWay()
	for {
		t.pause(pause)
		fault, err := files.Faultless(func() error { return f.tidy(t.ctx) })
		if fault != nil {
			err = fault
		}
		if err != nil && t.ctx.Err() == nil && !errors.Is(err, errMoved) && !errors.Is(err, errHeld) {
			f.logError("take erased memories out of the kept index", err)
		}
		t.tidyMu.Lock()
		if errors.Is(err, errMoved) || errors.Is(err, errHeld) {
			t.again = !t.stopped // the next process goes on
		} else if err != nil {
			t.again = false // the next erase, or the next process, tries again
		}
		if !t.again || t.ctx.Err() != nil {
			t.running = false
			close(t.done)
			t.tidyMu.Unlock()
			return
		}
		t.again = false
		t.tidyMu.Unlock()
		pause = tidyPauseAfter(err)
	}
}

// tidyPauseAfter is how long the tidier waits behind a pass: another process lets go soon.
func tidyPauseAfter(err error) time.Duration {
	if errors.Is(err, errHeld) {
		return tidyRetry
	}
	return tidyPause
}

// pause waits, unless the file is about to be closed.
func (t *tidier) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.hurry:
	}
}

// awaitTidy waits until nothing is left to do.
func (f *file) awaitTidy(ctx context.Context) error {
	f.shelf.tidyMu.Lock()
	done := f.shelf.done
	f.shelf.tidyMu.Unlock()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop waits a moment for what is under way; the next process goes on.
func (t *tidier) stop() {
	t.tidyMu.Lock()
	if !t.stopped {
		close(t.hurry)
	}
	t.stopped = true
	done := t.done
	t.tidyMu.Unlock()
	timer := time.NewTimer(scrubPatience)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
	t.cancel()
	<-done
}

// errHeld says that another process writes to the folder.
var errHeld = errors.New("another process keeps the index")

// tidy looks through all manifests, and through the folder.
func (f *file) tidy(ctx context.Context) error {
	f.search.loading.Spoil((*load).shelved)
	all, key, err := f.manifests(ctx)
	if err != nil {
		return err
	}
	if all, err = f.dropUnplanned(ctx, all); err != nil {
		return err
	}
	marks := map[string]bool{}
	for i := range all {
		if err := f.tidyShard(ctx, &all[i], key); err != nil {
			return err
		}
		marks[all[i].mark()] = true
	}
	maps.DeleteFunc(f.shelf.clean, func(mark string, _ int64) bool { return !marks[mark] })
	return f.sweepShelf(ctx)
}

// sweepShelf removes the files that belong to no manifest.
func (f *file) sweepShelf(ctx context.Context) error {
	found, err := f.strays(ctx)
	if err != nil || len(found) == 0 {
		return err
	}
	if !f.shelf.hold() {
		return f.shelf.whyNot()
	}
	defer f.shelf.drop()
	if found, err = f.strays(ctx); err != nil { // as it is now, when nobody adds any
		return err
	}
	f.shelf.discard(found...)
	return nil
}

// strays lists the segments that no manifest names. The folder is looked at before the manifests are: a segment that a
// load makes and names meanwhile is in these, or not in the list.
func (f *file) strays(ctx context.Context) ([]string, error) {
	found, err := f.shelf.settled()
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if f.shelf.between != nil {
		f.shelf.between()
	}
	all, _, err := f.manifests(ctx)
	if err != nil {
		return nil, err
	}
	named := map[string]bool{}
	for i := range all {
		for _, name := range all[i].names() {
			named[name] = true
		}
	}
	return slices.DeleteFunc(found, func(name string) bool { return named[name] }), nil
}

// whyNot is why the folder cannot be used.
func (s *shelf) whyNot() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trouble != nil {
		return s.trouble
	}
	return errHeld
}

// tidyShard makes segments of a shard again that hold what is erased.
func (f *file) tidyShard(ctx context.Context, m *manifest, key loci.NameKey) error {
	mark := m.mark()
	held, seq, err := f.erasedIn(ctx, m, key, f.shelf.clean[mark])
	if err != nil {
		return err
	}
	if !held.useless && len(held.books) == 0 {
		f.shelf.clean[mark] = seq
		return nil
	}
	if !f.shelf.hold() {
		return f.shelf.whyNot()
	}
	defer f.shelf.drop()
	delete(f.shelf.clean, mark)
	if held.useless {
		if err := f.dropManifest(ctx, m); err != nil {
			return err
		}
		f.shelf.discard(m.names()...)
		return nil
	}
	next := *m
	next.Segments, next.Wiped = nil, seq
	var fresh, old []string
	for i, k := range m.Segments {
		if g := held.books[i]; g != nil {
			old = append(old, k.Name)
			k, err = f.without(g, k, held.ids, m, key)
			if err != nil {
				f.shelf.discard(fresh...)
				return err
			}
			if k.Name == "" {
				continue // nothing is left of it
			}
			fresh = append(fresh, k.Name)
		}
		next.Segments = append(next.Segments, k)
	}
	if err := f.putManifest(ctx, m, &next); err != nil {
		f.shelf.discard(fresh...)
		return err
	}
	f.shelf.keep(fresh)
	f.shelf.discard(old...)
	return nil
}

// holding is what is erased and still in segments.
type holding struct {
	useless bool // the segments cannot be used, or it is not known what is to be taken out
	ids     []loci.ID
	books   map[int]*opened // by number
}

// opened is a segment that is looked at.
type opened struct {
	*segment.Segment
	*book
}

// erasedIn looks for what was erased, up to a state of the file, in the segments of a shard.
func (f *file) erasedIn(
	ctx context.Context, m *manifest, key loci.NameKey, clean int64,
) (h holding, seq int64, err error) {
	var floor, dropped int64
	const state = `SELECT (SELECT value FROM meta WHERE key = 'seq'), (SELECT value FROM meta WHERE key = 'erased_floor'),
		coalesce((SELECT dropped FROM space WHERE model = ? AND dims = ?), 0)`
	if err := f.readRow(ctx, state, []any{m.Model, m.Dims}, &seq, &floor, &dropped); err != nil {
		return h, 0, err
	}
	if m.Seq > seq || m.Wiped < floor || m.Seq < max(floor, dropped) {
		h.useless = true
		return h, seq, nil
	}
	in, args := m.shard.within("namespace")
	err = f.readRows(ctx, "SELECT id FROM erased WHERE seq > ? AND "+in, append([]any{max(m.Wiped, clean)}, args...),
		func(rows *sql.Rows) (bool, error) {
			var raw sql.RawBytes
			err := rows.Scan(&raw)
			var id loci.ID
			copy(id[:], raw)
			h.ids = append(h.ids, id)
			return true, err
		})
	if err != nil || len(h.ids) == 0 {
		return h, seq, err
	}
	h.books, h.useless = f.booksWith(m, key, h.ids)
	return h, seq, nil
}

// booksWith are the segments of a shard that hold some of the records; useless: one cannot
// be read.
func (f *file) booksWith(m *manifest, key loci.NameKey, ids []loci.ID) (books map[int]*opened, useless bool) {
	books = map[int]*opened{}
	for i, k := range m.Segments {
		g, b, err := f.shelf.openKept(k, origin(key, m.shard, m.space()))
		if err != nil {
			return nil, true
		}
		held := false
		fault, err := files.Faultless(func() error { // a damaged entry may be what is looked for
			held = slices.ContainsFunc(ids, func(id loci.ID) bool {
				_, found := g.Find(id)
				return found
			})
			if !held {
				return nil
			}
			return g.CheckAll() // it is to be read whole
		})
		if fault != nil || err != nil {
			return nil, true
		}
		if held {
			books[i] = &opened{g, b}
		}
	}
	return books, false
}

// without makes a segment again without some records; it has no name if nothing is left.
func (f *file) without(g *opened, k kept, ids []loci.ID, m *manifest, key loci.NameKey) (kept, error) {
	from := origin(key, m.shard, m.space())
	data := index.Without(g.Segment, k.Gone, ids, index.Key{Kind: m.shard.kind, Above: m.shard.above}, m.space(), from)
	runtime.KeepAlive(g)
	if data == nil {
		return kept{}, nil
	}
	made, b, err := f.shelf.put(data, from)
	if err != nil {
		return kept{}, err
	}
	return kept{Name: b.name, Sum: b.sum, Entries: made.Len()}, nil
}

// shelfWarnings says what the operator should know about the folder.
func (f *file) shelfWarnings(ctx context.Context) (out []string, err error) {
	all, key, err := f.manifests(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		h, _, err := f.erasedIn(ctx, &all[i], key, 0)
		if err != nil {
			return nil, err
		}
		if len(h.books) > 0 {
			out = append(out, fmt.Sprintf("%s holds erased memories, in %d of its files: they go while the memory is open", f.shelf.dir, len(h.books)))
		}
	}
	if _, err := os.Lstat(f.shelf.dir); errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if f.shelf.hold() {
		f.shelf.drop()
	} else if err := f.shelf.whyNot(); !errors.Is(err, errHeld) {
		out = append(out, fmt.Sprintf("the first search of large memories is slow: %s", err))
	}
	return out, nil
}
