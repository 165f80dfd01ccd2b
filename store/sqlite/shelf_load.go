package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/internal/cores"
	"github.com/loci-memory/loci/store/internal/segment"
)

// shelving is what a load has to do with the folder.
type shelving struct {
	shelf *shelf   // nil: nothing is kept of the load
	base  manifest // in whose place that of the load will come
	key   loci.NameKey
	wiped int64    // what was erased up to here is in no segment
	held  bool     // the folder, since the first segment was made
	fresh []string // segments that were made and that no manifest names
	made  bool     // segments were made
	next  *manifest
}

// takeShelved begins a load with the segments that are kept of its shard, if all of them
// can be used. It reports whether they are in: all that there are, or those of a load that
// did not end, which this one goes on with.
func (f *file) takeShelved(ctx context.Context, tx *sql.Tx, one *load, now *fileState) (bool, error) {
	s := one.shard()
	m, key, err := manifestOf(ctx, tx, s)
	if err != nil {
		return false, err
	}
	one.shelving.abandon()
	one.shelving = shelving{shelf: &f.shelf, base: m, key: key, wiped: now.seq}
	space := one.index.Space()
	if !m.follows(space, now) || one.group != nil && !slices.Equal(m.Apart, one.group.Apart) {
		return false, nil
	}
	type opened struct {
		segment *segment.Segment
		book    *book
		err     error
	}
	parts := make([]opened, len(m.Segments))
	cores.Each(len(parts), func(i int) { // much of each is looked at
		p := &parts[i]
		p.segment, p.book, p.err = f.shelf.openKept(m.Segments[i], origin(key, s, space))
	})
	whole := one.empty(space)
	for i, p := range parts {
		if p.err != nil {
			if !errors.Is(p.err, fs.ErrNotExist) {
				f.logError("read a part of the index; it is made again", p.err)
			}
			return false, nil
		}
		whole.Attach(one.key, p.segment, p.book, m.Segments[i].Gone)
	}
	one.index, one.seq, one.shelving.wiped = whole, m.Seq, m.Wiped
	one.after, one.read = cmp.Or(m.Upto, everyNumber), int64(whole.Records(one.key))
	return true, nil
}

// shelve puts what a load has on the heap into segments, if that is much. What cannot be
// kept stays where it is.
func (f *file) shelve(one *load) {
	s, loose, books := one.shelving.shelf, one.index.Loose(one.key), one.index.Shelved(one.key)
	if s == nil {
		return
	}
	much, bytes := s.book, s.most
	if one.whole {
		bytes = keptBytes
	}
	switch {
	case one.whole && one.apart: // it was worth a load
		much = 1
	case one.whole && (len(one.shelving.fresh) > 0 || one.shelving.base.Upto > 0):
		much = 1 // a manifest speaks of all
	case one.whole && books > 0:
		much = (s.from + 1) / 2
	case one.whole:
		much = s.from
	}
	wastes := one.whole && one.apart && one.shelving.base.wastes(s.book)
	if (wastes || loose >= much || one.index.LooseBytes(one.key) >= bytes) && (one.shelving.held || s.hold()) {
		one.shelving.held = true
		if one.whole {
			one.index.Merge(one.key, s.book)
		}
		if one.index.Loose(one.key) > 0 {
			f.putShelved(one)
		}
	}
	ends := wastes || one.whole && one.shelving.base.Upto > 0
	if (len(one.shelving.fresh) > 0 || ends) && one.index.Loose(one.key) == 0 {
		f.nameShelved(one)
	}
}

// keepBegun brings into the memory file how far a load has come: where reading all takes longer
// than a search waits, or than the process lives, the next one goes on from there.
func (f *file) keepBegun(ctx context.Context, one *load) {
	s := &one.shelving
	m := s.next
	if s.next = nil; m == nil {
		return
	}
	if err := f.putManifest(context.WithoutCancel(ctx), &s.base, m); err != nil {
		if !errors.Is(err, errMoved) {
			f.logError("keep the index", err)
		}
		return
	}
	f.shelf.keep(s.fresh)
	s.fresh, s.base = nil, *m
}

// putShelved makes a segment of what is on the heap.
func (f *file) putShelved(one *load) {
	from := origin(one.shelving.key, one.shard(), one.index.Space())
	g, b, err := f.shelf.put(one.index.Freeze(one.key, from), from)
	if err != nil {
		f.logError("keep a part of the index", err)
		return
	}
	one.shelving.fresh, one.shelving.made = append(one.shelving.fresh, b.name), true
	one.index.Shelve(one.key, g, b)
}

// nameShelved prepares the manifest of a load as it is now.
func (f *file) nameShelved(one *load) {
	space := one.index.Space()
	m := &manifest{Seq: one.seq, Wiped: one.shelving.wiped, Model: space.Model, Dims: space.Dims}
	if m.Last = one.after; !one.whole {
		m.Last, m.Upto = 0, one.after
	}
	if one.group != nil {
		m.Apart, m.Held = one.group.Apart, one.index.Records(one.key)
	}
	for _, k := range one.index.Segments(one.key) {
		b := k.Keeper.(*book)
		m.Segments = append(m.Segments, kept{b.name, b.sum, k.Gone, k.Entries})
	}
	one.shelving.next = m
}

// endShelving brings what a load has made into the memory file.
func (f *file) endShelving(ctx context.Context, s *shelving) {
	if s.next != nil {
		err := f.putManifest(context.WithoutCancel(ctx), &s.base, s.next)
		if err == nil {
			f.shelf.keep(s.fresh)
			s.fresh = nil
			f.startTidy() // what it replaced goes, and what was erased meanwhile
		} else if !errors.Is(err, errMoved) {
			f.logError("keep the index", err)
		}
	}
	s.abandon()
}

// abandon takes away what is not in the memory file.
func (s *shelving) abandon() {
	if s.shelf == nil {
		return
	}
	s.shelf.discard(s.fresh...)
	if s.held {
		s.shelf.drop()
	}
	*s = shelving{}
}
