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

// loading is what the load of a shard has to do with images.
type loading struct {
	r       ImageSource
	st      *batch.State
	space   int64 // its number
	dropped int64
}

func (x *Index) shardOf(key index.Key) Shard {
	if key.Above {
		return x.groupAt(key).shard()
	}
	return Shard{x.numbers[key.Namespace], key.Kind}
}

// takeImage begins to load a shard with what the database keeps of its index, if that can be
// used.
func (x *Index) takeImage(l *loading, key index.Key, m *Image) (kept bool, err error) {
	if m == nil {
		return false, nil
	}
	x.images[key] = m
	if !m.readable() || m.space() != x.index.Space() || !m.follows(l.st, l.dropped) {
		return false, nil
	}
	holes, err := x.attachAll(l, key, m)
	if err != nil {
		return false, err
	}
	if err := x.followOnly(l, key, m.Seq); err != nil {
		return false, err
	}
	if key.Above && len(holes) > 0 {
		if err := l.r.Places(-1, []string{key.Namespace}, x.learnPlace); err != nil {
			return false, err
		}
	}
	for _, k := range holes { // what cannot be used is read instead
		query := func(take Take) error {
			return l.r.ByRange(l.space, max(m.Shard.Namespace, 0), m.Shard.Kind, loci.ID(k.Low), loci.ID(k.High), take)
		}
		if err := x.take(nil, query, x.freezing(key)); err != nil {
			return false, err
		}
	}
	return true, nil
}

// attachAll attaches the segments of an image, from the folder or the database.
func (x *Index) attachAll(l *loading, key index.Key, m *Image) (holes []*Kept, err error) {
	gone, err := readGone(l.r, []*Image{m})
	if err != nil {
		return nil, err
	}
	lacking := map[string]*Kept{}
	for i := range m.Segments {
		k := &m.Segments[i]
		if m.stale(k, gone, l.st) {
			x.shelf.drop(k.Name)
			holes = append(holes, k)
			continue
		}
		g, b, err := x.shelf.find(k.Name, x.origin(m.Shard), false)
		if err != nil || !x.attach(l, key, k, g, b) {
			lacking[k.Name] = k
		}
	}
	if len(lacking) > 0 {
		if err := x.fetch(l, key, lacking); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(lacking)) { // what did not come
		holes = append(holes, lacking[name])
	}
	if len(holes) > 0 {
		x.unsaved[key] = true
	}
	return holes, nil
}

// attach makes a segment a part of the index, if it is the one that the image means.
func (x *Index) attach(l *loading, key index.Key, k *Kept, g *segment.Segment, b *book) bool {
	if g.Sum != k.Sum {
		x.shelf.drop(b.Name)
		return false
	}
	b.Wiped, b.stored = l.st.Seq, true // nothing that was erased is in it: stale has looked
	x.index.Attach(key, g, b, k.Gone)
	return true
}

// fetch reads segments from the database, in one query, and attaches those that can be used;
// they leave the list.
func (x *Index) fetch(l *loading, key index.Key, lacking map[string]*Kept) error {
	var name string
	var data []byte
	end := func() {
		k, ok := lacking[name]
		if !ok || int64(len(data)) != k.Size {
			return
		}
		g, b, err := x.shelf.put(x.tenant, name, data, x.origin(x.shardOf(key)))
		if err != nil {
			x.shelf.warn("read a part of the index; it is made again", err)
		} else if x.attach(l, key, k, g, b) {
			delete(lacking, name)
		}
		data = nil
	}
	err := l.r.Pieces(slices.Sorted(maps.Keys(lacking)), func(of string, piece []byte) {
		if of != name {
			end()
			name, data = of, make([]byte, 0, max(0, min(lacking[of].Size, maxSegment)))
		}
		data = append(data, piece...)
	})
	end()
	return err
}

// maxSegment bounds what is set aside for a segment before its bytes came.
const maxSegment = 1 << 30

// followOnly takes in what changed of a shard since its image.
func (x *Index) followOnly(l *loading, shard index.Key, since int64) error {
	if since == l.st.Seq {
		return nil
	}
	type change struct {
		id        loci.ID
		namespace int64
		gone      bool
	}
	var all []change
	unknown := map[int64]bool{}
	if err := l.r.Changes(since, func(id loci.ID, namespace int64, kind loci.Kind, gone bool) {
		if _, known := x.place(namespace, kind); kind == shard.Kind && (known || shard.Above) {
			all, unknown[namespace] = append(all, change{id, namespace, gone}), !known
		}
	}); err != nil {
		return err
	}
	if shard.Above {
		if err := x.resolve(l.r, unknown); err != nil {
			return err
		}
	}
	changed := map[loci.ID]index.Key{}
	for _, c := range all {
		key, known := x.place(c.namespace, shard.Kind)
		switch {
		case c.gone: // from wherever it was, since no two records have one id
			delete(changed, c.id)
			x.index.Remove(key.Namespace, c.id)
		case !known:
		case key == shard:
			changed[c.id] = key
		case shard.Above:
			if above, _ := x.held(key); above == shard {
				changed[c.id] = key
			}
		}
	}
	return x.takeChanged(l.r, l.space, changed, x.freezing(shard))
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
	if s == nil || x.busy[key] {
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
	if g := x.groupAt(key); g != nil {
		p.next.Above, p.next.Apart = g.Mark, g.Apart
	}
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
		x.dropCopies()
	}
	x.lose()
}

// leaveWhole is deferred by whoever changes the index. It lets go of one that a fault has left half changed before
// another search gets the lock.
func (x *Index) leaveWhole() {
	if fault := recover(); fault != nil {
		if x.index != nil {
			x.dropCopies()
			x.lose()
		}
		panic(fault)
	}
}

// dropCopies removes the copies of all segments of the index.
func (x *Index) dropCopies() {
	for key := range x.used {
		for _, keeper := range x.index.Keepers(key) {
			x.shelf.drop(keeper.(*book).Name)
		}
	}
}

// find maps a segment that this process has.
func (s *Shelf) find(name string, o segment.Origin, whole bool) (*segment.Segment, *book, error) {
	if s.Folder == nil {
		return nil, nil, fs.ErrNotExist
	}
	g, m, err := s.Folder.Find(name, o, whole)
	if err != nil {
		return nil, nil, err
	}
	var b *book
	fault, _ := files.Faultless(func() error {
		b = newBook(name, g, m.Bytes, m)
		return nil
	})
	if fault != nil { // the database has it, too
		s.Folder.Drop(name)
		return nil, nil, errors.Join(segment.ErrUnusable, fault)
	}
	return g, b, nil
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
	if err == nil {
		err = g.CheckAll()
	}
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
