package follow

import (
	"context"
	"errors"
	"slices"

	"github.com/loci-memory/loci"
	"github.com/loci-memory/loci/store/internal/aside"
	"github.com/loci-memory/loci/store/internal/batch"
	"github.com/loci-memory/loci/store/internal/files"
	"github.com/loci-memory/loci/store/internal/index"
)

// Shards are loaded beside the searches that do not need them: see package aside. Each is read
// into an Index of its own, of that shard alone, which follows the database by itself. When it is
// whole both are brought to one state, and the shard changes hands.

// A part is a shard on its way into the index of a tenant.
type part struct {
	key   index.Key
	q     *Search // how to read
	of    *Index  // what it is for
	epoch *byte   // of that

	x     *Index  // what was read
	begun bool    // something was
	after loci.ID // the next records are behind it
	whole bool    // all are read

	read  int64 // records
	all   int64 // bytes that it will take, about, when all are read; 0: not known
	bytes int64 // that are counted

	chunks  []chunk // of a group, that are not read yet; nil: it is not divided
	counted int64   // records, by the kept counts
}

// Of what is being loaded: all of an index, one of it, and what a search needs of it.
type (
	loads  = aside.Loads[*part]
	asked  = aside.Load[*part]
	ticket = aside.Ticket[*part]
)

// A Crew loads the shards of a store.
type Crew = aside.Crew

// NewCrew is a crew for a store.
func NewCrew() *Crew { return aside.NewCrew(aside.Turns()) }

// join asks for shards. The caller holds the lock.
func (x *Index) join(q *Search, keys []index.Key) ticket {
	if l := &x.loads; l.Crew == nil {
		l.Crew, l.Work, l.Release = q.Crew, x.loadTurn, (*part).release
		l.Begun = func(p *part) bool { return p.begun }
	}
	return x.loads.Join(keys, x.index.HasShard, func(key index.Key) *part {
		p := &part{key: key, q: q, of: x, epoch: x.epoch, x: x.fork(key)}
		p.restart()
		return p
	})
}

// fork is an index of one shard that has nothing yet.
func (x *Index) fork(key index.Key) *Index {
	one := &Index{
		index: index.New(x.index.Space()), moment: moment{nameKey: x.nameKey, line: x.line},
		shelving: newShelving(x.shelf, x.tenant),
		names:    map[int64]string{}, numbers: map[string]int64{},
	}
	if g := x.groupAt(key); g != nil { // whose namespaces it learns as it needs them
		one.groups = []*group{g}
	} else {
		number := x.numbers[key.Namespace]
		one.names[number], one.numbers[key.Namespace] = key.Namespace, number
	}
	one.touch(key)
	return one
}

// restart forgets what was read.
func (p *part) restart() {
	p.x.abandon()
	p.x.shelving = newShelving(p.x.shelf, p.x.tenant)
	p.x.index = index.New(p.x.index.Space())
	p.x.begin(p.key)
	p.begun, p.after, p.whole, p.read, p.all = false, loci.ID{}, false, 0, 0
	p.chunks, p.counted = nil, 0
	p.count()
}

// release lets go of what was read, for good.
func (p *part) release() {
	p.x.abandon()
	p.x.index = index.New(p.x.index.Space())
	p.count()
}

// count notes how much is held of a shard that is not in the index yet.
func (p *part) count() {
	size := p.x.index.Bytes()
	p.of.halfBytes.Add(size - p.bytes)
	p.bytes = size
}

// abandon removes the copies of segments that no image will name.
func (x *Index) abandon() {
	if x.shelf == nil {
		return
	}
	for key := range x.used {
		for _, keeper := range x.index.Keepers(key) {
			if b := keeper.(*book); !b.stored {
				x.shelf.drop(b.Name)
			}
		}
	}
}

// loadTurn reads the next part of what is in the queue.
func (x *Index) loadTurn() (more bool) {
	l := &x.loads
	defer l.Crew.Turn()()
	some := l.Next()
	if len(some) == 0 {
		return false
	}
	ctx, end := l.Attend(some)
	defer end()
	first, last, whole, err := readParts(ctx, some)
	if err == nil {
		whole, last = x.fit(whole), x.fit(last)
		some = slices.Concat(first, last, whole)
		err = x.install(ctx, whole)
	}
	switch {
	case err == nil:
		l.Later(first, last)
	case ctx.Err() != nil && l.Crew.Context().Err() == nil: // nobody waits, unless somebody came just now
		l.Later(nil, some)
	default:
		l.Finish(err, some...)
	}
	return true
}

// readParts reads the next part of each load, in one transaction. first are those it did not
// get to, last those of which there is more, whole the others. What a transaction has read that
// did not end well is forgotten.
func readParts(ctx context.Context, some []*asked) (first, last, whole []*asked, err error) {
	var begun []*asked // in the transaction
	var b *reading
	q := some[0].Of.q
	err = faultless(func() error {
		err := q.Read(ctx, func(r Source) error {
			for _, one := range begun {
				one.Of.restart()
			}
			first, last, whole, begun = nil, nil, nil, nil
			b = &reading{r: r}
			if err := b.begin(some); err != nil || b.again {
				return err
			}
			for i, one := range some {
				if b.records >= q.part() {
					first = some[i:]
					break
				}
				begun = append(begun, one)
				if q.Shelf != nil && q.Shelf.Reading != nil {
					q.Shelf.Reading(one.Key.Namespace)
				}
				if err := b.read(one.Of); err != nil {
					return err
				}
				if one.Of.whole {
					whole = append(whole, one)
				} else {
					last = append(last, one)
				}
			}
			return nil
		})
		if err == nil && b.again {
			err = aside.ErrAgain
		}
		for _, one := range whole {
			if err == nil {
				one.Of.x.shelve(one.Key, false)
			}
		}
		return err
	})
	for _, one := range begun {
		if faultOf(err) != nil {
			one.Of.x.dropCopies()
		}
		if err != nil {
			one.Of.restart()
		} else {
			one.Of.count()
		}
	}
	return first, last, whole, err
}

// faultless is [files.Faultless] that makes a fault an error of its own.
func faultless(do func() error) error {
	fault, err := files.Faultless(do)
	if fault != nil {
		return &faultError{fault}
	}
	return err
}

// faultOf is the fault of memory that an error is; nil: it is none.
func faultOf(err error) error {
	var inside *faultError
	if errors.As(err, &inside) {
		return inside.fault
	}
	return nil
}

// part is how many records of a shard a transaction reads.
func (q *Search) part() int {
	if q.Shelf != nil {
		return q.Shelf.Part
	}
	return partRecords
}

// reading is a transaction that reads parts of one index.
type reading struct {
	r       Source
	st      *batch.State
	again   bool  // the tenant is another one
	space   int64 // its number
	dropped int64 // the counter at which vectors of it were removed
	images  map[Shard]*Image
	records int
}

// begin reads what all parts need.
func (b *reading) begin(some []*asked) (err error) {
	if b.st, err = b.r.State(); err != nil {
		return err
	}
	x := some[0].Of.x
	if b.again = !x.isOf(b.st); b.again {
		return nil
	}
	if b.space, b.dropped, err = b.r.Space(x.index.Space()); err != nil {
		return err
	}
	var shards []Shard
	for _, one := range some {
		p := one.Of
		if p.begun && !p.x.mayFollow(b.st, b.dropped) { // too far behind to go on
			p.restart()
		}
		if !p.begun && p.x.shelf != nil {
			shards = append(shards, p.x.shardOf(p.key))
		}
	}
	if len(shards) == 0 {
		return nil
	}
	b.images = map[Shard]*Image{}
	return b.r.(ImageSource).Images(shards, func(m *Image) { b.images[m.Shard] = m })
}

// mayFollow reports whether what changed since the index can be taken in.
func (x *Index) mayFollow(st *batch.State, dropped int64) bool {
	return x.seq <= st.Seq && x.seq >= max(st.Floor, dropped)
}

// read reads the next part of a shard.
func (b *reading) read(p *part) (err error) {
	x := p.x
	if !p.begun {
		x.seq, p.begun = b.st.Seq, true
		if x.shelf != nil {
			l := &loading{r: b.r.(ImageSource), st: b.st, space: b.space, dropped: b.dropped}
			if p.whole, err = x.takeImage(l, p.key, b.images[x.shardOf(p.key)]); err != nil {
				return err
			}
		}
	}
	// What came meanwhile is read behind the records that are there. Those of a group are in no order.
	if inOrder := !p.whole && !p.key.Above; inOrder && x.seq < b.st.Seq {
		if err := b.follow(p, p.after); err != nil {
			return err
		}
	}
	if !p.whole {
		if err := b.readRecords(p); err != nil {
			return err
		}
	}
	if p.whole && x.seq < b.st.Seq {
		return b.follow(p, loci.ID{})
	}
	return nil
}

// follow brings the records of a part up to one to the present state; zero: all.
func (b *reading) follow(p *part, last loci.ID) error {
	if err := p.x.follow(b.r, b.space, following{last: last, after: p.x.freezing(p.key)}); err != nil {
		return err
	}
	p.x.seq = b.st.Seq
	return nil
}

// readRecords reads the next records of a shard, in the order of their ids.
func (b *reading) readRecords(p *part) error {
	if p.key.Above {
		return b.readAbove(p)
	}
	limit, n := p.q.part(), 0
	query := func(take Take) error {
		s := p.x.shardOf(p.key)
		noted := func(r *loci.Record, namespace int64, vectors []byte) {
			n, p.after = n+1, r.ID
			take(r, namespace, vectors)
		}
		return b.r.ByShard(b.space, s.Namespace, s.Kind, p.after, limit, noted)
	}
	if err := p.x.take(nil, query, p.x.freezing(p.key)); err != nil {
		return err
	}
	b.records += n
	p.read += int64(n)
	if p.whole = n < limit; p.whole {
		return nil
	}
	if s := p.x.shelf; p.all == 0 && (s == nil || s.Folder == nil && p.read >= int64(s.Book)) {
		return b.measure(p)
	}
	return nil
}

// install brings loads that are whole to the state of the index, and into it.
func (x *Index) install(ctx context.Context, whole []*asked) error {
	if len(whole) == 0 {
		return nil
	}
	q := whole[0].Of.q
	var ready []*publication
	err := faultless(func() error {
		x.mu.Lock()
		defer x.mu.Unlock()
		defer x.leaveWhole()
		if err := x.meet(ctx, q, whole); err != nil {
			return err
		}
		for _, one := range whole {
			if !x.loads.Gone(one) {
				x.adopt(one.Of)
				q.Meter.Loaded(1)
			}
		}
		x.makeRoom(q.Meter, q.Budget)
		x.account()
		ready = x.takeReady()
		return nil
	})
	if err != nil {
		for _, one := range whole {
			one.Of.restart()
		}
		return err
	}
	q.Shelf.publish(q, ready)
	x.loads.Finish(nil, whole...)
	return nil
}

// meet brings the index and shards that are whole to one state.
func (x *Index) meet(ctx context.Context, q *Search, whole []*asked) error {
	same := x.index != nil && x.epoch == whole[0].Of.epoch
	if !same {
		return aside.ErrAgain
	}
	for _, one := range whole {
		same = same && one.Of.x.seq == x.seq
	}
	if same {
		return nil
	}
	again, other := false, false
	x.dirty, x.fresh = false, nil
	err := q.Read(ctx, func(r Source) error {
		if other = again; other { // what was taken in is of a transaction that did not end well
			return nil
		}
		again = true
		st, err := r.State()
		if err != nil {
			return err
		}
		number, dropped, err := r.Space(x.index.Space())
		if err != nil {
			return err
		}
		if other = !x.isOf(st) || !x.mayFollow(st, dropped); other {
			return nil
		}
		if err := x.advance(r, st, number, q); err != nil {
			return err
		}
		for _, one := range whole {
			p := one.Of.x
			if other = !p.mayFollow(st, dropped); other {
				return nil
			}
			if err := p.follow(r, number, following{}); err != nil {
				return err
			}
			p.seq = st.Seq
		}
		return nil
	})
	if err == nil && other {
		err = aside.ErrAgain
	}
	if err != nil {
		x.undo()
	}
	return err
}

// adopt takes over a shard that is in the state of the index.
func (x *Index) adopt(p *part) {
	key, o := p.key, p.x
	for _, ready := range o.ready {
		ready.x, ready.epoch = x, x.epoch
	}
	x.ready, o.ready = append(x.ready, o.ready...), nil
	x.images[key] = o.images[key]
	for of, from := range map[*map[index.Key]bool]map[index.Key]bool{
		&x.unsaved: o.unsaved, &x.busy: o.busy, &x.moved: o.moved,
	} {
		if delete(*of, key); from[key] {
			(*of)[key] = true
		}
	}
	x.index.Adopt(o.index)
	x.touch(key)
	o.used = nil // what it had is of the other one now
	p.count()
}

// detach takes a shard that is far behind out of the index, to be brought up to the others
// beside the searches of others.
func (x *Index) detach(q *Search, key index.Key) {
	p := &part{key: key, q: q, of: x, epoch: x.epoch, x: x.fork(key), begun: true, whole: true}
	p.x.index, p.x.seq = x.index.Detach(key), x.seq
	p.x.images[key], p.x.unsaved[key], p.x.moved[key] = x.images[key], x.unsaved[key], x.moved[key]
	delete(x.used, key)
	p.count()
	x.loads.Put(key, p)
}
