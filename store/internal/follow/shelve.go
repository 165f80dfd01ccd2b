package follow

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"maps"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
	"github.com/loci-memory/loci/store/internal/segment"
)

// shelving is what an index remembers of the images of its shards.
type shelving struct {
	shelf   *Shelf // nil: there are none
	tenant  loci.Tenant
	images  map[index.Key]*Image // as the database had them; what comes next replaces these
	unsaved map[index.Key]bool   // its segments are others than those of the image
	busy    map[index.Key]bool   // its image is being written
	moved   map[index.Key]bool   // somebody else replaced the image
	ready   []*publication       // images to be written when the reading has ended
}

func newShelving(s *Shelf, t loci.Tenant) shelving {
	return shelving{shelf: s, tenant: t, images: map[index.Key]*Image{}, unsaved: map[index.Key]bool{},
		busy: map[index.Key]bool{}, moved: map[index.Key]bool{}}
}

// loading is what the load of some shards has to do with images.
type loading struct {
	r       ImageSource
	st      *batch.State
	space   int64 // its number
	dropped int64
	keys    map[Shard]index.Key
}

func (x *Index) shardOf(key index.Key) Shard { return Shard{x.numbers[key.Namespace], key.Kind} }

// takeImages begins to load shards with what the database keeps of their indexes. It returns
// the shards of which it keeps nothing that can be used.
func (x *Index) takeImages(l *loading, fresh []index.Key) (rest []index.Key, err error) {
	var shards []Shard
	for _, key := range fresh {
		delete(x.images, key)
		delete(x.unsaved, key)
		delete(x.moved, key)
		l.keys[x.shardOf(key)] = key
		shards = append(shards, x.shardOf(key))
	}
	var usable []*Image
	if err := l.r.Images(shards, func(m *Image) {
		key, asked := l.keys[m.Shard]
		if !asked {
			return
		}
		x.images[key] = m
		if m.readable() && m.space() == x.index.Space() && m.follows(l.st, l.dropped) {
			usable = append(usable, m)
		}
	}); err != nil {
		return nil, err
	}
	rest = slices.DeleteFunc(slices.Clone(fresh), func(key index.Key) bool {
		return slices.Contains(usable, x.images[key])
	})
	if len(usable) == 0 {
		return rest, nil
	}
	holes, err := x.attachAll(l, usable)
	if err != nil {
		return nil, err
	}
	if err := x.followOnly(l, usable); err != nil {
		return nil, err
	}
	for _, h := range holes {
		query := func(take Take) error {
			return l.r.ByRange(l.space, h.shard.Namespace, h.shard.Kind, loci.ID(h.k.Low), loci.ID(h.k.High), take)
		}
		if err := x.take(nil, query, x.freezing(l.keys[h.shard])); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// A hole is a segment that cannot be used, whose records are read instead.
type hole struct {
	shard Shard
	k     *Kept
}

// attachAll attaches the segments of images, from the folder or the database.
func (x *Index) attachAll(l *loading, images []*Image) (holes []hole, err error) {
	var gone []Gone
	if err := l.r.Erased(leastWiped(images), func(g Gone) { gone = append(gone, g) }); err != nil {
		return nil, err
	}
	lacking := map[string]hole{}
	for _, m := range images {
		for i := range m.Segments {
			k := &m.Segments[i]
			h := hole{m.Shard, k}
			switch {
			case m.stale(k, gone, l.st):
				x.shelf.drop(k.Name)
				holes = append(holes, h)
			default:
				g, b, err := x.shelf.find(k.Name, x.origin(m.Shard))
				if err != nil || !x.attach(l, h, g, b) {
					lacking[k.Name] = h
				}
			}
		}
	}
	if len(lacking) > 0 {
		if err := x.fetch(l, lacking); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lacking)) { // what did not come
		holes = append(holes, lacking[name])
	}
	for _, h := range holes {
		x.unsaved[l.keys[h.shard]] = true
	}
	return holes, nil
}

// attach makes a segment a part of the index, if it is the one that the image means.
func (x *Index) attach(l *loading, h hole, g *segment.Segment, b *book) bool {
	if g.Sum != h.k.Sum {
		x.shelf.drop(b.Name)
		return false
	}
	b.Wiped, b.stored = l.st.Seq, true // nothing that was erased is in it: stale has looked
	x.index.Attach(l.keys[h.shard], g, b, h.k.Gone)
	return true
}

// fetch reads segments from the database, in one query, and attaches those that can be used;
// they leave the list.
func (x *Index) fetch(l *loading, lacking map[string]hole) error {
	var name string
	var data []byte
	end := func() {
		h, ok := lacking[name]
		if !ok || int64(len(data)) != h.k.Size {
			return
		}
		g, b, err := x.shelf.put(x.tenant, name, data, x.origin(h.shard))
		if err != nil {
			x.shelf.warn("read a part of the index; it is made again", err)
		} else if x.attach(l, h, g, b) {
			delete(lacking, name)
		}
		data = nil
	}
	err := l.r.Pieces(slices.Sorted(maps.Keys(lacking)), func(of string, piece []byte) {
		if of != name {
			end()
			name, data = of, make([]byte, 0, max(0, min(lacking[of].k.Size, maxSegment)))
		}
		data = append(data, piece...)
	})
	end()
	return err
}

// maxSegment bounds what is set aside for a segment before its bytes came.
const maxSegment = 1 << 30

// followOnly takes in what changed of the shards of images since these, and leaves the
// shards alone that were there before.
func (x *Index) followOnly(l *loading, images []*Image) error {
	since := images[0].Seq
	only := map[index.Key]bool{}
	for _, m := range images {
		since = min(since, m.Seq)
		only[l.keys[m.Shard]] = true
	}
	if since == l.st.Seq {
		return nil
	}
	changed := map[loci.ID]index.Key{}
	if err := l.r.Changes(since, func(id loci.ID, namespace int64, kind loci.Kind, gone bool) {
		key := index.Key{Namespace: x.names[namespace], Kind: kind}
		switch {
		case !only[key]:
		case gone:
			delete(changed, id)
			x.leave(key, id)
		default:
			changed[id] = key
		}
	}); err != nil {
		return err
	}
	return x.takeChanged(l.r, l.space, changed)
}

// leave takes a record out of a shard.
func (x *Index) leave(key index.Key, id loci.ID) {
	gone := loci.Record{ID: id, Namespace: loci.NamespaceFromKey(key.Namespace), Kind: key.Kind}
	x.index.Upsert(&gone, nil)
}

// erased lets go of the copies of segments that hold an erased record.
func (x *Index) erased(key index.Key, id loci.ID) {
	if x.shelf == nil || !x.index.HasShard(key) {
		return
	}
	for _, keeper := range x.index.Keepers(key) {
		b := keeper.(*book)
		if !b.spans(id) {
			continue
		}
		b.erased = true
		if _, found := b.segment.Find(id); found {
			x.shelf.drop(b.Name) // what is mapped goes when the shard is loaded next
		}
	}
}

func (x *Index) origin(shard Shard) segment.Origin {
	return originOf(x.nameKey, shard, x.index.Space())
}

// freezing is what a load of a shard does now and then: it puts what is on the heap into a
// segment, so that loading holds no more than that there. nil: nothing.
func (x *Index) freezing(key index.Key) func() {
	if x.shelf == nil {
		return nil
	}
	return func() {
		if x.index.Loose(key) >= x.shelf.Book {
			x.freeze(key)
		}
	}
}

// freeze puts what a shard has on the heap into a segment.
func (x *Index) freeze(key index.Key) {
	o := x.origin(x.shardOf(key))
	g, b, err := x.shelf.put(x.tenant, hex.EncodeToString(newMark()), x.index.Freeze(key, o), o)
	if err != nil {
		x.shelf.warn("keep a part of the index", err)
		return
	}
	b.Wiped = x.seq
	x.index.Shelve(key, g, b)
	x.unsaved[key] = true
}

// shelve sees to the image of a shard that shows the state of the index: at the end of a load,
// and whenever so much has changed since that the next load would take long (due).
func (x *Index) shelve(key index.Key, due bool) {
	s, base := x.shelf, x.images[key]
	if x.busy[key] {
		return
	}
	loose, books := x.index.Loose(key), x.index.Shelved(key)
	much := s.From
	switch {
	case x.unsaved[key] || due:
		much = 1 // an image speaks of all
	case books > 0:
		much = (s.From + 1) / 2
	}
	if loose >= much {
		x.index.Merge(key, s.Book)
		x.freeze(key)
	}
	if x.index.Loose(key) > 0 || !x.unsaved[key] && !due {
		return
	}
	p := &publication{x: x, epoch: x.epoch, key: key, nameKey: x.nameKey, base: base}
	p.next = newImage(x.nameKey, x.shardOf(key), x.index.Space(), x.seq)
	for _, part := range x.index.Segments(key) {
		b := part.Keeper.(*book)
		if !b.erased {
			b.Wiped = x.seq
		}
		k := b.Kept
		k.Gone = part.Gone
		p.next.Segments = append(p.next.Segments, k)
		p.books = append(p.books, b)
		if !b.stored {
			p.upload = append(p.upload, b)
		}
	}
	if base == nil && len(p.next.Segments) == 0 {
		return
	}
	x.busy[key] = true
	delete(x.unsaved, key)
	x.ready = append(x.ready, p)
}

// shelveDue looks at the shards that stay in the index for long: what came since they were
// loaded is put away, too, and their images follow before the list of changes is cut.
func (x *Index) shelveDue() {
	if x.shelf == nil {
		return
	}
	for key := range x.used {
		if !x.index.HasShard(key) || x.busy[key] {
			continue
		}
		m := x.images[key]
		again := x.unsaved[key] && x.shelf.mayTry()
		late := m != nil && len(m.Segments) > 0 && x.seq-m.Seq > batch.ChangesKept/2
		if !late && !again && x.index.Loose(key) < x.shelf.Book {
			continue
		}
		if x.moved[key] { // another server keeps it: begin with what that one has
			x.index.DropShard(key)
			delete(x.used, key)
			delete(x.moved, key)
			continue
		}
		x.shelve(key, true)
	}
}

// published takes in whether an image was written.
func (x *Index) published(p *publication, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.index == nil || x.epoch != p.epoch {
		return
	}
	delete(x.busy, p.key)
	switch {
	case err == nil:
		x.images[p.key] = p.next
		for _, b := range p.books {
			b.stored = true
		}
	case errors.Is(err, ErrMoved):
		x.moved[p.key] = true
	default:
		x.unsaved[p.key] = true // a later search tries again
	}
}

// faulted lets go of everything, after the memory of a segment could not be read.
func (x *Index) faulted(fault error) {
	x.shelf.warn("read a part of the index; it is made again", fault)
	if x.index != nil {
		for key := range x.used {
			for _, keeper := range x.index.Keepers(key) {
				x.shelf.drop(keeper.(*book).Name)
			}
		}
	}
	x.index = nil
	x.empty()
}

// find maps a segment that this process has.
func (s *Shelf) find(name string, o segment.Origin) (*segment.Segment, *book, error) {
	if s.Folder == nil {
		return nil, nil, fs.ErrNotExist
	}
	g, m, err := s.Folder.Find(name, o)
	if err != nil {
		return nil, nil, err
	}
	return g, newBook(name, g, m.Bytes, m), nil
}

// put keeps the bytes of a segment: in the folder, or on the heap where that has no room.
func (s *Shelf) put(
	t loci.Tenant, name string, data []byte, o segment.Origin,
) (*segment.Segment, *book, error) {
	if s.Folder != nil {
		g, m, err := s.Folder.Put(name, data, o)
		if err == nil {
			s.noteCopy(t, name)
			return g, newBook(name, g, m.Bytes, m), nil
		}
		if errors.Is(err, segment.ErrUnusable) {
			return nil, nil, err
		}
		if !errors.Is(err, files.ErrFull) {
			s.warn("keep a part of the index in index.cache; it stays in memory", err)
		}
	}
	return s.onHeap(name, data, o)
}

// onHeap is a segment that lies on the heap.
func (s *Shelf) onHeap(name string, data []byte, o segment.Origin) (*segment.Segment, *book, error) {
	g, err := segment.Open(data, o)
	if err != nil {
		return nil, nil, err
	}
	return g, newBook(name, g, data, nil), nil
}

// drop removes the copies of segments that this process has.
func (s *Shelf) drop(names ...string) {
	if s.Folder != nil {
		s.Folder.Drop(names...)
	}
}
